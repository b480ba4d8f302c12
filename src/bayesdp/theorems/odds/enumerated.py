"""Networks of a few records whose effects add up, compared with magnets by enumeration.

As in `magnets`, the leakage of a record is twice ln of the odds that its spin points up (docs/theory/odds-ising.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.models.network import Ties
from bayesdp.theorems.odds.magnets import BEYOND_MAGNETS

__all__ = ["MOST_POSITIONS", "Enumerated"]

MOST_POSITIONS = 20
"""The most positions of a connected network: 2²⁰ combinations of values are enumerated."""

_WEAK = 0.5
"""Up to this total field, the difference of the two directions is computed as such."""

_ROUNDOFF = 2.0**-53


@dataclass(frozen=True, eq=False)
class Enumerated:
    """A connected network of up to MOST_POSITIONS positions, prepared for any τ.

    >>> from bayesdp.models import Network
    >>> Enumerated(Network(edges=[(0, 1, 9.0)]).ties).largest(np.array([1.0])).round(6).tolist()
    [1.492308]
    """

    ties: Ties

    def largest(self, taus: Floats) -> Floats:
        """Return for each τ the largest leakage of a record, rounded up."""
        return np.array([self.of_records(tau).max() for tau in taus.tolist()])

    def of_records(self, tau: float) -> Floats:
        """Return the leakage of each record in the order of positions, rounded up."""
        with np.errstate(over="ignore"):
            around = np.nextafter((tau + self.ties.around)[self.ties.visible], np.inf)
        if tau > BEYOND_MAGNETS:
            return around
        field = tau / 4
        odds = self._in_weak_field(field) if self._records * field <= _WEAK else self._in_strong_field(field)
        return np.asarray(np.minimum(np.nextafter(2 * odds[self.ties.visible], np.inf), around))

    def _in_weak_field(self, field: float) -> Floats:
        """Return ln of the odds, rounded up, from Σ s·sinh / Σ cosh: no digits are lost however small the field is."""
        weights, total = self._weights, self._total * field
        mean = self._means(weights * np.sinh(total)) / float((weights * np.cosh(total)).sum())
        error = 4 * (self._records + 2) * self._share_of_weights(field)
        return np.asarray(2 * np.arctanh(np.minimum(mean, 1.0)) * (1 + error))

    def _in_strong_field(self, field: float) -> Floats:
        """Return ln of the odds from the sums of the weights of both directions, rounded up."""
        heights = self._heights + self._total * field
        weights = np.exp(heights - heights.max())
        found = []
        for position in range(self.ties.size):
            down, up = weights.reshape(-1, 2, 2**position).sum(axis=(0, 2)).tolist()
            found.append(np.log(up) - np.log(down) if down > 0 else np.inf)
        return np.array(found) + 4 * self._share_of_weights(field)

    def _means(self, weights: Floats) -> Floats:
        """Return the sum of the weights, each times the value of a position."""
        sums = [weights.reshape(-1, 2, 2**position).sum(axis=(0, 2)) for position in range(self.ties.size)]
        return np.array([up - down for down, up in sums])

    @cached_property
    def _heights(self) -> Floats:
        """The logarithm of the weight of all couplings for each combination of values: bit t is that of position t."""
        rows, total = np.arange(2**self.ties.size), np.zeros(2**self.ties.size)
        for first, second, log_odds in zip(self.ties.first, self.ties.second, self.ties.log_odds, strict=True):
            total += np.where((rows >> first & 1) == (rows >> second & 1), log_odds / 4, -log_odds / 4)
        return total

    @cached_property
    def _weights(self) -> Floats:
        return np.asarray(np.exp(self._heights - self._heights.max()))

    @cached_property
    def _total(self) -> Floats:
        """The sum of the values of all records for each combination of values."""
        rows = np.arange(2**self.ties.size)
        return np.asarray(sum(2.0 * (rows >> int(place) & 1) - 1 for place in np.flatnonzero(self.ties.visible)))

    @property
    def _records(self) -> int:
        return int(self.ties.visible.sum())

    def _share_of_weights(self, field: float) -> float:
        """Return a bound on the relative error of a sum of weights."""
        size = float(self.ties.log_odds.sum()) / 4 + self.ties.size * field + 1
        return ((len(self.ties.log_odds) + self.ties.size + 8) * size + len(self._heights)) * _ROUNDOFF
