"""Bounds on the sides of a target, tabulated by their number of records, and the mixing bound from both sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesdp._support.arrays import Floats, Integers
from bayesdp.models import MarkovChain
from bayesdp.theorems.adversary import Stretch, WorstInChain
from bayesdp.theorems.markov.sides import UNIT, Ending

__all__ = ["BothSides", "Levels", "LevelsBuilder"]


@dataclass(frozen=True)
class Levels:
    """Bounds on one side by its number of records: the largest logarithm so far and the ending that attains it.

    best:    (level, τ, x, x′): the largest ln V of any ending that takes at most that many records.
    ending:  (level, τ, x, x′): its number; k records up to boundary r are k·(s + 1) + r, with r = s for nothing.
    known:   (level, τ, x, x′): the largest ln V of the endings in a known record that take just that many records.
    nothing: (level, τ, x, x′): ln V of the ending with nothing known that takes just that many records.
    beyond:  (τ, x, x′): a bound on ln V of every ending that takes more records; infinite where none is known.
    """

    best: Floats
    ending: Integers
    known: Floats
    nothing: Floats
    beyond: Floats

    @property
    def forever(self) -> Floats:
        """A bound on ln V of every ending, of whatever length."""
        return np.asarray(np.maximum(self.best[-1], self.beyond))

    def of(self, stretch: Stretch) -> Floats:
        """Return a bound on ln V of one adversary's side; −∞ where the ending excludes one of the two values."""
        if stretch.records >= len(self.best):
            return self.beyond
        return np.asarray((self.known if stretch.known else self.nothing)[stretch.records])


class LevelsBuilder:
    """A builder of `Levels`, record by record."""

    def __init__(self, taus: int, size: int) -> None:
        self.size = size
        self.best = [np.zeros((taus, size, size))]
        self.known, self.nothing = [np.zeros((taus, size, size))], [np.zeros((taus, size, size))]
        self.ending = [np.full((taus, size, size), size, dtype=np.int64)]

    def add(self, known: Floats, nothing: Floats) -> None:
        """Add the endings with one more record.

        known:   V of each known boundary, or of all of them together, as (τ, boundary, x, x′); 0 where excluded.
        nothing: ln V with nothing known, as (τ, x, x′).

        NaN counts as infinite.
        """
        boundary = known.argmax(axis=1)
        with np.errstate(divide="ignore"):
            largest = np.log(known.max(axis=1))
        largest, nothing = (np.where(np.isnan(bounds), np.inf, bounds) for bounds in (largest, nothing))
        self.known.append(largest)
        self.nothing.append(nothing)
        choice = np.where(nothing > self.known[-1], self.size, boundary)
        reached = np.maximum(nothing, self.known[-1])
        number = len(self.best) * (self.size + 1) + choice
        self.ending.append(np.where(reached > self.best[-1], number, self.ending[-1]))
        self.best.append(np.maximum(reached, self.best[-1]))

    def levels(self, beyond: Floats) -> Levels:
        """Return the levels, with a bound for all endings farther out."""
        unknown = np.where(np.isnan(beyond), np.inf, beyond)
        best, ending, known, nothing = map(np.array, (self.best, self.ending, self.known, self.nothing))
        return Levels(best, ending, known, nothing, unknown)


@dataclass(frozen=True)
class BothSides:
    """Both sides of a target at several τ; `margin` bounds the rounding error of the logarithms of both."""

    taus: Floats
    left: Levels
    right: Levels
    reach: int | None
    margin: float

    def totals(self) -> tuple[Floats, Integers]:
        """Return ln V of both sides together for each τ and pair, and how many records the left takes at its worst."""
        before, after = len(self.left.best) - 1, len(self.right.best) - 1
        if self.reach is None or self.reach >= before + after:
            sums = self.left.forever + self.right.forever
            return sums, np.full(sums.shape, before)
        stacked = np.array(
            [
                self._at_most(self.left, taken) + self._at_most(self.right, self.reach - taken)
                for taken in range(self.reach + 1)
            ]
        )
        return stacked.max(axis=0), stacked.argmax(axis=0)

    @staticmethod
    def _at_most(side: Levels, records: int) -> Floats:
        return np.asarray(side.best[records]) if records < len(side.best) else side.forever

    def leakages(self, unit: int) -> list[float]:
        """Return the mixing bound at each τ, over all adversaries that ask about `unit` consecutive records together.

        The two ends of the window vary independently, so each side is taken at its worst.
        """
        if unit == 1:
            return self.epsilons()
        others = None if self.reach is None else max(self.reach - (unit - 1), 0)
        if others is None or others >= len(self.left.best) + len(self.right.best) - 2:
            largest = _worst(self.left.forever) + _worst(self.right.forever)
        else:
            splits = [
                _worst(self._at_most(self.left, taken)) + _worst(self._at_most(self.right, others - taken))
                for taken in range(others + 1)
            ]
            largest = np.array(splits).max(axis=0)
        margin = self.margin * np.where(self.taus < self.margin, self.left.best.shape[-1], 1)
        raised = (unit * self.taus + largest + margin) * (1 + 8 * UNIT)
        return [float(value) for value in raised]

    def epsilons(
        self, stretches: tuple[Stretch, Stretch] | None = None, between: tuple[int, int] | None = None
    ) -> list[float]:
        """Return the mixing bound at each τ, over all adversaries or for a single one.

        between: the only two values of the target to distinguish, in either direction.
        """
        if stretches is None:
            sums, _ = self.totals()
        else:
            left, right = self.left.of(stretches[0]), self.right.of(stretches[1])
            excluded = (left == -np.inf) | (right == -np.inf)
            sums = np.where(excluded, 0.0, left) + np.where(excluded, 0.0, right)
        pairs = ~np.eye(sums.shape[1], dtype=bool)
        if between is not None:
            pairs &= np.isin(np.arange(len(pairs)), between)[:, None] & np.isin(np.arange(len(pairs)), between)
        largest = np.where(pairs, sums, -np.inf).max(axis=(1, 2))
        margin = self.margin * np.where(self.taus < self.margin, sums.shape[1], 1)
        raised = (self.taus + np.maximum(largest, 0.0) + margin) * (1 + 8 * UNIT)
        return [float(value) for value in raised]

    def worst_adversary(self, chain: MarkovChain) -> WorstInChain:
        """Return the adversary at which the bound is reached for the first τ."""
        sums, taken = self.totals()
        worth = np.where(np.eye(sums.shape[1], dtype=bool), -np.inf, sums[0])
        x, other = (int(value) for value in np.unravel_index(int(np.argmax(worth)), worth.shape))
        before, after = int(taken[0, x, other]), len(self.right.best) - 1
        if self.reach is not None:
            after = min(after, self.reach - before)
        endings = [
            _ending(chain, int(side.ending[min(level, len(side.ending) - 1), 0, x, other]))
            for side, level in ((self.left, before), (self.right, after))
        ]
        return WorstInChain((x, other), *endings)


def _worst(side: Floats) -> Floats:
    """Return the largest ln V of a side over all pairs of values, equal ones included, for each τ."""
    return np.asarray(np.maximum(side.max(axis=(1, 2)), 0.0))


def _ending(chain: MarkovChain, number: int) -> Ending:
    """Return the ending of that number, as `Levels` counts them."""
    records, boundary = divmod(number, len(chain.states) + 1)
    return Ending(records, None) if boundary == len(chain.states) else Ending(records - 1, boundary)
