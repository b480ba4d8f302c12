"""Does a table fit the model: are its chains no longer, and its groups no larger, than the model says?"""

from __future__ import annotations

from typing import Any

import narwhals as nw

from bayesdp.errors import FrameError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.source import Missing, Table, whole
from bayesdp.frames.transitions import Sequences
from bayesdp.models import AnyOf, GaussianGroups, MarkovChain, Model
from bayesdp.queries import Count

__all__ = ["check_sizes"]


def check_sizes(table: Table, model: Model, missing: Missing) -> None:
    """Refuse a table with a longer chain or a larger group than the model allows, if the model knows its columns.

    A guarantee for chains of at most n records says nothing about longer ones.
    """
    if isinstance(model, AnyOf):
        for member in model.models:
            check_sizes(table, member, missing)
    if isinstance(model, MarkovChain) and model.subject is not None:
        known = tally(table, [Count(model.subject, isin=tuple(model.states))], missing=missing)[0]
        if known.counts[0] < known.records:
            raise FrameError(
                f"{known.records - known.counts[0]} records of {table.name} have a value of {model.subject!r} that is "
                "not a state of the chain; fit it again"
            )
        longest = known.records
        if model.layout is not None and model.layout.entity:
            longest = Sequences.of(table, model.subject, model.layout).sizes().longest
        if model.length is not None and longest > model.length:
            raise FrameError(
                f"{table.name} has a chain of {longest} records, but the model speaks of at most {model.length}; fit "
                "it again, or say how entities are told apart"
            )
    if isinstance(model, GaussianGroups) and model.layout is not None and model.layout.group:
        largest = _largest_group(table, list(model.layout.group), model.layout.value[0])
        if largest > model.group_size:
            raise FrameError(
                f"{table.name} has a group of {largest} records, but the model speaks of at most {model.group_size}; "
                "fit it again"
            )


def _largest_group(table: Table, group: list[str], value: str) -> int:
    picked = table.pick([*group, value]).together(group)
    keys = {f"g{i}": nw.col(column) for i, column in enumerate(group)}

    def sizes(frame: Any) -> Any:
        counted = frame.select(**keys, n=nw.col(value)).group_by(*keys).agg(nw.col("n").count())
        return counted.select(nw.col("n").max())

    return max(whole(part[0][0]) for part in picked.parts(sizes))
