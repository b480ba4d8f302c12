import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bayesdp import GaussianGroups
from bayesdp.diagnostics import Diagnosis, Finding, GroupSample, diagnose_groups
from bayesdp.experiments.data import load

FILES = Path(__file__).parents[3] / "shared" / "data"
FOLDER = FILES if FILES.is_dir() else None

CORRELATION = np.array([[1, 0.3, 0.3], [0.3, 1, 0.3], [0.3, 0.3, 1]])
BOUND = GaussianGroups(correlation=0.35, size=3)
COVARIANCE = GaussianGroups(covariance=CORRELATION)


def draw(seed: int, groups: int = 500, covariance: NDArray[np.float64] = CORRELATION) -> NDArray[np.float64]:
    return np.random.default_rng(seed).multivariate_normal(np.zeros(len(covariance)), covariance, groups)


def sample(values: Any, exchangeable: bool = False) -> GroupSample:
    roles = ["father", "mother", "child", *(f"other {index}" for index in range(20))]
    return GroupSample(roles[: np.shape(values)[1]], values, len(values), exchangeable)


def named(diagnosis: Diagnosis, name: str) -> Finding:
    return next(finding for finding in diagnosis.findings if finding.name == name)


def verdicts(diagnosis: Diagnosis) -> dict[str, str]:
    return {finding.name: finding.verdict for finding in diagnosis.findings}


@pytest.mark.parametrize("model", [BOUND, COVARIANCE])
@pytest.mark.parametrize("seed", [0, 2])
def test_groups_of_the_model_are_fine(seed: int, model: GaussianGroups) -> None:
    diagnosis = diagnose_groups(sample(draw(seed, 3000)), model)
    assert set(verdicts(diagnosis).values()) == {"fine"}
    assert diagnosis.basis == "9,000 records in 3,000 groups"
    assert "Groups are assumed to be independent of each other" in diagnosis.trusted[0]
    assert diagnosis.trusted[0] in str(diagnosis)
    assert all(finding.values["power"] >= 0.8 for finding in diagnosis.findings if finding.name != "group size")


def test_fine_needs_a_test_with_power() -> None:
    diagnosis = diagnose_groups(sample(draw(2, 100)), BOUND)
    assert set(verdicts(diagnosis).values()) == {"fine", "not tested"}
    assert {name for name, verdict in verdicts(diagnosis).items() if verdict == "fine"} == {"group size"}
    assert diagnosis.verdict == "not tested"
    for finding in diagnosis.findings:
        if finding.name != "group size":
            assert finding.values["power"] < 0.8
            assert re.search(r"about [\d,]+ (groups|values) are needed", finding.meaning)


def test_scale_and_place_do_not_matter() -> None:
    values = draw(1)
    plain = diagnose_groups(sample(values), BOUND)
    moved = diagnose_groups(sample(1e6 + 1e-3 * values), BOUND)
    huge = diagnose_groups(sample(1e300 * values), BOUND)
    for other in (moved, huge):
        for one, two in zip(plain.findings, other.findings, strict=True):
            assert two.values == pytest.approx(one.values, rel=1e-4)


def test_correlated_groups_are_a_violation() -> None:
    values = draw(4)
    values[1:] += 0.6 * values[:-1]
    found = named(diagnose_groups(sample(values), BOUND), "independent groups")
    assert found.verdict == "violated"
    assert found.values["means: largest_autocorrelation"] > 0.3
    assert "sorted" in found.advice


def test_groups_larger_than_the_model_are_a_violation() -> None:
    found = named(diagnose_groups(sample(draw(8)), GaussianGroups(correlation=0.5, size=2)), "group size")
    assert (found.verdict, found.values["largest_group"]) == ("violated", 3)


def test_variances_are_compared_where_the_model_has_equal_ones() -> None:
    values = sample(draw(9))
    assert "equal variances" in verdicts(diagnose_groups(values, BOUND))
    assert "equal variances" not in verdicts(diagnose_groups(values, COVARIANCE))
    assert "equal variances" not in verdicts(diagnose_groups(sample(draw(9), exchangeable=True), BOUND))


def test_missing_members_are_left_out() -> None:
    values = draw(10, 4000)
    values[:2000, 2] = np.nan
    values[::7, 0] = np.nan
    values[3] = np.nan
    diagnosis = diagnose_groups(sample(values), BOUND)
    assert diagnosis.verdict == "fine"
    assert diagnosis.records == int((~np.isnan(values)).sum())
    assert "groups, father, mother, child" in named(diagnosis, "normal groups").figure
    values[:, 2] = np.nan
    values[:5, 2] = draw(10)[:5, 2]
    thin = diagnose_groups(sample(values), BOUND)
    assert "groups, father, mother, 2,999 simulations" in named(thin, "normal groups").figure
    for name in ("normal members", "equal variances", "correlations"):
        assert named(thin, name).verdict == "not tested"
        assert "child" in named(thin, name).meaning


DEGENERATE = {
    "no groups": np.empty((0, 3)),
    "no roles": np.empty((5, 0)),
    "three groups": draw(11, 3),
    "one role": draw(11, 40)[:, :1],
    "a constant role": draw(11, 40) * [1, 1, 0] + 0.1,
    "all constant": np.full((50, 3), 0.1),
    "all zero": np.zeros((50, 3)),
    "all missing": np.full((50, 3), np.nan),
    "a missing role": draw(11, 40) * [1, 1, np.nan],
    "twins": draw(11, 40)[:, [0, 0]],
    "mirrored": draw(11, 40)[:, [0, 0]] * [1, -1],
    "two values": np.random.default_rng(0).integers(0, 2, (50, 3)),
    "extreme": draw(11, 40) * [1e-300, 1, 1e300],
    "tiny": draw(11, 40) * 1e-310,
    "many roles": draw(11, 30, np.eye(20)),
    "opposite": np.column_stack([np.arange(40.0), 40 - np.arange(40.0)]),
}


@pytest.mark.parametrize("exchangeable", [False, True])
@pytest.mark.parametrize("model", [BOUND, COVARIANCE])
@pytest.mark.parametrize("kind", DEGENERATE)
def test_degenerate_samples_give_reasons_and_never_fail(kind: str, model: GaussianGroups, exchangeable: bool) -> None:
    values = DEGENERATE[kind]
    given = replace(sample(values, exchangeable), positions=values if exchangeable else None)
    diagnosis = diagnose_groups(given, model)
    json.dumps(diagnosis.to_dict(), allow_nan=False)
    for finding in diagnosis.findings:
        assert finding.figure or finding.shown in ("not tested", "by construction")
        assert finding.meaning
    assert "nan" not in str(diagnosis)


def test_few_groups_are_not_tested() -> None:
    found = verdicts(diagnose_groups(sample(draw(12, 3)), BOUND))
    assert {name for name, verdict in found.items() if verdict == "fine"} == {"group size"}
    assert set(found.values()) == {"fine", "not tested"}


def test_twins_are_seen() -> None:
    diagnosis = diagnose_groups(sample(DEGENERATE["twins"]), GaussianGroups(correlation=0.9, size=2))
    assert verdicts(diagnosis)["correlations"] == "violated"
    assert "determine others" in named(diagnosis, "normal groups").meaning


def test_statsmodels_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    assert diagnose_groups(sample(draw(0, 3000)), COVARIANCE).verdict == "fine"


@pytest.mark.slow
def test_the_tests_are_those_of_statsmodels() -> None:
    diagnostic = pytest.importorskip("statsmodels.stats.diagnostic")
    multivariate = pytest.importorskip("statsmodels.stats.multivariate")
    values = draw(13)
    diagnosis = diagnose_groups(sample(values), COVARIANCE)
    row = diagnostic.acorr_ljungbox((values - values.mean(axis=0)).mean(axis=1), lags=[10]).iloc[0]
    found = named(diagnosis, "independent groups").values
    assert found["means: statistic"] == pytest.approx(row["lb_stat"])
    assert found["p_value"] == pytest.approx(row["lb_pvalue"])
    test = multivariate.test_cov(np.cov(values, rowvar=False), len(values), CORRELATION)
    found = named(diagnosis, "covariance").values
    assert found["500 groups: statistic"] == pytest.approx(test.statistic)
    assert found["p_value"] == pytest.approx(test.pvalue)


def test_family_iq() -> None:
    frame = load("familyiq", FOLDER).frame
    columns = ["kid_score", "mom_iq"]
    bound = GaussianGroups(correlation=0.5, size=2).diagnose(frame, value=columns)
    assert named(bound, "equal variances").verdict == "violated"
    ratio = named(bound, "equal variances").values["kid_score and mom_iq: deviation_ratio"]
    assert ratio == pytest.approx(20.41 / 15, abs=1e-3)
    assert named(bound, "correlations").verdict == "not tested"
    fitted = GaussianGroups.fit(frame, value=columns).diagnose(frame)
    if FOLDER is not None:
        assert {finding.name: finding.shown for finding in fitted.findings} == {
            "normal members": "doubtful",
            "normal groups": "doubtful",
            "independent groups": "violated",
            "group size": "fine",
            "covariance": "by construction",
        }
        assert named(fitted, "independent groups").values["means: largest_autocorrelation"] == pytest.approx(
            0.29, abs=0.01
        )
