"""Checks of a table without noise, and the limit on their number.

A session reveals whether the records of a table fit a model: one bit, which no noise protects. Trying many models
reveals many such bits. So each check is entered before it is made, and the number of different checks of a table is
limited, under whichever names its data set is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesdp._support import validation
from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger.accounts import AccountStore
from bayesdp.ledger.records import MOST_CHECKS, Check

__all__ = ["allow", "enter", "is_known", "refuse", "table_of"]


def is_known(store: AccountStore, check: Check) -> bool:
    """Tell whether the same check was made on the table before."""
    return check.subject in _counted(store, check)[0]


def enter(store: AccountStore, dataset: str, check: Check, most: int | None = None) -> None:
    """Enter a check that is about to be made, unless it was made before; LedgerError if no more are allowed."""
    known, allowed = _counted(store, check)
    allowed = allowed if most is None else min(allowed, most)
    if check.subject in known:
        return
    if len(known) >= allowed:
        raise LedgerError(
            f"this table was checked under {len(known)} different models or columns, and {allowed} are allowed: each "
            "check tells whether the records are as it says. Use a model and columns that were checked before; the "
            "holder of the data may allow more (bayesdp budget allow-checks)"
        )
    store.append(dataset, "check", check.to_dict(), question=check.columns)


def refuse(store: AccountStore, dataset: str, reason: str, check: Check | None) -> None:
    """Enter that the records failed a check, or that a table could not be read at all."""
    body = {"reason": reason} if check is None else {"reason": reason, **check.to_dict()}
    store.append(dataset, "refusal", body, question=None if check is None else check.columns)


def allow(store: AccountStore, dataset: str, checks: int, reason: str) -> tuple[int, int]:
    """Allow more checks of the table of a data set; return how many were made, and how many were allowed before."""
    table = table_of(store, dataset)
    known, before = _counted(store, table)
    if checks <= before:
        raise InvalidInputError(f"{before} checks are allowed already; {checks} are not more")
    store.append(
        dataset, "allow", {"records": table.records, "checks": checks, "reason": reason}, question=table.columns
    )
    return len(known), before


def table_of(store: AccountStore, dataset: str) -> Check:
    """Return the table of a data set's account, or the table that was checked last under its name, with no subject."""
    opening = store.opening(dataset)
    if opening is not None:
        described: Mapping[str, Any] = opening["description"]
        if isinstance(described.get("columns"), str):
            return Check(described["columns"], described.get("records"), "")
    checked = [entry for kind in ("check", "refusal") for entry in store.read(dataset, kind) if entry.question]
    if not checked:
        raise LedgerError(f"the ledger has no table of the data set {dataset!r}")
    last = max(checked, key=lambda entry: entry.number)
    return Check(str(last.question), last.content().get("records"), "")


def _counted(store: AccountStore, check: Check) -> tuple[set[str], int]:
    """Return the subjects of all checks of a table, and how many there may be."""
    subjects: set[str] = set()
    allowed = MOST_CHECKS
    for entry in store.checks_of(check.columns):
        body = entry.content()
        if not check.is_of_table(body.get("records")):
            continue
        if entry.kind == "allow":
            allowed = max(allowed, validation.natural("checks", body.get("checks")))
        elif isinstance(body.get("subject"), str):
            subjects.add(body["subject"])
    return subjects, allowed
