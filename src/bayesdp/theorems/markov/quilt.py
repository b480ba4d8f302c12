"""A closed form for Markov chains: the best window around the target. Proof: docs/theory/markov-quilt.md."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from bayesdp._support.arrays import Floats, Integers
from bayesdp.models import MarkovChain, Model
from bayesdp.queries import Query
from bayesdp.rounding import down, finite, float_above, up
from bayesdp.theorems.general import GeneralBound
from bayesdp.theorems.markov.paper import MarkovPaper
from bayesdp.theorems.markov.sides import REMEMBERS_MORE, sides, steps_to_forget, unreliable
from bayesdp.theorems.spend import Spend, exact_total, total_tau
from bayesdp.theorems.theorem import Theorem

__all__ = ["MarkovQuilt", "TargetWindow", "best_window"]

_MOST_ENTRIES = 2**18
_MOST_NUMBERS = 2**23
_ALL_PAIRS = 64
_NEIGHBOURS = 12


@dataclass(frozen=True)
class TargetWindow:
    """A window from `left` records before the target to `right` after it, and the log ratio its two ends cost."""

    left: int
    right: int
    cost: float

    @property
    def records(self) -> int:
        """The number of records in the window, including the target."""
        return self.left + self.right - 1


class MarkovQuilt(Theorem):
    """Group privacy inside a window around the target, plus a Bayes ratio for each of its two ends."""

    name: ClassVar[str] = "markov-quilt"
    proof: ClassVar[str] = "docs/theory/markov-quilt.md"
    covers_every_mechanism: ClassVar[bool] = True

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if not isinstance(model, MarkovChain):
            return "it is about Markov chains"
        if model.memory > 1:
            return REMEMBERS_MORE
        if not model.is_primitive:
            return (
                "dependence never fades in this chain: no power of its transition matrix is positive throughout "
                f"({'it is periodic' if model.is_irreducible else 'some states cannot reach others'})"
            )
        if steps_to_forget(model, _deepest(model)) is None:
            return f"after {_deepest(model)} steps, the most that are tried, some states still cannot reach others"
        return unreliable(model)

    def bound(self, model: Model, spend: Spend) -> float:
        assert isinstance(model, MarkovChain)
        tau = total_tau(spend)
        window = best_window(model, tau)
        bound = _epsilon(model, window, tau)
        if model.length is not None and model.length * exact_total(spend) < bound:
            bound = float_above(model.length * exact_total(spend))
        paper = MarkovPaper()
        if paper.refusal(model, ()) is None:
            bound = min(bound, paper.bound(model, spend))
        return finite(bound)

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float:
        assert isinstance(model, MarkovChain)
        others = [theorem for theorem in (GeneralBound(), MarkovPaper()) if theorem.refusal(model, ()) is None]
        windows = _largest_tau(model, down(epsilon, 4)) - total_tau(spent)
        return max([windows, *(theorem.closed_form(model, query, epsilon, spent) for theorem in others)])

    def worst_case(self, model: Model, spend: Spend) -> str | None:
        assert isinstance(model, MarkovChain)
        window = best_window(model, total_tau(spend))
        return (
            f"a window from {window.left} records before the target to {window.right} after it, "
            f"whose ends cost {window.cost:.6g}"
        )


def best_window(chain: MarkovChain, tau: float) -> TargetWindow:
    """Return the window with the smallest bound at τ among those searched; the chain must be primitive."""
    windows = _windows(chain, _depth(chain, tau))
    with np.errstate(over="ignore"):  # a bound too large for a float is infinite, and not the smallest
        return windows.best(-tau * _inside(chain, windows.left, windows.right).astype(np.float64))


def _largest_tau(chain: MarkovChain, epsilon: float) -> float:
    """Return the largest τ at which some window proves ε: every window proves a line in τ."""
    depth = 8
    while True:
        windows = _windows(chain, depth)
        inside = _inside(chain, windows.left, windows.right)
        window = windows.best(epsilon / inside, 1 / inside)
        tau = (epsilon - window.cost) / float(_inside(chain, np.array(window.left), np.array(window.right)))
        if depth >= _deepest(chain) or (tau > 0 and _depth(chain, tau) <= depth):
            return tau
        depth *= 2


def _epsilon(chain: MarkovChain, window: TargetWindow, tau: float) -> float:
    inside = window.records if chain.length is None else min(window.records, chain.length)
    return up(inside * tau + window.cost, 2)


def _inside(chain: MarkovChain, left: Integers, right: Integers) -> Integers:
    records = left + right - 1
    return records if chain.length is None else np.minimum(records, chain.length)


def _depth(chain: MarkovChain, tau: float) -> int:
    """Return the depth to which windows are tried: once an end costs less than τ, one more record gains nothing.

    The depth is rounded up to a power of two, so that few depths are computed.
    """
    depth = 8
    while depth < _deepest(chain) and len(chain.transition) > 1:
        if max(side.max() for side in _end_costs(chain, depth, depth)) <= tau:
            break
        depth *= 2
    return depth


def _deepest(chain: MarkovChain) -> int:
    """Return the largest distance of a window's end from the target: farther for chains of few states."""
    squared = len(chain.transition) ** 2
    return max(min(512, _MOST_NUMBERS // squared), _MOST_ENTRIES // squared)


def _end_costs(chain: MarkovChain, depth: int, first: int = 1) -> tuple[Floats, Floats]:
    """Return the costs of the left and right ends at distances first, …, depth for each pair of target values."""
    before, after = sides(chain)
    costs = before.end_costs(depth, chain.start == "stationary", first), after.end_costs(depth, True, first)
    left, right = (cost.reshape(len(cost), -1) for cost in costs)
    return left, right


@dataclass(frozen=True, eq=False)
class _Windows:
    """Windows to try, and lower bounds on their costs, which rise to the costs where that matters.

    left, right: their ends.
    costs:       for each of them, the largest cost over the pairs of values that were looked at so far.
    ends:        the costs of the left and right ends at distances 1, 2, … for each pair.
    """

    left: Integers
    right: Integers
    costs: Floats
    ends: tuple[Floats, Floats]

    def best(self, worth: Floats, price: Floats | float = 1.0) -> TargetWindow:
        """Return the window with the largest worth − price·cost, and its cost.

        The window that looks best is checked on all pairs; its worst pair is then looked at for all windows.
        """
        before, after = self.ends
        while True:
            best = int(np.argmax(worth - price * self.costs))
            left, right = int(self.left[best]), int(self.right[best])
            cost = before[left - 1] + after[right - 1]
            pair = int(cost.argmax())
            if cost[pair] <= self.costs[best]:
                return TargetWindow(left, right, float(self.costs[best]))
            np.maximum(self.costs, before[self.left - 1, pair] + after[self.right - 1, pair], out=self.costs)


@lru_cache(maxsize=16)
def _windows(chain: MarkovChain, depth: int) -> _Windows:
    """Return the windows to try: all up to 64 deep, balanced ones beyond."""
    if len(chain.transition) == 1:
        one = np.ones(1, dtype=np.int64)
        return _Windows(one, one, np.zeros(1), (np.zeros((1, 1)), np.zeros((1, 1))))
    left, right = _end_costs(chain, depth)
    shallow = min(depth, _ALL_PAIRS)
    first, second = (side.ravel() for side in np.indices((shallow, shallow)))
    if depth > shallow:
        matching = np.searchsorted(-right.max(axis=1), -left.max(axis=1))
        near = np.clip(matching[:, None] + np.arange(-_NEIGHBOURS, _NEIGHBOURS + 1), 0, depth - 1)
        first = np.concatenate([first, np.repeat(np.arange(depth), near.shape[1])])
        second = np.concatenate([second, near.ravel()])
    return _Windows(first + 1, second + 1, np.zeros(len(first)), (left, right))
