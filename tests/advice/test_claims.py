"""Which assumption implies which, and that no verdict contradicts an implication."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.advice import claims
from bayesdp.advice.chains import ChainEvidence, chain_tests, priced_chain_assumptions
from bayesdp.advice.claims import (
    BY_DISTANCE,
    IMPLIES,
    INDEPENDENT,
    MOMENTS,
    NORMAL,
    ONE_ODDS,
    SEPARATE,
    STEADY,
    Evidence,
    closure,
    consistent,
    implies,
    memory,
)
from bayesdp.advice.numbers import NumberEvidence, number_tests, priced_number_assumptions
from bayesdp.advice.priced_assumption import PricedAssumption
from bayesdp.frames.source import scan
from bayesdp.models import ChainLayout
from bayesdp.models.diagnosis import Verdict

START = datetime.datetime(2024, 1, 1)
RANK: dict[object, int] = {Verdict.DOUBTFUL: 1, Verdict.VIOLATED: 2}
CHAIN = frozenset({memory(1), STEADY, SEPARATE})


def contradictions(assumptions: Sequence[PricedAssumption]) -> list[tuple[str, str]]:
    """Return the pairs of assumptions of which the first implies the second, but looks better."""
    return [
        (strong.name, weak.name)
        for strong, weak in permutations([each for each in assumptions if each.model is not None], 2)
        if implies(strong.claims, weak.claims) and RANK.get(strong.verdict, 0) < RANK.get(weak.verdict, 0)
    ]


@pytest.mark.parametrize(
    ("strong", "weak"),
    [
        ({INDEPENDENT, STEADY}, CHAIN),
        (CHAIN, {memory(1), ONE_ODDS, SEPARATE}),
        ({memory(1), ONE_ODDS, SEPARATE}, {memory(1), SEPARATE}),
        (CHAIN, {memory(2), STEADY, SEPARATE}),
        ({memory(1), SEPARATE}, {memory(3), SEPARATE}),
        ({memory(1), STEADY, NORMAL, SEPARATE}, {memory(3), STEADY, NORMAL, SEPARATE}),
        (CHAIN, {SEPARATE}),
        ({INDEPENDENT}, {MOMENTS}),
        ({MOMENTS}, {memory(0)}),
    ],
)
def test_the_stronger_implies_the_weaker_only(strong: set[str], weak: set[str]) -> None:
    assert implies(strong, weak)
    assert not implies(weak, strong)
    assert closure(closure(strong)) == closure(strong)


def test_what_no_assumption_of_one_kind_says_of_another() -> None:
    assert not implies({INDEPENDENT}, CHAIN), "probabilities may change with time"
    assert not implies({SEPARATE}, {MOMENTS})
    assert not implies({memory(1), SEPARATE}, {memory(1), ONE_ODDS})
    assert set().union(*map(set, IMPLIES.values())) >= {SEPARATE, MOMENTS, memory(1)}


def test_a_denial_reaches_everything_that_is_stronger() -> None:
    def assumption(name: str, claims: set[str], verdict: Any) -> PricedAssumption:
        model = bdp.OddsChain(9)
        return PricedAssumption(name, name, "", verdict, f"Own: {name}.", model, claims=frozenset(claims))

    given_ones = [
        assumption("independent", {INDEPENDENT, STEADY}, Verdict.FINE),
        assumption("chain", set(CHAIN), Verdict.FINE),
        assumption("two", {memory(2), SEPARATE}, Verdict.VIOLATED),
        assumption("groups", {SEPARATE}, Verdict.NOT_TESTED),
        assumption("unknown", set(), Verdict.FINE),
    ]
    verdicts = {each.name: each for each in consistent(given_ones, [])}
    assert [verdicts[name].verdict for name in ("independent", "chain", "two")] == ["violated"] * 3
    assert verdicts["chain"].shown == "Own: chain. What follows from it is violated, too: two."
    assert [verdicts[name].verdict for name in ("groups", "unknown")] == ["not tested", "fine"]
    together = Evidence(frozenset({SEPARATE}), Verdict.VIOLATED, "They move together.")
    assert [each.denied for each in consistent(given_ones, [together])] == [True] * 4 + [False]
    nothing = replace(given_ones[1], model=None)
    assert consistent([nothing, given_ones[2]], [])[0] is nothing


def states(seed: int, size: int, entities: int, common: float, clock: float, lag: int) -> polars.DataFrame:
    """Return chains of states that depend on an earlier record, the hour and one another as much as is said."""
    generator = np.random.default_rng(seed)
    length = 240
    values = np.zeros((length, entities), dtype=int)
    for t in range(length):
        shared = generator.random() < common
        fresh = generator.integers(0, size, entities)
        fresh[:] = fresh[0] if shared else fresh
        if t % 24 < 12 and generator.random() < clock:
            fresh[:] = 0
        keep = generator.random(entities) < 0.5
        values[t] = np.where(keep & (t >= lag), values[t - lag], fresh)
    times = [START + datetime.timedelta(hours=t) for t in range(length)]
    names = np.repeat(np.arange(entities), length)
    return polars.DataFrame({"t": times * entities, "s": values.T.reshape(-1), "e": names})


SHARES = st.sampled_from([0.0, 0.3, 0.9])


def chain_verdicts(frame: polars.DataFrame, entities: int) -> tuple[list[PricedAssumption], list[Evidence]]:
    layout = ChainLayout("t", "e" if entities > 1 else ())
    evidence = ChainEvidence.of(
        scan(frame), "s", layout, within=None, missing="error", record="r", credibility=0.9, done=lambda _: None
    )
    return list(priced_chain_assumptions(evidence)), list(chain_tests(evidence))


@settings(max_examples=settings().max_examples // 5)
@given(
    seed=st.integers(0, 2**20),
    size=st.integers(2, 3),
    entities=st.sampled_from([1, 4]),
    common=SHARES,
    clock=SHARES,
    lag=st.integers(1, 3),
)
@pytest.mark.slow
def test_no_verdict_on_states_contradicts_another(
    seed: int, size: int, entities: int, common: float, clock: float, lag: int
) -> None:
    frame = states(seed, size, entities, common, clock, lag)
    assumptions, tests = chain_verdicts(frame, entities)
    assert contradictions(consistent(assumptions, tests)) == []


@pytest.mark.parametrize("lost", [SEPARATE, BY_DISTANCE, MOMENTS])
def test_a_lattice_that_lost_an_implication_is_noticed(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The property has power: with an implication taken from the lattice, it finds a contradiction."""

    def assumption(name: str, claim: str) -> PricedAssumption:
        return PricedAssumption(name, name, "", Verdict.FINE, "", bdp.OddsChain(9), claims=frozenset({claim}))

    pair = [assumption("strong", INDEPENDENT), assumption("weak", lost)]
    test = Evidence(frozenset({lost}), Verdict.VIOLATED, "It does not hold.")
    whole = dict(IMPLIES)
    broken = {claim: tuple(one for one in then if one != lost) for claim, then in whole.items()}
    monkeypatch.setattr(claims, "IMPLIES", broken)
    judged = consistent(pair, [test])
    monkeypatch.setattr(claims, "IMPLIES", whole)
    assert contradictions(judged) == [("strong", "weak")]
    assert contradictions(consistent(pair, [test])) == []


def test_without_the_lattice_verdicts_do_contradict_one_another() -> None:
    assumptions, tests = chain_verdicts(states(1, 2, 4, 0.9, 0.0, 1), 4)
    assert ("bounded odds", "arbitrary groups") in contradictions(assumptions)
    assert contradictions(consistent(assumptions, tests)) == []


def numbers(seed: int, entities: int, common: float, coefficients: Sequence[float]) -> polars.DataFrame:
    """Return normal series that share some of their noise."""
    generator = np.random.default_rng(seed)
    length = 300
    noise = np.sqrt(common) * generator.normal(size=(length, 1))
    noise = noise + np.sqrt(1 - common) * generator.normal(size=(length, entities))
    values = np.zeros((length, entities))
    for t in range(length):
        past = sum(weight * values[t - lag] for lag, weight in enumerate(coefficients, 1) if t >= lag)
        values[t] = past + noise[t]
    names = np.repeat(np.arange(entities), length)
    days = [START.date() + datetime.timedelta(days=t) for t in range(length)]
    return polars.DataFrame({"t": days * entities, "x": values.T.reshape(-1), "e": names})


def number_evidence(frame: polars.DataFrame, entities: int) -> NumberEvidence:
    layout = ChainLayout("t", "e" if entities > 1 else (), "1d")
    return NumberEvidence(scan(frame), "x", (), None, layout, "error", "r")


@settings(max_examples=settings().max_examples // 2)
@given(
    seed=st.integers(0, 2**20),
    entities=st.sampled_from([1, 3]),
    common=SHARES,
    coefficients=st.sampled_from([(0.0,), (0.6,), (0.2, 0.2, 0.2, 0.2), (0.0, 0.0, 0.5)]),
)
def test_no_verdict_on_numbers_contradicts_another(
    seed: int, entities: int, common: float, coefficients: tuple[float, ...]
) -> None:
    evidence = number_evidence(numbers(seed, entities, common, coefficients), entities)
    found = consistent(list(priced_number_assumptions(evidence)), list(number_tests(evidence)))
    assert contradictions(found) == []


def test_series_that_move_together_are_found() -> None:
    """Three airports whose temperatures are correlated at 0.98."""
    evidence = number_evidence(numbers(3, 3, 0.98, (0.0,)), 3)
    found = {
        each.name: each for each in consistent(list(priced_number_assumptions(evidence)), list(number_tests(evidence)))
    }
    denied = {name for name, each in found.items() if each.denied}
    assert denied == {"independent", "normal series of order 1", "normal series of order 3", "arbitrary groups"}
    assert found["arbitrary moments"].model == bdp.ArbitraryGroups(3, group="t", record="r")
    assert "Entities at the same moment are correlated: 0.98" in found["arbitrary groups"].shown
    apart = number_evidence(numbers(3, 3, 0.0, (0.6,)), 3)
    assert "arbitrary moments" not in [each.name for each in priced_number_assumptions(apart)]
    assert not any(each.denied for each in priced_number_assumptions(apart) if each.claims == {SEPARATE})


@pytest.mark.slow
def test_a_memory_that_skips_the_last_record_denies_independence() -> None:
    """The last record has no effect, the one before it has: "independent, fine" beside "chain, violated" is wrong."""
    frame = states(5, 2, 4, 0.0, 0.0, 2)
    assumptions, tests = chain_verdicts(frame, 4)
    found = {each.name: each for each in consistent(assumptions, tests)}
    assert found["chain"].denied
    assert found["independent"].denied
