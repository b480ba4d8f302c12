"""What a clock showed at a record: the time of day, the weekday and the month, from the columns that order a chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw

from bayesdp.frames.source import plain
from bayesdp.frames.transitions import Sequences

__all__ = ["Clock", "clocks"]

BANDS = 24
"""A column of numbers that is used as a clock is cut into so many equal bands."""

MOST_VALUES = 1500
"""A column with more values than this is no clock; a day has 1,440 minutes."""


@dataclass(frozen=True)
class Clock:
    """Something that may matter: its name, and what it showed at the record before (`b0`, `b1`, … are its order)."""

    name: str
    showed: nw.Expr


def clocks(chains: Sequences) -> list[Clock]:
    """Return the clocks that the order of a chain holds; none if that has neither times nor a column that recurs.

    The first column of dates or times gives weekday, season and time of day. A later column of at most 1,500 different
    values, such as the interval of the day beside a date, gives the time of day if the first shows but one.
    """
    of_times: list[Clock] = []
    for i, order in enumerate(chains.orders):
        if chains.table.kind(order) == "time":
            before, timed = nw.col(f"b{i}").dt, isinstance(chains.table.schema[order], nw.Datetime)
            of_times = [
                Clock("time of day", before.hour() if timed else nw.lit(0)),
                Clock("weekday", before.weekday()),
                Clock("season", before.month()),
            ]
            break
    recurring = [_recurring(chains, i) for i in range(1, len(chains.orders))]
    return of_times + [clock for clock in recurring if clock is not None]


def _recurring(chains: Sequences, i: int) -> Clock | None:
    """Return a later order column as a clock, if it has few values."""
    order, before = f"o{i}", nw.col(f"b{i}")
    kind = chains.table.kind(order)
    if kind == "time":
        return None

    def different(frame: Any) -> Any:
        return frame.select(order).group_by(order).agg(nw.len().alias("n")).select(order).head(MOST_VALUES + 1)

    values = {plain(row[0]) for part in chains.table.parts(different) for row in part} - {None}
    if not 1 < len(values) <= MOST_VALUES:
        return None
    if len(values) <= BANDS:
        return Clock("time of day", before)
    numbers = [value for value in values if isinstance(value, int | float)]
    if kind not in ("whole", "number") or len(numbers) < len(values):
        return None
    low, width = float(min(numbers)), (max(numbers) - min(numbers)) / BANDS
    return Clock("time of day", ((before.cast(nw.Float64) - low) / width).floor().clip(0, BANDS - 1).cast(nw.Int64))
