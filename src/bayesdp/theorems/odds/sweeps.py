"""Records are summed out: odds ratios first, then what each record, or each set of records, can change.

    d'_ab = d_ab + f(d_aj, d_bj),    Ψ'(S) = Ψ(S) + f(Ψ(S ∪ j) − Ψ(S), Σ_{a ∈ S} d_aj)

Single records keep Ψ({a}) only: c'_a = c_a + f(c_j, d_aj). Every result is rounded up. The proof is in
docs/theory/odds-elimination.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.models.network import Ties
from bayesdp.theorems.odds.contraction import contraction
from bayesdp.theorems.odds.orders import Indices, Step

__all__ = [
    "SETS",
    "Weighed",
    "change_without",
    "changes_of_sets",
    "changes_of_singles",
    "odds_of_sets",
    "odds_without",
    "rows",
    "sums",
    "tables",
    "weighed",
]

_UP = 1 + 2.0**-51
"""Rounds a sum or a difference up: it is off by at most 2⁻⁵³ of itself, and so is its product with this."""

SETS = 2
"""A record is outside a set (0) or in it (1)."""

_MOST_KEPT = 2**12
"""The most rows of a table whose agreement with other tables is kept for later."""


class Weighed(NamedTuple):
    """A step with numbers.

    own:     for each of its records, 1 if its own τ comes in here, else 0.
    given:   the log odds ratios that come in here, as they were before anything was summed out.
    weights: for each record summed out, the log odds ratios of those that remain with it.
    odds:    the log odds ratios of the records kept.
    """

    step: Step
    own: Floats
    given: Floats
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
        given = np.zeros((size, size))
        if own.any():
            given = between[np.ix_(step.positions, step.positions)] * (own[:, None] | own)
        odds = given.copy()
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
            odds = odds_without(odds, weight)
            np.fill_diagonal(odds, 0.0)
            weights.append(weight)
        visible = own & ties.visible[list(step.positions)]
        done.append(Weighed(step, visible.astype(np.float64), given, tuple(weights), odds))
    return done


def changes_of_singles(steps: Sequence[Weighed], taus: Floats) -> dict[int, Floats]:
    """Return for each target, and each τ, the largest change of each record that its step kept, as (records, τ)."""
    results: list[Floats] = []
    for step, own, _, weights, _ in steps:
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

    def added(each: Weighed) -> Floats:
        return np.asarray(sums(each.own)[:, None] * taus)

    return tables(steps, SETS, added, change_without)


def tables(
    steps: Sequence[Weighed],
    states: int,
    added: Callable[[Weighed], Floats],
    summed_out: Callable[[Floats, Floats], Floats],
) -> dict[int, Floats]:
    """Return for each target a table with a row for each combination of states of the records that its step kept.

    The state of a record is one of `states`; digit t of a row's number, in that base, is the state of the record t.

    added:      from a step to the table of what comes in with it.
    summed_out: from a table and the odds of its last record with the others to the table without that record.
    """
    results: list[Floats] = []
    for each in steps:
        step, size = each.step, len(each.step.positions)
        table = added(each)
        for source, where in step.sources:
            table = (table + results[source][rows(states, size, tuple(where.tolist()))]) * _UP
        if step.without is not None:
            source, where = step.without
            table = (table - results[source][rows(states, size, tuple(where.tolist()))]) * _UP
        for weight in each.weights:
            table = summed_out(table, weight)
        results.append(table)
    return _of_targets(steps, results)


def change_without(change: Floats, weight: Floats) -> Floats:
    """Return the table of the changes of sets without the last record; `weight` has its odds with the others."""
    fixed, changed = np.split(change, SETS)
    more = np.maximum((changed - fixed) * _UP, 0.0)
    return np.asarray((fixed + contraction(more, odds_of_sets(weight)[:, None])) * _UP)


def odds_without(odds: Floats, weight: Floats) -> Floats:
    """Return the log odds ratios of records once another is summed out; `weight` has those of each with the other."""
    return np.asarray((odds + contraction(weight[:, None], weight)) * _UP)


def odds_of_sets(weight: Floats) -> Floats:
    """Return for every set of records by how much, at most, its values change the log odds of the record summed out."""
    return sums(weight)


def _of_targets(steps: Sequence[Weighed], results: Sequence[Floats]) -> dict[int, Floats]:
    return {
        each.step.target: result for each, result in zip(steps, results, strict=True) if each.step.target is not None
    }


def sums(values: Floats) -> Floats:
    """Return the sum over every set of the values, rounded up."""
    total = np.zeros(1)
    for value in values:
        total = np.concatenate([total, (total + value) * _UP])
    return total


def rows(states: int, size: int, where: tuple[int, ...]) -> Indices:
    """Return for every row of a table of `size` records which row of a table of those at `where` it agrees with."""
    return (_kept_rows if states**size <= _MOST_KEPT else _rows)(states, size, where)


def _rows(states: int, size: int, where: tuple[int, ...]) -> Indices:
    worth = {place: states**digit for digit, place in enumerate(where)}
    row = np.zeros(1, dtype=np.intp)
    for place in range(size):
        row = np.concatenate([row + state * worth.get(place, 0) for state in range(states)])
    return row


_kept_rows = lru_cache(maxsize=4096)(_rows)
