"""Autocovariances of series of numbers, from exact sums on a grid of integers, equal in every engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import and_
from typing import Any

import narwhals as nw

from bayesdp._support.words import having, listed
from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames.aggregates import column_totals, row_count
from bayesdp.frames.grid import Grid
from bayesdp.frames.groups import extremes, moment_bits, moment_grid
from bayesdp.frames.source import Missing, checked_missing, plain, reading, scan, whole
from bayesdp.frames.transitions import FOLLOWS, Sequences, shown_by_order
from bayesdp.models.layout import ChainLayout, column_names
from bayesdp.models.series_moments import SeriesMoments

__all__ = ["Series", "series_moments"]

Key = tuple[Any, ...]

_MOST_MEANS = 100_000
"""The most strata with a mean of their own."""


@dataclass(frozen=True)
class Series:
    """The moments of a series, the number of means subtracted, the most records of one entity, and whether it may have
    gaps.
    """

    moments: SeriesMoments
    means: int
    longest: int
    gaps: bool


def series_moments(
    source: object, value: str, layout: ChainLayout, order: int, missing: Missing = "error", within: Sequence[str] = ()
) -> Series:
    """Return the autocovariances of the series in a table, up to lag `order`, after means are subtracted.

    within: public columns, or hour, weekday and month of an order of times; every combination has its own mean.

    Products are of records of one entity without a gap between them, and entities are pooled.

    Raises FrameError for a column that is not numeric, missing values (unless dropped), infinite ones, ties in the
    order, records closer than the step, and a series that does not vary or has no two records in a row.

    >>> import polars
    >>> frame = polars.DataFrame({"t": range(6), "x": [1, 2, 3, 3, 2, 1]})
    >>> series_moments(frame, "x", ChainLayout("t"), 1).moments.pairs
    (6, 5)
    """
    table, missing, within = scan(source), checked_missing(missing), column_names("within", within)
    with reading(table):
        rows = row_count(table)
        picked = table.pick([value])
        if picked.kind(value) not in ("whole", "number"):
            raise FrameError(f"column {value!r} of {table.name} cannot be a series: it is not numeric")
        column_totals(picked, [value], missing)
        public = [name for name in within if name in table]
        chains = Sequences.of(table, value, layout, public, back=order, numeric=True)
        sizes = chains.sizes()
        if sizes.lacking == rows:
            raise RecordsError(f"no record of {table.name} has a value of {value!r}")
        chains.check(chains.relations(), layout, sizes)
        grid = moment_grid(chains.table, "s", *extremes(chains.table, "s"), moment_bits(rows))
        strata = {
            f"k{i}": nw.col(f"w{public.index(name)}") if name in public else shown_by_order(chains, name, "o")
            for i, name in enumerate(within)
        }
        by_lag = [_sums(chains, grid, strata, 0)]
        if len(by_lag[0]) > _MOST_MEANS:
            raise RecordsError(f"{listed(map(repr, within))} make more than {_MOST_MEANS} strata; name fewer columns")
        by_lag += [_sums(chains, grid, strata, lag) for lag in range(1, order + 1)]
    unplaced = sum(sums[0] for key, sums in by_lag[0].items() if None in key)
    if unplaced:
        raise RecordsError(
            f"{having(unplaced, 'record', table.name)} no value of {listed(map(repr, within), 'or')}, and so no "
            "stratum; fill in these columns"
        )
    means = {key: Fraction(total, count) for key, (count, total, _, _) in by_lag[0].items()}
    pairs = [sum(sums[0] for sums in by_key.values()) for by_key in by_lag]
    if not all(pairs):
        raise RecordsError(
            f"{table.name} has no {pairs.index(0) + 1} records in a row of one entity without a gap, but a series of "
            f"order {order} needs many; ask for a lower order"
        )
    step = Fraction(grid.step)
    autocovariances = [
        float(_around(by_key, means, len(within) if lag else 0) / pairs[lag] * step**2)
        for lag, by_key in enumerate(by_lag)
    ]
    if autocovariances[0] <= 0:
        raise RecordsError(f"the values of {value!r} do not vary, so they have no correlation")
    gaps = layout.step is None or pairs[1] < rows - sizes.chains
    return Series(SeriesMoments(autocovariances, pairs), len(means), sizes.longest, gaps)


def _around(by_key: Mapping[Key, Sequence[int]], means: Mapping[Key, Fraction], split: int) -> Fraction:
    """Return the sum of products around the means, given sums by the strata of both records.

    split: how many entries of a key belong to the later record; 0 if both are the same record.
    """
    total = Fraction(0)
    for key, (count, later, earlier, products) in by_key.items():
        here, there = (means[key[:split]], means[key[split:]]) if split or not key else (means[key], means[key])
        total += products - there * later - here * earlier + count * here * there
    return total


def _sums(chains: Sequences, grid: Grid, strata: Mapping[str, nw.Expr], lag: int) -> dict[Key, list[int]]:
    """Return the number of pairs of records `lag` apart without a gap, the sums of later, of earlier ones, of products.

    The keys are the strata of the later record and, unless the lag is 0, of the earlier one.
    """
    keys = list(strata)
    both = [*keys, *(f"e{key}" for key in keys)] if lag else keys

    def related(frame: Any) -> Any:
        frame = frame.with_columns(q=grid.placed(chains.table, "s"), **strata)
        if not lag:
            return frame.filter(~nw.col("q").is_null()).with_columns(x=nw.col("q"))
        windows = {"x": chains.before("q", lag)} | {f"e{key}": chains.before(key, lag) for key in keys}
        earlier = {f"r{back}": chains.before("r", back) for back in range(1, lag)}
        frame = chains.related(frame, windows)
        frame = frame.with_columns(**earlier) if earlier else frame
        unbroken = [nw.col(name) if chains.step is None else nw.col(name) == FOLLOWS for name in ("r", *earlier)]
        present = [~nw.col("q").is_null(), ~nw.col("x").is_null()]
        return chains.own(frame).filter(reduce(and_, [*unbroken, *present]))

    def summed(frame: Any) -> Any:
        frame = related(frame).with_columns(qx=nw.col("q") * nw.col("x"), one=nw.col("q") * 0 + 1)
        names = ("one", "q", "x", "qx")
        if not both:
            return frame.select(*(nw.col(name).sum() for name in names))
        grouped = frame.group_by(*both).agg(*(nw.col(name).sum() for name in names))
        return grouped if lag else grouped.head(_MOST_MEANS + 1)

    by_key: dict[Key, list[int]] = {}
    for part in (chains.along if lag else chains.table).parts(summed):
        for row in part:
            key, sums = tuple(map(plain, row[: len(both)])), [whole(entry) for entry in row[len(both) :]]
            before = by_key.get(key, [0, 0, 0, 0])
            by_key[key] = [old + new for old, new in zip(before, sums, strict=True)]
    return by_key
