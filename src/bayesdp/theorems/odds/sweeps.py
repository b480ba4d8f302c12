"""Records are summed out: odds ratios first, then what each record, or each set of records, can change.

    d'_ab = d_ab + f(d_aj, d_bj),    Ψ'(S) = Ψ(S) + f(Ψ(S ∪ j) − Ψ(S), Σ_{a ∈ S} d_aj)

Single records keep Ψ({a}) only: c'_a = c_a + f(c_j, d_aj). Every result is rounded up (docs/theory/odds-elimination.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.models.network import Ties
from bayesdp.theorems.odds.contraction import contraction
from bayesdp.theorems.odds.orders import Indices, Step

__all__ = ["Weighed", "changes_of_sets", "changes_of_singles", "weighed"]

_UP = 1 + 2.0**-51
"""A sum or difference of two numbers that are not negative is off by at most half an ulp, as is this product."""


class Weighed(NamedTuple):
    """A step with numbers.

    own:     for each of its records, 1 if its own τ comes in here, else 0.
    weights: for each record summed out, the log odds ratios of those that remain with it.
    odds:    the log odds ratios of the records kept.
    """

    step: Step
    own: Floats
    weights: tuple[Floats, ...]
    odds: Floats


def weighed(ties: Ties, steps: Sequence[Step]) -> list[Weighed]:
    """Return the steps with their odds ratios, which do not depend on τ."""
    between = np.zeros((ties.size, ties.size))
    between[ties.first, ties.second] = between[ties.second, ties.first] = ties.log_odds
    done: list[Weighed] = []
    for step in steps:
        size = len(step.positions)
        own = np.array([position in step.own for position in step.positions])
        odds = np.zeros((size, size))
        if own.any():
            odds = between[np.ix_(step.positions, step.positions)] * (own[:, None] | own)
        for source, where in step.sources:
            corner = np.ix_(where, where)
            odds[corner] = (odds[corner] + done[source].odds) * _UP
        if step.without is not None:
            source, where = step.without
            corner = np.ix_(where, where)
            odds[corner] = (odds[corner] - done[source].odds) * _UP
        weights = []
        while len(odds) > step.kept:
            weight, odds = odds[:-1, -1].copy(), odds[:-1, :-1]
            odds = (odds + contraction(weight[:, None], weight)) * _UP
            np.fill_diagonal(odds, 0.0)
            weights.append(weight)
        visible = own & ties.visible[list(step.positions)]
        done.append(Weighed(step, visible.astype(np.float64), tuple(weights), odds))
    return done


def changes_of_singles(steps: Sequence[Weighed], taus: Floats) -> dict[int, Floats]:
    """Return for each target, and each τ, the largest change of each record that its step kept, as (records, τ)."""
    results: list[Floats] = []
    for step, own, weights, _ in steps:
        change = own[:, None] * taus
        for source, where in step.sources:
            change[where] = (change[where] + results[source]) * _UP
        if step.without is not None:
            source, where = step.without
            change[where] = (change[where] - results[source]) * _UP
        for weight in weights:
            change = (change[:-1] + contraction(change[-1], weight[:, None])) * _UP
        results.append(change)
    return _of_targets(steps, results)


def changes_of_sets(steps: Sequence[Weighed], taus: Floats) -> dict[int, Floats]:
    """Return the same for every set of the records kept, as (sets, τ): bit t of a set's number is for the record t."""
    results: list[Floats] = []
    for step, own, weights, _ in steps:
        size = len(step.positions)
        change = _sums(own)[:, None] * taus
        for source, where in step.sources:
            change = (change + results[source][_parts(size, tuple(where.tolist()))]) * _UP
        if step.without is not None:
            source, where = step.without
            change = (change - results[source][_parts(size, tuple(where.tolist()))]) * _UP
        for weight in weights:
            fixed, changed = np.split(change, 2)
            more = np.maximum((changed - fixed) * _UP, 0.0)
            change = (fixed + contraction(more, _sums(weight)[:, None])) * _UP
        results.append(change)
    return _of_targets(steps, results)


def _of_targets(steps: Sequence[Weighed], results: Sequence[Floats]) -> dict[int, Floats]:
    return {
        each.step.target: result for each, result in zip(steps, results, strict=True) if each.step.target is not None
    }


def _sums(values: Floats) -> Floats:
    """Return the sum over every set of the values, rounded up."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, (sums + value) * _UP])
    return sums


@lru_cache(maxsize=4096)
def _parts(size: int, where: tuple[int, ...]) -> Indices:
    """Return for every set of `size` records which of those at `where` it has, as the number of a set of these."""
    sets = np.arange(2**size)
    part = np.zeros(2**size, dtype=np.intp)
    for bit, place in enumerate(where):
        part |= (sets >> place & 1) << bit
    return part
