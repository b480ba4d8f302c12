"""The column of booleans in memory that randomized response flips."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from bayesdp.errors import FrameError
from bayesdp.frames.aggregates import column_totals, subject_of
from bayesdp.frames.source import LazyTable, reading
from bayesdp.queries import Query

__all__ = ["TRUTH", "boolean_column"]

TRUTH = "truth"


def boolean_column(source: object, table: LazyTable, query: Query) -> Any:
    """Return a table of the caller's engine with one column, `truth`: whether the query counts the record's value.

    Raises FrameError for a table that is not in memory, and for missing values, because every record needs a value.
    The kind of pandas's objects is inferred from values: call `check_question` first, whose error a session can
    withhold.
    """
    try:
        frame: Any = nw.from_native(source, eager_only=True)
    except TypeError:
        raise FrameError(
            "randomized response flips every record in memory; collect the table first (pandas, Polars or PyArrow)"
        ) from None
    with reading(table):
        subject = subject_of(table, query.column or "")
        column_totals(table, subject.columns, "error")
        if table.in_pandas:  # cleaning turns its objects into texts, booleans or times
            table = table.pick(subject.columns)
            frame = table.frame.collect()
        return frame.select(subject.member(table, query.values).cast(nw.Boolean).alias(TRUTH)).to_native()
