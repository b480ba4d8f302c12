"""Sums of a binary series by stratum, and of the products of its records by distance: what a private fit releases."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayesdp._support.validation import Scalar
from bayesdp._support.words import counted, listed
from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames.source import Missing, one_or_zero, plain, reading, scan, whole
from bayesdp.frames.transitions import FOLLOWS, MOST_STRATA, Sequences, counted_chains, shown_by_order
from bayesdp.models.layout import ChainLayout, column_names
from bayesdp.models.strata import stratum_order

__all__ = ["LaggedPairs", "lagged_pairs"]

_MOST_RUNS = 2**21
"""The most runs of records in one stratum, whose places are kept in memory."""


@dataclass(frozen=True)
class LaggedPairs:
    """The sums of a series whose records have one of two values, 0 and 1, and its public course through the strata.

    strata:   the values of the public columns; one empty tuple without such columns.
    totals:   for each stratum, the sum of its records.
    products: for each distance, the sum of the products of records so far apart, without a gap between them.
    course:   the stratum of each record in order, chain after chain; −1, `reach` times, at gaps and between chains.
    """

    strata: tuple[tuple[Scalar, ...], ...]
    totals: tuple[int, ...]
    products: tuple[int, ...]
    course: NDArray[np.int16]

    @property
    def records(self) -> tuple[int, ...]:
        """How many records each stratum has."""
        return tuple(np.bincount(self.course[self.course >= 0], minlength=len(self.strata)).tolist())


def lagged_pairs(
    source: object,
    state: str,
    layout: ChainLayout,
    missing: Missing = "error",
    *,
    states: Sequence[Scalar],
    reach: int,
    within: Sequence[str] = (),
) -> LaggedPairs:
    """Add up a series of two values inside the engine of its table.

    states: the values that count as 0 and as 1.
    reach:  the largest distance of two records whose products are added up.
    within: public columns, or hour, weekday and month of an order of times.

    A record without a state is a gap, and so is the time before a record more than `layout.step` after the last one.
    Raises FrameError for what `transitions` refuses, and for other states.

    >>> import polars
    >>> frame = polars.DataFrame({"t": range(6), "s": [0, 1, 1, 1, 0, 1]})
    >>> seen = lagged_pairs(frame, "s", ChainLayout(["t"]), states=(0, 1), reach=2)
    >>> seen.totals, seen.products, seen.course.tolist()
    ((4,), (2, 2), [0, 0, 0, 0, 0, 0])
    """
    table, within = scan(source), column_names("within", within)
    with reading(table):
        public = [name for name in within if name in table]
        chains, sizes, _ = counted_chains(table, state, layout, missing, public, back=reach)
        chains = chains.numbered()
        strata = [
            nw.col(f"w{public.index(name)}") if name in public else shown_by_order(chains, name, "o") for name in within
        ]
        names = [f"k{i}" for i in range(len(within))]
        zero, one = (chains.table.value("s", value) for value in states)

        def marked(frame: Any) -> Any:
            held = {"x": one_or_zero(nw.col("s") == one), "z": one_or_zero(nw.col("s") == zero)}
            known = {"q": one_or_zero(~nw.col("s").is_null())}
            frame = frame.with_columns(**held, **known, **dict(zip(names, strata, strict=True)))
            frame = chains.related(frame, {"p": chains.before("q")})
            joined = (nw.col("r") == FOLLOWS) & (nw.col("p") == 1) & (nw.col("q") == 1)
            return frame.with_columns(g=nw.when(joined).then(nw.lit(0)).otherwise(nw.lit(1)))

        def added(frame: Any) -> Any:
            frame = marked(frame).with_columns(h=chains.ordered(nw.col("g").cum_sum()))
            earlier = {f"x{back}": chains.before("x", back) for back in range(1, reach + 1)}
            earlier |= {f"h{back}": chains.before("h", back) for back in range(1, reach + 1)}
            frame = chains.own(frame.with_columns(**earlier))
            pairs = {
                f"y{back}": nw.when(nw.col("h") == nw.col(f"h{back}"))
                .then(nw.col("x") * nw.col(f"x{back}"))
                .otherwise(nw.lit(0))
                for back in range(1, reach + 1)
            }
            sums = [nw.col(name).sum() for name in ("x", "z", "q", *pairs)]
            return frame.with_columns(**pairs).group_by(*names, "r").agg(nw.len().alias("count"), *sums)

        relations: Counter[Any] = Counter()
        totals: Counter[tuple[Any, ...]] = Counter()
        held: Counter[tuple[Any, ...]] = Counter()
        products, strange = [0] * reach, 0
        for part in chains.along.parts(added):
            for row in part:
                *values, relation = map(plain, row[: len(names) + 1])
                count, ones, zeros, present, *pairs = map(whole, row[len(names) + 1 :])
                relations[relation] += count
                totals[tuple(values)] += ones
                held[tuple(values)] += present
                strange += present - ones - zeros
                products = [before + more for before, more in zip(products, pairs, strict=True)]
        chains.check(relations, layout, sizes)
        if strange:
            raise RecordsError(
                f"{counted(strange, 'record')} of {table.name} {'has' if strange == 1 else 'have'} a state that is "
                "not among those that were said to be public"
            )
        if any(None in values for values, present in held.items() if present):
            raise RecordsError(
                f"records of {table.name} have no value of {listed(map(repr, within), 'or')}, and so no stratum; fill "
                "in these columns"
            )
        found = sorted((values for values, present in held.items() if present), key=stratum_order)
        if len(found) > MOST_STRATA:
            raise RecordsError(f"{listed(map(repr, within))} make more than {MOST_STRATA} strata; name fewer columns")
        place = {values: index for index, values in enumerate(found)}
        course = _course(chains, marked, names, place, reach)
    return LaggedPairs(tuple(found), tuple(totals[values] for values in found), tuple(products), course)


def _course(
    chains: Sequences, marked: Any, names: Sequence[str], place: dict[tuple[Any, ...], int], reach: int
) -> NDArray[np.int16]:
    """Return the strata of all records in their order, from the first record of each run in one stratum."""
    entities = chains.entities

    def starts(frame: Any) -> Any:
        frame = marked(frame).with_columns(i=chains.position(), **{f"c{name}": chains.before(name) for name in names})
        frame = chains.own(frame)
        new = nw.col("g") == 1
        for name in names:
            new = new | (nw.col(name) != nw.col(f"c{name}"))
        return frame.filter(new).select(*entities, "i", "g", "q", *names).head(_MOST_RUNS)

    def lengths(frame: Any) -> Any:
        counts = nw.len().alias("n")
        return frame.group_by(*entities).agg(counts) if entities else frame.select(counts)

    rows: dict[tuple[Any, ...], list[tuple[int, bool, int]]] = defaultdict(list)
    runs = 0
    for part in chains.along.parts(starts):
        runs += len(part)
        if runs >= _MOST_RUNS:
            raise FrameError("the stratum changes far too often; name fewer columns")
        for row in part:
            who, (index, broken, present) = row[: len(entities)], map(whole, row[len(entities) : len(entities) + 3])
            stratum = place[tuple(map(plain, row[len(entities) + 3 :]))] if present else -1
            rows[tuple(map(plain, who))].append((index, bool(broken), stratum))
    ends: Counter[tuple[Any, ...]] = Counter()
    for part in chains.table.parts(lengths):
        for row in part:
            ends[tuple(map(plain, row[:-1]))] += whole(row[-1])
    return _joined([(sorted(found), ends[who]) for who, found in sorted(rows.items(), key=repr)], reach)


def _joined(chains: Sequence[tuple[Sequence[tuple[int, bool, int]], int]], reach: int) -> NDArray[np.int16]:
    """Return the strata of all records, given the runs (place, after a gap, stratum) of each chain, and its
    length."""
    strata: list[int] = []
    repeats: list[int] = []
    for found, length in chains:
        following = [*(index for index, _, _ in found[1:]), length + 1]
        for (index, broken, stratum), end in zip(found, following, strict=True):
            if broken and strata and strata[-1] != -1:
                strata.append(-1)
                repeats.append(reach)
            if stratum >= 0:
                strata.append(stratum)
                repeats.append(end - index)
    return np.repeat(np.array(strata, dtype=np.int16), repeats)
