"""A wide table as one long column: every value of a group is a record."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals as nw

from bayesdp.frames.source import LazyTable, reading

__all__ = ["VALUE", "unpivoted"]

VALUE = "bayesdp value"
"""The name of the column that holds all values."""


def unpivoted(table: LazyTable, columns: Sequence[str]) -> LazyTable:
    """Return the values of several columns of numbers as one column, with one record a row."""
    with reading(table):
        picked = table.pick(columns)
        parts = [picked.frame.select(nw.col(column).cast(nw.Float64).alias(VALUE)) for column in columns]
        long = nw.concat(parts, how="vertical")  # unpivot() finds a DuckDB relation only in the default connection
        return picked.made_of(long)
