"""Parts of a table, by a public column: is it the same for all records of a chain or group, and how large are they?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from bayesdp._support.validation import Scalar
from bayesdp.errors import RecordsError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.groups import check_named
from bayesdp.frames.source import Table, alike, reading, whole
from bayesdp.queries import Count

__all__ = ["cells_of", "check_parts", "part_sizes"]


def cells_of(table: Table, by: str, cells: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Return the values of a column as the table holds them, however they were written."""
    with reading(table):
        kind = table.pick([by]).kind(by)
        return tuple(alike(kind, cell) for cell in cells)


def check_parts(table: Table, by: str, apart: Sequence[str]) -> None:
    """Refuse a column that differs within a chain or group, or that some record has no value of.

    apart: the columns that tell chains or groups apart; none if every record is independent of the others.

    Raises RecordsError: parts that share a chain or group are not independent of one another.

    >>> import polars
    >>> from bayesdp.frames.source import scan
    >>> check_parts(scan(polars.DataFrame({"meter": [1, 1, 2], "district": ["A", "A", "B"]})), "district", ["meter"])
    """
    with reading(table):
        picked = table.pick(list(dict.fromkeys([*apart, by])))
        check_named(picked, list(picked.schema))
        if by in apart or not apart:
            return
        keys = {f"g{i}": nw.col(column) for i, column in enumerate(apart)}

        def most(frame: Any) -> Any:
            pairs = frame.select(**keys, part=nw.col(by), n=nw.lit(1)).group_by(*keys, "part").agg(nw.col("n").max())
            return pairs.group_by(*keys).agg(nw.col("n").sum()).select(nw.col("n").max())

        if max(whole(rows[0][0]) for rows in picked.together(apart).parts(most) if rows) > 1:
            raise RecordsError(
                f"{by!r} is not the same for all records of one {', '.join(apart)} in {table.name}: such parts share "
                "a chain or group, and are not independent of one another"
            )


def part_sizes(table: Table, by: str, cells: Sequence[Scalar]) -> tuple[int, ...]:
    """Return how many records each part has, public numbers, in one scan; RecordsError if one has none."""
    sizes = tuple(part.counts[0] for part in tally(table, [Count(by, equals=cell) for cell in cells]))
    for cell, size in zip(cells, sizes, strict=True):
        if size == 0:
            raise RecordsError(
                f"no record of {table.name} has {by} = {cell!r}; name the values as they stand in the table"
            )
    return sizes
