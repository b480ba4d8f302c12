"""The most telling output of *any* τ-DP mechanism, by linear programming.

The likelihood of one output is a function g > 0 of the data set that changes by at most a factor e^τ when one record
does; every such function is, up to a constant, the likelihood of some output of some τ-DP mechanism. To tell two laws
of the data set apart, the worst g maximises E_more[g] / E_less[g]: a linear program.

At its solution, the tight constraints connect all data sets. So the worst g is e^(τ·k) for a *whole* number k of the
data set, up to a constant. The solver's result is rounded to that and made exactly private: some mechanism attains the
value, whatever the solver's tolerance.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp._support import validation
from bayesdp.errors import BayesDPError, InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["array", "enumerable_tau", "joint_table", "log_ratio", "most_telling"]

_LARGEST_EXPONENT = 600


def array(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return a rectangular table of numbers; raises InvalidInputError for anything else."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be a rectangular table of numbers") from None


def joint_table(value: ArrayLike, largest: int) -> NDArray[np.float64]:
    """Return a joint law with one axis for each record; InvalidInputError if it is not one, or too large."""
    law = array("the joint table", value)
    if law.ndim < 1 or law.size == 0 or law.size > largest:
        raise InvalidInputError(f"joint tables of 1 to {largest} entries are enumerated, not of {law.size}")
    if not (np.isfinite(law).all() and (law >= 0).all() and abs(law.sum() - 1) < 1e-9):
        raise InvalidInputError("the joint table must hold probabilities that sum to 1")
    return law


def enumerable_tau(tau: float, records: int) -> float:
    """Return τ if likelihoods over that many records do not underflow; raises InvalidInputError otherwise."""
    tau = validation.positive("tau", tau)
    if tau * records > _LARGEST_EXPONENT:
        raise InvalidInputError(f"tau times the number of records must be at most {_LARGEST_EXPONENT} to be enumerated")
    return tau


def most_telling(more: NDArray[np.float64], less: NDArray[np.float64], tau: float) -> NDArray[np.float64]:
    """Return ln g, an array of their shape, for the τ-DP output whose probability differs most between two laws.

    more, less: two laws of the data set, one axis for each record. The output is likelier under `more`.

    Raises BayesDPError if the solver fails, which has not happened for any law of a few hundred data sets.

    >>> g = most_telling(np.array([0.9, 0.1]), np.array([0.2, 0.8]), tau=1.0)
    >>> float(g[0] - g[1])
    1.0
    """
    if more.size == 1:
        return np.zeros(more.shape)
    from scipy.optimize import linprog

    first, second = neighbours(more.shape)
    rows = first - math.exp(tau) * second
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
def neighbours(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return sparse matrices that select the first and the second of all ordered pairs of neighbouring data sets."""
    from scipy.sparse import csr_array

    places = np.arange(math.prod(shape)).reshape(shape)
    pairs: list[NDArray[np.intp]] = []
    for axis, states in enumerate(shape):
        lines = np.moveaxis(places, axis, 0).reshape(states, -1)
        one, other = np.nonzero(~np.eye(states, dtype=bool))
        pairs.append(np.stack([lines[one].ravel(), lines[other].ravel()]))
    first, second = (
        csr_array((np.ones(len(row)), (np.arange(len(row)), row)), shape=(len(row), places.size))
        for row in np.concatenate(pairs, axis=1)
    )
    return first, second
