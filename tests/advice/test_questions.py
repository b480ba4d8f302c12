"""`advise` on quantiles and averages, on states in groups, and within strata that were named."""

from __future__ import annotations

import datetime
import math
from random import Random

import polars
import pytest

import bayesdp as bdp
from bayesdp.advice.questions import quantile_error, yardstick
from bayesdp.advice.states_in_groups import alike
from bayesdp.errors import InvalidInputError, QueryError
from bayesdp.frames.group_pairs import group_pairs
from bayesdp.frames.source import scan
from bayesdp.mechanisms import SELECTIONS, NoisyMaxMechanism
from bayesdp.models import ChainLayout

AGES = bdp.Quantile("age", at=[0.25, 0.5], candidates=range(101))


def households(shared: float, number: int = 600, seed: int = 5) -> polars.DataFrame:
    """Return households, some of whose members are ill for a common reason."""
    draw = Random(seed)
    rows = []
    for household in range(number):
        common = draw.random() < 0.3
        for _ in range(draw.choice([1, 2, 3, 4])):
            ill = common if draw.random() < shared else draw.random() < 0.3
            rows.append({"household": household, "flu": "yes" if ill else "no", "age": draw.randrange(100)})
    return polars.DataFrame(rows)


def seasons() -> polars.DataFrame:
    """Return a temperature with a season, a record a day."""
    draw, days = Random(3), [datetime.date(2010, 1, 1) + datetime.timedelta(days=day) for day in range(1500)]
    season = [math.sin(2 * math.pi * day.timetuple().tm_yday / 365) for day in days]
    return polars.DataFrame({"date": days, "degrees": [8 * warm + draw.gauss(0, 1) for warm in season]})


def test_named_strata_have_their_own_means_in_a_series() -> None:
    question = bdp.Mean("degrees", bounds=(-20, 20))
    usual, named = (bdp.advise(seasons(), question, order_by="date", within=within) for within in (None, "month"))
    assert usual.next_steps.given["within"] == ["weekday"]
    assert named.next_steps.given["within"] == ["month"]
    assert named.query == bdp.Mean("degrees", bounds=(-20, 20), size=1500)
    first, second = ({each.name: each.alpha or 0.0 for each in advice.priced_assumptions} for advice in (usual, named))
    assert second["normal series of order 1"] < first["normal series of order 1"] / 3
    assert second["independent"] == first["independent"]


@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_states_in_groups_are_tested_and_advised(shared: float) -> None:
    advice = bdp.advise(households(shared), state="flu", group="household")
    independent, *_ = advice.priced_assumptions
    arbitrary = next(each for each in advice.priced_assumptions if each.name == "arbitrary groups")
    assert advice.query == bdp.Count("flu", equals="yes")
    assert independent.denied == (shared > 0)
    assert arbitrary.model == bdp.ArbitraryGroups(4, group="household")
    condition = bdp.advise(households(shared), state="flu == 'yes'", group="household")
    assert [each.shown for each in condition.priced_assumptions] == [each.shown for each in advice.priced_assumptions]
    with pytest.raises(InvalidInputError, match="neither"):
        bdp.advise(households(shared), state="flu", group="household", role="age")


@pytest.mark.slow
def test_pairs_of_shuffled_states_have_the_stated_spread() -> None:
    frame = households(0.5, number=200)
    draw, errors = Random(1), []
    for _ in range(200):
        states = frame["flu"].to_list()
        draw.shuffle(states)
        pairs = group_pairs(scan(frame.with_columns(flu=polars.Series(states))), "flu", ["household"], "error")
        errors.append("alike" in alike(pairs)[1] and "p = " in alike(pairs)[1] and "were not" not in alike(pairs)[1])
    assert sum(errors) <= 8  # at the level 0.01


def test_the_error_of_quantiles_is_that_of_their_ranks() -> None:
    frame = households(0.0)
    error = quantile_error(scan(frame), AGES, "error", 0.05)
    assert error is not None
    slack = NoisyMaxMechanism(1.0, 101, 2 * SELECTIONS).slack(0.05, among=2)
    ages = sorted(frame["age"].to_list())
    ranks = AGES.ranks(len(ages))
    farthest = max(abs(ages[rank - 1 + moved] - ages[rank - 1]) for rank in ranks for moved in (-slack, slack))
    assert farthest <= error(1.0) <= farthest + 1.0001
    advice = bdp.advise(frame, AGES, group="household")
    alphas = [each.alpha for each in advice.priced_assumptions if each.calibration is not None]
    assert alphas == sorted(alphas, key=lambda alpha: alpha or 0.0)
    assert alphas[0] == error(1.0)


def test_variances_and_medians_are_advised() -> None:
    frame = households(0.0)
    for question in (bdp.Variance("age", bounds=(0, 100)), bdp.Median("age", candidates=range(101))):
        advice = bdp.advise(frame, question, group="household")
        assert advice.recommended is not None
        assert advice.recommended.alpha is not None


def test_errors_by_windows_are_compared_with_one_window() -> None:
    hours = polars.datetime_range(
        datetime.datetime(2012, 10, 1), datetime.datetime(2012, 10, 29), "1h", eager=True, closed="left"
    )
    table = scan(polars.DataFrame({"at": hours, "on": [at.hour < 12 for at in hours]}))
    layout = ChainLayout("at")

    def size(**windows: object) -> tuple[float, str]:
        found = yardstick(table, bdp.Count("on", equals=True, **windows), "error", layout)  # type: ignore[arg-type]
        return found.size, found.name

    assert size() == (336, "the answer")
    assert size(by="weekday") == (48, "an average window")
    assert size(since="2012-10-01", until="2012-10-08") == (84, "the answer")
    assert size(by="date", since="2012-10-01", until="2012-10-03") == (12, "an average window")
    with pytest.raises(QueryError, match="public ends"):
        size(by="date")
    parts = scan(polars.DataFrame({"on": [1, 1, 1, 0], "zone": ["A", "A", "B", "B"]}))
    found = yardstick(parts, bdp.Count("on", equals=1, by="zone", by_cells=["A", "B"]), "error")
    assert (found.size, found.name) == (1.5, "an average part")
