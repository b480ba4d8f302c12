"""Releases and budgets from the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bayesdp import statement
from bayesdp.accounting import leaked, remaining, spend_of
from bayesdp.answer import Answer
from bayesdp.documents import Document, read
from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.files import refuse_overwriting
from bayesdp.ledger import Entry, Ledger, State
from bayesdp.ledger.database import to_be_created
from bayesdp.models import Model
from bayesdp.queries import query_from_dict
from bayesdp.rounding import shown_above, shown_below
from bayesdp.session import Session
from bayesdp.tables import table

__all__ = ["Changed", "Filed", "Overview", "exported", "filed", "lowered", "overview", "raised", "session", "verified"]


@contextmanager
def session(
    data: str, model: Model, ledger: str, dataset: str, budget: float | None, missing: str | None, dry_run: bool
) -> Iterator[Session]:
    """Open a session; a dry run on a data set the ledger does not know yet leaves the ledger alone."""
    rule: Any = missing
    with TemporaryDirectory() as folder:
        aside = dry_run and not _knows(ledger, dataset)
        place = Path(folder) / "dry-run.db" if aside else ledger
        with Session(data, model, dataset=dataset, epsilon=budget, ledger=place, missing=rule) as opened:
            if budget not in (None, opened.budget):
                said = f"the budget of {dataset} is {opened.budget:g}, not {budget:g}"
                print(f"note: {said}; bayesdp budget lower and raise change it", file=sys.stderr)
            yield opened


def _knows(url: str, dataset: str) -> bool:
    if to_be_created(url):
        return False
    with Ledger(url, create=False) as ledger:
        return dataset in ledger.datasets()


@dataclass(frozen=True)
class Overview(Document):
    """What `bayesdp budget show` prints."""

    datasets: Sequence[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {"datasets": list(self.datasets)}

    def __str__(self) -> str:
        if not self.datasets:
            return "The ledger is empty: no data set has been opened in it."
        return "\n\n".join(map(_described, self.datasets))


def _described(entry: dict[str, Any]) -> str:
    said = (
        f"{entry['dataset']}: ε = {shown_above(entry['epsilon_total'])} of {entry['budget']:g} leaked, "
        f"{shown_below(entry['epsilon_remaining'])} remaining, {len(entry['releases'])} releases"
    )
    rows = [
        [str(each["entry"]), f"{each['tau']:.6g}", each["timestamp"], each["description"]] for each in entry["releases"]
    ]
    return f"{said}\n\n{table(['entry', 'τ', 'time', 'question'], rows)}" if rows else said


def overview(url: str, dataset: str | None) -> Overview:
    """Return what every data set (or one) has leaked, and its releases."""
    with Ledger(url, create=False) as ledger:
        names = ledger.datasets() if dataset is None else (dataset,)
        return Overview([_account(ledger, name) for name in names])


def _account(ledger: Ledger, dataset: str) -> dict[str, Any]:
    state = ledger.state(dataset)
    try:
        model = Model.from_dict(ledger.entries(dataset, "open")[0].to_dict()["body"]["model"])
        releases = [_release(entry.to_dict()) for entry in ledger.entries(dataset, "charge")]
    except (InvalidInputError, LookupError, TypeError, AttributeError) as error:
        raise LedgerError(
            f"the ledger is damaged: an entry of {dataset!r} cannot be read ({error}); verify it"
        ) from None
    total = leaked(model, spend_of(state.totals))
    return {
        "dataset": dataset,
        "budget": state.budget,
        "epsilon_total": total,
        "epsilon_remaining": remaining(state.budget, total),
        "releases": releases,
    }


def _release(entry: dict[str, Any]) -> dict[str, Any]:
    details = entry["body"]["details"]
    return {
        "entry": entry["number"],
        "timestamp": entry["timestamp"],
        "tau": entry["body"]["tau"],
        "epsilon": details["epsilon"],
        "epsilon_total": details["epsilon_total"],
        "theorem": details["theorem"],
        "query": details["query"],
        "description": _asked(details),
    }


def _asked(details: dict[str, Any]) -> str:
    randomized = details.get("randomized")
    return query_from_dict(details["query"]).description if randomized is None else f"{randomized}, record by record"


@dataclass(frozen=True)
class Changed(Document):
    """What `bayesdp budget lower` and `raise` print: the budget now in force, and the entry that says so."""

    dataset: str
    budget: float
    charges: int
    entry: int
    head: str

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return dict(vars(self))

    def __str__(self) -> str:
        return f"The budget of {self.dataset} is now {self.budget:g} (entry {self.entry})."


def lowered(url: str, dataset: str, budget: float, reason: str | None) -> Changed:
    """Lower a budget and say so."""
    with Ledger(url, create=False) as ledger:
        return _changed(ledger.lower(dataset, budget, reason=reason))


def raised(url: str, dataset: str, budget: float, reason: str) -> Changed:
    """Raise a budget and say so."""
    with Ledger(url, create=False) as ledger:
        return _changed(ledger.raise_budget(dataset, budget, reason=reason))


def _changed(state: State) -> Changed:
    return Changed(state.dataset, state.budget, state.charges, state.entries, state.head)


@dataclass(frozen=True)
class Filed(Document):
    """What `bayesdp statement` prints: the page, or the answer's document with the page in it."""

    answer: Answer

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {**self.answer.to_dict(), "statement": self.answer.statement()}

    def __str__(self) -> str:
        return self.answer.statement()


def filed(path: str, output: str | None) -> Filed:
    """Read an answer to be filed, and write its page if a file is named."""
    found = Filed(_answer(path))
    if output is not None:
        refuse_overwriting(output, [path])
        statement.write(found.answer, output)
    return found


@dataclass(frozen=True)
class Verified(Document):
    """What `bayesdp budget verify` prints when all is well."""

    entries: int
    head: str
    answers: int

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {"ok": True, **vars(self)}

    def __str__(self) -> str:
        return (
            f"All {self.entries} entries hold together; {self.answers} answers checked. The head hash is {self.head}."
        )


def verified(url: str, answers: Sequence[str]) -> Verified:
    """Recompute the ledger, and compare answers with what it stored of them; problems are an error."""
    kept = {path: _answer(path) for path in answers}
    with Ledger(url, create=False) as ledger:
        found = ledger.verify()
        if not found.ok:
            raise LedgerError(f"the ledger does not hold together: {'; '.join(found.problems)}")
        entries = ledger.entries() if kept else ()
    for path, answer in kept.items():
        charge = next((each for each in entries if each.number == answer.entry), None)
        if charge is None or (charge.kind, charge.hash) != ("charge", answer.head):
            raise LedgerError(
                f"{path} does not fit the ledger, where entry {answer.entry} is missing or has another hash: the "
                "answer was altered, or the ledger was rewritten or replaced"
            )
        stored = next((each for each in entries if each.charge == answer.entry), None)
        if stored is None:
            raise LedgerError(f"{path} is not in the ledger: entry {answer.entry} has no answer there")
        changed = answer.differences(Answer.stored(stored.to_dict()["body"])) or _misstated(answer, entries)
        if changed:
            raise LedgerError(f"{path} is not the answer that was released: its {', '.join(changed)} differ")
    return Verified(found.entries, found.head, len(kept))


def _answer(path: str) -> Answer:
    """Read an answer from a file; errors name the file."""
    document = read(path)
    try:
        return Answer.from_dict(document)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None


def _misstated(answer: Answer, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return what an answer that was given again says of the account that the ledger never said from then on."""
    if not answer.reused:
        return ()
    mine = [entry.to_dict() for entry in entries if entry.dataset == answer.dataset]
    totals = [
        each["body"]["details"]["epsilon_total"]
        for each in mine
        if each["kind"] == "charge" and each["number"] >= answer.entry
    ]
    if not any(isclose(answer.epsilon_total, total, rel_tol=1e-9) for total in totals):
        return ("epsilon_total",)
    budgets = [each["body"]["budget"] for each in mine if "budget" in each["body"]]
    left = [remaining(budget, answer.epsilon_total) for budget in budgets]
    return () if answer.epsilon_remaining in left else ("epsilon_remaining",)


def exported(url: str, dataset: str | None) -> str:
    """Return every entry as JSON text."""
    with Ledger(url, create=False) as ledger:
        if dataset is not None:
            ledger.state(dataset)
        found = ledger.export()
    if dataset is not None:
        found["datasets"] = [account for account in found["datasets"] if account["dataset"] == dataset]
        found["entries"] = [entry for entry in found["entries"] if entry["dataset"] == dataset]
    return json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)
