"""Windows of tables in every engine: the same integers as a plain loop over the records."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import polars
import pytest

from bayesdp import Count, Histogram, Mean, Quantile, Query, Sum, Variance
from bayesdp.errors import BayesDPError, FrameError, QueryError, RecordsError
from bayesdp.frames.source import scan
from bayesdp.frames.windows import Order, Window, tally_windows, windows_of
from bayesdp.models import ChainLayout

Columns = dict[str, tuple[str, list[Any]]]
FrameOf = Callable[[str, Columns], Any]

BEGIN = dt.datetime(2024, 2, 26, 22, 30)
TIMES = [BEGIN + dt.timedelta(hours=5 * i, minutes=i % 7) for i in range(60)]
ON = [i % 3 % 2 for i in range(60)]
ZONES = ["été", "日本", "sud"]
COLUMNS: Columns = {
    "time": ("timestamp[us]", TIMES),
    "day": ("date32[day]", [time.date() for time in TIMES]),
    "minute": ("int64", [time.hour * 100 + time.minute for time in TIMES]),
    "text": ("string", [time.isoformat(sep=" ") for time in TIMES]),
    "place": ("int64", list(range(60))),
    "on": ("int64", ON),
    "power": ("double", [i % 5 / 4 for i in range(60)]),
    "zone": ("string", [ZONES[i % 3] for i in range(60)]),
    "tariff": ("int64", [i % 4 for i in range(60)]),
    "holiday": ("bool", [i % 9 == 0 for i in range(60)]),
}


def on_by(*by: str, **asked: Any) -> Count:
    return Count("on", **{"equals": 1, "by": by or None, **asked})


def counted(belongs: Callable[..., bool], *to: object) -> int:
    return sum(on for i, on in enumerate(ON) if belongs(i, *to))


def answers(frame: Any, layout: ChainLayout, query: Query) -> dict[tuple[Any, ...], tuple[int, ...]]:
    table = scan(frame)
    order = Order.of(table, layout)
    windows = windows_of(table, order, query)
    tallies = tally_windows(table, order, [window.query for window in windows])
    assert all(type(number) is int for tally in tallies for number in tally.counts)
    return {window.names: tally.counts for window, tally in zip(windows, tallies, strict=True)}


def test_windows_hold_what_a_loop_over_records_finds(engine: str, frame_of: FrameOf) -> None:
    frame, by_time = frame_of(engine, COLUMNS), ChainLayout("time")
    days = [BEGIN.date() + dt.timedelta(i) for i in range(16)]
    expected: list[tuple[ChainLayout, Query, dict[tuple[Any, ...], int]]] = [
        (by_time, on_by("hour"), {(h,): counted(lambda i, h: TIMES[i].hour == h, h) for h in range(24)}),
        (
            by_time,
            on_by("weekday", "hour"),
            {
                (d, h): counted(lambda i, d, h: (TIMES[i].isoweekday(), TIMES[i].hour) == (d, h), d, h)
                for d in range(1, 8)
                for h in range(24)
            },
        ),
        (
            by_time,
            on_by("date", since="2024-02-26", until="2024-03-13"),
            {(day.isoformat(),): counted(lambda i, day: TIMES[i].date() == day, day) for day in days},
        ),
        (
            by_time,
            on_by("week", since="2024-02-27T06:00", until="2024-03-10"),
            {
                ("2024-W09",): counted(lambda i: dt.datetime(2024, 2, 27, 6) <= TIMES[i] < dt.datetime(2024, 3, 4)),
                ("2024-W10",): counted(lambda i: dt.datetime(2024, 3, 4) <= TIMES[i] < dt.datetime(2024, 3, 10)),
            },
        ),
        (
            ChainLayout(["day", "minute"]),
            on_by("hour", by_cells={"hour": [7, 8, 3]}, since="2024-03-01"),
            {
                (h,): counted(lambda i, h: TIMES[i].hour == h and TIMES[i] >= dt.datetime(2024, 3, 1), h)
                for h in (7, 8, 3)
            },
        ),
        (
            ChainLayout(["day", "minute"]),
            on_by("month", since="2024-02-01", until="2024-04-01"),
            {
                ("2024-02",): counted(lambda i: TIMES[i].month == 2),
                ("2024-03",): counted(lambda i: TIMES[i].month == 3),
            },
        ),
        (
            ChainLayout("text"),
            on_by("weekday", since="2024-02-28"),
            {
                (d,): counted(lambda i, d: TIMES[i].isoweekday() == d and TIMES[i] >= dt.datetime(2024, 2, 28), d)
                for d in range(1, 8)
            },
        ),
        (
            ChainLayout("place"),
            on_by("zone", "holiday", by_cells={"zone": ["sud", "été", "x"], "holiday": [True]}, since=5, until=40),
            {
                (zone, True): counted(lambda i, zone: ZONES[i % 3] == zone and i % 9 == 0 and 5 <= i < 40, zone)
                for zone in ("sud", "été", "x")
            },
        ),
        (
            ChainLayout("place"),
            on_by("tariff", by_cells=["2", 0, 17]),
            {(tariff,): counted(lambda i, tariff: i % 4 == tariff, tariff) for tariff in (2, 0, 17)},
        ),
        (ChainLayout("place"), on_by(since=3, until=50), {(): counted(lambda i: 3 <= i < 50)}),
    ]
    for layout, query, wanted in expected:
        assert answers(frame, layout, query) == {name: (count,) for name, count in wanted.items()}, query


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_every_kind_of_query_is_answered_about_windows(engine: str, frame_of: FrameOf) -> None:
    frame = frame_of(engine, COLUMNS)
    spans: dict[str, Any] = {"since": 10, "until": 40}
    inside = range(10, 40)
    for query, wanted in (
        (Sum("power", bounds=(0, 1), step=0.25, **spans), (sum(i % 5 for i in inside),)),
        (Mean("power", bounds=(0, 1), step=0.25, **spans), (sum(i % 5 for i in inside),)),
        (Histogram("on", cells=[0, 1], **spans), tuple(sum(ON[i] == state for i in inside) for state in (0, 1))),
        (Variance("on", bounds=(0, 1), step=1.0, **spans), ((30 * 10 - 10 * 10) // 30,)),
        (Quantile("power", at=0.5, candidates=[0, 0.5, 1], **spans), (6, 18)),
        (on_by(where="power > 0.5", **spans), (sum(ON[i] for i in inside if i % 5 > 2),)),
    ):
        assert answers(frame, ChainLayout("place"), query) == {(): wanted}, query


def test_sizes_of_windows_are_found_without_a_question() -> None:
    table = scan(polars.DataFrame({"hour": [1, 1, 2], "on": [1, None, 1], "zone": ["a", "a", None]}))
    windows = windows_of(table, None, on_by("hour", by_cells=[1, 2, 3]))
    sizes = tally_windows(table, None, [window.query for window in windows], instead=())
    assert [size.records for size in sizes] == [2, 1, 0]
    zones = [window.query for window in windows_of(table, None, on_by("zone", by_cells=["a"]))]
    with pytest.raises(RecordsError, match="1 in 'on', 1 in 'zone'"):
        tally_windows(table, None, zones)
    (dropped,) = tally_windows(table, None, zones, missing="drop")
    assert (dropped.counts, dropped.records, dropped.rows) == ((1,), 1, 3)


# --- time zones -------------------------------------------------------------------------------------------------------

INSTANTS = [dt.datetime(2024, 3, 30, 12, tzinfo=dt.UTC) + dt.timedelta(minutes=20 * i) for i in range(200)]
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize("engine", ["polars", "pandas", "pyarrow", "duckdb"])
def test_clocks_and_days_are_those_of_the_declared_zone(engine: str, frame_of: FrameOf) -> None:
    """The night of 31 March has no hour from 2 to 3 in Berlin, and that day has 23 hours."""
    frame = _zoned(engine)
    found = answers(frame, ChainLayout("time"), Count("on", equals=1, by="hour"))
    local = [time.astimezone(BERLIN) for time in INSTANTS]
    assert found == {(hour,): (sum(time.hour == hour for time in local),) for hour in range(24)}
    days = answers(frame, ChainLayout("time"), Count("on", equals=1, by="date", since="2024-03-31", until="2024-04-02"))
    assert days == {("2024-03-31",): (69,), ("2024-04-01",): (72,)}
    table = scan(frame)
    (window,) = windows_of(table, Order.of(table, ChainLayout("time")), Count("on", equals=1, since="2024-03-31"))
    assert window.region.since == "2024-03-30 23:00:00+00:00"


def _zoned(engine: str) -> Any:
    frame = polars.DataFrame({"time": INSTANTS, "on": 1}).with_columns(
        polars.col("time").dt.convert_time_zone("Europe/Berlin")
    )
    if engine == "pandas":
        return frame.to_pandas()
    if engine == "pyarrow":
        return frame.to_arrow()
    if engine == "duckdb":
        connection = pytest.importorskip("duckdb").connect()
        connection.execute("SET TimeZone = 'Europe/Berlin'")
        return connection.from_arrow(frame.to_arrow())
    return frame


def test_texts_with_offsets_are_instants_without_a_clock() -> None:
    texts = [time.astimezone(BERLIN).isoformat(sep=" ") for time in INSTANTS]
    frame, layout = polars.DataFrame({"time": texts, "on": 1}), ChainLayout("time")
    since = Count("on", equals=1, since="2024-03-31T00:00+01:00", until="2024-04-01T00:00+02:00")
    assert answers(frame, layout, since) == {(): (69,)}
    for query, reason in (
        (Count("on", equals=1, by="hour"), "depends on the zone"),
        (Count("on", equals=1, since="2024-03-31"), "have an offset from UTC"),
    ):
        with pytest.raises(BayesDPError, match=reason):
            answers(frame, layout, query)


# --- what windows are named, and what is refused ----------------------------------------------------------------------


BY_TIME = ChainLayout("time")


def of(query: Query, layout: ChainLayout | None = BY_TIME) -> Sequence[Window]:
    table = scan(polars.DataFrame({"time": TIMES, "on": ON, "power": 0.5, "hour": 1, "zone": "a", "other": 1}))
    return windows_of(table, None if layout is None else Order.of(table, layout), query)


def test_periods_are_named_by_the_calendar_and_clipped() -> None:
    weeks = of(on_by("week", since="2024-12-29", until="2025-01-07"))
    assert [window.names for window in weeks] == [("2024-W52",), ("2025-W01",), ("2025-W02",)]
    assert [window.query.since for window in weeks] == [
        "2024-12-29 00:00:00",
        "2024-12-30 00:00:00",
        "2025-01-06 00:00:00",
    ]
    assert weeks[-1].query.until == weeks[-1].region.until == "2025-01-07 00:00:00"
    (month,) = of(on_by("month", by_cells=["2024-02"]))
    assert (month.region.since, month.region.until) == ("2024-02-01 00:00:00", "2024-03-01 00:00:00")
    assert month.query == of(on_by(since="2024-02-01", until="2024-03-01T00:00"))[0].query


def test_a_column_of_the_name_wins_over_the_clock() -> None:
    assert [window.region.cells for window in of(on_by("hour", by_cells=[1]))] == [(("hour", ("1",)),)]
    with pytest.raises(QueryError, match="list its values"):
        of(on_by("hour"))
    weekday = of(on_by("weekday", by_cells=[1]))[0]
    assert weekday.region.cells == (("weekday of time", ("1",)),)


def test_the_way_an_hour_is_read_is_part_of_its_name() -> None:
    """Cells of a clock that is read in another way are not known to be other records."""
    table = scan(polars.DataFrame({"day": [1, 1, 2], "time": [5, 730, 2300], "on": [1, 1, 1]}))
    (window,) = windows_of(table, Order.of(table, ChainLayout(["day", "time"])), on_by("hour", by_cells=[7]))
    assert window.region.cells == (("hour of time / 100", ("7",)),)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"by": "date"}, "public ends"),
        ({"by": ["date", "month"], "since": "2024-01-01", "until": "2024-02-01"}, "overlap"),
        ({"by": "weekday", "by_cells": [0]}, "from 1 to 7"),
        ({"by": "weekday", "by_cells": [1, "1"]}, "listed twice"),
        ({"by": "month", "by_cells": ["2024"]}, "written like 2012-10"),
        ({"by": "week", "by_cells": ["2024-10"]}, "written like 2012-W40"),
        ({"by": "date", "by_cells": ["2024-03-01"], "since": "2024-04-01"}, "outside of the interval"),
        ({"since": "2024-03-01", "until": "2024-03-01"}, "come before"),
        ({"since": "March"}, "a date or time"),
        ({"since": "2024-03-01T00:00Z"}, "no offset"),
        ({"since": 5}, "a date or time"),
        ({"by": "date", "since": "0001-01-01", "until": "9999-01-01"}, "more than 20000 windows"),
        ({"by": ["other", "weekday"], "by_cells": {"other": list(range(4000))}}, "more than 20000 windows"),
        ({"by": "zone", "by_cells": ["a", "a "]}, None),
        ({"by": "power", "by_cells": [0.5]}, "cannot name parts"),
        ({"by": "minute"}, "give both or neither"),
    ],
)
def test_windows_that_make_no_sense_are_refused(asked: dict[str, Any], reason: str | None) -> None:
    if reason is None:
        assert len(of(Count("on", equals=1, **asked))) == 2
        return
    with pytest.raises(QueryError, match=reason):
        of(Count("on", equals=1, **asked))


def test_without_an_order_there_are_no_clocks() -> None:
    for query in (on_by("weekday"), on_by(since=3)):
        with pytest.raises(QueryError, match="what orders the records"):
            of(query, None)
    with pytest.raises(FrameError, match="do not contain the weekday"):
        of(on_by("weekday"), ChainLayout("other"))
    with pytest.raises(QueryError, match="holds no dates"):
        of(on_by("date", since=1, until=5), ChainLayout("other"))
    with pytest.raises(QueryError, match="like those of 'other'"):
        of(on_by(since="soon"), ChainLayout("other"))


def test_a_database_that_ignores_case_has_no_two_cells_for_one() -> None:
    connection = pytest.importorskip("duckdb").connect()
    connection.execute("CREATE TABLE t (zone VARCHAR COLLATE NOCASE, n INTEGER, on_ INTEGER)")
    connection.execute("INSERT INTO t VALUES ('north', 1, 1), ('North', 2, 1), ('south', 3, 1)")
    found = answers(
        connection.table("t"), ChainLayout("n"), Count("on_", equals=1, by="zone", by_cells=["NORTH", "south"])
    )
    assert found == {("NORTH",): (2,), ("south",): (1,)}
    with pytest.raises(QueryError, match="may treat"):
        answers(connection.table("t"), ChainLayout("n"), Count("on_", equals=1, by="zone", by_cells=["North", "north"]))
