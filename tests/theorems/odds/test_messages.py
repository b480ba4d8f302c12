"""Messages in a forest of bounded odds: the recursion of the statement, for all targets at once."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import Count, Network
from bayesdp.theorems.odds import messages
from bayesdp.theorems.odds.contraction import contraction
from bayesdp.theorems.odds.messages import branching, largest_in_forest
from bayesdp.theorems.odds.tree import OddsTree
from bayesdp.theorems.spend import as_spend


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
    assert (
        expected * (1 - 1e-13) <= OddsTree().epsilon(network, as_spend(Count(equals=1), tau)) <= expected * (1 + 1e-9)
    )


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
    assert tau + branches * contraction(smaller, log_odds) > smaller
