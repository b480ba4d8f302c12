"""The messages that the branches of a tree of bounded odds pass to a record (docs/theory/odds-tree.md).

C_v = τ_v + Σ f(C_w, d_vw) over the neighbours w farther out. Every message starts from an upper bound, and the
recursion lowers it until it converges; every intermediate value is a bound, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.models.network import Ties
from bayesdp.theorems.odds.contraction import contraction

__all__ = ["branching", "largest_in_forest"]

_MOST_WORK = 2**26
"""The most contractions for each τ to lower messages, but at least 16 sweeps."""

_AT_ONCE = 2**21
"""The most messages in memory at a time; further values of τ are processed after them."""

_SETTLED = 1 - 2.0**-46
_NEWTON = 64
_TRIALS = 52


def branching(taus: Floats, branches: int, log_odds: float) -> Floats:
    """Return for each τ nearly the smallest c ≥ τ + branches·f(c, d), which bounds every message of such a tree.

    >>> branching(np.array([0.5661]), 2, np.log(2.0)).round(4).tolist()
    [0.8553]
    """
    if branches == 0 or log_odds == 0:
        return taus
    share = np.tanh(log_odds / 4)

    def grown(c: Floats) -> Floats:
        return np.nextafter(taus + np.nextafter(branches * contraction(c, log_odds), np.inf), np.inf)

    most = np.nextafter(taus + np.nextafter(branches * log_odds, np.inf), np.inf)
    c = np.minimum(most, np.finfo(np.float64).max)
    for _ in range(_NEWTON):  # c − grown(c) is convex: Newton's steps from above stay above its root
        through = np.tanh(c / 4) ** 2
        with np.errstate(invalid="ignore"):  # 0/0 where both round to 1: then there is no step
            slope = 1 - branches * share * (1 - through) / (1 - share**2 * through)
        lower = np.maximum(c - (c - grown(c)) / np.where(slope > 0, slope, 1), taus)
        falls = (slope > 0) & (lower < c * _SETTLED)
        c = np.where(falls, lower, c)
        if not falls.any():
            break
    for trial in range(_TRIALS):
        certain = grown(c) <= c
        if certain.all():
            break
        c = np.where(certain, c, c * (1 + 2.0 ** (trial - _TRIALS)))
    return np.asarray(np.minimum(np.where(grown(c) <= c, c, most), most))


def largest_in_forest(ties: Ties, taus: Floats) -> Floats:
    """Return for each τ the largest leakage of a record of a forest, rounded up."""
    if not ties.visible.any():
        return taus
    width = max(1, _AT_ONCE // (2 * len(ties.log_odds)))
    parts = [_largest(ties, taus[begin : begin + width]) for begin in range(0, len(taus), width)]
    return np.concatenate(parts)


def _largest(ties: Ties, taus: Floats) -> Floats:
    inward = _Inward(ties, taus)
    messages = inward.above()
    moving = np.ones(len(taus), dtype=bool)  # each τ stops on its own, so that others do not change its result
    for _ in range(min(ties.size, max(16, _MOST_WORK // len(messages)))):
        lower = np.where(moving, inward.lowered(messages), messages)
        moving &= (lower < messages * _SETTLED).any(axis=0)
        messages = lower
        if not moving.any():
            break
    return np.asarray(inward.totals(contraction(messages, inward.odds))[ties.visible].max(axis=0))


class _Inward:
    """The messages of a forest: two along each edge, one each way, for several values of τ."""

    def __init__(self, ties: Ties, taus: Floats) -> None:
        from scipy.sparse import csr_array

        edges, size = len(ties.log_odds), ties.size
        self.source = np.concatenate([ties.first, ties.second])
        target = np.concatenate([ties.second, ties.first])
        self.odds = np.concatenate([ties.log_odds, ties.log_odds])[:, None]
        self.back = np.concatenate([np.arange(edges, 2 * edges), np.arange(edges)])
        self.gather: Any = csr_array((np.ones(2 * edges), (target, np.arange(2 * edges))), shape=(size, 2 * edges))
        self.own = ties.visible[:, None] * taus
        most = int(ties.degrees.max())
        self.widened = 1 + (most + 8) * 2.0**-52
        self.regular = branching(taus, most - 1, float(ties.log_odds.max()))

    def totals(self, passed: Floats) -> Floats:
        """Return the sum of what arrives at each position and its own τ, rounded up."""
        return np.asarray((self.own + self.gather @ passed) * self.widened)

    def above(self) -> Floats:
        """Return initial bounds: f(c, d) is at most d, and `branching` bounds trees of that degree and odds."""
        everything = np.broadcast_to(self.odds, (len(self.odds), self.own.shape[1]))
        return np.minimum(self._without_return(everything), self.regular)

    def lowered(self, messages: Floats) -> Floats:
        """Return the messages that follow from these, or these where they are lower."""
        return np.minimum(messages, self._without_return(contraction(messages, self.odds)))

    def _without_return(self, passed: Floats) -> Floats:
        """Return what arrives at the source of each message from everywhere but its target."""
        return np.asarray(np.nextafter(self.totals(passed)[self.source] - passed[self.back], np.inf))
