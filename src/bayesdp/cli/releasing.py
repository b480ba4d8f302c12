"""Releases and budgets from the command line."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

from bayesdp._support.documents import Document, fingerprint, read
from bayesdp._support.files import refuse_overwriting
from bayesdp._support.words import counted
from bayesdp.cli import options
from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger import Entry, Ledger, State
from bayesdp.losses import ApproximateLoss, ConcentratedLoss
from bayesdp.models import Model
from bayesdp.rounding import shown_above
from bayesdp.session import statement
from bayesdp.session.accounting import remaining
from bayesdp.session.answer import Answer
from bayesdp.session.answers import KIND as ANSWERS
from bayesdp.session.answers import Answers
from bayesdp.session.growing import let_grow
from bayesdp.session.overview import overview_of
from bayesdp.session.private_fit import first_fit
from bayesdp.session.public import name_public
from bayesdp.session.session import Session, budget_differs

__all__ = [
    "Allowed",
    "Changed",
    "Filed",
    "Grown",
    "Named",
    "allowed_checks",
    "exported",
    "filed",
    "grown",
    "lowered",
    "made_elsewhere",
    "named_public",
    "opened",
    "raised",
    "session",
    "verified",
]


@contextmanager
def session(
    data: options.Source, model: Model, ledger: str | Path, dataset: str, budget: float | None, **reported: Any
) -> Iterator[Session]:
    """Open a session with the options that are given."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the budget of ", UserWarning)  # the note below
        session = Session(data, model, dataset=dataset, epsilon=budget, ledger=ledger, **reported)
    with session as opened:
        if budget is not None and budget != opened.budget:
            print(f"note: {budget_differs(dataset, opened.budget, budget)}", file=sys.stderr)
        yield opened


def made_elsewhere(tau: str | None, delta: str | None, rho: str | None, neighbours: str | None) -> dict[str, Any]:
    """Return the loss of a release that was made elsewhere, as `Session.record` takes it."""
    if (tau is None) == (rho is None):
        raise InvalidInputError("give either --tau or --rho, how private the release is")
    if neighbours is None and (rho is not None or delta is not None):
        raise InvalidInputError(
            "--neighbours is needed: replace, or add-remove if the loss is about adding or removing a record, as in "
            "most libraries"
        )
    if rho is not None:
        if delta is not None:
            raise InvalidInputError("--delta goes with --tau; with --rho leave it out")
        return {"loss": ConcentratedLoss(options.number("--rho", rho)), "neighbours": neighbours}
    stated = options.number("--tau", tau or "")
    if delta is not None:
        return {"loss": ApproximateLoss(stated, options.number("--delta", delta)), "neighbours": neighbours}
    return {"tau": stated, "neighbours": options.neighbours(neighbours)}


@dataclass(frozen=True)
class Opened(Document):
    """What `bayesdp budget open` prints."""

    dataset: str
    budget: float
    entry: int
    head: str
    delta: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {name: value for name, value in vars(self).items() if name != "delta" or value is not None}

    def __str__(self) -> str:
        delta = "" if self.delta is None else f" at delta = {shown_above(self.delta)}"
        return f"{self.dataset} has an account now, with a budget of {self.budget:g}{delta} (entry {self.entry})."


def opened(data: options.Source, model: Model, url: str | Path, dataset: str, budget: float, **reported: Any) -> Opened:
    """Open an account without a release, with the options that are given; LedgerError if there is one already."""
    with session(data, model, url, dataset, budget, **reported) as ready:
        state = ready.open_account()
        return Opened(state.dataset, state.budget, state.entries, state.head, ready.delta)


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


def lowered(url: str | Path, dataset: str, budget: float, reason: str | None) -> Changed:
    """Lower a budget and say so."""
    with Ledger(url, create=False) as ledger:
        return _changed(ledger.lower(dataset, budget, reason=reason))


def raised(url: str | Path, dataset: str, budget: float, reason: str) -> Changed:
    """Raise a budget and say so."""
    with Ledger(url, create=False) as ledger:
        return _changed(ledger.raise_budget(dataset, budget, reason=reason))


@dataclass(frozen=True)
class Named(Document):
    """What `bayesdp budget public` prints: all columns that are public now, and the entry that says so."""

    dataset: str
    public: tuple[str, ...]
    entry: int
    head: str

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {**vars(self), "public": list(self.public)}

    def __str__(self) -> str:
        return f"Public in {self.dataset}: {', '.join(self.public)} (entry {self.entry})."


def named_public(url: str | Path, dataset: str, columns: Sequence[str], reason: str) -> Named:
    """Name columns as public and say so."""
    with Ledger(url, create=False) as ledger:
        state = name_public(ledger, dataset, columns, reason=reason)
    return Named(state.dataset, state.public, state.entries, state.head)


@dataclass(frozen=True)
class Grown(Document):
    """What `bayesdp budget grow` prints: how many rows the account knew, and the entry that lets the table grow."""

    dataset: str
    records: int
    epsilon_total: float
    entry: int
    head: str

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return dict(vars(self))

    def __str__(self) -> str:
        return (
            f"The table of {self.dataset} grows from its {counted(self.records, 'row')} on (entry {self.entry}); give "
            f"--growing from now on. For chains of any length, ε = {shown_above(self.epsilon_total)} has leaked so far."
        )


def grown(data: options.Source, model: Model, url: str | Path, dataset: str, reason: str) -> Grown:
    """Let the table of an account grow and say so."""
    with Ledger(url, create=False) as ledger:
        state = let_grow(ledger, data, model, dataset, reason=reason)
        growth = ledger.growth(state.dataset)
        assert growth is not None
        (shown,) = overview_of(ledger, state.dataset).datasets
    known = growth["extents"][0]["records"]
    return Grown(state.dataset, known, shown["epsilon_total"], state.entries, state.head)


@dataclass(frozen=True)
class Allowed(Document):
    """What `bayesdp budget allow-checks` prints: how many different checks were made, and how many may be."""

    dataset: str
    made: int
    allowed: int

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return dict(vars(self))

    def __str__(self) -> str:
        return (
            f"The table of {self.dataset} was checked in {counted(self.made, 'way')}; {self.allowed} are allowed now."
        )


def allowed_checks(url: str | Path, dataset: str, checks: int, reason: str) -> Allowed:
    """Allow more checks of a table and say so."""
    with Ledger(url, create=False) as ledger:
        made, _ = ledger.allow_checks(dataset, checks, reason=reason)
    return Allowed(dataset, made, checks)


def _changed(state: State) -> Changed:
    return Changed(state.dataset, state.budget, state.charges, state.entries, state.head)


@dataclass(frozen=True)
class Filed(Document):
    """What `bayesdp statement` prints: the page, or the answer's document with the page in it."""

    answer: Answer | Answers

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {**self.answer.to_dict(), "statement": self.answer.statement()}

    def __str__(self) -> str:
        return self.answer.statement()


def filed(path: str, output: str | None) -> Filed:
    """Read an answer to be filed, or those to one question, and write their page if a file is named."""
    filing = Filed(_filed(path))
    if output is not None:
        refuse_overwriting(output, [path])
        statement.write(filing.answer, output)
    return filing


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
        compared = f", {counted(self.answers, 'answer')} checked" if self.answers else ""
        entries = counted(self.entries, "entry", "entries")
        return f"The ledger holds together: {entries}{compared}. The head hash is {self.head}."


def verified(url: str | Path, answers: Sequence[str]) -> Verified:
    """Recompute the ledger, and compare answers with what it stored of them; problems are an error."""
    kept = [(path, answer) for path in answers for answer in _answers(path)]
    with Ledger(url, create=False) as ledger:
        verification = ledger.verify()
        if not verification.ok:
            raise LedgerError(f"the ledger does not hold together: {'; '.join(verification.problems)}")
        entries = ledger.entries() if kept else ()
    for path, answer in kept:
        charge = next((entry for entry in entries if entry.number == answer.entry), None)
        if charge is None or (charge.kind, charge.hash) != ("charge", answer.head):
            raise LedgerError(
                f"{path} does not fit the ledger, where entry {answer.entry} is missing or has another hash: the "
                "answer was altered, or the ledger was rewritten or replaced"
            )
        stored = next((entry for entry in entries if entry.charge == answer.entry), None)
        if stored is None:
            raise LedgerError(f"{path} is not in the ledger: entry {answer.entry} has no answer there")
        changed = answer.differences(Answer.stored(stored.content())) or _misstated(answer, entries)
        if changed:
            raise LedgerError(f"{path} is not the answer that was released: its {', '.join(changed)} differ")
    return Verified(verification.entries, verification.head, len(kept))


def _answers(path: str) -> tuple[Answer, ...]:
    """Read an answer, or those to a question by parts, from a file; errors name the file."""
    found = _filed(path)
    return found.answers if isinstance(found, Answers) else (found,)


def _filed(path: str) -> Answer | Answers:
    """Read what `bayesdp release --json` wrote; errors name the file."""
    document = read(path)
    try:
        several = isinstance(document, dict) and document.get("kind") == ANSWERS
        return Answers.from_dict(document) if several else Answer.from_dict(document)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: " + error.message) from None


def _misstated(answer: Answer, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return what an answer that was given again says of the account that the ledger never said from then on."""
    if not answer.reused:
        return ()
    mine = [entry for entry in entries if entry.dataset == answer.dataset]
    charges = [entry.content() for entry in mine if entry.kind == "charge" and entry.number >= answer.entry]
    budgets = [entry.content() for entry in mine if entry.kind in ("open", "lower", "raise")]
    try:
        totals = [charge["details"]["epsilon_total"] for charge in charges if "epsilon_total" in charge["details"]]
        learnt = first_fit(entry.content() for entry in reversed(mine) if entry.kind == "answer")
        totals += [] if learnt is None else [learnt.epsilon_total]
        if not any(isclose(answer.epsilon_total, total, rel_tol=1e-9) for total in totals):
            return ("epsilon_total",)
        models = {entry.content().get("model_fingerprint") for entry in mine if entry.kind == "answer"}
        models |= set() if learnt is None else {fingerprint(learnt.model.identity)}
        if answer.model_fingerprint not in models:
            return ("model_fingerprint",)
        left = [remaining(change["budget"], answer.epsilon_total) for change in budgets]
    except (LookupError, TypeError, ValueError) as error:
        raise LedgerError(f"the ledger is damaged: an entry cannot be read ({error}); verify it") from None
    return () if answer.epsilon_remaining in left else ("epsilon_remaining",)


def exported(url: str | Path, dataset: str | None) -> str:
    """Return every entry as JSON text."""
    with Ledger(url, create=False) as ledger:
        document = ledger.export()
        if dataset is not None:
            entries = ledger.entries(dataset)
            name = entries[0].dataset if entries else ledger.state(dataset).dataset
            document["datasets"] = [account for account in document["datasets"] if account["dataset"] == name]
            document["entries"] = [entry.to_dict() for entry in entries]
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
