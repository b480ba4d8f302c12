"""Networks of many records whose effects add up, compared with magnets along orders with narrow fronts.

As in `magnets`, the leakage of a record is twice ln of the odds that its spin points up. Records are summed out one
after another, and tables hold the logarithms of the weights of all values of a front (docs/theory/odds-ising.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.models.network import Ties
from bayesdp.theorems.odds.magnets import BEYOND_MAGNETS
from bayesdp.theorems.odds.orders import MOST_POSITIONS, Step, ways
from bayesdp.theorems.odds.sweeps import Weighed, tables, weighed

__all__ = ["Narrow", "narrow"]

_WIDEST = 17
"""The most records of a front, the one that is summed out included."""

_MOST_ROWS = 2**24
"""The most rows of all tables together."""

_AT_ONCE = 2**24
"""The most numbers in memory at a time; further values of τ are processed after them."""

_SPINS = 2
_ROUNDOFF = 2.0**-53


@dataclass(frozen=True, eq=False)
class Narrow:
    """A connected network, prepared for any τ.

    steps: they leave every record alone in turn, from tables of few records.

    >>> from bayesdp.models import Network
    >>> chain = narrow(Network(edges=[(i, i + 1, 9.0) for i in range(199)]).ties)
    >>> chain.largest(np.array([1.0])).round(6).tolist()
    [2.79762]
    """

    ties: Ties
    steps: tuple[Weighed, ...]

    def largest(self, taus: Floats) -> Floats:
        """Return for each τ the largest leakage of a record, rounded up."""
        width = max(1, _AT_ONCE // _rows([each.step for each in self.steps]))
        pieces = [taus[begin : begin + width] for begin in range(0, len(taus), width)]
        return np.concatenate([self.of_records(piece).max(axis=0) for piece in pieces])

    def of_records(self, taus: Floats) -> Floats:
        """Return for each τ the leakage of each record in the order of positions, rounded up, as (records, τ)."""
        with np.errstate(over="ignore"):
            proven = np.nextafter(taus + self.ties.around[self.ties.visible, None], np.inf)
        weak = taus <= BEYOND_MAGNETS
        if weak.any():
            found = np.nextafter(self.unrounded(taus[weak]) + self._error(taus[weak]), np.inf)
            proven[:, weak] = np.minimum(proven[:, weak], found)
        return proven

    def unrounded(self, taus: Floats) -> Floats:
        """Return the same as computed, without what rounding may have taken from it."""
        left = tables(self.steps, _SPINS, lambda each: _added(each, taus / 4), lambda table, _: _summed_out(table))
        found = np.array([left[target] for target in sorted(left)])
        return np.asarray(2 * (found[:, 1] - found[:, 0]))

    def _error(self, taus: Floats) -> Floats:
        """Return a bound on the rounding error of the leakage: four times the sum of the errors of all steps.

        Errors of tables add up where the tables do; summing records out does not increase them.
        """
        fixed, field = self._sizes
        return np.asarray(4 * (fixed + field * taus) * _ROUNDOFF)

    @cached_property
    def _sizes(self) -> tuple[float, float]:
        """How many units of roundoff the tables may be off, for each τ: a number, and one to multiply by τ.

        No entry of a table is larger than what its records feel, and an addition is off by at most five units of that.
        """
        fixed = field = 0.0
        for each in self.steps:
            positions, kept = each.step.positions, each.step.kept
            operations = 5 * (len(each.step.sources) + 2 * (each.step.without is not None) + 1)
            operations += 2 * len(positions) + 8 * (len(positions) - kept + 1)
            fixed += operations * (2 * float(self.ties.around[list(positions)].sum()) + 4 * len(positions))
            field += operations * 2 * len(positions)
        return fixed, field


def narrow(ties: Ties) -> Narrow | None:
    """Return a connected network, prepared; None if its fronts are too wide."""
    if ties.size > MOST_POSITIONS:
        return None
    possible = ways(ties, _WIDEST)
    best = min(possible, key=_rows, default=None)
    if best is None or _rows(best) > _MOST_ROWS:
        return None
    return Narrow(ties, tuple(weighed(ties, best)))


def _rows(steps: Sequence[Step]) -> int:
    return sum(_SPINS ** len(step.positions) for step in steps)


def _added(each: Weighed, fields: Floats) -> Floats:
    """Return the logarithm of the weight of the field and the couplings of a step's own record, the last one."""
    rows = _SPINS ** len(each.step.positions)
    if not each.step.own:
        return np.zeros((rows, len(fields)))
    pull = np.zeros(1)
    for coupling in each.given[-1, :-1] / 4:
        pull = np.concatenate([pull - coupling, pull + coupling])
    felt = pull[:, None] + each.own[-1] * fields
    return np.concatenate([-felt, felt])


def _summed_out(weights: Floats) -> Floats:
    """Return the logarithms of the weights without the last record, the largest 0."""
    summed = np.logaddexp(*np.split(weights, _SPINS))
    return np.asarray(summed - summed.max(axis=0))
