"""Moments that a covariance was estimated from: they are checked, and what contradicts them is refused."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from fitting_tables import litters  # type: ignore[import-not-found]
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import AnyOf, ArbitraryGroups, GaussianGroups, Model
from bayesdp.errors import BayesDPError, ModelError
from bayesdp.models.moments import AnovaMoments, Moments, checked_covariance, read_moments


def test_the_analysis_of_variance_of_statsmodels() -> None:
    smf, anova = pytest.importorskip("statsmodels.formula.api"), pytest.importorskip("statsmodels.stats.anova")
    pytest.importorskip("pandas")
    frame = litters(2)
    table = anova.anova_lm(smf.ols("weight ~ C(litter)", frame.to_pandas()).fit())
    moments = GaussianGroups.fit(frame, value="weight", group="litter").moments
    assert isinstance(moments, AnovaMoments)
    assert moments.between == pytest.approx(table["mean_sq"]["C(litter)"], rel=1e-9)
    assert moments.within == pytest.approx(table["mean_sq"]["Residual"], rel=1e-9)


@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1.0, 1e9, -1e15]),
    st.sampled_from([1e-150, 1e-6, 1.0, 1e6, 1e100]),
    st.floats(0, 0.95),
    st.sampled_from([0.0, 0.3]),
)
def test_groups_that_were_fitted_agree_with_their_moments(
    seed: int, centre: float, scale: float, alike: float, lost: float
) -> None:
    draw = np.random.default_rng(seed)
    groups = int(draw.integers(5, 30))
    rows = [
        {"g": group, "role": str(member), "v": scale * (centre + math.sqrt(alike) * common + own)}
        for group in range(groups)
        for common in [draw.normal()]
        for member, own in enumerate(math.sqrt(1 - alike) * draw.normal(size=int(draw.integers(1, 4))))
    ]
    frame = pl.DataFrame(rows).with_columns(
        v=pl.when(pl.Series(draw.random(len(rows)) >= lost)).then(pl.col("v")),
    )
    wide = frame.pivot("role", index="g", values="v")
    columns = [name for name in wide.columns if name != "g"]
    refused = []
    tables: list[tuple[pl.DataFrame, dict[str, Any]]] = [
        (frame, {"value": "v", "group": "g"}),
        (frame, {"value": "v", "group": "g", "role": "role"}),
        (wide, {"value": columns}),
    ]
    for table, options in tables:
        try:
            model = GaussianGroups.fit(table, missing="drop", diagnose=False, **options)
        except BayesDPError as refusal:
            refused.append(str(refusal))
            continue
        for written in (model, AnyOf(model, ArbitraryGroups(3))):
            assert Model.from_json(written.to_json()) == written
    assert "disagree" not in "".join(refused)


SIZES = [(3, 50, 170.0, 1470.0)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": 1}, "groups must be at least 2"),
        ({"records": 151}, "sizes must add up to 50 groups and 151 records"),
        ({"largest": 4}, "the largest group having 4"),
        ({"within": -1.0}, "within is a mean square, at least 0, not -1"),
        ({"between": 80.0}, "the moments disagree: between is 80, but 90 by sizes"),
        ({"mean": 171.0}, "the moments disagree: mean is 171, but 170 by sizes"),
        ({"size": 2.5}, "the moments disagree: size is 2.5, but 3 by sizes"),
        ({"sizes": [(3, 50, 170.0)]}, r"sizes\[0\] must be \[size, groups, mean, squares\]"),
        ({"sizes": [(3, 50, 170.0, -1.0)]}, "ends with a sum of squares, at least 0"),
    ],
)
def test_a_contradictory_analysis_of_variance_is_refused(change: dict[str, Any], message: str) -> None:
    moments: dict[str, Any] = {
        "groups": 50,
        "records": 150,
        "mean": 170.0,
        "between": 90.0,
        "within": 22.5,
        "size": 3.0,
    }
    moments |= {"largest": 3, "sizes": SIZES}
    assert read_moments(moments).to_dict() == moments | {"sizes": [list(row) for row in SIZES]}
    with pytest.raises(ModelError, match=message):
        read_moments(moments | change)


def test_groups_that_are_too_few_have_no_posterior() -> None:
    moments = Moments(2, [0, 0], [[1, 0.5], [0.5, 1]])
    with pytest.raises(ModelError, match=r"2 groups are too few .* covariance of 2 roles; it takes at least 3"):
        next(moments.draws(np.random.default_rng(1)))


def test_roles_name_the_rows() -> None:
    with pytest.raises(ModelError, match="roles must name the 2 rows of the covariance, but names 1"):
        Moments(9, [0, 0], [[1, 0.5], [0.5, 1]], roles=["child"])


@pytest.mark.parametrize("smallest", [1e-14, 1e-11, 1e-6])
def test_a_covariance_is_taken_if_rounding_leaves_its_sign(smallest: float) -> None:
    matrix = [[1, 1 - smallest], [1 - smallest, 1]]
    if smallest > 1e-12:
        assert checked_covariance("it", matrix) == tuple(map(tuple, matrix))
    else:
        with pytest.raises(ModelError, match=r"it is not positive definite .*ArbitraryGroups\(size=2\)"):
            checked_covariance("it", matrix)
