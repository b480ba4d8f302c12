"""Parts and growing tables in every engine: the same integers, the same refusals."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from bayesdp import Count, Histogram, Mean, Query, Sum
from bayesdp.errors import LedgerError, QueryError, RecordsError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.growth import Extent, check_grown, extent_of, extents_of_parts
from bayesdp.frames.parts import cells_of, check_parts, part_sizes
from bayesdp.frames.source import scan

ENGINES = (
    "pandas",
    "pandas-arrow",
    "polars",
    "lazy",
    "pyarrow",
    "duckdb",
    "ibis",
    "postgresql",
    "dask",
    "dask-arrow",
    "spark",
)
every_engine = pytest.mark.parametrize("engine", ENGINES)

FrameOf = Callable[[str, dict[str, tuple[str, list[Any]]]], Any]

METERS = [1, 1, 1, 2, 2, 3, 3, 3, 4]
COLUMNS: dict[str, tuple[str, list[Any]]] = {
    "meter": ("int64", METERS),
    "district": ("string", ["été" if meter < 3 else "日本" for meter in METERS]),
    "number": ("int64", [meter % 2 for meter in METERS]),
    "flat": ("bool", [meter == 3 for meter in METERS]),
    "hour": ("int64", [1, 2, 3, 1, 2, 1, 2, 3, 3]),
    "day": ("date32", [dt.date(2024, 2, 27 + hour) for hour in (1, 2, 2, 1, 2, 1, 2, 2, 2)]),
    "when": ("timestamp[us]", [dt.datetime(2024, 2, 29, hour) for hour in (1, 2, 3, 1, 2, 1, 2, 3, 3)]),
    "level": ("double", [0.5, 1.5, 2.5, 0.5, 1.5, 0.5, 1.5, 2.5, 2.5]),
    "on": ("int64", [0, 1, 1, 0, None, 1, 1, 1, 0]),
    "power": ("double", [0.25, 0.5, 0.75, 1.0, 2.0, 0.5, 0.5, 0.5, float("nan")]),
}

QUESTIONS: list[tuple[Query, tuple[int, ...], int]] = [
    (Count("on", equals=1, by="district", by_cells=["été"]), (2,), 4),
    (Count("on", equals=1, by="district", by_cells=["日本"]), (3,), 4),
    (Count("on", equals=1, by="district", by_cells=["été", "日本"]), (5,), 8),
    (Count("on > 0", equals=True, by="number", by_cells=["1"]), (5,), 6),
    (Count("on", equals=1, by="flat", by_cells=["true"]), (3,), 3),
    (Histogram("on", cells=[0, 1], by="number", by_cells=[0]), (2, 0), 2),
    (Sum("power", bounds=(0, 1), step=0.25, by="district", by_cells=["été"]), (14,), 5),
    (Mean("power", bounds=(0, 1), step=0.25, by="meter", by_cells=[3]), (6,), 3),
    (Count("on", equals=1, where="power > 0.5", by="district", by_cells=["été"]), (1,), 4),
]


@every_engine
def test_questions_about_parts(engine: str, frame_of: FrameOf) -> None:
    found = tally(frame_of(engine, COLUMNS), [query for query, _, _ in QUESTIONS], missing="drop")
    for (query, counts, present), each in zip(QUESTIONS, found, strict=True):
        assert (each.counts, each.present) == (counts, present), query
        assert all(type(number) is int for number in each.counts)


@every_engine
def test_parts_are_made_of_whole_chains(engine: str, frame_of: FrameOf) -> None:
    table = scan(frame_of(engine, COLUMNS))
    for by in ("district", "number", "flat", "meter"):
        check_parts(table, by, ["meter"])
    check_parts(table, "district", ["district", "number"])
    check_parts(table, "hour", [])
    for by, apart in (("hour", ["meter"]), ("district", ["number"]), ("on", ["meter"])):
        with pytest.raises(RecordsError):
            check_parts(table, by, apart)
    assert part_sizes(table, "district", ["été", "日本"]) == (5, 4)
    assert part_sizes(table, "number", cells_of(table, "number", ["0", 1.0])) == (3, 6)
    with pytest.raises(RecordsError, match="no record"):
        part_sizes(table, "district", ["été", "Nord"])
    with pytest.raises(QueryError, match="cannot name parts"):
        tally(table, [Count("on", equals=1, by="day", by_cells=["2024-02-28"])], missing="drop")


ENDS: dict[str, Extent] = {
    "hour": Extent(9, "hour", 3, before=6, through=9),
    "day": Extent(9, "day", "2024-02-29", before=3, through=9),
    "when": Extent(9, "when", "2024-02-29 03:00:00", before=6, through=9),
    "level": Extent(9, "level", 2.5, before=6, through=9),
    "district": Extent(9, "district", "日本", before=5, through=9),
}


@every_engine
def test_where_a_table_ends(engine: str, frame_of: FrameOf) -> None:
    table = scan(frame_of(engine, COLUMNS))
    for order, extent in ENDS.items():
        assert extent_of(table, order) == extent
        assert Extent.from_dict(extent.to_dict()) == extent
    assert extent_of(table, None) == Extent(9) == Extent.from_dict({"records": 9})
    parts = extents_of_parts(table, ENDS["hour"], "district", ["été", "日本"])
    assert parts == [
        Extent(5, "hour", 3, before=4, through=5, by="district", part="été"),
        Extent(4, "hour", 3, before=2, through=4, by="district", part="日本"),
    ]
    assert [Extent.from_dict(part.to_dict()) for part in parts] == parts
    assert extents_of_parts(table, Extent(9), "flat", ["1"]) == [Extent(3, by="flat", part="1")]
    check_grown(table, [*parts, *ENDS.values(), Extent(4), Extent(3, "hour", 1, before=0, through=3)])
    for other in (
        Extent(10),
        Extent(9, "hour", 3, 5, 9),
        Extent(9, "hour", 2, 3, 7),
        Extent(9, "day", "2024-02-29", 4, 9),
    ):
        with pytest.raises(LedgerError, match="does not continue"):
            check_grown(table, [other])


@pytest.mark.parametrize("damaged", [None, 3.5, {"records": -1}, {"records": 1, "order": "t", "until": None}, [9]])
def test_an_extent_that_was_damaged_is_refused(damaged: object) -> None:
    with pytest.raises(LedgerError, match="damaged"):
        Extent.from_dict(damaged)
