"""Counts of a record together with those around it, by stratum: what a series of reach k is fitted to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from typing import Any

import narwhals as nw
import numpy as np

from bayesdp._support.arrays import Integers
from bayesdp._support.validation import Scalar
from bayesdp._support.words import having, listed
from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames.clocks import MOST_VALUES
from bayesdp.frames.source import Missing, plain, reading, scan, whole
from bayesdp.frames.transitions import (
    FOLLOWS,
    MOST_STRATA,
    Sequences,
    Window,
    counted_chains,
    ordered_states,
    shown_by_order,
)
from bayesdp.models.layout import ChainLayout, column_names
from bayesdp.models.strata import stratum_order

__all__ = ["MOST_PATTERNS", "Patterns", "patterns"]

MOST_PATTERNS = 2**17
"""The most different patterns of one stratum."""

_MOST_ROWS = 2**23
"""The most different patterns of all strata together, with the relations of their records."""


@dataclass(frozen=True)
class Patterns:
    """How often records occurred together with the `reach` records before and after each.

    strata:   the values of the public columns at the record in the middle; one empty tuple without such columns.
    stratum:  for each different pattern, its stratum.
    code:     the states of its 2·reach + 1 records, the first one first, as digits of a number.
    count:    how often it occurred.
    kinds:    the values of the public columns by which effects differ; one empty tuple without such columns.
    kind:     for each pattern, the kind of its middle record and of the ones before it, as (pattern, back).
    records:  how many records have a state. Those without a complete neighbourhood are in no pattern.
    longest, gaps, condition: as in `Transitions`.
    """

    states: tuple[Scalar, ...]
    reach: int
    strata: tuple[tuple[Scalar, ...], ...]
    stratum: Integers
    code: Integers
    count: Integers
    records: int
    longest: int
    gaps: bool
    condition: bool = False
    kinds: tuple[tuple[Scalar, ...], ...] = ((),)
    kind: Integers = field(default_factory=lambda: np.zeros((0, 1), dtype=np.int64))

    @property
    def left_out(self) -> int:
        """The number of records without a complete neighbourhood."""
        return self.records - int(self.count.sum())


def patterns(
    source: object,
    state: str,
    layout: ChainLayout,
    missing: Missing = "error",
    *,
    reach: int,
    within: Sequence[str] = (),
    effects_within: Sequence[str] = (),
    earlier: int = 0,
) -> Patterns:
    """Count every record of a table with the `reach` records on either side of it, inside its engine.

    within:         public columns, or hour, weekday and month of an order of times: the strata, by their values at the
                    record in the middle.
    effects_within: some of them, whose values at that record and the `earlier` ones before it are its kinds.

    A record without a state is a gap, and so is the time before a record more than `layout.step` after the last one. No
    pattern crosses a gap. Raises FrameError for what `transitions` refuses.

    >>> import polars
    >>> frame = polars.DataFrame({"t": range(6), "s": [0, 0, 1, 1, 1, 0]})
    >>> seen = patterns(frame, "s", ChainLayout(["t"]), reach=1)
    >>> [(f"{code:03b}", count) for code, count in zip(seen.code.tolist(), seen.count.tolist())]
    [('001', 1), ('011', 1), ('110', 1), ('111', 1)]
    """
    table, within = scan(source), column_names("within", within)
    with reading(table):
        public = [name for name in within if name in table]
        chains, sizes, rows = counted_chains(table, state, layout, missing, public, back=2 * reach)
        states: tuple[Scalar, ...] = (False, True) if chains.truth else ordered_states(_seen(chains), state)
        if float(len(states)) ** (2 * reach + 1) > MOST_PATTERNS:
            raise RecordsError(
                f"{len(states)} states with {reach} records on either side make more than {MOST_PATTERNS} patterns; "
                "take a shorter reach, or fewer states"
            )
        named = [(name, back) for back in range(earlier + 1 if effects_within else 0) for name in effects_within]
        counts = _counts(chains, states, reach, [*((name, 0) for name in within), *named], public, sizes.chains)
    relations: Counter[Any] = Counter()
    found: Counter[tuple[Any, ...]] = Counter()
    for key, count in counts.items():
        code, relation = key[-2:]
        relations[relation] += count
        if code is not None and code >= 0:
            found[key[:-1]] += count
    chains.check(relations, layout, sizes)
    unplaced = sum(count for key, count in found.items() if None in key)
    if unplaced:
        raise RecordsError(
            f"{having(unplaced, 'record', table.name)} no value of {listed(map(repr, within), 'or')}, and so no "
            "stratum; fill in these columns"
        )
    strata = sorted({key[: len(within)] for key in found}, key=stratum_order) or [()]
    if len(strata) > MOST_STRATA:
        raise RecordsError(f"{listed(map(repr, within))} make more than {MOST_STRATA} strata; name fewer columns")
    place = {values: index for index, values in enumerate(strata)}
    width = max(len(effects_within), 1)
    begins = range(len(within), len(within) + len(named), width)
    kinds = sorted({key[begin : begin + width] for key in found for begin in begins}, key=stratum_order) or [()]
    number = {values: index for index, values in enumerate(kinds)}
    of_kinds = [[number[key[begin : begin + width]] for key in found] for begin in begins] or [[0] * len(found)]
    columns = [place[key[: len(within)]] for key in found], [key[-1] for key in found], list(found.values()), *of_kinds
    table_of = np.array(columns, dtype=np.int64)
    stratum, code, times, *kind = table_of[:, np.lexsort((*table_of[:2:-1], table_of[1], table_of[0]))]
    gaps = layout.step is None or sizes.lacking > 0 or relations[FOLLOWS] < rows - sizes.chains
    return Patterns(
        states,
        reach,
        tuple(strata),
        stratum,
        code,
        times,
        rows - sizes.lacking,
        sizes.longest,
        gaps,
        chains.truth,
        tuple(kinds),
        np.transpose(kind),
    )


def _seen(chains: Sequences) -> set[Scalar]:
    """Return the states of a table, up to one more than may be."""

    def different(frame: Any) -> Any:
        return frame.group_by("s").agg(nw.len().alias("n")).select("s").head(MOST_VALUES)

    return {value for part in chains.table.parts(different) for row in part if (value := plain(row[0])) is not None}


def _counts(
    chains: Sequences,
    states: Sequence[Scalar],
    reach: int,
    named: Sequence[tuple[str, int]],
    public: Sequence[str],
    begun: int,
) -> Counter[tuple[Any, ...]]:
    """Count records by public values, the pattern that ends with them, and their relation to the last record.

    named: public columns or clocks, each with how far before the middle of the pattern its value counts.
    begun: `Sizes.chains`.

    The code of a pattern is missing or −1 where some of its records do not follow one another.
    """
    size, steps = len(states), 2 * reach
    chains = replace(chains, along=chains.along.mapped(partial(_with_index, _index(chains, states))))
    windows: dict[str, Window] = {}
    clocks: dict[str, nw.Expr] = {}
    for i, (name, back) in enumerate(named):
        if name in public:
            windows[f"k{i}"] = _earlier(f"w{public.index(name)}", reach + back)
        else:
            windows |= {f"m{back}_{j}": _earlier(order, reach + back) for j, order in enumerate(chains.orders)}
            clocks[f"k{i}"] = shown_by_order(chains, name, f"m{back}_")
    names = [*(f"k{i}" for i in range(len(named))), "c"]
    if chains.placed_by_order:
        coded: dict[str, Window] = {**windows, "c": partial(_code, size, steps)}
        counts = chains.count_moved(coded, begun, marked=-1, after=clocks, by=names)
        if counts is not None:
            return counts
    keys = {name: chains.ordered(window(nw)) for name, window in windows.items()}
    digits = [chains.before("v", back) * size**back for back in range(1, steps + 1)]
    keys["c"] = reduce(add, digits, nw.col("v"))

    def grouped(frame: Any) -> Any:
        frame = chains.related(frame, keys)
        if chains.step is not None:
            broken = nw.when(nw.col("r") == FOLLOWS).then(nw.lit(0)).otherwise(nw.lit(1))
            frame = frame.with_columns(g=broken)
            frame = frame.with_columns(g=chains.ordered(nw.col("g").cum_sum()))
            frame = frame.with_columns(h=chains.before("g", steps))
            unbroken = nw.when(nw.col("g") == nw.col("h")).then(nw.col("c"))
            frame = frame.with_columns(c=unbroken.otherwise(nw.lit(-1)))
        frame = chains.own(frame.with_columns(**clocks) if clocks else frame)
        return frame.group_by(*names, "r").agg(nw.len().alias("count")).head(_MOST_ROWS)

    found: Counter[tuple[Any, ...]] = Counter()
    for part in chains.along.parts(grouped):
        if len(part) >= _MOST_ROWS:
            raise FrameError("there are far too many patterns; take a shorter reach, or fewer strata")
        for *key, count in part:
            found[tuple(map(plain, key))] += whole(count)
    return found


def _with_index(index: nw.Expr, frame: Any) -> Any:
    return frame.with_columns(v=index)


def _earlier(column: str, steps: int) -> Window:
    return lambda these: these.col(column).shift(steps)


def _code(size: int, steps: int, these: Any) -> Any:
    """Return the states of a record and of those before it as digits of a number."""
    earlier = (these.col("v").shift(back) * size**back for back in range(1, steps + 1))
    return reduce(add, earlier, these.col("v"))


def _index(chains: Sequences, states: Sequence[Scalar]) -> nw.Expr:
    """Return the place of each record's state among the states."""
    held = [chains.table.value("s", state) for state in states]
    index: nw.Expr = nw.when(nw.col("s") == held[-1]).then(nw.lit(len(held) - 1))
    for place, value in reversed(list(enumerate(held[:-1]))):
        index = nw.when(nw.col("s") == value).then(nw.lit(place)).otherwise(index)
    return index
