"""The most telling output of *any* τ-DP mechanism, by linear programming.

The likelihood of one output is a function g > 0 of the data set that changes by at most a factor e^τ when one record
does; every such function is, up to a constant, the likelihood of some output of some τ-DP mechanism. Telling two laws
of the data set apart, the worst g maximises E_more[g] / E_less[g]: a linear program.

Where the program is solved, so many constraints are tight that they connect all data sets. So the worst g is e^(τ·k)
for a *whole* number k of the data set, up to a constant. What a solver returns is rounded to that, and made private
exactly: the value is attained by a mechanism that exists, whatever the solver's tolerance.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.errors import BayesDPError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["log_ratio", "most_telling"]


def most_telling(more: NDArray[np.float64], less: NDArray[np.float64], tau: float) -> NDArray[np.float64]:
    """Return ln g, an array of their shape, for the τ-DP output whose probability differs most between two laws.

    more, less: two laws of the data set, one axis for each record. The output is likelier under `more`.

    Raises BayesDPError if the solver gives up, which no law of a few hundred data sets has made it do.

    >>> g = most_telling(np.array([0.9, 0.1]), np.array([0.2, 0.8]), tau=1.0)
    >>> float(g[0] - g[1])
    1.0
    """
    if more.size == 1:
        return np.zeros(more.shape)
    from scipy.optimize import linprog

    rows = neighbours_above(more.shape) - math.exp(tau) * neighbours_below(more.shape)
    solved: Any = linprog(
        -more.ravel(), A_ub=rows, b_ub=np.zeros(rows.shape[0]), A_eq=less.reshape(1, -1), b_eq=[1.0], method="highs-ds"
    )
    if not solved.success:
        raise BayesDPError(f"the linear program over all mechanisms was not solved: {solved.message}")
    with np.errstate(divide="ignore"):
        heights = np.log(np.maximum(solved.x.reshape(more.shape), 0.0)) / tau
    raw = _private(np.maximum(heights - heights.max(), -float(more.ndim)))
    whole = _private(np.round(raw))
    return tau * max((raw, whole), key=lambda k: log_ratio(more, less, tau * k))


def log_ratio(more: NDArray[np.float64], less: NDArray[np.float64], log_likelihood: NDArray[np.float64]) -> float:
    """Return ln E_more[g] / E_less[g] for an output of likelihood g."""
    likelihood = np.exp(log_likelihood - log_likelihood.max())
    return math.log(float((more * likelihood).sum()) / float((less * likelihood).sum()))


def _private(heights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest function below `heights` that changes by at most 1 when one record does: exact for integers.

    Along one record the result is min(height here, 1 + the least height anywhere); records one after the other give
    the minimum over all data sets of their height plus how many records differ.
    """
    for axis in range(heights.ndim):
        heights = np.minimum(heights, heights.min(axis=axis, keepdims=True) + 1)
    return heights


@lru_cache(maxsize=64)
def _pairs(shape: tuple[int, ...]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return all ordered pairs of data sets that differ in one record, by their positions."""
    places = np.arange(math.prod(shape)).reshape(shape)
    here, there = [], []
    for axis, states in enumerate(shape):
        lines = np.moveaxis(places, axis, -1).reshape(-1, states)
        for first in range(states):
            for second in range(states):
                if first != second:
                    here.append(lines[:, first])
                    there.append(lines[:, second])
    return np.concatenate(here), np.concatenate(there)


def _rows(places: NDArray[np.intp], size: int) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(places)), (np.arange(len(places)), places)), shape=(len(places), size))


@lru_cache(maxsize=64)
def neighbours_above(shape: tuple[int, ...]) -> csr_array:
    return _rows(_pairs(shape)[0], math.prod(shape))


@lru_cache(maxsize=64)
def neighbours_below(shape: tuple[int, ...]) -> csr_array:
    return _rows(_pairs(shape)[1], math.prod(shape))
