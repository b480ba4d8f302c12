"""The books during one transaction: reading the accounts, and writing entries together with the totals they change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from bayesdp import validation
from bayesdp.errors import LedgerError
from bayesdp.ledger.database import SCHEMA, accounts, entries, ledgers, totals
from bayesdp.ledger.records import (
    Charge,
    Entry,
    Opening,
    Receipt,
    State,
    Total,
    canonical,
    fingerprint,
    parsed,
    rounded_up,
)

__all__ = ["Books"]

Find = Callable[[str], tuple[Mapping[str, Any], ...]]
Unanswered = Callable[[str], str | None]

# What every release executes is built once: building takes SQLAlchemy longer than executing takes SQLite.
_POSITION = select(ledgers).where(ledgers.c.id == 1)
_LOCKED_POSITION = _POSITION.with_for_update()
_ACCOUNT = select(accounts).where(accounts.c.dataset == bindparam("dataset"))
_TOTALS = select(totals).where(totals.c.dataset == bindparam("dataset")).order_by(totals.c.since)
_TOTAL = select(totals).where(totals.c.dataset == bindparam("dataset"), totals.c.key == bindparam("key"))
_ENTRY = select(entries).where(entries.c.number == bindparam("number"))
_ANSWERED = select(entries.c.number).where(entries.c.charge == bindparam("charge"))
_ANSWERS = (
    select(entries.c.body)
    .where(entries.c.dataset == bindparam("dataset"), entries.c.kind == "answer")
    .where(entries.c.question == bindparam("question"))
    .order_by(entries.c.number.desc())
)
_ANSWER = entries.alias()
_UNANSWERED = (
    select(entries.c.timestamp)
    .where(entries.c.dataset == bindparam("dataset"), entries.c.kind == "charge")
    .where(entries.c.question == bindparam("question"))
    .where(~select(_ANSWER.c.number).where(_ANSWER.c.charge == entries.c.number).exists())
    .order_by(entries.c.number.desc())
    .limit(1)
)
_APPEND = entries.insert()
_MOVE = update(ledgers).where(ledgers.c.head == bindparam("previous"))
_MOVE = _MOVE.values(entries=bindparam("number"), head=bindparam("hash"))
_ADD = update(totals).where(totals.c.dataset == bindparam("in_dataset"), totals.c.key == bindparam("at_key"))
_ADD = _ADD.values(tau=bindparam("sum"))
_COUNT = update(accounts).where(accounts.c.dataset == bindparam("of")).values(charges=accounts.c.charges + 1)
_BUDGET = update(accounts).where(accounts.c.dataset == bindparam("of")).values(budget=bindparam("new"))


class Books:
    """The ledger as one transaction sees it. With `write`, no other process writes until the transaction ends."""

    def __init__(self, connection: Connection, *, write: bool) -> None:
        self.connection = connection
        row = connection.execute(_LOCKED_POSITION if write else _POSITION).one_or_none()
        if row is None:
            raise LedgerError("the ledger is damaged: it does not say where it ends; put a copy of it in its place")
        if row.schema != SCHEMA:
            raise LedgerError(f"the ledger's schema is {row.schema}, and this version of bayesdp knows only {SCHEMA}")
        self.entries: int = row.entries
        self.head: str = row.head

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all accounts."""
        return tuple(sorted(self.connection.execute(select(accounts.c.dataset)).scalars()))

    def read(self, dataset: str | None = None, kind: str | None = None) -> Iterator[Entry]:
        """Yield the entries in order: all, or those of a data set, or of a kind."""
        query = select(entries).order_by(entries.c.number)
        if dataset is not None:
            query = query.where(entries.c.dataset == dataset)
        if kind is not None:
            query = query.where(entries.c.kind == kind)
        yield from (Entry(*row) for row in self.connection.execute(query))

    def answers(self, dataset: str, question: str) -> tuple[Mapping[str, Any], ...]:
        """Return the stored answers to a question, newest first."""
        found = self.connection.execute(_ANSWERS, {"dataset": dataset, "question": question}).scalars()
        return tuple(parsed(body) for body in found)

    def unanswered(self, dataset: str, question: str) -> str | None:
        """Return when a question was last charged whose answer is not stored, or None."""
        found = self.connection.scalar(_UNANSWERED, {"dataset": dataset, "question": question})
        return None if found is None else str(found)

    def state(self, dataset: str, find: Find, unanswered: Unanswered) -> State:
        """Return the state of an account; `LedgerError` if there is none, or if its row cannot be read."""
        account = self.connection.execute(_ACCOUNT, {"dataset": dataset}).one_or_none()
        if account is None:
            raise LedgerError(f"the ledger has no data set {dataset!r}")
        rows = self.connection.execute(_TOTALS, {"dataset": dataset})
        try:
            taus = ((row, validation.positive("tau", rounded_up(Fraction(row.tau)))) for row in rows)
            spent = tuple(Total(row.key, parsed(row.query), tau) for row, tau in taus)
            budget, charges = validation.positive("budget", account.budget), int(account.charges)
        except (ValueError, TypeError, ZeroDivisionError) as error:
            raise LedgerError(f"the account of {dataset!r} is damaged ({error}); verify the ledger") from None
        return State(dataset, budget, spent, charges, self.entries, self.head, find, unanswered)

    def opened(self, dataset: str, model: Mapping[str, Any], description: Mapping[str, Any]) -> bool:
        """Tell whether the data set has an account; `LedgerError` if it speaks of another model or description."""
        account = self.connection.execute(_ACCOUNT, {"dataset": dataset}).one_or_none()
        if account is None:
            return False
        differing = [
            name
            for name, given, kept in (
                ("model", model, account.model),
                ("description", description, account.description),
            )
            if fingerprint(given) != kept
        ]
        if differing:
            raise LedgerError(
                f"the data set {dataset!r} was opened with another {' and another '.join(differing)}; what was spent "
                "under one is not accounted for under another. Use the one it was opened with, or another data set"
            )
        return True

    def open(self, dataset: str, opening: Opening) -> None:
        """Open an account."""
        self._append(dataset, "open", vars(opening))
        marks = {"model": fingerprint(opening.model), "description": fingerprint(opening.description)}
        self.connection.execute(accounts.insert().values(dataset=dataset, budget=opening.budget, charges=0, **marks))

    def charge(self, dataset: str, charge: Charge) -> Entry:
        """Write a charge and add its τ to the total of its key."""
        body = {"key": charge.key, "query": charge.query, "tau": charge.tau, "details": charge.details}
        entry = self._append(dataset, "charge", body, question=charge.question)
        query = canonical("query", charge.query)
        total = self.connection.execute(_TOTAL, {"dataset": dataset, "key": charge.key}).one_or_none()
        if total is None:
            row = {"dataset": dataset, "key": charge.key, "query": query, "since": entry.number}
            self.connection.execute(totals.insert(), {"tau": str(Fraction(charge.tau)), **row})
        elif total.query != query:
            raise LedgerError(f"the key {charge.key!r} stands for another query already; their τ's do not add up")
        else:
            exact = Fraction(total.tau) + Fraction(charge.tau)
            rounded_up(exact)
            self.connection.execute(_ADD, {"in_dataset": dataset, "at_key": charge.key, "sum": str(exact)})
        self.connection.execute(_COUNT, {"of": dataset})
        return entry

    def answer(self, dataset: str, receipt: Receipt, body: Mapping[str, Any]) -> Entry:
        """Write the one answer of a charge."""
        charge = self.connection.execute(_ENTRY, {"number": receipt.entry}).one_or_none()
        if charge is None or (charge.dataset, charge.kind, charge.hash) != (dataset, "charge", receipt.head):
            raise LedgerError(f"entry {receipt.entry} is not the charge on {dataset!r} that this receipt is for")
        if self.connection.scalar(_ANSWERED, {"charge": receipt.entry}) is not None:
            raise LedgerError(f"the charge {receipt.entry} has its answer already; another one needs another charge")
        return self._append(dataset, "answer", body, question=charge.question, charge=receipt.entry)

    def set_budget(self, dataset: str, kind: str, before: float, budget: float, reason: str | None) -> None:
        """Write that the budget was lowered or raised."""
        self._append(dataset, kind, {"budget": budget, "before": before, "reason": reason})
        self.connection.execute(_BUDGET, {"of": dataset, "new": budget})

    def _append(
        self, dataset: str, kind: str, body: Mapping[str, Any], question: str | None = None, charge: int | None = None
    ) -> Entry:
        written, now = canonical("the body", body), datetime.now(UTC).isoformat(timespec="microseconds")
        entry = Entry(self.entries + 1, dataset, kind, question, charge, written, now, self.head).sealed()
        self.connection.execute(_APPEND, vars(entry))
        place = {"previous": self.head, "number": entry.number, "hash": entry.hash}
        if self.connection.execute(_MOVE, place).rowcount != 1:
            raise LedgerError("another process wrote to the ledger at the same time; nothing was charged")
        self.entries, self.head = entry.number, entry.hash
        return entry
