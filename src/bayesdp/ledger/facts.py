"""Public columns, named by the holder of the data, and the members of each part of a table: kept with the account."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bayesdp._support.documents import fingerprint
from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger.accounts import AccountStore

__all__ = ["last_parts", "name_public", "note_parts"]


def name_public(
    store: AccountStore, dataset: str, columns: Sequence[str], reason: str, check: Callable[[Any], None]
) -> None:
    """Enter that columns are public; InvalidInputError if all of them are already.

    check: raises for a column that cannot be public; it is given every entry of the data set.
    """
    new = sorted(set(columns) - set(store.public(dataset)))
    if not new:
        raise InvalidInputError(f"the account of {dataset!r} names these columns as public already")
    check(tuple(store.read(dataset)))
    store.append(dataset, "public", {"columns": new, "reason": reason})


def last_parts(store: AccountStore, dataset: str, by: str) -> Mapping[str, Any] | None:
    """Return who was in which part by a column, as it was noted last; None if it never was."""
    return store.parts(dataset, _column(by))


def note_parts(
    store: AccountStore, dataset: str, by: str, before: Mapping[str, Any] | None, now: Mapping[str, Any]
) -> None:
    """Note who is in which part by a column.

    before: what was noted when it was compared; LedgerError if another process has noted something else meanwhile.
    """
    noted = last_parts(store, dataset, by)
    if noted == {"by": by, **now}:
        return
    if noted != before:
        raise LedgerError(f"another process noted who is in which part by {by!r} at the same time; ask again")
    store.append(dataset, "parts", {"by": by, **now}, question=_column(by))


def _column(by: str) -> str:
    return fingerprint({"by": by})
