"""`advise` recommends the right assumption on simulated tables, and a plausible one on the real table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import bayesdp as bdp
from bayesdp.advice.priced_assumption import PricedAssumption
from bayesdp.errors import FrameError, InvalidInputError, QueryError
from bayesdp.experiments.data import load
from bayesdp.models import Model

ON = bdp.Count("on", equals=1)


def assumptions(advice: bdp.Advice) -> dict[str, PricedAssumption]:
    return {assumption.name: assumption for assumption in advice.priced_assumptions}


@pytest.mark.parametrize(
    ("kind", "chosen"),
    [
        ("independent", {"independent"}),
        pytest.param("chain", {"chain", "bounded odds"}, marks=pytest.mark.slow),
        pytest.param("clock", {"bounded odds within each hour"}, marks=pytest.mark.slow),
        pytest.param("two", {"bounded odds, memory of two within each hour"}, marks=pytest.mark.slow),
    ],
)
def test_the_cheapest_assumption_that_holds_is_recommended(
    advised: Callable[[str], bdp.Advice], kind: str, chosen: set[str]
) -> None:
    advice = advised(kind)
    assert advice.recommended is not None
    assert advice.recommended.name in chosen
    assert not advice.recommended.denied
    named = assumptions(advice)
    assert named["independent"].denied == (kind != "independent")
    assert named["chain"].denied == (kind in ("two", "clock"))
    assert named["bounded odds"].denied == (kind == "two")
    assert ("memory of 2 records" in advice.shows) == (kind == "two")


def test_assumptions_go_from_the_strongest_to_the_weakest(
    advised: Callable[[str], bdp.Advice],
) -> None:
    advice = advised("two")
    names = list(assumptions(advice))
    assert names[:4] == ["independent", "chain", "bounded odds", "bounded odds within each hour"]
    assert names[4:7] == ["additive odds up to 2 apart", "odds up to 2 apart", "chain with a memory of two"]
    assert names[-1] == "arbitrary groups"
    for assumption in advice.priced_assumptions[:-1]:
        assert assumption.calibration is not None
        assert assumption.calibration.leakage.epsilon <= 1
        for line in assumption.consequences:
            assert line.epsilon is None or line.epsilon >= 1
    (two,) = (
        line
        for line in assumptions(advice)["chain"].consequences
        if line.condition == "what matters is the last two records"
    )
    memory, chain = assumptions(advice)["chain with a memory of two"], assumptions(advice)["chain"]
    assert isinstance(memory.model, Model)
    assert chain.calibration is not None
    assert two.epsilon == pytest.approx(bdp.leakage(memory.model, ON, tau=chain.calibration.tau).epsilon)


@pytest.mark.slow
def test_the_cost_of_an_assumption_is_that_of_calibrate(simulated: Callable[..., polars.DataFrame]) -> None:
    frame = simulated("chain", 2000)
    advice = bdp.advise(frame, ON, order_by="t", epsilon=2.0, beta=0.1, credibility=0.9)
    odds = bdp.OddsChain.fit(frame, state="on", order_by="t", credibility=0.9)
    assert assumptions(advice)["bounded odds"].model == odds
    assert assumptions(advice)["bounded odds"].alpha == bdp.calibrate(odds, ON, epsilon=2.0, beta=0.1).accuracy(0.1)
    chain = bdp.MarkovChain.fit(frame, state="on", order_by="t")
    assert assumptions(advice)["chain"].model == chain
    credible = bdp.calibrate(chain, ON, epsilon=2.0, beta=0.1, credibility=0.9)
    assert assumptions(advice)["chain"].alpha == credible.accuracy(0.1)


@pytest.mark.slow
def test_whole_entities_come_last_if_they_are_named(
    simulated: Callable[..., polars.DataFrame], advised: Callable[[str], bdp.Advice]
) -> None:
    frames = [
        simulated("chain", 320, seed).tail(300).with_columns(polars.lit(f"m{seed}").alias("meter"))
        for seed in range(1, 9)
    ]
    advice = bdp.advise(polars.concat(frames), ON, order_by="t", entity="meter")
    last = advice.priced_assumptions[-1]
    assert last.model == bdp.ArbitraryGroups(300, group="meter")
    assert last.verdict == "not denied"
    assert last.alpha == pytest.approx(300 * 2.9957, rel=1e-3)
    assert "anything may happen within one meter" in [
        line.condition for line in advice.priced_assumptions[0].consequences
    ]
    alone = advised("two").priced_assumptions[-1]
    assert alone.verdict == "not possible"
    assert alone.model is None
    assert "Name entities" in alone.reason


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"state": "on"}, InvalidInputError, "the records need an order"),
        ({}, InvalidInputError, "say what to look at"),
        ({"state": "on", "order_by": "t", "role": "g"}, InvalidInputError, "is for a column of numbers"),
        ({"state": "nothing", "order_by": "t"}, FrameError, "nothing"),
        ({"state": "on", "order_by": "t", "within": "g"}, FrameError, "g"),
        ({"state": "on", "order_by": "t", "epsilon": 0}, InvalidInputError, "epsilon"),
        ({"state": "on", "order_by": "t", "credibility": 1}, InvalidInputError, "credibility"),
        ({"state": "on", "order_by": "t", "question": "count"}, InvalidInputError, "expected a question"),
        ({"state": "on", "order_by": "t", "question": bdp.Count("x", equals=1)}, QueryError, "'on'"),
        ({"state": "on", "order_by": "t", "question": bdp.Count("on", equals=7)}, QueryError, "7 is not a state"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(
    simulated: Callable[..., polars.DataFrame], given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        bdp.advise(simulated("chain", 300), **given)


@pytest.mark.slow
def test_every_engine_gives_the_same_advice(simulated: Callable[..., polars.DataFrame]) -> None:
    frame = simulated("two", 2000).with_columns(polars.col("t").dt.epoch("s"))
    import duckdb

    relation = duckdb.sql("from frame")
    tables = {"polars": frame, "lazy": frame.lazy(), "pandas": frame.to_pandas(), "duckdb": relation}
    seen = {
        name: [
            (assumption.name, assumption.verdict, assumption.alpha)
            for assumption in bdp.advise(table, ON, order_by="t").priced_assumptions
        ]
        for name, table in tables.items()
    }
    assert all(priced_assumptions == seen["polars"] for priced_assumptions in seen.values())


@pytest.mark.slow
def test_the_last_of_many_states_and_the_uncounted_are_reported() -> None:
    generator = np.random.default_rng(2)
    frame = polars.DataFrame({"t": range(5000), "room": generator.integers(0, 60, 5000)})
    advice = bdp.advise(frame, state="room", order_by="t")
    assert list(assumptions(advice)) == ["independent", "chain", "bounded odds", "arbitrary groups"]
    assert "too many states" in advice.shows
    assert advice.query == bdp.Count("room", equals=59)


@pytest.mark.slow
def test_the_twin_of_the_step_counter_is_advised() -> None:
    advice = bdp.advise(load("activity").frame, state="steps > 0", order_by=["date", "interval"], missing="drop")
    assert advice.query == bdp.Count("steps > 0", equals=True)
    assert assumptions(advice)["independent"].denied
    assert advice.recommended is not None


REAL = Path(__file__).parents[3] / "shared" / "data" / "activity.csv"


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the original file is not there")
def test_the_step_counter_needs_a_longer_memory() -> None:
    advice = bdp.advise(REAL, state="steps > 0", order_by=["date", "interval"], missing="drop")
    named = assumptions(advice)
    assert advice.recommended is not None
    assert advice.recommended.model.memory > 1  # type: ignore[union-attr]
    assert not advice.recommended.denied
    assert named["chain"].denied
    assert named["bounded odds within each hour"].denied
    assert "a memory of 3 records" in advice.shows
    shown = (Path(__file__).parents[2] / "docs" / "advise.md").read_text(encoding="utf-8")
    assert [line.strip() for line in advice.table().splitlines() if line.strip() not in shown] == []
    assert "23.3 (chain with a memory of two)" in advice.shows
    within = named["bounded odds within each hour"].model
    assert isinstance(within, bdp.OddsChain)
    assert within.odds == pytest.approx(32.9, abs=0.5)
    two = {line.condition: line.epsilon for line in named["chain"].consequences}
    assert two["what matters is the last two records"] == pytest.approx(1.71, abs=0.02)
