"""Chains with a memory of two symbols, and the two sides of a target in them.

A side is followed outwards. Its state is H = (a, b), the last two symbols, b the farther out. Two arrays are kept:

    V[a, b, a′, b′]  how much more likely the rest of the side can make an output under H than under H′ (logarithm);
    U[b, b′, v, v′]  the largest interaction ln β(b,v)·β(b′,v′) / (β(b,v′)·β(b′,v)) of what lies behind v, given b.

The first axis of both is the side: 0 to the right, 1 to the left. Proof: docs/theory/markov-memory.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesdp._support.arrays import Booleans, Floats, Integers
from bayesdp.theorems.markov.two_values import Gains, Step, averaged, steepest

__all__ = ["Level", "PairedChain"]

Solver = Callable[[Floats], Floats]

_LOG_ROUNDING = 2.0**-46
_SETTLED = 1e-14
_NEARLY = 1e-10
_MOST_ROUNDS = 120
_BETWEEN_LEAPS = 4
_LONGEST_LEAP = 1000.0
_STILL = 1e-12
_MOST_NEWTON = 40
_MARGINS = (1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
_MOST_FROM_ABOVE = 200
_RECOVERED = 64
_LARGEST_DENSE = 200
_AT_ONCE = 4


@dataclass(frozen=True)
class Level:
    """V and U of both sides, for a certain number of symbols or for any."""

    values: Floats
    reach: Floats

    @property
    def right(self) -> Level:
        """The right side alone."""
        return Level(self.values[..., 0, :, :, :, :], self.reach[..., 0, :, :, :, :])

    @property
    def left(self) -> Level:
        """The left side alone."""
        return Level(self.values[..., 1, :, :, :, :], self.reach[..., 1, :, :, :, :])

    def __getitem__(self, index: Integers) -> Level:
        """Return several of the levels that are stacked in front."""
        return Level(self.values[index], self.reach[index])


@dataclass(frozen=True, eq=False)
class PairedChain:
    """A chain of symbols with a memory of two, and a law of its first two.

    kernel:    the positive probabilities of the next symbol, [before, now, next].
    distances: how many records differ between two symbols.
    start:     the largest log-odds ln μ(v,b)·μ(v′,b′) / (μ(v′,b)·μ(v,b′)) of the first two symbols, rounded up, as
               [b, b′, v, v′]; None for an arbitrary law.
    """

    kernel: Floats
    distances: Integers
    start: Floats | None

    @property
    def size(self) -> int:
        """The number of symbols."""
        return len(self.kernel)

    @cached_property
    def _logs(self) -> Floats:
        """ln of the factor of the next symbol v after H = (a, b), [side, a, b, v]."""
        logs = np.log(self.kernel)
        return np.stack([logs, logs.transpose(2, 1, 0)])

    @cached_property
    def _pairs(self) -> tuple[Integers, Integers]:
        first, second = np.triu_indices(self.size, 1)
        return first, second

    @cached_property
    def _odds(self) -> Floats:
        """ln K(H,v)·K(H′,v′) / (K(H,v′)·K(H′,v)), [side, a, b, a′, b′, pair of v and v′]."""
        first, second = self._pairs
        turned = self._logs[..., first] - self._logs[..., second]
        return np.asarray(turned[:, :, :, None, None] - turned[:, None, None, :, :])

    @cached_property
    def _odds_rounding(self) -> float:
        return _LOG_ROUNDING * (1 + float(np.abs(self._logs).max()))

    @cached_property
    def _distinct(self) -> Booleans:
        """Where neither b = b′ nor v = v′: elsewhere there is no interaction, [b, b′, v, v′]."""
        other = ~np.eye(self.size, dtype=bool)
        return np.asarray(other[:, :, None, None] & other[None, None])

    @cached_property
    def _same(self) -> Booleans:
        """Where H = H′, [a, b, a′, b′]."""
        equal = np.eye(self.size, dtype=bool)
        return np.asarray(equal[:, None, :, None] & equal[None, :, None, :])

    @cached_property
    def free(self) -> Floats:
        """The interaction that is possible if nothing is known about the symbols behind the next one."""
        ratio = (self._logs[:, :, None] - self._logs[:, None, :]).max(axis=-1)
        summed = ratio[:, :, :, :, None] + ratio.swapaxes(1, 2)[:, :, :, None, :]
        return np.where(self._distinct, summed + 4 * self._odds_rounding, 0.0)

    def outermost(self) -> Level:
        """Return the level of the two sides where the chain ends."""
        left = np.where(self._distinct, np.inf, 0.0) if self.start is None else self.start
        size = (self.size,) * 4
        return Level(np.zeros((2, *size)), np.stack([np.zeros(size), left]))

    def narrowed(self, reach: Floats) -> Floats:
        """Return U one symbol farther in, rounded up: the operator T of the proof."""
        first, second = self._pairs
        ends = np.stack([self._logs[..., first], self._logs[..., second]], axis=-1)
        unlimited = np.isinf(reach).any(axis=(1, 2, 3, 4), keepdims=True)
        known = np.where(unlimited, 0.0, reach)
        tilts = known[..., first, second], -known[..., second, first]
        stepped = np.full_like(reach, np.inf)
        for b, other in zip(first, second, strict=True):
            more = ends[:, b, :, None], ends[:, other, None, :]
            less = ends[:, other, :, None], ends[:, b, None, :]
            largest = np.maximum(*(steepest(more, less, tilt).max(axis=-1) for tilt in tilts))
            stepped[:, b, other], stepped[:, other, b] = largest, largest.swapaxes(1, 2)
        stepped = np.minimum(np.where(unlimited, np.inf, stepped), self.free)
        return np.where(self._distinct, stepped, 0.0)

    def passed(self, level: Level, tau: float) -> Floats:
        """Return V one symbol farther in, rounded up: the operator Φ of the proof."""
        return np.where(self._same, 0.0, self._averages(level, tau, slopes=False).value.max(axis=-1))

    def reach_after(self, symbols: int) -> Floats:
        """Return U of sides of this many symbols."""
        known = self._reaches
        while len(known) <= symbols:
            known.append(self.narrowed(known[-1]))
        return known[symbols]

    @cached_property
    def _reaches(self) -> list[Floats]:
        return [self.outermost().reach]

    def _averages(self, level: Level, tau: float, *, slopes: bool) -> Step:
        """Return what each pair of values of the next symbol passes on, [side, a, b, a′, b′, pair]."""
        first, second = self._pairs
        moved = (tau * self.distances[:, None, :] + level.values) * (1 + 2.0**-50)
        at = (np.moveaxis(moved[:, :, i, :, j], 0, -1)[:, None, :, None] for i in self._pairs for j in self._pairs)
        upper = level.reach[..., first, second] + self._odds_rounding
        lower = -level.reach[..., second, first] - self._odds_rounding
        gains, ends = Gains(*at), (lower[:, None, :, None], upper[:, None, :, None])
        rows = [self._odds] if self.size <= _AT_ONCE else np.split(self._odds, self.size, axis=1)
        return Step.joined([averaged(gains, row + ends[0], row + ends[1], slopes=slopes) for row in rows])

    def at_target(self, inner: Level, outer: Level, tau: float) -> Floats:
        """Return the leakage about a symbol x against x′, [x, x′], averaging over its neighbour z, rounded up.

        inner: the level of the side behind the target, given (z, x).
        outer: the level of the side behind the neighbour, given (x, z).
        Both are without the axis of sides; further axes in front are positions.
        """
        first, second = self._pairs
        moved = self.distances[:, :, None, None] + self.distances
        values = np.einsum("...zxwy->...xyzw", inner.values) + np.einsum("...xzyw->...xyzw", outer.values)
        gains = (tau * moved + values) * (1 + 2.0**-49)
        reach = np.einsum("...zwxy->...xyzw", inner.reach) + outer.reach
        reach = reach + _LOG_ROUNDING * (1 + np.abs(reach))
        at = (gains[..., i, j] for i in self._pairs for j in self._pairs)
        step = averaged(Gains(*at), -reach[..., second, first], reach[..., first, second])
        return np.asarray(step.value.max(axis=-1))

    @cached_property
    def settled(self) -> tuple[Floats, int]:
        """U with the certificate T(U) ≤ U, which holds for all sides from some length on, and that length."""
        least, begins = self.outermost().reach, 0
        if self.start is None:
            behind = self.free
            before, begins = np.zeros_like(behind), 1
            while begins < _RECOVERED and np.abs(behind - before).max() > _SETTLED * (1 + behind.max()):
                before, behind, begins = behind, self.narrowed(behind), begins + 1
            least = np.stack([least[0], behind[1]])
        guess = _leaping(lambda reach: np.maximum(self.narrowed(reach), least), least, np.maximum(self.free, least))
        return self._certified_reach(guess, least), begins

    def _certified_reach(self, guess: Floats, least: Floats) -> Floats:
        """Return U ≥ least with T(U) ≤ U, close to the guess if that can be certified, else from `free`."""
        result = np.where(self._distinct, np.maximum(self.free, least), 0.0)
        shown = np.zeros((2, 1, 1, 1, 1), dtype=bool)
        for margin in _MARGINS:
            raised = np.where(self._distinct, np.maximum(guess, least) + margin * (1 + guess.max()), 0.0)
            holds = (self.narrowed(raised) <= raised).all(axis=(1, 2, 3, 4), keepdims=True) & ~shown
            result, shown = np.where(holds, raised, result), shown | holds
            if shown.all():
                break
        return result

    def settled_values(self, tau: float, least_margin: float = 0.0) -> Floats | None:
        """Return V with the certificate Φ(V) ≤ V, which holds for sides of any length; None if none was found.

        least_margin: how far, relatively, V must exceed the fixed point.
        """
        reach, _ = self.settled
        values, solve = self._fixed_point(tau)
        size = np.maximum(values, tau)
        for margin in _MARGINS:
            raised = np.where(self._same, 0.0, (values + solve(margin * size)) * (1 + margin))
            if margin >= least_margin and self._holds(raised, tau):
                return raised
        best = None
        raised = np.where(self._same, 0.0, (self._most(reach) + tau * _MARGINS[0]) * (1 + _MARGINS[-1]))
        for _ in range(_MOST_FROM_ABOVE):
            if not self._holds(raised, tau):
                break
            best = raised
            raised = self.passed(Level(raised, reach), tau) * (1 + _STILL)
        return best

    def _holds(self, values: Floats, tau: float) -> bool:
        """Return whether Φ(V) ≤ V, with Φ rounded up; then V bounds sides of any length."""
        return bool((self.passed(Level(values, self.settled[0]), tau) <= values).all())

    def _fixed_point(self, tau: float) -> tuple[Floats, Solver]:
        """Return an approximate fixed point of Φ, by Newton's method from above, and a solver of (1 − Φ′)·x = y."""
        reach, _ = self.settled
        values = most = self._most(reach)
        for _ in range(_MOST_NEWTON):
            step = self._averages(Level(values, reach), tau, slopes=True)
            worst = step.value.argmax(axis=-1)
            passed, *slopes = (
                np.where(self._same, 0.0, np.take_along_axis(averages, worst[..., None], axis=-1)[..., 0])
                for averages in (step.value, *step.slopes)
            )
            solve = _solver(np.array(slopes), self._gained(worst))
            missing = passed - values
            values = np.clip(values + solve(missing), 0.0, most)
            if np.abs(missing).max() <= _NEARLY * max(tau, float(values.max())):
                break
        return values, solve

    def _most(self, reach: Floats) -> Floats:
        """Return a bound on V for any τ, given U: the odds ratios of the next two symbols."""
        first, second = self._pairs
        upper = self._odds + reach[..., first, second][:, None, :, None]
        lower = -self._odds + reach[..., second, first][:, None, :, None]
        odds = np.maximum(np.maximum(upper, lower).max(axis=-1) + self._odds_rounding, 0.0)
        again = np.einsum("sbvcv->sbcv", odds).max(axis=-1)
        apart = ~np.eye(self.size, dtype=bool)
        return np.where(self._same, 0.0, odds + np.where(apart, again, 0.0)[:, None, :, None])

    @property
    def most_from_sides(self) -> float:
        """The most that the two sides add at any τ; an arbitrary start adds a change of the neighbour to it."""
        reach = self.settled[0] if self.start is not None else np.maximum(self.settled[0], self.free)
        return float((self._most(reach).max(axis=(1, 2, 3, 4)) + np.maximum(reach, 0.0).max(axis=(1, 2, 3, 4))).sum())

    def _gained(self, worst: Integers) -> Integers:
        """Return the numbers of the entries of V that the gains of the worst pairs hold, [gain, side, a, b, a′, b′]."""
        side, _, b, _, other = np.indices(worst.shape)
        symbols = [symbol[worst] for symbol in self._pairs]
        places = [(side, b, i, other, j) for i in symbols for j in symbols]
        return np.array([np.ravel_multi_index(place, worst.shape) for place in places])


def _solver(slopes: Floats, places: Integers) -> Solver:
    """Return the solution of x − Σ slopes·x[places] = y, the first axis summed over."""
    size = places[0].size
    rows = np.broadcast_to(np.arange(size), (len(places), size))
    if size <= _LARGEST_DENSE:
        matrix = np.eye(size)
        np.subtract.at(matrix, (rows.ravel(), places.ravel()), slopes.ravel())
        inverse = np.linalg.inv(matrix)
        return lambda right: np.asarray((inverse @ right.ravel()).reshape(right.shape))
    from scipy.sparse import csc_matrix, identity
    from scipy.sparse.linalg import splu

    slope = csc_matrix((slopes.ravel(), (rows.ravel(), places.ravel())), shape=(size, size))
    factored = splu((identity(size, format="csc") - slope).tocsc())
    return lambda right: np.asarray(factored.solve(right.ravel()).reshape(right.shape))


def _leaping(step: Callable[[Floats], Floats], least: Floats, most: Floats) -> Floats:
    """Return an approximate fixed point of a contraction, by iteration with occasional extrapolation."""
    here = least
    for _ in range(_MOST_ROUNDS):
        for _ in range(_BETWEEN_LEAPS):
            here = step(here)
        again = step(here)
        last = step(again)
        before, size = float(np.abs(again - here).max()), float(np.abs(last - again).max())
        if size <= _STILL * (1 + float(np.abs(last).max())):
            return last
        leap = min(size / (before - size), _LONGEST_LEAP) if size < before else 0.0
        here = np.clip(last + leap * (last - again), least, most)
    return step(here)
