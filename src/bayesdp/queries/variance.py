"""The variance of clipped values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from bayesdp._support.validation import Scalar
from bayesdp.queries.averaged import Averaged
from bayesdp.queries.clipped import Clipped, Placement
from bayesdp.queries.query import Value

__all__ = ["Variance"]

_HALF_STEP = Fraction(513, 1024)
"""How far a value may be from its place on the grid, in steps: one half plus floating-point error."""


@dataclass(frozen=True)
class Variance(Averaged, Clipped):
    """The variance of values clipped to `bounds` over a public number n of records: their mean squared deviation.

    The mean divides by n, not by n − 1. The sensitivity is at most (high − low)²/n, and exactly that on the grid
    (docs/theory/accuracy.md). Leakage does not need `size`, but noise cannot be scaled without it.

    >>> Variance("height", bounds=(0, 100), size=50).sensitivity
    200.0
    >>> Variance("height", bounds=(0, 100)).condensed((1 + 2 + 6, 1 + 4 + 36), records=3)
    (14,)
    """

    size: int | None = None

    kind: ClassVar[str] = "variance"
    power: ClassVar[int] = 2

    def terms(self, placed: Any) -> tuple[Any, ...]:
        return placed, placed * placed

    def condensed(self, sums: tuple[int, ...], records: int) -> tuple[int, ...]:
        """Return n times the variance of the placed values, rounded down: one number instead of two sums.

        Let p be the places, between 0 and S. Σp² − (Σp)²/n moves by at most S²·(n − 1)/n when one place does, and by at
        most S² once it is rounded down.
        """
        total, squares = sums
        return ((records * squares - total * total) // records,)

    def moved(self, span: int) -> int:
        return span * span

    @property
    def parts_sensitivity(self) -> Fraction:
        return super().parts_sensitivity ** 2

    def worth(self, amount: Fraction, records: int) -> Fraction:
        """Convert a squared amount: noise is added to n times the variance in steps."""
        return amount * amount / records

    def assembled(self, noisy: Sequence[int], placement: Placement | None, records: int) -> Value:
        assert placement is not None
        return float(noisy[0] * self.worth(Fraction(placement.step), records))

    def rounded_by(self, step: Fraction, records: int, *, whole: bool) -> Fraction:
        """Return how far the grid can move a variance: its root moves by half a step, then it is rounded down."""
        low, high = self._ends
        moved = Fraction(0) if whole else _HALF_STEP * step * (high - low + step)
        return moved + self.worth(step, records)

    def possible(self, records: int) -> tuple[Fraction, Fraction]:
        low, high = self._ends
        return Fraction(0), (high - low) ** 2 / 4

    @property
    def not_metric(self) -> str:
        return "a variance adds squares, so the effect of a change depends on the value"

    @property
    def width(self) -> None:
        return None

    def state_values(self, states: Sequence[Scalar]) -> str:
        return "a variance is not a sum over the states: it subtracts the mean"
