"""Noise on 64-bit integers: the limits of numbers and scales, and the check of arguments."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

from bayesdp._support import validation
from bayesdp._support.messages import name_of
from bayesdp.errors import InvalidInputError

__all__ = ["LARGEST_SCALE", "LARGEST_VALUE", "checked_dimension", "checked_integers"]

LARGEST_VALUE = 2**62
LARGEST_SCALE = 2**56
"""OpenDP adds the noise in exact integers and then saturates to int64 without an error. Within these two limits that
needs noise of at least 2^62 ≥ 64·scale. Discrete Laplace noise has that with probability 2p^(2^62)/(1 + p) ≤ 2e^(−64) <
2^−91 in a cell (p = e^(−1/scale)), hence less than 2^−60 in a whole answer of at most 2^31 − 1 cells; discrete Gaussian
noise with probability below e^(−2000). Saturating is post-processing: even then privacy is untouched and only the
accuracy is lost."""

_MOST_CELLS = 2**31 - 1
"""OpenDP takes the length of a vector as a 32-bit integer."""


def checked_dimension(dimension: int) -> int:
    """Return the number of values of a mechanism; InvalidInputError for an invalid one."""
    checked = validation.natural("dimension", dimension)
    if checked > _MOST_CELLS:
        raise InvalidInputError(name_of("dimension") + f" must be at most 2^31 - 1, not {checked}")
    return checked


def checked_integers(values: Sequence[int], dimension: int) -> list[int]:
    """Return `dimension` whole numbers within ±2^62; the error for others shows no value.

    >>> checked_integers([10, 0], 2)
    [10, 0]
    """
    try:
        numbers = list(values)
    except TypeError:
        raise InvalidInputError(name_of("values") + " must be a list of whole numbers") from None
    if len(numbers) != dimension:
        raise InvalidInputError(f"this mechanism takes dimension = {dimension} values, not {len(numbers)}")
    for index, value in enumerate(numbers):
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise InvalidInputError(f"values[{index}] must be a whole number, not of type {type(value).__name__}")
        numbers[index] = int(value)
        if abs(numbers[index]) > LARGEST_VALUE:
            raise InvalidInputError(f"values[{index}] lies outside ±2^62, where noise would overflow 64 bits")
    return numbers
