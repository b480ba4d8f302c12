"""The periods of a stream: hours, days, weeks or months of the calendar, or steps of an order of whole numbers."""

from __future__ import annotations

import datetime
from bisect import bisect_left
from dataclasses import dataclass

import narwhals as nw

from bayesdp._support.messages import name_of, param
from bayesdp._support.validation import Scalar
from bayesdp._support.words import counted
from bayesdp.errors import QueryError
from bayesdp.frames.windows import Order, name_of_period
from bayesdp.queries.windows import EVERY, Every

__all__ = ["Periods"]


@dataclass(frozen=True)
class Periods:
    """Consecutive periods from `start` on, counted from 0.

    start: the beginning of the first, as an end of the order (`Order.end`).

    >>> import polars
    >>> from bayesdp.frames.source import scan
    >>> from bayesdp.models import ChainLayout
    >>> order = Order.of(scan(polars.DataFrame({"day": ["2012-10-01", "2012-11-07"]})), ChainLayout("day"))
    >>> months = Periods.of(order, "month", None, "2012-10-15")
    >>> months.begin(1), months.name(1), months.complete("2012-12-24")
    ('2012-11-01', '2012-11', 2)
    """

    order: Order
    every: Every
    start: Scalar

    @classmethod
    def of(cls, order: Order, every: Every, since: Scalar | None, first: Scalar | None) -> Periods:
        """Return the periods from `since` on; without it, from that on which the first record is in.

        Raises QueryError for an order that has no such periods, and for a beginning in the middle of one.
        """
        column = order.columns[0]
        if isinstance(every, int) != (order.kind == "whole") or order.kind not in ("whole", "time"):
            holds = {"whole": "whole numbers", "time": "dates or times"}.get(order.kind, "neither times nor numbers")
            raise QueryError(
                f"{column!r}, which orders records, holds {holds}, so there is no "
                + param("every", str(every))
                + {"whole": "; give a number of its units", "time": f"; give {', '.join(EVERY)}"}.get(order.kind, "")
            )
        if every == "hour" and isinstance(order.dtype, nw.Date):
            raise QueryError(f"{column!r}, which orders records, holds dates, so there is no hour")
        if since is None and first is None:
            raise QueryError(f"the table has no record with a value of {column!r}, so no period begins; give since")
        given = order.end("since", first if since is None else since)  # type: ignore[arg-type]
        periods = cls(order, every, given if isinstance(every, int) else _aligned(order, every, given))
        if since is not None and periods.start != given:
            raise QueryError(
                name_of("since") + f" must be the beginning of a {every}, such as {periods.start}, not {since}"
            )
        return periods

    def begin(self, number: int) -> Scalar:
        """Return where a period begins; QueryError beyond the calendar."""
        if isinstance(self.every, int):
            assert not isinstance(self.start, str)
            return self.start + number * self.every
        try:
            if self.every == "hour":
                moment = datetime.datetime.fromisoformat(str(self.start)) + datetime.timedelta(hours=number)
                return self.order.written(moment)
            return self.order.midnight(_day_after(self.order.day_of(self.start), self.every, number))
        except (OverflowError, ValueError):
            raise QueryError(
                f"{counted(number, str(self.every))} from {self.start} on end after the year 9999"
            ) from None

    def complete(self, reached: Scalar, most: int | None = None) -> int:
        """Return how many periods are complete in a table whose last record is at `reached`: it must be after them.

        most: no more than these are counted.
        """
        last, high = self.order.end("until", reached), 1
        while (most is None or high < most) and self._begins_by(high, last):
            high *= 2
        high = high if most is None else min(high, most)
        return max(0, bisect_left(range(high + 1), True, key=lambda number: not self._begins_by(number, last)) - 1)

    def _begins_by(self, number: int, last: Scalar) -> bool:
        try:
            return bool(self.begin(number) <= last)  # type: ignore[operator]
        except QueryError:
            return False

    def name(self, number: int) -> str:
        """Return the name of a period: "2012-10-01", "2012-W40", "2012-10", "2012-10-01 07:00", or its first number."""
        begin = self.begin(number)
        if isinstance(self.every, int):
            return str(begin)
        if self.every == "hour":
            return str(begin).replace(":00:00", ":00", 1)
        return name_of_period(EVERY[self.every], self.order.day_of(begin))


def _aligned(order: Order, every: str, moment: Scalar) -> Scalar:
    """Return the beginning of the period that a moment is in."""
    if every == "hour":
        read = datetime.datetime.fromisoformat(str(moment))
        return order.written(read.replace(minute=0, second=0, microsecond=0))
    day = order.day_of(moment)
    if every == "week":
        day -= datetime.timedelta(day.weekday())
    return order.midnight(day.replace(day=1) if every == "month" else day)


def _day_after(day: datetime.date, every: str, number: int) -> datetime.date:
    """Return the first day of the period that comes so many periods after that of a day."""
    if every == "month":
        months = day.year * 12 + day.month - 1 + number
        return datetime.date(months // 12, months % 12 + 1, 1)
    return day + datetime.timedelta(number * (7 if every == "week" else 1))
