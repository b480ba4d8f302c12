"""Pairs of neighbouring tables: one record is a, or b, and the others follow the model given that value.

If a mechanism keeps ε, no output is more than e^ε times likelier for one of the two tables than for the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.audit.chain_attack_models import UnknownStretch
from bayesdp.audit.group_attack_models import conditional
from bayesdp.audit.tree_attack_models import BoundedOdds, Tree, tree_attack_model, worst_tree
from bayesdp.audit.worst_cases import NormalCase, normal_cases, settings, shown, usual_suspects
from bayesdp.errors import InvalidInputError
from bayesdp.models import (
    Chain,
    GaussianGroups,
    GaussianSeries,
    HiddenMarkov,
    MarkovChain,
    Model,
    Network,
    OddsChain,
    OddsSeries,
)
from bayesdp.queries import AnyMechanism, Query

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NeighbouringTables", "distinguished_values", "pairs_of_neighbouring_tables"]

_FEW = 6
"""Enough records on each side of a target to distinguish the tables by counting outputs."""

_MOST_STATES = 3
"""The number of states of known ends, and of values of the target, that are tried."""

Draw = Callable[[int, np.random.Generator], "NDArray[np.generic]"]


@dataclass(frozen=True, eq=False)
class NeighbouringTables:
    """Two random tables that differ in the value of one record; each function draws data sets, one per row."""

    first: Draw
    second: Draw
    who: str


def pairs_of_neighbouring_tables(model: Model, query: Query | None, tau: float) -> list[NeighbouringTables]:
    """Return pairs of neighbouring tables that a release might distinguish, under a model or any of its members.

    query: the query, if it is known; sums of normal records need its bounds.
    tau:   the τ whose worst attackers are considered.
    """
    return [
        pair for member in model.members for pair in _pairs(member, AnyMechanism() if query is None else query, tau)
    ]


@singledispatch
def _pairs(model: Model, query: Query, tau: float) -> Iterator[NeighbouringTables]:
    """Yield pairs of neighbouring tables under a type of models; by default, groups whose records are all equal."""
    yield from _of_copies(model, query, tau)


def _of_copies(model: Model, query: Query, tau: float) -> Iterator[NeighbouringTables]:
    size = model.group_size
    if size is None:
        raise InvalidInputError(f'data cannot be drawn from a model of type "{model.kind}" without a size; give it one')
    low, high = distinguished_values(query)
    who = "a record that is" if size == 1 else f"{size} records that are all"
    yield NeighbouringTables(_constant(low, size), _constant(high, size), f"{who} {shown(low)} or {shown(high)}")


def distinguished_values(query: Query) -> tuple[object, object]:
    """Return two values of a record that a query distinguishes: the bounds of a sum, or a counted and another value."""
    if query.clipped is not None and query.clipped.bounds is not None:
        low, high = query.clipped.bounds
        return low, high
    if not query.values:
        return 0, 1
    counted = query.values[0]
    others: tuple[object, ...] = (not counted,) if isinstance(counted, bool) else (0, 1, "another value")
    return next(value for value in others if value not in query.values), counted


def _constant(value: object, size: int) -> Draw:
    row = np.array([value] * size)
    return lambda runs, generator: np.broadcast_to(row, (runs, size))


@_pairs.register(MarkovChain)
def _of_chain(chain: MarkovChain, query: Query, tau: float) -> Iterator[NeighbouringTables]:
    """Yield tables around a record of a chain: for the worst attackers, and with fewer unknown records."""
    named = [setting for setting in settings(chain, query, tau) if setting.stretch is not None]
    seen = set()
    every = [(setting.stretch, setting.values) for setting in named]
    every += [
        (UnknownStretch(worst.before, worst.after), worst.values) for worst in usual_suspects(chain, _MOST_STATES)
    ]
    for stretch, values in every:
        if stretch is None or values is None or (stretch, frozenset(values)) in seen:
            continue
        seen.add((stretch, frozenset(values)))
        try:
            first, second = (_bridge(chain, stretch, value) for value in values)
        except InvalidInputError:
            continue
        names = [repr(chain.states[value]) for value in values]
        ends = [
            "no known record" if ending.boundary is None else f"a known {chain.states[ending.boundary]!r}"
            for ending in (stretch.before, stretch.after)
        ]
        yield NeighbouringTables(
            first,
            second,
            f"a record that is {names[0]} or {names[1]}, with {ends[0]} and {stretch.before.unknown} unknown records "
            f"before it and {stretch.after.unknown} unknown records and {ends[1]} after it",
        )


def _bridge(chain: MarkovChain, stretch: UnknownStretch, target: int) -> Draw:
    """Return a function that draws a stretch of a chain with the target in one state, known ends included.

    A backward pass computes the probability of what is known; a forward pass then draws one record after another.
    """
    size, memory = len(chain.states), chain.memory
    left, right = stretch.before.boundary, stretch.after.boundary
    allowed = np.ones((stretch.records + chain.unit + (0 if right is None else memory), size))
    allowed[stretch.before.unknown : stretch.before.unknown + chain.unit] = np.arange(size) == target
    if right is not None:
        allowed[-memory:] = np.arange(size) == right
    if left is None and memory > 1:
        raise InvalidInputError("a chain with a memory of several records is drawn between known records only")
    ahead = [np.ones((size,) * memory)]
    for mask in allowed[:0:-1]:
        ahead.append((chain.table * mask * ahead[-1][None]).sum(axis=-1))
    ahead.reverse()
    known = [] if left is None else [left] * memory
    begun = (chain.table[tuple(known)] if known else chain.stationary) * allowed[0] * ahead[0][tuple(known[1:])]
    kernels = [begun, *(chain.table * mask * later[None] for mask, later in zip(allowed[1:], ahead[1:], strict=True))]
    if not begun.sum() > 0:
        raise InvalidInputError("the known records cannot occur together")
    names, below = np.array(chain.states), [_cumulative(kernel) for kernel in kernels]

    def draw(runs: int, generator: np.random.Generator) -> NDArray[np.generic]:
        columns = [np.full(runs, state) for state in known]
        for place, shares in enumerate(below):
            bounds = shares if place == 0 else shares[tuple(columns[-memory:])]
            columns.append((generator.random((runs, 1)) >= bounds).sum(axis=1))
        return np.asarray(names[np.stack(columns, axis=1)])

    return draw


def _cumulative(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cumulative shares of each row of weights, without the last."""
    totals = kernel.sum(axis=-1, keepdims=True)
    return np.asarray(np.cumsum(kernel / np.where(totals > 0, totals, 1.0), axis=-1)[..., :-1])


@_pairs.register(OddsChain)
@_pairs.register(HiddenMarkov)
@_pairs.register(Network)
def _of_trees(model: BoundedOdds, query: Query, tau: float) -> Iterator[NeighbouringTables]:
    low, high = distinguished_values(query)
    for others in (2, _FEW, 2 * _FEW):
        tree = _pruned(model, tau, others)
        yield NeighbouringTables(
            _grown(tree, tau, 0, (low, high)),
            _grown(tree, tau, 1, (low, high)),
            f"a record that is {shown(low)} or {shown(high)}, and {tree.total - tree.records[0]} others that "
            "follow the worst law the odds ratios allow",
        )


@_pairs.register(OddsSeries)
def _of_series(series: OddsSeries, query: Query, tau: float) -> Iterator[NeighbouringTables]:
    low, high = distinguished_values(query)
    for others in (2, _FEW, 2 * _FEW):
        records = others + series.unit if series.length is None else min(series.length, others + series.unit)
        unknown = max(records - series.unit, 0)
        first, second = (_in_series(series, unknown, tau, value, (low, high)) for value in (-1, 1))
        yield NeighbouringTables(
            first,
            second,
            f"a record that is {shown(low)} or {shown(high)}, and {unknown} others that follow a law the odds ratios "
            "allow",
        )


def _in_series(series: OddsSeries, unknown: int, tau: float, value: int, values: tuple[object, object]) -> Draw:
    """Return a function that draws the records around the middle ones, which have one value, and these."""
    others = 2 * (np.arange(2**unknown) >> np.arange(unknown)[:, None] & 1) - 1
    laid = np.insert(others, [unknown // 2] * series.unit, value, axis=0)
    heights = -tau / 4 * laid.sum(axis=0)
    for apart, log_odds in enumerate(series.log_odds[: len(laid) - 1].tolist(), 1):
        heights = heights + log_odds / 4 * (laid[apart:] * laid[:-apart]).sum(axis=0)
    weights = np.exp(heights - heights.max())
    rows = np.array(values)[(laid.T > 0).astype(np.intp)]
    return lambda runs, generator: np.asarray(rows[generator.choice(len(rows), runs, p=weights / weights.sum())])


def _pruned(model: BoundedOdds, tau: float, others: int) -> Tree:
    """Return the worst tree of a model, cut to about `others` vertices around the target."""
    tree = worst_tree(_shortened(model, others), tau)
    kept = slice(0, 2 * others + 1)
    return Tree(tree.parents[kept], tree.log_odds[kept], tree.records[kept])


@singledispatch
def _shortened(model: Model, others: int) -> Model:
    """Return a model with at most `others` records around a target; models without a length stay as they are."""
    return model


@_shortened.register(Chain)
def _shorter_chain(model: Chain, others: int) -> Chain:
    length = others + model.unit
    return replace(model, length=length if model.length is None else min(model.length, length))


def _grown(tree: Tree, tau: float, target: int, values: tuple[object, object]) -> Draw:
    """Return a function that draws the records of a tree, given the target and the side information."""
    _, evidence = tree_attack_model(tree, tau)
    size, mass = len(tree.parents), np.ones((len(tree.parents), 2))
    chances = np.zeros((size, 2))
    for vertex in range(size - 1, 0, -1):
        root = math.exp(tree.log_odds[vertex] / 2)
        given = np.array([[root, 1.0], [1.0, root]]) * evidence[vertex] * mass[vertex]
        chances[vertex] = given[:, 1] / given.sum(axis=1)
        mass[tree.parents[vertex]] *= given.sum(axis=1) / given.sum(axis=1).max()
    names = np.array(values)

    def draw(runs: int, generator: np.random.Generator) -> NDArray[np.generic]:
        state = np.empty((runs, size), dtype=np.intp)
        state[:, 0] = target
        for vertex in range(1, size):
            state[:, vertex] = generator.random(runs) < chances[vertex][state[:, tree.parents[vertex]]]
        return np.asarray(names[np.repeat(state, tree.records, axis=1)])

    return draw


@_pairs.register(GaussianGroups)
@_pairs.register(GaussianSeries)
def _of_groups(model: GaussianGroups | GaussianSeries, query: Query, tau: float) -> Iterator[NeighbouringTables]:
    if model.protects_several:
        yield from _of_copies(model, query, tau)
        return
    if query.clipped is None or query.clipped.bounds is None or query.width is None:
        raise InvalidInputError(
            "normal records need the bounds of the query: give it as Sum(..., bounds=(low, high)) without a filter"
        )
    for case in normal_cases(model, query, tau):
        low, high = case.values
        yield NeighbouringTables(
            _normal(case, low),
            _normal(case, high),
            f"record {case.target} of {len(case.mean)} normal records, at {low:g} or {high:g}, {len(case.known)} of "
            "the others known",
        )


def _normal(case: NormalCase, value: float) -> Draw:
    unknown, slopes, left = conditional(case.covariance, case.target, case.known)
    root = np.linalg.cholesky(left + 1e-12 * np.eye(len(left))) * case.spread if len(left) else left

    def draw(runs: int, generator: np.random.Generator) -> NDArray[np.generic]:
        rows = np.tile(case.mean, (runs, 1))
        rows[:, case.target] = value
        shifts = slopes[:, -1] * (value - case.mean[case.target])
        rows[:, unknown] += shifts + generator.standard_normal((runs, len(unknown))) @ root.T
        return rows

    return draw
