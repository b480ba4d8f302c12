"""How windows and periods are named: columns or clocks, their values, and the ends of an interval of the order."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Literal

from bayesdp._support import validation
from bayesdp._support.messages import in_python, name_of, param
from bayesdp._support.validation import Scalar, brief
from bayesdp.errors import InvalidInputError, QueryError

__all__ = ["BY", "CLOCKS", "EVERY", "PERIODS", "Cells", "Every", "by_of", "cells_of", "checked_every", "end_of"]

PERIODS = ("date", "week", "month")
"""The clocks of the order that divide it into periods of the calendar."""

CLOCKS = ("hour", "weekday", *PERIODS)
"""The names that stand for a clock of the order, unless the table has a column of that name."""

BY = in_python("by=", elsewhere=param("by_column"))
"""On the command line --by names the person responsible."""

Every = Literal["hour", "day", "week", "month"] | int
"""How long a period is; a number is that of units of an order of whole numbers."""

EVERY: Mapping[str, str] = {"hour": "hour", "day": "date", "week": "week", "month": "month"}
"""The periods of the calendar, each with the clock that names it."""

Cells = tuple[tuple[str, tuple[Scalar, ...]], ...]
"""The listed values of several columns, as pairs: a form that can be hashed."""


def by_of(by: object) -> str | tuple[str, ...]:
    """Return the name of a column or clock, or several names; one in a list is that one.

    >>> by_of(["hour"]), by_of(["weekday", "hour"])
    ('hour', ('weekday', 'hour'))
    """
    if isinstance(by, str):
        return validation.text("by", by, QueryError)
    names = tuple(validation.text(f"by[{i}]", name, QueryError) for i, name in enumerate(validation.items("by", by)))
    if not names or len(set(names)) < len(names):
        raise QueryError(BY + " must name at least one column, and none of them twice")
    return names[0] if len(names) == 1 else names


def cells_of(by: str | tuple[str, ...], cells: object) -> tuple[Scalar, ...] | Cells | None:
    """Return the listed values: of one column as they are, or of columns by name as `Cells`; None if a clock has all.

    Raises QueryError for values of another column, and for a column that is no clock and has none.

    >>> cells_of("district", ["A", "B"]), cells_of(("district", "hour"), {"district": ["A"]})
    (('A', 'B'), (('district', ('A',)),))
    """
    columns = (by,) if isinstance(by, str) else by
    named = _named(columns, cells)
    missing = [column for column in columns if column not in CLOCKS and column not in dict(named)]
    if cells is not None and not named:
        if not isinstance(by, str):
            raise QueryError(
                "with several columns, "
                + param("by_cells")
                + " lists the values of each by its name"
                + in_python(', such as by_cells={"district": ["A", "B"]}')
            )
        return _listed("by_cells", cells)
    if missing:
        raise QueryError(
            BY
            + " names a public column and "
            + param("by_cells")
            + f" its values, from a public list; give both or neither ({', '.join(map(repr, missing))} has none)"
            + in_python(', such as by="district", by_cells=["A", "B"]')
        )
    return named or None


def _named(columns: tuple[str, ...], cells: object) -> Cells:
    """Return values that are given by the name of their column; nothing for values in a list, or none."""
    pairs = (
        tuple(cells) if isinstance(cells, tuple) and cells and all(isinstance(pair, tuple) for pair in cells) else ()
    )
    given = dict(cells) if isinstance(cells, Mapping) else dict(pairs)
    for name in given:
        if name not in columns:
            raise QueryError(name_of("by_cells") + f" lists values of {brief(name)}, which is not in " + BY)
    if isinstance(cells, Mapping) and not given:
        raise QueryError(name_of("by_cells") + " is empty; name at least one value of the column")
    return tuple((name, _listed(f"by_cells[{name!r}]", given[name])) for name in columns if name in given)


def _listed(name: str, values: object) -> tuple[Scalar, ...]:
    listed = validation.distinct(
        name, [_plain(value) for value in validation.items(name, values, QueryError)], QueryError
    )
    if not listed:
        raise QueryError(name_of(name) + " is empty; name at least one value of the column")
    return listed


def end_of(name: str, value: object) -> Scalar | None:
    """Return an end of an interval; a date or a time becomes a text.

    >>> end_of("since", datetime.date(2012, 10, 1))
    '2012-10-01'
    """
    return None if value is None else validation.scalar(name, _plain(value), QueryError)


def checked_every(every: object) -> Every:
    """Return the length of periods; InvalidInputError for what is none.

    >>> checked_every("day"), checked_every(7)
    ('day', 7)
    """
    if isinstance(every, int) and not isinstance(every, bool) and every >= 1:
        return every
    if every not in EVERY:
        raise InvalidInputError(
            name_of("every")
            + f" must be {', '.join(EVERY)}, or a whole number from 1 on for an order of whole numbers, not "
            + brief(every)
        )
    return every  # type: ignore[return-value]


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime.date) else value
