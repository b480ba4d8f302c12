"""Attack models of bounded odds: a tree of 0/1 records around a target, and side information that attains the bound.

Neighbours have the largest odds ratio allowed and tend to be equal. For each vertex the attacker has a likelihood that
makes the contraction an equality (docs/theory/contraction.md): 1 is less likely than 0 by a factor √G, where G is how
much likelier the most telling output is if the vertex is 1. That output is a count as large as the number of records.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.audit.attack_models import AttackModel
from bayesdp.errors import InvalidInputError
from bayesdp.models import HiddenMarkov, Model, Network, OddsChain
from bayesdp.theorems.odds.chain import records_met

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BoundedOdds", "Tree", "tree_attack_model", "worst_tree"]

BoundedOdds = OddsChain | HiddenMarkov | Network
"""Models of odds ratios alone, whose worst law is a tree."""

_LONGEST_SIDE = 150
"""The largest number of records on a side; more add next to nothing unless neighbours are nearly equal."""

_MOST_VERTICES = 301
"""The largest number of vertices of a network in an attack."""


@dataclass(frozen=True)
class Tree:
    """Vertices around a root, the target; parents come before their children.

    parents:  the position of each vertex's parent; −1 for the root.
    log_odds: ln of the odds ratio of each vertex and its parent; 0 for the root.
    records:  the number of records of each vertex: 0 if it is hidden, more than 1 for several that are all equal.
    """

    parents: tuple[int, ...]
    log_odds: tuple[float, ...]
    records: tuple[int, ...]

    @property
    def total(self) -> int:
        """The number of records."""
        return sum(self.records)


@dataclass
class _Growing:
    """A tree to which vertices are added."""

    parents: list[int] = field(default_factory=lambda: [-1])
    log_odds: list[float] = field(default_factory=lambda: [0.0])
    records: list[int] = field(default_factory=lambda: [1])

    def add(self, parent: int, log_odds: float, records: int = 1) -> int:
        self.parents.append(parent)
        self.log_odds.append(log_odds)
        self.records.append(records)
        return len(self.parents) - 1

    def grown(self) -> Tree:
        return Tree(tuple(self.parents), tuple(self.log_odds), tuple(self.records))


@singledispatch
def worst_tree(model: Model, tau: float) -> Tree:
    """Return the tree of records in which a release with this τ reveals most about its root.

    Raises InvalidInputError for types of models other than bounded odds.
    """
    raise InvalidInputError(f'no worst tree is known for a model of type "{model.kind}"')


@worst_tree.register
def _of_odds_chain(chain: OddsChain, tau: float) -> Tree:
    """Return the chain around its middle record, or around the middle `unit` records, which are all equal.

    With memory k a vertex is a block of k records, which are all equal: inside a block anything may hold.
    """
    root = records_met(chain)
    growing = _Growing(records=[root])
    blocks = None if chain.length is None else max(chain.length - root, 0) // chain.memory
    for side in _sides(blocks):
        parent = 0
        for _ in range(side):
            parent = growing.add(parent, chain.log_odds, chain.memory)
    return growing.grown()


@worst_tree.register
def _of_hidden_markov(model: HiddenMarkov, tau: float) -> Tree:
    """Return the middle record, its hidden state, the hidden chain on both sides and the records it emits."""
    growing = _Growing()
    hidden = growing.add(0, model.emission_log_odds, records=0)
    for side in _sides(None if model.length is None else model.length - 1):
        parent = hidden
        for _ in range(side):
            parent = growing.add(parent, model.transition_log_odds, records=0)
            growing.add(parent, model.emission_log_odds)
    return growing.grown()


@worst_tree.register
def _of_network(network: Network, tau: float) -> Tree:
    """Return the tree in a network that reveals most about a record, among the most connected ones.

    Edges that would close a loop are left out: the bounds allow them to carry no dependence.
    """
    if network.edges is None:
        return _regular_tree(network)
    ties = network.ties
    if not ties.visible.any():
        return Tree((-1,), (0.0,), (1,))
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(ties.size)]
    for first, second, odds in zip(ties.first, ties.second, ties.log_odds, strict=True):
        neighbours[int(first)].append((int(second), float(odds)))
        neighbours[int(second)].append((int(first), float(odds)))
    targets = sorted(np.flatnonzero(ties.visible), key=lambda place: -sum(odds for _, odds in neighbours[int(place)]))
    trees = [_around(int(target), neighbours, ties.visible) for target in targets[:8]]
    return max(trees, key=lambda tree: _gains(tree, tau)[0])


def _around(target: int, neighbours: list[list[tuple[int, float]]], visible: NDArray[np.bool_]) -> Tree:
    """Return a tree grown from a target outwards, nearest vertices first."""
    growing, places = _Growing(), {target: 0}
    waiting = deque([target])
    while waiting and len(places) < _MOST_VERTICES:
        here = waiting.popleft()
        for there, odds in sorted(neighbours[here], key=lambda tie: -tie[1]):
            if there not in places and len(places) < _MOST_VERTICES:
                places[there] = growing.add(places[here], odds, int(visible[there]))
                waiting.append(there)
    return growing.grown()


def _regular_tree(network: Network) -> Tree:
    """Return the largest tree the network allows, with the largest number of neighbours at each vertex."""
    assert network.odds is not None
    assert network.degree is not None
    most = _MOST_VERTICES if network.records is None else min(network.records, _MOST_VERTICES)
    growing, place, odds = _Growing(), 0, math.log(network.odds)
    while place < len(growing.parents) and len(growing.parents) < most and odds > 0:
        for _ in range(network.degree - (place > 0)):
            if len(growing.parents) < most:
                growing.add(place, odds)
        place += 1
    return growing.grown()


def _sides(others: int | None) -> tuple[int, int]:
    """Return the number of vertices before and after the middle."""
    both = 2 * _LONGEST_SIDE if others is None else min(others, 2 * _LONGEST_SIDE)
    return both // 2, both - both // 2


def tree_attack_model(tree: Tree, tau: float) -> tuple[AttackModel, NDArray[np.float64]]:
    """Return the attack model of a target in a tree, and the attacker's likelihoods of 0 and 1 for each vertex.

    The target's own likelihood makes both of its values equally probable before the release.

    >>> attack_model, _ = tree_attack_model(worst_tree(OddsChain(9.0, length=5), 1.0), 1.0)
    >>> round(attack_model.betrayal(1.0).epsilon, 6)
    2.442142
    """
    gains = _gains(tree, tau)
    factors = [np.array([[math.exp(odds / 2), 1.0], [1.0, math.exp(odds / 2)]]) for odds in tree.log_odds]
    size = len(tree.parents)
    answers: list[NDArray[np.float64]] = [_own(records) for records in tree.records]
    mass, evidence = np.ones((size, 2)), np.ones((size, 2))
    for vertex in range(size - 1, 0, -1):
        wanted = np.array([1.0, math.exp(-gains[vertex] / 2)])
        evidence[vertex] = wanted / mass[vertex]
        evidence[vertex] /= evidence[vertex].max()
        given = factors[vertex] * wanted
        total = given.sum(axis=1)
        below = (given / total[:, None]) @ answers[vertex]
        parent = tree.parents[vertex]
        mass[parent] *= total / total.max()
        answers[parent] = np.array([np.convolve(own, other) for own, other in zip(answers[parent], below, strict=True)])
    evidence[0] = mass[0][::-1] / mass[0].max()
    laws = answers[0]
    attack_model = AttackModel((0, 1), np.full(2, 0.5), np.arange(laws.shape[1], dtype=np.float64), laws, 1.0)
    return attack_model, evidence


def _own(records: int) -> NDArray[np.float64]:
    """Return the law of what a vertex alone adds to the count: nothing, or its number of records."""
    law = np.zeros((2, records + 1))
    law[0, 0] = law[1, records] = 1.0
    return law


def _gains(tree: Tree, tau: float) -> list[float]:
    """Return for each vertex ln of how much likelier the most telling output is if it is 1; for the root, the leakage.

    Each child contributes f(c, d) = 2·ln[cosh((c + d)/4) / cosh((c − d)/4)] of its own c to its parent.
    """
    gains = [records * tau for records in tree.records]
    for vertex in range(len(gains) - 1, 0, -1):
        c, d = gains[vertex], tree.log_odds[vertex]
        gains[tree.parents[vertex]] += 2 * (_log_cosh((c + d) / 4) - _log_cosh((c - d) / 4))
    return gains


def _log_cosh(x: float) -> float:
    return abs(x) + math.log1p(math.exp(-2 * abs(x))) - math.log(2)
