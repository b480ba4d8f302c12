"""How far a table reaches that may grow: counts by period, never contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import narwhals as nw

from bayesdp._support.validation import Scalar, natural, scalar
from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.frames.source import Table, plain, reading, whole

__all__ = ["Extent", "check_grown", "extent_of"]


@dataclass(frozen=True)
class Extent:
    """How many records a table has, and where it ends: public numbers, by which a longer one is seen to continue it.

    order:   the column that says which record comes later; None if the records are in no order.
    until:   the last value of that column.
    before:  how many records come before it.      through: how many come no later.
    """

    records: int
    order: str | None = None
    until: Scalar | None = None
    before: int = 0
    through: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return what a ledger keeps of it."""
        return {"records": self.records} if self.order is None else dict(vars(self))

    @classmethod
    def from_dict(cls, document: object) -> Self:
        """Read what a ledger kept; LedgerError if that is damaged."""
        kept = document if isinstance(document, Mapping) else {"records": document}
        try:
            counts = {name: natural(name, kept.get(name, 0), least=0) for name in ("records", "before", "through")}
            order, until = kept.get("order"), kept.get("until")
            if order is None:
                return cls(counts["records"])
            return cls(counts["records"], str(order), scalar("until", until), counts["before"], counts["through"])
        except InvalidInputError as error:
            raise LedgerError(f"the ledger is damaged: how far a table reached cannot be read ({error})") from None


def extent_of(table: Table, records: int, order: str | None) -> Extent:
    """Return how far a table reaches.

    >>> import polars
    >>> from bayesdp.frames.source import scan
    >>> extent_of(scan(polars.DataFrame({"day": [1, 2, 2, 3, 3]})), 5, "day")
    Extent(records=5, order='day', until=3, before=3, through=5)
    """
    if order is None:
        return Extent(records)
    with reading(table):
        picked = table.pick([order])
        last = [row[0] for rows in picked.parts(lambda frame: frame.select(nw.col(order).max())) for row in rows]
        until = max((value for value in last if plain(value) is not None), default=None)
    ends = plain(until)
    if ends is None:
        return Extent(records)
    if isinstance(ends, str) and picked.kind(order) == "time":
        ends = ends.removesuffix(" 00:00:00")  # a day, for engines that have dates and for those that have moments only
    ((before, through),) = _counts(table, [Extent(records, order, ends)])
    return Extent(records, order, ends, before, through)


def check_grown(table: Table, records: int, earlier: Sequence[Extent]) -> None:
    """Refuse a table that does not continue what it was: with fewer records, or others in a period that was over.

    Raises LedgerError: the account is of a table to which rows are only added, at its end.
    """
    ordered = [extent for extent in earlier if extent.order is not None]
    counts = _counts(table, ordered) if ordered else []
    shrunk = any(records < extent.records for extent in earlier)
    changed = any(
        before != extent.before or through < extent.through
        for extent, (before, through) in zip(ordered, counts, strict=True)
    )
    if shrunk or changed:
        what = "fewer records" if shrunk else "another number of records in a period that was over"
        raise LedgerError(
            f"{table.name} does not continue the table of this account: it has {what} than when it was released. In an "
            "account of growing data rows are only added, after all the others"
        )


def _counts(table: Table, extents: Sequence[Extent]) -> list[tuple[int, int]]:
    """Return how many records come before the end of each extent, and how many no later, in one scan."""
    with reading(table):
        picked = table.pick(list(dict.fromkeys(extent.order for extent in extents if extent.order is not None)))
        ends = [
            (picked.column(extent.order), picked.value(extent.order, extent.until))
            for extent in extents
            if extent.order is not None and extent.until is not None
        ]
        numbers = {f"b{i}": picked.ones(column < end) for i, (column, end) in enumerate(ends)}
        numbers |= {f"t{i}": picked.ones(column <= end) for i, (column, end) in enumerate(ends)}

        def sums(frame: Any) -> Any:
            return frame.select(**numbers).select(*(nw.col(name).sum() for name in numbers))

        parts = [rows[0] for rows in picked.parts(sums)]
        totals = [sum(map(whole, column)) for column in zip(*parts, strict=True)]
    return list(zip(totals[: len(ends)], totals[len(ends) :], strict=True))
