"""Noise on 64-bit integers: the limits of numbers and scales, the check of arguments, scales and losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral

from bayesdp._support import validation
from bayesdp._support.messages import name_of
from bayesdp.errors import InvalidInputError
from bayesdp.rounding import up

__all__ = ["LARGEST_SCALE", "LARGEST_VALUE", "checked_dimension", "checked_integers", "confirmed_scale", "least_loss"]

LARGEST_VALUE = 2**62
LARGEST_SCALE = 2**56
"""OpenDP adds the noise in exact integers and then saturates to int64 without an error. Within these two limits, only
noise of at least 2^62 ≥ 64·scale saturates. Discrete Laplace noise is that large with probability 2p^(2^62)/(1 + p) ≤
2e^(−64) < 2^−91 in a cell (p = e^(−1/scale)), hence less than 2^−60 in an answer of at most 2^31 − 1 cells; discrete
Gaussian noise with probability below e^(−2000). Saturating is post-processing: it costs accuracy, not privacy."""

_MOST_CELLS = 2**31 - 1
"""OpenDP takes the length of a vector as a 32-bit integer."""

_LEAST, _MOST, _HALVINGS = 1e-300, 1e300, 60
"""The range of losses searched, and how often a bracket is halved: more often than floats resolve."""


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


def confirmed_scale(
    scale: float, loss_at: Callable[[float], float], name: str, loss: float, *, tries: int = 4
) -> float:
    """Return the scale, raised by a few floats if needed, at which OpenDP's own map is at most `loss`.

    loss_at: OpenDP's map, for a scale.
    name:    the name of the loss: "tau" or "rho".
    tries:   how many scales are tried, from the first on.

    Raises InvalidInputError if OpenDP's map has a larger error than rounding explains.
    """
    raised = scale
    for _ in range(tries):
        if loss_at(raised) <= loss:
            return raised
        raised = up(raised)
    raise InvalidInputError(f"OpenDP does not confirm {name} = {loss!r} at scale {raised!r}; choose another {name}")


def least_loss(enough: Callable[[float], bool], start: float, beta: float) -> float:
    """Return the smallest loss that is enough for an accuracy at β, where every larger one is enough, too.

    start: where the search begins.

    Raises InvalidInputError if no loss is enough.

    >>> least_loss(lambda loss: loss >= 0.3, start=5.0, beta=0.05)
    0.3
    """
    high = max(start, _LEAST)
    while not enough(high):
        high *= 2
        if high > _MOST:
            raise InvalidInputError(f"no noise is small enough for beta = {beta:g}; give a larger beta")
    low = high / 2
    while low > _LEAST and enough(low):
        low, high = low / 2, low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
