"""Would a test have seen it? The chance to find the smallest deviation that matters, and how many records that takes.

The deviations are in docs/diagnostics.md. Those of tables and of correlations are Cohen's small effects: w = 0.1 and a
correlation of 0.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from bayesdp.diagnostics.report import DOUBTFUL

__all__ = ["EFFECT", "ENOUGH_POWER", "Power", "chi_square", "fisher", "normal", "scaled_chi_square"]

ENOUGH_POWER = 0.8
"""A test that finds a deviation that matters with less than this probability has not tested anything."""

EFFECT = 0.1
"""The smallest deviation that matters in a table of counts (Cohen's w) and of a correlation."""

_MOST = 1e15
"""So many units nobody has: a test that needs more has no power at all."""


@dataclass(frozen=True)
class Power:
    """The chance of a test to see a deviation that matters, and how much data would make it enough.

    curve:  the chance as a function of the number of units.
    have:   how many units there are.
    unit:   what is counted, in the plural.
    effect: the deviation, in words.

    >>> weak = Power(lambda n: chi_square(n, 1), 300, "transitions", "w = 0.1")
    >>> weak.enough, weak.needed
    (False, 1200)
    """

    curve: Callable[[float], float]
    have: int
    unit: str
    effect: str

    @property
    def chance(self) -> float:
        """The probability to see the deviation with what there is."""
        return self.curve(self.have)

    @property
    def enough(self) -> bool:
        """Whether seeing nothing means something."""
        return self.chance >= ENOUGH_POWER

    @property
    def needed(self) -> int | None:
        """How many units would be enough, in two digits; None if no number is."""
        high = 1.0
        while self.curve(high) < ENOUGH_POWER:
            high *= 2
            if high > _MOST:
                return None
        low = high / 2
        while high - low > max(0.001 * high, 0.5):
            middle = (low + high) / 2
            low, high = (middle, high) if self.curve(middle) < ENOUGH_POWER else (low, middle)
        digits: int = 10 ** max(math.floor(math.log10(high)) - 1, 0)
        return math.ceil(high / digits) * digits

    def __str__(self) -> str:
        needed = self.needed
        return (
            f"Nothing was seen, but with {self.have:,} {self.unit} the test would see {self.effect} with probability "
            f"{min(self.chance, ENOUGH_POWER - 0.01):.2f} only"
            + (f"; about {needed:,} {self.unit} would be needed." if needed is not None else ".")
        )


def chi_square(size: float, freedom: int, effect: float = EFFECT, level: float = DOUBTFUL) -> float:
    """Return the power of a chi-square test of `size` counts against a deviation of Cohen's w = `effect`.

    The statistic is then noncentral chi-square with noncentrality size·w².
    """
    from scipy.special import chdtri, chndtr

    return float(1 - chndtr(chdtri(freedom, level), freedom, min(size * effect**2, 1e6 + 100 * freedom)))


def fisher(size: float, assumed: float, actual: float, level: float = DOUBTFUL) -> float:
    """Return the power of Fisher's z test of `size` pairs to tell a correlation from a smaller one; one-sided.

    >>> round(fisher(1000, 0.0, 0.1), 2)
    0.8
    """
    return normal(math.sqrt(max(size - 3, 0)) * (math.atanh(actual) - math.atanh(assumed)), level)


def normal(distance: float, level: float) -> float:
    """Return the power of a one-sided test against a deviation this many standard errors away."""
    from scipy.special import ndtr, ndtri

    return float(ndtr(distance + ndtri(level)))


def scaled_chi_square(freedom: float, factor: float, level: float) -> float:
    """Return the chance that `factor` times a chi-square variable exceeds the one-sided limit of one."""
    from scipy.special import chdtrc, chdtri

    return float(chdtrc(freedom, chdtri(freedom, level) / factor))
