"""Rounding towards privacy: leakages, scales and errors go up, τ goes down.

Closed forms are evaluated in exact rational arithmetic (a float is a rational number) and rounded once, outward; the
transcendental steps are widened by the ulps their library functions may be off. docs/numerics.md has the argument.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from bayesdp.errors import TooLargeError

__all__ = [
    "down",
    "exact_sum",
    "finite",
    "float_above",
    "float_below",
    "log_above",
    "shown_above",
    "shown_below",
    "shown_left",
    "up",
]

_SAME = 1e-12
"""Two figures this close relatively are written alike: 0.2 for the float just below it, not 0.199999."""

_NOTHING = 1e-9
"""A share of a budget that is not worth writing down."""

_LARGE = Fraction(2) ** 1000

_TOO_LARGE = "a result is beyond the largest floating-point number"

_LOG_ULPS = 2
"""`math.log` is within one ulp on every platform CPython supports; we allow two."""


def up(value: float, ulps: int = 1) -> float:
    """Return the float `ulps` steps above `value`."""
    for _ in range(ulps):
        value = math.nextafter(value, math.inf)
    return value


def down(value: float, ulps: int = 1) -> float:
    """Return the float `ulps` steps below `value`."""
    for _ in range(ulps):
        value = math.nextafter(value, -math.inf)
    return value


def finite(value: float) -> float:
    """Return a bound that was computed in floats, or refuse one that overflowed.

    Raises TooLargeError.
    """
    if value == math.inf:
        raise TooLargeError(_TOO_LARGE)
    return value


def float_above(value: Fraction) -> float:
    """Return the smallest float that is at least the exact `value`.

    >>> float_above(Fraction(3)), float_above(Fraction(1, 3)) * 3 >= 1
    (3.0, True)
    """
    near = _nearest(value)
    return finite(near if Fraction(near) >= value else up(near))


def float_below(value: Fraction) -> float:
    """Return the largest float that is at most the exact `value`."""
    near = _nearest(value)
    return near if Fraction(near) <= value else down(near)


def exact_sum(values: Iterable[float]) -> Fraction:
    """Return the exact sum of finite floats."""
    return sum((Fraction(value) for value in values), start=Fraction(0))


def log_above(value: Fraction) -> float:
    """Return a float at least ln(value), for an exact value of at least 1; ln 1 is exactly 0.

    >>> log_above(Fraction(1)), round(log_above(Fraction(10) ** 400), 6)
    (0.0, 921.034037)
    """
    if value == 1:
        return 0.0
    if value > _LARGE:
        return float_above(Fraction(log_above(value / _LARGE)) + Fraction(log_above(_LARGE)))
    return up(math.log(float_above(value)), _LOG_ULPS)


def shown_above(value: float, digits: int = 6) -> str:
    """Write a leakage, a scale or an error with `digits` significant digits, never less than it is.

    >>> shown_above(1.0000001), shown_above(3.0)
    ('1.00001', '3')
    """
    return _shown(value, digits, ROUND_CEILING)


def shown_below(value: float, digits: int = 6) -> str:
    """Write a τ with `digits` significant digits, never more than it is."""
    return _shown(value, digits, ROUND_FLOOR)


def shown_left(left: float, budget: float) -> str:
    """Write what is left of a budget, never more than it is; less than a billionth of the budget is nothing.

    >>> shown_left(2.22044e-16, 2.0), shown_left(0.1, 2.0)
    ('0', '0.1')
    """
    return "0" if left < _NOTHING * budget else shown_below(left)


def _shown(value: float, digits: int, rounding: str) -> str:
    nearest = format(value, f".{digits}g")
    if math.isclose(float(nearest), value, rel_tol=_SAME):
        return nearest
    rounded = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value))
    return format(float(rounded), f".{digits}g")


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise TooLargeError("its figures are too large for floating-point numbers") from None
