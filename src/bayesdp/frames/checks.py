"""The statistics of a table that diagnoses need: counts of triples, halves and entities; a sample of groups."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from itertools import groupby
from operator import and_, or_
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from bayesdp._support.validation import Scalar
from bayesdp.diagnostics import ChainStatistics, Diagnosis, GroupSample, diagnose_chain, diagnose_groups
from bayesdp.diagnostics.odds_series import FURTHER, SeriesStatistics, diagnose_series
from bayesdp.errors import FrameError, InvalidInputError, RecordsError
from bayesdp.frames.aggregates import row_count
from bayesdp.frames.clocks import SHOWN, clocks
from bayesdp.frames.groups import check_roles, checked_groups, group_moments, role_tables
from bayesdp.frames.patterns import MOST_PATTERNS, Patterns, patterns
from bayesdp.frames.source import LazyTable, Missing, one_or_zero, plain, reading, scan, whole
from bayesdp.frames.transitions import FOLLOWS, GAP, Sequences, shown_by_order, transitions
from bayesdp.models import GaussianGroups, MarkovChain, OddsSeries
from bayesdp.models.diagnosis import today
from bayesdp.models.layout import ChainLayout, GroupLayout
from bayesdp.models.moments import Moments

__all__ = ["diagnose_chain_of", "diagnose_groups_of", "diagnose_series_of", "shared_times_within"]

MOST_TRIPLES = 50
"""The most states for which triples of states are counted."""

MOST_ENTITIES = 100
"""The most entities that are compared with one another, those with most records."""

MOST_AT_ONCE = 10
"""The most states for which one scan counts the readings of all clocks."""

MOST_TIMES = 100_000
"""The most counts of pairs at shared times that are read, those of the first times."""

MOST_GROUPS = 5000
"""The most groups in the sample; more would not improve a test of normality."""


def diagnose_chain_of(model: MarkovChain, source: object) -> Diagnosis:
    """Diagnose a chain on a table, in the columns it was fitted on."""
    assert model.layout is not None, "MarkovChain.diagnose checks it"
    assert model.subject is not None
    layout, states = model.layout, tuple(model.states)
    table = scan(source)
    found = transitions(table, model.subject, layout, _rule(layout))
    chains = Sequences.of(table, model.subject, layout, back=2).numbered()
    if not set(found.states) <= chains.places(states).keys():
        raise FrameError(
            f"{table.name} holds a value of {model.subject!r} that is not a state of the model; fit it again"
        )
    with reading(table):
        counts, halves, triples, starts, before_gaps = _chain_counts(chains, states, found.records + found.missing)
        by_clock = _clock_counts(chains, states)
        several = found.entities > 1
        entities = _entity_counts(chains, states) if several else None
        together = _shared_times(chains, states) if several else None
    statistics = ChainStatistics(
        states,
        counts,
        triples,
        halves,
        entities,
        found.entities,
        found.records,
        longest=found.longest,
        spaced=layout.step is not None,
        clocks=by_clock,
        clockless="the columns that order the records hold no dates or times",
        together=together,
        starts=starts,
        before_gaps=before_gaps,
    )
    return _dated(diagnose_chain(statistics, model), table, found.records + found.missing)


def diagnose_series_of(model: OddsSeries, source: object) -> Diagnosis:
    """Diagnose a series of bounded odds on a table, in the columns it was fitted on."""
    assert model.layout is not None, "OddsSeries.diagnose checks it"
    assert model.subject is not None
    layout, reach, table = model.layout, len(model.odds), scan(source)
    within = () if model.fitted is None else tuple(model.fitted.within)

    def seen_at(apart: int, strata: Sequence[str]) -> Patterns:
        assert model.subject is not None
        return patterns(table, model.subject, layout, _rule(layout), reach=apart, within=strata)

    first = seen_at(reach, within)
    if model.states and not set(first.states) <= set(model.states):
        raise FrameError(
            f"{table.name} holds a value of {model.subject!r} that is not a state of the model; fit it again"
        )
    farther = [
        apart
        for apart in range(reach + 1, min(reach + FURTHER, (first.longest - 1) // 2) + 1)
        if float(len(first.states)) ** (2 * apart + 1) <= MOST_PATTERNS
    ]
    longer = seen_at(farther[-1], within) if farther else first
    by_clock: dict[str, Patterns] = {}
    for clock in SHOWN:
        try:
            seen = seen_at(reach, tuple(dict.fromkeys((*(name for name in within if name != clock), clock))))
        except RecordsError:
            raise
        except FrameError:
            continue
        if len({values[-1] for values in seen.strata}) > 1:
            by_clock[clock] = seen
    statistics = SeriesStatistics(
        longer,
        by_clock,
        [clock for clock in SHOWN if clock not in by_clock],
        _of_entities(table, model, layout) if layout.entity else None,
        first.records,
        within,
    )
    with reading(table):
        rows = row_count(table)
    return _dated(diagnose_series(statistics, model), table, rows)


def _of_entities(table: LazyTable, model: OddsSeries, layout: ChainLayout) -> ChainStatistics | None:
    """Return the transitions of several entities, and those at times they share; None if there is one."""
    assert model.subject is not None
    found = transitions(table, model.subject, layout, _rule(layout))
    if found.entities < 2:
        return None
    counts = np.array(found.counts, dtype=np.int64)
    with reading(table):
        together = _shared_times(Sequences.of(table, model.subject, layout), found.states)
    halves = np.stack([counts, np.zeros_like(counts)])
    return ChainStatistics(found.states, counts, None, halves, None, found.entities, found.records, together=together)


def _dated(diagnosis: Diagnosis, table: LazyTable, rows: int) -> Diagnosis:
    """Return the diagnosis with the date and the name of the table, without its folder, which may be private."""
    return replace(diagnosis, date=today(), table_name=Path(table.name).name or table.name, rows=rows)


def _rule(layout: ChainLayout | GroupLayout) -> Missing:
    return "drop" if layout.dropped else "error"


def _chain_counts(chains: Sequences, states: Sequence[Scalar], rows: int) -> tuple[Any, Any, Any, Any, Any]:
    """Return the counts of pairs, of pairs in each half of every chain, of triples, of first states and before gaps."""
    length: Any = nw.col("o0").count().over(*chains.entities) if chains.entities else nw.lit(rows)
    keys = {"i": chains.position(), "m": length, "p": chains.before("s"), "n": nw.col("s")}
    ones = chains.table.ones
    after = {"h": ones(nw.col("i") * 2 > nw.col("m")), "f": ones(nw.col("i") == 1)}
    with_triples = len(states) <= MOST_TRIPLES
    if with_triples:
        keys["pp"] = chains.before("s", 2)
        after["rp"] = chains.before("r")
    counts = chains.count(keys, after=after, by=("p", "n", "h", "f", *(("pp", "rp") if with_triples else ())))
    index = chains.places(states)
    size = len(states)
    halves = np.zeros((2, size, size), dtype=np.int64)
    triples = np.zeros((size, size, size), dtype=np.int64) if with_triples else None
    starts, before_gaps = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for (before, now, half, first, *earlier, relation), count in counts.items():
        if first and now is not None:
            starts[index[now]] += count
        if before is not None and (now is None or relation == GAP):
            before_gaps[index[before]] += count
        if relation != FOLLOWS or before is None or now is None:
            continue
        halves[int(half or 0), index[before], index[now]] += count
        if triples is not None and earlier[0] is not None and earlier[1] == FOLLOWS:
            triples[index[earlier[0]], index[before], index[now]] += count
    return halves.sum(axis=0), halves, triples, starts, before_gaps


def _clock_counts(chains: Sequences, states: Sequence[Scalar]) -> dict[str, Any]:
    """Return for each clock the counts of pairs by its reading at the earlier record, (readings, states, states).

    Of two clocks with one name, the first with several readings counts. Readings are in no particular order, because
    engines number the days of a week differently.
    """
    shown = clocks(chains)
    index = chains.places(states)
    tables: list[dict[Any, Any]] = [{} for _ in shown]
    everything, one_by_one = [range(len(shown))] if shown else [], [[i] for i in range(len(shown))]
    for some in everything if len(states) <= MOST_AT_ONCE else one_by_one:
        names = {f"k{i}": shown[i].reading for i in some}
        pairs = {"p": chains.before("s"), "n": nw.col("s")}
        for (before, now, *values, relation), count in chains.count(pairs, after=names, by=("p", "n", *names)).items():
            if relation == FOLLOWS and before is not None and now is not None:
                for i, value in zip(some, values, strict=True):
                    empty = np.zeros((len(states), len(states)), dtype=np.int64)
                    tables[i].setdefault(value, empty)[index[before], index[now]] += count
    counts: dict[str, Any] = {}
    for clock, table in zip(shown, tables, strict=True):
        if table and len(counts.get(clock.name, ())) < 2:
            counts[clock.name] = np.array(sorted(matrix.tolist() for matrix in table.values()))
    return counts


def _shared_times(chains: Sequences, states: Sequence[Scalar]) -> Any:
    """Return the counts of pairs at each of the first times that several entities share, (times, states, states)."""
    shared = [table for table in _times(chains, states, {}).values() if table.sum() > 1]
    return np.array(shared).reshape(len(shared), len(states), len(states))


def shared_times_within(
    source: object, subject: str, layout: ChainLayout, states: Sequence[Scalar], within: Sequence[str]
) -> list[Any]:
    """Return for each stratum the counts of pairs at each of the first times, (times, states, states).

    within: public columns, or hour, weekday and month of the order, as in `transitions`: the strata.
    """
    table = scan(source)
    public = [name for name in within if name in table]
    chains = Sequences.of(table, subject, layout, public)
    readings = {
        f"k{i}": nw.col(f"w{public.index(name)}") if name in public else shown_by_order(chains, name, "o")
        for i, name in enumerate(within)
    }
    with reading(table):
        times = _times(chains, states, readings)
    width = len(chains.orders)
    strata = dict.fromkeys(time[width:] for time in times)
    return [np.array([table for time, table in times.items() if time[width:] == stratum]) for stratum in strata]


def _times(chains: Sequences, states: Sequence[Scalar], readings: Mapping[str, nw.Expr]) -> dict[Any, Any]:
    """Return the counts of pairs at each of the first times, by the time and the readings."""

    def by_time(frame: Any) -> Any:
        pairs = chains.related(frame, {"p": chains.before("s"), "n": nw.col("s")})
        pairs = pairs.with_columns(**readings) if readings else pairs
        counts = pairs.group_by(*chains.orders, *readings, "p", "n", "r").agg(nw.len().alias("count"))
        return counts.sort(*chains.orders).head(MOST_TIMES)

    index = chains.places(states)
    parts = chains.along.parts(by_time)
    width = len(chains.orders)
    ends = [part[-1][:width] for part in parts if len(part) == MOST_TIMES]
    times: dict[Any, Any] = {}
    for part in parts:
        for *time, before, now, relation, count in part:
            first, second = plain(before), plain(now)
            if plain(relation) != FOLLOWS or first is None or second is None:
                continue
            if not ends or tuple(time[:width]) < min(ends):
                table = times.setdefault(tuple(time), np.zeros((len(states), len(states)), dtype=np.int64))
                table[index[first], index[second]] += whole(count)
    return times


def _entity_counts(chains: Sequences, states: Sequence[Scalar]) -> Any:
    def largest(frame: Any) -> Any:
        sizes = frame.group_by(*chains.entities).agg(nw.col("s").count().alias("size"))
        first = [True, *(False for _ in chains.entities)]
        return sizes.sort("size", *chains.entities, descending=first).head(MOST_ENTITIES)

    rows = [row for part in chains.table.parts(largest) for row in part]
    chosen = [row[:-1] for row in sorted(rows, key=lambda row: (-whole(row[-1]), row[:-1]))[:MOST_ENTITIES]]
    mine = reduce(
        or_, (reduce(and_, (nw.col(n) == v for n, v in zip(chains.entities, entity, strict=True))) for entity in chosen)
    )
    keys = {f"k{i}": nw.col(name) for i, name in enumerate(chains.entities)}
    pairs = chains.count({**keys, "p": chains.before("s"), "n": nw.col("s")}, of=mine)
    index = chains.places(states)
    places = {tuple(map(plain, entity)): i for i, entity in enumerate(chosen)}
    counts = np.zeros((len(chosen), len(states), len(states)), dtype=np.int64)
    for (*entity, before, now, relation), count in pairs.items():
        if relation == FOLLOWS and before is not None and now is not None:
            counts[places[tuple(entity)], index[before], index[now]] += count
    return counts


def diagnose_groups_of(model: GaussianGroups, source: object) -> Diagnosis:
    """Diagnose normal groups on a table, in the columns the model was fitted on."""
    assert model.layout is not None, "GaussianGroups.diagnose checks it"
    layout, table = model.layout, scan(source)
    rule = _rule(layout)
    with reading(table):
        picked = checked_groups(table, layout, rule)
        exchangeable = not layout.wide and layout.role is None
        sample = _records_by_group(picked, layout) if exchangeable else _groups_by_role(picked, layout)
        rows = row_count(table)
    if isinstance(model.moments, Moments) and model.moments.roles not in ((), sample.roles):
        raise FrameError(
            f"the roles in {table.name} are not those of the model, {', '.join(model.moments.roles)}; fit it again"
        )
    if model.moments is not None:
        with suppress(InvalidInputError):  # a table without moments is diagnosed without them
            sample = replace(sample, moments=group_moments(table, layout, rule))
    return _dated(diagnose_groups(sample, model), table, rows)


def _groups_by_role(table: LazyTable, layout: GroupLayout) -> GroupSample:
    groups, roles, grids = role_tables(table, layout)
    names = [f"{letter}{i}" for i in range(len(roles)) for letter in "qn"]
    keys = [f"g{i}" for i in range(len(layout.group))]

    def first(frame: Any) -> Any:
        return (frame.sort(*keys) if keys else frame).select(*keys, *names).head(MOST_GROUPS)

    first_rows = [row for part in groups.parts(first) for row in part]
    rows = [row[len(keys) :] for row in sorted(first_rows, key=lambda row: row[: len(keys)])[:MOST_GROUPS]]
    twice = {f"twice{i}": one_or_zero(nw.col(f"n{i}") > 1) for i in range(len(roles))}
    sums = groups.sums({"total": nw.col("n0") * 0 + 1, **twice})
    check_roles(table, {role: sums[f"twice{i}"] for i, role in enumerate(roles)})
    values = [
        [float(grid.total(whole(row[2 * i]), 1)) if whole(row[2 * i + 1]) else math.nan for i, grid in enumerate(grids)]
        for row in rows
    ]
    return GroupSample(roles, np.array(values), sums["total"], False)


def _records_by_group(table: LazyTable, layout: GroupLayout) -> GroupSample:
    """Return groups of members without roles, shuffled, and in the order of the rows if there is one."""
    numbered = _numbered(table)
    keys = [f"g{i}" for i in range(len(layout.group))]
    named = {key: nw.col(column) for key, column in zip(keys, layout.group, strict=True)}
    named |= {"v": nw.col(layout.value[0]), "row": nw.col(layout.value[0]) if numbered is None else nw.col(_ROW)}
    most = 4 * MOST_GROUPS

    def first(frame: Any) -> Any:
        return frame.select(**named).sort(*keys, "row").select(*keys, "v").head(most)

    def sizes(frame: Any) -> Any:
        groups = frame.select(**named).group_by(*keys).agg(nw.col("v").count().alias("m"))
        return groups.with_columns(one=nw.col("m") * 0 + 1).select(nw.col("one").sum(), nw.col("m").max())

    table = (numbered or table).together(layout.group)
    totals = [list(map(whole, part[0])) for part in table.parts(sizes)]
    grouped: list[tuple[Any, list[float]]] = []
    for part in table.parts(first):
        mine = [(key, [_float(row[-1]) for row in rows]) for key, rows in groupby(part, key=lambda row: row[:-1])]
        grouped += mine[:-1] if len(part) == most else mine
    ordered = [values for _, values in sorted(grouped, key=lambda pair: pair[0])[:MOST_GROUPS]]
    ordered = [group for group in ordered if not all(map(math.isnan, group))]
    shuffle = random.Random(0).shuffle  # noqa: S311 (not for privacy: it removes the order of the rows)
    shuffled = [sorted(value for value in group if not math.isnan(value)) for group in ordered]
    for group in shuffled:
        shuffle(group)
    size = max(map(len, ordered), default=0)
    return GroupSample(
        [f"member {i + 1}" for i in range(size)],
        _padded(shuffled, size),
        sum(groups for groups, _ in totals),
        True,
        positions=None if numbered is None else _padded(ordered, size),
        largest=max(largest for _, largest in totals),
    )


_ROW = "which row"


def _numbered(table: LazyTable) -> LazyTable | None:
    """Return the table with a column of row numbers, or None if rows have no order in its engine.

    Files and frames of pandas, Polars and PyArrow have an order; databases and clusters return rows in any order.
    """
    native: Any = table.frame.to_native()
    if table.engine.is_polars():
        native = native.with_row_index(_ROW)
    elif table.engine.is_pandas():
        native = native.assign(**{_ROW: range(len(native))})
    else:
        return None
    frame = nw.from_native(native).lazy()
    return replace(table, frame=frame, schema=frame.collect_schema())


def _float(value: object) -> float:
    number = plain(value)
    return math.nan if number is None else float(number)


def _padded(groups: Sequence[Sequence[float]], size: int) -> Any:
    return np.array([[*group, *[math.nan] * (size - len(group))] for group in groups]).reshape(len(groups), size)
