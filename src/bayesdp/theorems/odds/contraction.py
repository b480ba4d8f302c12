"""The contraction: how much of an oscillation a dependence of bounded odds transmits.

    tanh(f/4) = tanh(c/4) · tanh(d/4)

A function whose logarithm oscillates by c, averaged over a record whose law has odds ratio at most e^d, oscillates by
at most f(c, d). Every theorem of this package repeats this step (docs/theory/contraction.md).
"""

from __future__ import annotations

from typing import overload

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.errors import InvalidInputError

__all__ = ["BEYOND_DEPENDENCE", "contraction"]

BEYOND_DEPENDENCE = 2.0**60
"""A dependence adds at most its log odds to ε; to a larger float, adding a million makes no difference."""

_WIDENED = 1 + 2.0**-46
"""A bound on the joint error of NumPy's tanh, arctanh, exp and log1p (docs/theory/contraction.md)."""

_TINY = 1e-290
"""The smallest result, unless c or d is smaller: smaller products lose digits and underflow."""

_HALF = 0.5
"""Up to here the product of hyperbolic tangents is well conditioned; beyond, the logarithms are."""


@overload
def contraction(oscillation: float, log_odds: float) -> float: ...
@overload
def contraction(oscillation: Floats, log_odds: float | Floats) -> Floats: ...
@overload
def contraction(oscillation: float, log_odds: Floats) -> Floats: ...
def contraction(oscillation: float | Floats, log_odds: float | Floats) -> float | Floats:
    """Return f(c, d), rounded up and at most min(c, d), for numbers or arrays of compatible shapes.

    It is symmetric; f(c, 0) = 0 and f(c, ∞) = c exactly. Raises InvalidInputError for negative values and NaN.

    >>> round(contraction(1.0, np.log(9.0)), 6), contraction(1.0, np.inf), contraction(1.0, 0.0)
    (0.492308, 1.0, 0.0)
    """
    smaller, larger = np.minimum(oscillation, log_odds), np.maximum(oscillation, log_odds)
    if not np.all(smaller >= 0):
        raise InvalidInputError("an oscillation and the logarithm of odds are at least 0")
    passed = np.tanh(smaller / 4) * np.tanh(larger / 4)
    gap = np.where(np.isinf(larger), np.inf, larger - np.where(np.isinf(smaller), 0.0, smaller))
    steep = smaller + 2 * np.log1p(np.exp(-(smaller + larger) / 2)) - 2 * np.log1p(np.exp(-gap / 2))
    flat = 4 * np.arctanh(np.minimum(passed, _HALF))
    above = np.nextafter(np.where(passed <= _HALF, flat, steep) * _WIDENED, np.inf)
    result = np.minimum(np.maximum(above, _TINY), smaller)
    return float(result) if result.ndim == 0 else np.asarray(result)
