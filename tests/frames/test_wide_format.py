"""A wide table as one column of values; test_engines.py does so in every engine."""

import polars as pl
import pytest

from bayesdp import Sum
from bayesdp.errors import FrameError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.source import scan
from bayesdp.frames.wide_format import VALUE, unpivoted

WIDE = pl.DataFrame({"child": [60, None, 80], "mother": [61.5, 70.0, float("nan")], "name": ["a", "b", "c"]})


def test_every_value_is_a_record() -> None:
    long = unpivoted(scan(WIDE), ["child", "mother"])
    assert list(long.schema) == [VALUE]
    (found,) = tally(long, [Sum(VALUE, bounds=(0, 100), step=0.5)], missing="drop")
    assert (found.counts, found.records, found.rows) == ((2 * 271 + 1,), 4, 6)
    assert long.name == scan(WIDE).name


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(FrameError, match="has no column 'father'"):
        unpivoted(scan(WIDE), ["child", "father"])


def test_a_connection_of_ones_own_is_read_in() -> None:
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect().sql("select 1 as a, 2.5::double as b")
    (found,) = tally(unpivoted(scan(relation), ["a", "b"]), [Sum(VALUE, bounds=(0, 9), step=0.5)])
    assert found.counts == (7,)
