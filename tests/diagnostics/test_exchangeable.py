"""Members without roles: what depends on them once every position has its own mean, from tables."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesdp import GaussianGroups
from bayesdp.diagnostics import Diagnosis, Finding, GroupSample, normality
from bayesdp.diagnostics.exchangeable import one_correlation, trend


@pytest.fixture(autouse=True)
def few_simulations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate little for the test of joint normality, which is not looked at here and takes most of the time."""
    monkeypatch.setattr(normality, "_SIMULATIONS", 199)


def named(diagnosis: Diagnosis, name: str) -> Finding:
    return next(finding for finding in diagnosis.findings if finding.name == name)


def measured(seed: int, groups: int, members: int, *, slope: float = 0.0, common: float = 0.6) -> pl.DataFrame:
    """Return repeated measurements: a trend by position, and what a group has in common."""
    rng = np.random.default_rng(seed)
    values = 50 + slope * np.arange(members) + common * rng.standard_normal((groups, 1))
    values = values + rng.standard_normal((groups, members))
    return pl.DataFrame({"id": np.repeat(np.arange(groups), members), "y": values.ravel()})


def diagnosed(frame: Any, model: GaussianGroups | None = None) -> Diagnosis:
    return (model or GaussianGroups.fit(frame, value="y", group="id")).diagnose(frame, value="y", group="id")


def test_sleepstudy_is_a_violation() -> None:
    """Reaction times like those of its 18 persons over 10 days: a mixed model's estimates, drawn anew."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        persons, days = rng.standard_normal((2, 18, 1)), np.arange(10)
        values = 251 + 24.7 * persons[0] + (10.5 + 5.9 * persons[1]) * days + 25.6 * rng.standard_normal((18, 10))
        frame = pl.DataFrame({"id": np.repeat(np.arange(18), 10), "y": values.ravel()})
        model = GaussianGroups.fit(frame, value="y", group="id")
        found = trend(GroupSample([str(day) for day in days], values, 18, True, positions=values), model)
        assert found.verdict == "violated"


@pytest.mark.parametrize(("groups", "members", "slope"), [(18, 10, 1.0), (27, 4, 1.5)])
def test_growth_is_a_violation_at_small_intraclass_correlation(groups: int, members: int, slope: float) -> None:
    """As in sleepstudy (18 persons, 10 days) and growth curves (27 children, 4 ages)."""
    frame = measured(1, groups, members, slope=slope, common=1.2)
    model = GaussianGroups.fit(frame, value="y", group="id")
    assert model.largest_correlation < 0.2
    found = named(diagnosed(frame, model), "position")
    assert found.verdict == "violated"
    assert found.values["all members: correlation"] > model.largest_correlation + 0.1
    assert found.values["means: spread"] > 1
    assert "role column" in found.advice


def test_a_trend_alone_is_doubtful() -> None:
    found = named(diagnosed(measured(2, 400, 4, slope=0.5, common=0.0)), "position")
    assert found.verdict == "doubtful"
    assert found.values["all members: correlation"] < 0.1


def test_neighbours_that_follow_each_other_are_a_violation() -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((600, 12))
    for j in range(1, 12):
        values[:, j] = 0.6 * values[:, j - 1] + 0.8 * values[:, j]
    frame = pl.DataFrame({"id": np.repeat(np.arange(600), 12), "y": values.ravel()})
    found = named(diagnosed(frame), "position")
    assert found.verdict == "violated"
    assert found.values["neighbours: correlation"] == pytest.approx(0.6, abs=0.05)


def sample(seed: int, groups: int, members: int, correlation: float) -> GroupSample:
    rng = np.random.default_rng(seed)
    common, own = np.sqrt(correlation), np.sqrt(1 - correlation)
    values = common * rng.standard_normal((groups, 1)) + own * rng.standard_normal((groups, members))
    return GroupSample([f"member {i}" for i in range(members)], values, groups, True, positions=values)


def test_members_in_no_particular_order_are_fine() -> None:
    """In 200 tests of right models about two are doubtful, none violated, none untested."""
    model = GaussianGroups(correlation=0.3, size=3)
    found = [trend(sample(seed, 2500, 3, 0.3), model) for seed in range(200)]
    verdicts = [finding.verdict for finding in found]
    assert sum(verdict == "doubtful" for verdict in verdicts) <= 7
    assert set(verdicts) <= {"fine", "doubtful"}
    assert all(finding.values["power"] >= 0.8 for finding in found)


def test_the_chance_to_see_a_larger_correlation_is_as_stated() -> None:
    """True correlations of 0.3 against a bound of 0.2."""
    model = GaussianGroups(correlation=0.2, size=3)
    found = [one_correlation(sample(seed, 300, 3, 0.3), model).values for seed in range(300)]
    assert found[0]["power"] == pytest.approx(np.mean([values["p_value"] < 0.01 for values in found]), abs=0.08)
    expected = one_sided(sample(7, 300, 3, 0.3).values, 0.2)
    assert found[7]["p_value"] == pytest.approx(2 * expected)


def one_sided(values: Any, bound: float) -> float:
    """Return the p-value of the classical F test, written down again."""
    from scipy import stats

    groups, members = values.shape
    between = members * values.mean(axis=1).var(ddof=1)
    within = values.var(axis=1, ddof=1).mean()
    expected = (1 + (members - 1) * bound) / (1 - bound)
    return float(stats.f.sf(between / within / expected, groups - 1, groups * (members - 1)))


def test_few_groups_are_too_few_to_tell() -> None:
    diagnosis = diagnosed(measured(5, 30, 3))
    found = named(diagnosis, "position")
    assert found.verdict == "not tested"
    assert "groups are needed" in found.meaning
    assert diagnosis.verdict == "not tested"
    tiny = named(diagnosed(measured(6, 5, 3)), "position")
    assert (tiny.verdict, tiny.figure) == ("not tested", "")


def test_positions_with_another_variance_are_a_violation() -> None:
    frame = measured(7, 1500, 3).with_row_index()
    frame = frame.with_columns(y=pl.when(pl.col("index") % 3 == 2).then(1.5 * pl.col("y") - 25).otherwise("y"))
    found = named(diagnosed(frame), "equal variances")
    assert found.verdict == "violated"
    assert "position 1 and position 3" in found.figure


def test_missing_values_keep_their_position() -> None:
    """The first day of every third group is missing; the others must not move up."""
    frame = measured(8, 300, 3, slope=3.0).with_row_index()
    frame = frame.with_columns(y=pl.when(pl.col("index") % 9 == 0).then(None).otherwise("y"))
    model = GaussianGroups.fit(frame, value="y", group="id", missing="drop")
    found = named(model.diagnose(frame), "position")
    assert found.values["means: spread"] == pytest.approx(3 * np.sqrt(2 / 3), rel=0.15)


def test_a_database_has_no_order_of_rows() -> None:
    duckdb = pytest.importorskip("duckdb")
    frame = measured(9, 2500, 3)
    diagnosis = diagnosed(duckdb.connect().from_arrow(frame.to_arrow()))
    found = named(diagnosis, "position")
    assert (found.verdict, found.figure) == ("not tested", "")
    assert "pandas, Polars or PyArrow" in found.advice
    assert diagnosis.verdict == "not tested"


def test_a_file_has_an_order_of_rows(tmp_path: Any) -> None:
    frame = measured(10, 60, 5, slope=1.0, common=1.5)
    frame.write_csv(tmp_path / "growth.csv")
    frame.write_parquet(tmp_path / "growth.parquet")
    wanted = named(diagnosed(frame), "position")
    for name in ("growth.csv", "growth.parquet"):
        diagnosis = diagnosed(str(tmp_path / name))
        assert named(diagnosis, "position").values == pytest.approx(wanted.values)
        assert (diagnosis.table_name, diagnosis.rows) == (name, 300)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    assert named(diagnosed(shuffled), "position").values["means: spread"] < 0.5


def test_unequal_groups_are_compared_where_half_have_a_position() -> None:
    frame = pl.concat([measured(11, 2500, 3), measured(12, 600, 7).with_columns(pl.col("id") + 2500)])
    found = named(diagnosed(frame), "equal variances")
    assert found.verdict == "fine"
    assert "position 4" not in found.figure
    singles = measured(13, 100, 1).with_columns(pl.col("id") + 9000)
    thin = pl.concat([measured(14, 40, 2), singles])
    assert "at least half" in named(diagnosed(thin), "position").meaning


def test_an_estimate_from_these_groups_agrees_by_construction() -> None:
    frame = measured(15, 200, 3)
    assert named(diagnosed(frame), "covariance").shown == "by construction"
    other = named(GaussianGroups.fit(frame, value="y", group="id").diagnose(measured(16, 3000, 3)), "covariance")
    assert other.shown in ("fine", "doubtful")
    for scale, verdict in ((1.0, "fine"), (1.3, "violated")):
        model = GaussianGroups(covariance=scale * (np.eye(3) + 0.36))
        assert named(diagnosed(measured(17, 3000, 3), model), "covariance").verdict == verdict
    unlike = GaussianGroups(covariance=[[1.0, 0.3], [0.3, 2.0]])
    assert "which record is which" in named(diagnosed(measured(18, 100, 2), unlike), "covariance").meaning
    twins = measured(19, 50, 1)
    exact = named(diagnosed(pl.concat([twins, twins]), GaussianGroups(correlation=0.9, size=2)), "correlations")
    assert exact.verdict == "violated"
