"""Sums on a grid of integers, exact in every engine and in any order of addition (docs/numerics.md)."""

from __future__ import annotations

import narwhals as nw

from bayesdp.errors import FrameError
from bayesdp.frames.source import LazyTable
from bayesdp.queries import Clipped
from bayesdp.queries.clipped import SUM_BITS, Placement

__all__ = ["FINEST_BITS", "Grid", "grid_for"]

FINEST_BITS = 40
"""At most 2^40 steps between the bounds: values are then placed exactly to 2^-10 of a step (docs/frames.md)."""

MOST_WHOLE_BITS = 50
"""Whole numbers keep step 1 up to this width: places, bounds and their differences are then exact as floats."""

_EXACT_FLOAT = 2**53
"""Floats represent every whole number up to this one exactly."""


class Grid(Placement):
    """A placement of values as an expression that engines compute."""

    def placed(self, table: LazyTable, column: str) -> nw.Expr:
        """Return the place of each value of a column, a whole number; null where it is missing."""
        if self.whole:
            clipped = table.clipped(column, int(self.low), int(self.high))
            return clipped - int(self.origin) if self.origin else clipped
        values = table.column(column) if table.kind(column) == "number" else table.column(column).cast(nw.Float64)
        clipped = values.clip(self.low, self.high)
        return ((clipped - self.origin if self.origin else clipped) / self.step + 0.5).floor().cast(nw.Int64)


def grid_for(query: Clipped, records: int, *, whole: bool, bits: int = FINEST_BITS) -> Grid:
    """Return the grid for sums over at most `records` records: with the step of the query, or the finest of 62 bits.

    whole: whether the column holds whole numbers; with whole bounds the step is then 1, if the sum fits.
    bits:  at most 2^bits steps between the bounds.

    >>> from bayesdp.queries import Sum
    >>> grid_for(Sum("height", bounds=(0, 100)), 1000, whole=True).step
    1.0
    """
    assert query.bounds is not None
    low, high = query.bounds
    origin = query.origin
    width = max(abs(low), abs(high), high - low) if query.privately_filtered else high - low
    room = (SUM_BITS - max(records, 1).bit_length()) // query.power
    exact = whole and low.is_integer() and high.is_integer() and max(abs(low), abs(high)) <= _EXACT_FLOAT
    if query.step is not None:
        step = query.step
        if not 1 <= width / step <= 2.0**room:
            raise FrameError(f"a step of {step:g} is too fine for that many records; sums must stay below 2^62 steps")
        if exact and step == 1:
            return Grid(low, high, origin, 1.0, whole=True)
        if width / step > 2.0**FINEST_BITS:
            raise FrameError(f"a step of {step:g} is finer than 2^-{FINEST_BITS} of the range, beyond exact rounding")
        return Grid(low, high, origin, step)
    if exact and int(width) < 2 ** min(room, MOST_WHOLE_BITS):
        return Grid(low, high, origin, 1.0, whole=True)
    bits = min(room, bits)
    step = width / 2.0**bits if bits > 0 else 0.0
    if not 0 < step < float("inf") or width / step != 2.0**bits:
        raise FrameError(f"values between {low:g} and {high:g} over {records} records cannot be summed exactly")
    return Grid(low, high, origin, step)
