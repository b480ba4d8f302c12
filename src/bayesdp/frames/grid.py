"""Sums on a grid of integers: exact in every engine, whatever the order of addition (docs/numerics.md)."""

from __future__ import annotations

import narwhals as nw

from bayesdp.errors import FrameError
from bayesdp.frames.source import LazyTable
from bayesdp.queries import Clipped
from bayesdp.queries.clipped import SUM_BITS
from bayesdp.queries.placement import Placement

__all__ = ["FINEST_BITS", "Grid", "grid_for"]

FINEST_BITS = 40
"""At most 2^40 steps between the bounds: placing a value is then exact to 2^-10 of a step (docs/frames.md)."""

MOST_WHOLE_BITS = 50
"""Whole numbers keep step 1 up to this width: places and bounds are then exact as floats, with room to subtract."""

_EXACT_FLOAT = 2**53
"""Up to here every whole number is a float of its own."""


class Grid(Placement):
    """A placement that engines carry out: sums of whole numbers, in the engine."""

    def placed(self, table: LazyTable, column: str) -> nw.Expr:
        """Return the whole numbers of a column; null where a value is missing."""
        if self.whole:
            clipped = table.clipped(column, int(self.low), int(self.high))
            return clipped - int(self.origin) if self.origin else clipped
        values = table.column(column) if table.kind(column) == "number" else table.column(column).cast(nw.Float64)
        clipped = values.clip(self.low, self.high)
        return ((clipped - self.origin if self.origin else clipped) / self.step + 0.5).floor().cast(nw.Int64)


def grid_for(query: Clipped, records: int, *, whole: bool, bits: int = FINEST_BITS) -> Grid:
    """Return the grid for sums over at most `records` records: the query's step, or as fine as 62 bits allow.

    whole: the column holds whole numbers; with whole bounds the step is then 1, if it fits.
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
    if query.step is not None:
        return _stepped(query.step, low, high, origin, width, room, whole=whole)
    exact = low.is_integer() and high.is_integer() and max(abs(low), abs(high)) <= _EXACT_FLOAT
    if whole and exact and int(width) < 2 ** min(room, MOST_WHOLE_BITS):
        return Grid(low, high, origin, 1.0, whole=True)
    bits = min(room, bits)
    step = width / 2.0**bits if bits > 0 else 0.0
    if not 0 < step < float("inf") or width / step != 2.0**bits:
        raise FrameError(f"values between {low:g} and {high:g} over {records} records cannot be summed exactly")
    return Grid(low, high, origin, step)


def _stepped(step: float, low: float, high: float, origin: float, width: float, room: int, *, whole: bool) -> Grid:
    if not 1 <= width / step <= 2.0**room:
        raise FrameError(f"a step of {step:g} is too fine for that many records; sums must stay below 2^62 steps")
    exact = low.is_integer() and high.is_integer() and max(abs(low), abs(high)) <= _EXACT_FLOAT
    if whole and step == 1 and exact:
        return Grid(low, high, origin, 1.0, whole=True)
    if width / step > 2.0**FINEST_BITS:
        raise FrameError(f"a step of {step:g} is finer than 2^-{FINEST_BITS} of the range, beyond exact rounding")
    return Grid(low, high, origin, step)
