"""Queries that add up clipped values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any, ClassVar, Self

from bayesdp._support import validation
from bayesdp._support.messages import name_of, param
from bayesdp._support.validation import Scalar, brief
from bayesdp.errors import QueryError
from bayesdp.queries.ledger_key import LedgerKey
from bayesdp.queries.query import Query

__all__ = ["SUM_BITS", "Clipped", "Placement"]

MOST_STEPS = 2**60
"""The most steps between the bounds, so that one record's whole number and the noise fit into 64 bits."""

SUM_BITS = 62
"""Sums on a grid stay below 2^62 steps, so that sum and noise fit into 64 bits; the public size determines the grid."""

ROUNDING_SLACK = Fraction(513, 512)
"""Rounding moves a value's whole number by at most one step and a small floating-point error (docs/frames.md)."""


@dataclass(frozen=True)
class Placement:
    """Values clipped to [low, high] and rounded to origin + step·(a whole number).

    whole:   whether values and bounds are whole numbers and the step is 1, so that nothing is rounded.
    origin:  low, or 0 for a sum that records may leave (a private filter), so that leaving changes it by the value.
    """

    low: float
    high: float
    origin: float
    step: float
    whole: bool = False

    def place(self, value: float) -> int:
        """Return a value's whole number, by the same floating-point operations as in the engines.

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
        """How far replacing one record can move the sum of whole numbers, also if the record may leave the sum."""
        ends = self.place(self.low), self.place(self.high)
        return ends[1] - ends[0] if self.origin == self.low else max(abs(ends[0]), abs(ends[1]), ends[1] - ends[0])


@dataclass(frozen=True)
class Clipped(Query):
    """A query that adds values clipped to `bounds`.

    step: values are rounded to this grid before they are added; a release chooses it (docs/frames.md). The bounds must
          be a whole number of steps apart.
    """

    power: ClassVar[int] = 1
    """The highest power of the values that is summed; its sum must fit on the grid."""

    bounds: tuple[float, float] | None = None
    step: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bounds is None:
            raise QueryError(
                f"a {self.kind} needs "
                + param("bounds", like="(low, high)")
                + " to clip values to; without them one record could move the answer without limit"
            )
        try:
            low, high = self.bounds
        except (TypeError, ValueError):
            raise QueryError(name_of("bounds") + f" must be a pair (low, high), not {brief(self.bounds)}") from None
        low, high = validation.number("bounds[0]", low, QueryError), validation.number("bounds[1]", high, QueryError)
        if low >= high:
            raise QueryError(
                name_of("bounds") + f" must be in order, low < high, not ({', '.join(_distinct_texts(low, high))})"
            )
        object.__setattr__(self, "bounds", (low, high))
        if self.step is not None:
            step = validation.positive("step", self.step, QueryError)
            if self.privately_filtered and not 1 <= max(abs(low), abs(high), high - low) / step <= MOST_STEPS:
                raise QueryError(f"a step of {step:g} does not fit values between {low:g} and {high:g}")
            steps = (high - low) / step
            if not self.privately_filtered and not (steps.is_integer() and 1 <= steps <= MOST_STEPS):
                ends = ", ".join(_distinct_texts(low, high))
                raise QueryError(
                    name_of("bounds")
                    + f" must be a whole number of steps apart, at most 2^60, but ({ends}) are {steps:g}"
                )
            object.__setattr__(self, "step", step)

    @property
    def clipped(self) -> Self:
        return self

    def terms(self, placed: Any) -> tuple[Any, ...]:
        """Return what a record adds to each of the sums.

        placed: its place on the grid, a number or an engine's column.
        """
        return (placed,)

    def moved(self, span: int) -> int:
        """Return how far replacing a record moves the number that noise is added to, on a grid of `span` steps."""
        return span

    def rounded_by(self, step: Fraction, records: int, *, whole: bool) -> Fraction:
        """Return how far a grid can move the answer: half a step for each value, plus floating-point error.

        whole: whether the values are whole numbers, which are not rounded.
        """
        return Fraction(0) if whole else records * self.worth(step, records) * ROUNDING_SLACK / 2

    @property
    def origin(self) -> float:
        """The beginning of the grid: the lower bound, or 0 if records may leave the sum."""
        assert self.bounds is not None
        return 0.0 if self.privately_filtered else self.bounds[0]

    @property
    def placement(self) -> Placement | None:
        """The grid on which values are placed before they are added; None if they are added unrounded."""
        assert self.bounds is not None
        return None if self.step is None else Placement(*self.bounds, self.origin, self.step)

    @property
    def rounding(self) -> Fraction:
        if self.step is None:
            return Fraction(0)
        low, high = self._ends
        return ROUNDING_SLACK * Fraction(self.step) / (high - low)

    @property
    def most_records(self) -> int | None:
        """The most records with which a sum on a grid stays below 2^62 steps; None without a grid."""
        if self.step is None:
            return None
        low, high = self._ends
        return int(2**SUM_BITS * Fraction(self.step) / (high - low))

    @property
    def _ends(self) -> tuple[Fraction, Fraction]:
        assert self.bounds is not None
        return Fraction(self.bounds[0]), Fraction(self.bounds[1])

    @property
    def not_metric(self) -> str | None:
        if self.privately_filtered:
            return (
                f"a {self.kind} filtered by a private attribute gains or loses a whole value when a record crosses the "
                "filter; if it uses public attributes only, declare the filter public"
            )
        return None

    @property
    def width(self) -> Fraction | None:
        low, high = self._ends
        return None if self.privately_filtered else high - low

    @property
    def sensitivity(self) -> float:
        grid, unplaced = self.placement, self._unplaced
        if self.privately_filtered and grid is not None:
            return self._sensitivity_of(max(unplaced, Fraction(grid.step) * grid.span))
        return self._sensitivity_of(unplaced)

    @property
    def parts_sensitivity(self) -> Fraction:
        return self._unplaced if self.placement is None else Fraction(self.placement.span)

    @property
    def _unplaced(self) -> Fraction:
        """How far replacing one record can move the sum of clipped values that are not placed on a grid."""
        low, high = self._ends
        return max(abs(low), abs(high), high - low) if self.privately_filtered else high - low

    def possible(self, records: int) -> tuple[Fraction, Fraction]:
        """Return the range of the answer; any filter may leave records out of a sum."""
        low, high = (records * end for end in self._ends)
        if self.where is not None and not self.averaged:
            low, high = min(low, Fraction(0)), max(high, Fraction(0))
        return self.worth(low, records), self.worth(high, records)

    def state_values(self, states: Sequence[Scalar]) -> tuple[int, ...] | str:
        """Return what each state adds; with a step, in steps of the grid.

        >>> from bayesdp.queries import Sum
        >>> Sum(bounds=(0, 1), step=0.125).state_values([0, 1])
        (0, 8)
        """
        assert self.bounds is not None
        low, high = self.bounds
        words = [state for state in states if isinstance(state, str)]
        if words:
            return f"the state {words[0]!r} is not a number, so the sum is not over the states"
        numbers = [float(state) for state in states]
        if self.placement is not None:
            placed = [self.placement.place(number) for number in numbers]
            return tuple(place - min(placed) for place in placed)
        clipped = [min(max(number, low), high) for number in numbers]
        shifted = [number - min(clipped) for number in clipped]
        if not all(number.is_integer() for number in shifted):
            return "the state values are not whole numbers apart after clipping"
        return tuple(int(number) for number in shifted)

    def ledger_key(self) -> LedgerKey:
        """Return the key with the bounds and the step, if the noisy answer is ℓ1-private; else that of any question.

        >>> from bayesdp.queries import Mean, Sum
        >>> Mean("height", bounds=(0, 100), size=5).ledger_key() == Sum("height", bounds=(0, 100)).ledger_key()
        True
        """
        key = super().ledger_key()
        return key if self.width is None else replace(key, bounds=self.bounds, step=self.step)

    @property
    def description(self) -> str:
        assert self.bounds is not None
        name = self.column or "the values"
        return self._about(f"the {self.kind} of {name}, clipped to {'–'.join(_distinct_texts(*self.bounds))}")


def _distinct_texts(low: float, high: float) -> tuple[str, str]:
    """Return two numbers as texts, rounded to 15 digits unless they would look the same.

    >>> _distinct_texts(0.0, 0.1 + 0.2), _distinct_texts(1e16, 1e16 + 2)
    (('0', '0.3'), ('1e+16', '1.0000000000000002e+16'))
    """
    short = f"{low:.15g}", f"{high:.15g}"
    return short if short[0] != short[1] or low == high else (repr(low), repr(high))
