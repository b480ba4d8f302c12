"""`advise` on columns of numbers: normal groups, normal series, arbitrary groups."""

from __future__ import annotations

import numpy as np
import polars
import pytest

import bayesdp as bdp
from bayesdp.advice.priced_assumption import PricedAssumption
from bayesdp.errors import InvalidInputError, NoColumnError, RecordsError

HEIGHT = bdp.Sum("height", bounds=(0, 100))
LOAD = bdp.Sum("load", bounds=(-10, 10))


def families(correlation: float, groups: int = 2500, size: int = 3, seed: int = 4) -> polars.DataFrame:
    """Return normal families of members that are correlated."""
    generator = np.random.default_rng(seed)
    common, own = generator.normal(size=(groups, 1)), generator.normal(size=(groups, size))
    values = 50 + 5 * (np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own)
    names = np.repeat(np.arange(groups), size)
    return polars.DataFrame({"family": names, "height": values.reshape(-1)})


def series(coefficients: list[float], records: int = 6000, seed: int = 8) -> polars.DataFrame:
    """Return a normal series."""
    generator = np.random.default_rng(seed)
    values = [0.0] * len(coefficients)
    for _ in range(records):
        past = sum(weight * value for weight, value in zip(coefficients, reversed(values), strict=False))
        values.append(float(past + generator.normal()))
    return polars.DataFrame({"t": range(records), "load": values[len(coefficients) :]})


def assumptions(advice: bdp.Advice) -> dict[str, PricedAssumption]:
    return {assumption.name: assumption for assumption in advice.priced_assumptions}


@pytest.mark.parametrize("correlation", [0.0, 0.4])
def test_correlated_groups_deny_independence_only(correlation: float) -> None:
    advice = bdp.advise(families(correlation), HEIGHT, group="family")
    named = assumptions(advice)
    assert list(named) == ["independent", "normal groups", "arbitrary groups"]
    assert named["independent"].denied == (correlation > 0)
    assert not named["normal groups"].denied
    assert named["arbitrary groups"].model == bdp.ArbitraryGroups(3, group="family")
    assert advice.recommended is not None
    assert advice.recommended.name == ("normal groups" if correlation else "independent")
    alphas = [assumption.alpha for assumption in advice.priced_assumptions]
    assert alphas == sorted(alphas, key=lambda alpha: alpha or 0.0)
    assert advice.shows == ""


def test_a_column_that_does_not_exist_is_refused() -> None:
    """It must not look like an assumption that was not tested."""
    for wrong in ({"group": "family", "role": "gender"}, {"group": "household"}, {"order_by": "t"}):
        with pytest.raises(NoColumnError, match="it has 'family', 'height'"):
            bdp.advise(families(0.4), HEIGHT, **wrong)  # type: ignore[arg-type]


def test_groups_that_are_not_normal_get_arbitrary_groups() -> None:
    frame = families(0.4).with_columns(height=(polars.col("height") / 10).exp())
    advice = bdp.advise(frame, bdp.Sum("height", bounds=(0, 1000)), group="family")
    assert assumptions(advice)["normal groups"].denied
    assert advice.recommended is not None
    assert advice.recommended.name == "whole family", "the same noise protects it"
    (line,) = (
        line for line in assumptions(advice)["normal groups"].consequences if "anything may happen" in line.condition
    )
    assert line.epsilon is not None
    assert line.epsilon > 1


@pytest.mark.parametrize(
    ("coefficients", "denied", "chosen"),
    [
        ([0.0], set(), "independent"),
        ([0.6], {"independent"}, "normal series of order 1"),
        ([0.3, 0.3], {"independent", "normal series of order 1"}, "normal series of order 3"),
    ],
)
def test_a_series_needs_the_order_it_has(coefficients: list[float], denied: set[str], chosen: str) -> None:
    advice = bdp.advise(series(coefficients), LOAD, order_by="t")
    named = assumptions(advice)
    assert list(named)[1:3] == ["normal series of order 1", "normal series of order 3"]
    assert {name for name, assumption in named.items() if assumption.denied} == denied
    assert named["arbitrary groups"].verdict == "not possible"
    assert advice.recommended is not None
    assert advice.recommended.name == chosen
    if coefficients[0]:
        assert f"order={chosen[-1]}" in advice.python
        assert f"--order {chosen[-1]}" in advice.shell
        assert named["normal series of order 1"].model == bdp.GaussianSeries.fit(
            series(coefficients), value="load", order_by="t"
        )


def test_entities_come_last_for_series() -> None:
    parts = [series([0.5], 400, seed).with_columns(polars.lit(seed).alias("meter")) for seed in range(4)]
    advice = bdp.advise(polars.concat(parts), LOAD, order_by="t", entity="meter")
    assert advice.priced_assumptions[-1].model == bdp.ArbitraryGroups(400, group="meter")


def test_columns_of_related_records_are_required() -> None:
    with pytest.raises(InvalidInputError, match="name the columns of records that belong together"):
        bdp.advise(families(0.2, 20), HEIGHT)
    lacking = families(0.2, 20).with_columns(height=polars.when(polars.col("height") > 50).then(polars.col("height")))
    with pytest.raises(RecordsError, match="missing"):
        bdp.advise(lacking, HEIGHT, group="family")
    assert bdp.advise(lacking, HEIGHT, group="family", missing="drop").priced_assumptions[0].verdict == "not tested"
