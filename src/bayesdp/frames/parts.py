"""Parts of a table by a public column: their sizes, and whether each chain or group is in one part."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import narwhals as nw

from bayesdp._support.validation import Scalar
from bayesdp.errors import RecordsError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.dates import dated
from bayesdp.frames.groups import check_named
from bayesdp.frames.source import LazyTable, as_kind, plain, reading, whole
from bayesdp.queries import Count

__all__ = ["cells_of", "makes_parts", "members", "part_sizes"]


def cells_of(table: LazyTable, by: str, cells: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Return values converted to the kind of a column."""
    with reading(table):
        kind = table.pick([by]).kind(by)
        return tuple(as_kind(kind, cell) for cell in cells)


def makes_parts(table: LazyTable, by: str, group_columns: Sequence[str]) -> bool:
    """Tell whether a column is the same for all records of each chain or group; RecordsError if some lack a value.

    Only then are the parts that it makes independent of one another.

    group_columns: the columns that identify chains or groups; none if every record is independent of the others.

    >>> import polars
    >>> from bayesdp.frames.source import scan
    >>> table = scan(polars.DataFrame({"meter": [1, 1, 2], "district": ["A", "A", "B"], "hour": [7, 8, 7]}))
    >>> makes_parts(table, "district", ["meter"]), makes_parts(table, "hour", ["meter"])
    (True, False)
    """
    with reading(table):
        picked = table.pick(list(dict.fromkeys([*group_columns, by])))
        check_named(picked, list(picked.schema))
        if by in group_columns or not group_columns:
            return True
        keys = {f"g{i}": nw.col(column) for i, column in enumerate(group_columns)}

        def most(frame: Any) -> Any:
            pairs = frame.select(**keys, part=nw.col(by), n=nw.lit(1)).group_by(*keys, "part").agg(nw.col("n").max())
            return pairs.group_by(*keys).agg(nw.col("n").sum()).select(nw.col("n").max())

        return max(whole(rows[0][0]) for rows in picked.together(group_columns).parts(most) if rows) <= 1


def part_sizes(table: LazyTable, by: str, cells: Sequence[Scalar]) -> tuple[int, ...]:
    """Return the public number of records of each part, in one scan; RecordsError if a part is empty."""
    sizes = tuple(part.counts[0] for part in tally(table, [Count(by, equals=cell) for cell in cells]))
    for cell, size in zip(cells, sizes, strict=True):
        if size == 0:
            raise RecordsError(f"no record of {table.name} has {by} = {cell!r}; give values that occur in the table")
    return sizes


def members(
    table: LazyTable, by: str, group_columns: Sequence[Sequence[str]], end: tuple[str, Scalar] | None = None
) -> str:
    """Return the fingerprint of the members of parts: of all different pairs of a chain or group and its part.

    group_columns: the columns that identify chains or groups, once for each way to do so; none if every record is
                   independent of the others, and the fingerprint is then that of the sizes of parts.
    end:           a column that orders records, and its last value that counts; None if all records count.

    One row is collected for each chain or group. A table has the same fingerprint in every engine.

    >>> import polars
    >>> from bayesdp.frames.source import scan
    >>> one, other = (scan(polars.DataFrame({"meter": [1, 1, 2], "part": list(text)})) for text in ("AAB", "BBA"))
    >>> members(one, "part", [["meter"]]) == members(other, "part", [["meter"]])
    False
    """
    digest = hashlib.sha256()
    for columns in dict.fromkeys(tuple(columns) for columns in group_columns):
        for row in sorted(_pairs(table, by, columns, end)):
            digest.update(json.dumps(row, separators=(",", ":")).encode())
    return digest.hexdigest()


def _pairs(
    table: LazyTable, by: str, group_columns: Sequence[str], end: tuple[str, Scalar] | None
) -> set[tuple[str, ...]]:
    """Return the different pairs of a chain or group and its part, as texts; without chains or groups, with sizes."""
    order = () if end is None else (end[0],)
    with reading(table):
        picked = table.pick(list(dict.fromkeys([*group_columns, by, *order])))
        picked = picked if end is None else dated(picked, end[0])
        keys = {f"g{i}": nw.col(column) for i, column in enumerate((*group_columns, by))}
        within = None if end is None else picked.column(end[0]) <= picked.value(*end)

        def pairs(frame: Any) -> Any:
            kept = frame if within is None else frame.filter(within)
            return kept.select(**keys, n=nw.lit(1)).group_by(*keys).agg(nw.col("n").sum())

        sizes: dict[tuple[str, ...], int] = {}
        for *names, size in (row for rows in picked.together(group_columns).parts(pairs) for row in rows):
            pair = tuple(str(plain(name)) for name in names)
            sizes[pair] = sizes.get(pair, 0) + whole(size)
    return set(sizes) if group_columns else {(*pair, str(size)) for pair, size in sizes.items()}
