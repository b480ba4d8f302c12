"""Windows of a table: its records in an interval of the order, in cells of public columns and clocks, or both.

A question that divides the records by columns or clocks (`by=`) becomes one question for each window. Their exact
answers come from one grouped scan: records are grouped by the columns and clocks, and by the place of their order among
the ends of the intervals.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import product
from operator import add
from typing import Any
from zoneinfo import ZoneInfo

import narwhals as nw

from bayesdp._support.messages import in_python, name_of, param, params
from bayesdp._support.validation import Scalar, brief, plain_number
from bayesdp.errors import FrameError, QueryError
from bayesdp.frames.aggregates import Groups, Key, Tally, member_of, subject_of, tally_by
from bayesdp.frames.clocks import ClockReading, clock_reading
from bayesdp.frames.dates import place_in_order, selected
from bayesdp.frames.expressions import parse, values_needed
from bayesdp.frames.source import Kind, LazyTable, Missing, as_kind, reading
from bayesdp.models.layout import ChainLayout
from bayesdp.queries import Query
from bayesdp.queries.region import Region
from bayesdp.queries.windows import CLOCKS, PERIODS

__all__ = ["Order", "Window", "clocks_of", "tally_windows", "together", "windows_of", "within_filter"]

MOST_WINDOWS = 20_000
"""The most windows of one question."""

MOST_ENDS = 400
"""The most ends of intervals with which every record is compared; of whole days there may be more."""

_LAST = 10**9
"""A place in the order after all others."""

_TOO_MANY = f"these are more than {MOST_WINDOWS} windows; ask about fewer at once"

Span = tuple[Scalar | None, Scalar | None]
"""An interval of the order; None is no end."""

_CLOCK_CELLS: Mapping[str, range] = {"hour": range(24), "weekday": range(1, 8)}


@dataclass(frozen=True)
class Window:
    """One window of a question.

    names:  its value of each column or clock in `by`; a period of the calendar as "2012-10-01", "2012-W40", "2012-10".
    query:  the question about this window alone, the same for the same window in other words.
    region: the records that it reads.
    """

    names: tuple[Scalar, ...]
    query: Query
    region: Region


@dataclass(frozen=True)
class Order:
    """The columns that order the records of a table, and how their clocks are read.

    columns: their names.
    places:  the expressions that order records by them; texts are read as dates or times.
    table:   these expressions as columns, `o0`, `o1`, …; a time in a declared zone as the clock on the wall shows it.
    zone:    the time zone that the type of the first column declares.
    zoned:   those of the columns that hold times with offsets from UTC in texts.
    """

    columns: tuple[str, ...]
    places: tuple[nw.Expr, ...]
    wall: nw.Expr
    table: LazyTable
    kind: Kind
    dtype: nw.dtypes.DType
    zone: str | None
    zoned: frozenset[str]

    @classmethod
    def of(cls, table: LazyTable, layout: ChainLayout) -> Order:
        """Read the columns that order the records of a table."""
        columns = tuple(layout.order_by)
        with reading(table):
            picked = table.pick(columns)
            found = [place_in_order(picked, column, as_text=layout.order_by_text) for column in columns]
            places = tuple(place.order for place in found)
            compared = selected(picked, [place.alias(f"o{i}") for i, place in enumerate(places)])
            dtype = compared.collect_schema()["o0"]
            zone = _declared(table, columns[0])
            wall = places[0] if zone is None else _on_the_wall(picked, places[0], zone)
            shown = selected(picked, [(wall if i == 0 else place).alias(f"o{i}") for i, place in enumerate(places)])
            named = picked.made_of(shown)
            zoned = frozenset(f"o{i}" for i, place in enumerate(found) if place.zoned)
            return cls(columns, places, wall, named, picked.made_of(compared).kind("o0"), dtype, zone, zoned)

    @property
    def orders(self) -> tuple[str, ...]:
        """The names of the columns in `table`."""
        return tuple(f"o{i}" for i in range(len(self.columns)))

    def reading(self, clock: str) -> ClockReading:
        """Return how an hour or weekday is read; FrameError if the order does not contain it."""
        with reading(self.table):
            return clock_reading(self, clock)

    def name_of(self, found: ClockReading) -> str:
        """Return the name of the cells of a clock: another one for each way to read it."""
        units = "" if found.units in (None, 1) else f" / {found.units}"
        zone = "" if self.zone is None or found.place else f" in {self.zone}"
        return f"{found.clock} of {self.columns[found.place]}{units}{zone}"

    def clock(self, found: ClockReading) -> nw.Expr:
        """Return a clock as an expression of the columns."""
        return found.of(self.places[found.place] if found.place else self.wall)

    @cached_property
    def of_days(self) -> bool:
        """Whether the first column has dates and times without a zone, so that days are the same everywhere."""
        return self.kind == "time" and not self._instants

    def end(self, name: str, value: Scalar) -> Scalar:
        """Return an end of an interval in its one form; QueryError for what the order cannot be compared with."""
        if self.kind == "time":
            return self.written(self._moment(name, value))
        if self.kind == "text" and isinstance(value, str):
            return value
        number = as_kind(self.kind, value)
        if self.kind in ("whole", "number") and not isinstance(number, str | bool):
            return plain_number(number)
        raise QueryError(
            name_of(name)
            + f" must be a value like those of {self.columns[0]!r}, which orders records, not {brief(value)}"
        )

    def _moment(self, name: str, value: Scalar) -> datetime.datetime:
        """Return an end as a time: in UTC if the order is in a time zone, else without a zone."""
        try:
            moment = datetime.datetime.fromisoformat(str(value))
            if self.zone is not None:
                moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=ZoneInfo(self.zone))
            if moment.tzinfo is not None:
                moment = moment.astimezone(datetime.UTC)
        except (ValueError, OverflowError):
            raise QueryError(
                name_of(name) + f" must be a date or time like 2012-10-01 or 2012-10-01T08:05:00, not {brief(value)}"
            ) from None
        if (moment.tzinfo is not None) != self._instants:
            lacks = "have an offset from UTC, as those of" if self._instants else "have no offset from UTC, for none of"
            raise QueryError(name_of(name) + f" must {lacks} {self.columns[0]!r} has one: {brief(value)}")
        if isinstance(self.dtype, nw.Date) and moment.time() != datetime.time():
            raise QueryError(name_of(name) + f" must be a date, as those of {self.columns[0]!r}, not {brief(value)}")
        return moment

    @property
    def _instants(self) -> bool:
        return self.zone is not None or "o0" in self.zoned

    def written(self, moment: datetime.datetime) -> str:
        """Return a time as an end: ends of one column are all written alike, so that they can be compared as texts."""
        return moment.date().isoformat() if isinstance(self.dtype, nw.Date) else moment.isoformat(sep=" ")

    def literal(self, end: Scalar) -> Any:
        """Return an end in a type that the engine can compare with the order."""
        if self.kind != "time":
            return self.table.value("o0", end)
        moment = datetime.datetime.fromisoformat(str(end))
        if isinstance(self.dtype, nw.Date):
            return moment.date()
        if "o0" in self.zoned:
            moment = moment.replace(tzinfo=None)
        if moment.tzinfo is None and self.table.in_spark:  # Spark's own literals have a time zone
            return nw.lit(moment.isoformat(sep=" ")).cast(nw.Datetime("us"))
        return moment

    def midnight(self, day: datetime.date) -> str:
        """Return the beginning of a day as an end."""
        return str(self.end("since", day.isoformat()))

    def day_of(self, end: Scalar) -> datetime.date:
        """Return the day, on the wall, of an end."""
        moment = datetime.datetime.fromisoformat(str(end))
        return (moment if self.zone is None else moment.astimezone(ZoneInfo(self.zone))).date()


def _declared(table: LazyTable, column: str) -> str | None:
    """Return the time zone that the type of a column declares."""
    dtype = table.schema[column]
    return dtype.time_zone if isinstance(dtype, nw.Datetime) else None


def _on_the_wall(table: LazyTable, place: nw.Expr, zone: str) -> nw.Expr:
    """Return times in a zone as a clock on the wall shows them; databases show theirs in the zone they declare."""
    if table.engine.is_polars() or table.in_pandas:
        place = place.dt.convert_time_zone(zone)
    return place.dt.replace_time_zone(None)


def clocks_of(table: LazyTable, order: Order | None, query: Query) -> tuple[str, ...]:
    """Return which names in `by` are clocks: no column of the table has them, or the column that orders records.

    Raises QueryError for two periods of the calendar.
    """
    first = None if order is None else order.columns[0]
    clocks = tuple(
        name
        for name in query.by_columns
        if (name not in table.schema and name in CLOCKS) or (name == first and name in PERIODS)
    )
    periods = [name for name in clocks if name in PERIODS]
    if len(periods) > 1:
        raise QueryError(f"{' and '.join(periods)} overlap; divide the order by one of them")
    return clocks


def windows_of(table: LazyTable, order: Order | None, query: Query) -> tuple[Window, ...]:
    """Return the windows of a question, in the order of its names and values.

    Windows come from clocks and listed values only, never from the records, which may leave some of them empty.

    Raises QueryError for values that a column or clock cannot have, FrameError for an order without such a clock.

    >>> import polars
    >>> from bayesdp import Count
    >>> from bayesdp.frames.source import scan
    >>> table = scan(polars.DataFrame({"day": ["2012-10-01", "2012-10-02"], "on": [0, 1]}))
    >>> query = Count("on", equals=1, by="date", since="2012-10-01", until="2012-10-03")
    >>> first, second = windows_of(table, Order.of(table, ChainLayout("day")), query)
    >>> first.names, first.region.until, second.query.since
    (('2012-10-01',), '2012-10-02', '2012-10-02')
    """
    clocks = clocks_of(table, order, query)
    if order is None and (clocks or query.since is not None or query.until is not None):
        raise QueryError(
            "the model does not say what orders the records, so there is no "
            + (f"{clocks[0]}; name the columns: " if clocks else "since or until; name the columns: ")
            + in_python(
                'order_by=["date", "time"], or layout=ChainLayout(["date", "time"]) of a chain',
                elsewhere='"order_by", or "layout" with "order_by" of a chain',
            )
        )
    interval = (None, None) if order is None else _interval(order, query.since, query.until)
    period = next((name for name in clocks if name in PERIODS), None)
    spans: Mapping[Scalar, Span] = {}
    if period is not None and order is not None:
        spans = _periods(order, period, query.listed.get(period), interval)
    cells = {
        name: _clock_cells(name, query.listed.get(name))
        if name in clocks
        else _cells(table, name, query.listed.get(name))
        for name in query.by_columns
        if name != period
    }
    if math.prod(map(len, (*cells.values(), *([spans] if period else [])))) > MOST_WINDOWS:
        raise QueryError(_TOO_MANY)
    divided = _Divided(table, order, query, tuple(cells))
    return tuple(
        divided.window(names, spans[names[query.by_columns.index(period)]] if period else interval)
        for names in product(*(spans if name == period else cells[name] for name in query.by_columns))
    )


def together(windows: Sequence[Window]) -> Region:
    """Return the records of all windows of a question; QueryError if they are not one interval of the order."""
    regions = [window.region for window in windows]
    if len({(region.order, region.since, region.until) for region in regions}) > 1:
        raise QueryError("these are several intervals of the order; give one, by since and until")
    cells: dict[str, set[str]] = {}
    for name, values in (pair for region in regions for pair in region.cells):
        cells.setdefault(name, set()).update(values)
    return replace(regions[0], cells=tuple((name, tuple(sorted(cells[name]))) for name in sorted(cells)))


def within_filter(table: LazyTable, query: Query, region: Region | None = None) -> Region | None:
    """Return the records that a public filter may let pass, of those in a region.

    Columns of texts, whole numbers and booleans count, as far as the filter names their values.

    >>> import polars
    >>> from bayesdp import Count
    >>> from bayesdp.frames.source import scan
    >>> table = scan(polars.DataFrame({"on": [0, 1], "district": ["A", "B"]}))
    >>> within_filter(table, Count("on", equals=1, where="district = 'A'", public_filter=True)).cells
    (('district', ('A',)),)
    """
    if query.where is None or not query.public_filter:
        return region
    cells = {}
    for column, values in values_needed(parse(query.where)).items():
        kind = table.pick([column]).kind(column)
        if kind in ("text", "whole", "truth"):
            cells[column] = tuple(sorted({str(plain_number(as_kind(kind, value))) for value in values}))
    if not cells:
        return region
    region = region or Region()
    return replace(region, cells=tuple(sorted({**cells, **dict(region.cells)}.items())))


@dataclass(frozen=True)
class _Divided:
    """A question that is divided into windows. columns: those in `by` whose values are cells of a region."""

    table: LazyTable
    order: Order | None
    query: Query
    columns: tuple[str, ...]

    def window(self, names: tuple[Scalar, ...], span: Span) -> Window:
        """Return the window with these values of the columns in `by`."""
        cells = {name: value for name, value in zip(self.query.by_columns, names, strict=True) if name in self.columns}
        since, until = span
        one: dict[str, Any] = {"by": None, "by_cells": None}
        if cells:
            one = {"by": tuple(cells), "by_cells": {name: (value,) for name, value in cells.items()}}
        column = None if self.order is None or (since is None and until is None) else self.order.columns[0]
        kept = sorted((self._keys[name], (str(plain_number(value)),)) for name, value in cells.items())
        return Window(
            names, replace(self.query, **one, since=since, until=until), Region(column, since, until, tuple(kept))
        )

    @cached_property
    def _keys(self) -> Mapping[str, str]:
        """The names by which regions tell the cells of columns and clocks apart."""
        clocks = clocks_of(self.table, self.order, self.query)
        keys = {name: name for name in self.columns}
        if self.order is not None:
            keys |= {name: self.order.name_of(self.order.reading(name)) for name in self.columns if name in clocks}
        return keys


def _interval(order: Order, since: Scalar | None, until: Scalar | None) -> Span:
    """Return the ends of an interval in their one form; QueryError if it is empty."""
    first = None if since is None else order.end("since", since)
    last = None if until is None else order.end("until", until)
    if first is not None and last is not None and not first < last:  # type: ignore[operator]
        raise QueryError(
            name_of("since") + " must come before " + name_of("until") + f", but {since} does not come before {until}"
        )
    return first, last


def _clock_cells(name: str, listed: Sequence[Scalar] | None) -> list[Scalar]:
    """Return the values of a clock, or those of them that are listed."""
    every = _CLOCK_CELLS[name]
    values = list(every) if listed is None else [as_kind("whole", value) for value in listed]
    for value in values:
        if isinstance(value, str | bool) or value not in every:
            raise QueryError(f"{name} is from {every[0]} to {every[-1]}, not {brief(value)}")
    if len(set(values)) < len(values):
        raise QueryError(f"a value of {name} is listed twice")
    return [int(value) for value in values]


def _cells(table: LazyTable, name: str, listed: Sequence[Scalar] | None) -> list[Scalar]:
    """Return the listed values of a column, converted to its kind."""
    if listed is None:
        raise QueryError(
            f"the table has a column {name!r}, which stands for itself and not for a clock; list its values with "
            + param("by_cells", like="[...]")
        )
    picked = table.pick([name])
    _ = member_of(picked, name, listed)
    picked.check_distinct_cells(name, [(as_kind(picked.kind(name), value),) for value in listed])
    return [as_kind(picked.kind(name), value) for value in listed]


# --- periods of the calendar ------------------------------------------------------------------------------------------


def _periods(order: Order, what: str, listed: Sequence[Scalar] | None, whole: Span) -> dict[Scalar, Span]:
    """Return the periods of the calendar, by name, within an interval: those listed, or all between its ends."""
    if order.kind != "time":
        raise QueryError(f"{order.columns[0]!r}, which orders records, holds no dates, so there is no {what}")
    since, until = whole
    if listed is None:
        if since is None or until is None:
            raise QueryError(
                f"{what} needs public ends: "
                + params("{since} and {until}")
                + f", or a list of periods such as {name_of_period(what, datetime.date(2012, 10, 1))}; they must not "
                "come from the data"
            )
        begins = _begins(what, order.day_of(since), order.day_of(until))
    else:
        begins = [_begin(what, value) for value in listed]
    found: dict[Scalar, Span] = {}
    for begin in begins:
        first, last = order.midnight(begin), order.midnight(_next(what, begin))
        clipped = (max(first, str(since or first)), min(last, str(until or last)))
        if clipped[0] < clipped[1]:
            found[name_of_period(what, begin)] = clipped
        elif listed is not None:
            raise QueryError(f"{name_of_period(what, begin)} lies outside of the interval from {since} to {until}")
    return found


def _begins(what: str, first: datetime.date, last: datetime.date) -> list[datetime.date]:
    """Return the first days of the periods from one day to another."""
    begins = [_first(what, first)]
    while begins[-1] <= last:
        begins.append(_next(what, begins[-1]))
        if len(begins) > MOST_WINDOWS + 2:
            raise QueryError(_TOO_MANY)
    return begins[:-1]


def _first(what: str, day: datetime.date) -> datetime.date:
    """Return the first day of the period of a day; weeks begin on Mondays."""
    if what == "week":
        return day - datetime.timedelta(day.weekday())
    return day.replace(day=1) if what == "month" else day


def _next(what: str, begin: datetime.date) -> datetime.date:
    try:
        return _first(what, begin + datetime.timedelta({"date": 1, "week": 7, "month": 31}[what]))
    except OverflowError:
        raise QueryError("the calendar ends with the year 9999") from None


def name_of_period(what: str, begin: datetime.date) -> str:
    """Return the name of a period.

    >>> day = datetime.date(2012, 10, 1)
    >>> [name_of_period(what, day) for what in PERIODS]
    ['2012-10-01', '2012-W40', '2012-10']
    """
    if what == "date":
        return begin.isoformat()
    year, week, _ = begin.isocalendar()
    return f"{year:04}-W{week:02}" if what == "week" else f"{begin.year:04}-{begin.month:02}"


def _begin(what: str, name: Scalar) -> datetime.date:
    """Return the first day of a period that is named; QueryError for another text."""
    try:
        day = datetime.date.fromisoformat(
            f"{name}-01" if what == "month" else f"{name}-1" if what == "week" else str(name)
        )
    except ValueError:
        like = name_of_period(what, datetime.date(2012, 10, 1))
        raise QueryError(f"a {what} is written like {like}, not {brief(name)}") from None
    if name_of_period(what, day) != name:
        raise QueryError(f"a {what} is written like {name_of_period(what, day)}, not {brief(name)}")
    return day


# --- exact answers ----------------------------------------------------------------------------------------------------


def tally_windows(
    table: LazyTable,
    order: Order | None,
    queries: Sequence[Query],
    *,
    instead: Sequence[Query] | None = None,
    missing: Missing = "error",
    rows: int | None = None,
) -> tuple[Tally, ...]:
    """Answer questions about one window each exactly, in one scan for all that divide the records alike.

    queries: as `windows_of` writes them.
    instead: what is asked about each window in place of its question; none: only how many records it has.
    """
    alike: dict[tuple[Any, ...], list[int]] = {}
    for place, query in enumerate(queries):
        alike.setdefault((query.by_columns, query.since is None and query.until is None), []).append(place)
    found: dict[int, Tally] = {}
    for places in alike.values():
        family = _Family.of(table, order, [queries[place] for place in places])
        found |= zip(places, family.answers(instead, missing, rows), strict=True)
    return tuple(found[place] for place in range(len(queries)))


@dataclass(frozen=True)
class _Family:
    """Questions about windows that divide the records of a table by the same columns.

    keys: the expressions that records are grouped by; the last one is the place in the order, if there are intervals.
    """

    table: LazyTable
    order: Order | None
    queries: Sequence[Query]
    columns: tuple[str, ...]
    ends: tuple[Scalar, ...]
    clocks: Mapping[str, ClockReading]

    @classmethod
    def of(cls, table: LazyTable, order: Order | None, queries: Sequence[Query]) -> _Family:
        columns = queries[0].by_columns
        ends = sorted({end for query in queries for end in (query.since, query.until) if end is not None})
        names = clocks_of(table, order, queries[0])
        clocks = {} if order is None else {name: order.reading(name) for name in names}
        return cls(table, order, queries, columns, tuple(ends), clocks)

    @cached_property
    def by_day(self) -> bool:
        """Whether records are grouped by their day, which is quicker than to compare them with many ends."""
        if len(self.ends) <= 2 or self.order is None or not self.order.of_days:
            return False
        return all(self.order.midnight(self.order.day_of(end)) == end for end in self.ends)

    def answers(self, instead: Sequence[Query] | None, missing: Missing, rows: int | None) -> list[Tally]:
        """Return what is asked about each window, in the order of the questions."""
        mine = [query.undivided for query in self.queries] if instead is None else [*instead] * len(self.queries)
        distinct = list(dict.fromkeys(mine))
        keyed, keys, needed = self._keyed(distinct)
        groups = tally_by(keyed, distinct, keys, needed=needed, missing=missing, rows=rows)
        held = self._held(groups)
        if not distinct:
            counts = map(groups.records, held)
            pairs = zip(self.queries, counts, strict=True)
            return [Tally(query, (), records, records, groups.rows) for query, records in pairs]
        places = [distinct.index(query) for query in mine]
        found = (groups.tallies(keys)[place] for keys, place in zip(held, places, strict=True))
        return [replace(tally, query=query) for query, tally in zip(self.queries, found, strict=True)]

    def _held(self, groups: Groups) -> list[list[Key]]:
        """Return the groups of records that each window holds."""
        by_cells: dict[Key, list[Key]] = {}
        for key in sorted(groups.keys, key=self._rank):
            by_cells.setdefault(key[: len(self.columns)], []).append(key)
        held = []
        for query in self.queries:
            inside = by_cells.get(tuple(self._code(name, query.listed[name][0]) for name in self.columns), [])
            low, high = (self._place(end, last) for end, last in ((query.since, 0), (query.until, _LAST)))
            held.append(inside[bisect_left(inside, low, key=self._rank) : bisect_left(inside, high, key=self._rank)])
        return held

    def _rank(self, key: Key) -> int:
        """Return the place in the order of a group; 0 without intervals, or of records without a place."""
        return 0 if not self.ends or key[-1] is None else int(key[-1])

    def _place(self, end: Scalar | None, unlimited: int) -> int:
        """Return the least place in the order of records that do not come before an end."""
        if end is None:
            return unlimited
        if self.by_day:
            assert self.order is not None
            return _day_number(self.order.day_of(end))
        return self.ends.index(end) + 1

    def _code(self, name: str, value: Scalar) -> Scalar:
        return value if name in self.clocks or self._itself(name) else self._codes[name][value]

    def _itself(self, name: str) -> bool:
        """Whether records can be grouped by the values of a column: a database may hold different texts for one."""
        picked = self.table.pick([name])
        kind = picked.kind(name)
        return kind == "whole" or (kind == "text" and (picked.engine.is_polars() or picked.in_pandas))

    @cached_property
    def _codes(self) -> Mapping[str, Mapping[Scalar, int]]:
        """The number of each listed value of a column."""
        listed = {name: dict.fromkeys(query.listed[name][0] for query in self.queries) for name in self.columns}
        return {name: {value: place for place, value in enumerate(values)} for name, values in listed.items()}

    def _keyed(self, queries: Iterable[Query]) -> tuple[LazyTable, list[str], list[str]]:
        """Return a table of the columns that questions need and of the keys, with the names of these."""
        used = dict.fromkeys(column for query in queries for column in _columns_of(self.table, query))
        real = [name for name in self.columns if name not in self.clocks]
        ordering = () if self.order is None else self.order.columns
        picked = self.table.pick([*dict.fromkeys([*used, *real, *ordering])])
        prefix = "window_"
        while any(name.startswith(prefix) for name in picked.schema):
            prefix += "_"
        expressions = [
            *(self._clock(name) if name in self.clocks else self._coded(picked, name) for name in self.columns),
            *([self._places(picked)] if self.ends else []),
        ]
        keys = [f"{prefix}{i}" for i in range(len(expressions))]
        columns = [nw.col(column) for column in dict.fromkeys([*used, *real])]
        keyed = selected(picked, [*columns, *(key.alias(name) for name, key in zip(keys, expressions, strict=True))])
        return picked.made_of(keyed), keys, real

    def _clock(self, name: str) -> nw.Expr:
        assert self.order is not None
        return self.order.clock(self.clocks[name])

    def _coded(self, picked: LazyTable, name: str) -> nw.Expr:
        """Return a record's value if it is listed, or its number; null for any other value."""
        codes = self._codes[name]
        known: nw.Expr
        if self._itself(name):
            known = nw.when(member_of(picked, name, list(codes))).then(nw.col(name))
            return known
        *others, (last, number) = codes.items()
        known = nw.when(member_of(picked, name, [last])).then(nw.lit(number))
        for value, code in others:
            known = nw.when(member_of(picked, name, [value])).then(nw.lit(code)).otherwise(known)
        return known

    def _places(self, picked: LazyTable) -> nw.Expr:
        """Return the place of a record in the order: its day, or how many ends do not come after it."""
        assert self.order is not None
        if self.by_day:
            shown = self.order.wall.dt
            return shown.year().cast(nw.Int64) * 1000 + shown.ordinal_day().cast(nw.Int64)
        if len(self.ends) > MOST_ENDS:
            raise QueryError(
                f"these windows have {len(self.ends)} different ends; ask about at most {MOST_ENDS - 1} at once"
            )
        passed = [picked.ones(self.order.places[0] >= self.order.literal(end)) for end in self.ends]
        total: nw.Expr = reduce(add, passed)
        return total


def _day_number(day: datetime.date) -> int:
    return day.year * 1000 + day.timetuple().tm_yday


def _columns_of(table: LazyTable, query: Query) -> tuple[str, ...]:
    """Return the columns that a question about all records reads."""
    if query.column is None:
        raise FrameError(f"the column of {query.description} is missing; name it")
    filtered = () if query.where is None else sorted(parse(query.where).columns)
    return (*subject_of(table, query.column).columns, *filtered)
