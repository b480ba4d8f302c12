"""Releases of many data sets at once, with noise for simulations only."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.accuracy import least_gaussian_scale
from bayesdp.losses import ConcentratedLoss, PureLoss
from bayesdp.models import Model
from bayesdp.queries import Query

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["simulated_release"]


def simulated_release(
    model: Model, query: Query, loss: PureLoss | ConcentratedLoss, generator: np.random.Generator
) -> Callable[[NDArray[Any]], NDArray[np.float64]] | None:
    """Return a function that answers a query for many data sets, a row each, with noise for simulations only.

    loss: a τ for Laplace noise, a ρ for Gaussian.

    Means and proportions are answered as sums and counts, which leak the same. Returns None for a query that is
    answered in another way or does not suit the records: a sum of texts, a count of normal records.
    """
    clipped, cells = query.clipped, query.cells_asked()
    texts = any(isinstance(state, str) for state in model.states)
    if texts if clipped is not None else model.metric:
        return None

    def noise(moved: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        if isinstance(loss, PureLoss):
            return generator.laplace(scale=moved / loss.tau, size=shape)
        return generator.normal(scale=least_gaussian_scale(query.in_l2(Fraction(moved)), loss.rho), size=shape)

    if clipped is not None and clipped.bounds is not None and query.width is not None and clipped.power == 1:
        low, high = clipped.bounds

        def noisy_sum(data_sets: NDArray[Any]) -> NDArray[np.float64]:
            exact = np.clip(np.asarray(data_sets, dtype=np.float64), low, high).sum(axis=1)
            return np.asarray(exact + noise(high - low, exact.shape))

        return noisy_sum
    if not cells or query.made_elsewhere or query.thresholds:
        return None

    def noisy_counts(data_sets: NDArray[Any]) -> NDArray[np.float64]:
        exact = np.stack([np.isin(data_sets, cell).sum(axis=1) for cell in cells], axis=1)
        return np.asarray(exact + noise(float(query.parts_sensitivity), exact.shape))

    return noisy_counts
