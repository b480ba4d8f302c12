"""Bins: a column of numbers becomes states between public edges, in the table's own engine."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import narwhals as nw

from bayesdp._support import validation
from bayesdp._support.messages import name_of
from bayesdp.errors import FrameError
from bayesdp.frames.source import LazyTable, reading, scan

__all__ = ["bin_names", "binned"]


def binned(frame: object, column: str, edges: Sequence[float], *, name: str | None = None) -> Any:
    """Return the table with one more column, of states: the bin of each number.

    edges: public numbers in ascending order, which must not be computed from the data. `bin_names` returns the names
           of the states; an edge belongs to the state above it.
    name:  the name of the new column; by default, the column's name and "bin".

    The new column can be fitted and queried like any other. The state of a missing value is missing. Nothing is read:
    the result is a lazy table of the same engine, if the engine has lazy tables.

    Raises FrameError for edges out of order, for a column that does not hold numbers, for a name that is taken, and for
    a CSV or Excel file: its types are guessed from values, and a frame would lose that information.

    >>> import polars
    >>> table = polars.DataFrame({"kwh": [0.2, 1.0, 7.5, None]})
    >>> binned(table, "kwh", [1, 5]).collect()["kwh bin"].to_list()
    ['below 1', '1 to 5', '5 and above', None]
    """
    table, wanted = scan(frame), f"{column} bin" if name is None else validation.text("name", name, FrameError)
    names = bin_names(edges)
    with reading(table):
        if table.guessed:
            raise FrameError(
                f"the types of {table.name} are guessed from its values; convert it to Parquet, or give a table with "
                "types"
            )
        table.check_names([column])
        if wanted in table:
            raise FrameError(f"{table.name} already has a column {wanted!r}; give the new one another name")
        if table.kind(column) not in ("whole", "number"):
            raise FrameError(f"cannot bin {column!r} of {table.name}: it is not numeric")
        return table.frame.with_columns(_state(table, column, edges, names).alias(wanted)).to_native()


def bin_names(edges: Sequence[float]) -> tuple[str, ...]:
    """Return the names of the bins between edges, in order: one more than there are edges.

    Raises FrameError for edges that are not finite numbers in ascending order.

    >>> bin_names([0, 1, 2.5])
    ('below 0', '0 to 1', '1 to 2.5', '2.5 and above')
    """
    given = validation.items("edges", edges, FrameError)
    numbers = [validation.number(f"edges[{place}]", edge, FrameError) for place, edge in enumerate(given)]
    shown = [f"{number:.15g}" for number in numbers]
    if not numbers or any(low >= high for low, high in pairwise(numbers)) or len(set(shown)) < len(shown):
        raise FrameError(name_of("edges") + " must be public numbers in ascending order, at least one: [0, 1, 5], say")
    between = (f"{low} to {high}" for low, high in pairwise(shown))
    return f"below {shown[0]}", *between, f"{shown[-1]} and above"


def _state(table: LazyTable, column: str, edges: Sequence[float], names: Sequence[str]) -> nw.Expr:
    values = nw.col(column)
    if table.kind(column) == "number":
        values = values.cast(nw.Float64).fill_nan(None)
    state: nw.Expr = nw.lit(names[-1])
    for edge, below in zip(reversed(edges), reversed(names[:-1]), strict=True):
        state = nw.when(values < table.value(column, edge)).then(nw.lit(below)).otherwise(state)
    return nw.when(~values.is_null()).then(state)
