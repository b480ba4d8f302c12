"""The leakage of every record of a connected network, by several orders of summing out the others.

docs/theory/odds-elimination.md has the proofs. What does not depend on τ is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.models.network import Network, Ties
from bayesdp.theorems.odds.contraction import contraction
from bayesdp.theorems.odds.merging import ROLES, merged, merged_along, work
from bayesdp.theorems.odds.orders import MOST_POSITIONS, Step, is_forest, one_target, ways
from bayesdp.theorems.odds.sweeps import SETS, Weighed, changes_of_sets, changes_of_singles, weighed

__all__ = ["Part", "connected", "parts"]

_WIDEST = 150
"""The most records of a front."""

_MOST_SUMMED = 2**15
_MOST_ODDS = 2**25
"""The most records summed out, and odds ratios computed, for all targets together."""

_MOST_ROWS = 2**21
"""Up to so many rows in all tables, the roles of records, or else sets of them, have their own bounds."""

_SMALL = 24
_FEW = 16
"""Up to so many positions, in so many parts that differ, further orders are tried."""

_MOST_MERGED = 8
_MOST_ROLES = 2**18
"""How many records may be deleted or merged, and the most numbers to compute for all targets and one τ."""

_AT_ONCE = 2**21
"""The most numbers in memory at a time; further values of τ are processed after them."""


@dataclass(frozen=True, eq=False)
class Part:
    """A connected network, prepared for any τ.

    targets: its records; around: the sum of the log odds ratios of each, rounded up.
    orders:  steps that leave every target alone.
    near:    steps that leave every target with a few others, which are then deleted or merged.
    """

    targets: tuple[int, ...]
    around: Floats
    orders: tuple[tuple[Weighed, ...], ...]
    near: tuple[Weighed, ...]

    def largest(self, taus: Floats) -> Floats:
        """Return for each τ the largest leakage of a record, rounded up."""
        width = max(1, _AT_ONCE // max(self._numbers, 1))
        pieces = [self._largest(taus[begin : begin + width]) for begin in range(0, len(taus), width)]
        return np.concatenate(pieces)

    def _largest(self, taus: Floats) -> Floats:
        others = contraction((len(self.targets) - 1) * taus * (1 + 2.0**-51), self.around[:, None])
        bounds = [np.nextafter(taus + others, np.inf)]
        for steps in self.orders:
            found = _bounds(steps, taus)
            bounds.append(np.array([found[target] for target in self.targets]))
        if self.near:
            left = changes_of_singles(self.near, taus)
            bounds.append(merged(np.array([left[target] for target in self.targets]), self._odds_left))
        return np.asarray(np.minimum.reduce(bounds).max(axis=0))

    @property
    def _odds_left(self) -> Floats:
        return np.array([each.odds for each in self.near])

    @property
    def _numbers(self) -> int:
        """How many numbers are in memory at a time for one τ."""
        merging = 4 * len(self.targets) * ROLES ** len(self.near[0].odds) if self.near else 1
        return max(merging, *(_rows(steps, _states(steps)) for steps in self.orders))


def _bounds(steps: Sequence[Weighed], taus: Floats) -> dict[int, Floats]:
    """Return for each target a bound at each τ: by roles, else sets, else singles, the sharpest whose tables fit."""
    states = _states(steps)
    if states == ROLES:
        return merged_along(steps, taus)
    changes = changes_of_sets(steps, taus) if states == SETS else changes_of_singles(steps, taus)
    return {target: change[-1] for target, change in changes.items()}


@lru_cache(maxsize=8)
def parts(network: Network) -> tuple[Part, ...] | str:
    """Return the connected parts of a network that differ, or the reason why records cannot be summed out."""
    ties = network.ties
    if ties.size > MOST_POSITIONS:
        return (
            f"it sums out the records of at most {MOST_POSITIONS:,} positions one after another, not of {ties.size:,}"
        )
    different = list({_key(part): part for part in connected(ties) if part.visible.any()}.values())
    possible = [sorted(ways(part, _WIDEST), key=_odds) for part in different]
    best = [steps for several in possible for steps in several[:1]]
    if not all(possible) or sum(map(_odds, best)) > _MOST_ODDS or sum(map(_summed, best)) > _MOST_SUMMED:
        return "too many records depend on one another at the same time for summing them out one after another"
    few = len(different) <= _FEW
    return tuple(
        _part(part, several, few and part.size <= _SMALL) for part, several in zip(different, possible, strict=True)
    )


def _part(ties: Ties, possible: Sequence[Sequence[Step]], thorough: bool) -> Part:
    """Return one connected part, prepared; by all orders, and by deleting and merging, if `thorough`."""
    targets = tuple(np.flatnonzero(ties.visible).tolist())
    orders = tuple(tuple(weighed(ties, steps)) for steps in (possible if thorough else possible[:1]))
    near: tuple[Weighed, ...] = ()
    if thorough and not is_forest(ties):
        most = max(kept for kept in range(1, _MOST_MERGED + 1) if len(targets) * work(kept) <= _MOST_ROLES)
        near = tuple(weighed(ties, [one_target(ties, target, most) for target in targets]))
    return Part(targets, ties.around[list(targets)], orders, near)


def connected(ties: Ties) -> list[Ties]:
    """Return the connected parts of a network, the positions of each numbered anew."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((ties.log_odds, (ties.first, ties.second)), shape=(ties.size, ties.size))
    count, of_position = connected_components(links, directed=False)
    found = []
    for number in range(count):
        positions = np.flatnonzero(of_position == number)
        inside = of_position[ties.first] == number
        first, second = (np.searchsorted(positions, ends[inside]) for ends in (ties.first, ties.second))
        found.append(Ties(first, second, ties.log_odds[inside], ties.visible[positions]))
    return found


def _key(ties: Ties) -> tuple[bytes, ...]:
    return tuple(array.tobytes() for array in ties)


def _sizes(steps: Sequence[Step]) -> list[tuple[int, int]]:
    return [(len(step.positions), step.kept) for step in steps]


def _odds(steps: Sequence[Step]) -> int:
    """Return how many odds ratios the steps compute."""
    return sum(size**3 // 3 - kept**3 // 3 for size, kept in _sizes(steps))


def _summed(steps: Sequence[Step]) -> int:
    """Return how many records the steps sum out, and how often they only add."""
    return sum(size - kept + 1 for size, kept in _sizes(steps))


def _states(steps: Sequence[Weighed]) -> int:
    """Return how many states of each record are told apart: 1, none, if the tables would have too many rows.

    On a forest that loses nothing: no front has more than two records.
    """
    if max(len(each.step.positions) for each in steps) > 2:
        for states in (ROLES, SETS):
            if _rows(steps, states) <= _MOST_ROWS:
                return states
    return 1


def _rows(steps: Sequence[Weighed], states: int) -> int:
    sizes = (len(each.step.positions) for each in steps)
    return sum(states**size if states > 1 else size for size in sizes)
