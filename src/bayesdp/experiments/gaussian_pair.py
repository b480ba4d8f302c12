"""The true leakage of a clipped sum of two normal records, by numerical integration: evidence for an erratum."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp._support import validation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["gaussian_pair"]


def gaussian_pair(
    covariance: ArrayLike,
    *,
    mean: Sequence[float],
    bounds: tuple[float, float],
    tau: float,
    values: tuple[float, float],
) -> float:
    """Return the true leakage of a clipped sum of two normal records with Laplace noise, by numerical integration.

    The target is either record, at the two `values`, with the other record unknown or known. The supremum over outputs
    is searched on a grid over all possible sums and refined. This function does not use the lemma that it tests.
    """
    matrix = np.asarray(covariance, dtype=np.float64)
    low, high = bounds
    scale = (high - low) / validation.positive("tau", tau)
    worst = abs(min(max(values[0], low), high) - min(max(values[1], low), high)) / scale
    for target in (0, 1):
        slope = matrix[0, 1] / matrix[target, target]
        deviation = math.sqrt(matrix[1 - target, 1 - target] - slope * matrix[0, 1])
        first, second = (
            _log_density(value, mean[1 - target] + slope * (value - mean[target]), deviation, (low, high), scale)
            for value in values
        )
        worst = max(worst, _largest_difference(first, second, (2 * low, 2 * high)))
    return worst


def _log_density(
    value: float, mean: float, deviation: float, bounds: tuple[float, float], scale: float
) -> Callable[[float], float]:
    """Return ln of the output density given one record's value, up to a constant, as a function of the output."""
    from scipy.integrate import quad
    from scipy.special import ndtr

    low, high = bounds
    own = min(max(value, low), high)
    at_low, at_high = float(ndtr((low - mean) / deviation)), float(ndtr((mean - high) / deviation))

    def density(y: float) -> float:
        def integrand(other: float) -> float:
            standard = (other - mean) / deviation
            normal = math.exp(-0.5 * standard * standard) / (deviation * math.sqrt(2 * math.pi))
            return math.exp(-abs(y - own - other) / scale) * normal

        corners = sorted({low, high, *(point for point in (y - own, mean) if low < point < high)})
        inside = sum(
            quad(integrand, left, right, epsabs=0, epsrel=1e-11, limit=200)[0]
            for left, right in itertools.pairwise(corners)
        )
        edges = at_low * math.exp(-abs(y - own - low) / scale) + at_high * math.exp(-abs(y - own - high) / scale)
        return math.log(inside + edges)

    return density


def _largest_difference(
    first: Callable[[float], float], second: Callable[[float], float], span: tuple[float, float]
) -> float:
    """Return the largest |first − second| on an interval: the best of a grid, refined between its neighbours."""
    from scipy.optimize import minimize_scalar

    def gap(y: float) -> float:
        return abs(first(y) - second(y))

    grid = np.linspace(*span, 41)
    values = [gap(float(point)) for point in grid]
    best = int(np.argmax(values))
    near = (float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)]))
    refined: Any = minimize_scalar(lambda y: -gap(y), bounds=near, method="bounded")
    return max(values[best], float(-refined.fun))
