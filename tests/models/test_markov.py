"""Chains: their stationary law, their reversal, their odds, and the counts they were estimated from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import AnyOf, Independent, MarkovChain
from bayesdp.errors import ModelError
from bayesdp.testing import chain_cases
from bayesdp.testing.cases import Case

CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["idle", "active"], length=1000, column="s")


def test_the_chain_helpers() -> None:
    assert CHAIN.stationary == pytest.approx([0.8, 0.2])
    assert CHAIN.gamma == pytest.approx(9)
    assert MarkovChain([[0.5, 0.5], [1, 0]]).gamma == np.inf
    assert MarkovChain([[0, 1], [1, 0]]).is_irreducible
    assert not MarkovChain([[0, 1], [1, 0]]).is_primitive
    assert MarkovChain([[0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]]).is_primitive
    with pytest.raises(ModelError, match="no unique stationary law"):
        _ = MarkovChain([[1, 0], [0, 1]], start="any").stationary


def test_the_stationary_law_is_accurate_when_states_are_rare() -> None:
    tiny = 1e-12
    weights = MarkovChain([[1 - tiny, tiny], [0.5, 0.5]]).stationary
    assert weights[1] == pytest.approx(tiny / (tiny + 0.5), rel=1e-12)


@given(chain_cases())
def test_stationary_laws_and_reversals_are_what_they_say(case: Case) -> None:
    chain = case.model
    assert isinstance(chain, MarkovChain)
    if chain.start == "any":
        return
    weights = chain.stationary
    assert weights.sum() == pytest.approx(1)
    assert weights @ chain.matrix == pytest.approx(weights, abs=1e-12)
    backwards = chain.reversal()
    flow = weights[:, None] * chain.matrix
    assert weights[:, None] * backwards.matrix == pytest.approx(flow.T, abs=1e-12)


@given(st.integers(1, 6), st.integers(0, 10**6))
def test_primitive_means_a_positive_power(size: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    pattern = generator.random((size, size)) < 0.35
    pattern[np.arange(size), generator.integers(0, size, size)] = True
    chain = MarkovChain(pattern / pattern.sum(axis=1, keepdims=True), start="any")
    powers = [np.linalg.matrix_power(pattern.astype(object), k) > 0 for k in range(1, size * size + 2)]
    assert chain.is_primitive == any(power.all() for power in powers)
    assert chain.is_irreducible == bool(np.logical_or.reduce([np.eye(size, dtype=bool), *powers]).all())


def test_estimated_models_keep_their_counts() -> None:
    chain = MarkovChain.from_counts([[8, 2], [3, 1]], smoothing=1)
    assert chain.counts == ((8, 2), (3, 1))
    assert chain.transition[0][0] == 9 / 12
    assert chain.estimated
    assert AnyOf(Independent(), chain).estimated
    assert not CHAIN.estimated
    assert not chain.reversal().estimated


def test_the_parameters_of_a_chain_are_its_probabilities_and_odds_without_its_counts() -> None:
    chain = MarkovChain.from_counts([[7001, 2999], [401, 99]], states=["idle", "active"], column="s")
    assert chain.parameters.splitlines() == [
        "s, then:    idle  active",
        "--------  ------  ------",
        "idle      0.7001  0.2999",
        "active    0.8020  0.1980",
        "Odds ratio of neighbouring records: at most 1.736.",
    ]
    assert "7001" in chain.summary()
    assert "at most 13.5." in CHAIN.parameters
    assert "without limit" in MarkovChain([[0, 1], [0.5, 0.5]]).parameters
    never = MarkovChain([[0.5, 0.5, 0], [0.25, 0.75, 0], [0.5, 0.5, 0]], start="any")
    assert "at most 3." in never.parameters  # a state that nothing leads to ties no neighbours
    assert "5e-08" in MarkovChain([[0.5, 0.5], [5e-8, 1 - 5e-8]]).parameters


@given(chain_cases())
def test_the_odds_ratio_is_the_largest(case: Case) -> None:
    assert isinstance(case.model, MarkovChain)
    matrix, states = case.model.matrix, range(len(case.model.states))
    ratios = [
        matrix[x, y] * matrix[u, v] / matrix[x, v] / matrix[u, y]
        for x in states
        for u in states
        for y in states
        for v in states
        if (matrix > 0).all()
    ]
    said = case.model.parameters.splitlines()[-1]
    if ratios:
        shown = float(said.removeprefix("Odds ratio of neighbouring records: at most ").removesuffix("."))
        assert max(ratios) * (1 - 1e-9) <= shown <= max(ratios) * 1.002
