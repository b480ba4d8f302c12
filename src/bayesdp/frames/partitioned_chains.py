"""One long chain without entities, cut into stretches that are computed in parallel.

A window over a whole table moves all its records to one machine. So the order is cut at some records, and each stretch
also gets, as *guests*, the earlier records that its first records are compared with. Guests are not counted. The
stretch of a record depends only on its own order, so the counts do not depend on the cuts, nor on how often a lost
partition is computed again.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from importlib import import_module
from operator import add
from typing import Any

import narwhals as nw
import numpy as np

from bayesdp._support.validation import Scalar
from bayesdp.frames.source import LazyTable, plain, whole

__all__ = ["EARLIER", "STRETCH", "PartitionedChains", "cut", "partitioned_chains"]

STRETCH = "stretch"
"""The column with the stretch in which a record is used; for a guest, the one after its own."""

EARLIER = "earlier records"
"""The column with the number of records before the first one of that stretch, its guests included."""

_OWN, _LAST, _NODE = "own stretch", "last stretch", "node"

FEWEST = 2**16
"""The least number of records, about, in a stretch; a shorter one is not worth a partition."""

MOST = 2**10
"""The most stretches."""

_EACH_PARTITION = 4
"""Stretches for each partition of Spark, which assigns them at random: partitions then have similar sizes."""

_SAMPLED = 16
"""Sampled orders for each stretch, of which one is the cut: one record in sixteen is then a guest."""

OrderValues = tuple[Scalar, ...]
"""The values of the order columns at a record."""


@dataclass(frozen=True)
class PartitionedChains:
    """The stretches of a chain.

    cuts:   the order of the first record of every stretch but the first.
    guests: the order of the first guest of each of these.
    before: how many records come before that guest.
    rows:   how many records the table has; present: how many of them have a value of each column.
    """

    orders: tuple[str, ...]
    cuts: tuple[OrderValues, ...]
    guests: tuple[OrderValues, ...]
    before: tuple[int, ...] = ()
    rows: int = 0
    present: Mapping[str, int] = field(default_factory=dict)

    def own(self, frame: Any) -> Any:
        """Return the records without the guests, so that each occurs once."""
        return frame.filter(nw.col(STRETCH) == nw.col(_OWN))

    def placed(self, table: LazyTable, frame: Any) -> Any:
        """Return a frame with two more columns: the stretch of each record, and the last one in which it is used."""
        if table.in_spark:
            return nw.from_native(_placed_in_spark(frame.to_native(), self)).lazy()
        return frame.with_columns(
            _reached(table, self.orders, self.cuts).alias(_OWN), _reached(table, self.orders, self.guests).alias(_LAST)
        )


def partitioned_chains(table: LazyTable, orders: Sequence[str], back: int, rows: int) -> PartitionedChains | None:
    """Return the stretches of the one chain of a table, with `back` guests or more each.

    orders: the columns that order records. rows: the number of rows.

    None if the chain is not cut: in an engine of one machine, and if it is short.
    """
    several = _EACH_PARTITION if table.in_spark else 1
    wanted = min(several * table.partitions, rows // FEWEST, MOST)
    if wanted < 2:
        return None
    sample = _sampled(table, orders, wanted * _SAMPLED, rows)
    reach = max(math.ceil(2 * back * len(sample) / rows), 1)
    distance = max(len(sample) // wanted, reach + 1)
    first = range(distance, len(sample), distance)
    if not first:
        return None
    cuts, guests = tuple(sample[place] for place in first), tuple(sample[place - reach] for place in first)
    tried = PartitionedChains(tuple(orders), cuts, guests)
    sizes, present = _sizes(table, tried)
    before = [sum(sizes[cell] for cell in range(2 * place + 1)) for place in range(len(cuts))]
    enough = [place for place in range(len(cuts)) if sizes[2 * place + 1] >= back]
    if not enough:
        return None
    kept_cuts, kept_guests = (tuple(places[place] for place in enough) for places in (cuts, guests))
    kept_before = tuple(before[place] for place in enough)
    return PartitionedChains(tried.orders, kept_cuts, kept_guests, kept_before, sizes.total(), present)


def cut(table: LazyTable, stretches: PartitionedChains) -> LazyTable:
    """Return the table with the guests of every stretch added, and each stretch in one partition."""
    if table.engine.is_dask():
        native: Any = table.frame.to_native()
        placed = native.map_partitions(
            _with_guests, table, stretches, meta=_with_guests(native._meta, table, stretches)
        )
        return replace(table, frame=nw.from_native(placed).lazy()).together([STRETCH])
    functions: Any = import_module("pyspark.sql.functions")
    native = stretches.placed(table, table.frame).to_native()
    native = native.withColumn(STRETCH, functions.explode(functions.sequence(_OWN, _LAST)))
    earlier = _array(functions, [0, *stretches.before], "bigint")
    native = native.withColumn(EARLIER, functions.element_at(earlier, functions.col(STRETCH) + 1))
    return replace(table, frame=nw.from_native(native).lazy())


def _with_guests(native: Any, table: LazyTable, stretches: PartitionedChains) -> Any:
    """Return one partition, in pandas, with a second row for each record that is also a guest."""
    placed = stretches.placed(table, nw.from_native(native, eager_only=True))
    guests = placed.filter(nw.col(_LAST) > nw.col(_OWN))
    both = [placed.with_columns(nw.col(_OWN).alias(STRETCH)), guests.with_columns(nw.col(_LAST).alias(STRETCH))]
    rows: Any = nw.concat(both).to_native()
    return rows.assign(**{EARLIER: np.take([0, *stretches.before], rows[STRETCH].to_numpy(dtype=np.int64))})


def _placed_in_spark(native: Any, stretches: PartitionedChains) -> Any:
    """Do the same in Spark by binary search: comparisons with every place would be too much code for Java's compiler.

    The places where guests and stretches begin form a tree, stored level by level in one array: the children of node i
    are 2i, for orders before its place, and 2i + 1.
    """
    functions: Any = import_module("pyspark.sql.functions")
    places = [place for both in zip(stretches.guests, stretches.cuts, strict=True) for place in both]
    levels = len(places).bit_length()
    padded = [*places, *[None] * (2**levels - 1 - len(places))]
    tree = [
        padded[(2 * node + 1) * 2 ** (levels - level - 1) - 1] for level in range(levels) for node in range(2**level)
    ]
    types = {field.name: field.dataType.simpleString() for field in native.schema}
    held = {
        order: _array(functions, [None if place is None else place[i] for place in tree], types[order])
        for i, order in enumerate(stretches.orders)
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


def _sizes(table: LazyTable, stretches: PartitionedChains) -> tuple[Counter[int], Counter[str]]:
    """Return the number of records between the starts of guests and stretches, and of values in each column."""
    columns = list(table.schema)

    def counts_of(frame: Any) -> Any:
        cells = stretches.placed(table, frame).with_columns(cell=nw.col(_OWN) + nw.col(_LAST))
        counts = (nw.col(column).count().alias(f"n_{column}") for column in columns)
        return cells.group_by("cell").agg(nw.len().alias("n"), *counts)

    sizes: Counter[int] = Counter()
    present: Counter[str] = Counter()
    for part in table.parts(counts_of):
        for cell, count, *having in part:
            sizes[whole(cell)] += whole(count)
            present.update(dict(zip(columns, map(whole, having), strict=True)))
    return sizes, present
