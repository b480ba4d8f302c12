"""Markov chains, any τ-DP mechanism: the mixing bound. Proof: docs/theory/markov-mixing.md.

Each side of the target is followed outwards record by record; V(x, x′) bounds how much more likely the side can make an
output under x than under x′. A side is described by how many records it takes and how it ends: in a known record, or
with nothing known where the chain ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayesdp.models import MarkovChain, Model
from bayesdp.queries import Query
from bayesdp.rounding import finite, float_above
from bayesdp.theorems.adversary import Adversary, Stretch
from bayesdp.theorems.markov.quilt import MarkovQuilt
from bayesdp.theorems.markov.sides import (
    QUICK,
    REMEMBERS_MORE,
    UNIT,
    Ending,
    Side,
    forgotten_after,
    reach_of,
    sides,
    sides_of_each,
    unreliable,
)
from bayesdp.theorems.markov.transport import LARGEST_EXACT, exact_step, relaxed_step
from bayesdp.theorems.spend import Spend, exact_total, total_tau
from bayesdp.theorems.theorem import Theorem

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MarkovMixing", "mixing_epsilons"]

_LARGEST_TAU = 300.0
_DEEPEST = {2: 4096, 3: 1024, 4: 1024, 5: 512, 6: 128, 7: 64}
_DEEPEST_RELAXED = 48
_NEGLIGIBLE = {2: 1e-11}
_NEGLIGIBLE_OTHERWISE = 1e-8
_LONGEST_UNFORGETTING = 20_000
_MOST_RECENT = 8
_TOGETHER = 16


class MarkovMixing(Theorem):
    """Chains forget: what a record says about those far away fades, and the bound with it. Needs no positivity."""

    name: ClassVar[str] = "markov-mixing"
    proof: ClassVar[str] = "docs/theory/markov-mixing.md"
    tolerance: ClassVar[float] = 5e-10
    vectorised: ClassVar[bool] = True

    def __init__(self, negligible: float = 0.0) -> None:
        """Follow each side of the target until what is farther adds at most `negligible`, or next to nothing.

        Chains of two states are always followed to next to nothing: they cost no more.
        """
        self.negligible = negligible

    def quick(self, epsilon: float) -> MarkovMixing:
        return MarkovMixing(max(self.negligible, QUICK * epsilon))

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if not isinstance(model, MarkovChain):
            return "it is about Markov chains (MarkovChain)"
        if model.memory > 1:
            return REMEMBERS_MORE
        reach = reach_of(model)
        if not model.is_primitive:
            forgets = "it is periodic" if model.is_irreducible else "some states cannot reach others"
            if reach is None:
                return f"the chain never forgets where it was ({forgets}), and its length in time has no limit"
            if reach > _LONGEST_UNFORGETTING or len(model.transition) ** 2 * reach > _LONGEST_UNFORGETTING**1.5:
                return f"the chain never forgets where it was ({forgets}) and is too long to be followed to its end"
        return unreliable(model)

    def bound(self, model: Model, spend: Spend) -> float:
        return self.bounds(model, [spend])[0]

    def bounds(self, model: Model, spends: Sequence[Spend]) -> list[float]:
        assert isinstance(model, MarkovChain)
        mixed = mixing_epsilons(model, [total_tau(spend) for spend in spends], self.negligible)
        return [
            finite(_least(model, spend, epsilon, model.length)) for spend, epsilon in zip(spends, mixed, strict=True)
        ]

    def bounds_under(self, models: Sequence[Model], spend: Spend) -> list[float]:
        chains = [model for model in models if isinstance(model, MarkovChain)]
        tau = total_tau(spend)
        if not _alike(chains) or tau > _LARGEST_TAU:
            return list(super().bounds_under(models, spend))
        found: dict[int, float] = {}
        by_depth = sorted(range(len(chains)), key=lambda index: _needed_depth(chains[index], self.negligible))
        for begin in range(0, len(by_depth), _TOGETHER):
            some = by_depth[begin : begin + _TOGETHER]
            followed = _follow([chains[index] for index in some], [tau] * len(some), self.negligible)
            found.update(zip(some, followed.epsilons(), strict=True))
        return [finite(_grouped(spend, found[index], chain.length)) for index, chain in enumerate(chains)]

    def refusal_for(self, model: Model, queries: tuple[Query, ...], adversary: Adversary) -> str | None:
        return self.refusal(model, queries)

    def bound_for(self, model: Model, spend: Spend, adversary: Adversary) -> float:
        assert isinstance(model, MarkovChain)
        assert model.length is not None
        tau, stretches = total_tau(spend), adversary.stretches(model.length)
        mixed = 0.0 if len(model.transition) == 1 else math.inf
        if mixed and tau <= _LARGEST_TAU:
            (mixed,) = _follow([model], [tau], self.negligible).epsilons(stretches)
        unknown = 1 + sum(stretch.unknown for stretch in stretches)
        return finite(_least(model, spend, mixed, unknown))

    def starts(self, model: Model, query: Query, epsilon: float, spent: Spend) -> Sequence[float]:
        assert isinstance(model, MarkovChain)
        quilt = MarkovQuilt()
        if quilt.refusal(model, ()) is not None:
            return []
        least = quilt.closed_form(model, query, epsilon, spent)
        multiples = (1.0, 2.0, 4.0, 8.0) if len(model.transition) <= LARGEST_EXACT else (1.0, 1.6, 2.2, 2.8)
        return [multiple * least for multiple in multiples if multiple == 1 or multiple * least <= epsilon]

    def scope(self, model: Model, queries: tuple[Query, ...]) -> str:
        assert isinstance(model, MarkovChain)
        method = "exact transport" if len(model.transition) <= LARGEST_EXACT else "relaxed transport"
        return f"{super().scope(model, queries)} ({method})"

    def worst_case(self, model: Model, spend: Spend) -> str | None:
        assert isinstance(model, MarkovChain)
        tau = total_tau(spend)
        if tau > _LARGEST_TAU or len(model.transition) == 1:
            return None
        followed = _follow([model], [tau], self.negligible)
        return followed.worst_case(model) if math.isfinite(followed.epsilons()[0]) else None


def _alike(chains: Sequence[MarkovChain]) -> bool:
    """Whether chains can be followed side by side: what is drawn from a posterior can, unless it has two states."""
    kinds = {(len(chain.transition), chain.length, chain.start, chain.gaps) for chain in chains}
    sizes = {len(chain.transition) for chain in chains}
    return len(kinds) == 1 and sizes < set(range(3, LARGEST_EXACT + 1)) and all(each.is_primitive for each in chains)


def _least(chain: MarkovChain, spend: Spend, mixed: float, records: int | None) -> float:
    """Return the mixing bound, or the quilt's, or group privacy of so many records, whichever is smallest."""
    quilt = MarkovQuilt()
    return _grouped(
        spend, min(mixed, quilt.bound(chain, spend)) if quilt.refusal(chain, ()) is None else mixed, records
    )


def _grouped(spend: Spend, bound: float, records: int | None) -> float:
    """Return a bound, or group privacy of so many records if that is smaller."""
    if records is not None and records * exact_total(spend) < bound:
        return float_above(records * exact_total(spend))
    return bound


def mixing_epsilons(chain: MarkovChain, taus: Sequence[float], negligible: float = 0.0) -> list[float]:
    """Return the mixing bound at each τ, rounded up, or infinity where it is too large to be computed."""
    if len(chain.transition) == 1:
        return [0.0] * len(taus)
    computed = [tau for tau in taus if tau <= _LARGEST_TAU]
    found = iter(_follow([chain], computed, negligible).epsilons() if computed else ())
    return [next(found) if tau <= _LARGEST_TAU else math.inf for tau in taus]


@dataclass(frozen=True)
class _Levels:
    """What one side can do, by how many records it takes: the best logarithm so far and which ending attains it.

    best:    (level, τ, x, x′): the largest ln V of any ending that takes at most that many records.
    ending:  (level, τ, x, x′): its number; k records up to boundary r are k·(s + 1) + r, with r = s for nothing.
    known:   (level, τ, x, x′): the largest ln V of the endings in a known record that take just that many records.
    nothing: (level, τ, x, x′): ln V of the ending with nothing known that takes just that many records.
    beyond:  (τ, x, x′): a bound on ln V of every ending that takes more records; infinite where none is known.
    """

    best: NDArray[np.float64]
    ending: NDArray[np.int64]
    known: NDArray[np.float64]
    nothing: NDArray[np.float64]
    beyond: NDArray[np.float64]

    @property
    def forever(self) -> NDArray[np.float64]:
        """A bound on ln V of every ending, of whatever length."""
        return np.asarray(np.maximum(self.best[-1], self.beyond))

    def of(self, stretch: Stretch) -> NDArray[np.float64]:
        """Return a bound on ln V of one adversary's side; −∞ where the ending excludes one of the two values."""
        if stretch.records >= len(self.best):
            return self.beyond
        return np.asarray((self.known if stretch.known else self.nothing)[stretch.records])


@dataclass(frozen=True)
class _Followed:
    """Both sides of a target, at several τ."""

    taus: NDArray[np.float64]
    left: _Levels
    right: _Levels
    reach: int | None
    margin: float

    def totals(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return ln V of both sides together for each τ and pair, and how many records the left takes at its worst."""
        deepest = len(self.left.best) - 1
        if self.reach is None or self.reach >= 2 * deepest:
            sums = self.left.forever + self.right.forever
            return sums, np.full(sums.shape, deepest)
        stacked = np.array(
            [
                self._at_most(self.left, taken) + self._at_most(self.right, self.reach - taken)
                for taken in range(self.reach + 1)
            ]
        )
        return stacked.max(axis=0), stacked.argmax(axis=0)

    @staticmethod
    def _at_most(side: _Levels, records: int) -> NDArray[np.float64]:
        return np.asarray(side.best[records]) if records < len(side.best) else side.forever

    def epsilons(self, stretches: tuple[Stretch, Stretch] | None = None) -> list[float]:
        """Return the mixing bound at each τ, of every adversary or of one."""
        if stretches is None:
            sums, _ = self.totals()
        else:
            left, right = self.left.of(stretches[0]), self.right.of(stretches[1])
            excluded = (left == -np.inf) | (right == -np.inf)
            sums = np.where(excluded, 0.0, left) + np.where(excluded, 0.0, right)
        pairs = ~np.eye(sums.shape[1], dtype=bool)
        largest = np.where(pairs, sums, -np.inf).max(axis=(1, 2))
        margin = self.margin * np.where(self.taus < self.margin, sums.shape[1], 1)
        raised = (self.taus + np.maximum(largest, 0.0) + margin) * (1 + 8 * UNIT)
        return [float(value) for value in raised]

    def worst_case(self, chain: MarkovChain) -> str:
        sums, taken = self.totals()
        worth = np.where(np.eye(sums.shape[1], dtype=bool), -np.inf, sums[0])
        x, other = np.unravel_index(int(np.argmax(worth)), worth.shape)
        deepest = len(self.left.best) - 1
        before = min(int(taken[0, x, other]), deepest)
        after = deepest if self.reach is None else min(self.reach - before, len(self.right.best) - 1)
        names = [
            _ending(chain, int(side.ending[min(level, len(side.ending) - 1), 0, x, other])).described(chain)
            for side, level in ((self.left, before), (self.right, after))
        ]
        return (
            f"a target that is {chain.states[int(x)]!r} or {chain.states[int(other)]!r}, "
            f"with {names[0]} before it and {names[1]} after it"
        )


def _ending(chain: MarkovChain, number: int) -> Ending:
    """Return the ending of that number, as `_Levels` counts them."""
    records, boundary = divmod(number, len(chain.states) + 1)
    return Ending(records, None) if boundary == len(chain.states) else Ending(records - 1, boundary)


def _follow(chains: Sequence[MarkovChain], taus: Sequence[float], negligible: float) -> _Followed:
    """Follow both sides of a target in one chain at several τ, or in several chains that are alike, at a τ each."""
    chain, size = chains[0], len(chains[0].transition)
    before, after = sides(chain) if len(chains) == 1 else sides_of_each(chains)
    depth = max(_needed_depth(each, negligible) for each in chains)
    grid = np.array(taus, dtype=np.float64)
    margin = 8 * UNIT * ((size + 3) * (depth + 8) ** 2 + size**2)
    follow = _two_state_levels if size == 2 and chain.is_primitive else _levels
    right = follow(after, grid, depth)
    reversible = size == 2 and chain.is_primitive and chain.start == "stationary"
    return _Followed(grid, right if reversible else follow(before, grid, depth), right, reach_of(chain), margin)


@lru_cache(maxsize=128)
def _needed_depth(chain: MarkovChain, negligible: float) -> int:
    """Return how many records a side is followed: until what is farther away hardly matters, or to its end."""
    reach = reach_of(chain)
    if not chain.is_primitive:
        assert reach is not None
        return max(1, reach)
    size = len(chain.transition)
    limit = _DEEPEST.get(size, _DEEPEST_RELAXED)
    if reach is not None:
        limit = max(1, min(reach, limit))
    enough = _NEGLIGIBLE[size] if size in _NEGLIGIBLE else max(negligible, _NEGLIGIBLE_OTHERWISE)
    return forgotten_after(chain, enough, limit) or limit


def _levels(side: Side, taus: NDArray[np.float64], depth: int) -> _Levels:
    """Follow one side outwards for `depth` records."""
    size, columns = side.matrix.shape[-1], side.boundary(0).shape[-1]
    matrix = side.matrix.reshape(-1, size, size)
    grown = np.exp(taus)[:, None, None, None]
    values = np.ones((len(taus), size, size, columns))
    caps = _Caps(side, len(taus))
    tally = _Tally(len(taus), size)
    same = np.eye(size, dtype=bool)
    with np.errstate(all="ignore"):
        for taken in range(1, depth + 1):
            here, outer = side.stacked(taken), side.stacked(taken + 1)
            known = np.where(_possible_pairs(here), np.log(values), -np.inf)[..., :size]
            caps.condition(taken, values)
            kernels = matrix[..., None] * here[:, None, :, :]
            kernels = kernels / np.where(outer[:, :, None, :] > 0, kernels.sum(axis=2, keepdims=True), 1.0)
            gains, overflow = _gains(grown * values, here, same)
            exact = size <= LARGEST_EXACT
            solved = exact_step(kernels, gains) if exact else relaxed_step(kernels[0], gains, side.matrix)
            solved = np.where(overflow[:, None, None, :], np.inf, solved)
            values = np.where(same[None, :, :, None], 1.0, np.fmin(solved, caps.at(taken)))
            nothing = np.log(values[..., size]) if side.end is not None else caps.unknown_start(taken, taus)
            tally.add(np.concatenate([known, nothing[..., None]], axis=3))
        return tally.levels(caps.forever(depth))


class _Caps:
    """The bounds that conditioning on one record in between gives, whatever lies beyond it."""

    def __init__(self, side: Side, taus: int) -> None:
        size = side.matrix.shape[-1]
        self.side, self.size = side, size
        self.cheapest = np.full((taus, size, size), np.inf)
        self.free = np.full((taus, size, size), np.inf)
        self.recent: list[tuple[int, NDArray[np.float64]]] = []

    def condition(self, taken: int, values: NDArray[np.float64]) -> None:
        """Learn what conditioning on the record `taken` steps away gives; `values` belong to the records before it."""
        here = self.side.stacked(taken)[..., : self.size]
        own, other = here[:, :, None, :], here[:, None, :, :]
        through = np.where(own > 0, own / other * values[..., : self.size], -np.inf)
        worst = np.fmax.reduce(through, axis=3)
        self.cheapest = np.minimum(self.cheapest, worst)
        if self.side.end is None:
            self.free = np.minimum(self.free, worst * np.exp(self._back(taken)))
        self.recent = [each for each in self.recent if not self._settled(taken + 1 - each[0])]
        if not self._settled(1):
            self.recent = [*self.recent[-_MOST_RECENT:], (taken, through)]

    def _back(self, steps: int) -> NDArray[np.float64]:
        """Return the log ratio of the way back, with an axis for the chains first."""
        ratio = self.side.log_ratio(steps)
        return np.asarray(ratio.reshape(-1, self.size, self.size).swapaxes(1, 2))

    def _settled(self, steps: int) -> bool:
        return bool((self.side.boundary(steps)[..., : self.size] > 0).all())

    def at(self, taken: int) -> NDArray[np.float64]:
        """Return the cap on V with `taken` unknown records, for each boundary.

        Near the boundary some values in between may be impossible; those are left out where the chain has zeros.
        """
        outer = self.side.stacked(taken + 1)
        through = np.repeat(self.cheapest[..., None], outer.shape[2], axis=3)
        for steps, each in self.recent:
            between = self.side.stacked(taken + 1 - steps) > 0
            for boundary in range(outer.shape[2]):
                reaching = between[:, None, None, :, boundary]
                allowed = np.fmax.reduce(np.where(reaching, each, -np.inf), axis=3)
                through[..., boundary] = np.minimum(through[..., boundary], allowed)
        return np.asarray(through * (outer[:, None, :, :] / outer[:, :, None, :]))

    def unknown_start(self, taken: int, taus: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bound ln V for `taken` records of which nothing is known, in a chain that starts in an unknown law."""
        return np.asarray(np.minimum(taken * taus[:, None, None], np.log(self.free)))

    def forever(self, depth: int) -> NDArray[np.float64]:
        """Bound ln V of every ending that takes more than `depth` records, by conditioning on a record before that."""
        beyond = np.asarray(np.log(self.cheapest) + self._back(depth + 1))
        return np.maximum(beyond, np.log(self.free)) if self.side.end is None else beyond


class _Tally:
    """The best ending so far, level by level."""

    def __init__(self, taus: int, size: int) -> None:
        self.size = size
        self.best = [np.zeros((taus, size, size))]
        self.known, self.nothing = [np.zeros((taus, size, size))], [np.zeros((taus, size, size))]
        self.ending = [np.full((taus, size, size), size, dtype=np.int64)]

    def add(self, options: NDArray[np.float64]) -> None:
        """Add the endings that take one record more: each known boundary, and nothing known."""
        options = np.where(np.isnan(options), np.inf, options)
        self.known.append(options[..., : self.size].max(axis=3))
        self.nothing.append(options[..., self.size])
        choice = options.argmax(axis=3)
        reached = np.take_along_axis(options, choice[..., None], axis=3)[..., 0]
        better = reached > self.best[-1]
        number = len(self.best) * (self.size + 1) + choice
        self.best.append(np.where(better, reached, self.best[-1]))
        self.ending.append(np.where(better, number, self.ending[-1]))

    def levels(self, beyond: NDArray[np.float64]) -> _Levels:
        """Return the levels, with a bound for everything farther out where there is one."""
        unknown = np.where(np.isnan(beyond), np.inf, beyond)
        best, ending, known, nothing = map(np.array, (self.best, self.ending, self.known, self.nothing))
        return _Levels(best, ending, known, nothing, unknown)


def _two_state_levels(side: Side, taus: NDArray[np.float64], depth: int) -> _Levels:
    """Follow one side of a chain of two states by the closed form: h is 1 at one value and the gain at the other.

    Pair 0 is (0, 1) and pair 1 is (1, 0). With v the value that u makes likelier than u′ does (u itself if the
    determinant is positive, u′ if not): V = (K(u, o) + G·K(u, v))/(K(u′, o) + G·K(u′, v)), G = e^τ·V(v, o).
    """
    lazy, here, likelier, other = _two_state_kernels(side, depth)
    history = np.ones((depth + 1, len(taus), 2, here.shape[2]))
    grown = np.exp(taus)[:, None, None]
    gain, means = np.empty_like(history[0]), np.empty((2, *history[0].shape))
    above, below = means
    with np.errstate(all="ignore"):
        for previous, current, rising, resting in zip(history[:-1], history[1:], likelier, other, strict=True):
            np.multiply(grown, previous if lazy else previous[:, ::-1], out=gain)
            np.multiply(gain, rising, out=means)
            np.add(means, resting, out=means)
            np.divide(above, below, out=current)
    return _two_state_tally(side, taus, here, history)


@lru_cache(maxsize=32)
def _two_state_kernels(
    side: Side, depth: int
) -> tuple[bool, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return whether v is u itself, the boundaries, and for every level K(·, v) and K(·, o), of u and then of u′."""
    here = np.array(side.boundaries(depth + 1)[: depth + 2])
    with np.errstate(all="ignore"):
        kernels = side.matrix[None, :, :, None] * here[1:-1, None, :, :]
        kernels /= kernels.sum(axis=2, keepdims=True)
    kernels = np.where((here[2:] > 0)[:, :, None, :], kernels, kernels[:, ::-1])
    lazy = bool(side.matrix[0, 0] * side.matrix[1, 1] >= side.matrix[0, 1] * side.matrix[1, 0])
    value = [0, 1] if lazy else [1, 0]
    likelier, other = (
        np.stack([kernels[:, [0, 1], chosen], kernels[:, [1, 0], chosen]], axis=1)[:, :, None]
        for chosen in (value, value[::-1])
    )
    return lazy, here, likelier, other


def _two_state_tally(
    side: Side, taus: NDArray[np.float64], here: NDArray[np.float64], history: NDArray[np.float64]
) -> _Levels:
    """Apply the caps to all levels at once and collect the endings."""
    depth = len(history) - 1
    with np.errstate(all="ignore"):
        own, other = here[:, [0, 1]], here[:, [1, 0]]
        ratio = np.where(own[1:-1, :, :2] > 0, own[1:-1, :, :2] / other[1:-1, :, :2], -np.inf)
        through = np.fmax.reduce(ratio[:, None] * history[:-1, :, :, :2], axis=3)
        cheapest = np.minimum.accumulate(through, axis=0)
        capped = np.fmin(history[1:], cheapest[..., None] * (other[2:] / own[2:])[:, None])
        values = np.maximum(np.concatenate([history[:1], capped]), 1.0)
        known = np.where((own[1:-1] > 0)[:, None] & (other[1:-1] > 0)[:, None], np.log(values[:-1]), -np.inf)[..., :2]
        if side.end is not None:
            nothing = np.log(values[1:, ..., 2])
        else:
            backs = side.log_ratios(1, depth)[:, [1, 0], [0, 1]]
            free = np.minimum.accumulate(np.log(through) + backs[:, None], axis=0)
            steps = np.arange(1, depth + 1)[:, None, None]
            nothing = np.minimum(steps * taus[None, :, None], free)
        beyond = np.log(cheapest[-1]) + side.log_ratio(depth + 1)[[1, 0], [0, 1]]
    options = np.concatenate([known, nothing[..., None]], axis=3)
    options = np.where(np.isnan(options), np.inf, options)
    choice = options.argmax(axis=3)
    reached = np.concatenate([np.zeros((1, len(taus), 2)), options.max(axis=3)])
    best = np.maximum.accumulate(reached, axis=0)
    fresh = np.concatenate([np.full((1, len(taus), 2), 2), np.arange(1, depth + 1)[:, None, None] * 3 + choice])
    level = np.maximum.accumulate(np.where(reached >= best, np.arange(depth + 1)[:, None, None], 0), axis=0)
    ending = np.take_along_axis(fresh, level, axis=0)
    beyond = beyond if side.end is not None else np.maximum(beyond, nothing[-1])
    first = np.zeros((1, len(taus), 2))
    return _Levels(
        _as_pairs(best),
        _as_pairs(ending),
        _as_pairs(np.concatenate([first, options[..., :2].max(axis=3)])),
        _as_pairs(np.concatenate([first, options[..., 2]])),
        _as_pairs(np.where(np.isnan(beyond), np.inf, beyond)),
    )


def _as_pairs(values: NDArray[Any]) -> NDArray[Any]:
    """Spread (…, pair) over a table (…, x, x′) whose diagonal is zero."""
    table = np.zeros((*values.shape[:-1], 2, 2), dtype=values.dtype)
    table[..., 0, 1], table[..., 1, 0] = values[..., 0], values[..., 1]
    return table


def _possible_pairs(here: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for which pairs of values and which boundary both values can occur, in each chain."""
    possible = here > 0
    return np.asarray(possible[:, :, None, :] & possible[:, None, :, :])


def _gains(
    grown: NDArray[np.float64], here: NDArray[np.float64], same: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return gain(v, v′), and for which τ and boundary some gain between possible values is beyond all numbers.

    The gain is 1 for the same value, else e^τ·V; from impossible values 1, to them infinite. Gains that overflow are
    replaced by 1, for the caller must not use what follows from them.
    """
    possible = _possible_pairs(here) & ~same[:, :, None]
    lost = possible & ~np.isfinite(grown)
    gains = np.where(possible & ~lost, grown, np.where((here > 0)[:, :, None, :], np.inf, 1.0))
    gains = np.where(lost | same[None, :, :, None], 1.0, gains)
    return gains, np.asarray(lost.any(axis=(1, 2)))
