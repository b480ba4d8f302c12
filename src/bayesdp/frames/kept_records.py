"""A table of at most so many records of each group, chosen by public columns alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw

from bayesdp._support.messages import params
from bayesdp._support.words import listed
from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames.groups import check_named
from bayesdp.frames.source import LazyTable, reading, whole
from bayesdp.models.layout import KeptRecords

__all__ = ["kept_records"]

_PLACE, _SIZE, _ROW = "__bayesdp_place", "__bayesdp_size", "__bayesdp_row"

_MOST = 2**22
"""Of a group, at most this many evenly spaced records are kept, so that divisions are exact in floats, too."""


def kept_records(table: LazyTable, kept: KeptRecords) -> LazyTable:
    """Return the table with the records that are kept of each group. Which they are is decided in the engine.

    Raises RecordsError for records without a group or an order, and for two records of one group in the same place;
    FrameError if the rows have no order in the engine, and no column is named.

    >>> import polars
    >>> from bayesdp.frames.source import scan
    >>> steps = polars.DataFrame({"user": [1, 1, 1, 2], "day": [3, 1, 2, 1]})
    >>> rows = kept_records(scan(steps), KeptRecords(("user",), ("day",), 2)).frame.collect()
    >>> sorted(rows.rows())
    [(1, 1), (1, 2), (2, 1)]
    """
    with reading(table):
        _check_places(table, kept)
        columns, names = list(table.schema), list(kept.order_by) or [_ROW]
        native: Any = table.frame.to_native()
        if table.engine.is_dask():
            native = native.shuffle(on=list(kept.group))
            native = native.map_partitions(_in_pandas, kept, names, columns, meta=native._meta)
            frame = nw.from_native(native).lazy()
        elif table.engine.is_pandas():
            frame = nw.from_native(_in_pandas(native, kept, names, columns)).lazy()
        else:
            rows = table.frame if kept.order_by else nw.from_native(native.with_row_index(_ROW))
            place = nw.col(names[0]).cum_count().over(*kept.group, order_by=names)
            frame = _chosen(rows.with_columns(place.alias(_PLACE)), kept, names, columns)
        return replace(table, frame=frame)


def _check_places(table: LazyTable, kept: KeptRecords) -> None:
    """Refuse records whose place in a group is unknown."""
    named = list(dict.fromkeys([*kept.group, *kept.order_by]))
    picked = table.pick(named)
    check_named(picked, kept.group)
    if not kept.order_by:
        if not (table.engine.is_polars() or table.engine.is_pandas()):
            raise FrameError(
                f"the rows of {table.name} have no order in {table.engine.value}, so which records are kept is "
                "unknown; " + params("name the columns that order them: {order_by}")
            )
        return
    keys = {f"k{i}": nw.col(column) for i, column in enumerate(named)}
    missing = ~picked.present(kept.order_by)

    def most(frame: Any) -> Any:
        places = frame.select(**keys, n=nw.lit(1), m=picked.ones(missing)).group_by(*keys)
        return places.agg(nw.col("n").sum(), nw.col("m").max()).select(nw.col("n").max(), nw.col("m").max())

    parts = [list(map(whole, row)) for part in picked.together(kept.group).parts(most) for row in part]
    order = listed(map(repr, kept.order_by))
    if any(unplaced for _, unplaced in parts):
        raise RecordsError(f"some records of {table.name} have no value in {order}, which orders them; fill it in")
    if max(records for records, _ in parts) > 1:
        raise RecordsError(
            f"some records of one {listed(kept.group)} in {table.name} have the same {order}, so which of them are "
            "kept is not decided; name further columns that tell them apart"
        )


def _in_pandas(native: Any, kept: KeptRecords, names: Sequence[str], columns: Sequence[str]) -> Any:
    frame = nw.from_native(native, eager_only=True)
    rows = frame.sort(*names) if kept.order_by else frame.with_row_index(_ROW)
    placed = rows.with_columns(nw.col(names[0]).cum_count().over(*kept.group).alias(_PLACE))
    return _chosen(placed, kept, names, columns).to_native()


def _chosen(frame: Any, kept: KeptRecords, names: Sequence[str], columns: Sequence[str]) -> Any:
    """Return the kept records of a frame in which each has its place in its group, from 1.

    Of m records, that at place j + 1 is one of k evenly spaced ones if there is a whole number from j·k/m to less than
    (j + 1)·k/m. These intervals are disjoint and lie between 0 and k, so there are at most k of them.
    """
    if not kept.spaced:
        return frame.filter(nw.col(_PLACE) <= kept.most).select(*columns)
    most = min(kept.most, _MOST)
    frame = frame.with_columns(nw.col(names[0]).count().over(*kept.group).alias(_SIZE))
    scaled, size = (nw.col(_PLACE).cast(nw.Int64) - 1) * most, nw.col(_SIZE).cast(nw.Int64)
    beyond = scaled - (scaled // size) * size
    return frame.filter((beyond == 0) | (size - beyond < most)).select(*columns)
