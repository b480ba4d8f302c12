"""The exact leakage of one count or integer sum of a Markov chain. Proof: docs/theory/markov-count.md."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from bayesdp._support.arrays import Booleans, Floats, Integers
from bayesdp.models import MarkovChain, Model
from bayesdp.queries import Query
from bayesdp.rounding import float_below, up
from bayesdp.theorems.adversary import Adversary, Stretch, WorstInChain
from bayesdp.theorems.markov.mixing import MarkovMixing
from bayesdp.theorems.markov.sides import (
    QUICK,
    REMEMBERS_MORE,
    UNIT,
    Ending,
    Side,
    forgotten_after,
    reach_of,
    sides,
    unreliable,
)
from bayesdp.theorems.spend import Spend
from bayesdp.theorems.theorem import Theorem

__all__ = ["MarkovCount"]

_NEGLIGIBLE = 1e-10
_MOST_DENSITIES, _MOST_RATIOS = 4e9, 4e7
_DEEPEST = 256
_UNDERFLOW = 1e-290
_AT_ONCE = 4_000_000

Stretches = tuple[Stretch, Stretch]


class MarkovCount(Theorem):
    """The leakage itself, over all adversaries and outputs, of (discrete) Laplace noise on one count or sum."""

    name: ClassVar[str] = "markov-count"
    proof: ClassVar[str] = "docs/theory/markov-count.md"
    composes: ClassVar[bool] = False
    tolerance: ClassVar[float] = 1e-10

    def __init__(self, negligible: float = _NEGLIGIBLE) -> None:
        """Follow each side of the target until farther records add at most `negligible`."""
        self.negligible = negligible

    def quick(self, epsilon: float) -> MarkovCount:
        return MarkovCount(max(self.negligible, QUICK * epsilon))

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if not isinstance(model, MarkovChain):
            return "it is about Markov chains"
        if model.memory > 1:
            return REMEMBERS_MORE
        if len(queries) != 1:
            return "it covers one answer, released once; several releases need a theorem that composes"
        (query,) = queries
        if query.by_cell or query.dimension != 1:
            return f"it is about counts and sums, not a {query.kind}"
        if query.where is not None:
            return "it needs a count over every record of the chain, and the query has a filter"
        if query.by is not None or query.in_windows:
            return "it needs a count over every record of the chain, and the query divides the records"
        if model.gaps:
            return "it needs a count over every record of the chain, and records are missing"
        if model.start != "stationary":
            return 'it needs a stationary start, but the start of the model is "any"'
        values = query.state_values(model.states)
        if isinstance(values, str):
            return values
        return unreliable(model) or _too_much(model, _in_common_units(values)[0], _depth(model, self.negligible))

    def refusal_for(self, model: Model, queries: tuple[Query, ...], adversary: Adversary) -> str | None:
        return self.refusal(model, queries)

    def bound(self, model: Model, spend: Spend) -> float:
        worst = self._worst(model, spend)
        return worst.epsilon if math.isfinite(worst.epsilon) else MarkovMixing().bound(model, spend)

    def bound_for(self, model: Model, spend: Spend, adversary: Adversary) -> float:
        assert isinstance(model, MarkovChain)
        assert model.length is not None
        mixed = MarkovMixing().bound_for(model, spend, adversary)
        own = self._worst(model, spend, adversary.stretches(model.length)).epsilon
        return min(own, mixed, self.bound(model, spend))  # the last exceeds both, except for rounding

    def scope(self, model: Model, queries: tuple[Query, ...]) -> str:
        return f"every pair of target values, Laplace or discrete Laplace noise on this one answer, {self.against}"

    def worst_case(self, model: Model, spend: Spend) -> str | None:
        assert isinstance(model, MarkovChain)
        worst = self.worst_adversary(model, spend)
        return None if worst is None else worst.described(model)

    def worst_adversary(self, model: Model, spend: Spend) -> WorstInChain | None:
        worst = self._worst(model, spend)
        return None if worst.pair is None else WorstInChain(worst.pair, *worst.endings)

    def _worst(self, model: Model, spend: Spend, stretches: Stretches | None = None) -> WorstCount:
        assert isinstance(model, MarkovChain)
        ((query, tau),) = spend
        depth = _depth(model, self.negligible)
        assert depth is not None
        return _worst(model, query, tau, depth, stretches)


@dataclass(frozen=True)
class WorstCount:
    """The worst adversary found, and the certified leakage."""

    epsilon: float
    pair: tuple[int, int] | None
    endings: tuple[Ending, Ending]


def _in_common_units(values: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Return the values divided by their greatest common divisor, and the divisor, so that a fine grid costs nothing.

    >>> _in_common_units((0, 8, 12))
    ((0, 2, 3), 4)
    """
    unit = math.gcd(*values) or 1
    return tuple(value // unit for value in values), unit


def _too_much(chain: MarkovChain, values: tuple[int, ...], depth: int | None) -> str | None:
    """Return the reason why the enumeration would take too long, or None."""
    if depth is None and not chain.is_primitive:
        return "dependence never fades in this chain, and its length is unknown or too large to enumerate"
    if depth is None:
        return "dependence fades too slowly to be enumerated; markov-mixing follows the chain farther"
    size, longest = len(values), max(values)
    endings = depth * (size + 1) + 1
    reached = depth * longest + 1
    outputs = 2 * reached + longest
    densities, ratios = size * outputs * endings**2 * reached, size * (size - 1) / 2 * outputs * endings**2
    if densities > _MOST_DENSITIES or ratios > _MOST_RATIOS:
        return "there are too many states or values to enumerate; markov-mixing covers more"
    return None


@lru_cache(maxsize=128)
def _depth(chain: MarkovChain, negligible: float) -> int | None:
    """Return the number of records to follow on a side: all, or until the rest is negligible; None if too many."""
    reach = reach_of(chain)
    if reach is not None and reach <= 16:
        return reach
    if not chain.is_primitive:
        return reach if reach is not None and reach <= _DEEPEST // 2 else None
    limit = _DEEPEST if reach is None else min(reach, _DEEPEST)
    return forgotten_after(chain, negligible, limit) or (reach if reach == limit else None)


@lru_cache(maxsize=32)
def _laws(side: Side, values: tuple[int, ...], depth: int) -> tuple[list[Ending], Floats]:
    """Return the endings of a side, and for each the law of its sum given each target value: (x, ending, sum).

    The law is zero for a target value that the ending excludes.
    """
    size, longest = len(values), max(values)
    width = depth * longest + 1
    assert side.end is not None
    current = np.zeros((size, size + 1, width))
    current[:, :size, 0] = side.matrix
    current[:, size, 0] = side.end
    endings, laws = [Ending(0, boundary) for boundary in (*range(size), None)], [current]
    for unknown in range(1, depth + 1):
        moved = np.zeros_like(current)
        for state, value in enumerate(values):
            moved[state, :, value:] = current[state, :, : width - value]
        current = np.einsum("uv,vrk->urk", side.matrix, moved)
        laws.append(current)
        endings += [Ending(unknown, boundary) for boundary in (*range(size), None)]
    stacked = np.concatenate(laws, axis=1)
    keep = [index for index, ending in enumerate(endings) if ending.records <= depth]
    stacked = stacked[:, keep]
    totals = stacked.sum(axis=2, keepdims=True)
    return [endings[index] for index in keep], stacked / np.where(totals > 0, totals, 1.0)


@lru_cache(maxsize=256)
def _worst(chain: MarkovChain, query: Query, tau: float, depth: int, stretches: Stretches | None) -> WorstCount:
    """Return the largest log ratio of output densities over endings of both sides, pairs of values and outputs.

    It is infinite where a density is too small for floating-point numbers.

    stretches: those of a single adversary, whose endings are the only ones considered.
    """
    values, reach = query.state_values(chain.states), reach_of(chain)
    assert not isinstance(values, str)
    values, unit = _in_common_units(values)
    nothing = Ending(0, None)
    if len(values) == 1 or max(values) == 0:
        return WorstCount(0.0, None, (nothing, nothing))
    left, left_laws, left_rest = _endings(sides(chain)[0], values, depth, reach, stretches and stretches[0])
    right, right_laws, right_rest = _endings(sides(chain)[1], values, depth, reach, stretches and stretches[1])
    rest = left_rest + right_rest
    scale = float_below(query.parts_sensitivity / unit)
    fits = _fitting(left, right, reach if stretches is None else None)
    unknown = np.add.outer([ending.unknown for ending in left], [ending.unknown for ending in right])
    worst = WorstCount(0.0, None, (nothing, nothing))
    best = -math.inf
    for pair, ratio in _ratios(values, left_laws, right_laws, tau / scale, unknown, fits).items():
        index = int(np.argmax(ratio))
        value = float(ratio.flat[index])
        if value + rest[pair] > best:
            best = value + float(rest[pair])
            row, column = np.unravel_index(index, ratio.shape)
            worst = WorstCount(best, pair, (left[int(row)], right[int(column)]))
    exponents = 4 * tau / scale * max(values) * (2 * depth + 1)
    margin = UNIT * (16 * depth * (2 * len(values) + 2) + 32 * left_laws.shape[2] + 128 + exponents)
    return WorstCount(max(0.0, up(best + margin)), worst.pair, worst.endings)


def _endings(
    side: Side, values: tuple[int, ...], depth: int, reach: int | None, stretch: Stretch | None
) -> tuple[list[Ending], Floats, Floats]:
    """Return the endings of a side, their laws, and what endings farther out can add at each pair of values.

    The side of a single adversary has one ending. If it is longer than `depth`, the known endings at that distance
    replace it, plus what farther records can add.
    """
    endings, laws = _laws(side, values, depth)
    far = (reach is None or reach > depth) if stretch is None else stretch.records > depth
    rest = np.asarray(side.end_costs(depth, True)[-1]) if far else np.zeros_like(side.matrix)
    if stretch is None:
        return endings, laws, rest
    nearest = Stretch(depth - 1, known=True) if far else stretch
    keep = [
        index
        for index, ending in enumerate(endings)
        if ending.unknown == nearest.unknown and (ending.boundary is not None) == nearest.known
    ]
    return [endings[index] for index in keep], laws[:, keep], rest


def _fitting(left: list[Ending], right: list[Ending], reach: int | None) -> Booleans:
    """Return which endings fit into one chain together."""
    taken = np.add.outer([ending.records for ending in left], [ending.records for ending in right])
    return np.asarray(np.ones_like(taken, dtype=bool) if reach is None else taken <= reach)


def _ratios(
    values: tuple[int, ...], left: Floats, right: Floats, rate: float, unknown: Integers, fits: Booleans
) -> dict[tuple[int, int], Floats]:
    """Return for each pair of target values the largest log ratio over outputs, for every two endings.

    Outputs beyond the range of an ending repeat the ratio at its edge and are left out, like endings that exclude one
    of the two values or do not fit.
    """
    size, longest = len(values), max(values)
    possible = (left.sum(axis=2) > 0)[:, :, None] & (right.sum(axis=2) > 0)[:, None, :] & fits
    pairs = list(itertools.combinations(range(size), 2))
    ratios = {pair: np.zeros(unknown.shape) for pair in itertools.permutations(range(size), 2)}
    outputs = np.arange(longest * (int(unknown.max()) + 1) + 1)
    for some in np.array_split(outputs, math.ceil(len(outputs) * unknown.size / _AT_ONCE)):
        outside = some[None, :, None] > longest * (unknown[:, None, :] + 1)
        densities = [_densities(left[x], right[x], rate, some - value) for x, value in enumerate(values)]
        for density in densities:
            density[density <= _UNDERFLOW] = np.nan
            density[outside] = 1.0
        for x, other in pairs:
            with np.errstate(all="ignore"):
                ratio = densities[x] / densities[other]
                for pair, largest in (((x, other), ratio.max(axis=1)), ((other, x), 1 / ratio.min(axis=1))):
                    np.maximum(ratios[pair], np.where(np.isnan(largest), np.inf, largest), out=ratios[pair])
    with np.errstate(divide="ignore"):
        return {
            (x, other): np.where(possible[x] & possible[other], np.log(largest), -np.inf)
            for (x, other), largest in ratios.items()
        }


def _densities(left: Floats, right: Floats, rate: float, outputs: Integers) -> Floats:
    """Return Σ_jk left(j)·right(k)·e^(−rate·|output − j − k|), by left ending, output and right ending."""
    width = left.shape[1]
    reached = outputs[:, None] - np.arange(width)
    distances = np.abs(np.arange(reached.min(), reached.max() + 1)[:, None] - np.arange(right.shape[1]))
    with np.errstate(over="ignore"):  # e^−∞ is 0, as e^−(largest float) is
        noisy = np.exp(-rate * distances)
    spread = noisy @ right.T
    moved = spread[(reached - reached.min()).T].reshape(width, -1)
    return np.asarray((left @ moved).reshape(len(left), len(outputs), len(right)))
