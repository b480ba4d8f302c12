"""The extent of a table that may grow: counts by period, never contents."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals as nw

from bayesdp._support.validation import Scalar, natural, scalar, text
from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.frames.dates import dated
from bayesdp.frames.source import LazyTable, as_kind, plain, reading

__all__ = ["Extent", "check_grown", "extent_of", "extent_of_first", "extents_of_parts", "records_before", "span_of"]

_AT_ONCE = 32
"""Into so many pieces a range is divided in one scan."""


@dataclass(frozen=True)
class Extent:
    """How many records a table has and where it ends: public numbers that a longer table must continue.

    order:    the column that orders records; None if they are in no order.
    until:    the last value of that column in the table.
    before:   how many records come before it.      through: how many come no later.
    by, part: a public column and one of its values, as text, if the extent is that of a part of the table.
    """

    records: int
    order: str | None = None
    until: Scalar | None = None
    before: int = 0
    through: int = 0
    by: str | None = None
    part: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that a ledger stores."""
        kept = {name: value for name, value in vars(self).items() if value is not None}
        return kept if self.order is not None else {n: v for n, v in kept.items() if n not in ("before", "through")}

    @classmethod
    def from_dict(cls, document: object) -> Self:
        """Read the JSON object of a ledger; LedgerError if it is damaged."""
        kept = document if isinstance(document, Mapping) else {"records": document}
        try:
            counts = {name: natural(name, kept.get(name, 0), least=0) for name in ("records", "before", "through")}
            named = {name: text(name, kept[name]) for name in ("order", "by", "part") if name in kept}
            until = {"until": scalar("until", kept.get("until"))} if "order" in named else {}
            return cls(**counts, **named, **until)  # type: ignore[arg-type]
        except (InvalidInputError, TypeError) as error:
            raise LedgerError(f"the ledger is damaged: the extent of a table cannot be read ({error})") from None


def extent_of(table: LazyTable, order: str | None) -> Extent:
    """Return the extent of a table.

    >>> import polars
    >>> from bayesdp.frames.source import scan
    >>> extent_of(scan(polars.DataFrame({"day": [1, 2, 2, 3, 3]})), "day").to_dict()
    {'records': 5, 'order': 'day', 'until': 3, 'before': 3, 'through': 5}
    """
    return _counted(table, [Extent(0, order, None if order is None else span_of(table, order)[1])])[0]


def extent_of_first(table: LazyTable, order: str | None, records: int) -> Extent:
    """Return the extent of the first `records` records in the order, which the table must have.

    Records that share the last value of the order with these count as added later.

    Raises LedgerError for a shorter table, and for a longer one whose order cannot be divided.

    >>> import polars
    >>> from bayesdp.frames.source import scan
    >>> extent_of_first(scan(polars.DataFrame({"day": [1, 2, 2, 3, 3]})), "day", 4).to_dict()
    {'records': 4, 'order': 'day', 'until': 3, 'before': 3, 'through': 4}
    """
    whole = extent_of(table, order)
    if whole.records < records:
        raise LedgerError(f"{table.name} has {whole.records:,} rows, and had {records:,} when its account was opened")
    if whole.records == records or order is None:
        return replace(whole, records=records)
    first, last = span_of(table, order)
    with reading(table):
        dtype = dated(table.pick([order]), order).schema[order]
    place_of = _places(first, last, isinstance(dtype, nw.Date))
    if place_of is None:
        raise LedgerError(
            f"{table.name} is longer than when its account was opened, and {order!r} holds neither times nor whole "
            f"numbers, so its first {records:,} rows are not known; give the table as it was"
        )
    place, largest = place_of
    low, high = 0, largest
    while low < high:
        tried = sorted({low + (high - low) * step // _AT_ONCE for step in range(_AT_ONCE)})
        found = _counted(table, [Extent(0, order, place(number)) for number in tried])
        enough = next((number for number, extent in zip(tried, found, strict=True) if extent.through >= records), high)
        low, high = max((number + 1 for number in tried if number < enough), default=low), enough
    (end,) = _counted(table, [Extent(0, order, place(high))])
    return replace(end, records=records, through=records)


def _places(first: Scalar | None, last: Scalar | None, of_days: bool) -> tuple[Callable[[int], Scalar], int] | None:
    """Return how places between two ends of an order are numbered, from 0 on, and the number of the last.

    None if these are neither times nor whole numbers.
    """
    if isinstance(first, int) and isinstance(last, int):
        return (lambda number: first + number), last - first
    if not isinstance(first, str) or not isinstance(last, str):
        return None
    try:
        begin, end = datetime.datetime.fromisoformat(first), datetime.datetime.fromisoformat(last)
    except ValueError:
        return None
    unit = datetime.timedelta(days=1) if of_days else datetime.timedelta(microseconds=1)

    def moment(number: int) -> str:
        return (begin + number * unit).isoformat(sep=" ").removesuffix(" 00:00:00")

    return moment, -((begin - end) // unit)


def records_before(table: LazyTable, order: str, ends: Sequence[Scalar]) -> tuple[int, ...]:
    """Return how many records come before each of these values of an order, in one scan.

    >>> import polars
    >>> from bayesdp.frames.source import scan
    >>> records_before(scan(polars.DataFrame({"day": [1, 2, 2, 3, 3]})), "day", [1, 3])
    (0, 3)
    """
    extents = [Extent(0, order, end) for end in ends]
    return tuple(extent.before for extent in _counted(table, extents)) if extents else ()


def extents_of_parts(table: LazyTable, extent: Extent, by: str, parts: Sequence[str]) -> list[Extent]:
    """Return the extent of each part of a table, in one scan."""
    return _counted(table, [replace(extent, by=by, part=part) for part in parts])


def check_grown(table: LazyTable, earlier: Sequence[Extent]) -> None:
    """Raise LedgerError unless a table continues its earlier extents.

    In an account of growing data, rows may only be added at the end of the table.
    """
    pairs = list(zip(earlier, _counted(table, earlier) if earlier else (), strict=True))
    shrunk = any(now.records < then.records for then, now in pairs)
    if shrunk or any(now.before != then.before or now.through < then.through for then, now in pairs):
        what = "fewer records" if shrunk else "another number of records in a past period"
        raise LedgerError(
            f"{table.name} does not continue the table of this account: it, or a part of it, has {what} than at the "
            "last release; in an account of growing data, add rows only after all others, and keep them in their part"
        )


def span_of(table: LazyTable, order: str) -> tuple[Scalar | None, Scalar | None]:
    """Return the first and the last value of a column; a date as a date, also in engines that have only times.

    >>> import polars
    >>> from bayesdp.frames.source import scan
    >>> span_of(scan(polars.DataFrame({"day": ["2012-10-02", "2012-10-01"]})), "day")
    ('2012-10-01', '2012-10-02')
    """
    with reading(table):
        picked = dated(table.pick([order]), order)
        parts = picked.parts(lambda frame: frame.select(nw.col(order).min().alias("a"), nw.col(order).max().alias("b")))
        ends = [row for rows in parts for row in rows]
        of_times = picked.kind(order) == "time"

        def end(best: Callable[..., Any], place: int) -> Scalar | None:
            found = plain(best((row[place] for row in ends if plain(row[place]) is not None), default=None))
            return found.removesuffix(" 00:00:00") if isinstance(found, str) and of_times else found

        return end(min, 0), end(max, 1)


def _counted(table: LazyTable, extents: Sequence[Extent]) -> list[Extent]:
    """Return the extents with the present numbers of records: in all, before their end, and no later; in one scan."""
    with reading(table):
        used = dict.fromkeys(name for extent in extents for name in (extent.order, extent.by) if name is not None)
        picked = table.pick(list(used) or list(table.schema)[:1])
        for order in dict.fromkeys(extent.order for extent in extents if extent.order is not None):
            picked = dated(picked, order)
        numbers = {
            f"n{i}_{j}": number for i, extent in enumerate(extents) for j, number in enumerate(_numbers(picked, extent))
        }
        counts = picked.sums(numbers)
    return [
        replace(extent, records=counts[f"n{i}_0"], before=counts.get(f"n{i}_1", 0), through=counts.get(f"n{i}_2", 0))
        for i, extent in enumerate(extents)
    ]


def _numbers(table: LazyTable, extent: Extent) -> list[nw.Expr]:
    """Return ones for the records of an extent and, if it has an order, for those before its end and no later."""
    conditions: list[nw.Expr | None] = [None]
    if extent.order is not None and extent.until is not None:
        column, end = table.column(extent.order), table.value(extent.order, _in_utc(table, extent))
        conditions += [column < end, column <= end]
    if extent.by is None or extent.part is None:
        missing = nw.col(next(iter(table.schema))).is_null()  # some engines return one row for a literal alone
        return [table.ones(missing | ~missing if condition is None else condition) for condition in conditions]
    inside = table.member(extent.by, [as_kind(table.kind(extent.by), extent.part)])
    return [table.ones(inside if condition is None else inside & condition) for condition in conditions]


def _in_utc(table: LazyTable, extent: Extent) -> Scalar:
    """Return the end of an extent; a text with an offset in UTC, as its column is then read."""
    assert extent.order is not None
    assert extent.until is not None
    if not isinstance(extent.until, str) or table.kind(extent.order) != "time":
        return extent.until
    dtype = table.schema[extent.order]
    with suppress(ValueError):
        end = datetime.datetime.fromisoformat(extent.until)
        if end.tzinfo is not None and getattr(dtype, "time_zone", None) is None:
            return end.astimezone(datetime.UTC).replace(tzinfo=None).isoformat(sep=" ")
    return extent.until
