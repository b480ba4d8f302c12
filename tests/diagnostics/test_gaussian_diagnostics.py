import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bayesdp import GaussianGroups
from bayesdp.diagnostics import Diagnosis, Finding, GroupSample, diagnose_groups
from bayesdp.errors import InvalidInputError

KIDIQ = Path("/work/shared/data/kidiq.csv")
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
@pytest.mark.parametrize("seed", range(3))
def test_groups_of_the_model_are_fine(seed: int, model: GaussianGroups) -> None:
    diagnosis = diagnose_groups(sample(draw(seed)), model)
    assert set(verdicts(diagnosis).values()) == {"fine"}
    assert diagnosis.basis == "1,500 records in 500 groups"


def test_scale_and_place_do_not_matter() -> None:
    values = draw(1)
    plain = diagnose_groups(sample(values), BOUND)
    moved = diagnose_groups(sample(1e6 + 1e-3 * values), BOUND)
    huge = diagnose_groups(sample(1e300 * values), BOUND)
    for other in (moved, huge):
        for one, two in zip(plain.findings, other.findings, strict=True):
            assert two.values == pytest.approx(one.values, rel=1e-4)


@pytest.mark.parametrize("groups", [400, 6000])
def test_heavy_tails_are_a_violation(groups: int) -> None:
    rng = np.random.default_rng(1)
    heavy = draw(1, groups) / np.sqrt(rng.chisquare(4, groups) / 4)[:, None]
    diagnosis = diagnose_groups(sample(heavy), BOUND)
    assert verdicts(diagnosis)["normal members"] == "violated"
    assert verdicts(diagnosis)["normal groups"] == "violated"
    assert ("K² =" in named(diagnosis, "normal members").figure) == (groups > 5000)


def test_a_bent_relation_of_normal_members_is_seen() -> None:
    rng = np.random.default_rng(2)
    left = rng.standard_normal(800)
    right = np.where(left < 0, left, np.abs(rng.standard_normal(800)))
    diagnosis = diagnose_groups(sample(np.column_stack([left, right])), GaussianGroups(correlation=0.9, size=2))
    assert verdicts(diagnosis)["normal members"] == "fine"
    assert verdicts(diagnosis)["normal groups"] == "violated"


def test_unequal_variances_violate_a_bound_and_not_a_covariance() -> None:
    scaled = np.diag([1, 1, 1.5]) @ CORRELATION @ np.diag([1, 1, 1.5])
    found = named(diagnose_groups(sample(draw(3, covariance=scaled)), BOUND), "equal variances")
    assert found.verdict == "violated"
    assert "gaussian-tight" in found.meaning
    assert "covariance=" in found.advice
    covered = named(
        diagnose_groups(sample(draw(3, covariance=scaled)), GaussianGroups(covariance=scaled)), "equal variances"
    )
    assert (covered.verdict, covered.advice) == ("fine", "")
    assert "covers" in covered.meaning


def test_correlated_groups_are_a_violation() -> None:
    values = draw(4)
    values[1:] += 0.6 * values[:-1]
    found = named(diagnose_groups(sample(values), BOUND), "independent groups")
    assert found.verdict == "violated"
    assert found.values["means: largest_autocorrelation"] > 0.3
    assert "sorted" in found.advice


def test_a_correlation_above_the_bound_is_a_violation() -> None:
    found = named(diagnose_groups(sample(draw(5)), GaussianGroups(correlation=0.1, size=3)), "correlations")
    assert found.verdict == "violated"
    assert found.values["father and mother: correlation"] == pytest.approx(0.3, abs=0.1)
    for bound in (0.0, 1.0):
        uncorrelated = draw(6, covariance=np.eye(3))
        model = GaussianGroups(correlation=bound, size=3)
        assert named(diagnose_groups(sample(uncorrelated), model), "correlations").verdict == "fine"


def test_another_covariance_than_the_model_is_a_violation() -> None:
    found = named(diagnose_groups(sample(draw(7, covariance=np.eye(3))), COVARIANCE), "covariance")
    assert found.verdict == "violated"
    assert found.values["500 groups: degrees_of_freedom"] == 6
    own = GaussianGroups(covariance=np.cov(draw(7), rowvar=False))
    assert named(diagnose_groups(sample(draw(7)), own), "covariance").verdict == "not tested"
    several = GaussianGroups(covariance=np.stack([CORRELATION, np.eye(3)]))
    assert "several kinds" in named(diagnose_groups(sample(draw(7)), several), "covariance").meaning
    pair = GaussianGroups(covariance=np.eye(2))
    assert "groups of 2" in named(diagnose_groups(sample(draw(7)), pair), "covariance").meaning


def test_groups_larger_than_the_model_are_a_violation() -> None:
    found = named(diagnose_groups(sample(draw(8)), GaussianGroups(correlation=0.5, size=2)), "group size")
    assert (found.verdict, found.values["largest_group"]) == ("violated", 3)


def test_members_without_roles_are_not_compared() -> None:
    found = named(diagnose_groups(sample(draw(9), exchangeable=True), BOUND), "equal variances")
    assert found.verdict == "not tested"
    assert "no roles" in found.meaning


def test_missing_members_are_left_out() -> None:
    values = draw(10)
    values[:470, 2] = np.nan
    values[::7, 0] = np.nan
    values[3] = np.nan
    diagnosis = diagnose_groups(sample(values), BOUND)
    assert diagnosis.verdict == "fine"
    assert diagnosis.records == int((~np.isnan(values)).sum())
    assert "roles father, mother, child" in named(diagnosis, "normal groups").figure
    values[:, 2] = np.nan
    values[:5, 2] = draw(10)[:5, 2]
    figure = named(diagnose_groups(sample(values), BOUND), "normal groups").figure
    assert "roles father, mother, 2,999 simulations" in figure


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


@pytest.mark.parametrize("model", [BOUND, COVARIANCE])
@pytest.mark.parametrize("kind", DEGENERATE)
def test_degenerate_samples_give_reasons_and_never_fail(kind: str, model: GaussianGroups) -> None:
    diagnosis = diagnose_groups(sample(DEGENERATE[kind]), model)
    json.dumps(diagnosis.to_dict(), allow_nan=False)
    for finding in diagnosis.findings:
        assert bool(finding.figure) == (finding.verdict != "not tested")
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


def test_without_statsmodels_the_reason_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("stats.multitest", "stats.diagnostic", "stats.multivariate", "tsa.stattools"):
        monkeypatch.setitem(sys.modules, f"statsmodels.{module}", None)
    diagnosis = diagnose_groups(sample(draw(13)), COVARIANCE)
    assert {name for name, verdict in verdicts(diagnosis).items() if verdict == "fine"} == {"group size"}
    reasons = [finding.meaning for finding in diagnosis.findings if finding.verdict == "not tested"]
    assert set(reasons) == {"statsmodels is not installed; pip install 'bayesdp[diagnostics]'."}


@pytest.mark.parametrize(
    ("values", "message"),
    [([[1.0, 2.0]], "one column for each of 3 roles"), ([[1.0, np.inf, 2.0]], "finite"), ([1.0, 2.0, 3.0], "roles")],
)
def test_wrong_samples_are_refused(values: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        GroupSample(["a", "b", "c"], values, 1, False)


@pytest.mark.skipif(not KIDIQ.exists(), reason=f"the FamilyIQ data are not at {KIDIQ}")
def test_family_iq_has_unequal_variances() -> None:
    with KIDIQ.open() as file:
        values = np.array([[float(row["kid_score"]), float(row["mom_iq"])] for row in csv.DictReader(file)])
    pairs = GroupSample(["kid_score", "mom_iq"], values, len(values), False)
    by_bound = diagnose_groups(pairs, GaussianGroups(correlation=0.5, size=2))
    assert verdicts(by_bound) == {
        "normal members": "doubtful",
        "normal groups": "doubtful",
        "equal variances": "violated",
        "independent groups": "violated",
        "group size": "fine",
        "correlations": "fine",
    }
    found = named(by_bound, "equal variances")
    assert found.values["kid_score and mom_iq: deviation_ratio"] == pytest.approx(20.41 / 15, abs=1e-3)
    by_covariance = diagnose_groups(pairs, GaussianGroups(covariance=np.cov(values, rowvar=False)))
    assert verdicts(by_covariance)["equal variances"] == "fine"
