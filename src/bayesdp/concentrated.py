"""Zero-concentrated differential privacy in numbers: from ρ to δ at a τ, and back, rounded towards privacy.

A mechanism is ρ-zCDP if its Rényi divergence of every order α between neighbouring data sets is at most α·ρ. It is then
(τ, δ)-DP for every τ, with the δ that `delta_of_rho` returns: Canonne, Kamath and Steinke, "The Discrete Gaussian for
Differential Privacy" (2020), Corollary 13. docs/theory/approximate.md has the formula.
"""

from __future__ import annotations

import math
from fractions import Fraction

from bayesdp._support import validation
from bayesdp.rounding import down, float_above, up

__all__ = ["delta_of_rho", "largest_rho", "tau_of_rho"]

_HALVINGS = 200
"""The most halvings of a bracket: more than floats can resolve on a logarithmic scale."""

_MOST = 1e12
"""A larger ρ is not searched for."""

_ULPS = 4
"""Library functions are within one ulp; sums of three and a product add a few more (docs/numerics.md)."""

_FAR = 3000
"""The two logarithms add less than 700 each to an exponent, so that beyond this δ is 1, or below the smallest float."""

_TINY = 1e-300
"""The smallest distance of an order from 1 in the search."""


def delta_of_rho(rho: float, tau: float) -> float:
    """Return a δ for which every ρ-zCDP mechanism is (τ, δ)-DP, rounded up.

    It is the least of e^((α−1)(αρ−τ))/(α−1)·(1−1/α)^α over the orders α > 1. Each order gives a valid δ, so that only
    the value at the order found is rounded.

    >>> delta_of_rho(0.0, 1.0)
    0.0
    >>> f"{delta_of_rho(0.02, 1.0):.3e}"
    '8.825e-08'
    """
    rho, tau = validation.not_negative("rho", rho), validation.not_negative("tau", tau)
    return 0.0 if rho == 0 else _at_order(rho, tau, _best_order(rho, tau))


def largest_rho(tau: float, delta: float) -> float:
    """Return the largest ρ found for which every ρ-zCDP mechanism is (τ, δ)-DP, rounded down.

    The ρ returned was evaluated: `delta_of_rho` of it is at most δ. It is 0 if no float is small enough, and
    hardly more than 10^12, at which noise is already nothing.

    >>> rho = largest_rho(1.0, 1e-6)
    >>> delta_of_rho(rho, 1.0) <= 1e-6 < delta_of_rho(1.0001 * rho, 1.0)
    True
    """
    tau, delta = validation.positive("tau", tau), validation.positive("delta", delta)
    low, high = 0.0, min(max(tau, 1.0), math.sqrt(_MOST)) ** 2
    while delta_of_rho(high, tau) <= delta:
        if high >= _MOST:
            return high
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        point = high / 16 if low == 0 else (low + high) / 2 if low > high / 4 else math.sqrt(low) * math.sqrt(high)
        if not low < point < high:
            break
        low, high = (point, high) if delta_of_rho(point, tau) <= delta else (low, point)
    return low


def tau_of_rho(rho: float, delta: float) -> float:
    """Return a τ for which every ρ-zCDP mechanism is (τ, δ)-DP, rounded up.

    >>> tau = tau_of_rho(0.0162, 1e-6)
    >>> delta_of_rho(0.0162, tau) <= 1e-6 < delta_of_rho(0.0162, 0.9999 * tau)
    True
    """
    rho, delta = validation.not_negative("rho", rho), validation.probability("delta", delta)
    # At the order 1 + √(ln(1/δ)/ρ) the exponent alone makes δ, so that this is an upper end.
    low, high = 0.0, up(rho + 2 * math.sqrt(rho) * math.sqrt(-math.log(delta)), _ULPS)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if delta_of_rho(rho, middle) <= delta else (middle, high)
    return high


def _best_order(rho: float, tau: float) -> float:
    """Return α − 1 for the best order: there (2α−1)ρ − τ + ln(1−1/α), which rises with α, is 0."""
    low, high = _TINY, 1.0
    while _slope(rho, tau, high) < 0 and high < 1e300:
        low, high = high, 4 * high
    for _ in range(_HALVINGS):
        middle = math.sqrt(low) * math.sqrt(high)
        if high <= low * (1 + 1e-9):
            break
        low, high = (middle, high) if _slope(rho, tau, middle) < 0 else (low, middle)
    return high


def _slope(rho: float, tau: float, above_one: float) -> float:
    return (1 + 2 * above_one) * rho - tau - math.log1p(1 / above_one)


def _at_order(rho: float, tau: float, above_one: float) -> float:
    """Return the δ of one order, rounded up: its exponent exactly, its logarithms outward."""
    a = Fraction(above_one)
    exponent = a * ((1 + a) * Fraction(rho) - Fraction(tau))
    if abs(exponent) > _FAR:
        return 1.0 if exponent > 0 else up(0.0, _ULPS)
    power = (1 + a) * Fraction(down(math.log1p(down(1 / above_one)), _ULPS))
    logarithm = float_above(exponent - Fraction(_log_below(above_one)) - power)
    return 1.0 if logarithm >= 0 else min(1.0, up(math.exp(up(logarithm)), _ULPS))


def _log_below(value: float) -> float:
    return down(math.log(value), _ULPS)
