"""How entities move together: the sums of their deviations at each moment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from bayesdp.frames.checks import MOST_TIMES
from bayesdp.frames.source import Missing, reading, scan, whole
from bayesdp.frames.transitions import Sequences, shown_by_order
from bayesdp.models.layout import ChainLayout

__all__ = ["Comoments", "comoments"]


@dataclass(frozen=True)
class Comoments:
    """The mean correlation of two entities at one moment, its standard error if entities are independent and have no
    memory, and the most records of one moment.
    """

    correlation: float
    error: float
    largest: int


def comoments(
    source: object, value: str, layout: ChainLayout, missing: Missing = "error", within: Sequence[str] = ()
) -> Comoments:
    """Return how strongly entities are correlated at one moment, around the means of each entity.

    within: public columns, or hour, weekday and month of the order: each entity has a mean for each combination.

    The first 100,000 moments count. Raises FrameError as `series_moments` does.

    >>> import polars
    >>> frame = polars.DataFrame({"t": [1, 2, 3] * 2, "e": ["a"] * 3 + ["b"] * 3, "x": [1, 2, 4, 2, 3, 5]})
    >>> round(comoments(frame, "x", ChainLayout("t", "e")).correlation, 9)
    1.0
    """
    table = scan(source)
    public = [name for name in within if name in table]
    chains = Sequences.of(table, value, layout, public, numeric=True)
    strata = {
        f"k{i}": nw.col(f"w{public.index(name)}") if name in public else shown_by_order(chains, name, "o")
        for i, name in enumerate(within)
    }

    def by_moment(frame: Any) -> Any:
        frame = frame.with_columns(v=nw.col("s").cast(nw.Float64), **strata).filter(~nw.col("v").is_null())
        frame = frame.with_columns(d=nw.col("v") - nw.col("v").mean().over(*chains.entities, *strata))
        frame = frame.with_columns(dd=nw.col("d") * nw.col("d"))
        frame = frame.with_columns(a=nw.col("dd").mean().over(*chains.entities)).filter(nw.col("a") > 0)
        frame = frame.with_columns(z=nw.col("d") / nw.col("a").sqrt(), q=nw.col("dd") / nw.col("a"), n=nw.lit(1))
        frame = frame.with_columns(f=nw.col("q") * nw.col("q"))
        sums = frame.group_by(*chains.orders).agg(*(nw.col(name).sum() for name in ("n", "z", "q", "f")))
        return sums.sort(*chains.orders).head(MOST_TIMES)

    with reading(table):
        parts = chains.along.parts(by_moment)
    width = len(chains.orders)
    ends = [part[-1][:width] for part in parts if len(part) == MOST_TIMES]
    moments: dict[Any, Any] = {}
    for part in parts:
        for row in part:
            if not ends or tuple(row[:width]) <= min(ends):
                sums = np.array([whole(row[width]), *map(float, row[width + 1 :])])
                moments[tuple(row[:width])] = moments.get(tuple(row[:width]), 0) + sums
    records, sums, squares, fourths = np.array(list(moments.values())).reshape(-1, 4).T
    pairs = float((records * (records - 1)).sum() / 2)
    if not pairs:
        return Comoments(0.0, math.inf, int(records.max(initial=1)))
    products = float((sums**2 - squares).sum() / 2)
    spread = float((squares**2 - fourths).sum() / 2)
    return Comoments(products / pairs, math.sqrt(max(spread, 0.0)) / pairs, int(records.max()))
