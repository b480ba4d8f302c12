"""One long chain without entities, cut into segments that are computed in parallel.

A window over a whole table moves all its records to one machine. So the order is cut at some records, and each segment
also gets, as *overlap*, the earlier records that its first records are compared with. Overlap records are not counted.
The segment of a record depends only on its own order, so the counts do not depend on the cuts, nor on how often a lost
partition is computed again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from importlib import import_module
from itertools import accumulate
from operator import add
from typing import Any

import narwhals as nw
import numpy as np

from bayesdp._support.validation import Scalar
from bayesdp.frames.source import LazyTable, plain, whole

__all__ = ["EARLIER", "SEGMENT", "PartitionedChains", "cut", "numbered", "partitioned_chains"]

SEGMENT = "segment"
"""The column with the segment in which a record is used; for an overlap record, the one after its own."""

EARLIER = "earlier records"
"""The column with the number of records before the first one of that segment, its overlap included."""

_OWN, _LAST, _NODE = "own segment", "last segment", "node"

FEWEST = 2**16
"""The least number of records, about, in a segment; a shorter one is not worth a partition."""

MOST = 2**10
"""The most segments."""

_EACH_PARTITION = 4
"""Segments for each partition of Spark, which assigns them at random: partitions then have similar sizes."""

_SAMPLED = 16
"""Sampled orders for each segment and overlap record: one record in sixteen is then used in two segments."""

_MOST_SAMPLED = 2**15
"""The most sampled orders; a longer overlap is then a larger part of each segment."""

OrderValues = tuple[Scalar, ...]
"""The values of the order columns at a record."""


@dataclass(frozen=True)
class PartitionedChains:
    """The segments of a chain.

    cuts:     the order of the first record of every segment but the first.
    overlaps: the order of the first overlap record of each of these.
    before:   how many records come before that record; None if they have not been counted.
    """

    orders: tuple[str, ...]
    cuts: tuple[OrderValues, ...]
    overlaps: tuple[OrderValues, ...]
    before: tuple[int, ...] | None = None

    def own(self, frame: Any) -> Any:
        """Return the records without overlaps, so that each occurs once."""
        return frame.filter(nw.col(SEGMENT) == nw.col(_OWN))

    def placed(self, table: LazyTable, frame: Any) -> Any:
        """Return a frame with two more columns: the segment of each record, and the last one in which it is used."""
        if table.in_spark:
            return nw.from_native(_placed_in_spark(frame.to_native(), self)).lazy()
        return frame.with_columns(
            _reached(table, self.orders, self.cuts).alias(_OWN),
            _reached(table, self.orders, self.overlaps).alias(_LAST),
        )


def partitioned_chains(table: LazyTable, orders: Sequence[str], back: int, rows: int) -> PartitionedChains | None:
    """Return the segments of the one chain of a table, each with an overlap of `back` records or more.

    orders: the columns that order records. rows: the number of rows.

    None if the chain is not cut: in an engine of one machine, and if it is short.

    An overlap begins `back` sampled records before the cut. Their orders differ, so it has that many records at least.
    """
    several = _EACH_PARTITION if table.in_spark else 1
    wanted = min(several * table.partitions, rows // FEWEST, MOST)
    if wanted < 2:
        return None
    sample = _sampled(table, orders, min(wanted * _SAMPLED * back, _MOST_SAMPLED), rows)
    distance = max(len(sample) // wanted, back + 1)
    first = range(distance, len(sample), distance)
    if not first:
        return None
    cuts, overlaps = tuple(sample[place] for place in first), tuple(sample[place - back] for place in first)
    return PartitionedChains(tuple(orders), cuts, overlaps)


def numbered(table: LazyTable, segments: PartitionedChains) -> PartitionedChains:
    """Return the segments with the number of records before each, which takes another scan of the orders."""
    sizes = _sizes(replace(table, frame=table.frame.select(*segments.orders)), segments)
    before = list(accumulate(sizes[cell] for cell in range(2 * len(segments.cuts))))
    return replace(segments, before=tuple(before[::2]))


def cut(table: LazyTable, segments: PartitionedChains) -> LazyTable:
    """Return the table with the overlap of every segment added, and each segment in one partition."""
    if table.engine.is_dask():
        native: Any = table.frame.to_native()
        placed = native.map_partitions(
            _with_overlaps, table, segments, meta=_with_overlaps(native._meta, table, segments)
        )
        return replace(table, frame=nw.from_native(placed).lazy()).together([SEGMENT])
    functions: Any = import_module("pyspark.sql.functions")
    native = segments.placed(table, table.frame).to_native()
    own, last = functions.col(_OWN), functions.col(_LAST)
    used = functions.when(last > own, functions.array(own, last)).otherwise(functions.array(own))
    native = native.withColumn(SEGMENT, functions.explode(used)).drop(_LAST)  # what is left is shuffled
    if segments.before is not None:
        earlier = _array(functions, [0, *segments.before], "bigint")
        native = native.withColumn(EARLIER, functions.element_at(earlier, functions.col(SEGMENT) + 1))
    return replace(table, frame=nw.from_native(native).lazy())


def _with_overlaps(native: Any, table: LazyTable, segments: PartitionedChains) -> Any:
    """Return one partition, in pandas, with a second row for each record that is also in an overlap."""
    placed = segments.placed(table, nw.from_native(native, eager_only=True))
    again = placed.filter(nw.col(_LAST) > nw.col(_OWN))
    both = [placed.with_columns(nw.col(_OWN).alias(SEGMENT)), again.with_columns(nw.col(_LAST).alias(SEGMENT))]
    rows: Any = nw.concat(both).to_native()
    if segments.before is None:
        return rows
    return rows.assign(**{EARLIER: np.take([0, *segments.before], rows[SEGMENT].to_numpy(dtype=np.int64))})


def _placed_in_spark(native: Any, segments: PartitionedChains) -> Any:
    """Do the same in Spark by binary search: comparisons with every place would be too much code for Java's compiler.

    The places where overlaps and segments begin form a tree, stored level by level in one array: the children of node i
    are 2i, for orders before its place, and 2i + 1.
    """
    functions: Any = import_module("pyspark.sql.functions")
    places = [place for both in zip(segments.overlaps, segments.cuts, strict=True) for place in both]
    levels = len(places).bit_length()
    padded = [*places, *[None] * (2**levels - 1 - len(places))]
    tree = [
        padded[(2 * node + 1) * 2 ** (levels - level - 1) - 1] for level in range(levels) for node in range(2**level)
    ]
    types = {field.name: field.dataType.simpleString() for field in native.schema}
    held = {
        order: _array(functions, [None if place is None else place[i] for place in tree], types[order])
        for i, order in enumerate(segments.orders)
    }
    native = native.withColumn(_NODE, functions.lit(1))
    node = functions.col(_NODE)
    for _ in range(levels):
        reached: Any = None
        for order, nodes in reversed(held.items()):
            mine, its = functions.col(order), functions.element_at(nodes, node)
            reached = mine >= its if reached is None else (mine > its) | ((mine == its) & reached)
        went = functions.coalesce(reached, functions.lit(False)).cast("int")
        native = native.withColumn(_NODE, node * 2 + went)
    cell = node - 2**levels
    placed = native.withColumns({_OWN: functions.shiftright(cell, 1), _LAST: functions.shiftright(cell + 1, 1)})
    return placed.drop(_NODE)


def _array(functions: Any, values: Sequence[Scalar | None], dtype: str) -> Any:
    """Return a constant array of Spark, written as one text because many literals are slow."""
    texts = json.dumps([None if value is None else str(value) for value in values])
    return functions.from_json(functions.lit(texts), "array<string>").cast(f"array<{dtype}>")


def _reached(table: LazyTable, orders: Sequence[str], places: Sequence[OrderValues]) -> nw.Expr:
    """Return how many of these places, in ascending order, are not after a record; 0 if it has no order."""
    return reduce(add, (table.ones(_at_or_after(table, orders, place)) for place in places))


def _at_or_after(table: LazyTable, orders: Sequence[str], place: OrderValues) -> nw.Expr:
    *earlier, (last, value) = [(order, table.value(order, value)) for order, value in zip(orders, place, strict=True)]
    reached = nw.col(last) >= value
    for order, held in reversed(earlier):
        reached = (nw.col(order) > held) | ((nw.col(order) == held) & reached)
    known: nw.Expr = reached.fill_null(False)
    return known


def _sampled(table: LazyTable, orders: Sequence[str], size: int, rows: int) -> list[OrderValues]:
    chosen = replace(table, frame=table.frame.select(*orders))
    if table.engine.is_dask():
        parts = chosen.parts(lambda frame: frame.gather_every(max(rows // size, 1)))
    else:
        native: Any = chosen.frame.to_native()
        frame: Any = nw.from_native(native.sample(fraction=min(size / rows, 1.0), seed=0)).lazy()
        parts = replace(chosen, frame=frame).parts(lambda frame: frame)
    complete = (row for part in parts for row in part if all(plain(value) is not None for value in row))
    return list(dict.fromkeys(tuple(map(_literal, row)) for row in sorted(complete)))


def _literal(value: Any) -> Scalar:
    held = plain(value)
    assert held is not None
    return held


def _sizes(table: LazyTable, segments: PartitionedChains) -> Counter[int]:
    """Return the number of records between the starts of overlaps and segments."""

    def counts_of(frame: Any) -> Any:
        cells = segments.placed(table, frame).with_columns(cell=nw.col(_OWN) + nw.col(_LAST))
        return cells.group_by("cell").agg(nw.len().alias("n"))

    sizes: Counter[int] = Counter()
    for part in table.parts(counts_of):
        for cell, count in part:
            sizes[whole(cell)] += whole(count)
    return sizes
