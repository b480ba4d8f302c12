"""The diagonal of the inverse of a banded M-matrix, from below: elimination over many stretches at once."""

from __future__ import annotations

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.models.precision import UNIT

__all__ = ["inverse_diagonal"]

_INSIDE = 2000
_BESIDE = 500
"""A stretch has 2000 records and 500 more on either side. Walks that leave it are ignored, which lowers the result."""

_STRETCHES = 500
_LESS = 1 - 8 * UNIT
_MORE = 1 + 8 * UNIT


def inverse_diagonal(strengths: Floats) -> Floats:
    """Return lower bounds on the diagonal of C⁻¹, C = 1 − strengths a nonsingular M-matrix.

    strengths: row l−1 holds the entries between records k and k + l, for each k: at least 0, the last l of them 0.

    Elimination of an M-matrix adds non-negative terms beside the diagonal and subtracts them on it; going back, the
    inverse is a sum of non-negative terms. Terms are rounded down and pivots up, so rounding lowers the result, too.

    >>> inverse_diagonal(np.array([[0.4, 0.4, 0.0]])).round(6).tolist()
    [1.235294, 1.470588, 1.235294]
    """
    size = strengths.shape[1]
    inside = max(_INSIDE, -(-size // _STRETCHES))
    begins = np.arange(0, size, inside) - _BESIDE
    places = begins[:, None] + np.arange(inside + 2 * _BESIDE)
    within = (places >= 0) & (places < size)
    chosen = np.where(within, strengths[:, np.clip(places, 0, size - 1)], 0.0)
    pivots, shares = _eliminated(np.ascontiguousarray(chosen.transpose(2, 0, 1)))
    diagonal = _back(pivots, shares)[_BESIDE : _BESIDE + inside]
    return np.asarray(diagonal.T.ravel()[:size])


def _eliminated(strengths: Floats) -> tuple[Floats, Floats]:
    """Return upper bounds on the pivots, and lower bounds on the shares that each record passes to those after it.

    strengths: by place in a stretch, distance and stretch.
    """
    places, width, stretches = strengths.shape
    pivots, shares = np.empty((places, stretches)), np.empty((places, width, stretches))
    diagonal = np.ones((width + 1, stretches))
    beside = np.zeros((width + 1, width + 1, stretches))
    for place in range(places):
        # the window holds the record to be eliminated and the `width` after it
        for distance in range(1, width + 1):
            beside[0, distance] += strengths[place, distance - 1]
        pivot, passed = diagonal[0], beside[0, 1:] * _LESS
        share = passed / pivot * _LESS
        pivots[place], shares[place] = pivot, share
        products = share[:, None] * passed[None, :] * _LESS
        diagonal[:-1] = (diagonal[1:] - np.einsum("kks->ks", products)) * _MORE
        diagonal[-1] = 1.0
        beside[:-1, :-1] = (beside[1:, 1:] + products) * _LESS
        beside[:-1, -1] = 0.0
    return pivots, shares


def _back(pivots: Floats, shares: Floats) -> Floats:
    """Return the diagonal of the inverse, from below: Z_ij = Σ_k share_ik·Z_kj, and 1/pivot more on the diagonal."""
    places, width, stretches = shares.shape
    diagonal = np.empty((places, stretches))
    window = np.zeros((width, width, stretches))
    for place in range(places - 1, -1, -1):
        share = shares[place]
        row = np.einsum("ks,kjs->js", share, window) * (1 - (2 * width + 8) * UNIT)
        own = (1 / pivots[place] + np.einsum("ks,ks->s", share, row)) * (1 - (2 * width + 8) * UNIT)
        diagonal[place] = own
        window[1:, 1:] = window[:-1, :-1].copy()
        window[0, 1:] = window[1:, 0] = row[:-1]
        window[0, 0] = own
    return diagonal
