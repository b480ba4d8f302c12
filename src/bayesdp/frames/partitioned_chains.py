"""One long chain without entities, cut into stretches: each is computed by itself, wherever the engine puts it.

A window over a whole table brings all its records to one machine. So the order is cut at some records, and every
stretch is given, as *guests*, the records just before it, as many as are looked back for. Guests are looked up, never
counted. Which stretch a record belongs to depends on nothing but its own order: wherever the cuts are, and however
often a lost part is computed again, the counts are the same integers.
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
"""The column that says in which stretch a record is looked at; of a guest, the one after its own."""

EARLIER = "earlier records"
"""The column that says how many records come before the first one of that stretch, its guests included."""

_OWN, _LAST, _NODE = "own stretch", "last stretch", "node"

FEWEST = 2**16
"""A stretch has about so many records at least; a shorter one is not worth a partition."""

MOST = 2**10
"""So many stretches at most."""

_EACH_PARTITION = 4
"""So many stretches for each partition of Spark: it deals them out by chance, so that partitions are about as large."""

_SAMPLED = 16
"""So many orders for each stretch are looked at to cut the chain, which makes one record in sixteen a guest."""

OrderValues = tuple[Scalar, ...]
"""The values of the order columns at a record."""


@dataclass(frozen=True)
class PartitionedChains:
    """Where a chain is cut.

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
        """Return the records without the guests: each is now there once."""
        return frame.filter(nw.col(STRETCH) == nw.col(_OWN))

    def placed(self, table: LazyTable, frame: Any) -> Any:
        """Return a frame with two columns: the stretch of each record, and the last one that it is looked at in."""
        if table.in_spark:
            return nw.from_native(_placed_in_spark(frame.to_native(), self)).lazy()
        return frame.with_columns(
            _reached(table, self.orders, self.cuts).alias(_OWN), _reached(table, self.orders, self.guests).alias(_LAST)
        )


def partitioned_chains(table: LazyTable, orders: Sequence[str], back: int, rows: int) -> PartitionedChains | None:
    """Return where to cut the one chain of a table, for looking `back` records back.

    orders: the columns that put its records in order. rows: how many rows it has.

    None if the chain stays whole: in an engine of one machine, and if it is short.
    """
    several = _EACH_PARTITION if table.in_spark else 1
    wanted = min(several * table.partitions, rows // FEWEST, MOST)
    if wanted < 2:
        return None
    sample = _sampled(table, orders, wanted * _SAMPLED, rows)
    reach = max(math.ceil(2 * back * len(sample) / rows), 1)
    apart = max(len(sample) // wanted, reach + 1)
    first = range(apart, len(sample), apart)
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
    """Return the table with the guests of every stretch beside it, and each stretch in one partition."""
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
    """Return one partition, in pandas, with a second row for each record that is a guest elsewhere."""
    placed = stretches.placed(table, nw.from_native(native, eager_only=True))
    guests = placed.filter(nw.col(_LAST) > nw.col(_OWN))
    both = [placed.with_columns(nw.col(_OWN).alias(STRETCH)), guests.with_columns(nw.col(_LAST).alias(STRETCH))]
    rows: Any = nw.concat(both).to_native()
    return rows.assign(**{EARLIER: np.take([0, *stretches.before], rows[STRETCH].to_numpy(dtype=np.int64))})


def _placed_in_spark(native: Any, stretches: PartitionedChains) -> Any:
    """Do the same in Spark by a binary search: comparisons with each place would be more code than Java compiles.

    The places at which guests and stretches begin are laid out as a tree, level by level, in one array: below node i
    are 2i, for what comes before its place, and 2i + 1.
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
    """Return a constant of Spark, an array; it is written as one text, for many literals take long to hand over."""
    texts = json.dumps([None if value is None else str(value) for value in values])
    return functions.from_json(functions.lit(texts), "array<string>").cast(f"array<{dtype}>")


def _reached(table: LazyTable, orders: Sequence[str], places: Sequence[OrderValues]) -> nw.Expr:
    """Return how many of these places, in ascending order, a record has reached; none if it has no order."""
    return reduce(add, (table.ones(_at_or_after(table, orders, place)) for place in places))


def _at_or_after(table: LazyTable, orders: Sequence[str], place: OrderValues) -> nw.Expr:
    *earlier, (last, value) = [(order, table.value(order, value)) for order, value in zip(orders, place, strict=True)]
    reached = nw.col(last) >= value
    for order, held in reversed(earlier):
        reached = (nw.col(order) > held) | ((nw.col(order) == held) & reached)
    known: nw.Expr = reached.fill_null(False)
    return known


def _sampled(table: LazyTable, orders: Sequence[str], size: int, rows: int) -> list[OrderValues]:
    """Return about so many places of records, in ascending order: their order alone, not their state."""
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
    """Return how many records lie between the places at which guests and stretches begin, in their order.

    And, from the same scan, how many records have a value of each column.
    """
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
