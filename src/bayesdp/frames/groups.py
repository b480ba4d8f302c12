"""Moments of groups: how their members vary together, from exact sums on a grid of integers.

The grid lies between the extremes of the column and is as fine as 62-bit sums of products allow. Every engine computes
the same integers. Rounding, at most 2^-16 of the range for a billion groups, is far below the sampling error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import sqrt
from typing import Any

import narwhals as nw

from bayesdp._support.messages import param
from bayesdp._support.validation import Scalar
from bayesdp._support.words import counted, having
from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames.aggregates import column_totals, row_count
from bayesdp.frames.grid import Grid
from bayesdp.frames.source import LazyTable, Missing, checked_missing, one_or_zero, plain, reading, scan, whole
from bayesdp.models.layout import GroupLayout
from bayesdp.models.learnt_correlation import MOST_PAIRS, STEPS
from bayesdp.models.moments import AnovaMoments, Moments

__all__ = [
    "check_named",
    "check_roles",
    "checked_groups",
    "extremes",
    "group_moments",
    "moment_bits",
    "moment_grid",
    "pair_sums",
    "role_tables",
]

_BITS = 62
"""Sums of products stay below 2^62 in a 64-bit integer, which leaves one bit for the sign and one to spare."""

_FINEST = 26
"""A grid has at most 2^26 steps: products of places then have 52 bits and are also exact as floats."""

_MOST_ROLES = 100
"""Each pair of roles needs its own aggregates; a hundred roles have some 5,000 pairs."""

_ALONE = "every group of {} has one record only, so how members vary together is unknown; name columns of larger groups"


def group_moments(source: object, layout: GroupLayout, missing: Missing = "error") -> Moments | AnovaMoments:
    """Return the moments of groups: of roles if there are any or the data are wide, else of exchangeable members.

    Raises FrameError for missing values (unless dropped), infinite values, groups of one record only, and a group with
    two records in one role.

    >>> import polars
    >>> pairs = polars.DataFrame({"kid": [60, 90, 100], "mother": [90, 100, 120]})
    >>> group_moments(pairs, GroupLayout(["kid", "mother"])).mean
    (83.33333333333333, 103.33333333333333)
    """
    table, missing = scan(source), checked_missing(missing)
    with reading(table):
        picked = checked_groups(table, layout, missing)
        if layout.role is None and not layout.wide:
            return _exchangeable(picked, layout)
        return _by_role(*role_tables(picked, layout))


def checked_groups(table: LazyTable, layout: GroupLayout, missing: Missing) -> LazyTable:
    """Return the columns of the layout; refuses an empty table and values that are not numeric, missing or infinite."""
    row_count(table)
    named = [*layout.group, *([layout.role] if layout.role else [])]
    picked = table.pick([*layout.value, *named])
    for column in layout.value:
        if picked.kind(column) not in ("whole", "number"):
            raise FrameError(f"cannot compute moments of column {column!r} of {table.name}: it is not numeric")
    column_totals(picked, layout.value, missing)
    check_named(picked, named)
    return picked


def check_named(table: LazyTable, columns: Sequence[str]) -> None:
    """Refuse records without a group or role."""
    try:
        column_totals(table, columns, "error")
    except RecordsError:
        listed = ", ".join(map(repr, columns))
        raise RecordsError(
            f"some records of {table.name} have no usable value in {listed}, so they belong to no group; fill in these "
            "columns or remove the records"
        ) from None


def role_tables(table: LazyTable, layout: GroupLayout) -> tuple[LazyTable, tuple[str, ...], list[Grid]]:
    """Return a table with one row for each group (`q0`, … places, `n0`, … numbers of values), the roles and grids."""
    return _wide_roles(table, layout) if layout.wide else _long_roles(table, layout)


def _wide_roles(table: LazyTable, layout: GroupLayout) -> tuple[LazyTable, tuple[str, ...], list[Grid]]:
    if len(layout.value) > _MOST_ROLES:
        raise FrameError(f"{len(layout.value)} value columns are too many; groups may have {_MOST_ROLES} roles")
    bits = moment_bits(row_count(table))
    grids = [moment_grid(table, column, *extremes(table, column), bits) for column in layout.value]
    columns: dict[str, nw.Expr] = {}
    for i, (grid, column) in enumerate(zip(grids, layout.value, strict=True)):
        columns[f"q{i}"] = grid.placed(table, column).fill_null(0)
        columns[f"n{i}"] = table.ones(~nw.col(column).is_null())
    return table.mapped(lambda frame: frame.select(**columns)), tuple(layout.value), grids


def _long_roles(table: LazyTable, layout: GroupLayout) -> tuple[LazyTable, tuple[str, ...], list[Grid]]:
    value, role = layout.value[0], layout.role
    assert role is not None
    summaries = _roles(table, value, role)
    if len(summaries) < 2:
        raise RecordsError(
            f"column {role!r} of {table.name} names {counted(len(summaries), 'role')}; groups need at least two"
        )
    if len(summaries) > _MOST_ROLES:
        raise RecordsError(
            f"column {role!r} of {table.name} names {len(summaries)} roles; at most {_MOST_ROLES} can be "
            "identified: leave " + param("role") + " out to treat the members of a group as exchangeable"
        )
    roles = sorted(summaries, key=str)
    bits = moment_bits(max(count for _, _, count in summaries.values()))
    grids = [moment_grid(table, value, *summaries[member][:2], bits) for member in roles]
    columns: dict[str, nw.Expr] = {}
    for i, (member, grid) in enumerate(zip(roles, grids, strict=True)):
        mine = table.member(role, [member]).fill_null(False) & ~nw.col(value).is_null()
        columns[f"q{i}"] = nw.when(mine).then(grid.placed(table, value)).otherwise(nw.lit(0))
        columns[f"n{i}"] = table.ones(mine)
    keys = {f"g{i}": nw.col(column) for i, column in enumerate(layout.group)}

    def by_group(frame: Any) -> Any:
        return frame.select(**keys, **columns).group_by(*keys).agg(*(nw.col(name).sum() for name in columns))

    return table.together(layout.group).mapped(by_group), tuple(map(str, roles)), grids


def _roles(table: LazyTable, value: str, role: str) -> dict[Scalar, tuple[float, float, int]]:
    """Return the least and largest value of each role, and its number of records."""

    def by_role(frame: Any) -> Any:
        named = frame.select(r=nw.col(role), a=nw.col(value), b=nw.col(value), n=nw.col(value))
        return named.group_by("r").agg(nw.col("a").min(), nw.col("b").max(), nw.col("n").count()).head(10_000)

    summaries: dict[Scalar, tuple[float, float, int]] = {}
    for part in table.parts(by_role):
        for name, low, high, count in part:
            member = plain(name)
            assert member is not None
            if whole(count):
                before = summaries.get(member, (low, high, 0))
                summaries[member] = min(before[0], low), max(before[1], high), before[2] + whole(count)
    return summaries


def _by_role(table: LazyTable, roles: Sequence[str], grids: Sequence[Grid]) -> Moments:
    """Return mean and covariance of the roles.

    The variance of a role is that of all groups that have it; the correlation of two roles is that of the groups that
    have both.
    """
    size = len(roles)
    alone = [nw.when(nw.col(f"n{i}") == 1).then(nw.col(f"q{i}")).otherwise(nw.lit(0)) for i in range(size)]
    products: dict[str, nw.Expr] = {}
    for i in range(size):
        products[f"twice{i}"] = one_or_zero(nw.col(f"n{i}") > 1)
        for j in range(size):
            products[f"a{i}_{j}"] = alone[i] * nw.col(f"n{j}")
            products[f"s{i}_{j}"] = alone[i] * alone[i] * nw.col(f"n{j}")
            if i <= j:
                products[f"n{i}_{j}"] = nw.col(f"n{i}") * nw.col(f"n{j}")
                products[f"c{i}_{j}"] = alone[i] * alone[j]
    products["several"] = one_or_zero(nw.sum_horizontal(*(nw.col(f"n{i}") for i in range(size))) > 1)
    sums = table.sums(products)
    check_roles(table, {role: sums[f"twice{i}"] for i, role in enumerate(roles)})
    if not sums["several"]:
        raise RecordsError(_ALONE.format(table.name))
    covariance = [[0.0] * size for _ in roles]
    fewest = min(sums[f"n{min(i, j)}_{max(i, j)}"] for i in range(size) for j in range(size))
    if fewest < 2:
        raise RecordsError(
            f"two roles of {table.name} occur together in {counted(fewest, 'group')} only; their covariance needs at "
            "least two"
        )
    for i in range(size):
        for j in range(i, size):
            covariance[i][j] = covariance[j][i] = _covariance(sums, grids, i, j)
    mean = [float(grid.total(sums[f"a{i}_{i}"], sums[f"n{i}_{i}"]) / sums[f"n{i}_{i}"]) for i, grid in enumerate(grids)]
    return Moments(fewest, mean, covariance, roles=roles)


def check_roles(table: LazyTable, twice: Mapping[str, int]) -> None:
    """Refuse roles that occur more than once in a group, given the number of such groups."""
    for role, groups in twice.items():
        if groups:
            raise RecordsError(
                f"{having(groups, 'group', table.name)} more than one record in the role {role!r}; a role names one "
                "member of a group: number the roles, or leave "
                + param("role")
                + " out to treat members as exchangeable"
            )


def _covariance(sums: Mapping[str, int], grids: Sequence[Grid], i: int, j: int) -> float:
    def spread(product: str, first: str, second: str, n: int) -> Fraction:
        return Fraction(sums[product]) - Fraction(sums[first] * sums[second], n)

    def variance(role: int) -> Fraction:
        n = sums[f"n{role}_{role}"]
        return spread(f"s{role}_{role}", f"a{role}_{role}", f"a{role}_{role}", n) / (n - 1)

    common = sums[f"n{i}_{j}"]
    together = spread(f"c{i}_{j}", f"a{i}_{j}", f"a{j}_{i}", common)
    steps = Fraction(grids[i].step) * Fraction(grids[j].step)
    if common == sums[f"n{i}_{i}"] == sums[f"n{j}_{j}"]:
        return float(together / (common - 1) * steps)
    alone = spread(f"s{i}_{j}", f"a{i}_{j}", f"a{i}_{j}", common) * spread(
        f"s{j}_{i}", f"a{j}_{i}", f"a{j}_{i}", common
    )
    if alone == 0:
        raise RecordsError("two roles do not vary in the groups that have both, so their correlation is unknown")
    return float(together * steps) * sqrt(float(variance(i) * variance(j) / alone))


def _exchangeable(table: LazyTable, layout: GroupLayout) -> AnovaMoments:
    value = layout.value[0]
    table = table.together(layout.group)
    keys = {f"g{i}": nw.col(column) for i, column in enumerate(layout.group)}

    def largest_of(frame: Any) -> Any:
        sizes = frame.select(**keys, m=nw.col(value)).group_by(*keys).agg(nw.col("m").count())
        return sizes.select(nw.col("m").max())

    largest = max(whole(part[0][0]) for part in table.parts(largest_of))
    if largest < 2:
        raise RecordsError(_ALONE.format(table.name))
    grid = moment_grid(table, value, *extremes(table, value), moment_bits(row_count(table) * largest))
    return _anova(_sums_by_size(table, layout, grid), grid)


def _sums_by_size(table: LazyTable, layout: GroupLayout, grid: Grid) -> dict[int, list[int]]:
    """Return, by group size: the number of groups, Σ places, Σ (group sums)², Σ squares."""
    value = layout.value[0]
    keys = {f"g{i}": nw.col(column) for i, column in enumerate(layout.group)}

    def by_size(frame: Any) -> Any:
        placed = frame.select(**keys, q=grid.placed(table, value))
        placed = placed.with_columns(qq=nw.col("q") * nw.col("q"), m=nw.col("q"))
        groups = placed.group_by(*keys).agg(nw.col("q").sum(), nw.col("qq").sum(), nw.col("m").count())
        groups = groups.filter(nw.col("m") > 0).with_columns(s=nw.col("q") * nw.col("q"), one=nw.col("m") * 0 + 1)
        return groups.group_by("m").agg(*(nw.col(name).sum() for name in ("one", "q", "s", "qq")))

    sizes: dict[int, list[int]] = {}
    for part in table.parts(by_size):
        for size, *sums in part:
            before = sizes.get(whole(size), [0, 0, 0, 0])
            sizes[whole(size)] = [old + whole(new) for old, new in zip(before, sums, strict=True)]
    return sizes


def pair_sums(
    source: object, layout: GroupLayout, bounds: tuple[float, float], most: int, missing: Missing = "error"
) -> tuple[tuple[tuple[int, int], ...], tuple[int, int, int]]:
    """Return the number of groups of each size, and the three sums over pairs that a private fit releases.

    Values are clipped to the bounds and placed on STEPS steps on either side of their middle. The sums are over all
    ordered pairs of different members of a group: of the products, of the squares of the first, and of the first times
    STEPS. `most` is the size of the largest group allowed.

    >>> import polars
    >>> twins = polars.DataFrame({"pair": [1, 1, 2, 2], "height": [0.0, 10.0, 10.0, 10.0]})
    >>> [total / STEPS**2 for total in pair_sums(twins, GroupLayout("height", "pair"), (0, 10), 2)[1]]
    [0.0, 4.0, 2.0]
    """
    table, missing = scan(source), checked_missing(missing)
    with reading(table):
        picked = checked_groups(table, layout, missing)
        if row_count(picked) * (most - 1) > MOST_PAIRS:
            raise FrameError(f"{table.name} may have more than {MOST_PAIRS} pairs, so their sums would not be exact")
        low, high = bounds
        grid = Grid(low, high, low + (high - low) / 2, (high - low) / 2 / STEPS)
        sizes = _sums_by_size(picked.together(layout.group), layout, grid)
    if not 2 <= max(sizes, default=0) <= most:
        raise RecordsError(f"{table.name} has no group of two, or one of more than {most} records")
    products = sum(squared - squares for _, _, squared, squares in sizes.values())
    squares = sum((size - 1) * sums[3] for size, sums in sizes.items())
    firsts = STEPS * sum((size - 1) * sums[1] for size, sums in sizes.items())
    return tuple((size, sums[0]) for size, sums in sorted(sizes.items())), (products, squares, firsts)


def _anova(sizes: Mapping[int, Sequence[int]], grid: Grid) -> AnovaMoments:
    """Return the analysis of variance from, by group size: groups, Σ values, Σ (group sums)², Σ values²."""
    groups = sum(sums[0] for sums in sizes.values())
    records = sum(size * sums[0] for size, sums in sizes.items())
    if groups < 2:
        raise RecordsError("there is one group only; a correlation needs at least two groups")
    total = sum(sums[1] for sums in sizes.values())
    between = sum((Fraction(sums[2], size) for size, sums in sizes.items()), Fraction(-(total**2), records))
    within = sum((Fraction(sums[3]) - Fraction(sums[2], size) for size, sums in sizes.items()), Fraction(0))
    squares = sum(size**2 * sums[0] for size, sums in sizes.items())
    step = Fraction(grid.step)
    return AnovaMoments(
        groups=groups,
        records=records,
        mean=float(grid.total(total, records) / records),
        between=float(between / (groups - 1) * step**2),
        within=float(within / (records - groups) * step**2),
        size=float((records - Fraction(squares, records)) / (groups - 1)),
        largest=max(sizes),
        sizes=tuple(_of_size(size, sums, grid) for size, sums in sorted(sizes.items())),
    )


def _of_size(size: int, sums: Sequence[int], grid: Grid) -> tuple[int, int, float, float]:
    """Return a group size, the number of such groups, the mean of their means, and the spread of these."""
    groups, total, squares, _ = sums
    spread = (Fraction(squares) - Fraction(total**2, groups)) / size**2 * Fraction(grid.step) ** 2
    return size, groups, float(grid.total(total, groups * size) / (groups * size)), float(spread)


def moment_grid(table: LazyTable, column: str, low: float, high: float, bits: int) -> Grid:
    """Return the grid between a column's extremes, of at most 2^bits steps; step 1 for whole numbers if it fits."""
    low, high = float(low), float(high)
    exact = table.kind(column) == "whole" and max(abs(low), abs(high)) < 2**53
    if exact and high - low < 2**bits:
        return Grid(low, high, low, 1.0, whole=True)
    step = (high - low) / 2.0**bits if high > low else 1.0
    if not 0 < step < float("inf"):
        raise RecordsError(f"the values of column {column!r} of {table.name} are too far apart for exact moments")
    return Grid(low, high, low, step)


def moment_bits(products: int) -> int:
    """Return how many bits a place may have if `products` squares of places are added up."""
    return max(min((_BITS - max(products, 1).bit_length()) // 2, _FINEST), 1)


def extremes(table: LazyTable, column: str) -> tuple[float, float]:
    """Return the least and the largest value of a column; refuses one without values."""

    def ends(frame: Any) -> Any:
        return frame.select(a=nw.col(column), b=nw.col(column)).select(nw.col("a").min(), nw.col("b").max())

    pairs = [part[0] for part in table.parts(ends) if plain(part[0][0]) is not None]
    if not pairs:
        raise RecordsError(f"column {column!r} of {table.name} holds no values")
    return float(min(low for low, _ in pairs)), float(max(high for _, high in pairs))
