"""Parts of tables in every engine: the same integers, the same refusals."""

from collections.abc import Callable
from typing import Any

import pytest

from bayesdp import Count, Histogram, Mean, Query, Sum
from bayesdp.errors import QueryError, RecordsError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.parts import cells_of, makes_parts, part_sizes
from bayesdp.frames.source import scan

Columns = dict[str, tuple[str, list[Any]]]
FrameOf = Callable[[str, Columns], Any]

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


def test_questions_about_parts(engine: str, frame_of: FrameOf, meters: Columns) -> None:
    found = tally(frame_of(engine, meters), [query for query, _, _ in QUESTIONS], missing="drop")
    for (query, counts, present), each in zip(QUESTIONS, found, strict=True):
        assert (each.counts, each.present) == (counts, present), query
        assert all(type(number) is int for number in each.counts)


def test_parts_are_made_of_whole_chains(engine: str, frame_of: FrameOf, meters: Columns) -> None:
    table = scan(frame_of(engine, meters))
    for by in ("district", "number", "flat", "meter"):
        assert makes_parts(table, by, ["meter"])
    assert makes_parts(table, "district", ["district", "number"])
    assert makes_parts(table, "hour", [])
    assert not makes_parts(table, "hour", ["meter"])
    assert not makes_parts(table, "district", ["number"])
    with pytest.raises(RecordsError):
        makes_parts(table, "on", ["meter"])
    assert part_sizes(table, "district", ["été", "日本"]) == (5, 4)
    assert part_sizes(table, "number", cells_of(table, "number", ["0", 1.0])) == (3, 6)
    with pytest.raises(RecordsError, match="no record"):
        part_sizes(table, "district", ["été", "Nord"])
    with pytest.raises(QueryError, match="cannot name parts"):
        tally(table, [Count("on", equals=1, by="day", by_cells=["2024-02-28"])], missing="drop")
