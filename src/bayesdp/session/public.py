"""What is public in an account: the columns that the holder of the data named, and who is in which part by them.

A column that a release or the model is about is protected by noise, and can never become public. Conversely, a
question about public columns alone is refused (`prepare`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayesdp.errors import ExpressionError, InvalidInputError, LedgerError
from bayesdp.frames.expressions import parse
from bayesdp.frames.source import LazyTable
from bayesdp.ledger import Entry, Ledger, State
from bayesdp.models import Model
from bayesdp.models.layout import column_names

if TYPE_CHECKING:
    from bayesdp.session.prepare import CheckedTable

__all__ = ["check_members", "check_nameable", "name_public"]


def name_public(ledger: Ledger, dataset: str, columns: str | Sequence[str], *, reason: str) -> State:
    """Name columns of a data set as public, for a reason that the ledger keeps: the word of the holder of the data.

    From then on, questions can be filtered and divided by them without noise. This cannot be undone.

    Raises InvalidInputError for a column that the model describes or that was asked about, LedgerError if the data set
    has no account.
    """
    named = column_names("public", columns)
    if not named:
        raise InvalidInputError("no column is named; give at least one")

    def check(entries: Sequence[Entry]) -> None:
        protected = set(_protected(entries))
        _refuse([column for column in named if column in protected])

    return ledger.name_public(dataset, named, reason=reason, check=check)


def check_nameable(columns: Collection[str], table: LazyTable, described: Collection[str]) -> None:
    """Refuse public columns that the table does not have, or that the model describes, when an account is opened."""
    table.check_names(columns)
    _refuse([column for column in columns if column in described])


def check_members(
    dataset: str, by: str, before: Mapping[str, Any], now: Mapping[str, Any], checked_table: CheckedTable
) -> None:
    """Refuse parts whose members differ from those recorded before.

    Of a table that has grown, only the records up to where it ended then are compared.
    """
    end = before.get("end")
    same = (
        now["members"]
        if end == now.get("end")
        else checked_table.members(by, None if end is None else (end[0], end[1]))
    )
    if same != before.get("members"):
        raise LedgerError(
            f"who is in which part by {by!r} is not what it was when {dataset!r} was released: what was spent on one "
            "part would be forgotten of records that are now in another. Label the parts as they were, or ask about "
            "the whole table"
        )


def _refuse(columns: Sequence[str]) -> None:
    if columns:
        raise InvalidInputError(
            f"{', '.join(map(repr, columns))} cannot be public: the model describes it, or it was asked about, so "
            "it is protected"
        )


def _protected(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield the columns that a data set's model describes, and those of its releases."""
    for entry in entries:
        if entry.kind == "open":
            for text in Model.from_dict(entry.content()["model"]).columns:
                yield from _columns_in(text)
        if entry.kind == "charge":
            query = entry.content()["details"].get("query", {})
            yield from _columns_in(query.get("column"))
            if not query.get("public_filter"):
                yield from _columns_in(query.get("where"))


def _columns_in(text: str | None) -> Iterator[str]:
    """Yield the columns that a column or a condition uses; a column's name may look like a condition."""
    if text is None:
        return
    yield text
    try:
        yield from parse(text).columns
    except ExpressionError:
        return
