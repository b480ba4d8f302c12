"""Dates and times in columns of text: only ISO 8601 is read, and every value must follow it.

Other dates do not sort as text: 02.01.2013 comes before 03.12.2012.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import narwhals as nw

from bayesdp._support.messages import param
from bayesdp.errors import FrameError, NoColumnError, RecordsError
from bayesdp.frames.source import LazyTable, plain, reading, whole
from bayesdp.models.layout import ChainLayout

__all__ = ["OrderColumn", "dated", "kinds_of_text", "minutes_of", "place_in_order", "selected"]

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]{1,6})?)?"
_OFFSET = r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)"

MISSING, DATE, MOMENT, ZONED, OTHER = range(5)
"""The kinds of text: missing, a date, a date and time, one with an offset from UTC, anything else."""

_MOST_OFFSETS = 200
"""More than all offsets that are in use."""


class OrderColumn(NamedTuple):
    """An expression that orders records, and whether it holds times in a zone, on which their hour depends."""

    order: nw.Expr
    zoned: bool = False


def place_in_order(table: LazyTable, column: str, *, as_text: bool) -> OrderColumn:
    """Return the expression that orders records by a column, whose text is read as dates or times.

    as_text: sort text as text.

    Raises RecordsError for text that is not in ISO 8601, unless it is sorted as text.
    """
    if as_text or table.kind(column) != "text":
        return OrderColumn(table.column(column))
    place = _read(table, column)
    if place is None:
        raise RecordsError(
            f"{column!r} is text; convert it to dates, or say " + param("order_by_text", True) + " to sort it as text"
        )
    return place


@contextmanager
def kinds_of_text(table: LazyTable, layout: ChainLayout) -> Iterator[None]:
    """Turn a FrameError that may depend on text values into a RecordsError, which a session withholds.

    The values of a column of text show whether it holds dates, and whether these have an offset.
    """
    try:
        yield
    except (RecordsError, NoColumnError):
        raise
    except FrameError as error:
        if layout.order_by_text or not any(table.kind(column) == "text" for column in layout.order_by):
            raise
        raise RecordsError(error.message) from None


def dated(table: LazyTable, column: str) -> LazyTable:
    """Return the table with a text column of ISO 8601 converted to dates or times; unchanged for other columns.

    >>> import polars
    >>> from bayesdp.frames.source import scan
    >>> dated(scan(polars.DataFrame({"day": ["2012-10-01", "2012-10-02"]})), "day").kind("day")
    'time'
    """
    if column not in table or table.kind(column) != "text":
        return table
    place = _read(table, column)
    if place is None:
        return table
    frame = selected(table, [place.order.alias(name) if name == column else nw.col(name) for name in table.schema])
    return replace(table, frame=frame, schema=frame.collect_schema())


def selected(table: LazyTable, chosen: Collection[nw.Expr]) -> nw.LazyFrame[Any]:
    """Return expressions of a table's columns; for Dask, pandas computes them in each partition."""
    if not table.engine.is_dask():
        return table.frame.select(*chosen)
    native: Any = table.frame.to_native()
    meta = _in_partition(native._meta, chosen)
    frame: nw.LazyFrame[Any] = nw.from_native(native.map_partitions(_in_partition, chosen, meta=meta)).lazy()
    return frame


def _in_partition(native: Any, chosen: Collection[nw.Expr]) -> Any:
    return nw.from_native(native, eager_only=True).select(*chosen).to_native()


def _read(table: LazyTable, column: str) -> OrderColumn | None:
    """Return a column of text as dates or times; None if a text is neither, or if only some have an offset."""
    held = _held(table, column)
    kinds = {kind for kind, _ in held} - {MISSING}
    text = nw.col(column)
    if kinds == {DATE}:
        return OrderColumn(_as_day(table, text))
    if kinds and kinds <= {DATE, MOMENT}:
        return OrderColumn(_as_moment(table, text))
    if kinds == {ZONED}:
        offsets = {offset for kind, offset in held if kind == ZONED}
        return OrderColumn(_in_utc(_as_moment(table, text), _offset(text), offsets), zoned=True)
    return None


def _held(table: LazyTable, column: str) -> set[tuple[int, str]]:
    text = nw.col(column)

    def kinds(frame: Any) -> Any:
        frame = frame.select(k=_kind(text), z=_offset(text))
        zoned = nw.when(nw.col("k") == ZONED).then(nw.col("z")).otherwise(nw.lit(""))
        found = frame.select("k", z=zoned).group_by("k", "z").agg(nw.len().alias("n"))
        return found.select("k", "z").head(_MOST_OFFSETS)

    with reading(table):
        parts = table.parts(kinds)
    if any(len(part) == _MOST_OFFSETS for part in parts):
        return {(OTHER, "")}
    return {(whole(kind), str(plain(offset) or "")) for part in parts for kind, offset in part}


def _kind(text: nw.Expr) -> nw.Expr:
    shapes = {DATE: _DAY, MOMENT: f"{_DAY}[T ]{_CLOCK}", ZONED: f"{_DAY}[T ]{_CLOCK}{_OFFSET}"}
    found = nw.lit(OTHER)
    for kind, shape in shapes.items():
        found = nw.when(text.str.contains(f"^{shape}$")).then(nw.lit(kind)).otherwise(found)
    return nw.when(text.is_null()).then(nw.lit(MISSING)).otherwise(found)


def _offset(text: nw.Expr) -> nw.Expr:
    """Return the offset at the end of a date and time; an empty text if it has none."""
    return text.str.slice(11).str.replace_all(r"^[0-9:.]*", "")


def _as_day(table: LazyTable, text: nw.Expr) -> nw.Expr:
    if table.engine.is_polars():
        return text.str.to_datetime(format="%Y-%m-%d").cast(nw.Date)
    return text.cast(nw.Datetime("us") if table.in_pandas else nw.Date)


def _as_moment(table: LazyTable, text: nw.Expr) -> nw.Expr:
    shown = text.str.slice(11).str.replace_all(r"[Z+-].*$", "")
    seconds = nw.when(shown.str.len_chars() == 5).then(nw.concat_str(shown, nw.lit(":00"))).otherwise(shown)
    clock = nw.when(text.str.len_chars() == 10).then(nw.lit("00:00:00")).otherwise(seconds)
    written = nw.concat_str(text.str.slice(0, 10), clock, separator=" ")
    if table.engine.is_polars():
        return written.str.to_datetime(format="%Y-%m-%d %H:%M:%S%.f").cast(nw.Datetime("us"))
    return written.cast(nw.Datetime("us"))


def _in_utc(moment: nw.Expr, offset: nw.Expr, offsets: Iterable[str]) -> nw.Expr:
    """Return a time with an offset in UTC."""
    *others, last = sorted(offsets)
    return reduce(
        lambda known, one: nw.when(offset == one).then(_moved(moment, one)).otherwise(known),
        others,
        _moved(moment, last),
    )


def _moved(moment: nw.Expr, offset: str) -> nw.Expr:
    minutes = minutes_of(offset)
    return moment.dt.offset_by(f"{-minutes}m") if minutes else moment


def minutes_of(offset: str) -> int:
    """Return how many minutes an offset is ahead of UTC.

    >>> minutes_of("+05:30"), minutes_of("-03"), minutes_of("Z")
    (330, -180, 0)
    """
    digits = re.sub("[^0-9]", "", offset)
    ahead = 60 * int(digits[:2] or 0) + int(digits[2:] or 0)
    return -ahead if offset.startswith("-") else ahead
