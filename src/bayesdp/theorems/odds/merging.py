"""Delete or merge: a record is left out, or joined with the target, or with the answer.

    B = J + f((A − J)₊, (C − J)₊)

J is the bound without the record, A with it merged into the target, C with it merged into the answer
(docs/theory/odds-elimination.md). Every order of the records gives a bound; the best one is found for every branch.
"""

from __future__ import annotations

import itertools

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.theorems.odds.contraction import contraction

__all__ = ["merged", "work"]

_UP = 1 + 2.0**-51

_ROLES = 3
"""A record is left out (0), merged into the target (1) or into the answer (2)."""


def merged(changes: Floats, odds: Floats) -> Floats:
    """Return for each case, and each τ, a bound on the leakage of the first record, rounded up, as (cases, τ).

    changes: how much each record itself can change, as (cases, records, τ).
    odds:    the log odds ratio of every two records, as (cases, records, records).
    """
    cases, records, taus = changes.shape
    others = records - 1
    leaves = _leaves(changes, odds).reshape((_ROLES,) * others + (cases, taus))
    bounds = {(): leaves}
    for undecided in range(1, others + 1):
        bounds = {
            chosen: np.minimum.reduce([_decided(bounds, chosen, record) for record in chosen])
            for chosen in itertools.combinations(range(others), undecided)
        }
    return bounds[tuple(range(others))]


def work(records: int) -> int:
    """Return how many numbers are computed for one case and one τ."""
    return (records - 1) * 4 ** max(records - 2, 0)


def _decided(bounds: dict[tuple[int, ...], Floats], undecided: tuple[int, ...], record: int) -> Floats:
    """Return the bounds with `undecided` records from those in which this one of them has each of its roles."""
    known = bounds[tuple(other for other in undecided if other != record)]
    axis = record - sum(other < record for other in undecided)
    without, target, answer = np.moveaxis(known, axis, 0)
    more = [np.maximum((other - without) * _UP, 0.0) for other in (target, answer)]
    return np.asarray((without + contraction(*more)) * _UP)


def _leaves(changes: Floats, odds: Floats) -> Floats:
    """Return Σ c_a + Σ d_ab over the records a merged into the target and b into the answer, for all roles of all."""
    cases, records, taus = changes.shape
    roles = np.array(list(itertools.product(range(_ROLES), repeat=records - 1)))
    roles = roles.reshape(_ROLES ** (records - 1), records - 1)
    inside = np.concatenate([np.ones((len(roles), 1)), roles == 1], axis=1)
    answer = np.concatenate([np.zeros((len(roles), 1)), roles == 2], axis=1)
    between = np.einsum("la,cab,lb->lc", inside, odds, answer, optimize=True)
    own = np.einsum("la,cat->lct", inside, changes, optimize=True)
    return np.asarray((own + between[:, :, None]) * (1 + (records**2 + 8) * 2.0**-52))
