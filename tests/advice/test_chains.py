"""The assumptions about a column of states, and the verdict of the table on each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars
import pytest

import bayesdp as bdp
from bayesdp.advice.chains import STEPS, ChainEvidence, priced_chain_assumptions
from bayesdp.advice.priced_assumption import PricedAssumption
from bayesdp.errors import RecordsError
from bayesdp.frames.source import scan
from bayesdp.models import ChainLayout

Simulated = Callable[..., polars.DataFrame]


def looked(
    frame: polars.DataFrame,
    subject: str = "on",
    entity: Sequence[str] = (),
    within: Sequence[str] | None = None,
    done: Callable[[int], None] = lambda steps: None,
) -> ChainEvidence:
    layout = ChainLayout(("t",), tuple(entity))
    return ChainEvidence.of(
        scan(frame), subject, layout, within=within, missing="error", record="minute", credibility=0.9, done=done
    )


def priced_assumptions(evidence: ChainEvidence) -> dict[str, PricedAssumption]:
    return {assumption.name: assumption for assumption in priced_chain_assumptions(evidence)}


@pytest.mark.parametrize(
    ("kind", "denied", "memory"),
    [
        ("independent", set(), 1),
        ("chain", {"independent"}, 1),
        ("clock", {"independent", "chain", "chain with a memory of two"}, 1),
        pytest.param(
            "two",
            {"independent", "chain", "bounded odds", "bounded odds within each hour"},
            2,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_table_denies_what_its_law_denies_and_nothing_else(
    simulated: Simulated, kind: str, denied: set[str], memory: int
) -> None:
    evidence = looked(simulated(kind))
    assumptions = priced_assumptions(evidence)
    assert {name for name, assumption in assumptions.items() if assumption.denied} == denied
    assert evidence.memory == (memory, True)
    assert evidence.within == ("hour",)
    assert [name.partition(" within")[0] for name in assumptions] == [
        "independent",
        "chain",
        "bounded odds",
        "bounded odds",
        *(["additive odds up to 2 apart", "odds up to 2 apart"] if kind == "two" else []),
        "chain with a memory of two",
        "bounded odds, memory of two",
        "arbitrary groups",
    ]


@pytest.mark.slow
def test_the_models_are_those_that_are_fitted_one_by_one(simulated: Simulated) -> None:
    frame = simulated("two", 2000)
    assumptions = priced_assumptions(looked(frame, within=()))
    place: dict[str, Any] = {"state": "on", "order_by": "t", "record": "minute"}
    assert assumptions["chain"].model == bdp.MarkovChain.fit(frame, **place)
    assert assumptions["chain with a memory of two"].model == bdp.MarkovChain.fit(frame, memory=2, **place)
    assert assumptions["bounded odds"].model == bdp.OddsChain.fit(frame, credibility=0.9, **place)
    assert assumptions["bounded odds, memory of two"].model == bdp.OddsChain.fit(
        frame, memory=2, credibility=0.9, **place
    )


def test_few_records_are_told_from_no_violation(simulated: Simulated) -> None:
    assumptions = priced_assumptions(looked(simulated("chain", 60)))
    assert assumptions["chain"].verdict == "not tested"
    assert "too few records" in assumptions["bounded odds"].shown


def test_many_states_have_no_assumption_with_memory() -> None:
    generator = np.random.default_rng(2)
    frame = polars.DataFrame({"t": range(5000), "room": generator.integers(0, 60, 5000)})
    evidence = looked(frame, "room")
    assert list(priced_assumptions(evidence)) == ["independent", "chain", "bounded odds", "arbitrary groups"]
    assert evidence.memory == (1, False)


@pytest.mark.slow
def test_whole_entities_are_a_model_and_one_chain_of_all_is_not(simulated: Simulated) -> None:
    parts = [simulated("chain", 300, seed).with_columns(polars.lit(seed).alias("meter")) for seed in range(1, 5)]
    last = priced_assumptions(looked(polars.concat(parts), entity=["meter"]))["arbitrary groups"]
    assert last.model == bdp.ArbitraryGroups(300, group="meter", record="minute")
    assert last.verdict == "not denied"
    alone = priced_assumptions(looked(simulated("chain", 300)))["arbitrary groups"]
    assert alone.model is None
    assert alone.verdict == "not possible"
    assert "Name entities" in alone.reason


def test_a_column_of_one_state_supports_no_assumption() -> None:
    table = polars.DataFrame({"t": range(400), "on": [1] * 400})
    for estimate in (
        lambda: looked(table),
        lambda: bdp.MarkovChain.fit(table, state="on", order_by="t"),
        lambda: bdp.OddsChain.fit(table, state="on", order_by="t"),
    ):
        with pytest.raises(RecordsError, match="every record has the same 'on'"):
            estimate()


def test_wrong_records_are_not_taken_for_a_missing_clock(simulated: Simulated) -> None:
    tied = polars.concat([simulated("chain", 50), simulated("chain", 50)])
    with pytest.raises(RecordsError):
        looked(tied)


def test_every_scan_is_a_step_of_the_bar(simulated: Simulated) -> None:
    steps: list[int] = []
    looked(simulated("chain", 300), done=steps.append)
    assert steps == [1, 1, 1, STEPS]


@pytest.mark.slow
def test_effects_that_differ_by_hour_are_tried_by_hour() -> None:
    """What a record says about the next one is different in odd hours. The law is fixed by its seed."""
    generator, values = np.random.default_rng(4), [0, 0]
    for place in range(2, 24_000):
        near = 2.6 if place // 10 % 2 else 1.0
        values.append(int(generator.random() < 1 / (1 + np.exp(2 - near * values[-1] - 0.6 * values[-2]))))
    begun = dt.datetime(2026, 1, 1)
    times = [begun + dt.timedelta(minutes=6 * place) for place in range(len(values))]
    evidence = looked(polars.DataFrame({"t": times, "on": values}))
    assert evidence.differing is not None
    series, _, clock = evidence.differing
    assumptions = priced_assumptions(evidence)
    assert clock == "hour"
    reach = len(series.odds)
    assert assumptions[f"additive odds up to {reach} apart"].denied
    differing = assumptions[f"additive odds up to {reach} apart, differing by hour"]
    assert not differing.denied
    assert "That of neighbours differs by hour" in differing.assumes
    equal = assumptions[f"additive odds up to {reach} apart"].model
    assert isinstance(equal, bdp.OddsSeries)
    assert series.odds[0] > 1.3 * equal.odds[0]


def test_effects_that_are_the_same_at_all_hours_are_not_tried_by_hour(simulated: Simulated) -> None:
    assert looked(simulated("independent")).differing is None
