"""Counts of transitions, by stratum: the sufficient statistics of a chain."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from importlib import import_module
from operator import or_
from typing import Any, NamedTuple, NoReturn

import narwhals as nw
import numpy as np

from bayesdp._support.limits import STATES
from bayesdp._support.messages import name_of, param, params
from bayesdp._support.validation import Scalar, brief
from bayesdp._support.words import counted, having, listed
from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames.aggregates import ColumnOrCondition, present_records, row_count, subject_of
from bayesdp.frames.clocks import SHOWN, minutes_shown, reading_of
from bayesdp.frames.dates import place_in_order, selected
from bayesdp.frames.partitioned_chains import EARLIER, SEGMENT, PartitionedChains, cut, numbered, partitioned_chains
from bayesdp.frames.source import LazyTable, Missing, checked_missing, one_or_zero, places, plain, reading, scan, whole
from bayesdp.models.layout import ChainLayout, column_names, period
from bayesdp.models.memory import tuples
from bayesdp.models.strata import Stratum, stratum_order

__all__ = ["FOLLOWS", "Sequences", "Transitions", "counted_chains", "ordered_states", "shown_by_order", "transitions"]

_MOST_ROWS = 4 * STATES.largest**2
"""The most pairs of states with one of four relations; more rows mean more states than a chain may have."""

TIED, FOLLOWS, CLOSE, GAP = range(4)
"""The relation of a record to the one before it."""

MOST_STRATA = 1000
"""The most strata; in more there are hardly any transitions each."""

_LARGEST_TABLE = 2**24
"""The most counts of all strata together."""

_DAY = 24 * 60

_STEP_TOLERANCE = 1e-6
"""The tolerance, in steps, of an order of floats: 0.8 − 0.7 is not quite 0.1."""


@dataclass(frozen=True)
class Transitions:
    """The counts that a chain is estimated from.

    counts:   row x, column y: how often state y directly followed state x. With memory k, a table of k + 1 levels: how
              often a state followed the last k, without a gap between any of them.
    strata:   the same counts by the values of public columns at the last record before; none without such columns.
    gaps:     whether records may be missing inside some chain. There are none only if every record follows the one
              before it by the step, and has a state.
    records:  how many records have a state; missing: how many have none.
    entities: how many chains; longest: the largest number of records of one.
    condition: whether the states are those of a condition, false and true.
    """

    states: tuple[Scalar, ...]
    counts: tuple[Any, ...]
    records: int
    missing: int
    entities: int
    longest: int
    gaps: bool
    condition: bool = False
    strata: tuple[Stratum, ...] = ()


Window = Callable[[Any], Any]
"""Returns an expression of earlier records, written with the `col` and `lit` of a module: of Narwhals, or Polars."""


class Sizes(NamedTuple):
    """How many chains have records, the most records of one, and how many records have no state."""

    chains: int
    longest: int
    lacking: int


@dataclass(frozen=True)
class Sequences:
    """The chains in a table, cleaned and named: `s` the state, `o0`, `o1`, … the order, `e0`, `e1`, … the entity.

    Public columns of strata are `w0`, `w1`, …

    along:     the same records, partitioned so that windows along chains can be computed.
    zoned:     the order columns with times in a zone that their type does not show.
    minutes:   the format of the time of day in the second of two order columns with a step (`clocks.minutes_shown`).
    segments:  the segments of `along`, if it is one chain without entities in an engine of many partitions.
    """

    table: LazyTable
    along: LazyTable
    orders: tuple[str, ...]
    entities: tuple[str, ...]
    step: float | str | None
    truth: bool
    zoned: frozenset[str] = frozenset()
    minutes: int | None = None
    segments: PartitionedChains | None = None

    @classmethod
    def of(
        cls,
        source: object,
        state: str,
        layout: ChainLayout,
        public: Sequence[str] = (),
        *,
        back: int = 1,
        numeric: bool = False,
        rows: int | None = None,
    ) -> Sequences:
        """Return the chains of a table; refuses columns that cannot be a state, an order or an entity.

        public:  the columns of strata.
        back:    how many earlier records each record is compared with.
        numeric: whether states are numbers to compute with.
        rows:    the number of rows of the table, if known.
        """
        whole_table = scan(source)
        subject = subject_of(whole_table, state)
        key_columns = {*layout.entity, *(() if numeric or subject.condition is not None else subject.columns)}
        table = whole_table.pick(
            [*subject.columns, *layout.order_by, *layout.entity, *public], key_columns=key_columns - {*layout.order_by}
        )
        orders, entities = _named("o", layout.order_by), _named("e", layout.entity)
        for column in public:
            _check_public(table, column, subject)
        held = _state(table, subject)
        placed = {name: place_in_order(table, column, as_text=layout.order_by_text) for name, column in orders.items()}
        unchanged = entities | _named("w", public)
        chosen = [
            held.alias("s"),
            *(_finite(table, orders[name], place.order).alias(name) for name, place in placed.items()),
            *(table.column(column).alias(name) for name, column in unchanged.items()),
        ]
        table = table.together(list(entities.values())) if entities else table
        read = not layout.order_by_text and any(table.kind(column) == "text" for column in layout.order_by)
        frame = selected(table, chosen) if read else table.frame.select(*chosen)
        named = table.made_of(frame)
        zoned = frozenset(name for name, place in placed.items() if place.zoned)
        chains = cls(named, named, tuple(orders), tuple(entities), None, subject.condition is not None, zoned)
        chains = chains if layout.step is None else chains._spaced(layout)
        return chains if entities else chains._cut(back, rows)

    def _spaced(self, layout: ChainLayout) -> Sequences:
        """Return the chains with their step; refuses order columns without a spacing."""
        if len(self.orders) == 1:
            return replace(self, step=_step(self.table, layout.step))
        minutes = None
        if self.table.kind("o0") == "time":
            with reading(self.table):
                minutes = minutes_shown(self, 1)
        if minutes is None:
            raise RecordsError(
                f"{' and '.join(layout.order_by)} have no spacing: "
                + params(
                    "{step} needs one order column, or a date and a time of day (17, 1755, or the minutes since "
                    "midnight); leave {step} out"
                )
            )
        length = _period(layout.step)
        if not datetime.timedelta() < length <= datetime.timedelta(days=1) or length % datetime.timedelta(minutes=1):
            raise FrameError(
                "of a date and a time of day, "
                + name_of("step")
                + f" must be minutes, at most a day, not {layout.step}"
            )
        return replace(self, step=length // datetime.timedelta(minutes=1), minutes=minutes)

    def _cut(self, back: int, rows: int | None) -> Sequences:
        """Return the one chain, cut into segments if the engine computes partitions."""
        table = self.table
        if table.partitions == 1:
            return self
        with reading(table):
            segments = partitioned_chains(table, self.orders, back, row_count(table) if rows is None else rows)
            along = table.together(()) if segments is None else cut(table, segments)
        return replace(self, along=along, segments=segments)

    def numbered(self) -> Sequences:
        """Return the chains with what `position` needs: of a chain in segments, how many records precede each."""
        if self.segments is None:
            return self
        with reading(self.table):
            segments = numbered(self.table, self.segments)
            return replace(self, along=cut(self.table, segments), segments=segments)

    @property
    def entity_columns(self) -> tuple[str, ...]:
        """The columns that windows are partitioned by: entities, or the segments of one chain."""
        return self.entities if self.segments is None else (SEGMENT,)

    def places(self, states: Sequence[Scalar]) -> dict[Any, int]:
        """Return the positions of a chain's states by their values in `s`; refuses states that are equal there."""
        return places("state", self.table.kind("s"), states)

    def before(self, column: str, steps: int = 1) -> nw.Expr:
        """Return a column's value `steps` records earlier in the same chain; null if there is none."""
        return self.ordered(nw.col(column).shift(steps))

    def ordered(self, expression: nw.Expr) -> nw.Expr:
        """Return an expression as a window along each chain."""
        if not self.table.in_pandas:
            return expression.over(*self.entity_columns, order_by=list(self.orders))
        return expression.over(*self.entity_columns) if self.entity_columns else expression

    def moved(self, frame: Any, along: Mapping[str, Window], marked: int | None) -> Any:
        """Return a frame with expressions along each chain, the last one only where the order moved, else `marked`.

        The order does not move at a first record, at a tied one, and where it or the one before is missing.

        Narwhals makes a window of each term; Polars itself makes one of a whole expression, which is faster.
        """

        def only_moved(these: Any) -> Any:
            differs = these.col("o0") != these.col("o0").shift(1)
            return these.when(differs).then(last(these)).otherwise(these.lit(marked))

        (*others, (name, last)) = along.items()
        windows = {**dict(others), name: only_moved}
        if not self.table.engine.is_polars():
            return frame.with_columns(**{name: self.ordered(window(nw)) for name, window in windows.items()})
        polars: Any = import_module("polars")
        by, order = list(self.entity_columns) or None, list(self.orders)
        native = {name: window(polars).over(by, order_by=order) for name, window in windows.items()}
        return nw.from_native(frame.to_native().with_columns(**native)).lazy()

    def position(self) -> nw.Expr:
        """Return the position of each record in its chain, starting at 1; of chains that are `numbered`."""
        place = self.ordered(nw.col("o0").cum_count())
        return place if self.segments is None else place + nw.col(EARLIER)

    def own(self, frame: Any) -> Any:
        """Return each record of a frame of `along` once, after its windows are computed."""
        return frame if self.segments is None else self.segments.own(frame)

    def relation(self) -> nw.Expr:
        """Return the relation of each record to the one before it, given the columns `b0`, `b1`, … of its order.

        Without a step it is true (FOLLOWS) or false (TIED). For a first record it is undefined.
        """
        if self.placed_by_order:
            return (nw.col("b0") != nw.col("o0")) & ~nw.col("o0").is_null()
        if self.minutes is not None:
            return self._relation_of_days()
        if self.step is None:
            moved = ((nw.col(f"b{i}") != nw.col(order)).fill_null(True) for i, order in enumerate(self.orders))
            return reduce(or_, moved)
        if isinstance(self.step, str):
            expected = nw.col("b0").dt.offset_by(self.step)
            return _relation(nw.col("o0") == expected, nw.col("o0") < expected)
        elapsed, slack = nw.col("o0") - nw.col("b0"), 0 if isinstance(self.step, int) else _STEP_TOLERANCE * self.step
        return _relation((elapsed >= self.step - slack) & (elapsed <= self.step + slack), elapsed < self.step)

    def _relation_of_days(self) -> nw.Expr:
        """Return the same for a date and a time of day: the next record is on the same day, or on the next one."""
        assert self.minutes is not None
        today, tomorrow = nw.col("o0") == nw.col("b0"), nw.col("o0") == nw.col("b0").dt.offset_by("1d")
        elapsed = _since_midnight("o1", self.minutes) - _since_midnight("b1", self.minutes)
        follows = (today & (elapsed == self.step)) | (tomorrow & (elapsed + _DAY == self.step))
        return _relation(follows, (today & (elapsed < self.step)) | (tomorrow & (elapsed + _DAY < self.step)))

    @property
    def placed_by_order(self) -> bool:
        """Whether a missing order appears in the relation as TIED, so that no extra scan is needed to find one."""
        return self.step is None and len(self.orders) == 1 and not self.table.in_pandas

    def sizes(self) -> Sizes:
        """Return the number of chains, the longest, and the number of records without a state.

        Raises FrameError if a record has no place in a chain, unless `placed_by_order` holds.
        """
        orders = () if self.placed_by_order else self.orders

        def counts_of(frame: Any) -> Any:
            counts = [nw.len().alias("n"), *(nw.col(name).count().alias(f"n_{name}") for name in ("s", *orders))]
            frame = frame.group_by(*self.entities).agg(*counts) if self.entities else frame.select(*counts)
            lost = ~self.table.present(self.entities) if self.entities else nw.col("n") < 0
            lost_records = nw.when(lost).then(nw.col("n")).otherwise(nw.lit(0))
            return frame.with_columns(chain=one_or_zero(nw.col("n_s") > 0), lost=lost_records).select(
                nw.col("n_s").max().alias("longest"),
                *(nw.col(name).sum() for name in ("chain", "lost", "n", "n_s", *(f"n_{name}" for name in orders))),
            )

        parts = [list(map(whole, part[0])) for part in self.table.parts(counts_of)]
        chains, lost, rows, present, *placed = (sum(part[i] for part in parts) for i in range(1, len(parts[0])))
        if lost or min(placed, default=rows) < rows:
            self.refuse_unplaced(max(lost, rows - min(placed, default=rows)))
        if not self.entities:
            return Sizes(min(chains, present, 1), present, rows - present)
        return Sizes(chains, max(part[0] for part in parts), rows - present)

    def refuse_unplaced(self, records: int) -> NoReturn:
        """Raise RecordsError for records without a place in a chain."""
        raise RecordsError(
            f"{having(records, 'record', self.table.name)} no value in the columns that order records or identify "
            "entities, and so no place in a chain; fill in these columns or remove such records"
        )

    def related(self, frame: Any, keys: Mapping[str, nw.Expr]) -> Any:
        """Return a frame of `along` with windows along chains and `r`, the relation of each record to the last."""
        frame = frame.sort(*self.entity_columns, *self.orders) if self.table.in_pandas else frame
        earlier = {f"b{i}": self.before(order) for i, order in enumerate(self.orders)}
        return frame.with_columns(**earlier, **keys).with_columns(r=self.relation())

    def count(
        self,
        keys: Mapping[str, nw.Expr],
        *,
        after: Mapping[str, nw.Expr] | None = None,
        by: Sequence[str] | None = None,
        of: nw.Expr | None = None,
    ) -> Counter[tuple[Any, ...]]:
        """Count records by expressions and, last, `r`, the relation of each to the record before it.

        after: expressions of the keys and `r`.
        by:    the names of the expressions to count by; by default the keys.
        of:    the records to count; by default all.
        """
        names = [*(by or keys), "r"]

        def grouped(frame: Any) -> Any:
            frame = self.related(frame if of is None else frame.filter(of), keys)
            frame = self.own(frame.with_columns(**after) if after else frame)
            return frame.group_by(*names).agg(nw.len().alias("count")).head(_MOST_ROWS)

        counts: Counter[tuple[Any, ...]] = Counter()
        for part in self.along.parts(grouped):
            if len(part) >= _MOST_ROWS:
                raise RecordsError(
                    "the states, or the strata, have far too many different values; a chain has at most "
                    f"{STATES.value} states"
                )
            for *key, count in part:
                counts[tuple(map(plain, key))] += whole(count)
        return counts

    def count_moved(
        self,
        along: Mapping[str, Window],
        chains: int,
        *,
        marked: int | None = None,
        after: Mapping[str, nw.Expr] | None = None,
        by: Sequence[str],
    ) -> Counter[tuple[Any, ...]] | None:
        """Count records as `count` does, with one window less; None if some are tied, or have no place in a chain.

        along, marked: as in `moved`; the last of these is the last to count `by`.
        chains:        how many chains have records, at least.

        The first record of every chain is marked. So if no more records than chains are marked, no other record is.
        """

        def grouped(frame: Any) -> Any:
            frame = self.own(self.moved(frame, along, marked))
            frame = frame.with_columns(**after) if after else frame
            counts = nw.len().alias("count"), nw.col("o0").count().alias("placed")
            return frame.group_by(*by).agg(*counts).head(_MOST_ROWS)

        found: Counter[tuple[Any, ...]] = Counter()
        unplaced = unmoved = 0
        for part in self.along.parts(grouped):
            if len(part) >= _MOST_ROWS:
                return None
            for *key, count, placed in part:
                values, number = tuple(map(plain, key)), whole(count)
                relation = None if values[-1] == marked else FOLLOWS
                found[(*values, relation)] += number
                unplaced += number - whole(placed)
                unmoved += number if relation is None else 0
        return found if unplaced == 0 and unmoved <= chains else None

    def relations(self) -> Counter[Any]:
        """Return the number of records with each relation to the one before."""
        return _relations(self.count({}))

    def check(self, relations: Counter[Any], layout: ChainLayout, sizes: Sizes | None = None) -> None:
        """Refuse ties, records closer than the step or without a place in a chain and, given sizes, no transitions."""
        table, order = self.table, ", ".join(layout.order_by)
        tied, close = relations[TIED], relations[CLOSE]
        if tied and self.placed_by_order:
            with reading(table):
                unplaced = row_count(table) - present_records(table, self.orders)
            if unplaced:
                self.refuse_unplaced(unplaced)
        if tied:
            raise RecordsError(
                f"{having(tied, 'record', table.name)} the same {order} as the previous record"
                + (" of the same entity" if layout.entity else "")
                + ", so their order is unknown; add a column that breaks the ties to "
                + name_of("order_by")
                + ("" if layout.entity else ", or name the entities with " + param("entity"))
            )
        if close:
            early = counted(close, f"record of {table.name} follows", f"records of {table.name} follow")
            raise RecordsError(
                f"{early} the one before by less than the step ({layout.step}), or at the same {order}; give the "
                f"spacing of {order}, or leave " + param("step") + " out"
            )
        if layout.step is not None and sizes is not None and sizes.longest > 1 and not relations[FOLLOWS]:
            raise RecordsError(
                f"not one record of {table.name} follows the one before it by exactly the step ({layout.step}) in "
                f"{order!r}: each follows after a gap, so there is no transition; give the spacing of "
                f"{order!r} as " + params("{step}, or leave {step} out")
            )


def transitions(
    source: object,
    state: str,
    layout: ChainLayout,
    missing: Missing = "error",
    *,
    memory: int = 1,
    within: Sequence[str] = (),
) -> Transitions:
    """Count the transitions of every chain in a table, inside its engine.

    memory: how many earlier records a transition has.
    within: public columns, or hour, weekday and month of an order of times: the strata, by their values at the last
            record before.

    A record without a state is a gap (if missing="drop"), and so is the time before a record more than `layout.step`
    after the last one. No transition crosses a gap: with memory k, it is a run of k + 1 records without one.

    Raises FrameError for an empty table, missing states (unless dropped), missing orders, entities or strata, ties in
    the order, records closer than the step, and more states than a chain may have.

    >>> import polars
    >>> frame = polars.DataFrame({"t": [3, 1, 2, 4], "s": ["b", "a", "a", "b"]})
    >>> transitions(frame, "s", ChainLayout(["t"])).counts
    ((1, 1), (0, 1))
    """
    table, within = scan(source), column_names("within", within)
    if 2.0 ** (memory + 1) > _LARGEST_TABLE:
        raise FrameError(f"a memory of {memory} records is too long to count transitions; use a shorter one")
    with reading(table):
        public = [name for name in within if name in table]
        chains, sizes, rows = counted_chains(table, state, layout, missing, public, back=memory)
        lacking = sizes.lacking
        runs = _pairs(chains, sizes) if memory == 1 and not within else None
        runs = _runs(chains, memory, within, public) if runs is None else runs
    relations = _relations(runs)
    chains.check(relations, layout, sizes)
    last = memory - 1
    followed = sum(
        count
        for (*run, relation), count in runs.items()
        if relation == FOLLOWS and run[last] is not None and run[memory] is not None
    )
    seen = {run[memory] for run in runs if run[memory] is not None}
    states = (False, True) if chains.truth else ordered_states(seen, state)
    if float(len(states)) ** (memory + 1) > _LARGEST_TABLE:
        raise RecordsError(f"{len(states)} states with a memory of {memory} records are more than can be counted")
    strata = _tables(table, runs, states, memory, within)
    counts = sum((np.array(stratum.counts, dtype=np.int64) for stratum in strata), start=_zeros(states, memory))
    gaps = layout.step is None or followed < rows - sizes.chains
    named = strata if within else ()
    return Transitions(
        states, tuples(counts.tolist()), rows - lacking, lacking, sizes.chains, sizes.longest, gaps, chains.truth, named
    )


def counted_chains(
    table: LazyTable, state: str, layout: ChainLayout, missing: Missing, public: Sequence[str], *, back: int
) -> tuple[Sequences, Sizes, int]:
    """Return the chains of a table, their sizes and the number of rows; refuses records without a state if asked to."""
    missing, rows = checked_missing(missing), row_count(table)
    chains = Sequences.of(table, state, layout, public, back=back, rows=rows)
    sizes = chains.sizes()
    if sizes.lacking and missing == "error":
        raise RecordsError(
            f"values are missing in {table.name}: {counted(sizes.lacking, 'record has', 'records have')} no "
            f"{state!r}; fill them in, or say "
            + param("missing", "drop")
            + ": each is then a gap in its chain, and the pattern of gaps is public"
        )
    if sizes.lacking == rows:
        raise RecordsError(f"no record of {table.name} has a value of {state!r}")
    return chains, sizes, rows


def _pairs(chains: Sequences, sizes: Sizes) -> Counter[tuple[Any, ...]] | None:
    """Return what `_runs` returns of pairs, faster, if there is no step and every record has a state and a place."""
    if sizes.lacking or not chains.placed_by_order:
        return None
    pairs = chains.count_moved({"p": lambda these: these.col("s").shift(1)}, sizes.chains, by=("s", "p"))
    return None if pairs is None else Counter({(p, n, r): count for (n, p, r), count in pairs.items()})


def _runs(chains: Sequences, memory: int, within: Sequence[str], public: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """Count records by the last states, their own, the strata of the last record, and the relations of all of them."""
    keys = {f"p{back}": chains.before("s", back) for back in range(memory, 0, -1)} | {"n": nw.col("s")}
    strata: dict[str, nw.Expr] = {}
    for i, name in enumerate(within):
        if name in public:
            keys[f"k{i}"] = chains.before(f"w{public.index(name)}")
        else:
            strata[f"k{i}"] = shown_by_order(chains, name)
    earlier = {f"r{back}": chains.before("r", back) for back in range(1, memory)}
    states = [name for name in keys if not name.startswith("k")]
    by = [*states, *(f"k{i}" for i in range(len(within))), *earlier]
    return chains.count(keys, after={**strata, **earlier}, by=by)


def shown_by_order(chains: Sequences, name: str, order_of: str = "b") -> nw.Expr:
    """Return the hour, weekday or month of the order; refuses other names."""
    if name not in SHOWN:
        raise FrameError(
            f"{chains.table.name} has no column {brief(name)}; "
            + param("within")
            + f" names public columns, or of the columns that order records {listed(SHOWN, 'or')}"
        )
    return reading_of(chains, name, order_of)


def _zeros(states: Sequence[Scalar], memory: int) -> Any:
    return np.zeros((len(states),) * (memory + 1), dtype=np.int64)


def _tables(
    table: LazyTable, runs: Counter[tuple[Any, ...]], states: Sequence[Scalar], memory: int, within: Sequence[str]
) -> tuple[Stratum, ...]:
    index = {state: place for place, state in enumerate(states)}
    counts: dict[tuple[Scalar, ...], Any] = {}
    unplaced = 0
    for key, count in runs.items():
        run, values, relations = key[: memory + 1], key[memory + 1 : memory + 1 + len(within)], key[-memory:]
        if None in run or any(relation != FOLLOWS for relation in relations):
            continue
        if None in values:
            unplaced += count
            continue
        if values not in counts:
            enough = (len(counts) + 1) * float(len(states)) ** (memory + 1) > _LARGEST_TABLE
            if enough or len(counts) == MOST_STRATA:
                raise RecordsError(
                    f"{listed(map(repr, within))} make more than {len(counts)} strata of {len(states)} states, too "
                    "many to count transitions in; name columns with fewer values"
                )
            counts[values] = _zeros(states, memory)
        counts[values][tuple(index[state] for state in run)] += count
    if unplaced:
        raise RecordsError(
            f"{having(unplaced, 'transition', table.name)} no value of {listed(map(repr, within), 'or')} at the record "
            "before, and so no stratum; fill in these columns"
        )
    return tuple(Stratum((values,), tuples(counts[values].tolist())) for values in sorted(counts, key=stratum_order))


def _check_public(table: LazyTable, column: str, subject: ColumnOrCondition) -> None:
    """Refuse a column of protected values or of times: strata are public, and few."""
    if column in subject.columns:
        raise FrameError(f"strata are public, but {column!r} is protected; name another column")
    if table.kind(column) == "time":
        raise FrameError(
            f"column {column!r} holds times, too many for strata; name {listed(SHOWN, 'or')} of an order of times, or "
            "a column with few values"
        )


def _named(letter: str, columns: Iterable[str]) -> dict[str, str]:
    return {f"{letter}{i}": column for i, column in enumerate(columns)}


def _finite(table: LazyTable, column: str, order: nw.Expr) -> nw.Expr:
    """Return the order of a column, in which infinite values become missing."""
    return nw.when(order.is_finite()).then(order).otherwise(None) if table.kind(column) == "number" else order


def _since_midnight(name: str, minutes: int) -> nw.Expr:
    """Return a time of day in minutes; `minutes` is its format, as in `clocks.minutes_shown`."""
    shown = nw.col(name).cast(nw.Int64)
    if minutes == 1:
        return shown * 60
    hours = (shown.cast(nw.Float64) / minutes).floor().cast(nw.Int64)
    return hours * 60 + (shown - hours * minutes)


def _state(table: LazyTable, subject: ColumnOrCondition) -> nw.Expr:
    if subject.condition is not None:
        truth = subject.condition.expression(table)
        return nw.when(table.present(subject.columns)).then(truth).otherwise(None)
    kind = table.kind(subject.text)
    if kind == "time":
        raise FrameError(f"column {subject.text!r} holds times; a chain's states are texts, numbers or true/false")
    return table.column(subject.text) + 0.0 if kind == "number" else table.column(subject.text)


def _step(table: LazyTable, step: object) -> float | str:
    """Return the step as a number, or as a period for an order of times."""
    kind = table.kind("o0")
    if kind == "time":
        length = step if isinstance(step, datetime.timedelta) else _period(step)
        if length <= datetime.timedelta():
            raise FrameError(name_of("step") + f" must be greater than zero, not {brief(step)}")
        if isinstance(table.schema["o0"], nw.Date):
            if length % datetime.timedelta(days=1):
                raise FrameError(
                    "the order column holds dates, so "
                    + name_of("step")
                    + f" must be days such as 1d, not {brief(step)}"
                )
            return f"{length.days}d"
        return f"{length // datetime.timedelta(microseconds=1)}us"
    if kind not in ("whole", "number"):
        raise FrameError(param("step") + " needs an order column of numbers or times: only these have a spacing")
    number = _as_number(step)
    if number is None or not 0 < number < math.inf:
        raise FrameError(
            "the order column holds numbers, so "
            + name_of("step")
            + f" must be a number greater than 0, not {brief(step)}"
        )
    return int(number) if kind == "whole" and number.is_integer() and number < 2**63 else number


def _relation(follows: nw.Expr, close: nw.Expr) -> nw.Expr:
    otherwise = nw.when(close).then(nw.lit(CLOSE)).otherwise(nw.lit(GAP))
    return nw.when(follows).then(nw.lit(FOLLOWS)).otherwise(otherwise)


def _as_number(step: object) -> float | None:
    if isinstance(step, str | int | float) and not isinstance(step, bool):
        with suppress(ValueError, OverflowError):
            return float(step)
    return None


def _period(step: object) -> datetime.timedelta:
    try:
        length = period(step) if isinstance(step, str) else None
    except OverflowError:
        raise FrameError(f"a step of {step} is too long") from None
    if length is None:
        raise FrameError(
            "the order column holds times, so "
            + name_of("step")
            + f" must be a period such as 5m, 1h or 1d, not {brief(step)}"
        )
    return length


def _relations(counts: Counter[tuple[Any, ...]]) -> Counter[Any]:
    """Return the number of records with each relation, given counts whose keys end with the relation."""
    relations: Counter[Any] = Counter()
    for (*_, relation), count in counts.items():
        relations[relation] += count
    return relations


def ordered_states(states: set[Any], name: str) -> tuple[Scalar, ...]:
    """Return the states of a chain in their order; refuses too many."""
    if len(states) > STATES.value:
        raise RecordsError(
            f"{name!r} has {len(states)} different values, but a chain has at most {STATES.value} states; group the "
            f"values first, for example with a condition such as '{name} > 0', or {STATES.advice}"
        )
    return tuple(sorted(states))
