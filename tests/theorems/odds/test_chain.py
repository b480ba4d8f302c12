"""The theorem odds-chain: the contract, the reference values, larger units and memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bayesdp import Count, calibrate, leakage
from bayesdp.audit import oracle
from bayesdp.audit.side_information import worst_output
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.errors import NoTheoremAppliesError
from bayesdp.models import ArbitraryGroups, MarkovChain, Model, OddsChain
from bayesdp.models.odds import log_odds_ratio, odds_above
from bayesdp.testing import (
    Case,
    SideInformationContract,
    TheoremContract,
    chain_cases,
    chain_laws,
    memory_chain_laws,
    transition_matrices,
)
from bayesdp.testing.cases import finite_case
from bayesdp.theorems.odds.chain import OddsChainTheorem
from bayesdp.theorems.spend import Spend, as_spend, total_tau
from shared.chain_attack import chain_attack

COUNT = Count(equals=1)
ACTIVITY = MarkovChain.from_counts([[9713, 1295], [1295, 2955]])
STATES = [0, 1, 2]


@st.composite
def changing_chains(draw: st.DrawFn) -> Case:
    """Draw a chain whose transition matrix differs at every step, from a random start, as a chain of bounded odds."""
    states, records = draw(st.sampled_from([(2, 2), (2, 3), (2, 5), (3, 3)]))
    matrices = [draw(transition_matrices(states, zeros=False)) for _ in range(records - 1)]
    joint = draw(transition_matrices(states, zeros=True))[0]
    for matrix in matrices:
        joint = joint[..., None] * matrix
    model = OddsChain.of(matrices, length=draw(st.sampled_from([records, records + 2])))
    if draw(st.booleans()):
        model = replace(model, length=None)
    return finite_case(draw, model, joint, STATES[:states])


class TestContract(TheoremContract):
    theorem = OddsChainTheorem()
    cases = chain_cases() | changing_chains()
    refused = (
        (ArbitraryGroups(3), COUNT),
        (MarkovChain([[0.5, 0.5], [1, 0]]), COUNT),
    )


def chain_of(odds: np.ndarray, hidden: tuple[int, ...]) -> OddsChain:
    return OddsChain(float(odds.max()), length=len(odds))


def blocks_of(table: np.ndarray, records: int, stationary: bool) -> OddsChain:
    """The chain of blocks of two records, by the odds ratio of (before, now) and (next, the one after it)."""
    states = len(table)
    blocks = np.einsum("abc,bcd->abcd", table, table).reshape(states**2, states**2)
    return OddsChain(odds_above([log_odds_ratio(blocks)]), memory=2, length=records)


class TestSideInformation(SideInformationContract):
    """Chains that change at every step; moments without a record are hidden."""

    theorem = OddsChainTheorem()
    laws = chain_laws(chain_of) | chain_laws(chain_of, hidden=True)


class TestSideInformationOnWindows(SideInformationContract):
    """Any two consecutive records are one secret."""

    theorem = OddsChainTheorem()
    laws = chain_laws(lambda odds, hidden: replace(chain_of(odds, hidden), unit=2)).filter(
        lambda law: law.joint.shape[0] == 2
    )


class TestSideInformationOnMemory(SideInformationContract):
    """Chains with a memory of two records, in blocks of two."""

    theorem = OddsChainTheorem()
    laws = memory_chain_laws(blocks_of)


@pytest.mark.parametrize("matrix", [[[0.75, 0.25], [0.25, 0.75]], [[0.9, 0.1], [0.5, 0.5]], [[0.1, 0.9], [0.5, 0.5]]])
def test_side_information_attains_the_bound(matrix: list[list[float]]) -> None:
    """Every two-state chain whose odds ratio is 9: at any length, and nearly so for 801 records."""
    for records in (1, 2, 3, 10, 801):
        attained = chain_attack(matrix, 1.0, records).epsilon
        proven = epsilon(OddsChain(9, length=records), 1.0)
        assert attained == pytest.approx(proven, rel=1e-11)
        assert attained <= proven
    assert attained == pytest.approx(2.797619808, abs=1e-9)
    assert attained == pytest.approx(epsilon(OddsChain(9), 1.0), rel=1e-11)


def epsilon(model: OddsChain | MarkovChain, tau: float) -> float:
    return OddsChainTheorem().epsilon(model, as_spend(COUNT, tau))


def test_reference_values() -> None:
    assert epsilon(OddsChain(9), 1.0) == pytest.approx(2.797620, abs=1e-6)
    values = {2: 1.492308, 3: 1.984616, 5: 2.442142, 10: 2.751341}
    assert {n: round(epsilon(OddsChain(9, length=n), 1.0), 6) for n in values} == values
    for odds, promise, tau in ((4, 1, 0.503891), (100, 5, 0.638058), (1.5, 10, 9.202389)):
        assert calibrate(OddsChain(odds), COUNT, epsilon=promise).tau == pytest.approx(tau, abs=1e-6)
    activity = OddsChain.of([ACTIVITY.transition])
    activity = replace(activity, length=None)
    assert activity.odds == pytest.approx(17.1148, abs=1e-4)
    for promise, tau in ((1, 0.244095), (5, 1.512564), (10, 4.695034), (20, 14.323038)):
        assert calibrate(activity, COUNT, epsilon=promise).tau == pytest.approx(tau, abs=3e-6)


def test_a_known_chain_has_its_own_odds() -> None:
    assert epsilon(ACTIVITY, 0.3) == pytest.approx(epsilon(OddsChain(math.exp(ACTIVITY.log_odds)), 0.3))
    names = [option.theorem for option in leakage(ACTIVITY, COUNT, tau=1.0).assessments if option.applies]
    assert "odds-chain" in names


def test_a_larger_unit() -> None:
    hour = replace(ACTIVITY, unit=12)
    assert epsilon(hour, 0.05) == pytest.approx(0.756763, abs=1e-6)
    assert calibrate(OddsChain(math.exp(ACTIVITY.log_odds), unit=12), COUNT, epsilon=1.0).tau == pytest.approx(
        0.066076, abs=1e-6
    )
    said = str(leakage(OddsChain(17.1, unit=12), COUNT, tau=0.05))
    assert "about any 12 consecutive records together, not the person behind more" in said


def test_memory_goes_by_blocks() -> None:
    blocks = OddsChain(math.exp(3.742651), memory=2)
    assert calibrate(blocks, COUNT, epsilon=1.0).tau == pytest.approx(0.077744, abs=1e-6)
    for length in (1, 2, 3, 4, 7):
        assert epsilon(replace(blocks, length=length), 0.1) <= length * 0.1 * (1 + 1e-12)
    assert epsilon(replace(blocks, unit=2), 0.01) > epsilon(blocks, 0.01)
    assert epsilon(replace(blocks, length=50, gaps=True), 0.1) == epsilon(blocks, 0.1)


@settings(max_examples=30)
@given(data=st.data(), tau=st.floats(0.05, 3), unit=st.integers(2, 3))
def test_a_window_never_leaks_more(data: st.DataObject, tau: float, unit: int) -> None:
    """The secret is several records: merge them into one with the values of all, and ask the oracle about that one."""
    records = 4
    matrices = [data.draw(transition_matrices(2, zeros=False)) for _ in range(records - 1)]
    joint = data.draw(transition_matrices(2, zeros=False))[0]
    for matrix in matrices:
        joint = joint[..., None] * matrix
    first = data.draw(st.integers(0, records - unit))
    kernel = oracle.generalized_randomized_response(tau, states=2, records=records)
    leaked = merged_leakage(joint, kernel, first, unit)
    assume(math.isfinite(leaked))
    for length in (records, None):
        model = OddsChain.of(matrices, length=length or records, unit=unit)
        assert leaked <= epsilon(replace(model, length=length), tau) * (1 + 1e-9)


def merged_leakage(joint: np.ndarray, kernel: np.ndarray, first: int, unit: int) -> float:
    """Return the largest log ratio of an output's probability between two values of a window, nothing known."""
    window = tuple(range(first, first + unit))
    others = tuple(axis for axis in range(joint.ndim) if axis not in window)
    weighted = (joint[..., None] * kernel).sum(axis=others) / joint.sum(axis=others)[..., None]
    outputs = weighted.reshape(-1, weighted.shape[-1])
    return float(np.log(outputs.max(axis=0) / outputs.min(axis=0)).max())


def test_odds_beyond_floats_are_refused_or_bounded_by_the_length() -> None:
    extreme = OddsChain(1e308, length=3)
    assert epsilon(extreme, 1.0) == pytest.approx(3.0)
    assert math.isfinite(epsilon(OddsChain(1e308), 1e300))
    with pytest.raises(NoTheoremAppliesError):
        leakage(MarkovChain([[0, 1], [1, 0]]), COUNT, tau=1.0)


def test_a_unit_with_gaps_meets_the_records_of_more_blocks() -> None:
    """Blocks of two equal records, independent; without the fourth moment, three records in a row meet five."""
    equal = np.array([[0.4999, 0.0001], [0.0001, 0.4999]])
    joint = np.einsum("ab,cd,ef->abcdef", equal, equal, equal)
    attack = worst_output(joint, 0.5, target=(1, 2, 4), hidden=(3,)).epsilon
    without_gaps = OddsChain(1.0, memory=2, unit=3)
    with_gaps = replace(without_gaps, gaps=True)
    assert 4 * 0.5 < attack <= leakage(with_gaps, COUNT, tau=0.5).epsilon == pytest.approx(5 * 0.5)
    assert leakage(without_gaps, COUNT, tau=0.5).epsilon == pytest.approx(4 * 0.5)
    assert leakage(replace(with_gaps, unit=1), COUNT, tau=0.5).epsilon == pytest.approx(2 * 0.5)


@given(odds=st.floats(0, 40).map(lambda exponent: 10**exponent), epsilon=st.floats(-3, 3).map(lambda power: 10**power))
def test_the_formula_needs_hardly_any_evaluation(odds: float, epsilon: float) -> None:
    evaluated: list[float] = []

    class Counted(OddsChainTheorem):
        def bounds(self, model: Model, spends: Sequence[Spend]) -> Sequence[float]:
            evaluated.extend(total_tau(spend) for spend in spends)
            return super().bounds(model, spends)

    (tau,) = largest_taus(Counted(), OddsChain(odds), COUNT, [epsilon])
    assert tau == evaluated[-1]
    assert len(evaluated) <= 3
    assert epsilon * (1 - 1e-13) < OddsChainTheorem().epsilon(OddsChain(odds), as_spend(COUNT, tau)) <= epsilon
