"""Series of bounded odds, fitted to tables."""

import datetime as dt
import math
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesdp import Count, Model, OddsSeries, leakage
from bayesdp.errors import InvalidInputError, ModelError, RecordsError
from bayesdp.models import pair_regression

EFFECTS = [1.6, 0.5]


def table(records: int = 2**13, effects: list[float] = EFFECTS, seed: int = 1) -> pl.DataFrame:
    """Return a series by the hour, rarer at night."""
    tables, generator = np.array(effects).reshape(-1, 1, 1), np.random.default_rng(seed)
    rows = pair_regression._simulated(np.array([[-1.6]]), tables, records // 256, generator).ravel()
    begun = dt.datetime(2026, 1, 1)
    times = [begun + dt.timedelta(minutes=10 * place) for place in range(len(rows))]
    return pl.DataFrame({"at": times, "on": rows.tolist()})


FRAME = table()
FITTED: dict[str, Any] = {"state": "on", "order_by": "at"}


@pytest.mark.slow
def test_the_odds_cover_the_true_ones() -> None:
    assert OddsSeries.fit(FRAME, **FITTED).reach == 2
    model = OddsSeries.fit(FRAME, **FITTED, within=["hour"], reach=2)
    assert model.fitted is not None
    assert np.exp(model.fitted.log_odds) == pytest.approx(np.exp(EFFECTS), rel=0.15)
    assert math.prod(model.odds) > math.exp(sum(EFFECTS))
    assert (model.states, model.length, model.gaps, model.estimated) == ((0, 1), len(FRAME), False, True)
    assert model.fitted.left_out == 4
    assert set(model.public_columns) == {"at", "hour"}
    assert "the estimates are" in model.summary().lower()
    assert Model.from_json(model.to_json()) == model


def test_gaps_leave_records_out() -> None:
    lost = FRAME.with_columns(on=pl.when(pl.int_range(pl.len()) % 500 == 250).then(None).otherwise("on"))
    with pytest.raises(RecordsError, match="no 'on'"):
        OddsSeries.fit(lost, **FITTED, reach=2)
    model = OddsSeries.fit(lost, **FITTED, reach=2, missing="drop")
    assert model.gaps
    assert model.fitted is not None
    assert model.fitted.left_out == 4 + 4 * lost["on"].null_count()


def test_several_entities_are_fitted_together() -> None:
    frame = FRAME.with_columns(who=pl.int_range(pl.len()) // 1024)
    model = OddsSeries.fit(frame, **FITTED, entity="who", reach=1)
    assert model.fitted is not None
    assert model.fitted.left_out == 2 * 8
    assert model.length == 1024


def test_an_additive_fit_needs_two_states() -> None:
    model = OddsSeries.fit(FRAME, **FITTED, additive=True, reach=2, diagnose=False)
    assert model.additive
    three = FRAME.with_columns(on=pl.int_range(pl.len()) * 7 % 5 % 3)
    with pytest.raises(ModelError, match="3 values"):
        OddsSeries.fit(three, **FITTED, additive=True, reach=1)


def test_an_additive_price_is_that_of_draws_with_its_signs() -> None:
    """The second effect is hardly there: half of all draws have the other sign."""
    frame = table(2**12, [1.2, 0.0], seed=4)
    model = OddsSeries.fit(frame, **FITTED, additive=True, reach=2, credibility=0.9, diagnose=False)
    assert model.fitted is not None
    tau = 0.3
    prices = []
    for draw in islice(model.draws(np.random.default_rng(3)), 150):
        assert draw.additive
        assert draw.fitted is None
        found = leakage(draw, Count("on", equals=1), tau=tau)
        prices.append(found.epsilon)
        assert found.theorem == "odds-ising"
    promised = leakage(model, Count("on", equals=1), tau=tau)
    assert promised.theorem == "odds-ising"
    assert 0.82 <= np.mean(np.array(prices) <= promised.epsilon) <= 0.97


def test_effects_with_unbalanced_signs_are_priced_for_every_law() -> None:
    frame = table(2**12, [1.2, -0.4], seed=5)
    with pytest.raises(ModelError, match="do not push the same way"):
        OddsSeries.fit(frame, **FITTED, additive=True, reach=2, diagnose=False)
    model = OddsSeries.fit(frame, **FITTED, reach=2, diagnose=False)
    assert model.fitted is not None
    assert model.fitted.effects[1][0] < 0
    for each in (model, next(model.draws(np.random.default_rng(3)))):
        found = leakage(each, Count("on", equals=1), tau=0.3)
        assert found.theorem == "odds-series"
        ising = next(reply for reply in found.assessments if reply.theorem == "odds-ising")
        assert ising.epsilon is None


def test_signs_that_change_with_the_distance_are_alike_swapped() -> None:
    model = OddsSeries.fit(table(2**12, [-1.2, 0.4], seed=6), **FITTED, additive=True, reach=2, diagnose=False)
    assert model.fitted is not None
    assert [row[0] > 0 for row in model.fitted.effects] == [False, True]
    assert leakage(model, Count("on", equals=1), tau=0.3).theorem == "odds-ising"


def test_an_additive_fit_travels_and_its_diagnosis_says_so() -> None:
    frame = table(2**11)
    model = OddsSeries.fit(frame, **FITTED, additive=True, reach=1)
    assert Model.from_json(model.to_json()) == model
    assert model.diagnosis is not None
    found = {finding.name: finding for finding in model.diagnosis.findings}
    assert {"odds", "reach", "three together", "signs"} <= set(found)
    assert "as this model assumes" in found["three together"].meaning


def test_a_condition_is_a_state() -> None:
    model = OddsSeries.fit(FRAME, state="on > 0", order_by="at", reach=1)
    assert (model.state, model.states) == ("on > 0", (False, True))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"reach": 0}, "reach"),
        ({"reach": 9}, "at most 8"),
        ({"reach": "long"}, "reach"),
        ({"credibility": 1}, "credibility"),
        ({"within": "on"}, "on"),
    ],
)
def test_what_cannot_be_fitted_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        OddsSeries.fit(FRAME, **FITTED, **given)


@pytest.mark.slow
def test_draws_scatter_around_the_estimate() -> None:
    model = OddsSeries.fit(FRAME, **FITTED, reach=2)
    assert model.fitted is not None
    drawn = [each.odds for each in islice(model.draws(np.random.default_rng(1)), 100)]
    assert np.log(drawn).mean(axis=0) == pytest.approx(model.fitted.log_odds, abs=0.05)
    assert np.log(drawn).std(axis=0) == pytest.approx(np.sqrt(np.diag(model.fitted.covariance)), rel=0.4)
    with pytest.raises(ModelError):
        next(OddsSeries([2.0]).draws(np.random.default_rng(1)))


def test_odds_that_the_effects_contradict_are_refused() -> None:
    model = OddsSeries.fit(FRAME, **FITTED, reach=2)
    changes: tuple[dict[str, Any], ...] = (
        {"odds": [3.0, 1.2]},
        {"credibility": 0.5},
        {"credibility": None},
        {"fitted": None},
    )
    for changed in changes:
        with pytest.raises(ModelError):
            OddsSeries(**{"odds": model.odds, "fitted": model.fitted, "credibility": 0.95, **changed})
    with pytest.raises(ModelError, match="another reach"):
        OddsSeries(model.odds[:1], fitted=model.fitted, credibility=0.95)


def test_effects_by_stratum_are_fitted_and_diagnosed() -> None:
    """The effects of the table are the same at all hours: fitted by half-days, they cost little more."""
    frame = FRAME.with_columns(half=pl.col("at").dt.hour() // 12)
    equal, differing = (
        OddsSeries.fit(frame, **FITTED, within="half", effects_within=by, reach=2, additive=True, diagnose=False)
        for by in (None, "half")
    )
    assert differing.fitted is not None
    assert differing.fitted.by_stratum is not None
    assert equal.fitted == replace(differing.fitted, by_stratum=None)
    assert equal.odds[0] < differing.odds[0] < 2 * equal.odds[0]
    assert Model.from_json(differing.to_json()) == differing
    assert "Effects of neighbours may differ by half" in differing.summary()
    assert set(differing.public_columns) == {"at", "half"}


def test_effects_cannot_differ_beyond_the_reach() -> None:
    with pytest.raises(ModelError, match="up to 2 apart cannot differ"):
        OddsSeries.fit(FRAME, **FITTED, reach=1, effects_within="hour", effects_up_to=2)


@pytest.mark.slow
def test_a_clock_by_which_effects_differ_is_tested_beyond_them() -> None:
    def hour_of(**given: Any) -> Any:
        model = OddsSeries.fit(FRAME, **FITTED, reach=2, within="hour", **given)
        assert model.diagnosis is not None
        return next(finding for finding in model.diagnosis.findings if finding.name == "hour")

    base, near, both = (
        hour_of(),
        hour_of(effects_within="hour"),
        hour_of(effects_within="hour", effects_up_to=2),
    )
    assert near.values["p_value"] == pytest.approx(base.values["p_value beyond 1"], rel=0.2)
    assert "more than 1 apart" in near.tested
    assert both.word == "by construction"
