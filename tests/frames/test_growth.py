"""How far a table reaches, in every engine, and whether a longer one continues it."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from bayesdp.errors import LedgerError
from bayesdp.frames.growth import Extent, check_grown, extent_of, extent_of_first, extents_of_parts, records_before
from bayesdp.frames.source import scan

Columns = dict[str, tuple[str, list[Any]]]
FrameOf = Callable[[str, Columns], Any]

ENDS: dict[str, Extent] = {
    "hour": Extent(9, "hour", 3, before=6, through=9),
    "day": Extent(9, "day", "2024-02-29", before=3, through=9),
    "when": Extent(9, "when", "2024-02-29 03:00:00", before=6, through=9),
    "level": Extent(9, "level", 2.5, before=6, through=9),
    "district": Extent(9, "district", "日本", before=5, through=9),
}


def test_where_a_table_ends(engine: str, frame_of: FrameOf, meters: Columns) -> None:
    table = scan(frame_of(engine, meters))
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


def test_where_a_table_ended_when_it_was_shorter(engine: str, frame_of: FrameOf, meters: Columns) -> None:
    table = scan(frame_of(engine, meters))
    assert extent_of_first(table, "hour", 6) == Extent(6, "hour", 2, before=3, through=6)
    assert extent_of_first(table, "hour", 5) == Extent(5, "hour", 2, before=3, through=5)
    assert extent_of_first(table, "day", 3) == Extent(3, "day", "2024-02-28", before=0, through=3)
    assert extent_of_first(table, "when", 6) == Extent(6, "when", "2024-02-29 02:00:00", before=3, through=6)
    for order, extent in ENDS.items():
        assert extent_of_first(table, order, 9) == extent
    assert extent_of_first(table, None, 4) == Extent(4)
    assert records_before(table, "hour", [1, 2, 9]) == (0, 3, 9)
    with pytest.raises(LedgerError, match="had 10 when"):
        extent_of_first(table, "hour", 10)
    with pytest.raises(LedgerError, match="give the table as it was"):
        extent_of_first(table, "district", 3)


@pytest.mark.parametrize("damaged", [None, 3.5, {"records": -1}, {"records": 1, "order": "t", "until": None}, [9]])
def test_an_extent_that_was_damaged_is_refused(damaged: object) -> None:
    with pytest.raises(LedgerError, match="damaged"):
        Extent.from_dict(damaged)


def test_new_rows_come_after_the_others_and_keep_their_part() -> None:
    before = pl.DataFrame({"day": [1, 2, 2], "who": ["a", "a", "b"]})
    whole = extent_of(scan(before), "day")
    parts = extents_of_parts(scan(before), whole, "who", ["a", "b"])
    later = pl.DataFrame({"day": [2, 3], "who": ["a", "b"]})
    check_grown(scan(pl.concat([before, later])), [whole, *parts])
    early = pl.DataFrame({"day": [1], "who": ["b"]})
    moved = before.with_columns(who=pl.Series(["b", "a", "b"]))
    for other, message in (
        (before.head(2), "fewer records"),
        (pl.concat([before, early]), "another number of records in a past period"),
        (moved, "fewer records"),
        (pl.concat([moved, later]), "another number of records"),
    ):
        with pytest.raises(LedgerError, match=message):
            check_grown(scan(other), [whole, *parts])
