"""Delete or merge: a record is left out, or merged with the target, or with the answer.

    B = J + f((A − J)₊, (C − J)₊)

J is the bound without the record, A with it merged into the target, C with it merged into the answer
(docs/theory/odds-elimination.md). Every result is rounded up.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.theorems.odds.contraction import contraction
from bayesdp.theorems.odds.sweeps import Weighed, tables

__all__ = ["ROLES", "merged", "merged_along", "work"]

_UP = 1 + 2.0**-51

ROLES = 3
"""A record is left out (0), or merged into the target (1) or into the answer (2)."""

_TARGET = 1


def merged_along(steps: Sequence[Weighed], taus: Floats) -> dict[int, Floats]:
    """Return for each target, and each τ, a bound on its leakage: records are decided in the order of the steps."""
    found = tables(
        steps,
        ROLES,
        lambda each: leaves(each.own[:, None] * taus, each.given),
        lambda table, _: combined(*np.split(table, ROLES)),
    )
    return {target: table[_TARGET] for target, table in found.items()}


def merged(changes: Floats, odds: Floats) -> Floats:
    """Return for each case, and each τ, a bound on the leakage of the first record, by the best order in each branch.

    changes: how much each record itself can change, as (cases, records, τ).
    odds:    the log odds ratio of every two records, as (cases, records, records).
    """
    cases, records, taus = changes.shape
    others = records - 1
    values = np.stack([leaves(*case) for case in zip(changes, odds, strict=True)], axis=1)
    known = values.reshape((ROLES,) * others + (ROLES, cases, taus))[..., _TARGET, :, :]
    bounds: dict[tuple[int, ...], Floats] = {(): known}
    for undecided in range(1, others + 1):
        bounds = {
            chosen: np.minimum.reduce([_decided(bounds, chosen, record) for record in chosen])
            for chosen in itertools.combinations(range(others), undecided)
        }
    return bounds[tuple(range(others))]


def work(records: int) -> int:
    """Return how many numbers `merged` computes for one case and one τ."""
    return int((records - 1) * 4 ** max(records - 2, 0))


def _decided(bounds: dict[tuple[int, ...], Floats], undecided: tuple[int, ...], record: int) -> Floats:
    """Return the bounds with `undecided` records from those in which this one of them has each of its roles."""
    known = bounds[tuple(other for other in undecided if other != record)]
    axis = record - sum(other < record for other in undecided)
    return combined(*np.moveaxis(known, axis, 0))


def combined(without: Floats, target: Floats, answer: Floats) -> Floats:
    """Return the bound from those without a record, with it in the target, and with it in the answer."""
    more = [np.maximum((other - without) * _UP, 0.0) for other in (target, answer)]
    return np.asarray((without + contraction(*more)) * _UP)


def leaves(changes: Floats, odds: Floats) -> Floats:
    """Return Σ c_a + Σ d_ab over the records a in the target and b in the answer, for all roles of all, as (roles, τ).

    Digit t of the number of a combination of roles, in base 3, is the role of the record t.
    """
    target, answer = _roles(len(odds))
    between = np.einsum("la,la->l", target @ odds, answer)
    total = np.broadcast_to(between[:, None], (len(target), changes.shape[1]))
    for inside, change in zip(target.T, changes, strict=True):
        total = total + inside[:, None] * change
    return np.asarray(total * (1 + (len(odds) ** 2 + 8) * 2.0**-52))


@lru_cache(maxsize=16)
def _roles(records: int) -> tuple[Floats, Floats]:
    """Return which records are in the target, and which in the answer, for all combinations of roles."""
    roles = np.arange(ROLES**records)[:, None] // ROLES ** np.arange(records) % ROLES
    return (roles == _TARGET).astype(np.float64), (roles > _TARGET).astype(np.float64)
