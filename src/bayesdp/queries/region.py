"""The records that a release reads, by public columns: an interval of the order, cells of columns, or both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bayesdp._support import validation
from bayesdp._support.validation import Scalar, brief, plain_number
from bayesdp.errors import InvalidInputError, LedgerError

__all__ = ["UNKNOWN", "Region", "known_fields"]

UNKNOWN = "this version of bayesdp does not know {what}; update bayesdp"


@dataclass(frozen=True)
class Region:
    """The records that a charge reads: those in an interval of an order, and in cells of public columns.

    order: the public column that orders records; those with `since ≤ order < until` are read. None: all of them.
    cells: by public column, the values that are read, as texts. Every value of other columns is read.

    A part of the table that is independent of the others is not a region: it belongs to the key of a charge.

    >>> region = Region.from_dict({"order": {"column": "date", "since": "2012-10-01"}, "cells": {"hour": ["7", "8"]}})
    >>> region.order, region.since, region.until, region.cells
    ('date', '2012-10-01', None, (('hour', ('7', '8')),))
    """

    order: str | None = None
    since: Scalar | None = None
    until: Scalar | None = None
    cells: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def from_dict(cls, document: object) -> Region:
        """Read a region; LedgerError if it is none, or has a field that this version does not know."""
        read = known_fields(document, "a region", {"order", "cells"})
        order = known_fields(read.get("order", {}), "the order of a region", {"column", "since", "until"})
        cells = read.get("cells", {})
        ordered = "column" in order and len(order) > 1
        if not isinstance(cells, Mapping) or (not ordered and (order or not cells)):
            raise LedgerError(f"a region has an order with an interval, or cells of columns; {brief(document)} has not")
        try:
            column = validation.line("column", order["column"]) if order else None
            ends = {name: validation.scalar(name, order[name]) for name in ("since", "until") if name in order}
            named = tuple((validation.line("cells", name), _texts(name, cells[name])) for name in sorted(cells))
        except InvalidInputError as error:
            raise LedgerError(f"the region {brief(document)} cannot be read: {error}") from None
        return cls(column, ends.get("since"), ends.get("until"), named)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names, the order first."""
        return (*(() if self.order is None else (self.order,)), *(name for name, _ in self.cells))

    @property
    def description(self) -> str:
        """The records in words.

        >>> Region("date", "2012-10-01", "2012-11-01", (("hour", ("7", "8")),)).description
        'date from 2012-10-01 to before 2012-11-01, hour 7, 8'
        """
        begin = "" if self.since is None else f" from {self.since}"
        end = "" if self.until is None else f" {'to ' if begin else ''}before {self.until}"
        ordered = [] if self.order is None else [f"{self.order}{begin}{end}"]
        return ", ".join([*ordered, *(f"{name} {', '.join(values)}" for name, values in self.cells)])

    def to_dict(self) -> dict[str, Any]:
        """Return the region as a JSON object."""
        ends = {name: end for name, end in (("since", self.since), ("until", self.until)) if end is not None}
        order = {} if self.order is None else {"order": {"column": self.order, **ends}}
        return order | ({"cells": {name: list(values) for name, values in self.cells}} if self.cells else {})


def known_fields(document: object, what: str, names: set[str]) -> Mapping[str, Any]:
    """Return a JSON object; LedgerError if it is none, or if it has other fields than these."""
    if not isinstance(document, Mapping):
        raise LedgerError(f"{what} is a JSON object, not {brief(document)}")
    for name in sorted(set(document) - names, key=str):
        raise LedgerError(UNKNOWN.format(what=f"the field {brief(name)} of {what}"))
    return document


def _texts(name: str, values: object) -> tuple[str, ...]:
    """Return the values of a column as sorted texts, each once."""
    texts = sorted({str(plain_number(value)) for value in validation.distinct(name, values)})
    if not texts:
        raise InvalidInputError(f"{name} has no values")
    return tuple(texts)
