"""Power of the tests: the probability of finding the smallest deviation that matters, and how many records that takes.

The deviations are in docs/diagnostics.md. For tables and correlations they are Cohen's small effects: w = 0.1 and a
correlation of 0.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from bayesdp.diagnostics.report import DOUBTFUL

__all__ = ["EFFECT", "ENOUGH_POWER", "Power", "chi_square", "fisher", "normal", "scaled_chi_square"]

ENOUGH_POWER = 0.8
"""Below this power, a test that finds nothing counts as no test."""

EFFECT = 0.1
"""The smallest deviation that matters in a table of counts (Cohen's w) and of a correlation."""

_MOST = 1e15
"""No table has more units: a test that needs more is called powerless."""


@dataclass(frozen=True)
class Power:
    """The probability that a test finds a deviation that matters, and how much data would make it high enough.

    curve:  the probability as a function of the number of units and the level of the test.
    have:   how many units there are.
    unit:   their name, in the plural.
    effect: the deviation, in words.

    >>> weak = Power(lambda n, level: chi_square(n, 1, level=level), 300, "transitions", "w = 0.1")
    >>> weak.enough, weak.needed
    (False, 1200)
    """

    curve: Callable[[float, float], float]
    have: int
    unit: str
    effect: str
    level: float = DOUBTFUL

    @property
    def chance(self) -> float:
        """The probability of finding the deviation in the data at hand."""
        return self.curve(self.have, self.level)

    @property
    def enough(self) -> bool:
        """Whether finding nothing is evidence that there is nothing."""
        return self.chance >= ENOUGH_POWER

    @property
    def needed(self) -> int | None:
        """How many units would be enough, rounded up to two digits; None if no number is."""
        high = 1.0
        while self.curve(high, self.level) < ENOUGH_POWER:
            high *= 2
            if high > _MOST:
                return None
        low = high / 2
        while high - low > max(0.001 * high, 0.5):
            middle = (low + high) / 2
            low, high = (middle, high) if self.curve(middle, self.level) < ENOUGH_POWER else (low, middle)
        digits: int = 10 ** max(math.floor(math.log10(high)) - 1, 0)
        return math.ceil(high / digits) * digits

    def __str__(self) -> str:
        needed = self.needed
        return (
            f"The test found nothing, but with {self.have:,} {self.unit} it would find {self.effect} with a "
            f"probability of only {min(self.chance, ENOUGH_POWER - 0.01):.2f}"
            + (f"; about {needed:,} {self.unit} are needed." if needed is not None else ".")
        )


def chi_square(size: float, freedom: int, effect: float = EFFECT, level: float = DOUBTFUL) -> float:
    """Return the power of a chi-square test of `size` counts against a deviation of Cohen's w = `effect`.

    The statistic is then noncentral chi-square with noncentrality size·w².
    """
    from scipy.special import chdtri, chndtr

    return float(1 - chndtr(chdtri(freedom, level), freedom, min(size * effect**2, 1e6 + 100 * freedom)))


def fisher(size: float, assumed: float, actual: float, level: float = DOUBTFUL) -> float:
    """Return the power of Fisher's one-sided z test of `size` pairs to tell a correlation from a smaller one.

    >>> round(fisher(1000, 0.0, 0.1), 2)
    0.8
    """
    return normal(math.sqrt(max(size - 3, 0)) * (math.atanh(actual) - math.atanh(assumed)), level)


def normal(distance: float, level: float) -> float:
    """Return the power of a one-sided test against a deviation this many standard errors away."""
    from scipy.special import ndtr, ndtri

    return float(ndtr(distance + ndtri(level)))


def scaled_chi_square(freedom: float, factor: float, level: float) -> float:
    """Return the probability that `factor` times a chi-square variable exceeds the one-sided limit of one."""
    from scipy.special import chdtrc, chdtri

    return float(chdtrc(freedom, chdtri(freedom, level) / factor))
