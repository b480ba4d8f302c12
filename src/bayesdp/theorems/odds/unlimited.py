"""Series of any length: what all records on one side of a few can change, as a certified fixed point.

Records are summed out, or deleted and merged, from both far ends towards the target. Each step grows with the table it
starts from, so a table that a step does not raise bounds what any number of records adds (docs/theory/odds-series.md).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.theorems.odds.contraction import contraction
from bayesdp.theorems.odds.merging import ROLES, combined, leaves
from bayesdp.theorems.odds.sweeps import SETS, change_without, odds_without, rows, sums

__all__ = ["FARTHEST", "Unlimited"]

FARTHEST = 12
"""The longest reach."""

_UP = 1 + 2.0**-51

_ROLES_UP_TO = 8
"""The longest reach for which records are deleted or merged; beyond it, they are summed out."""

_SLACK = 1 + 1e-12
"""Each step raises the table by this much, so that it comes to rest above a fixed point."""

_MOST_STEPS = 1024
_MOST_ROWS = 2**21
"""The most steps, and the most rows that they compute, before the bound comes from the other side, from above."""

_MOST_FALLING = 256
"""The most steps from above: where none from below settle, odds are so large that hardly any answer is useful."""

_TARGET = 1
"""The row of the target alone, among the roles or sets of one record."""

Step = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Unlimited:
    """A series of any length, prepared for any τ.

    log_odds: ln of the odds ratios of records 1, 2, …, k apart, rounded up.
    unit:     how many consecutive records are the target.
    """

    log_odds: Floats
    unit: int = 1

    def largest(self, taus: Floats) -> Floats:
        """Return the leakage of the target for each τ, rounded up."""
        reach = len(self.log_odds)
        side = self._side(taus)
        tables = [(tuple(sign * (reach - place) for place in range(reach)), side) for sign in (-1, 1)]
        odds = self._between()
        for place in range(reach, 0, -1):
            for position in (-place, place):
                tables, odds = self._removed(position, tables, odds, taus)
        total = self.unit * taus * _UP
        for _, values in tables:
            total = (total + values[_TARGET]) * _UP
        return np.asarray(total)

    def both_sides(self, taus: Floats) -> Floats:
        """Return what the records on both sides of a stretch of at least k records add to it, rounded up."""
        everything = sum(_TARGET * self._states**place for place in range(len(self.log_odds)))
        return np.asarray(2 * self._side(taus)[everything])

    @cached_property
    def _states(self) -> int:
        return ROLES if len(self.log_odds) <= _ROLES_UP_TO else SETS

    @cached_property
    def _beyond(self) -> Floats:
        """The sum of the log odds of a record t places from a side with all of its records, for t = 1, …, k."""
        reach = len(self.log_odds)
        return np.cumsum(self.log_odds[::-1])[::-1] * (1 + reach * 2.0**-52)

    def _side(self, taus: Floats) -> Floats:
        """Return what a side of any length adds, for every row of the k records next to it, nearest first."""
        reach = len(self.log_odds)
        weight = (self.log_odds + np.append(self._filled[0, 1:], 0.0)) * _UP if self._states == SETS else self.log_odds
        own = _own(self._states, weight, taus)
        of_earlier = rows(self._states, reach + 1, (reach, *range(reach - 1)))

        def step(values: Floats) -> Floats:
            return _without(self._states, (own + values[of_earlier]) * _UP, weight)

        above = _totals(self._states, self._beyond)[:, None]
        return _settled(step, np.broadcast_to(above, (len(above), len(taus))))

    @cached_property
    def _filled(self) -> Floats:
        """The log odds that a side of any length adds between the k records next to it."""
        reach = len(self.log_odds)

        def step(values: Floats) -> Floats:
            odds = np.zeros((reach + 1, reach + 1))
            odds[:reach, :reach] = values.reshape(reach, reach)
            weight = (self.log_odds + odds[0, 1:]) * _UP
            added = odds_without(odds[1:, 1:], weight)
            np.fill_diagonal(added, 0.0)
            return added.reshape(-1, 1)

        above = contraction(self._beyond[:, None], self._beyond)
        np.fill_diagonal(above, 0.0)
        return _settled(step, above.reshape(-1, 1)).reshape(reach, reach)

    def _between(self) -> dict[tuple[int, int], float]:
        """Return the log odds of the target, 0, and of the k records on each side of it, −k, …, −1 and 1, …, k."""
        reach = len(self.log_odds)
        pairs = itertools.combinations(range(-reach, reach + 1), 2)
        odds = {(first, second): self._apart(first, second) for first, second in pairs}
        if self._states == SETS:
            for (a, b), added in np.ndenumerate(self._filled):
                for pair in ((a - reach, b - reach), (reach - a, reach - b)):
                    if pair in odds:
                        odds[pair] = (odds[pair] + added) * _UP
        return odds

    def _apart(self, first: int, second: int) -> float:
        """Return the log odds of two positions of which 0 is the whole target."""
        fewest = second - first + (self.unit - 1 if first < 0 < second else 0)
        most = fewest + (self.unit - 1 if first == 0 or second == 0 else 0)
        return float(self.log_odds[fewest - 1 : most].sum()) * (1 + len(self.log_odds) * 2.0**-52)

    def _removed(
        self,
        position: int,
        tables: Sequence[tuple[tuple[int, ...], Floats]],
        odds: dict[tuple[int, int], float],
        taus: Floats,
    ) -> tuple[list[tuple[tuple[int, ...], Floats]], dict[tuple[int, int], float]]:
        """Return the tables and the odds without a position."""
        around = {
            first + second - position: value for (first, second), value in odds.items() if position in (first, second)
        }
        mine = [table for table in tables if position in table[0]]
        near = {other for places, _ in mine for other in places} - {position}
        front = tuple(sorted(near | {other for other, value in around.items() if value > 0}))
        weight = np.array([around[other] for other in front])
        total = _own(self._states, weight, taus)
        for places, values in mine:
            where = tuple((*front, position).index(other) for other in places)
            total = (total + values[rows(self._states, len(front) + 1, where)]) * _UP
        left = {pair: value for pair, value in odds.items() if position not in pair}
        if self._states == SETS:
            added = odds_without(np.zeros((len(front), len(front))), weight)
            for a, first in enumerate(front):
                for b, second in enumerate(front[a + 1 :], a + 1):
                    left[first, second] = (left[first, second] + float(added[a, b])) * _UP
        return [
            *(table for table in tables if position not in table[0]),
            (front, _without(self._states, total, weight)),
        ], left


def _without(states: int, table: Floats, weight: Floats) -> Floats:
    """Return a table without its last record, whose odds with the others are `weight`."""
    return combined(*np.split(table, ROLES)) if states == ROLES else change_without(table, weight)


def _own(states: int, weight: Floats, taus: Floats) -> Floats:
    """Return what a record itself adds: its τ, and for roles its dependence on the others, of which it is the last."""
    size = len(weight) + 1
    if states == SETS:
        return np.repeat(np.array([[0.0], [1.0]]), SETS ** len(weight), axis=0) * taus
    changes, odds = np.zeros((size, len(taus))), np.zeros((size, size))
    changes[-1] = taus
    odds[-1, :-1] = odds[:-1, -1] = weight
    return leaves(changes, odds)


def _totals(states: int, values: Floats) -> Floats:
    """Return the sum of the values of the records in the target, or in the set, for every row."""
    if states == SETS:
        return sums(values)
    return leaves(values[:, None], np.zeros((len(values), len(values))))[:, 0]


def _settled(step: Step, above: Floats) -> Floats:
    """Return a table, column by column, that no number of steps from 0 exceeds.

    step:  a function that does not fall as its argument grows.
    above: a table that is valid in itself; steps from it are, too. It is used where no fixed point is found.
    """
    most = min(_MOST_STEPS, _MOST_ROWS // len(above))
    table = np.zeros_like(above)
    for _ in range(most):
        higher = step(table)
        certified = (higher <= table).all(axis=0)
        if certified.all():
            return np.minimum(table, above)
        table = np.where(certified, table, higher * _SLACK)
    falling = above
    for _ in range(min(most, _MOST_FALLING)):
        falling = np.minimum(falling, step(falling))
    return np.where(certified, table, falling)
