"""What the diagnostics of a model need of a table: counts of triples, halves and entities; a sample of groups."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import groupby
from operator import and_, or_
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from bayesdp.diagnostics import ChainStatistics, Diagnosis, GroupSample, diagnose_chain, diagnose_groups
from bayesdp.errors import FrameError
from bayesdp.frames.aggregates import row_count
from bayesdp.frames.groups import check_roles, checked_groups, role_tables
from bayesdp.frames.source import Missing, Table, plain, reading, scan, whole
from bayesdp.frames.transitions import FOLLOWS, Sequences, transitions
from bayesdp.models import GaussianGroups, MarkovChain
from bayesdp.models.layout import ChainLayout, GroupLayout
from bayesdp.models.moments import Moments
from bayesdp.validation import Scalar

__all__ = ["diagnose_chain_of", "diagnose_groups_of"]

MOST_TRIPLES = 50
"""Triples of states are counted up to this many states."""

MOST_ENTITIES = 100
"""So many of the entities with most records are compared with one another."""

MOST_GROUPS = 5000
"""So many groups are looked at one by one; more would not make a test of normality wiser."""


def diagnose_chain_of(model: MarkovChain, source: object) -> Diagnosis:
    """Diagnose a chain on a table, in the columns it was fitted on."""
    assert model.layout is not None, "MarkovChain.diagnose sees to that"
    assert model.subject is not None
    layout, states = model.layout, tuple(model.states)
    table = scan(source)
    found = transitions(table, model.subject, layout, _rule(layout))
    chains = Sequences.of(table, model.subject, layout)
    if not set(found.states) <= chains.places(states).keys():
        raise FrameError(
            f"{table.name} holds a value of {model.subject!r} that is not a state of the model; fit it again"
        )
    with reading(table):
        counts, halves, triples = _chain_counts(chains, states, found.records + found.missing)
        entities = _entity_counts(chains, states) if found.entities > 1 else None
    statistics = ChainStatistics(states, counts, triples, halves, entities, found.entities, found.records)
    return _dated(diagnose_chain(statistics, model), table, found.records + found.missing)


def _dated(diagnosis: Diagnosis, table: Table, rows: int) -> Diagnosis:
    """Return the diagnosis with the table it saw and the day; where the table lies is nobody's business."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return replace(diagnosis, date=today, table=Path(table.name).name or table.name, rows=rows)


def _rule(layout: ChainLayout | GroupLayout) -> Missing:
    return "drop" if layout.dropped else "error"


def _chain_counts(chains: Sequences, states: Sequence[Scalar], rows: int) -> tuple[Any, Any, Any]:
    """Return the counts of pairs, of pairs in each half of every chain's records, and of triples."""
    position = chains.ordered(nw.col("o0").cum_count())
    length: Any = nw.col("o0").count().over(*chains.entities) if chains.entities else nw.lit(rows)
    keys = {"i": position, "m": length, "p": chains.before("s"), "n": nw.col("s")}
    after = {"h": (nw.col("i") * 2 > nw.col("m")).cast(nw.Int64)}
    with_triples = len(states) <= MOST_TRIPLES
    if with_triples:
        keys["pp"] = chains.before("s", 2)
        after["rp"] = chains.before("r")
    found = chains.count(keys, after=after, by=("p", "n", "h", *(("pp", "rp") if with_triples else ())))
    index = chains.places(states)
    size = len(states)
    halves = np.zeros((2, size, size), dtype=np.int64)
    triples = np.zeros((size, size, size), dtype=np.int64) if with_triples else None
    for (before, now, half, *earlier, relation), count in found.items():
        if relation != FOLLOWS or before is None or now is None:
            continue
        halves[int(half or 0), index[before], index[now]] += count
        if triples is not None and earlier[0] is not None and earlier[1] == FOLLOWS:
            triples[index[earlier[0]], index[before], index[now]] += count
    return halves.sum(axis=0), halves, triples


def _entity_counts(chains: Sequences, states: Sequence[Scalar]) -> Any:
    """Return the counts of pairs for each of the entities with most records."""

    def largest(frame: Any) -> Any:
        sizes = frame.group_by(*chains.entities).agg(nw.col("s").count().alias("size"))
        first = [True, *(False for _ in chains.entities)]
        return sizes.sort("size", *chains.entities, descending=first).head(MOST_ENTITIES)

    rows = [row for part in chains.table.parts(largest) for row in part]
    chosen = [row[:-1] for row in sorted(rows, key=lambda row: (-whole(row[-1]), row[:-1]))[:MOST_ENTITIES]]
    mine = reduce(
        or_, (reduce(and_, (nw.col(n) == v for n, v in zip(chains.entities, each, strict=True))) for each in chosen)
    )
    keys = {f"k{i}": nw.col(name) for i, name in enumerate(chains.entities)}
    found = chains.count({**keys, "p": chains.before("s"), "n": nw.col("s")}, of=mine)
    index = chains.places(states)
    places = {tuple(map(plain, each)): i for i, each in enumerate(chosen)}
    counts = np.zeros((len(chosen), len(states), len(states)), dtype=np.int64)
    for (*entity, before, now, relation), count in found.items():
        if relation == FOLLOWS and before is not None and now is not None:
            counts[places[tuple(entity)], index[before], index[now]] += count
    return counts


def diagnose_groups_of(model: GaussianGroups, source: object) -> Diagnosis:
    """Diagnose normal groups on a table, in the columns the model was fitted on."""
    assert model.layout is not None, "GaussianGroups.diagnose sees to that"
    layout, table = model.layout, scan(source)
    with reading(table):
        picked = checked_groups(table, layout, _rule(layout))
        exchangeable = not layout.wide and layout.role is None
        sample = _records_by_group(picked, layout) if exchangeable else _groups_by_role(picked, layout)
        rows = row_count(table)
    if isinstance(model.moments, Moments) and model.moments.roles not in ((), sample.roles):
        raise FrameError(
            f"the roles in {table.name} are not those of the model, {', '.join(model.moments.roles)}; fit it again"
        )
    return _dated(diagnose_groups(sample, model), table, rows)


def _groups_by_role(table: Table, layout: GroupLayout) -> GroupSample:
    groups, roles, grids = role_tables(table, layout)
    names = [f"{letter}{i}" for i in range(len(roles)) for letter in "qn"]
    keys = [f"g{i}" for i in range(len(layout.group))]

    def first(frame: Any) -> Any:
        return (frame.sort(*keys) if keys else frame).select(*keys, *names).head(MOST_GROUPS)

    found = [row for part in groups.parts(first) for row in part]
    rows = [row[len(keys) :] for row in sorted(found, key=lambda row: row[: len(keys)])[:MOST_GROUPS]]
    total = sum(whole(part[0][0]) for part in groups.parts(lambda frame: frame.select(nw.len())))
    check_roles(table, {role: sum(whole(row[2 * i + 1]) > 1 for row in rows) for i, role in enumerate(roles)})
    values = [
        [float(grid.total(whole(row[2 * i]), 1)) if whole(row[2 * i + 1]) else math.nan for i, grid in enumerate(grids)]
        for row in rows
    ]
    return GroupSample(roles, np.array(values), total, False)


def _records_by_group(table: Table, layout: GroupLayout) -> GroupSample:
    keys = [f"g{i}" for i in range(len(layout.group))]
    named = {key: nw.col(column) for key, column in zip(keys, layout.group, strict=True)}
    most = 4 * MOST_GROUPS

    def first(frame: Any) -> Any:
        records = frame.select(**named, v=nw.col(layout.value[0])).filter(~nw.col("v").is_null())
        return records.sort(*keys, "v").head(most)

    def groups(frame: Any) -> Any:
        return frame.select(**named).group_by(*keys).agg(nw.len().alias("n")).select(nw.len())

    table = table.together(layout.group)
    total = sum(whole(part[0][0]) for part in table.parts(groups))
    found: list[tuple[Any, list[float]]] = []
    for part in table.parts(first):
        mine = [(key, [float(row[-1]) for row in rows]) for key, rows in groupby(part, key=lambda row: row[:-1])]
        found += mine[:-1] if len(part) == most else mine
    sample = [values for _, values in sorted(found, key=lambda pair: pair[0])[:MOST_GROUPS]]
    shuffle = random.Random(0).shuffle  # noqa: S311 (members have no order; the one they were sorted in must not show)
    for group in sample:
        shuffle(group)
    size = max(map(len, sample), default=0)
    values = np.array([group + [math.nan] * (size - len(group)) for group in sample]).reshape(len(sample), size)
    return GroupSample([f"member {i + 1}" for i in range(size)], values, total, True)
