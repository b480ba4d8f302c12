"""The steps that sum out all records but one, for every target at once (docs/theory/odds-elimination.md).

A record that is summed out connects the records that depend on it, its *front*. In a given order, fronts form a tree:
the front of a record lies in that of the first of its members, its parent. What one side of a front adds to it is
computed once and used for all targets on the other side, as messages are in a forest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesdp.models.network import Ties

__all__ = [
    "MOST_POSITIONS",
    "Front",
    "Step",
    "along",
    "every_target",
    "fronts",
    "is_forest",
    "least_fill",
    "one_target",
    "ways",
]

Indices = NDArray[np.intp]

MOST_POSITIONS = 2000
"""The most positions of a network whose records are summed out one after another."""


@dataclass(frozen=True)
class Front:
    """A record and those that depend on it when it is summed out, in the order in which they will be."""

    position: int
    later: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """Add up what is known about a few records, then sum out all but the first `kept` of them, the last one first.

    positions: the records.
    own:       those whose own τ, and whose dependences on the others, come in here.
    sources:   the numbers of earlier steps whose results come in, each with where its records are among these.
    without:   the same for a result that one of the sources contains and that must be taken out again.
    target:    the record that remains, if it is one whose leakage is wanted.
    """

    positions: tuple[int, ...]
    kept: int
    own: frozenset[int]
    sources: tuple[tuple[int, Indices], ...] = ()
    without: tuple[int, Indices] | None = None
    target: int | None = None


def ways(ties: Ties, widest: int) -> list[list[Step]]:
    """Return the steps that leave each record of a connected network alone in turn, for several orders.

    None where a front, with the record that is summed out, has more than `widest` members.
    """
    possible = [fronts(ties, least_fill(ties, widest), widest)]
    if not is_forest(ties):
        possible.append(fronts(ties, along(ties), widest))
    return [every_target(ties, order) for order in possible if order is not None]


def is_forest(ties: Ties) -> bool:
    """Return whether a connected network has no loop; every order by the fewest neighbours is then exact."""
    return len(ties.log_odds) == ties.size - 1


def neighbours(ties: Ties) -> list[set[int]]:
    """Return for each position the others that depend on it."""
    around: list[set[int]] = [set() for _ in range(ties.size)]
    for first, second in zip(ties.first.tolist(), ties.second.tolist(), strict=True):
        around[first].add(second)
        around[second].add(first)
    return around


def fronts(ties: Ties, order: Sequence[int], widest: int) -> list[Front] | None:
    """Return the front of every record in this order; None if one has more than `widest` members, or records lack."""
    if len(order) < ties.size:
        return None
    around, rank = neighbours(ties), {position: index for index, position in enumerate(order)}
    found = []
    for position in order:
        later = sorted(around[position], key=rank.__getitem__)
        if len(later) >= widest:
            return None
        _sum_out(around, position)
        found.append(Front(position, tuple(later)))
    return found


def least_fill(ties: Ties, widest: int) -> list[int]:
    """Return the order that sums out a record of the fewest neighbours next; of several, one that connects fewest.

    It ends early if all records left have at least `widest` neighbours.
    """
    around = neighbours(ties)
    remaining = set(range(ties.size))
    order = []
    while remaining:
        fewest = min(len(around[position]) for position in remaining)
        if fewest >= widest:
            break
        ready = [position for position in remaining if len(around[position]) == fewest]
        chosen = min(ready, key=lambda position: (_filled(around, position), position)) if fewest > 1 else min(ready)
        order.append(chosen)
        remaining.remove(chosen)
        _sum_out(around, chosen)
    return order


def along(ties: Ties) -> list[int]:
    """Return an order from one end of the network to the other (Cuthill and McKee)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    links = csr_array((np.ones(len(ties.first)), (ties.first, ties.second)), shape=(ties.size, ties.size))
    order: list[int] = reverse_cuthill_mckee((links + links.T).tocsr(), symmetric_mode=True).tolist()
    return order


def every_target(ties: Ties, order: Iterable[Front]) -> list[Step]:
    """Return the steps that leave each record alone in turn: towards the last front, and back to each."""
    steps: list[Step] = []
    inwards: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    outwards: dict[int, int] = {}
    ordered = list(order)
    members = {front.position: (*front.later, front.position) for front in ordered}

    def added(step: Step) -> int:
        steps.append(step)
        return len(steps) - 1

    def place(of: Sequence[int], among: Sequence[int]) -> Indices:
        where = {position: index for index, position in enumerate(among)}
        return np.array([where[position] for position in of], dtype=np.intp)

    def incoming(position: int) -> list[tuple[int, Indices]]:
        return [(inwards[child], place(members[child][:-1], members[position])) for child in children.get(position, ())]

    for front in ordered:
        everything, position = members[front.position], front.position
        step = Step(everything, len(front.later), frozenset([position]), tuple(incoming(position)))
        inwards[position] = added(step)
        if front.later:
            children.setdefault(front.later[0], []).append(position)
    for front in reversed(ordered):
        everything, position = members[front.position], front.position
        sources = incoming(position)
        if position in outwards:
            sources.append((outwards[position], np.arange(len(front.later))))
        together = added(Step(everything, len(everything), frozenset([position]), tuple(sources)))
        for child in children.get(position, ()):
            shared = members[child][:-1]
            arranged = (*shared, *(other for other in front.later if other not in shared))
            without = (inwards[child], np.arange(len(shared)))
            source = (together, place(everything, arranged))
            outwards[child] = added(Step(arranged, len(shared), frozenset(), (source,), without))
        if ties.visible[position]:
            arranged = (position, *front.later)
            added(Step(arranged, 1, frozenset(), ((together, place(everything, arranged)),), target=position))
    return steps


def one_target(ties: Ties, target: int, kept: int) -> Step:
    """Return the step that sums out the records farthest from a target first, until `kept` remain with it."""
    around, seen, order = neighbours(ties), {target}, [target]
    for position in order:
        fresh = sorted(around[position] - seen)
        seen.update(fresh)
        order += fresh
    return Step(tuple(order), min(kept, len(order)), frozenset(order), target=target)


def _filled(around: list[set[int]], position: int) -> int:
    """Return how many pairs of neighbours of a record do not depend on one another yet, twice."""
    near = around[position]
    return sum(len(near - around[other]) - 1 for other in near)


def _sum_out(around: list[set[int]], position: int) -> None:
    near = around[position]
    for other in near:
        around[other] |= near
        around[other] -= {other, position}
