"""The accounts computed again from the entries alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bayesdp._support import validation
from bayesdp._support.documents import canonical, fingerprint
from bayesdp.errors import BayesDPError, LedgerError
from bayesdp.ledger.account_totals import SEAL, AccountTotals
from bayesdp.ledger.amounts import Amounts
from bayesdp.ledger.answer_index import AnswerRow, answer_row
from bayesdp.ledger.postings import Postings
from bayesdp.ledger.records import CHANGES, DECISIONS, Entry

__all__ = ["Replay"]


class Replay:
    """The accounts after the entries applied so far."""

    def __init__(self) -> None:
        self.accounts: dict[str, AccountTotals] = {}
        self.decisions: set[int] = set()
        self.answers: dict[int, AnswerRow] = {}
        self._charges: dict[int, tuple[str, str | None]] = {}
        self._answered: set[int | None] = set()
        self._windows: set[tuple[int, int, int]] = set()
        self._growing: set[str] = set()
        self._postings: dict[str, Postings] = {}

    def apply(self, entry: Entry) -> Iterator[str]:
        """Apply one entry; yield how it contradicts the entries before it."""
        try:
            body = json.loads(entry.body)
            if canonical("the body", body) != entry.body:
                yield f"entry {entry.number}: its body is not canonical JSON"
            wrong = self._contradiction(entry, body)
        except (BayesDPError, ValueError, TypeError, KeyError, RecursionError) as error:
            wrong = f"it cannot be read: {type(error).__name__} {error}"
        if wrong is not None:
            yield f"entry {entry.number}: {wrong}"

    def _contradiction(self, entry: Entry, body: dict[str, Any]) -> str | None:
        if entry.kind not in _APPLY:
            return f"{entry.kind!r} is an unknown kind of entry"
        if entry.kind not in _WITHOUT_ACCOUNT and entry.dataset not in self.accounts:
            return f"the data set {entry.dataset!r} was never opened"
        if entry.kind in DECISIONS:
            self.decisions.add(entry.number)
        wrong = _APPLY[entry.kind](self, entry, body)
        if wrong is None and SEAL in body and entry.kind in CHANGES:
            wrong = None if body[SEAL] == self.accounts[entry.dataset].seal else _UNSEALED
        return wrong

    def _open(self, entry: Entry, body: dict[str, Any]) -> str | None:
        if entry.dataset in self.accounts:
            return f"the data set {entry.dataset!r} was opened before"
        self.accounts[entry.dataset] = AccountTotals.opened(body)
        if body["description"].get("growing"):
            self._growing.add(entry.dataset)
        return None

    def _grow(self, entry: Entry, body: dict[str, Any]) -> str | None:
        if entry.dataset in self._growing:
            return f"the table of {entry.dataset!r} grew before"
        self._growing.add(entry.dataset)
        fingerprint(body["model"])
        validation.items("extents", body["extents"])
        if body["description"].get("growing") is not True:
            return "it lets a table grow, and its description does not say so"
        return self._refusal(entry, body)

    def _charge(self, entry: Entry, body: dict[str, Any]) -> str | None:
        account = self.accounts[entry.dataset]
        try:
            self.accounts[entry.dataset] = account.charged(entry.number, body["key"], body["query"], Amounts.of(body))
        except LedgerError as error:
            return str(error)
        for column in body.get("public", ()):
            validation.line("public", column)
        self._charges[entry.number] = (entry.dataset, entry.question)
        return self._postings.setdefault(entry.dataset, Postings()).add(entry, body)

    def _answer(self, entry: Entry, body: dict[str, Any]) -> str | None:
        if entry.charge is None or self._charges.get(entry.charge) != (entry.dataset, entry.question):
            return "an answer without an earlier charge for its question"
        if entry.charge in self._answered:
            return f"a second answer for the charge {entry.charge}"
        self._answered.add(entry.charge)
        if entry.question is not None:
            self.answers[entry.number] = answer_row(entry.dataset, entry.question, body)
        return None

    def _window(self, entry: Entry, body: dict[str, Any]) -> str | None:
        charge, (start, stop) = validation.natural("charge", body["charge"]), body["window"]
        start, stop = validation.natural("start", start, least=0), validation.natural("stop", stop)
        if self._charges.get(charge) != (entry.dataset, entry.question):
            return "an answer about a window without an earlier charge for its stream"
        if stop <= start or (charge, start, stop) in self._windows:
            return f"a second answer about the window {start} to {stop}, or one about no period"
        self._windows.add((charge, start, stop))
        return None

    def _budget(self, entry: Entry, body: dict[str, Any]) -> str | None:
        account = self.accounts[entry.dataset]
        before, after = account.budget, account.with_budget(body["budget"])
        self.accounts[entry.dataset] = after
        if body["before"] == before and (after.budget > before) == (entry.kind == "raise") and after.budget != before:
            return None
        return f"it does not {entry.kind} the budget of {before:g} that stood before it"

    def _refusal(self, entry: Entry, body: dict[str, Any]) -> str | None:
        validation.text("reason", body["reason"])
        return None

    def _check(self, entry: Entry, body: dict[str, Any]) -> str | None:
        validation.text("subject", body["subject"])
        return None if entry.question else "a check that does not name its table"

    def _allow(self, entry: Entry, body: dict[str, Any]) -> str | None:
        validation.natural("checks", body["checks"])
        return self._refusal(entry, body)

    def _public(self, entry: Entry, body: dict[str, Any]) -> str | None:
        for column in validation.items("columns", body["columns"]):
            validation.text("columns", column)
        return self._refusal(entry, body)

    def _parts(self, entry: Entry, body: dict[str, Any]) -> str | None:
        validation.text("members", body["members"])
        return None if entry.question == fingerprint({"by": body["by"]}) else "parts by a column of another fingerprint"


_APPLY = {
    "open": Replay._open,
    "charge": Replay._charge,
    "answer": Replay._answer,
    "lower": Replay._budget,
    "raise": Replay._budget,
    "refusal": Replay._refusal,
    "check": Replay._check,
    "allow": Replay._allow,
    "public": Replay._public,
    "parts": Replay._parts,
    "window": Replay._window,
    "grow": Replay._grow,
}
_WITHOUT_ACCOUNT = ("open", "refusal", "check", "allow", "parts")
_UNSEALED = "the account that it was sealed with is not what the entries add up to"
