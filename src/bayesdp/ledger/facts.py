"""What the holder of the data says of an account, and the members of each part of its table: kept with the account.

The holder names columns as public, and lets the table of a fixed account grow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bayesdp._support.documents import fingerprint
from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger.accounts import AccountStore
from bayesdp.ledger.records import State

__all__ = ["grow", "last_parts", "name_public", "note_parts"]


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


def grow(store: AccountStore, before: State, body: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> None:
    """Enter that the table of an account may grow, and who was in which part of it until then.

    LedgerError if the account is not as `before` any more, InvalidInputError if its table grows already.
    """
    dataset = before.dataset
    opening = store.opening(dataset)
    if opening is None:
        raise LedgerError(f"the ledger has no data set {dataset!r}")
    if opening["description"].get("growing"):
        raise InvalidInputError(f"the table of {dataset!r} grows already")
    if not body["description"].get("growing"):
        raise InvalidInputError("a description of a table that grows says so")
    if not store.state(dataset).same_account(before):
        raise LedgerError(f"another process wrote to the account of {dataset!r} at the same time; ask again")
    noted = {name: store.parts(dataset, name) for name in (_column(part["by"]) for part in parts)}
    store.append(dataset, "grow", body)
    for part in parts:
        by = str(part["by"])
        note_parts(store, dataset, by, noted[_column(by)], {name: part[name] for name in part if name != "by"})


def last_parts(store: AccountStore, dataset: str, by: str) -> Mapping[str, Any] | None:
    """Return who was in which part by a column, as recorded last; None if it was never recorded."""
    return store.parts(dataset, _column(by))


def note_parts(
    store: AccountStore, dataset: str, by: str, before: Mapping[str, Any] | None, now: Mapping[str, Any]
) -> None:
    """Record who is in which part by a column.

    before: the record that it was compared with; LedgerError if another process has written another one since.
    """
    noted = last_parts(store, dataset, by)
    if noted == {"by": by, **now}:
        return
    if noted != before:
        raise LedgerError(f"another process recorded who is in which part by {by!r} at the same time; ask again")
    store.append(dataset, "parts", {"by": by, **now}, question=_column(by))


def _column(by: str) -> str:
    return fingerprint({"by": by})
