"""Rounding towards privacy: leakages, scales and errors are rounded up, τ is rounded down.

Closed forms are evaluated in exact rational arithmetic (a float is a rational number) and rounded once, outward.
Transcendental functions are widened by the largest error of their library implementation (docs/numerics.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from bayesdp.errors import TooLargeError

__all__ = [
    "NEARLY_CERTAIN",
    "down",
    "exact_sum",
    "finite",
    "float_above",
    "float_below",
    "hardly_a_promise",
    "log_above",
    "nearest",
    "shown_above",
    "shown_below",
    "shown_odds",
    "shown_pair",
    "shown_remaining",
    "up",
]

_SAME = 1e-12
"""Numbers whose relative difference is below this print alike: 0.2 for the float just below it, not 0.199999."""

_LONG = 1e6
"""Larger numbers print with a power of ten; below it 2160 is easier to read than 2.16e+03."""

_DUST = 1e-6
"""A smaller share of a budget is a rounding error and cannot be spent."""

_CERTAIN = 99.99
"""Beyond this percentage, more digits of an attacker's certainty carry no information."""

_LARGE = Fraction(2) ** 1000
"""A larger fraction may overflow a float; it is divided by this before its logarithm is taken."""

_TOO_LARGE = "a result is beyond the largest floating-point number"

_LOG_ULPS = 2
"""`math.log` is within one ulp on every platform CPython supports; two are allowed."""


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
    """Return a bound that was computed in floats; TooLargeError if it overflowed."""
    if value == math.inf:
        raise TooLargeError(_TOO_LARGE)
    return value


def float_above(value: Fraction) -> float:
    """Return the smallest float that is at least the exact `value`.

    >>> float_above(Fraction(3)), float_above(Fraction(1, 3)) * 3 >= 1
    (3.0, True)
    """
    near = nearest(value)
    return finite(near if Fraction(near) >= value else up(near))


def float_below(value: Fraction) -> float:
    """Return the largest float that is at most the exact `value`."""
    near = nearest(value)
    return near if Fraction(near) <= value else down(near)


def exact_sum(values: Iterable[float]) -> Fraction:
    """Return the exact sum of finite floats.

    >>> exact_sum([0.1] * 10) == 10 * Fraction(0.1), exact_sum([])
    (True, Fraction(0, 1))
    """
    ratios = [value.as_integer_ratio() for value in values]
    common = math.lcm(*(denominator for _, denominator in ratios))
    return Fraction(sum(numerator * (common // denominator) for numerator, denominator in ratios), common)


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
    """Format a leakage, a scale or an error with `digits` significant digits, rounded up.

    >>> shown_above(1.0000001), shown_above(3.0), shown_above(2151.5, 3)
    ('1.00001', '3', '2160')
    """
    return _shown(value, digits, ROUND_CEILING)


def shown_below(value: float, digits: int = 6) -> str:
    """Format a τ with `digits` significant digits, rounded down."""
    return _shown(value, digits, ROUND_FLOOR)


def shown_remaining(amount: float, of: float) -> str:
    """Format how much remains of a budget, rounded down; a remainder that is only rounding error prints as 0.

    of: the budget, or the largest it ever was.

    >>> shown_remaining(0.5, 2.0), shown_remaining(2.22044e-16, 2.0)
    ('0.5', '0')
    """
    return "0" if amount < _DUST * of else shown_below(amount)


HARDLY_A_PROMISE = 20.0
"""The ε beyond which a promise means little: odds may change by a factor of e^20, some 500 million."""


def hardly_a_promise(epsilon: float) -> str | None:
    """Return the warning for a large ε, or None.

    >>> hardly_a_promise(1.0) is None, hardly_a_promise(25.0)
    (True, 'ε = 25 is hardly a promise any more: odds may change by a factor of e^25.')
    """
    if epsilon <= HARDLY_A_PROMISE:
        return None
    shown = shown_above(epsilon)
    return f"ε = {shown} is hardly a promise any more: odds may change by a factor of e^{shown}."


def shown_odds(epsilon: float) -> str:
    """Describe ε by an attacker who starts at 50 : 50 between two values of a record, rounded up.

    The odds change by at most e^ε, so that 50 : 50 becomes at most e^ε/(1 + e^ε).

    >>> shown_odds(1.0)
    'an attacker who starts at 50 : 50 ends at most at 73.2 : 26.8'
    >>> shown_odds(12.0)
    'an attacker who starts at 50 : 50 may become nearly certain (more than 99.99 : 0.01)'
    """
    pair = shown_pair(1 / (1 + math.exp(-epsilon)))
    if pair is None:
        return f"an attacker who starts at 50 : 50 may become {NEARLY_CERTAIN}"
    return f"an attacker who starts at 50 : 50 ends at most at {pair}"


NEARLY_CERTAIN = "nearly certain (more than 99.99 : 0.01)"
"""The certainty of an attacker beyond `_CERTAIN`, in words."""


def shown_pair(probability: float) -> str | None:
    """Format a probability as odds that sum to 100, rounded up; None if it is nearly certain.

    >>> shown_pair(0.5), shown_pair(0.73105858), shown_pair(0.999999)
    ('50 : 50', '73.2 : 26.8', None)
    """
    share = 100 * probability
    if share > _CERTAIN:
        return None
    winner = shown_above(share, 3 if share <= 99.9 else 4)
    return f"{winner} : {100 - Decimal(winner)}"


def _shown(value: float, digits: int, rounding: str) -> str:
    shown = format(value, f".{digits}g")
    if not math.isclose(float(shown), value, rel_tol=_SAME):
        rounded = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value))
        shown = format(float(rounded), f".{digits}g")
    return format(float(shown), ".0f") if "e+0" in shown and float(shown) < _LONG else shown


def nearest(value: Fraction) -> float:
    """Return the float nearest to the exact `value`; TooLargeError if there is none."""
    try:
        return float(value)
    except OverflowError:
        raise TooLargeError("a result is too large for floating-point numbers") from None
