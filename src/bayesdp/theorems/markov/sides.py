"""The two sides of a target in a Markov chain, and the powers of the transition matrix that both need.

To the right of the target the chain moves by P; to the left, read outwards, by Pᵀ. A side ends in a record whose value
is known, or at the end of the chain. Column r of `Side.boundary(b)` holds the probability that each state is followed,
b steps outwards, by the known value r; one more column stands for "nothing is known". Only ratios of columns are used,
so they are scaled to a largest entry of 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.models import MarkovChain

__all__ = [
    "QUICK",
    "REMEMBERS_MORE",
    "UNIT",
    "Ending",
    "Side",
    "forgotten_after",
    "reach_of",
    "sides",
    "sides_of_each",
    "steps_to_forget",
    "unreliable",
]

UNIT = 2.0**-53
QUICK = 2.5e-4
"""The share of ε that each side may leave out when hundreds of models are evaluated."""

REMEMBERS_MORE = "it is about chains with a memory of one record, and this one has a longer memory"
"""The refusal of a chain with memory by theorems about transition matrices."""

_SMALLEST = 1e-200
_LONGEST_PATTERN = 20_000
_AT_ONCE = 2**15
"""The numbers per array in which ratios are computed: they stay in the cache of a core."""

_MOST_NUMBERS = 2**24
"""The most entries of powers that are checked in a primitive chain; no theorem follows one farther."""


@dataclass(frozen=True)
class Ending:
    """How a side ends: after `unknown` records in the known state `boundary`, or with nothing known (None)."""

    unknown: int
    boundary: int | None

    @property
    def records(self) -> int:
        """The number of records of the side."""
        return self.unknown + (self.boundary is not None)

    def described(self, chain: MarkovChain) -> str:
        """Return the ending in words."""
        parts = [f"{self.unknown} unknown record{'s' * (self.unknown != 1)}"] if self.unknown else []
        if self.boundary is not None:
            parts.append(f"a known {chain.states[self.boundary]!r}")
        elif parts:
            parts.append("nothing")
        return " and then ".join(parts) or "no record"


@dataclass(frozen=True, eq=False)
class Side:
    """One side of the target: the matrix that leads outwards, and the law where the chain ends.

    matrix: P to the right, Pᵀ to the left.
    end:    the column for "nothing is known": ones to the right, the stationary law to the left, None for a chain whose
            start is unknown.
    limit:  the column that all others approach far from the end, for a primitive chain: ones, or the stationary law.

    Several chains may be followed side by side: matrix, end and limit then have one axis more, the first.
    """

    matrix: Floats
    end: Floats | None
    limit: Floats | None
    _boundaries: list[Floats] = field(default_factory=list, repr=False)
    _log_ratios: list[Floats] = field(default_factory=list, repr=False)

    def boundary(self, steps: int) -> Floats:
        """Return the boundary columns `steps` steps from the end, every column's largest entry 1 (or all 0)."""
        return self.boundaries(steps)[steps]

    def boundaries(self, steps: int) -> list[Floats]:
        """Return the boundary columns at every distance up to `steps`, and perhaps farther."""
        known = self._boundaries
        if not known:
            columns = np.broadcast_to(np.eye(self.matrix.shape[-1]), self.matrix.shape)
            if self.end is not None:
                nothing = self.end / self.end.max(axis=-1, keepdims=True)
                columns = np.concatenate([columns, nothing[..., None]], axis=-1)
            known.append(columns)
        while len(known) <= steps:
            columns = self.matrix @ known[-1]
            largest = columns.max(axis=-2, keepdims=True)
            columns = columns / np.where(largest > 0, largest, 1.0)
            settled = np.array_equal(columns, known[-1])  # exactly equal, and so are all farther out
            known.extend([columns] * (steps + 1 - len(known) if settled else 1))
        return known

    def stacked(self, steps: int) -> Floats:
        """Return `boundary` as (chain, ending, state), also for a single chain."""
        size = self.matrix.shape[-1]
        columns = self.boundary(steps)
        return columns.reshape(-1, size, columns.shape[-1]).swapaxes(1, 2)

    def log_ratio(self, steps: int) -> Floats:
        """Return φ(x, x′) = max_q ln M^steps(x, q)/M^steps(x′, q), rounded up; infinite where x′ cannot follow x."""
        return np.asarray(self.log_ratios(steps, steps)[0])

    def log_ratios(self, first: int, last: int) -> Floats:
        """Return `log_ratio` for each number of steps from `first` to `last`.

        Each step, and scaling its row to sum to one, cost a relative (2s + 2)·2⁻⁵³ in every entry, so a ratio is off by
        twice that, and by two roundings of its own.
        """
        size, known = self.matrix.shape[-1], self._log_ratios
        columns = self.boundaries(last)
        together = max(1, _AT_ONCE // columns[0][..., :size].size)
        while len(known) <= last:
            some = np.array(columns[len(known) : min(len(known) + together, last + 1)])[..., :size]
            known.extend(_largest_log_ratios(some))
        logs = np.array(known[first : last + 1])
        margin = 2 * UNIT * (np.arange(first, last + 1) * (2 * size + 2) + 5)
        logs += margin.reshape(-1, *[1] * (logs.ndim - 1))
        return logs

    @cached_property
    def log_odds(self) -> Floats:
        """d(u, u′) = max ln M(u, v)M(u′, v′)/(M(u, v′)M(u′, v)), rounded up, as (chain, u, u′).

        It is infinite where just one of two values leads to some state; states that neither leads to are left out.
        """
        size = self.matrix.shape[-1]
        matrix = self.matrix.reshape(-1, size, size)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(matrix[:, :, None, :] / matrix[:, None, :, :])
            spread = np.fmax.reduce(ratio, axis=3) - np.fmin.reduce(ratio, axis=3)
        return np.asarray(np.where(np.isfinite(spread), spread * (1 + 16 * UNIT) + 16 * UNIT, np.inf))

    def end_costs(self, depth: int, known_farther: bool, first: int = 1) -> Floats:
        """Return the cost of conditioning on the record `first`, …, depth steps away for each pair of target values.

        It is a Bayes ratio in each direction; the second is taken one step farther out if a record is known there or
        the chain is stationary.
        """
        ratios = self.log_ratios(first, depth + 1)
        back = ratios[1:] if known_farther else ratios[:-1]
        return np.asarray(ratios[:-1] + np.swapaxes(back, 1, 2))


def _largest_log_ratios(columns: Floats) -> Floats:
    """Return the largest ln c(x)/c(x′) of any column, raised by a relative 2⁻⁵¹; 0/0 counts for nothing."""
    rows = np.ascontiguousarray(np.moveaxis(columns, -1, 0))
    largest, product = np.zeros(columns.shape), np.empty(columns.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        for row, inverse in zip(rows, 1 / rows, strict=True):
            np.multiply(row[..., :, None], inverse[..., None, :], out=product)
            np.fmax(largest, product, out=largest)
        logs = np.log(largest)
    return np.asarray(logs + 4 * UNIT * np.abs(logs))


@lru_cache(maxsize=128)
def sides(chain: MarkovChain) -> tuple[Side, Side]:
    """Return the left and the right side of a target in the chain."""
    ones = np.ones(len(chain.matrix))
    stationary = chain.stationary if chain.start == "stationary" else None
    before, after = (chain.stationary, ones) if chain.is_primitive else (None, None)
    return Side(chain.matrix.T.copy(), stationary, before), Side(chain.matrix.copy(), ones, after)


def sides_of_each(chains: Sequence[MarkovChain]) -> tuple[Side, Side]:
    """Return the sides of several primitive chains of as many states, all stationary or none, side by side."""
    matrices, laws = np.array([chain.matrix for chain in chains]), np.array([chain.stationary for chain in chains])
    stationary, ones = laws if chains[0].start == "stationary" else None, np.ones(laws.shape)
    return Side(matrices.swapaxes(1, 2).copy(), stationary, laws), Side(matrices, ones, ones)


@lru_cache(maxsize=128)
def steps_to_forget(chain: MarkovChain, limit: int) -> int | None:
    """Return the number of steps, at most `limit`, after which every state can be reached from every other."""
    pattern = chain.matrix > 0
    for steps in range(1, limit + 1):
        if pattern.all():
            return steps
        pattern = (pattern.astype(np.float64) @ (chain.matrix > 0)) > 0
    return None


@lru_cache(maxsize=128)
def unreliable(chain: MarkovChain) -> str | None:
    """Return the reason why powers of the transition matrix cannot be computed reliably, or None.

    Until all entries are positive (for a chain that is not primitive: to its end) an entry must be zero exactly where
    there is no path, and no other may come near underflow; relative errors then stay within `log_ratios`' margin.
    """
    longest = min(_LONGEST_PATTERN, _MOST_NUMBERS // len(chain.transition) ** 2)
    steps = longest if chain.is_primitive else (reach_of(chain) or 0) + 1
    for side in sides(chain):
        pattern = np.eye(len(side.matrix), dtype=bool)
        for taken in range(1, steps + 1):
            pattern = (pattern.astype(np.float64) @ (side.matrix > 0)) > 0
            columns = side.boundary(taken)[:, : len(side.matrix)]
            if np.any((columns > 0) != pattern) or columns[pattern].min(initial=1.0) < _SMALLEST:
                return "some transitions are too improbable for reliable floating-point arithmetic"
            if pattern.all() and taken > 1:
                break
    return None


def forgotten_after(chain: MarkovChain, negligible: float, limit: int) -> int | None:
    """Return the number of records, at most `limit`, beyond which a side costs at most `negligible`; None if more."""
    depth = 16
    while True:
        depth = min(depth, limit)
        costs = np.maximum(*(side.end_costs(depth, True).max(axis=(1, 2)) for side in sides(chain)))
        enough = np.flatnonzero(costs <= negligible)
        if enough.size:
            return int(enough[0]) + 1
        if depth == limit:
            return None
        depth *= 2


def reach_of(chain: MarkovChain) -> int | None:
    """Return the most records of a chain besides the target; None for any number.

    Missing records lengthen the chain by an unknown number of steps.
    """
    return None if chain.length is None or chain.gaps else chain.length - 1
