"""Series of records whose effects add up, compared with magnets: a transfer matrix over the values of k records.

Records are spins ±1 that attract each other by a quarter of their log odds, in a field τ/4. The leakage of one is twice
ln of the odds that it points up (docs/theory/odds-ising.md). Weights are kept as logarithms, and results rounded up.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesdp._support.arrays import Booleans, Floats

__all__ = ["BEYOND_MAGNETS", "FARTHEST", "MOST_TOGETHER", "Magnets", "log_sums"]

FARTHEST = 10
"""The longest reach."""

MOST_TOGETHER = 8
"""The most records of a unit that are compared with magnets at once."""

BEYOND_MAGNETS = 2.0**12
"""At a larger τ, all that the odds allow is added to it; below, no weight overflows."""

_FEWEST_STEPS = 16
_ONE_BY_ONE = 2**11
_MOST_ONE_BY_ONE = 2**14
_MOST_STEPS = 2**20
"""The fewest records on each side; those after which the matrix is squared if it can be; the most if it cannot; and the
most if it can. Then the upper value stands, which is valid for any number."""

_FORGIVEN = 4
"""How many rounding errors the two values may be apart. Fewer records are then never enough for a smaller τ by rounding
alone, and the bound does not fall as τ rises."""

_SQUARED_UP_TO = 8
_SQUARED_RANGE = 600.0
"""Up to this reach, and this range of the logarithms of its powers, the matrix can be squared."""

_AT_ONCE = 2**21
"""The most numbers in memory at a time; further values of τ are processed after them."""

_ROUNDOFF = 2.0**-53


@dataclass(frozen=True, eq=False)
class Magnets:
    """A series in which records 1, 2, …, k apart attract each other, prepared for any τ.

    log_odds:  ln of the odds ratios of records 1, 2, …, k apart, rounded up.
    agreement: how close, relative to them, a lower and an upper value for series of any length must be.

    >>> Magnets(np.log([9.0])).largest(np.array([1.0])).round(6).tolist()
    [2.79762]
    """

    log_odds: Floats
    agreement: float = 1e-10

    def largest(self, taus: Floats) -> Floats:
        """Return the leakage of a record of a series of any length for each τ, rounded up."""
        return self._settled(taus).upper

    def between(self, taus: Floats) -> tuple[Floats, Floats]:
        """Return a lower and an upper value of what a record of a series of any length leaks, for each τ.

        The lower value is that of a stretch with nothing beyond its ends; of the upper one, k records beyond each end
        are fixed at +. The stretch is doubled until the two agree. The lower value is not rounded down.
        """
        settled = self._settled(taus)
        return settled.lower, settled.upper

    def of_unit(self, taus: Floats, unit: int) -> Floats:
        """Return the leakage of up to MOST_TOGETHER consecutive records of a series of any length, rounded up."""
        return self._by_pieces(taus, 4, lambda few: self._of_unit(few, unit))

    def of_length(self, taus: Floats, length: int) -> Floats:
        """Return the largest leakage of a record of a series of this length, which is at least 2k, rounded up."""
        return self._by_pieces(taus, length, lambda few: self._of_length(few, length))

    def _by_pieces(self, taus: Floats, tables: int, computed: Callable[[Floats], Floats]) -> Floats:
        width = max(1, _AT_ONCE // (tables * len(self._values)))
        return np.concatenate([computed(taus[begin : begin + width]) for begin in range(0, len(taus), width)])

    @property
    def _couplings(self) -> Floats:
        return self.log_odds / 4

    @cached_property
    def _values(self) -> Floats:
        """The values of k records in a row, as (row, record): bit t of the number of a row is that of the record t."""
        reach = len(self.log_odds)
        return np.asarray(2.0 * (np.arange(2**reach)[:, None] >> np.arange(reach) & 1) - 1)

    @cached_property
    def _pull(self) -> Floats:
        """The field of the k nearest records on one side of a record."""
        return np.asarray((self._values @ self._couplings)[:, None])

    @cached_property
    def _inside(self) -> Floats:
        """The logarithm of the weight of the couplings among k records in a row."""
        total, values = np.zeros(len(self._values)), self._values
        for apart, coupling in enumerate(self._couplings[:-1].tolist(), 1):
            total += coupling * (values[:, apart:] * values[:, :-apart]).sum(axis=1)
        return total[:, None]

    @cached_property
    def _turned(self) -> NDArray[np.intp]:
        """For each row, the row of the same records in the opposite order."""
        reach = len(self.log_odds)
        return np.asarray((self._values > 0) @ 2 ** np.arange(reach)[::-1])

    def _within(self, fields: Floats) -> Floats:
        """Return the logarithm of the weight of k records in a row, in a field."""
        return np.asarray(self._inside + self._values.sum(axis=1)[:, None] * fields)

    def _free(self, columns: int) -> Floats:
        """Return the logarithms of the weights of no records, given the k records before them."""
        return np.zeros((len(self._values), columns))

    def _fixed(self, columns: int) -> Floats:
        """Return the logarithms of the weights of k records fixed at +, given the k records before them."""
        felt = np.cumsum(self._couplings[::-1])[::-1]
        return np.repeat((self._values @ felt - felt.sum())[:, None], columns, axis=1)

    def _longer(self, side: Floats, fields: Floats) -> Floats:
        """Return the logarithms of the weights of a side with one more record, given the k records before it."""
        pull = self._pull + fields
        down, up = (np.concatenate([side[value::2]] * 2) for value in (0, 1))
        weights = np.logaddexp(down - pull, up + pull)
        return np.asarray(weights - weights.max(axis=0))

    def _settled(self, taus: Floats) -> _Settled:
        """Return a lower and an upper value for each τ, and the weights of a side with fixed ends."""
        columns = len(taus)
        settled = _Settled(np.zeros(columns), np.full(columns, np.inf), self._fixed(columns), np.zeros(columns))
        sides = np.concatenate([self._free(columns), self._fixed(columns)], axis=1)
        squared = self._can_be_squared(taus)
        left = self._doubled(settled, taus, np.arange(columns), sides, squared)
        for column in left.tolist():
            if squared[column]:
                self._squared(settled, taus, column)
        return settled

    def _doubled(
        self, settled: _Settled, taus: Floats, chosen: NDArray[np.intp], sides: Floats, squared: Booleans
    ) -> NDArray[np.intp]:
        """Double the stretch, record by record, until the two values agree; return for which τ they do not yet."""
        steps, more, left = 0, _FEWEST_STEPS, [chosen[:0]]
        while len(chosen) and steps < _MOST_ONE_BY_ONE:
            fields = np.tile(taus[chosen] / 4, 2)
            for _ in range(more):
                sides = self._longer(sides, fields)
            steps, more = steps + more, steps + more
            apart = self._kept(settled, taus, chosen, sides, steps)
            if steps >= _ONE_BY_ONE:
                left.append(chosen[apart & squared[chosen]])
                apart &= ~squared[chosen]
            chosen, sides = chosen[apart], sides[:, np.tile(apart, 2)]
        return np.concatenate([*left, chosen])

    def _squared(self, settled: _Settled, taus: Floats, column: int) -> None:
        """Double the stretch by squaring the matrix until the two values agree, for one τ."""
        chosen, field = np.array([column]), taus[column] / 4
        sides = np.exp(np.concatenate([self._free(1), self._fixed(1)], axis=1))
        size, steps = len(self._values), 1
        rows, pull = np.arange(size), self._pull[:, 0] + field
        matrix = np.zeros((size, size))
        for value, weight in enumerate((-pull, pull)):
            matrix[rows, 2 * rows % size + value] = np.exp(weight - np.abs(pull).max())
        sides = matrix @ sides
        while steps < _MOST_STEPS:
            sides = matrix @ sides
            sides, matrix, steps = sides / sides.max(axis=0), matrix @ matrix, 2 * steps
            matrix /= matrix.max()
            if steps >= _ONE_BY_ONE and not self._kept(settled, taus, chosen, np.log(sides), steps, size)[0]:
                return

    def _kept(
        self,
        settled: _Settled,
        taus: Floats,
        chosen: NDArray[np.intp],
        sides: Floats,
        steps: int,
        summed: int = 0,
    ) -> Booleans:
        """Store the values by sides of so many records, and return for which τ they do not agree."""
        free, fixed = np.split(sides, 2, axis=1)
        error = self._error(taus[chosen], steps, summed)
        lower, upper = (2 * self._up(taus[chosen] / 4, side) for side in (free, fixed))
        settled.keep(chosen, lower, np.nextafter(upper + error, np.inf), fixed, error)
        return np.asarray(upper - lower > self.agreement * upper + _FORGIVEN * error)

    def _can_be_squared(self, taus: Floats) -> Booleans:
        """Return for which τ the entries of all powers of the matrix stay within the range of a float."""
        reach = len(self.log_odds)
        widest = float(self._couplings @ (4 * np.arange(1.0, reach + 1) + 2 * reach))
        return np.asarray((widest + 2 * (reach + 1) * taus / 4 <= _SQUARED_RANGE) & (reach <= _SQUARED_UP_TO))

    def _up(self, fields: Floats, side: Floats) -> Floats:
        """Return ln of the odds that a record between two sides, each with the k − 1 others or fewer, points up."""
        weights = self._within(fields) + side + side[self._turned]
        return self._odds_up(weights, len(self.log_odds) // 2)

    def _odds_up(self, weights: Floats, record: int) -> Floats:
        up = self._values[:, record] > 0
        return np.asarray(log_sums(weights[up]) - log_sums(weights[~up]))

    def _of_length(self, taus: Floats, length: int) -> Floats:
        reach, fields = len(self.log_odds), taus / 4
        sides = list(
            itertools.accumulate(
                range(length - reach), lambda side, _: self._longer(side, fields), initial=self._free(len(taus))
            )
        )
        within, found = self._within(fields), np.zeros(len(taus))
        for place in range((length + 1) // 2):
            weights = within + sides[place][self._turned] + sides[length - reach - place]
            found = np.maximum(found, self._odds_up(weights, reach - 1))
        return np.nextafter(2 * found + self._error(taus, length), np.inf)

    def _of_unit(self, taus: Floats, unit: int) -> Floats:
        settled = self._settled(taus)
        parts = list(itertools.product((False, True), repeat=unit))
        odds = {part: self._part_up(np.array(part), taus / 4, settled.fixed) for part in parts}
        both = [odds[part] + odds[tuple(not inside for inside in part)] for part in parts]
        error = 2 * (settled.error + self._error(taus, unit + len(self.log_odds)))
        return np.asarray(np.nextafter(2 * np.maximum.reduce(both) + error, np.inf))

    def _part_up(self, inside: Booleans, fields: Floats, side: Floats) -> Floats:
        """Return ln of the odds that some records of a unit, tied together, point up; its other records are removed."""
        if not inside.any():
            return np.zeros(len(fields))
        reach = len(self.log_odds)
        before = self._within(fields) + side[self._turned]
        weights = np.concatenate([before, before], axis=1)
        both = np.tile(fields, 2)
        tied = np.repeat([-1.0, 1.0], len(fields))
        removed = np.zeros(reach, dtype=bool)
        for place in range(len(inside) + reach):
            pull = (self._values @ np.where(removed, 0.0, self._couplings))[:, None] + both
            member = place < len(inside) and bool(inside[place])
            absent = place < len(inside) and not inside[place]
            down, up = (weights - pull, weights + pull) if not absent else (np.full_like(weights, -np.inf), weights)
            if member:
                down, up = np.where(tied < 0, down, -np.inf), np.where(tied > 0, up, -np.inf)
            weights = np.empty_like(weights)
            for value, with_it in enumerate((down, up)):
                weights[value::2] = np.logaddexp(*np.split(with_it, 2))
            removed = np.append(absent, removed[:-1])
        down, up = np.split(log_sums(weights + np.tile(side, 2)), 2)
        return np.asarray(up - down)

    def _error(self, taus: Floats, steps: int, summed: int = 0) -> Floats:
        """Return a bound on the rounding error of 2·L, for sides of so many records, each with so many further sums."""
        reach = len(self.log_odds)
        spread = 2 * float(self._couplings @ np.arange(1.0, reach + 1))
        size = float(self._couplings.sum()) + spread + taus / 4 + 1
        every_step, in_the_end = (reach + 16) * size + 2 * summed, (reach + 2) ** 2 * (size + 16) + 2.0**reach
        return np.asarray((8 * steps * every_step + 4 * in_the_end) * _ROUNDOFF)


@dataclass(frozen=True, eq=False)
class _Settled:
    """For each τ a lower and an upper value of the leakage, the weights of a side with fixed ends, and their error."""

    lower: Floats
    upper: Floats
    fixed: Floats
    error: Floats

    def keep(self, chosen: NDArray[np.intp], lower: Floats, upper: Floats, fixed: Floats, error: Floats) -> None:
        self.lower[chosen], self.upper[chosen], self.fixed[:, chosen] = lower, upper, fixed
        self.error[chosen] = error


def log_sums(logarithms: Floats) -> Floats:
    """Return ln of the sum of the exponentials in each column.

    >>> log_sums(np.log([[1.0, 1000.0], [3.0, 1000.0]])).round(6).tolist()
    [1.386294, 7.600902]
    """
    largest = logarithms.max(axis=0)
    return np.asarray(largest + np.log(np.exp(logarithms - largest).sum(axis=0)))
