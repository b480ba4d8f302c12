"""What a stretch of a chain of bounded odds adds to the leakage of a record at its end (docs/theory/odds-chain.md).

c₀ = 0, cₖ₊₁ = f(τ + cₖ, d): k contractions in a row. In √e^c − 1 = δ/m they are a matrix with positive entries, so its
k-th power takes log k products and loses no digits to cancellation.
"""

from __future__ import annotations

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.theorems.odds.contraction import contraction

__all__ = ["contracted", "contracted_forever", "leakage_of_any_length", "side", "tau_of_any_length"]

_WIDENED = 1 + 2.0**-44
"""A bound on the joint error of the elementary functions (docs/theory/odds-chain.md, How it is computed)."""

_ULPS_A_RECORD = 2.0**-47
"""A bound on what each record of a stretch adds to the relative error of a power: 32 ulps, of which 16 are needed."""

_LARGE = 30.0
"""For y ≥ e^30, asinh(y) rounds to ln 2y."""

_TINY = 1e-290
"""A smaller τ is replaced by this one, so that no intermediate result underflows to zero."""

_MOST_ROUNDS = 4096
_SETTLED = 1e-9


def leakage_of_any_length(tau: Floats, log_odds: float | Floats) -> Floats:
    """Return 4·asinh(√θ·sinh(τ/4)) for each τ, rounded up: the leakage of one record of a chain of any length.

    >>> leakage_of_any_length(np.array([1.0]), np.log(9.0)).round(6).tolist()
    [2.79762]
    """
    quarter = np.maximum(tau, _TINY) / 4
    with np.errstate(over="ignore"):
        direct = np.exp(log_odds / 2) * np.sinh(quarter)
        logarithm = log_odds / 2 + quarter + np.log(-np.expm1(-2 * quarter))
        small = 4 * np.arcsinh(np.where(logarithm < _LARGE, direct, 0.0))
        return np.nextafter(np.where(logarithm < _LARGE, small, 4 * logarithm) * _WIDENED, np.inf)


def tau_of_any_length(epsilon: float, log_odds: float) -> float:
    """Return 4·asinh(sinh(ε/4)/√θ), the inverse of `leakage_of_any_length` at an ε lowered by what that adds.

    The leakage at the result may still exceed ε by a few floats if √θ is very large.
    """
    quarter = max(epsilon, _TINY) / _WIDENED**2 / 4
    logarithm = quarter + np.log(-np.expm1(-2 * quarter)) - log_odds / 2
    if logarithm < _LARGE:
        return float(4 * np.arcsinh(np.exp(logarithm) / 2))
    return float(4 * logarithm)


def side(tau: Floats, log_odds: float | Floats, records: int | None) -> Floats:
    """Return what `records` neighbours on one side add to the leakage, for each τ, rounded up; None: any number.

    log_odds: one number, or one for each τ.

    >>> side(np.array([1.0]), np.log(9.0), 1).round(6).tolist()
    [0.492308]
    """
    unlimited = (leakage_of_any_length(tau, log_odds) - tau) / 2
    if records is None:
        return np.nextafter(unlimited, np.inf)
    loose, quick = np.exp(-log_odds / 2), np.exp(-tau / 2)
    tied, steep = -np.expm1(-log_odds / 2), -np.expm1(-tau / 2)
    tied, loose = np.broadcast_to(tied, tau.shape), np.broadcast_to(loose, tau.shape)
    power = _power((tied, tied * steep, loose, loose + quick), records)
    with np.errstate(divide="ignore", over="ignore"):
        ratio = power[1] / power[3]
    grown = 2 * np.log1p(ratio) * (1 + _ULPS_A_RECORD * (records + 1)) * _WIDENED
    return np.minimum(np.nextafter(grown, np.inf), np.nextafter(unlimited, np.inf))


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


Four = tuple[Floats, Floats, Floats, Floats]


def _power(matrix: Four, exponent: int) -> Four:
    """Return a power of 2×2 matrices with positive entries, up to a positive factor."""
    one, zero = np.ones_like(matrix[0]), np.zeros_like(matrix[0])
    result: Four = (one, zero, zero, one)
    while exponent:
        if exponent & 1:
            result = _product(result, matrix)
        matrix = _product(matrix, matrix)
        exponent >>= 1
    return result


def _product(left: Four, right: Four) -> Four:
    """Return a product of 2×2 matrices, scaled so that its largest entry lies between 1/2 and 1."""
    a, b, c, d = left
    e, f, g, h = right
    product = (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)
    _, exponent = np.frexp(np.maximum.reduce(product))
    p, q, r, s = (np.ldexp(entry, -exponent) for entry in product)
    return p, q, r, s
