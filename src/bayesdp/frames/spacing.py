"""The step of chains, found in the order of a table if none is given."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw

from bayesdp.frames.clocks import minutes_shown
from bayesdp.frames.source import plain, reading, scan, whole
from bayesdp.frames.transitions import CLOSE, FOLLOWS, TIED, Sequences
from bayesdp.models.layout import ChainLayout

__all__ = ["spaced"]

BY_FAR = 0.9
"""The least share of records that must follow the one before by the step; the others come after a gap."""

MOST_LOOKED_AT = 10_000
"""The most different pairs of neighbours that are read to find a step; if there are more, all records are checked."""

_MINUTE = datetime.timedelta(minutes=1)


def spaced(source: object, state: str, layout: ChainLayout, *, numeric: bool = False) -> ChainLayout:
    """Return a layout with the step that the table shows; unchanged if it has one, or if the table shows none.

    The step is the smallest spacing of records of one entity. At least nine in ten records must follow the one before
    by it, and the others by a multiple of it. An order of whole numbers, of dates or times, or of a date and a time of
    day can have a step.

    Raises FrameError for columns that cannot be a state, an order or an entity.

    >>> import polars
    >>> frame = polars.DataFrame({"year": [2015, 2016, 2017, 2018], "ill": [False, True, True, False]})
    >>> spaced(frame, "ill", ChainLayout("year")).step
    1.0
    """
    if layout.step is not None or len(layout.order_by) > 2:
        return layout
    table = scan(source)
    with reading(table):
        chains = Sequences.of(table, state, layout, numeric=numeric)
        minutes = _readable(chains)
        if minutes is None:
            return layout
        pairs = _pairs(chains)
        step = _step_of(_spacings(pairs, minutes))
        if step is None:
            return layout
        found = replace(layout, step=step)
        kept = len(pairs) < MOST_LOOKED_AT or _kept(Sequences.of(table, state, found, numeric=numeric))
    return found if kept else layout


def _readable(chains: Sequences) -> int | None:
    """Return the format of the time of day of two order columns, 0 for one column; None if they have no spacing."""
    kinds = [chains.table.kind(order) for order in chains.orders]
    if len(kinds) == 1:
        return 0 if kinds[0] in ("whole", "number", "time") else None
    return minutes_shown(chains, 1) if kinds[0] == "time" and kinds[1] in ("whole", "number") else None


def _pairs(chains: Sequences) -> Counter[tuple[Any, ...]]:
    """Return how often each order follows another one in some chain; only the first pairs if there are many."""
    names = [*(f"b{i}" for i in range(len(chains.orders))), *chains.orders]

    def counts_of(frame: Any) -> Any:
        followed = chains.own(chains.related(frame, {})).filter(~nw.col("b0").is_null(), ~nw.col("o0").is_null())
        return followed.group_by(*names).agg(nw.len().alias("n")).sort(*names).head(MOST_LOOKED_AT)

    pairs: Counter[tuple[Any, ...]] = Counter()
    for part in chains.along.parts(counts_of):
        for *pair, count in part:
            if all(plain(value) is not None for value in pair):
                pairs[tuple(pair)] += whole(count)
    few = len(pairs) <= MOST_LOOKED_AT
    return pairs if few else Counter({pair: pairs[pair] for pair in sorted(pairs)[:MOST_LOOKED_AT]})


def _spacings(pairs: Counter[tuple[Any, ...]], minutes: int) -> Counter[Any]:
    """Return the number of records at each distance, a number or a period, from the one before."""
    spacings: Counter[Any] = Counter()
    for pair, count in pairs.items():
        before, now = (_place(pair[i * len(pair) // 2 : (i + 1) * len(pair) // 2], minutes) for i in (0, 1))
        spacings[now - before] += count
    return spacings


def _place(orders: Sequence[Any], minutes: int) -> Any:
    """Return the place of a record as a number or a time, whose differences are spacings."""
    if minutes:
        day, shown = orders[0], int(orders[1])
        hours = shown if minutes == 1 else shown // minutes
        return _moment(day) + (60 * hours + (0 if minutes == 1 else shown % minutes)) * _MINUTE
    if isinstance(orders[0], datetime.date):
        return _moment(orders[0])
    number = plain(orders[0])
    assert isinstance(number, int | float)
    return number


def _moment(value: datetime.date) -> datetime.datetime:
    """Return a date or time of any engine as a time without a time zone."""
    if isinstance(value, datetime.datetime):
        return datetime.datetime.fromisoformat(value.isoformat()[:26]).replace(tzinfo=None)
    return datetime.datetime(value.year, value.month, value.day)


def _step_of(spacings: Counter[Any]) -> float | datetime.timedelta | None:
    if not spacings:
        return None
    least = min(spacings)
    nothing = least * 0
    whole_steps = isinstance(least, datetime.timedelta) or all(isinstance(spacing, int) for spacing in spacings)
    if least <= nothing or not whole_steps or any(spacing % least != nothing for spacing in spacings):
        return None
    return least if spacings[least] >= BY_FAR * spacings.total() else None


def _kept(chains: Sequences) -> bool:
    """Return whether at least nine in ten of all records follow the one before by the step, and none comes earlier."""
    sizes, relations = chains.sizes(), chains.relations()
    rows = relations.total() - sizes.chains
    return not relations[CLOSE] and not relations[TIED] and relations[FOLLOWS] >= BY_FAR * rows
