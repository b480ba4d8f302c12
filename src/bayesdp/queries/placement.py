"""Where a value goes on the grid its sum is added up on: the rule itself, once, for engines and theorems alike."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor

__all__ = ["Placement"]


@dataclass(frozen=True)
class Placement:
    """Values clipped to [low, high] and rounded to origin + step·(a whole number).

    whole:   the values and both bounds are whole numbers and the step is 1: nothing is rounded.
    origin:  low, or 0 for a sum that records may leave (a private filter): then leaving changes it by the whole value.
    """

    low: float
    high: float
    origin: float
    step: float
    whole: bool = False

    def place(self, value: float) -> int:
        """Return a value's whole number, by the same floating-point operations the engines use.

        >>> Placement(0.0, 100.0, 0.0, 0.5).place(70.3)
        141
        """
        clipped = min(max(value, self.low), self.high)
        if self.whole:
            return int(clipped) - int(self.origin)
        return floor((clipped - self.origin) / self.step + 0.5)

    def total(self, placed: int, records: int) -> Fraction:
        """Return the sum of `records` values whose whole numbers add up to `placed`, exactly."""
        return Fraction(self.origin) * records + Fraction(self.step) * placed

    @cached_property
    def span(self) -> int:
        """How far replacing one record can move the sum of whole numbers; counts records that may leave it."""
        ends = self.place(self.low), self.place(self.high)
        return ends[1] - ends[0] if self.origin == self.low else max(abs(ends[0]), abs(ends[1]), ends[1] - ends[0])
