"""How much reaches a record over all walks through a network of bounded odds (docs/theory/odds-network.md).

T_jk = tanh(d_jk/4), R = (I − T)⁻¹. Walks from anywhere that meet record i only at their end have the sum Σ_j R_ji/R_ii.
Solutions are computed approximately, then bounded by their residuals.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp._support.arrays import Floats
from bayesdp.models.network import Network, Ties
from bayesdp.models.odds import log_odds_above

__all__ = ["Walks", "share_passed", "walks"]

_UNIT = 2.0**-53
_WIDENED = 1 + 2.0**-48
_INVERTED = 1000
"""The most positions for which the inverse is computed; beyond, only walks of up to four steps that return."""

_MOST_PRODUCTS = 2**24
_LESS = 1 - 2.0**-26
"""Several times the relative rounding error of a sum of that many products."""

_ITERATIONS = 2000
_POWERS = 50
_WORST_RESIDUAL = 0.5


class Walks(NamedTuple):
    """Sums over the dependences of a network, rounded up.

    beyond:    the largest sum of walks from other records that meet a record only at their end.
    strongest: the largest log odds ratio; around: the largest sum of the log odds ratios of one record.
    """

    beyond: float
    strongest: float
    around: float


@lru_cache(maxsize=8)
def walks(network: Network) -> Walks | str:
    """Return the sums of a network, or the reason why the sum over walks is not finite."""
    return _of_any_network(network) if network.edges is None else _of_edges(network.ties)


def _of_any_network(network: Network) -> Walks | str:
    """Return bounds for every network of these odds and degree: none has more walks than the regular tree."""
    assert network.odds is not None
    assert network.degree is not None
    strongest, degree = float(log_odds_above(np.array(network.odds))), network.degree
    share = float(share_passed(np.array(strongest)))
    total = degree * share * _WIDENED
    if total >= 1:
        return (
            "the dependences are too strong for it: the degree times tanh(ln(odds)/4) must be below 1, and is "
            f"{total:.3g}"
        )
    back = 2 * share**2 / (1 + math.sqrt(max(1 - 4 * (degree - 1) * share**2, 0.0)))
    beyond = degree * (share - back) / (1 - total)
    return Walks(beyond * (1 + 2.0**-44 / (1 - total)), strongest, degree * strongest * _WIDENED)


def _of_edges(ties: Ties) -> Walks | str:
    from scipy.sparse import csr_array

    if not ties.visible.any():
        return Walks(0.0, 0.0, 0.0)
    ends = (np.concatenate([ties.first, ties.second]), np.concatenate([ties.second, ties.first]))
    both = np.concatenate([ties.log_odds, ties.log_odds])
    step: Any = csr_array((share_passed(both), ends), shape=(ties.size, ties.size))
    everywhere = _solved(step, np.ones(ties.size), ties.degrees)
    reached = everywhere[0]
    if not (reached > 0).all() or not everywhere[1] < _WORST_RESIDUAL:
        return _too_strong(step)
    # (I − T)S ≥ 1 − η > 0 at a positive S: all walks together converge, and R·1 ≤ S/(1 − η)
    reached = reached / (1 - everywhere[1]) * _WIDENED
    if ties.visible.all():
        recorded = reached
    else:
        solution, residual = _solved(step, ties.visible.astype(np.float64), ties.degrees)
        recorded = solution + residual * reached * _WIDENED
    returning = _returning(step, reached)
    beyond = (recorded / returning - 1)[ties.visible] + 8 * _UNIT * (recorded / returning)[ties.visible]
    around = np.bincount(ends[0], weights=both)[ties.visible] * (1 + 2 * _UNIT * int(ties.degrees.max() + 2))
    return Walks(float(max(beyond.max(), 0.0)), float(both.max()), float(around.max()))


def share_passed(log_odds: Floats) -> Floats:
    """Return tanh(d/4), rounded up: the largest share of an oscillation that passes."""
    return np.minimum(np.tanh(log_odds / 4) * _WIDENED, 1.0)


def _solved(step: Any, source: Floats, degrees: NDArray[np.intp]) -> tuple[Floats, float]:
    """Return x near (I − T)⁻¹·source, and a bound on the largest entry of |source − (I − T)x|."""
    from scipy.sparse.linalg import LinearOperator, cg

    shape = (len(source), len(source))
    system = LinearOperator(shape, matvec=lambda x: x - step @ x, dtype=np.float64)
    with np.errstate(all="ignore"):
        x: Floats = cg(system, source, rtol=1e-13, atol=0.0, maxiter=_ITERATIONS)[0]
        moved = step @ x
        residual = source - x + moved
        rounding = (degrees + 4) * _UNIT * (source + np.abs(x) + step @ np.abs(x)) * 2
        return x, float((np.abs(residual) + rounding).max())


def _returning(step: Any, reached: Floats) -> Floats:
    """Return lower bounds on R_ii, the sum of the walks that return to i: all of them, or those of up to four steps."""
    size = len(reached)
    if size <= _INVERTED:
        dense = step.toarray()
        inverse = np.linalg.inv(np.eye(size) - dense)
        residual = np.abs(np.eye(size) - inverse + dense @ inverse)
        residual += 2 * (size + 4) * _UNIT * (np.eye(size) + np.abs(inverse) + dense @ np.abs(inverse))
        return np.asarray(np.maximum(np.diag(inverse) - residual.max(axis=0) * reached * _WIDENED, 1.0))
    first = twice = np.asarray(step.multiply(step).sum(axis=1)).ravel()
    if int((np.diff(step.indptr).astype(np.int64) ** 2).sum()) <= _MOST_PRODUCTS:
        pairs = step @ step
        thrice, four = (np.asarray(pairs.multiply(other).sum(axis=1)).ravel() for other in (step, pairs))
        first = twice + thrice + np.maximum(four - twice**2, 0.0)
    return np.asarray(1 / (1 - first * _LESS))


def _too_strong(step: Any) -> str:
    """Return why the sum over walks is not finite, with a Rayleigh quotient as a lower bound on the spectral radius."""
    vector = np.ones(step.shape[0])
    for _ in range(_POWERS):
        vector = step @ vector
        vector /= np.linalg.norm(vector)
    radius = float(vector @ (step @ vector))
    if radius >= 1:
        return (
            "the dependences are too strong for it: walks through the network add up only if the spectral radius of "
            f"tanh(ln(odds)/4) is below 1, and it is {radius:.3g}"
        )
    return f"the spectral radius of tanh(ln(odds)/4) is too close to 1 ({radius:.6g}) for a certified sum over walks"
