"""Everything in the ledger recomputed from its entries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from sqlalchemy import select

from bayesdp import validation
from bayesdp.errors import BayesDPError
from bayesdp.ledger.books import Books
from bayesdp.ledger.database import accounts, totals
from bayesdp.ledger.records import GENESIS, Entry, canonical, fingerprint, rounded_up

__all__ = ["problems"]

Row = tuple[Any, ...]


def problems(books: Books, heads: dict[int, set[str]]) -> Iterator[str]:
    """Yield what is wrong with a ledger; `heads` are the hashes that are known from elsewhere, by entry number."""
    replay = _Replay()
    last, number = GENESIS, 0
    for entry in books.read():
        number += 1
        if entry.number != number:
            yield f"entry {number} is missing: the next is entry {entry.number}"
            number = entry.number
        elif entry.previous != last:
            yield f"entry {number} does not follow the entry before it: the chain is broken"
        if entry.hash != entry.digest():
            yield f"entry {number} was changed: its hash does not fit its contents"
        yield from replay.apply(entry)
        if heads.pop(number, {entry.hash}) != {entry.hash}:
            yield f"entry {number} is not the one whose hash was kept elsewhere"
        last = entry.hash
    yield from (f"entry {missing}, whose hash was kept elsewhere, is not in the ledger" for missing in sorted(heads))
    if (books.entries, books.head) != (number, last):
        yield f"the ledger says that it ends at entry {books.entries}, but its entries end at {number} or otherwise"
    yield from _differences("account", replay.accounts, books.connection.execute(select(accounts)).all(), 1)
    yield from _differences("total", replay.totals, books.connection.execute(select(totals)).all(), 2)


class _Replay:
    """The derived tables, computed again: rows by their keys."""

    def __init__(self) -> None:
        self.accounts: dict[Row, Row] = {}
        self.totals: dict[Row, Row] = {}
        self.charges: dict[Any, Row] = {}
        self.answered: set[Any] = set()

    def apply(self, entry: Entry) -> Iterator[str]:
        """Enter one entry; yield what contradicts the entries before it."""
        try:
            body = json.loads(entry.body)
            if canonical("the body", body) != entry.body:
                yield f"entry {entry.number}: its body is not canonical JSON"
            if entry.kind != "open" and (entry.dataset,) not in self.accounts:
                yield f"entry {entry.number}: the data set {entry.dataset!r} was never opened"
            elif entry.kind not in _APPLY:
                yield f"entry {entry.number}: {entry.kind!r} is no kind of entry"
            elif (wrong := _APPLY[entry.kind](self, entry, body)) is not None:
                yield f"entry {entry.number}: {wrong}"
        except (BayesDPError, ValueError, TypeError, KeyError, RecursionError) as error:
            yield f"entry {entry.number} cannot be read: {type(error).__name__} {error}"

    def _open(self, entry: Entry, body: dict[str, Any]) -> str | None:
        if (entry.dataset,) in self.accounts:
            return f"the data set {entry.dataset!r} was opened before"
        marks = fingerprint(body["model"]), fingerprint(body["description"])
        self.accounts[(entry.dataset,)] = (*marks, validation.positive("budget", body["budget"]), 0)
        return None

    def _charge(self, entry: Entry, body: dict[str, Any]) -> str | None:
        tau, query = validation.positive("tau", body["tau"]), canonical("query", body["query"])
        place = entry.dataset, body["key"]
        kept, total, since = self.totals.get(place, (query, "0", entry.number))
        exact = Fraction(total) + Fraction(tau)
        rounded_up(exact)
        self.totals[place] = (query, str(exact), since)
        model, description, budget, charges = self.accounts[(entry.dataset,)]
        self.accounts[(entry.dataset,)] = (model, description, budget, charges + 1)
        self.charges[entry.number] = (entry.dataset, entry.question)
        return None if kept == query else f"the key {body['key']!r} stood for another query before"

    def _answer(self, entry: Entry, body: dict[str, Any]) -> str | None:
        if self.charges.get(entry.charge) != (entry.dataset, entry.question):
            return "an answer without an earlier charge for its question"
        if entry.charge in self.answered:
            return f"a second answer for the charge {entry.charge}"
        self.answered.add(entry.charge)
        return None

    def _budget(self, entry: Entry, body: dict[str, Any]) -> str | None:
        model, description, before, charges = self.accounts[(entry.dataset,)]
        budget = validation.positive("budget", body["budget"])
        self.accounts[(entry.dataset,)] = (model, description, budget, charges)
        if body["before"] == before and (budget > before if entry.kind == "raise" else budget < before):
            return None
        return f"it does not {entry.kind} the budget of {before:g} that stood before it"


_APPLY = {
    "open": _Replay._open,
    "charge": _Replay._charge,
    "answer": _Replay._answer,
    "lower": _Replay._budget,
    "raise": _Replay._budget,
}


def _differences(kind: str, computed: dict[Row, Row], rows: Any, keys: int) -> Iterator[str]:
    """Yield which rows of a derived table are not what the entries give."""
    stored = {tuple(row[:keys]): tuple(row[keys:]) for row in rows}
    for key in sorted(computed.keys() | stored.keys(), key=repr):
        if computed.get(key) != stored.get(key):
            yield f"the {kind} of {', '.join(map(repr, key))} is not what the entries add up to"
