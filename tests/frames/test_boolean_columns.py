"""Whether each record has a value: a column in the caller's own engine, a place for every record."""

from typing import Any

import polars as pl
import pytest

from bayesdp import Count
from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames.boolean_columns import TRUTH, boolean_column
from bayesdp.frames.source import scan

FRAME = pl.DataFrame({"room": ["hall", "attic", "hall"], "steps": [0, 3, 9]})


@pytest.mark.parametrize("engine", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize(
    ("query", "truths"),
    [
        (Count("room", equals="hall"), [True, False, True]),
        (Count("steps", isin=[3, "9"]), [False, True, True]),
        (Count("steps > 2", equals=True), [False, True, True]),
        (Count("steps > 2", equals=False), [True, False, False]),
    ],
)
def test_every_record_keeps_its_place(engine: str, query: Count, truths: list[bool]) -> None:
    frame: Any = {"polars": FRAME, "pandas": FRAME.to_pandas(), "pyarrow": FRAME.to_arrow()}[engine]
    found = boolean_column(frame, scan(frame), query)
    assert type(found) is type(frame)
    column: Any = found[TRUTH]
    assert (column.to_pylist() if engine == "pyarrow" else column.to_list()) == truths


def test_labels_and_objects_of_pandas_do_not_matter() -> None:
    frame = FRAME.to_pandas().set_index(pl.Series([7, 7, 7]).to_pandas()).astype({"room": object})
    assert boolean_column(frame, scan(frame), Count("room", equals="hall"))[TRUTH].to_list() == [True, False, True]


def test_a_table_that_is_not_in_memory_is_refused() -> None:
    with pytest.raises(FrameError, match="flips every record in memory; collect the table first"):
        boolean_column(FRAME.lazy(), scan(FRAME.lazy()), Count("room", equals="hall"))


def test_a_record_without_a_value_is_refused() -> None:
    holes = FRAME.with_columns(steps=pl.Series([0, None, 9]))
    for query in (Count("steps", equals=9), Count("steps > 2", equals=True)):
        with pytest.raises(RecordsError, match="1 in 'steps'"):
            boolean_column(holes, scan(holes), query)
