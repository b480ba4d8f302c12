"""Moments of groups: how the members of a family vary together, from exact sums on a grid of integers.

Values are placed on a grid between the column's extremes, as fine as 62-bit sums of products allow: every engine finds
the same integers, and the rounding (at most 2^-16 of the range for a billion groups) is far below the sampling error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import sqrt
from typing import Any

import narwhals as nw

from bayesdp._support.validation import Scalar
from bayesdp._support.words import counted, having
from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames.aggregates import column_totals, row_count
from bayesdp.frames.grid import Grid
from bayesdp.frames.source import LazyTable, Missing, checked_missing, plain, reading, scan, whole
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
"""Sums of products must stay below 2^62 in a 64-bit integer, with one bit for the sign and one to spare."""

_FINEST = 26
"""Values are placed on a grid of at most 2^26 steps: their products then have 52 bits, and are exact as floats too."""

_MOST_ROLES = 100
"""Each pair of roles takes aggregates of its own; a hundred roles have some 5,000 pairs."""

_ALONE = "every group of {} has one record only; nothing can be said about how members vary together"


def group_moments(source: object, layout: GroupLayout, missing: Missing = "error") -> Moments | AnovaMoments:
    """Return the moments of groups: of roles if they have any (or the data are wide), else of exchangeable members.

    Raises FrameError for missing values (unless dropped), infinite values, groups of one only, and a group that has two
    records in the same role.

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
    """Return the columns of the layout; refuses an empty table and values that are no numbers, missing or infinite."""
    row_count(table)
    named = [*layout.group, *([layout.role] if layout.role else [])]
    picked = table.pick([*layout.value, *named])
    for column in layout.value:
        if picked.kind(column) not in ("whole", "number"):
            raise FrameError(f"column {column!r} of {table.name} holds no numbers, so it has no moments")
    column_totals(picked, layout.value, missing)
    check_named(picked, named)
    return picked


def check_named(table: LazyTable, columns: Sequence[str]) -> None:
    """Refuse records that do not say which group or role they belong to."""
    try:
        column_totals(table, columns, "error")
    except RecordsError:
        listed = ", ".join(map(repr, columns))
        raise RecordsError(
            f"some records of {table.name} have no usable value in {listed}, so they belong to no group; fill these "
            "columns in or remove the records"
        ) from None


def role_tables(table: LazyTable, layout: GroupLayout) -> tuple[LazyTable, tuple[str, ...], list[Grid]]:
    """Return a table with one row a group (`q0`, … the placed values, `n0`, … how many), the roles, and their grids."""
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
            f"column {role!r} of {table.name} names {len(summaries)} roles; at most {_MOST_ROLES} can be told apart: "
            "leave role= out to treat the members of a group as exchangeable"
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
    """Return each role's least and largest value and how many records have it."""

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

    Each role's variance is that of all groups that have it; the correlation of two roles is that of the groups that
    have both, so that it is a correlation and as uncertain as these groups are few.
    """
    size = len(roles)
    alone = [nw.when(nw.col(f"n{i}") == 1).then(nw.col(f"q{i}")).otherwise(nw.lit(0)) for i in range(size)]
    products: dict[str, nw.Expr] = {}
    for i in range(size):
        products[f"twice{i}"] = nw.when(nw.col(f"n{i}") > 1).then(nw.lit(1)).otherwise(nw.lit(0))
        for j in range(size):
            products[f"a{i}_{j}"] = alone[i] * nw.col(f"n{j}")
            products[f"s{i}_{j}"] = alone[i] * alone[i] * nw.col(f"n{j}")
            if i <= j:
                products[f"n{i}_{j}"] = nw.col(f"n{i}") * nw.col(f"n{j}")
                products[f"c{i}_{j}"] = alone[i] * alone[j]
    several = nw.sum_horizontal(*(nw.col(f"n{i}") for i in range(size)))
    products["several"] = nw.when(several > 1).then(nw.lit(1)).otherwise(nw.lit(0))
    sums = _sums(table, products)
    check_roles(table, {role: sums[f"twice{i}"] for i, role in enumerate(roles)})
    if not sums["several"]:
        raise RecordsError(_ALONE.format(table.name))
    covariance = [[0.0] * size for _ in roles]
    fewest = min(sums[f"n{min(i, j)}_{max(i, j)}"] for i in range(size) for j in range(size))
    if fewest < 2:
        raise RecordsError(
            f"some two roles of {table.name} occur together in {counted(fewest, 'group')} only; their "
            "covariance needs at least two"
        )
    for i in range(size):
        for j in range(i, size):
            covariance[i][j] = covariance[j][i] = _covariance(sums, grids, i, j)
    mean = [float(grid.total(sums[f"a{i}_{i}"], sums[f"n{i}_{i}"]) / sums[f"n{i}_{i}"]) for i, grid in enumerate(grids)]
    return Moments(fewest, mean, covariance, roles=roles)


def check_roles(table: LazyTable, twice: Mapping[str, int]) -> None:
    """Refuse roles that are taken more than once in a group, given in how many groups each is."""
    for role, groups in twice.items():
        if groups:
            raise RecordsError(
                f"{having(groups, 'group', table.name)} more than one record in the role {role!r}; a role names one "
                "member of a group: number them apart, or leave role= out to treat members as exchangeable"
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
        raise RecordsError("two roles do not vary in the groups that have both, so their correlation is not known")
    return float(together * steps) * sqrt(float(variance(i) * variance(j) / alone))


def _exchangeable(table: LazyTable, layout: GroupLayout) -> AnovaMoments:
    """Return the one-way analysis of variance of the groups, from sums by group size."""
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
    """Return, by group size: how many groups, Σ placed values, Σ (group sums)², Σ squares."""
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
            kept = sizes.setdefault(whole(size), [0, 0, 0, 0])
            sizes[whole(size)] = [before + whole(now) for before, now in zip(kept, sums, strict=True)]
    return sizes


def pair_sums(
    source: object, layout: GroupLayout, bounds: tuple[float, float], most: int, missing: Missing = "error"
) -> tuple[tuple[tuple[int, int], ...], tuple[int, int, int]]:
    """Return how many groups there are of each size, and the three sums over pairs that a private fit releases.

    Values are clipped to the bounds and placed on STEPS steps on either side of their middle. The sums, over all pairs
    of different members of a group, in both orders: of the products, of the squares of the first, and of the first
    times STEPS. `most` is the largest group there may be.

    >>> import polars
    >>> twins = polars.DataFrame({"pair": [1, 1, 2, 2], "height": [0.0, 10.0, 10.0, 10.0]})
    >>> [total / STEPS**2 for total in pair_sums(twins, GroupLayout("height", "pair"), (0, 10), 2)[1]]
    [0.0, 4.0, 2.0]
    """
    table, missing = scan(source), checked_missing(missing)
    with reading(table):
        picked = checked_groups(table, layout, missing)
        if row_count(picked) * (most - 1) > MOST_PAIRS:
            raise FrameError(f"{table.name} may have more than {MOST_PAIRS} pairs; their sums would not be exact")
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
        raise RecordsError("there is one group only; how members vary together needs at least two groups")
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
    """Return a group size, how many groups have it, the mean of their means, and the spread of these."""
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
    """Return how many bits a placed value may have if `products` squares of such values are added up."""
    return max(min((_BITS - max(products, 1).bit_length()) // 2, _FINEST), 1)


def extremes(table: LazyTable, column: str) -> tuple[float, float]:
    """Return the least and the largest value of a column; refuses one without values."""

    def ends(frame: Any) -> Any:
        return frame.select(a=nw.col(column), b=nw.col(column)).select(nw.col("a").min(), nw.col("b").max())

    pairs = [part[0] for part in table.parts(ends) if plain(part[0][0]) is not None]
    if not pairs:
        raise RecordsError(f"column {column!r} of {table.name} holds no values")
    return float(min(low for low, _ in pairs)), float(max(high for _, high in pairs))


def _sums(table: LazyTable, products: Mapping[str, nw.Expr]) -> dict[str, int]:
    """Return exact sums of derived columns."""

    def totals(frame: Any) -> Any:
        return frame.select(**products).select(*(nw.col(name).sum() for name in products))

    parts = [list(map(whole, part[0])) for part in table.parts(totals)]
    return {name: sum(part[i] for part in parts) for i, name in enumerate(products)}
