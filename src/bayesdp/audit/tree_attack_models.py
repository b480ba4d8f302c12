"""Scenes of bounded odds: a tree of 0/1 records around a target, with the side information that attains the bound.

Neighbours have the odds ratio allowed, and attract one another. For each vertex the attacker has a likelihood that
makes the contraction an equality (docs/theory/contraction.md): 1 is less likely than 0 by a factor √G, where G is how
much likelier the most telling output is if the vertex is 1. That output is a count of as many as there are records.
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

__all__ = [
    "BoundedOdds",
    "Tree",
    "hidden_markov_tree",
    "network_tree",
    "odds_chain_tree",
    "tree_attack_model",
    "worst_tree",
]

BoundedOdds = OddsChain | HiddenMarkov | Network
"""Models of odds ratios alone, whose worst law is a tree."""

_LONGEST_SIDE = 150
"""So many records of a side are followed; what is farther adds next to nothing unless neighbours are nearly copies."""

_MOST_VERTICES = 301
"""So many vertices of a network are attacked through."""


@dataclass(frozen=True)
class Tree:
    """Vertices around a root, the target; parents stand before their children.

    parents:  the position of each vertex's parent; −1 for the root.
    log_odds: ln of the odds ratio of each vertex and its parent; 0 for the root.
    records:  how many records each vertex is: 0 if it is hidden, more than 1 for several that are all alike.
    """

    parents: tuple[int, ...]
    log_odds: tuple[float, ...]
    records: tuple[int, ...]

    @property
    def total(self) -> int:
        """How many records there are."""
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
    """Return the tree of records in which a release with this τ tells most about its root.

    Raises InvalidInputError for a type of models of which no such tree is known.
    """
    raise InvalidInputError(f'no worst tree is known of a model of type "{model.kind}"')


@worst_tree.register(OddsChain)
def _of_odds_chain(model: OddsChain, tau: float) -> Tree:
    return odds_chain_tree(model)


@worst_tree.register(HiddenMarkov)
def _of_hidden_markov(model: HiddenMarkov, tau: float) -> Tree:
    return hidden_markov_tree(model)


@worst_tree.register(Network)
def _of_network(model: Network, tau: float) -> Tree:
    return network_tree(model, tau)


def odds_chain_tree(chain: OddsChain) -> Tree:
    """Return the chain around its middle record, or around the middle `unit` records, which are all alike.

    With memory k a vertex is a block of k records, which are all alike: inside a block anything may hold.
    """
    root = records_met(chain)
    growing = _Growing(records=[root])
    blocks = None if chain.length is None else max(chain.length - root, 0) // chain.memory
    for side in _sides(blocks):
        parent = 0
        for _ in range(side):
            parent = growing.add(parent, chain.log_odds, chain.memory)
    return growing.grown()


def hidden_markov_tree(model: HiddenMarkov) -> Tree:
    """Return the middle record, its hidden state, the hidden chain on both sides and what it emits."""
    growing = _Growing()
    hidden = growing.add(0, model.emission_log_odds, records=0)
    for side in _sides(None if model.length is None else model.length - 1):
        parent = hidden
        for _ in range(side):
            parent = growing.add(parent, model.transition_log_odds, records=0)
            growing.add(parent, model.emission_log_odds)
    return growing.grown()


def network_tree(network: Network, tau: float) -> Tree:
    """Return the tree in a network through which most is learnt of a record, of the most connected ones.

    Edges that would close a loop are left out: that they say nothing is among what the bounds allow.
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
    """Return the tree that is found from a target outwards, nearest vertices first."""
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
    """Return a tree in which everybody has as many neighbours as the network allows, as large as it allows."""
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
    """Return how many vertices there are on either side of the middle."""
    both = 2 * _LONGEST_SIDE if others is None else min(others, 2 * _LONGEST_SIDE)
    return both // 2, both - both // 2


def tree_attack_model(tree: Tree, tau: float) -> tuple[AttackModel, NDArray[np.float64]]:
    """Return the scene of a target in a tree, and the likelihoods of 0 and 1 that the attacker has for each vertex.

    The target's own likelihood is such that both of its values are equally probable before the release.

    >>> path = odds_chain_tree(OddsChain(9.0, length=5))
    >>> attack_model, _ = tree_attack_model(path, 1.0)
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
    """Return the law of what a vertex adds by itself: nothing, or as many as it is records."""
    law = np.zeros((2, records + 1))
    law[0, 0] = law[1, records] = 1.0
    return law


def _gains(tree: Tree, tau: float) -> list[float]:
    """Return for each vertex ln of how much likelier the most telling output is if it is 1; the root's is the leakage.

    Each child passes on f(c, d) = 2·ln[cosh((c + d)/4) / cosh((c − d)/4)] of its own c.
    """
    gains = [records * tau for records in tree.records]
    for vertex in range(len(gains) - 1, 0, -1):
        c, d = gains[vertex], tree.log_odds[vertex]
        gains[tree.parents[vertex]] += 2 * (_log_cosh((c + d) / 4) - _log_cosh((c - d) / 4))
    return gains


def _log_cosh(x: float) -> float:
    return abs(x) + math.log1p(math.exp(-2 * abs(x))) - math.log(2)
