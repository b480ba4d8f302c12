from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bayesdp import Count, Independent, MarkovChain, Model, Network, OddsChain, OddsSeries, calibrate, leakage
from bayesdp.testing import (
    SideInformationContract,
    TheoremContract,
    memory_chain_laws,
    network_laws,
    release_cases,
    series_laws,
)
from bayesdp.theorems.odds import unlimited
from bayesdp.theorems.odds.magnets import Magnets
from bayesdp.theorems.odds.merging import leaves
from bayesdp.theorems.odds.series import OddsSeriesTheorem
from bayesdp.theorems.odds.unlimited import Unlimited
from bayesdp.theorems.spend import as_spend

COUNT = Count(equals=1)

Floats = NDArray[np.float64]

UNLIMITED = OddsSeriesTheorem()


def proven(model: Model, tau: float) -> float:
    return UNLIMITED.epsilon(model, as_spend(COUNT, tau))


def by_distance(odds: Floats) -> list[float]:
    """Return the largest odds ratio at every distance, up to what their computation was off."""
    return [float(np.diagonal(odds, apart).max()) * (1 + 1e-12) for apart in range(1, len(odds))] or [1.0]


def without_end(odds: Floats, hidden: tuple[int, ...]) -> OddsSeries:
    return OddsSeries(by_distance(odds), gaps=bool(hidden))


def of_this_length(odds: Floats, hidden: tuple[int, ...]) -> OddsSeries:
    return replace(without_end(odds, hidden), length=len(odds) - len(hidden))


def in_pairs(odds: Floats, hidden: tuple[int, ...]) -> OddsSeries:
    return replace(without_end(odds, hidden), unit=2)


SERIES = series_laws(without_end, hidden=True) | series_laws(of_this_length, hidden=True)


class TestUnderSideInformation(SideInformationContract):
    theorem = UNLIMITED
    laws = SERIES | network_laws(of_this_length, hidden=True)


@pytest.mark.slow
class TestUnits(SideInformationContract):
    theorem = UNLIMITED
    laws = series_laws(in_pairs) | series_laws(in_pairs, hidden=True)


class TestOddsSeries(TheoremContract):
    theorem = UNLIMITED
    cases = release_cases(SERIES)
    refused = (
        (Independent(), COUNT),
        (OddsChain(9, memory=2), COUNT),
        (Network(odds=1.5, degree=2), COUNT),
        (MarkovChain([[0.9, 0.1], [0.4, 0.6]]), COUNT),
        (OddsSeries([1.1] * 13), COUNT),
        (OddsSeries([1.01] * 170, length=180), COUNT),
    )


def remembered(table: Floats, records: int, stationary: bool) -> MarkovChain:
    return MarkovChain(table.tolist(), memory=2, start="stationary" if stationary else "any", length=records)


class TestMemory(SideInformationContract):
    theorem = UNLIMITED
    laws = memory_chain_laws(remembered, stationary=True)


def logs(*values: float) -> list[float]:
    return [float(odds) for odds in np.exp(values)]


REFERENCES = [
    (logs(1.1, 0.26, 0.18), 2.541, 2.538, 2.411, 2.345),
    (logs(1.1, 0.5, 0.3, 0.2), 4.971, 4.889, 4.186, 3.585),
    ([6.289, 1.32, 1.376, 1.461], 11.26, 10.48, 7.204, 5.106),
    (logs(2.76, 1.558), 23.42, 23.12, 10.37, 8.070),
]
"""Odds; ε/τ at τ = 0.01 by sets, one side after the other, and by roles; the same at τ = 1."""


@pytest.mark.parametrize(("odds", "sets", "roles", "larger_sets", "larger_roles"), REFERENCES)
def test_reference_values(
    odds: list[float],
    sets: float,
    roles: float,
    larger_sets: float,
    larger_roles: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = OddsSeries(odds)
    assert leakage(model, COUNT, tau=0.01).epsilon * 100 == pytest.approx(roles, rel=2e-4)
    assert leakage(model, COUNT, tau=1.0).epsilon == pytest.approx(larger_roles, rel=2e-4)
    monkeypatch.setattr(unlimited, "_ROLES_UP_TO", 0)
    small, large = Unlimited(model.log_odds).largest(np.array([0.01, 1.0]))
    assert 0.997 * sets < small * 100 <= sets + 1e-3
    assert 0.98 * larger_sets < large <= larger_sets + 1e-3


ACTIVITY = [
    ([7.44], 2.70),
    ([6.10, 1.47], 3.47),
    ([5.84, 1.25, 1.44], 4.61),
    ([5.68, 1.23, 1.28, 1.32], 6.00),
    ([5.59, 1.21, 1.26, 1.21, 1.24], 7.58),
    ([5.51, 1.20, 1.25, 1.20, 1.14, 1.24], 10.52),
]


@pytest.mark.parametrize(("odds", "multiple"), ACTIVITY)
def test_multiples_of_the_activity_series(odds: list[float], multiple: float) -> None:
    found = 1 / calibrate(OddsSeries(odds), COUNT, epsilon=1.0).tau
    assert 0.975 * multiple < found < multiple + 0.005


@given(
    st.floats(1, 50),
    st.floats(0.001, 3),
    st.none() | st.integers(1, 30),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
)
def test_reach_one_is_the_odds_chain(
    odds: float, tau: float, length: int | None, unit: int, gaps: bool, additive: bool
) -> None:
    series = OddsSeries([odds], length=length, unit=unit, gaps=gaps, additive=additive, states=(0, 1))
    chain = OddsChain(odds, length=length, unit=unit, gaps=gaps, states=(0, 1))
    for delta in (None, 1e-12):
        expected = leakage(chain, COUNT, tau=tau, delta=delta).epsilon
        assert leakage(series, COUNT, tau=tau, delta=delta).epsilon == pytest.approx(expected, rel=1e-12)


def test_independent_records_leak_tau() -> None:
    assert leakage(OddsSeries([1, 1]), COUNT, tau=0.5).epsilon == pytest.approx(0.5)


ODDS = st.lists(st.floats(1.001, 4), min_size=2, max_size=4)
TAUS = st.floats(1e-3, 20)


@given(ODDS, TAUS, st.integers(1, 40))
def test_a_limit_on_the_length_never_costs(odds: list[float], tau: float, length: int) -> None:
    short, longer, without = (proven(OddsSeries(odds, length=n), tau) for n in (length, length + 1, None))
    assert short <= longer * (1 + 1e-9)
    with_gaps = proven(OddsSeries(odds, length=length, gaps=True), tau)
    assert longer <= without * (1 + 0.03)  # records are summed out in different orders
    assert short <= with_gaps * (1 + 0.03)


@given(ODDS, TAUS)
def test_two_ways_to_bound_any_length_agree(odds: list[float], tau: float) -> None:
    """A table that a step does not raise is near what long series need, and steps from above come down to it."""
    model, taus = Unlimited(np.log(odds)), np.array([tau])
    found = model.largest(taus)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unlimited, "_SLACK", 0.0)
        patch.setattr(unlimited, "_MOST_STEPS", 200)
        from_above = Unlimited(model.log_odds).largest(taus)
    assert (found <= from_above * (1 + 1e-9)).all()


@given(ODDS, TAUS, st.booleans())
def test_never_below_the_exact_price_of_effects_that_add_up(odds: list[float], tau: float, by_sets: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unlimited, "_ROLES_UP_TO", 0 if by_sets else 8)
        found = Unlimited(np.log(odds)).largest(np.array([tau]))
    lower, _ = Magnets(np.log(odds)).between(np.array([tau]))
    assert (found >= lower * (1 - 1e-9)).all()


def half(without: Floats, target: Floats, answer: Floats) -> Floats:
    """A false rule: half of the smaller addition."""
    return without + np.minimum(np.maximum(target - without, 0), np.maximum(answer - without, 0)) / 2


def no_odds(changes: Floats, odds: Floats) -> Floats:
    """A false rule: records of the target and of the answer do not depend on each other."""
    return leaves(changes, np.zeros_like(odds))


@pytest.mark.parametrize(("name", "rule"), [("combined", half), ("leaves", no_odds)])
def test_false_rules_fall_below_the_exact_price(name: str, rule: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlimited, name, rule)
    taus = np.array([0.01, 0.1, 1.0, 3.0])
    cases = [np.array(log_odds) for log_odds in ([1.1, 0.26, 0.18], [2.76, 1.558], [0.3, 0.3])]
    below = [(Unlimited(each).largest(taus) < Magnets(each).between(taus)[0] * (1 - 1e-6)).any() for each in cases]
    assert any(below)


def test_stopping_early_is_no_certificate() -> None:
    """With ln θ = (6, 6) and τ = 0.001, tables grow for thousands of steps."""
    model = OddsSeries(logs(6, 6))
    assert proven(model, 0.001) > 4
    assert proven(model, 1e-9) > 0
    assert proven(model, 1e9) == pytest.approx(1e9 + 24)


@given(ODDS, TAUS, st.integers(2, 8))
def test_a_unit_costs_at_most_its_records(odds: list[float], tau: float, unit: int) -> None:
    one, whole = (proven(OddsSeries(odds, unit=size), tau) for size in (1, unit))
    assert max(one, unit * tau) <= whole * (1 + 1e-9)
    assert whole <= unit * one * (1 + 1e-9)
    spread = proven(OddsSeries(odds, unit=unit, gaps=True), tau)
    assert whole * (1 - 0.03) <= spread <= unit * one * (1 + 1e-9)


def test_a_chain_with_memory_has_odds_by_distance() -> None:
    counts = [[[8828, 879], [491, 804]], [[879, 416], [804, 2151]]]
    chain = MarkovChain.from_counts(counts, memory=2)
    assert proven(chain, 1.0) == pytest.approx(8.070, abs=1e-2)
    replies = {each.theorem for each in leakage(chain, COUNT, tau=1.0).assessments if each.epsilon is not None}
    assert {"odds-chain", "odds-series", "markov-memory"} <= replies
    refusal = UNLIMITED.refusal
    assert "unknown start" in (refusal(replace(chain, start="any"), (COUNT,)) or "")
    zeros = MarkovChain([[[1, 0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]], memory=2, start="any")
    assert refusal(zeros, (COUNT,)) is not None
