"""What bounded odds alone say of a side: the contraction, record by record. Proof: docs/theory/markov-mixing.md.

Whatever is known or unknown at the end of a side — an unknown start too — one record more changes the oscillation c of
the logarithm into f(τ + c, d), d being the log odds of the transition.
"""

from __future__ import annotations

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.theorems.odds.contraction import contraction
from bayesdp.theorems.odds.sides import side

__all__ = ["contracted", "contracted_forever"]

_MOST_ROUNDS = 4096
_SETTLED = 1e-9


def contracted(taus: Floats, odds: Floats, records: int) -> Floats:
    """Return a bound on ln V of every side of 1, 2, … records, as (records, τ); `odds` is d at each τ, or for all."""
    bounds = np.empty((records, len(taus)))
    oscillation = np.zeros(len(taus))
    for index in range(records):
        oscillation, previous = contraction(taus + oscillation, odds), oscillation
        bounds[index] = oscillation
        if np.array_equal(oscillation, previous):
            bounds[index:] = oscillation
            break
    return bounds


def contracted_forever(taus: Floats, odds: Floats) -> Floats:
    """Return a bound on ln V of every side, however long, at each τ: d or the fixed point, improved step by step."""
    oscillation = np.minimum(np.broadcast_to(odds, taus.shape).astype(np.float64), side(taus, odds, None))
    for _ in range(_MOST_ROUNDS):
        oscillation, previous = np.minimum(oscillation, contraction(taus + oscillation, odds)), oscillation
        if np.all(oscillation >= previous * (1 - _SETTLED)):
            break
    return oscillation
