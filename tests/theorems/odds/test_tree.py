import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import Count, HiddenMarkov, Independent, Network, calibrate
from bayesdp.testing import TheoremContract, hidden_markov_cases, tree_cases
from bayesdp.theorems.odds import messages
from bayesdp.theorems.odds.contraction import contraction
from bayesdp.theorems.odds.messages import branching, largest_in_forest
from bayesdp.theorems.odds.sides import leakage_of_any_length
from bayesdp.theorems.odds.tree import OddsTree
from bayesdp.theorems.spend import as_spend

COUNT = Count(equals=1)
RING = Network(edges=[(0, 1, 1.1), (1, 2, 1.1), (0, 2, 1.1)], records=3)


def proven(model: Network | HiddenMarkov, tau: float) -> float:
    return OddsTree().epsilon(model, as_spend(COUNT, tau))


class TestForests(TheoremContract):
    theorem = OddsTree()
    cases = tree_cases()
    refused = ((Independent(), COUNT), (RING, COUNT), (Network(odds=1.1, degree=2), COUNT))


class TestHiddenMarkov(TheoremContract):
    theorem = OddsTree()
    cases = hidden_markov_cases()
    refused = (
        (HiddenMarkov([[0.5, 0.5], [1, 0]], emission_odds=2), COUNT),
        (HiddenMarkov(transition_odds=2, emission=[[0.5, 0.5], [1, 0]]), COUNT),
    )


def test_reference_values() -> None:
    assert proven(HiddenMarkov(transition_odds=81, emission_odds=9), 1.0) == pytest.approx(2.422667, abs=1e-6)
    tree = Network(odds=2, degree=3, forest=True)
    assert calibrate(tree, COUNT, epsilon=1.0).tau == pytest.approx(0.5661, abs=5e-5)
    chain = Network(edges=[(i, i + 1, 9) for i in range(9)], records=10)
    assert proven(chain, 1.0) == pytest.approx(2.751341, abs=1e-6)


def recursion(network: Network, tau: float) -> float:
    """The statement, word for word: rooted at each record in turn."""
    neighbours: dict[int, list[tuple[int, float]]] = {i: [] for i in range(network.records or 0)}
    for i, j, odds in network.edges or ():
        neighbours[i].append((j, math.log(odds)))
        neighbours[j].append((i, math.log(odds)))

    def held(vertex: int, parent: int | None) -> float:
        children = [(w, d) for w, d in neighbours[vertex] if w != parent]
        return tau * (vertex not in network.hidden) + sum(contraction(held(w, vertex), d) for w, d in children)

    return max(held(i, None) for i in neighbours if i not in network.hidden)


@st.composite
def forests(draw: st.DrawFn) -> Network:
    size = draw(st.integers(2, 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    edges = [(int(random.integers(0, i)), i, float(math.exp(random.exponential(3)))) for i in range(1, size)]
    kept = [edge for edge in edges if random.random() < 0.9]
    hidden = random.choice(size, int(random.integers(0, size)), replace=False).tolist()
    return Network(edges=kept, records=size, hidden=hidden)


@given(forests(), st.floats(1e-9, 50))
def test_all_targets_at_once_are_the_recursion(network: Network, tau: float) -> None:
    expected = recursion(network, tau)
    assert network.is_forest
    assert expected * (1 - 1e-13) <= proven(network, tau) <= expected * (1 + 1e-9)


@given(forests(), st.floats(1e-3, 50))
def test_stopping_early_is_never_below(network: Network, tau: float) -> None:
    if network.ties.visible.any():
        stopped = messages._Inward(network.ties, np.array([tau]))
        leaks = stopped.totals(contraction(stopped.lowered(stopped.above()), stopped.odds))[network.ties.visible].max()
        assert leaks >= recursion(network, tau) * (1 - 1e-13)


def test_many_values_of_tau_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    star = Network(edges=[(0, i, 4) for i in range(1, 9)], records=9)
    taus = np.linspace(0.1, 3, 7)
    together = largest_in_forest(star.ties, taus)
    monkeypatch.setattr(messages, "_AT_ONCE", 1)
    assert together.tolist() == largest_in_forest(star.ties, taus).tolist()


@given(st.integers(1, 12), st.floats(1, 1e6), st.floats(1e-12, 100))
def test_a_branching_is_certified_and_close(branches: int, odds: float, tau: float) -> None:
    log_odds = math.log(odds)
    (c,) = branching(np.array([tau]), branches, log_odds)
    assert tau + branches * contraction(c, log_odds) <= c * (1 + 1e-15)
    smaller = c * (1 - 1e-6)
    assert odds == 1 or tau + branches * contraction(smaller, log_odds) > smaller or smaller < tau


@given(st.integers(2, 6), st.floats(1, 100), st.floats(0.01, 5))
def test_no_forest_of_a_degree_leaks_more_than_the_regular_tree(degree: int, odds: float, tau: float) -> None:
    star = [(0, i, odds) for i in range(1, degree + 1)]
    comb = [(i, degree + i, odds) for i in range(1, degree + 1)]
    bounded = proven(Network(odds=odds, degree=degree, forest=True), tau)
    assert proven(Network(edges=star + comb, records=2 * degree + 1), tau) <= bounded * (1 + 1e-12)


@given(st.floats(1, 1e4), st.floats(0.01, 20))
def test_chains_are_trees_of_degree_two(odds: float, tau: float) -> None:
    (chain,) = leakage_of_any_length(np.array([tau]), math.log(odds))
    assert proven(Network(odds=odds, degree=2, forest=True), tau) == pytest.approx(chain, rel=1e-9)


@given(st.floats(1, 1e4), st.floats(1, 1e4), st.integers(1, 9), st.floats(0.001, 20))
def test_a_hidden_markov_chain_is_a_tree(transition: float, emission: float, length: int, tau: float) -> None:
    states = [(2 * i, 2 * i + 2, transition) for i in range(length - 1)]
    records = [(2 * i, 2 * i + 1, emission) for i in range(length)]
    tree = Network(edges=states + records, records=2 * length, hidden=range(0, 2 * length, 2))
    given = HiddenMarkov(transition_odds=transition, emission_odds=emission, length=length)
    assert proven(given, tau) == pytest.approx(proven(tree, tau), rel=1e-9)
    assert proven(given, tau) <= proven(HiddenMarkov(transition_odds=transition, emission_odds=emission), tau)


def test_what_is_hidden_limits_what_is_said() -> None:
    strong = HiddenMarkov(transition_odds=1e9, emission_odds=9)
    assert proven(strong, 50.0) <= 50 + math.log(9) + 1e-9
    assert proven(HiddenMarkov(transition_odds=1, emission_odds=9), 1.0) == pytest.approx(1.0, abs=1e-9)
    assert proven(HiddenMarkov(transition_odds=81, emission_odds=1), 1.0) == pytest.approx(1.0, abs=1e-9)
