"""Readings of clocks: time of day, weekday and month, from the columns that order a chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import narwhals as nw

from bayesdp._support.validation import Scalar
from bayesdp.errors import FrameError
from bayesdp.frames.source import LazyTable, plain

if TYPE_CHECKING:
    from bayesdp.frames.transitions import Sequences

__all__ = ["SHOWN", "Clock", "ClockReading", "Orders", "clock_reading", "clocks", "minutes_shown", "reading_of"]

SHOWN = ("hour", "weekday", "month")
"""The readings of a clock that strata may be made of."""

BANDS = 24
"""The number of equal bands of a column of numbers that serves as a clock."""

MOST_VALUES = 1500
"""The most values of a column that serves as a clock; a day has 1,440 minutes."""


@dataclass(frozen=True)
class Clock:
    """A clock that may matter: its name, and its reading at the record before (`b0`, `b1`, … are its order)."""

    name: str
    reading: nw.Expr


def clocks(chains: Sequences) -> list[Clock]:
    """Return the clocks in the order of a chain; none if it has neither times nor a recurring column.

    The first column of dates or times gives weekday, season and time of day. A later column of at most 1,500 different
    values, such as the interval of the day beside a date, gives the time of day if the first has only one.
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
    values = _values(chains, nw.col(order))
    if not 1 < len(values) <= MOST_VALUES:
        return None
    if len(values) <= BANDS:
        return Clock("time of day", before)
    numbers = [value for value in values if isinstance(value, int | float)]
    if kind not in ("whole", "number") or len(numbers) < len(values):
        return None
    low, width = float(min(numbers)), (max(numbers) - min(numbers)) / BANDS
    return Clock("time of day", ((before.cast(nw.Float64) - low) / width).floor().clip(0, BANDS - 1).cast(nw.Int64))


def _values(chains: Orders, column: nw.Expr) -> set[Scalar]:
    """Return the different values of an expression of the chains, up to one more than a clock may have."""

    def different(frame: Any) -> Any:
        return frame.select(v=column).group_by("v").agg(nw.len().alias("n")).select("v").head(MOST_VALUES + 1)

    return {value for part in chains.table.parts(different) for row in part if (value := plain(row[0])) is not None}


class Orders(Protocol):
    """A table with the columns that order its records, `o0`, `o1`, …, of which `zoned` hold times in a time zone."""

    @property
    def table(self) -> LazyTable:
        """The table."""

    @property
    def orders(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    def zoned(self) -> frozenset[str]:
        """Those that hold times in a zone that their type does not show."""


@dataclass(frozen=True)
class ClockReading:
    """How a clock is read: from which order column, and how many of its units are an hour, if it holds numbers."""

    clock: str
    place: int
    units: int | None = None

    def of(self, column: nw.Expr) -> nw.Expr:
        """Return the reading at a value of that column."""
        if self.units is not None:
            return (column.cast(nw.Float64) / self.units).floor().cast(nw.Int64)
        if self.clock == "weekday":
            day = column.dt.weekday()
            return nw.when(day == 0).then(nw.lit(7)).otherwise(day)  # some engines return 0 for Sunday
        return column.dt.month() if self.clock == "month" else column.dt.hour()


def reading_of(chains: Orders, what: str, order_of: str = "b") -> nw.Expr:
    """Return the hour (0 to 23), weekday (1, Monday, to 7) or month at a record, as `clock_reading` finds it.

    order_of: the record before ("b", with the order `b0`, `b1`, …) or the record itself ("o").
    """
    found = clock_reading(chains, what)
    return found.of(nw.col(f"{order_of}{found.place}"))


def clock_reading(chains: Orders, what: str) -> ClockReading:
    """Return how the hour, the weekday or the month is read off the order.

    Weekday and month are those of the first order column of dates or times, and so is the hour if it has several.
    Otherwise the hour is that of a later column of whole numbers, the time of day: 17, 1755 or, in minutes, 1075.

    Raises FrameError if the order has no such clock, and for times in a time zone, whose hour engines show in
    different zones.
    """
    first = next((i for i, order in enumerate(chains.orders) if chains.table.kind(order) == "time"), None)
    timed = False
    if first is not None:
        order = chains.orders[first]
        dtype = chains.table.schema[order]
        timed = isinstance(dtype, nw.Datetime)
        if order in chains.zoned or (isinstance(dtype, nw.Datetime) and dtype.time_zone is not None):
            raise FrameError(
                f"the order column holds times in a time zone, so the {what} depends on the zone; order by times "
                f"without a time zone, or name a column that holds the {what}"
            )
        alone = timed and (len(chains.orders) == 1 or len(_values(chains, nw.col(order).dt.hour())) > 1)
        if what != "hour" or alone:
            return ClockReading(what, first)
    if what == "hour":
        for i in range(1, len(chains.orders)):
            units = minutes_shown(chains, i)
            if units is not None:
                return ClockReading(what, i, units)
        if first is not None and timed:
            return ClockReading(what, first)
    raise FrameError(
        f"the columns that order the records do not contain the {what}; order by a column of times, or name a column "
        f"that holds the {what}"
    )


def minutes_shown(chains: Orders, i: int) -> int | None:
    """Return the divisor of a later order column that gives the hour: 1 for hours, 100 for 1755, 60 for minutes.

    None if the column is not a time of day.
    """
    order = chains.orders[i]
    if chains.table.kind(order) not in ("whole", "number"):
        return None
    values = _values(chains, nw.col(order))
    times = [value for value in values if isinstance(value, int)]
    if len(times) < len(values) or not 1 < len(times) <= MOST_VALUES or min(times) < 0:
        return None
    if max(times) < 24:
        return 1
    if max(times) < 2400 and all(time % 100 < 60 for time in times):
        return 100
    return 60 if max(times) < 24 * 60 else None
