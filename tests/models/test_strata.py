"""Odds ratios estimated from transition counts by stratum: the posterior, what is merged, and what is refused."""

from __future__ import annotations

import json
import math
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from bayesdp import Count, MarkovChain, Model, OddsChain, calibrate, leakage
from bayesdp.errors import FrameError, InvalidInputError, ModelError, RecordsError
from bayesdp.experiments.data import load
from bayesdp.models.memory import block_log_odds, tuples
from bayesdp.models.odds import log_odds_ratio
from bayesdp.models.posterior import MONTE_CARLO_RISK, chosen_rank, draws_needed
from bayesdp.models.strata import SPARSE, Stratum, credible_log_odds, largest_log_odds, merged

FILES = Path(__file__).parents[3] / "shared" / "data"
ACTIVITY: dict[str, Any] = {"state": "steps > 0", "order_by": ["date", "interval"], "missing": "drop"}
HOURS = (
    Stratum(((5,),), ((538, 37), (28, 33))),
    Stratum(((18,),), ((120, 98), (90, 328))),
    Stratum(((22,),), ((562, 28), (25, 21))),
)
NIGHT = Stratum(((2,),), ((618, 9), (9, 0)))


def jeffreys(strata: Any, draws: int, seed: int) -> Any:
    """Return the odds ratios of strata of two states, drawn one by one from beta laws: (strata, draws)."""
    generator = np.random.default_rng(seed)
    ratios = []
    for (a, b), (c, d) in (stratum.counts for stratum in strata):
        first, second = generator.beta(a + 0.5, b + 0.5, draws), generator.beta(c + 0.5, d + 0.5, draws)
        ratios.append(first / (1 - first) * (1 - second) / second)
    return np.maximum(ratios, 1 / np.array(ratios))


# --- the posterior ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("credibility", [0.5, 0.8, 0.95, 0.99])
def test_the_odds_are_a_quantile_of_the_maximum(credibility: float) -> None:
    model = OddsChain.from_strata(HOURS, within="hour", credibility=credibility)
    drawn = jeffreys(HOURS, 400_000, 1)
    share = float((drawn.max(axis=0) <= model.odds).mean())
    assert credibility - 0.002 < share < credibility + 0.015, "rounded up, by what 50,000 draws leave open"
    if credibility > 0.5:
        assert model.odds > np.quantile(drawn, credibility, axis=1).max()
    assert model.odds == OddsChain.from_strata(HOURS, within="hour", credibility=credibility).odds


def test_each_stratum_has_a_quantile_of_its_own() -> None:
    _, alone = credible_log_odds(tuple(stratum.counts for stratum in HOURS), 0.95)
    assert np.exp(alone) == pytest.approx(np.quantile(jeffreys(HOURS, 400_000, 2), 0.95, axis=1), rel=0.03)


@given(
    st.lists(st.lists(st.integers(0, 60), min_size=9, max_size=9), min_size=1, max_size=3),
    st.integers(0, 2**32),
)
def test_drawn_odds_are_those_of_drawn_matrices(cells: list[list[int]], seed: int) -> None:
    tables = tuple(tuples(np.reshape(entries, (3, 3)).tolist()) for entries in cells)
    ((largest, alone),) = largest_log_odds(tables, 5, np.random.default_rng(seed))
    gammas = np.random.default_rng(seed).standard_gamma(np.broadcast_to(np.array(tables) + 0.5, (5, len(tables), 3, 3)))
    expected = [[log_odds_ratio(matrix) for matrix in drawn] for drawn in gammas]
    assert alone == pytest.approx(np.array(expected), abs=1e-9)
    assert largest == pytest.approx(np.max(expected, axis=1), abs=1e-9)


@pytest.mark.parametrize(("memory", "strata", "states"), [(2, 1, 3), (2, 3, 2), (3, 2, 2), (2, 2, 3)])
def test_blocks_may_lie_in_several_strata(memory: int, strata: int, states: int) -> None:
    """Every way to lay the steps of a block into strata, one by one."""
    generator = np.random.default_rng(memory + 10 * strata)
    counts = generator.integers(0, 40, (strata, *(states,) * (memory + 1)))
    tables = tuple(tuples(table.tolist()) for table in counts)
    ((largest, alone),) = largest_log_odds(tables, 2, np.random.default_rng(3))
    gammas = np.random.default_rng(3).standard_gamma(np.broadcast_to(counts + 0.5, (2, *counts.shape)))
    for draw, weights in enumerate(gammas):
        drawn = weights / weights.sum(axis=-1, keepdims=True)
        assert alone[draw] == pytest.approx([block_log_odds(table) for table in drawn], abs=1e-9)
        mixed = []
        for chosen in product(range(strata), repeat=memory):
            law = np.ones((states,) * memory)
            for step, stratum in enumerate(chosen):
                law = law[..., None] * drawn[stratum].reshape((1,) * step + drawn[stratum].shape)
            mixed.append(log_odds_ratio(law.reshape(states**memory, -1)))
        assert largest[draw] == pytest.approx(max(mixed), abs=1e-9)
        assert largest[draw] >= alone[draw].max() - 1e-12


def test_a_zero_cell_leaves_much_open_but_not_everything() -> None:
    assert math.isinf(NIGHT.odds)
    odds = OddsChain.from_strata([NIGHT], within="hour").odds
    assert 50 < odds < 120
    assert float((jeffreys([NIGHT], 400_000, 4) <= odds).mean()) > 0.949
    never = Stratum(((),), ((0, 0), (0, 0)))
    assert OddsChain.from_strata([never]).odds > 1e3, "nothing was seen, so nothing is known"


@pytest.mark.slow
def test_the_true_odds_stay_below_as_often_as_asked() -> None:
    generator = np.random.default_rng(5)
    matrices = np.array([[[0.9, 0.1], [0.3, 0.7]], [[0.6, 0.4], [0.07, 0.93]], [[0.97, 0.03], [0.7, 0.3]]])
    truth = max(log_odds_ratio(matrix) for matrix in matrices)
    below = 0
    for _ in range(200):
        rows = generator.integers(40, 400, (3, 2))
        counts = [
            [generator.multinomial(n, row) for n, row in zip(sizes, matrix, strict=True)]
            for sizes, matrix in zip(rows, matrices, strict=True)
        ]
        tables = tuple(tuples([row.tolist() for row in table]) for table in counts)
        below += credible_log_odds(tables, 0.9)[0] >= truth
    assert below / 200 > 0.9 - 3 * math.sqrt(0.09 / 200)


# --- merging ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 45), min_size=4, max_size=4), min_size=1, max_size=8), st.integers(0, 40))
def test_merging_keeps_all_transitions_and_leaves_nothing_sparse(cells: list[list[int]], threshold: int) -> None:
    strata = [Stratum(((hour,),), ((a, b), (c, d))) for hour, (a, b, c, d) in enumerate(cells)]
    together = merged(strata, threshold)
    assert sorted(value for stratum in together for value in stratum.values) == [(hour,) for hour in range(len(cells))]
    total = np.sum([stratum.counts for stratum in strata], axis=0)
    assert (np.sum([stratum.counts for stratum in together], axis=0) == total).all()
    assert len(together) == 1 or all(stratum.least >= threshold for stratum in together)
    dense = [stratum for stratum in strata if stratum.least >= threshold]
    rest = [np.array(stratum.counts) for stratum in strata if stratum.least < threshold]
    if not rest or np.sum(rest, axis=0).min() >= threshold:  # those merged need no other
        assert [stratum for stratum in together if stratum in dense] == dense
    for stratum in together:
        mine = [one.counts for one in strata if one.values[0] in stratum.values]
        assert (np.array(stratum.counts) == np.sum(mine, axis=0)).all()


def test_sparse_strata_are_named_with_what_merging_gives() -> None:
    model = OddsChain.from_strata([*HOURS, NIGHT], within="hour")
    assert model.sparse == (NIGHT,)
    other = OddsChain.from_strata([*HOURS, NIGHT], within="hour", merge=SPARSE)
    assert [stratum.values for stratum in other.strata or ()] == [((5,),), ((18,),), ((2,), (22,))]
    assert other.odds < model.odds
    reported = model.summary()
    assert "Sparse, with fewer than 20 transitions in some cell: hour 2. Merged into one (hour 2, 22)" in reported
    assert f"{other.odds:.4g}"[:4] in reported
    assert "Sparse" not in other.summary()
    assert "hour 2, 22" in other.summary()
    assert "With a credibility of 95 %, the largest odds ratio of 4 strata (hour) is no larger" in str(model.parameters)
    assert "credibility" not in str(OddsChain(9).parameters)
    alone = OddsChain.from_strata([NIGHT], within="hour")
    assert "More data would narrow the odds ratio" in alone.summary()


# --- the model --------------------------------------------------------------------------------------------------------


def test_json_goes_there_and_back() -> None:
    for model in (
        OddsChain.from_strata(HOURS, within="hour", states=[False, True], length=9, column="s"),
        OddsChain.from_strata([Stratum(((),), (((9, 2), (3, 4)), ((5, 6), (7, 8))))], memory=2, credibility=0.8),
        OddsChain.from_strata([*HOURS, NIGHT], within=["hour"], merge=30),
    ):
        assert model.estimated
        assert Model.from_json(model.to_json()) == model
    document = json.loads(OddsChain.from_strata(HOURS[:1], within="hour").to_json())
    assert document["strata"] == [{"values": [[5]], "counts": [[538, 37], [28, 33]]}]
    assert (document["within"], document["credibility"]) == (["hour"], 0.95)
    assert not OddsChain(9).estimated


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"odds": 20}, "strata and odds disagree: .* stays below 28"),
        ({"odds": 40}, "disagree"),
        ({"credibility": None}, "needs credibility="),
        ({"credibility": 1.0}, "credibility"),
        ({"credibility": 0.5}, "disagree"),
        ({"strata": []}, "empty"),
        ({"strata": None}, "give strata=, or leave them out"),
        ({"strata": [[1, 2]]}, r"strata\[0\] must be an object"),
        ({"strata": [{"values": [[5]], "counts": [[1, 2], [3, 4]], "more": 1}]}, r"strata\[0\] must be an object"),
        ({"strata": [{"values": [[5, 6]], "counts": [[1, 2], [3, 4]]}]}, "lists of 1"),
        ({"strata": [{"values": [], "counts": [[1, 2], [3, 4]]}]}, "lists of 1"),
        ({"strata": [{"values": [[None]], "counts": [[1, 2], [3, 4]]}]}, "values"),
        ({"strata": [{"values": [[5]], "counts": [[1, 2.5], [3, 4]]}]}, "whole numbers"),
        ({"strata": [{"values": [[5]], "counts": [[1, -2], [3, 4]]}]}, "whole numbers"),
        ({"strata": [{"values": [[5]], "counts": [[1, 2]]}]}, "entries"),
        ({"strata": [{"values": [[5], [5]], "counts": [[1, 2], [3, 4]]}]}, "overlap"),
        (
            {"strata": [{"values": [[5]], "counts": [[1, 2], [3, 4]]}, {"values": [[6]], "counts": [[9]]}]},
            "same states",
        ),
        ({"memory": 2}, "must be a list"),
        ({"within": []}, "lists of 0"),
        ({"within": [7]}, "within"),
        ({"states": ["a", "b", "c"]}, "2 states do not fit 3"),
    ],
)
def test_what_contradicts_itself_is_refused(change: dict[str, Any], message: str) -> None:
    document = OddsChain.from_strata(HOURS[:1], within="hour").to_dict() | change
    with pytest.raises(ModelError, match=message):
        Model.from_dict(document)


def test_odds_beyond_floats_and_too_large_tables_are_refused() -> None:
    with pytest.raises(ModelError, match="more than can be drawn from"):
        OddsChain.from_strata([Stratum(((),), tuples(np.ones((300, 300), int).tolist()))])
    for merge in (-1, 1.5, True):
        with pytest.raises(ModelError, match="merge"):
            OddsChain.from_strata(HOURS, within="hour", merge=merge)  # type: ignore[arg-type]


def test_credibility_of_a_release_draws_the_largest_odds() -> None:
    model = OddsChain.from_strata(HOURS, within="hour", credibility=0.95)
    drawn = [one.odds for one in islice(model.draws(np.random.default_rng(6)), 4000)]
    assert np.quantile(drawn, 0.95) == pytest.approx(model.odds, rel=0.05)
    assert not any(one.estimated for one in islice(model.draws(np.random.default_rng(6)), 3))
    plain, sure, surer = (
        calibrate(model, Count(equals=1), epsilon=1.0, credibility=credibility) for credibility in (None, 0.95, 0.99)
    )
    less_sure = calibrate(model, Count(equals=1), epsilon=1.0, credibility=0.5)
    assert plain.tau == less_sure.tau >= sure.tau > surer.tau, "the odds ratio is at a credibility of 95 % already"
    assert sure.tau > 0.9 * plain.tau
    with pytest.raises(ModelError, match="estimated from data"):
        calibrate(OddsChain(9), Count(equals=1), epsilon=1.0, credibility=0.9)


def test_guarantees_say_that_it_was_estimated() -> None:
    assert "estimated" in str(leakage(OddsChain.from_strata(HOURS, within="hour"), Count(equals=1), tau=1.0))


# --- tables -----------------------------------------------------------------------------------------------------------


def readings(seed: int = 7, records: int = 4000) -> pl.DataFrame:
    """Return two meters with a district each, and tariffs of different odds."""
    generator = np.random.default_rng(seed)
    rows = []
    for meter, district in (("m1", "north"), ("m2", "south")):
        state = 0
        for t in range(records):
            tariff = "day" if t % 24 >= 8 else "night"
            rows.append((meter, district, tariff, t, state))
            stay = 0.9 if tariff == "day" else 0.7
            state = state if generator.random() < stay else 1 - state
    return pl.DataFrame(rows, schema=["meter", "district", "tariff", "t", "s"], orient="row")


def test_public_columns_make_strata() -> None:
    frame = readings()
    model = OddsChain.fit(frame, state="s", order_by="t", entity="meter", within=["tariff", "district"])
    assert [stratum.values for stratum in model.strata or ()] == [
        (("day", "north"),),
        (("day", "south"),),
        (("night", "north"),),
        (("night", "south"),),
    ]
    assert sum(stratum.transitions for stratum in model.strata or ()) == 2 * 3999
    assert 81 < model.odds < 115
    assert (model.length, model.gaps, model.column, model.states) == (4000, False, "s", (0, 1))
    assert model.within == ("tariff", "district")
    one = OddsChain.fit(frame, state="s", order_by="t", entity="meter")
    assert one.odds < model.odds
    assert (one.strata or ())[0].counts == MarkovChain.fit(frame, state="s", order_by="t", entity="meter").counts
    assert "all records" in one.summary()


def test_memory() -> None:
    frame = readings()
    chain = MarkovChain.fit(frame, state="s", order_by="t", entity="meter", memory=2)
    odds = OddsChain.fit(frame, state="s", order_by="t", entity="meter", memory=2)
    assert (chain.memory, odds.memory) == (2, 2)
    assert chain.counts == (odds.strata or ())[0].counts
    assert np.sum(chain.counts) == 2 * 3998
    assert chain.diagnosis is None
    assert math.exp(chain.log_odds) < odds.odds < 1.5 * math.exp(chain.log_odds)
    assert MarkovChain.fit(frame, state="s", order_by="t", entity="meter", memory=3).table.shape == (2, 2, 2, 2)
    with pytest.raises(ModelError, match=r"row 0 \(0, 0\) is empty: no record follows these states"):
        MarkovChain.fit(
            frame.head(3).with_columns(s=pl.Series([0, 1, 1])), state="s", order_by="t", memory=2, smoothing=0
        )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"within": "nothing"},
            FrameError,
            "has no column 'nothing'; within= names public columns, or .* hour, weekday",
        ),
        ({"within": "s"}, FrameError, "'s' is protected"),
        ({"state": "s > 0", "within": "s"}, FrameError, "'s' is protected"),
        ({"within": ["tariff", "tariff"]}, ModelError, "names a column twice"),
        ({"within": "hour"}, FrameError, "do not contain the hour"),
        ({"within": "weekday"}, FrameError, "do not contain the weekday"),
        ({"within": "moment"}, FrameError, "holds times, too many for strata"),
        ({"within": "hour", "order_by": "zoned"}, FrameError, "time zone"),
        ({"within": "holes"}, RecordsError, "no value of 'holes' at the record before"),
        ({"within": "shifted", "order_by": "shifted"}, RecordsError, "'shifted' make more than 1000 strata"),
        ({"memory": 0}, ModelError, "memory"),
        ({"memory": 40}, FrameError, "too long to count transitions"),
        ({"memory": 12, "state": "hours"}, RecordsError, "24 states with a memory of 12 .* more than can be counted"),
        ({"credibility": 0}, ModelError, "credibility"),
        ({"credibility": 1 - 1e-12}, InvalidInputError, "draws"),
    ],
)
def test_what_cannot_be_fitted_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    frame = (
        readings(records=1100)
        .filter(pl.col("meter") == "m1")
        .with_columns(
            moment=pl.datetime(2024, 1, 1) + pl.duration(hours=pl.col("t")),
            holes=pl.when(pl.col("t") % 9 > 0).then(1),
            shifted=pl.col("t") + 1,
            hours=pl.col("t") % 24,
        )
        .with_columns(zoned=pl.col("moment").dt.replace_time_zone("UTC"))
    )
    with pytest.raises(error, match=message):
        OddsChain.fit(frame, **{"state": "s", "order_by": "t", **options})


def test_a_column_called_hour_is_that_column() -> None:
    frame = readings().with_columns(hour=pl.col("t") % 2)
    model = OddsChain.fit(frame, state="s", order_by="t", entity="meter", within="hour")
    assert [stratum.values for stratum in model.strata or ()] == [((0,),), ((1,),)]


@pytest.mark.parametrize(("column", "per_hour"), [("h", 1), ("hhmm", 100), ("minute", 60)])
def test_a_time_of_day_beside_a_date(column: str, per_hour: int) -> None:
    frame = (
        readings(records=2400)
        .filter(pl.col("meter") == "m1")
        .with_columns(day=pl.date(2024, 1, 1) + pl.duration(days=pl.col("t") // 24))
        .with_columns(
            (pl.col("t") % 24 * per_hour).alias(column), moment=pl.datetime(2024, 1, 1) + pl.duration(hours="t")
        )
    )
    by_slot = OddsChain.fit(frame, state="s", order_by=["day", column], within="hour")
    by_time = OddsChain.fit(frame, state="s", order_by="moment", within="hour")
    assert by_slot.strata == by_time.strata
    assert len(by_slot.strata or ()) == 24


@pytest.mark.skipif(not FILES.is_dir(), reason=f"the original files are not in {FILES}")
@pytest.mark.slow
def test_activity_by_hour() -> None:
    path = FILES / "activity.csv"
    model = OddsChain.fit(path, within="hour", **ACTIVITY)
    by_hour = {stratum.values[0][0]: stratum for stratum in model.strata or ()}
    assert set(by_hour) == set(range(24))
    assert {hour: by_hour[hour].counts for hour in (5, 18, 22)} == {
        5: ((538, 37), (28, 33)),
        18: ((120, 98), (90, 328)),
        22: ((562, 28), (25, 21)),
    }
    assert by_hour[2].least == 0
    dense = [stratum for stratum in by_hour.values() if stratum.least >= SPARSE]
    assert len(dense) == 18
    largest = jeffreys(dense, 200_000, 8).max(axis=0)
    assert np.median(largest) == pytest.approx(22.0, abs=0.1)
    assert np.quantile(largest, 0.95) == pytest.approx(32.7, abs=0.2)
    quantile = OddsChain.from_strata(dense, within="hour")
    assert float(np.quantile(largest, 0.9495)) < quantile.odds < float(np.quantile(largest, 0.957))
    assert {stratum.values[0][0] for stratum in model.sparse} == {0, 1, 2, 3, 4, 23}
    night = OddsChain.fit(path, within="hour", merge=SPARSE, **ACTIVITY)
    assert (night.strata or ())[-1].values == ((0,), (1,), (2,), (3,), (4,), (23,))
    assert quantile.odds == pytest.approx(night.odds, rel=0.02)
    assert model.odds > 2 * night.odds
    assert MarkovChain.fit(path, memory=2, **ACTIVITY).counts == (((8828, 879), (491, 804)), ((879, 416), (804, 2151)))


def test_the_twin_of_activity_has_one_odds_ratio() -> None:
    frame = load("activity").frame
    model = OddsChain.fit(frame, within="hour", merge=SPARSE, **ACTIVITY)
    assert np.sum([stratum.counts for stratum in model.strata or ()], axis=0).tolist() == [[9713, 1295], [1295, 2955]]
    assert model.odds > 17.1148


@pytest.mark.parametrize("credibility", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("draws", [200, 1000, 4000])
def test_the_rank_misleads_in_at_most_one_case_of_a_hundred(credibility: float, draws: int) -> None:
    rank = chosen_rank(credibility, draws)
    misled = binom.cdf([rank - 1, rank], draws, 1 - credibility)
    assert misled[0] <= MONTE_CARLO_RISK * (1 + 1e-9) < misled[1] * (1 + 1e-6)


@pytest.mark.parametrize("credibility", [0.1, 0.95, 0.999, 0.99999])
def test_there_are_enough_draws_for_a_first_rank(credibility: float) -> None:
    assert chosen_rank(credibility, draws_needed(credibility, None)) >= 1


def test_too_few_and_too_many_draws_are_refused() -> None:
    for draws in (10, 10**7, 0, 1.5):
        with pytest.raises(InvalidInputError):
            draws_needed(0.95, draws)  # type: ignore[arg-type]
    for credibility in (0, 1, 1 - 1e-9, float("nan")):
        with pytest.raises(InvalidInputError):
            draws_needed(credibility, None)
