"""Endings that are followed together: far out, the known record at the end of a side hardly matters.

Several endings may share one table of bounds, relative to the column of one of them, their *leader*. The bounds lose
the difference of their columns from the leader's once when they join and once when a bound is read, not at every step.
Proof: docs/theory/markov-mixing.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesdp._support.arrays import Floats, Integers

__all__ = ["Gathering"]

_GIVEN_UP = 4
_SMALLEST = 1e-300
"""Smaller floats lose digits or underflow to zero."""


@dataclass(frozen=True)
class Gathering:
    """Which endings are followed together.

    leaders: (table,): the ending that leads each table.
    table:   (ending,): the table in which an ending is followed.
    """

    leaders: Integers
    table: Integers

    @classmethod
    def apart(cls, endings: int) -> Gathering:
        """Return every ending by itself."""
        return cls(np.arange(endings), np.arange(endings))

    def read(self, values: Floats, columns: Floats, endings: slice) -> Floats:
        """Return the bound for some endings, as (τ, ending, u, u′), from the tables (τ, table, u, u′).

        columns: (chain, ending, u), where the bounds are read. What cannot occur is infinite.
        """
        tables = self.table[endings]
        return np.asarray(values[:, tables] * _quotients(columns[:, self.leaders[tables]] / columns[:, endings]))

    def alike(self, columns: Floats) -> bool:
        """Return whether all endings share one table and exclude no value; columns: (chain, ending, u)."""
        return len(self.leaders) == 1 and bool((columns > 0).all())

    def joined(self, values: Floats, columns: Floats, most: int, tolerance: float) -> tuple[Gathering, Floats]:
        """Return tables joined until their leaders' columns are more than `tolerance` apart, and at most `most` remain.

        Endings that exclude different values are never joined, even if more than `most` remain. If four times as many
        remain, the rest is given up: infinite tables are valid bounds and cost nothing to follow.
        """
        own = columns[:, self.leaders]
        distance = _distances(own)
        order = _farthest(distance, most, tolerance)
        chosen = np.sort(order)
        given_up = np.isin(chosen, order[_GIVEN_UP * most :])
        nearest = distance[:, chosen].argmin(axis=1)
        relative = values * _quotients(own / own[:, chosen[nearest]])
        together = np.stack([relative[:, nearest == index].max(axis=1) for index in range(len(chosen))], axis=1)
        together = np.where(given_up[:, None, None], np.inf, together)
        return Gathering(self.leaders[chosen], nearest[self.table]), together


def _quotients(column: Floats) -> Floats:
    """Return the quotient of every two entries; infinite where it is NaN or too small to be accurate."""
    quotients = column[..., :, None] / column[..., None, :]
    return np.asarray(np.where(quotients >= _SMALLEST, quotients, np.inf))


def _distances(columns: Floats) -> Floats:
    """Return by how much the logarithm of the ratio of two columns varies, in the worst chain; infinite with a zero."""
    distance = np.zeros((columns.shape[1], columns.shape[1]))
    possible = columns > 0
    logs = np.log(np.where(possible, columns, 1.0))
    for index in range(columns.shape[1]):
        difference = logs - logs[:, index, None]
        alike = (possible == possible[:, index, None]).all(axis=(0, 2))
        either = np.where(possible, difference, -np.inf).max(axis=2) - np.where(possible, difference, np.inf).min(
            axis=2
        )
        distance[index] = np.where(alike, either.max(axis=0), np.inf)
    return distance


def _farthest(distance: Floats, most: int, tolerance: float) -> Integers:
    """Choose leaders in order: the last table, then repeatedly the one farthest from those chosen."""
    chosen = [len(distance) - 1]
    while True:
        nearest = distance[:, chosen].min(axis=1)
        farthest = int(nearest.argmax())
        if nearest[farthest] <= tolerance or (len(chosen) >= most and np.isfinite(nearest[farthest])):
            return np.array(chosen)
        chosen.append(farthest)
