"""Chains with memory: references, the contract, and linear programs over all mechanisms with side information."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bayesdp import AnyOf, ArbitraryGroups, Count, Independent, MarkovChain, calibrate, leakage
from bayesdp.audit import oracle
from bayesdp.audit.side_information import climb, worst_output
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.models.memory import joint_law, stationary_law
from bayesdp.testing import SideInformationContract, TheoremContract, memory_cases, memory_chain_laws
from bayesdp.testing.cases import Case
from bayesdp.testing.contract import ROUNDING
from bayesdp.theorems import theorems
from bayesdp.theorems.attackers import SIDE_INFORMATION
from bayesdp.theorems.markov.memory import MarkovMemory, memory_epsilon, paired_chain, paired_from
from bayesdp.theorems.odds.chain import OddsChainTheorem
from bayesdp.theorems.spend import as_spend

COUNT = Count(equals=1)
ACTIVITY = MarkovChain.from_counts([[[8828, 879], [491, 804]], [[879, 416], [804, 2151]]], memory=2)


def epsilon(chain: MarkovChain, tau: float) -> float:
    return MarkovMemory().epsilon(chain, as_spend(COUNT, tau))


class TestMarkovMemory(TheoremContract):
    theorem = MarkovMemory()
    cases = memory_cases()
    refused = (
        (ArbitraryGroups(2), COUNT),
        (MarkovChain([[0.5, 0.5], [0.5, 0.5]]), COUNT),
        (MarkovChain([[[1, 0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]], memory=2, start="any"), COUNT),
        (MarkovChain([[[1 - 1e-40, 1e-40], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]], memory=2), COUNT),
        (MarkovChain(np.full((4, 4, 4, 4), 0.25).tolist(), memory=3), COUNT),
    )


def _remembering(table: NDArray[np.float64], records: int, stationary: bool) -> MarkovChain:
    return MarkovChain(table.tolist(), memory=2, length=records, start="stationary" if stationary else "any")


class TestSideInformation(SideInformationContract):
    theorem = MarkovMemory()
    laws = memory_chain_laws(_remembering)


@pytest.mark.parametrize(
    ("promised", "tau"),
    [(0.1, 0.0143146806), (1, 0.1391310744), (5, 0.7428528071), (10, 2.4103659907), (20, 11.0852300623)],
)
def test_the_step_counter(promised: float, tau: float) -> None:
    (found,) = largest_taus(MarkovMemory(), ACTIVITY, COUNT, [promised])
    assert found is not None
    assert found == pytest.approx(tau, rel=1e-8)
    assert calibrate(ACTIVITY, COUNT, epsilon=promised).tau >= found


def test_the_first_record_can_be_the_worst() -> None:
    table = np.array([[[0.9, 0.1], [0.9, 0.1]], [[0.1, 0.9], [0.1, 0.9]]])
    chain = paired_from(table, np.array([[0.45, 0.05], [0.05, 0.45]]))
    found = memory_epsilon(chain, 0.1, 3, stationary=False)
    assert found == pytest.approx(0.25999, abs=5e-6)


@settings(max_examples=max(12, settings().max_examples // 3), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.4, 1.5]), st.sampled_from(["stationary", "any", "given"]))
def test_side_information_does_not_help(seed: int, tau: float, begins: str) -> None:
    generator = np.random.default_rng(seed)
    size, memory = [(2, 2), (3, 2), (2, 3)][generator.integers(3)]
    records = int(generator.integers(memory, 7 if (size, memory) == (2, 2) else 5))
    table = generator.dirichlet(np.full(size, generator.choice([0.3, 2.0])), (size,) * memory) + 1e-3
    table /= table.sum(axis=-1, keepdims=True)
    start = stationary_law(table)
    if begins != "stationary":
        start = generator.dirichlet(np.ones(start.size)).reshape(start.shape) + 1e-6
    chain = paired_from(table, None if begins == "any" else start, 1e-12)
    blocks = math.ceil(records / ((memory + 1) // 2))
    bounds = [memory_epsilon(chain, tau, each, stationary=begins == "stationary") for each in (blocks, None)]
    assert bounds[0] is not None
    assert bounds[1] is not None
    assert bounds[0] <= bounds[1] * (1 + 1e-9) + 1e-12
    law = joint_law(table, start / start.sum(), records)
    for target in range(records):
        evidence = list(np.exp(generator.choice([0.0, 1.0, 3.0]) * generator.normal(size=(records, size))))
        assert worst_output(law, tau, target=target, evidence=evidence).epsilon <= bounds[0] * (1 + ROUNDING) + ROUNDING


@pytest.mark.parametrize(("records", "target", "share"), [(2, 0, 1 - 1e-8), (3, 1, 0.98)])
def test_side_information_reaches_it(records: int, target: int, share: float) -> None:
    """The best likelihoods of two records reach the bound; those of three come within two percent."""
    law = joint_law(ACTIVITY.table, stationary_law(ACTIVITY.table), records)
    proven = memory_epsilon(paired_chain(ACTIVITY), 0.5, records, stationary=True)
    assert proven is not None
    assert share * proven <= climb(law, 0.5, target=target).epsilon <= proven


def test_memory_of_three_is_not_that_of_two() -> None:
    """The recursion of memory two, with a longer state, would say 1.794 for this chain; more than 2.4 is true."""
    table = np.zeros((2, 2, 2, 2))
    for before, then, now in np.ndindex(2, 2, 2):
        table[before, then, now] = [0.1, 0.9] if before != then else [0.9, 0.1]
    chain = MarkovChain(table.tolist(), memory=3, length=5)
    law = oracle.chain_joint(chain, 5)
    assert 2.4 < climb(law, 1.0, target=1, restarts=1).epsilon <= epsilon(chain, 1.0)


@settings(max_examples=max(5, settings().max_examples // 8), deadline=None)
@given(memory_cases(unlimited=False), st.floats(0.01, 6))
def test_one_record_leaks_tau_and_longer_chains_leak_more(case: Case, tau: float) -> None:
    chain = case.model
    assert isinstance(chain, MarkovChain)
    assert chain.length is not None
    assert epsilon(_of_length(chain, 1), tau) == pytest.approx(tau, rel=1e-12)
    lengths = [1, 2, 3, chain.length, chain.length + 1, 24, 25, 40, None]
    found = [epsilon(_of_length(chain, length), tau) for length in sorted(lengths, key=lambda each: each or 10**9)]
    assert all(less <= more * (1 + 1e-9) for less, more in itertools.pairwise(found))


def _of_length(chain: MarkovChain, length: int | None) -> MarkovChain:
    return MarkovChain(chain.transition, memory=chain.memory, length=length, start=chain.start)


def test_gaps_are_unlimited_time() -> None:
    short = MarkovChain(ACTIVITY.transition, memory=2, length=4)
    gaps = MarkovChain(ACTIVITY.transition, memory=2, length=4, gaps=True)
    assert epsilon(short, 0.5) < epsilon(gaps, 0.5) == min(epsilon(ACTIVITY, 0.5), 4 * 0.5)


def test_an_unknown_start_costs_little_and_never_less() -> None:
    for length in (2, 3, 10, 100, None):
        stationary = MarkovChain(ACTIVITY.transition, memory=2, length=length)
        unknown = MarkovChain(ACTIVITY.transition, memory=2, length=length, start="any")
        assert epsilon(stationary, 0.3) <= epsilon(unknown, 0.3) <= 1.3 * epsilon(stationary, 0.3)


def test_large_and_small_tau() -> None:
    found = [epsilon(ACTIVITY, tau) for tau in (1e-12, 1e-6, 50, 99.9, 100.1, 1000, 1e6)]
    assert found == sorted(found)
    assert found[0] == pytest.approx(6.957 * 1e-12, rel=1e-3)
    assert found[-1] <= 1e6 + 20


def test_one_state_leaks_nothing() -> None:
    assert epsilon(MarkovChain([[[1.0]]], memory=2), 1.0) == 0


def test_nothing_else_takes_a_chain_with_memory_for_one_without() -> None:
    chain = MarkovChain(ACTIVITY.transition, memory=2, length=100)
    applies = {theorem.name for theorem in theorems() if theorem.refusal(chain, (COUNT,)) is None}
    assert applies <= {"general", "markov-memory", "odds-chain", "odds-series"}
    found = leakage(AnyOf(chain, Independent()), COUNT, tau=0.1)
    assert SIDE_INFORMATION in str(found)
    assert "unsure" in SIDE_INFORMATION


def test_blocks_of_bounded_odds_cover_memory_too() -> None:
    blocks = OddsChainTheorem()
    assert ACTIVITY.log_odds == pytest.approx(3.742651, abs=1e-6)
    assert largest_taus(blocks, ACTIVITY, COUNT, [1.0]) == [pytest.approx(0.077744, abs=1e-6)]
    assert blocks.epsilon(ACTIVITY, as_spend(COUNT, 0.1)) > epsilon(ACTIVITY, 0.1)
