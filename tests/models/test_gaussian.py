"""Normal groups: what is refused, what they say of themselves, and what is estimated from a table."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from fitting_tables import FOLDER, PEOPLE, litters  # type: ignore[import-not-found]

from bayesdp import GaussianGroups, Model
from bayesdp.errors import FrameError, ModelError, RecordsError
from bayesdp.experiments.data import load
from bayesdp.frames.source import scan
from bayesdp.frames.view import View
from bayesdp.models import GroupLayout
from bayesdp.models.moments import AnovaMoments, Moments


def test_galton() -> None:
    family = GaussianGroups.fit(load("galton", FOLDER).frame, value=["height", "father", "mother"])
    correlations = np.corrcoef(load("galton", FOLDER).frame.select("height", "father", "mother").to_numpy().T)
    found = correlation(family)
    assert found[0, 1] == pytest.approx(0.2754, abs=5e-5)
    assert found[0, 2] == pytest.approx(0.2017, abs=5e-5)
    assert found[1, 2] == pytest.approx(0.0737, abs=5e-5)
    assert found == pytest.approx(correlations, abs=1e-6)
    assert family.largest_correlation == pytest.approx(0.2754, abs=5e-5)
    assert isinstance(family.moments, Moments)
    assert (family.moments.groups, family.moments.roles) == (898, ("height", "father", "mother"))
    assert (family.column, family.columns, family.group_size) == (None, ("height", "father", "mother"), 3)


def correlation(model: GaussianGroups) -> Any:
    deviations = np.sqrt(np.diag(model.matrices[0]))
    return model.matrices[0] / deviations[:, None] / deviations[None, :]


def test_family_iq() -> None:
    frame = load("familyiq", FOLDER).frame
    model = GaussianGroups.fit(frame, value=["kid_score", "mom_iq"])
    assert correlation(model)[0, 1] == pytest.approx(0.4483, abs=5e-5)
    assert np.sqrt(np.diag(model.matrices[0])) == pytest.approx([20.41, 15.00], abs=5e-3)
    bound = GaussianGroups(correlation=0.5, size=2).diagnose(frame, value=["kid_score", "mom_iq"])
    variances = next(finding for finding in bound.findings if "variance" in finding.name)
    assert variances.verdict == "violated"
    assert variances.values["p_value"] < 1e-6
    assert not any("variance" in finding.name.replace("covariance", "") for finding in model.diagnose(frame).findings)


def mean_squares(frame: pl.DataFrame) -> tuple[float, float, float]:
    """Return what a textbook says: the mean squares between and within groups, and the typical size."""
    groups = [np.array(group["weight"].to_list(), float) for _, group in frame.group_by("litter")]
    values = np.concatenate(groups)
    between = math.fsum(len(group) * (group.mean() - values.mean()) ** 2 for group in groups) / (len(groups) - 1)
    within = math.fsum(((group - group.mean()) ** 2).sum() for group in groups) / (len(values) - len(groups))
    size = (len(values) - sum(len(group) ** 2 for group in groups) / len(values)) / (len(groups) - 1)
    return between, within, size


def test_the_intraclass_correlation_by_hand() -> None:
    frame = litters()
    model = GaussianGroups.fit(frame, value="weight", group="litter")
    between, within, size = mean_squares(frame)
    common = (between - within) / size
    assert model.largest_correlation == pytest.approx(common / (common + within), abs=1e-9)
    assert isinstance(model.moments, AnovaMoments)
    assert model.moments.correlation == pytest.approx(common / (common + within), abs=1e-9)
    assert (model.moments.groups, model.moments.records) == (40, frame.height)
    assert (model.group_size, model.column) == (6, "weight")
    assert model.matrices[0][0, 0] == pytest.approx(common + within, rel=1e-12)


def test_roles_and_wide_tables_are_the_same_covariance() -> None:
    draw = np.random.default_rng(3)
    wide = pl.DataFrame({"child": draw.integers(0, 100, 50), "mother": draw.integers(0, 100, 50), "family": range(50)})
    long = wide.unpivot(["child", "mother"], index="family", variable_name="role").sample(fraction=1, shuffle=True)
    by_role = GaussianGroups.fit(long, value="value", group="family", role="role")
    by_column = GaussianGroups.fit(wide, value=["child", "mother"])
    assert by_role.covariance == by_column.covariance
    assert by_role.matrices[0] == pytest.approx(np.cov(wide.select("child", "mother").to_numpy().T), rel=1e-12)
    assert (by_role.column, by_column.column) == ("value", None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value": "v", "group": "who"}, None),
        ({"value": "v"}, "one value column needs group="),
        ({"value": "v", "role": "role"}, "one value column needs group="),
        ({"value": []}, "value names no column"),
        ({"value": None}, "value names no column"),
        ({"value": ["v", "v"]}, "value names a column twice"),
        ({"value": ["v", "t"], "group": "who"}, "several value columns mean one row for each group"),
        (
            {"value": "v", "group": "v"},
            "every group of the table has one record only, so how members vary together is unknown",
        ),
        ({"value": "v", "group": ["who", "role"]}, "every group of the table has one record only"),
        ({"value": "v", "group": "who", "role": "who"}, "more than one record in the role '1'; .*leave role= out"),
        ({"value": "v", "group": "t", "role": "role"}, "more than one record in the role 'a'"),
        ({"value": "v", "group": "who", "role": "t"}, "not positive definite .*ArbitraryGroups"),
        ({"value": "v", "group": "who", "role": "state"}, "more than one record in the role"),
        ({"value": "v", "group": "who", "role": 3}, "role must be a non-empty text"),
        ({"value": "state", "group": "who"}, "moments of column 'state' of the table: it is not numeric"),
        ({"value": ["v", "state"]}, "moments of column 'state' of the table: it is not numeric"),
        ({"value": "v > 1", "group": "who"}, "has no column 'v > 1'"),
        ({"value": "v", "group": "whom"}, "has no column 'whom'"),
        ({"value": "v", "group": "who", "distance": 0}, "distance must be greater than 0"),
        ({"value": "v", "group": "who", "record": 3}, "record must be a non-empty text"),
        ({"value": "v", "group": "who", "missing": "maybe"}, 'missing must be "error" or "drop"'),
    ],
)
def test_groups_that_cannot_be_estimated(options: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert GaussianGroups.fit(PEOPLE, **options).group_size == 3
        return
    with pytest.raises((FrameError, ModelError), match=message):
        GaussianGroups.fit(PEOPLE, **options)


def test_scales_of_any_size_are_fine() -> None:
    assert GaussianGroups(covariance=[[1e-200, 1e-201], [1e-201, 1e-200]]).largest_correlation == pytest.approx(0.1)
    assert GaussianGroups(covariance=np.eye(40)).group_size == 40
    with pytest.raises(ModelError, match="row 3, column 5 must be a finite number"):
        GaussianGroups(
            covariance=[[float("nan") if (i, j) == (3, 5) else 1.0 * (i == j) for j in range(40)] for i in range(40)]
        )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: GaussianGroups(correlation=1.5, size=2), r"\[0, 1\], not 1.5"),
        (lambda: GaussianGroups(correlation=-0.1, size=2), r"\[0, 1\], not -0.1"),
        (lambda: GaussianGroups(correlation=float("nan"), size=2), "finite"),
        (lambda: GaussianGroups(correlation=0.5, size=2, covariance=[[1]]), "either correlation"),
        (lambda: GaussianGroups(covariance=[[1]], size=2), "its own size"),
        (
            lambda: GaussianGroups(covariance=[[1, 0.5], [0.4, 1]]),
            "symmetric: row 0, column 1 is 0.5, but row 1, column 0 is 0.4",
        ),
        (lambda: GaussianGroups(covariance=[[1, 2], [2, 1]]), "more than the two variances allow"),
        (lambda: GaussianGroups(covariance=[[1, 1], [1, 1]]), "not positive definite.*ArbitraryGroups"),
        (lambda: GaussianGroups(covariance=[[1, 0], [0, 0]]), "variance in row 1"),
        (lambda: GaussianGroups(covariance=[[1, 0, 0], [0, 1, 0]]), "square"),
        (lambda: GaussianGroups(covariance=[[1, 0], [0]]), "row 1 has 1 entry"),
        (lambda: GaussianGroups(covariance=[]), "empty"),
        (lambda: GaussianGroups(covariance=[[1, float("inf")], [float("inf"), 1]]), "row 0, column 1"),
        (
            lambda: GaussianGroups(covariance=[[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]),
            "not positive definite",
        ),
        (lambda: GaussianGroups(correlation=0.5, size=2, distance=0), "distance must be greater than 0"),
        (lambda: GaussianGroups.from_moments([1], [[1, 0], [0, 1]], groups=9), "mean must hold 2 numbers"),
        (lambda: GaussianGroups.from_moments([1], [[1]], groups=1), "groups must be at least 2"),
        (lambda: GaussianGroups(covariance=[[1e200, 3e200], [0, 1e200]]), "symmetric"),
    ],
)
def test_impossible_groups_are_refused_naming_the_entry(build: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        build()


def test_parameters_leave_out_means_and_numbers_of_groups() -> None:
    assert GaussianGroups(correlation=0.275, size=3).parameters == (
        "All variances are equal, and every correlation is at most 0.275 in absolute value."
    )
    pair = GaussianGroups.from_moments([69.5, 64.25], [[4, 1], [1, 9]], groups=197)
    assert pair.parameters.splitlines()[-1].split() == ["2", "3", "0.1667"]
    assert not any(figure in pair.parameters for figure in ("69.5", "64.25", "197"))


def test_groups_are_named_as_those_of_arbitrary_groups() -> None:
    siblings = GaussianGroups(correlation=0.3, size=3, group="family")
    assert Model.from_json(siblings.to_json()) == siblings
    assert siblings.entity_columns == siblings.public_columns == ("family",)
    assert siblings.unchecked is None
    four = View(scan(pl.DataFrame({"family": [1, 1, 1, 1], "height": [1.0, 2.0, 3.0, 4.0]})), "error")
    with pytest.raises(RecordsError, match="a group of 4 records, but the model describes groups of at most 3"):
        siblings.check_table(four, "height")
    wider = GaussianGroups(correlation=0.3, size=4, group="family")
    assert wider.check_table(four, "height") is wider
    assert wider.located(value="height", group="family").group == ()
    with pytest.raises(ModelError, match="no role column identifies them"):
        GaussianGroups(covariance=[[1, 0.1], [0.1, 2]], group="family").check_table(four)
    with pytest.raises(ModelError, match="leave group= out: the layout names them"):
        GaussianGroups(correlation=0.3, size=3, group="family", layout=GroupLayout("height", "family"))
    with pytest.raises(ModelError, match="leave group= out: a precision"):
        GaussianGroups(precision=[[1, 0], [0, 1]], group="family")
