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
from bayesdp.ledger.records import CHANGES, DECISIONS, Entry

__all__ = ["Replay"]


class Replay:
    """What the entries applied so far add up to."""

    def __init__(self) -> None:
        self.accounts: dict[str, AccountTotals] = {}
        self.decisions: set[int] = set()
        self.answers: dict[int, AnswerRow] = {}
        self._charges: dict[int, tuple[str, str | None]] = {}
        self._answered: set[int | None] = set()

    def apply(self, entry: Entry) -> Iterator[str]:
        """Enter one entry; yield what contradicts the entries before it."""
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
            return f"{entry.kind!r} is no kind of entry"
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
        return None

    def _charge(self, entry: Entry, body: dict[str, Any]) -> str | None:
        account = self.accounts[entry.dataset]
        try:
            self.accounts[entry.dataset] = account.charged(entry.number, body["key"], body["query"], Amounts.of(body))
        except LedgerError as error:
            return str(error)
        for column in body.get("public", ()):
            validation.line("public", column)
        self._charges[entry.number] = (entry.dataset, entry.question)
        return None

    def _answer(self, entry: Entry, body: dict[str, Any]) -> str | None:
        if entry.charge is None or self._charges.get(entry.charge) != (entry.dataset, entry.question):
            return "an answer without an earlier charge for its question"
        if entry.charge in self._answered:
            return f"a second answer for the charge {entry.charge}"
        self._answered.add(entry.charge)
        if entry.question is not None:
            self.answers[entry.number] = answer_row(entry.dataset, entry.question, body)
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
        return None if entry.question else "a check that does not say of which table"

    def _allow(self, entry: Entry, body: dict[str, Any]) -> str | None:
        validation.natural("checks", body["checks"])
        return self._refusal(entry, body)

    def _public(self, entry: Entry, body: dict[str, Any]) -> str | None:
        for column in validation.items("columns", body["columns"]):
            validation.text("columns", column)
        return self._refusal(entry, body)

    def _parts(self, entry: Entry, body: dict[str, Any]) -> str | None:
        validation.text("members", body["members"])
        return None if entry.question == fingerprint({"by": body["by"]}) else "parts by another column than it says"


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
}
_WITHOUT_ACCOUNT = ("open", "refusal", "check", "allow", "parts")
_UNSEALED = "the account that it was sealed with is not what the entries add up to"
