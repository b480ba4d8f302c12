"""Of each group only some records are kept: the same ones in every engine."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import Count, Sum
from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames.aggregates import row_count, tally
from bayesdp.frames.group_pairs import group_pairs, group_sizes
from bayesdp.frames.kept_records import kept_records
from bayesdp.frames.source import scan
from bayesdp.models.layout import KeptRecords

Columns = dict[str, tuple[str, list[Any]]]
FrameOf = Callable[[str, Columns], Any]

LEVELS = [Count("level", equals=level) for level in (0.5, 1.5, 2.5)]


def test_first_and_spaced_records_are_kept(engine: str, frame_of: FrameOf, meters: Columns) -> None:
    table = scan(frame_of(engine, meters))
    for order in (("hour",), ("when",), ("day", "hour")):
        first = kept_records(table, KeptRecords(("meter",), order, 2))
        assert row_count(first) == 7
        assert [found.counts for found in tally(first, LEVELS)] == [(3,), (3,), (1,)]
        assert tally(first, [Sum("hour", bounds=(0, 9))])[0].counts == (12,)
        assert row_count(kept_records(table, KeptRecords(("meter",), order, 9))) == 9
    spaced = kept_records(table, KeptRecords(("district",), ("meter", "hour"), 2, spaced=True))
    assert tally(spaced, LEVELS)[0].rows == 4
    assert [found.counts for found in tally(spaced, LEVELS)] == [(2,), (0,), (2,)]


def test_undecided_places_are_refused(engine: str, frame_of: FrameOf, meters: Columns) -> None:
    table = scan(frame_of(engine, meters))
    for group, order, message in ((("meter",), ("day",), "same 'day'"), (("meter",), ("on",), "no value in 'on'")):
        with pytest.raises(RecordsError, match=message):
            kept_records(table, KeptRecords(group, order, 2))
    if engine in ("pandas", "pandas-arrow", "polars", "lazy", "pyarrow"):
        first = kept_records(table, KeptRecords(("meter",), (), 1))
        assert [found.counts for found in tally(first, LEVELS)] == [(3,), (0,), (1,)]
    else:
        with pytest.raises(FrameError, match="order"):
            kept_records(table, KeptRecords(("meter",), (), 1))


def test_pairs_and_sizes_of_groups(engine: str, frame_of: FrameOf, meters: Columns) -> None:
    table = scan(frame_of(engine, meters))
    assert group_sizes(table, ["meter"]) == {1: 1, 2: 1, 3: 2}
    pairs = group_pairs(table, "on", ["meter"], "drop")
    assert pairs.sizes == {1: 2, 3: 2}
    assert pairs.states == {0: (3, 0), 1: (5, 8)}
    assert group_pairs(table, "on = 1", ["meter"], "drop").states == {False: (3, 0), True: (5, 8)}


@given(sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4), most=st.integers(1, 13))
def test_spaced_records_are_evenly_spaced(sizes: list[int], most: int) -> None:
    rows = [(group, place) for group, size in enumerate(sizes) for place in range(size)]
    frame = polars.DataFrame(rows, schema=["group", "place"], orient="row")
    kept: Any = kept_records(scan(frame), KeptRecords(("group",), ("place",), most, spaced=True)).frame.collect()
    by_group: dict[int, list[int]] = {}
    for group, place in sorted(kept.rows()):
        by_group.setdefault(group, []).append(place)
    for group, size in enumerate(sizes):
        places = by_group[group]
        assert len(places) == min(size, most)
        assert places[0] == 0
        assert len(Counter(after - before for before, after in pairwise(places))) <= 2
