"""What is enumerated: joint tables of a few records, checked, and τ's for which likelihoods do not underflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesdp._support import validation
from bayesdp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["array", "enumerable_tau", "joint_table"]

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
    """Return τ if likelihoods over so many records do not underflow; raises InvalidInputError otherwise."""
    tau = validation.positive("tau", tau)
    if tau * records > _LARGEST_EXPONENT:
        raise InvalidInputError(f"tau times the number of records must be at most {_LARGEST_EXPONENT} to be enumerated")
    return tau
