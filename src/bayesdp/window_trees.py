"""Trees of windows: running totals from noisy answers about disjoint and nested windows of periods.

A node is a window of whole periods, answered once with noise, as soon as all of its periods are complete. The nodes
that hold one period take at most the whole loss of the stream together. A total is the sum of the complete nodes that
are in no other complete node, each estimated by least squares from its own answer and from those below it. Only what is
public is looked at here. Statement and proof: docs/theory/running-totals.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal

from bayesdp._support import validation
from bayesdp._support.messages import name_of
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError

__all__ = ["FARTHEST_HORIZON", "MOST_PERIODS", "Node", "TreeNoise", "WindowTree", "window_tree"]

TreeNoise = Literal["laplace", "gaussian"]

_POWER: Mapping[str, int] = {"laplace": 2, "gaussian": 1}
"""A node with the share s of the loss has s^−power times the variance of an answer with all of it."""

MOST_PERIODS, FARTHEST_HORIZON = 100_000, 10_000
"""The most periods of a stream, eleven years by the hour; fewer with a horizon, since its tree takes longer to plan."""

_PRECISION = 1e-3
"""How close (relative) the worst variance comes to the smallest one that trees of this kind reach."""

_LOOK_AHEAD, _WIDEST = 1.5, 3
"""Without a horizon, a total within a root adds at most the first number times the variance of the roots before it, and
a root is at most the second number times as wide as everything before it. They suit the worst errors of ten years."""


@dataclass(frozen=True)
class Node:
    """A window of periods, from `start` up to but not including `stop`, and what least squares makes of it.

    share:    its part of the loss of the stream, in lowest terms.
    children: the nodes that it is divided into; none for a single period.
    weight:   what its own answer counts for in its estimate; the sum of its children's estimates counts for the rest.
    variance: that of its estimate, if an answer with the whole loss has variance 1.
    """

    start: int
    stop: int
    share: Fraction
    children: tuple[Node, ...] = ()
    weight: float = 1.0
    variance: float = field(default=1.0, compare=False)

    @property
    def window(self) -> tuple[int, int]:
        """The window: its first period, and the first one after it."""
        return self.start, self.stop

    def completed(self, periods: int) -> Iterator[Node]:
        """Yield the complete nodes, those below a node before it, once so many periods are complete."""
        for child in self.children:
            if child.start >= periods:
                return
            yield from child.completed(periods)
        if self.stop <= periods:
            yield self

    def topmost(self, periods: int) -> Iterator[Node]:
        """Yield the complete nodes that are in no other complete node."""
        if self.stop <= periods:
            yield self
            return
        for child in self.children:
            if child.start >= periods:
                return
            yield from child.topmost(periods)

    def estimate(self, answers: Mapping[tuple[int, int], Fraction]) -> Fraction:
        """Return the estimate of a complete node, exactly, from the answers about windows."""
        own, weight = answers[self.window], Fraction(self.weight)
        if not self.children:
            return own
        return weight * own + (1 - weight) * sum((child.estimate(answers) for child in self.children), Fraction(0))

    def coefficients(self, factor: float = 1.0) -> Iterator[tuple[Fraction, float]]:
        """Yield what each answer counts for in `factor` times the estimate, with its share of the loss."""
        yield self.share, factor * self.weight
        for child in self.children:
            yield from child.coefficients(factor * (1 - self.weight))


@dataclass(frozen=True)
class WindowTree:
    """The windows of a stream of running totals, and how far off its totals are.

    horizon: the number of periods; None for a stream without an end.
    noise:   "laplace" for a pure loss, of which the nodes take shares of τ; "gaussian" for shares of ρ.

    Widths are chosen by the computed variance of totals. With a horizon, every node is as wide as the worst variance
    allows, and the worst variance and the number of levels are the smallest with which the tree reaches the horizon.
    Without one, every root adds the most periods for its variance.

    >>> tree = WindowTree(365, "laplace")
    >>> round(tree.worst() ** 0.5 / 365, 4)
    0.026
    >>> [node.window for node in WindowTree(6, "laplace").completed(6)]
    [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    """

    horizon: int | None
    noise: TreeNoise

    def __post_init__(self) -> None:
        if self.noise not in _POWER:
            raise InvalidInputError(name_of("noise") + f' must be "laplace" or "gaussian", not {brief(self.noise)}')
        if self.horizon is not None:
            _at_most(FARTHEST_HORIZON, "horizon", self.horizon)

    def completed(self, periods: int, since: int = 0) -> tuple[Node, ...]:
        """Return the nodes that are complete after so many periods and were not after `since`, parts before wholes."""
        complete = (node for root in self._roots(periods) for node in root.completed(periods))
        return tuple(node for node in complete if node.stop > since)

    def topmost(self, periods: int) -> tuple[Node, ...]:
        """Return the complete nodes whose estimates add up to the total of the first periods."""
        return tuple(node for root in self._roots(periods) for node in root.topmost(periods))

    def total(self, periods: int, answers: Mapping[tuple[int, int], Fraction]) -> Fraction:
        """Return the least-squares estimate of the total of the first periods, exactly.

        answers: the noisy answer about each complete window.

        >>> tree = WindowTree(3, "laplace")
        >>> tree.total(2, {(0, 1): Fraction(5), (1, 2): Fraction(7)})
        Fraction(12, 1)
        """
        return sum((node.estimate(answers) for node in self.topmost(periods)), Fraction(0))

    def coefficients(self, periods: int) -> Mapping[tuple[Fraction, float], int]:
        """Return how many answers with which share of the loss count for how much in the total of the first periods."""
        return Counter(pair for node in self.topmost(periods) for pair in node.coefficients())

    def variance(self, periods: int) -> float:
        """Return the variance of the total of the first periods, if an answer with the whole loss has variance 1."""
        return math.fsum(node.variance for node in self.topmost(periods))

    def worst(self, periods: int | None = None) -> float:
        """Return the largest variance of the totals up to `periods`, by default up to the horizon."""
        last = self.horizon if periods is None else periods
        if last is None:
            raise InvalidInputError("a stream without a horizon has no worst total; say up to which period")
        worst = before = 0.0
        for root in self._roots(last):
            worst = max(worst, before + _worst_within(root, last))
            before += root.variance
        return worst

    def _roots(self, periods: int) -> list[Node]:
        """Return the roots that the first periods begin in."""
        last = _at_most(MOST_PERIODS, "periods", periods)
        if self.horizon is not None and last > self.horizon:
            raise InvalidInputError(f"the stream has {self.horizon} periods, not {last}")
        if self.horizon is not None:
            return [root for root in self._planned if root.start < last]
        while not self._grown or self._grown[-1].stop < last:
            self._grown.append(_next_root(self._grown, _POWER[self.noise]))
        return [root for root in self._grown if root.start < last]

    @cached_property
    def _planned(self) -> tuple[Node, ...]:
        assert self.horizon is not None
        return _forest_up_to(self.horizon, _POWER[self.noise])

    @cached_property
    def _grown(self) -> list[Node]:
        return []


@lru_cache(maxsize=32)
def window_tree(horizon: int | None, noise: TreeNoise) -> WindowTree:
    """Return a tree; the same one for the same arguments, since it takes a while to plan."""
    return WindowTree(horizon, noise)


def _at_most(limit: int, name: str, number: object) -> int:
    checked = validation.natural(name, number)
    if checked > limit:
        raise InvalidInputError(name_of(name) + f" must be at most {limit:,}, not {checked:,}")
    return checked


def _worst_within(node: Node, last: int) -> float:
    """Return the largest variance of a total that ends in a node, without what is before the node."""
    worst = node.variance if node.stop <= last else 0.0
    before = 0.0
    for child in node.children:
        if child.start >= last:
            break
        worst = max(worst, before + _worst_within(child, last)) if child is not node.children[-1] else worst
        before += child.variance
    return worst


@dataclass(frozen=True)
class _Planner:
    """Makes nodes of a given number of levels, of which each level takes one share; `end` is the last period's end."""

    levels: int
    power: int
    end: int

    def forest(self, level: int, allowed: float, start: int) -> list[Node]:
        """Return nodes one after the other, with no total among them above the variance `allowed`."""
        nodes: list[Node] = []
        left, reached = allowed, start
        while reached < self.end:
            grown = self.grown(level, left, reached)
            if not grown:
                break
            nodes += grown
            left -= math.fsum(node.variance for node in grown)
            reached = nodes[-1].stop
        return nodes

    def grown(self, level: int, allowed: float, start: int) -> list[Node]:
        """Return the widest node from `start` on; the nodes below it, if it cannot be completed; none if too variable.

        The last period of a node is one leaf, with the shares of all levels below.
        """
        if self.answers[level - 1][1] > allowed:
            return []
        inner = self.forest(level - 1, allowed, start) if level > 1 else []
        if not inner:
            return [self.leaf(start, level)]
        if inner[-1].stop == self.end:
            return inner
        node = self.joined((*inner, self.leaf(inner[-1].stop, level - 1)))
        return [node] if node.variance <= allowed else inner

    @cached_property
    def answers(self) -> tuple[tuple[Fraction, float], ...]:
        """What answers with 1, 2, … shares take of the loss, and their variance, the same on every machine."""
        ratios = [self.levels / shares for shares in range(1, self.levels + 1)]
        return tuple(
            (Fraction(shares, self.levels), ratio if self.power == 1 else ratio * ratio)
            for shares, ratio in enumerate(ratios, start=1)
        )

    def leaf(self, start: int, shares: int) -> Node:
        """Return the node of one period."""
        share, variance = self.answers[shares - 1]
        return Node(start, start + 1, share, variance=variance)

    def joined(self, children: tuple[Node, ...]) -> Node:
        """Return the node of consecutive nodes, with one share of its own."""
        (share, own), below = self.answers[0], math.fsum(child.variance for child in children)
        weight = below / (own + below)
        return Node(children[0].start, children[-1].stop, share, children, weight, own * weight)


def _forest_up_to(horizon: int, power: int) -> tuple[Node, ...]:
    """Return the nodes with the smallest worst variance, found by bisection for each number of levels."""
    best = _Planner(1, power, horizon).forest(1, math.inf, 0)
    worst = float(horizon)
    for levels in range(2, 2 * horizon.bit_length() + 2):
        planner = _Planner(levels, power, horizon)
        low, high = 0.0, worst * (1 - _PRECISION)
        while high - low > _PRECISION * high:
            nodes = planner.forest(levels, high, 0)
            if not nodes or nodes[-1].stop < horizon:
                break
            best, worst = nodes, high
            while high - low > _PRECISION * high:
                middle = (low + high) / 2
                nodes = planner.forest(levels, middle, 0)
                if nodes and nodes[-1].stop == horizon:
                    best, worst, high = nodes, middle, middle
                else:
                    low = middle
    return tuple(best)


def _next_root(roots: list[Node], power: int) -> Node:
    """Return the root that adds the most periods for its variance, over all numbers of levels."""
    start = roots[-1].stop if roots else 0
    allowed = _LOOK_AHEAD * math.fsum(root.variance for root in roots)
    best = _Planner(1, power, MOST_PERIODS + 1).leaf(start, 1)
    for levels in range(2, 2 * (start + 1).bit_length() + 2):
        planner = _Planner(levels, power, start + _WIDEST * (start + 2))
        inner = planner.forest(levels - 1, allowed, start)
        if inner:
            root = planner.joined((*inner, planner.leaf(inner[-1].stop, levels - 1)))
            best = max(best, root, key=lambda node: (node.stop - node.start) / node.variance)
    return best
