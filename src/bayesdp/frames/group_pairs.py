"""The sizes of groups, and how often two records of one group have the same state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import perm
from typing import Any

import narwhals as nw

from bayesdp._support.validation import Scalar
from bayesdp.frames.aggregates import column_totals, row_count, subject_of
from bayesdp.frames.groups import check_named
from bayesdp.frames.source import LazyTable, Missing, plain, reading, whole

__all__ = ["GroupPairs", "group_pairs", "group_sizes"]


@dataclass(frozen=True)
class GroupPairs:
    """Records in groups, by their states.

    sizes:  the number of groups of each size.
    states: for each state, the number of its records, and that of ordered pairs of them in one group.
    """

    sizes: Mapping[int, int]
    states: Mapping[Scalar, tuple[int, int]]

    def tuples(self, length: int) -> int:
        """Return the number of ordered tuples of different records of one group.

        >>> GroupPairs({1: 4, 3: 2}, {}).tuples(2)
        12
        """
        return sum(groups * perm(size, length) for size, groups in self.sizes.items())


def group_sizes(table: LazyTable, group: Sequence[str]) -> dict[int, int]:
    """Return the number of groups of each size.

    >>> import polars
    >>> from bayesdp.frames.source import scan
    >>> group_sizes(scan(polars.DataFrame({"family": [1, 1, 2]})), ["family"])
    {1: 1, 2: 1}
    """
    with reading(table):
        picked = table.pick(group)
        check_named(picked, group)
        return _sizes(picked, group, nw.lit(1))


def group_pairs(table: LazyTable, subject: str, group: Sequence[str], missing: Missing) -> GroupPairs:
    """Return the groups and the states of their records; records without a state are refused, or left out.

    subject: a column of states, or a condition.
    """
    described = subject_of(table, subject)
    with reading(table):
        row_count(table)
        picked = table.pick(list(dict.fromkeys([*described.columns, *group])))
        column_totals(picked, described.columns, missing)
        check_named(picked, group)
        present = picked.present(described.columns)
        state = nw.col(subject)
        if described.condition is not None:
            state = picked.ones(described.condition.expression(picked))
        sizes = _sizes(picked, group, picked.ones(present))

        def agreeing(frame: Any) -> Any:
            keys = _keys(group)
            alike = (
                frame.filter(present).select(**keys, s=state, n=nw.lit(1)).group_by(*keys, "s").agg(nw.col("n").sum())
            )
            paired = alike.with_columns(p=nw.col("n") * (nw.col("n") - 1))
            return paired.group_by("s").agg(nw.col("n").sum(), nw.col("p").sum())

        totals: dict[Scalar, tuple[int, int]] = {}
        for name, records, pairs in (row for part in picked.together(group).parts(agreeing) for row in part):
            value = plain(name)
            assert value is not None
            before = totals.get(value, (0, 0))
            totals[value] = before[0] + whole(records), before[1] + whole(pairs)
    named = {bool(value): counts for value, counts in totals.items()} if described.condition is not None else totals
    return GroupPairs(sizes, dict(sorted(named.items(), key=lambda item: (str(type(item[0])), item[0]))))


def _keys(group: Sequence[str]) -> dict[str, nw.Expr]:
    return {f"g{i}": nw.col(column) for i, column in enumerate(group)}


def _sizes(picked: LazyTable, group: Sequence[str], ones: nw.Expr) -> dict[int, int]:
    keys = _keys(group)

    def by_size(frame: Any) -> Any:
        sizes = frame.select(**keys, m=ones).group_by(*keys).agg(nw.col("m").sum())
        return sizes.with_columns(n=nw.lit(1)).group_by("m").agg(nw.col("n").sum())

    sizes: Counter[int] = Counter()
    for size, groups in (row for part in picked.together(group).parts(by_size) for row in part):
        sizes[whole(size)] += whole(groups)
    return dict(sorted((size, groups) for size, groups in sizes.items() if size))
