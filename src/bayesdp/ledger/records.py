"""Entries, charges, receipts and states: the plain values that go into a ledger and come out of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Protocol

from bayesdp._support import validation
from bayesdp._support.documents import canonical
from bayesdp._support.lazy import warn_renamed
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger.amounts import Amounts
from bayesdp.queries.region import Region

__all__ = [
    "Charge",
    "Check",
    "Entry",
    "OfCharge",
    "Opening",
    "Pending",
    "Receipt",
    "State",
    "Total",
    "Verification",
    "label",
    "parsed",
]

GENESIS = "0" * 64
"""The value that takes the place of the hash before the first entry."""

CHANGES = ("open", "charge", "lower", "raise")
"""The kinds of entries that change an account."""

CHECKS = ("check", "refusal", "allow")
"""The kinds of entries about checks of a table, and their number."""

DECISIONS = ("public", "allow", "grow")
"""The kinds of entries that only the holder of the data may make: a table that analysts cannot write to lists them."""

UPGRADING = ("open", "charge", "check", "allow", "public", "parts", "window", "grow")
"""The kinds of entries that an earlier schema does not have, or not as they are written now."""

MOST_CHECKS = 100
"""How many different checks of one table there may be, unless more are allowed."""

LONGEST_LABEL = 200


@dataclass(frozen=True)
class Charge:
    """A release to be charged.

    question: the fingerprint under which its answer is stored.
    key:      releases with the same key are added up; they must bring the same `query`, kind of loss and region.
    query:    what the key stands for, as a JSON object.
    tau:      the τ of a pure release, above 0; None for another loss.
    details:  other facts about the release (the ε requested, the theorem), as a JSON object.
    loss:     the loss of a release that is not pure, {"definition": "concentrated", "rho": 0.125}; in an account
              that promises (ε, δ) also that of a pure one, {"definition": "pure", "rho": 0.125, "tau": 0.5}.
    region:   the records that it reads (`Region`); None for all of them.
    public:   the columns that were taken as public to choose these records.

    Raises `InvalidInputError` for values of other types, `LedgerError` for an unknown definition of a loss.

    >>> Charge("9f2c", "count", {"query": "count"}, tau=0.5).cost.written
    '1/2'
    """

    question: str
    key: str
    query: Mapping[str, Any]
    tau: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    loss: Mapping[str, Any] | None = field(default=None, kw_only=True)
    region: Region | None = field(default=None, kw_only=True)
    public: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        label("question", self.question)
        label("key", self.key)
        canonical("query", self.query)
        canonical("details", self.details)
        for column in self.public:
            validation.line("public", column)
        if self.loss is None:
            object.__setattr__(self, "tau", validation.positive("tau", self.tau))
        _ = self.cost

    @cached_property
    def cost(self) -> Amounts:
        """What the release costs, exactly."""
        return Amounts.of(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the body of the entry that charges it."""
        optional = {
            "tau": self.tau,
            "loss": self.loss,
            "region": None if self.region is None else self.region.to_dict(),
            "public": sorted(self.public) or None,
        }
        body = {"key": self.key, "query": self.query, "details": self.details}
        return body | {name: value for name, value in optional.items() if value is not None}


@dataclass(frozen=True)
class Check:
    """A check that a session is about to make: whether the records of a table fit a model. It reveals one bit.

    columns: the fingerprint of the names of the table's columns.      records: how many there are; None if it grows.
    subject: the fingerprint of what is checked: the model with its states, and the columns that are read.

    >>> Check("a" * 64, 100, "b" * 64).is_of_table(None), Check("a" * 64, 100, "b" * 64).is_of_table(99)
    (True, False)
    """

    columns: str
    records: int | None
    subject: str

    def is_of_table(self, records: object) -> bool:
        """Tell whether a table with the same columns and this many records may be the same one."""
        return self.records is None or records is None or records == self.records

    def to_dict(self) -> dict[str, Any]:
        """Return the body of its entry, without the columns, which have a field of their own that can be searched."""
        return {"records": self.records, "subject": self.subject}


@dataclass(frozen=True)
class Opening:
    """How an account is opened: with the model and a description of the data as JSON objects, and the budget.

    separate_because: why it is separate from another account that looks like it; None if there is no such account.
    public:           the columns that the holder of the data names as public; an entry of their own keeps them.
    loss:             what the account promises besides ε: {"definition": "approximate", "delta": 1e-06}; None if pure.

    >>> Opening({"type": "independent"}, {"records": 100}, 2.0).to_dict()
    {'budget': 2.0, 'description': {'records': 100}, 'model': {'type': 'independent'}}
    """

    model: Mapping[str, Any]
    description: Mapping[str, Any]
    budget: float
    separate_because: str | None = None
    public: tuple[str, ...] = ()
    loss: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the body of the entry that opens the account."""
        body = {"budget": self.budget, "description": self.description, "model": self.model}
        optional = {"separate_because": self.separate_because, "loss": self.loss}
        return body | {name: value for name, value in optional.items() if value is not None}


@dataclass(frozen=True)
class Total:
    """The releases of one key together: the query that it stands for, as JSON text, and their exact total cost.

    tau:    the sum of their τ's, rounded up once; None if they are not pure.
    loss:   the sums of another definition of privacy, each rounded up once; None if they are pure and have no ρ.
    region: the records that they read; None for all of them.

    >>> Total("count", '{"query":"count"}', tau=0.75).query
    {'query': 'count'}
    """

    key: str
    query_text: str
    tau: float | None
    loss: Mapping[str, Any] | None = field(default=None, hash=False)
    region: Region | None = None

    @property
    def query(self) -> Mapping[str, Any]:
        """Their query, as a JSON object."""
        query: Mapping[str, Any] = parsed(self.query_text)
        return query

    @property
    def asked(self) -> str:
        """The former name of `query_text`; it goes with the next version."""
        warn_renamed("Total.asked", "Total.query_text", stacklevel=3)
        return self.query_text

    def to_dict(self) -> dict[str, Any]:
        """Return the total as a JSON object."""
        region = None if self.region is None else self.region.to_dict()
        optional = {"tau": self.tau, "loss": self.loss, "region": region}
        given = {name: value for name, value in optional.items() if value is not None}
        return {"key": self.key, "query": self.query, **given}


@dataclass(frozen=True)
class Pending:
    """A charge whose answer is not stored: it is being computed, or was lost in a crash.

    entry, head: its entry, and the chain's hash there.      moment: when it was charged, by the ledger's clock.
    tau:         the τ that was charged; None if the charge has a loss.
    details:     the other details of the charge.
    loss:        the loss that was charged, as `Charge.loss`.

    >>> Pending(3, "ab12", "2026-01-01T00:00:00+00:00", 0.5, {"asked": {"epsilon": 1.0}}).tau
    0.5
    """

    entry: int
    head: str
    moment: str
    tau: float | None
    details: Mapping[str, Any]
    loss: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class State:
    """An account at one moment: plain values that do not change with the ledger.

    dataset: the data set's name.      totals: what was spent, one total per key, oldest first.
    budget:  what may be spent.        charges: how many releases were charged.
    entries: how many entries the whole ledger has.        head: the hash of the last of them.

    answered: the best stored answers, newest first, to each question that was looked up: for each of the terms in which
              it was requested, the one whose request asked for most, and the one with the largest τ.
    pending:  the last charge of each such question whose answer is not stored.
    moment:   when the account was read, by the same clock as `pending`: that of the ledger's server if it has one, else
              that of this machine.
    public:   the columns that are named as public, sorted.
    promise:  what the account promises besides ε, as `Opening.loss`; None if it is pure.
    grown:    the entry by which the holder of the data lets the table grow; None if it never changed.

    >>> state = State("steps", 2.0, (), 0, 1, "ab12", answered={"9f2c": ()})
    >>> state.answers("9f2c"), state.unanswered("9f2c")
    ((), None)
    """

    dataset: str
    budget: float
    totals: tuple[Total, ...]
    charges: int
    entries: int
    head: str
    answered: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict, repr=False, hash=False)
    pending: Mapping[str, Pending] = field(default_factory=dict, repr=False, hash=False)
    moment: str = field(default="", compare=False)
    public: tuple[str, ...] = ()
    promise: Mapping[str, Any] | None = field(default=None, hash=False)
    grown: int | None = None

    def __post_init__(self) -> None:
        for name in ("answered", "pending"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def answers(self, question: str) -> tuple[Mapping[str, Any], ...]:
        """Return the best stored answers to a question, newest first; `InvalidInputError` if it was not looked up."""
        if question not in self.answered:
            raise InvalidInputError(f"the question {brief(question)} was not among those looked up in the account")
        return self.answered[question]

    def unanswered(self, question: str) -> Pending | None:
        """Return the last charge of a question whose answer is not stored, or None; refuses what `answers` does."""
        self.answers(question)
        return self.pending.get(question)

    def is_charged(self, question: str) -> bool:
        """Tell whether a question that was looked up was ever charged: it has an answer, or a charge without one."""
        return bool(self.answers(question)) or question in self.pending

    def same_account(self, other: State) -> bool:
        """Tell whether nothing was written about the account between this state and the other.

        Then a decision made in one holds in the other, whatever happened to other accounts of the ledger.

        >>> state = State("steps", 2.0, (), 0, 1, "ab12")
        >>> state.same_account(replace(state, entries=2, head="cd34")), state.same_account(replace(state, budget=1.0))
        (True, False)
        """
        return replace(self, entries=other.entries, head=other.head) == other


class OfCharge(Protocol):
    """The identity of a charge: its entry, and the chain's hash there."""

    @property
    def entry(self) -> int:
        """The number of the entry."""

    @property
    def head(self) -> str:
        """The chain's hash there."""


@dataclass(frozen=True)
class Receipt:
    """The proof of a charge: its entry, the chain's hash there, and the account after all that was charged at once.

    >>> Receipt(entry=1, head="ab12", state=State("steps", 2.0, (), 0, 1, "ab12")).entry
    1
    """

    entry: int
    head: str
    state: State


@dataclass(frozen=True)
class Verification:
    """The result of `Ledger.verify`: whether all is well, the number of entries, the problems, and the head hash.

    >>> Verification(ok=True, entries=0, problems=(), head=GENESIS).ok
    True
    """

    ok: bool
    entries: int
    problems: tuple[str, ...]
    head: str


@dataclass(frozen=True)
class Entry:
    """One line of the ledger, as it is stored; `body` is canonical JSON.

    kind:     "open", "charge", "lower" or "raise", which change an account; "answer", "window" (an answer of a stream),
              "public" (columns), "grow" (the table may), "parts" (who is in which), "check", "refusal" or "allow" (more
              checks), which do not.
    question: the fingerprint of what is asked, for a charge and its answers; of the table's columns, for what is kept
              of checks; of the column, for "parts".
    charge:   the number of the charge that an answer answers.
    previous: the hash of the entry before; `hash` covers everything else.

    >>> entry = Entry(1, "steps", "open", None, None, "{}", "2026-01-01T00:00:00+00:00", GENESIS).sealed()
    >>> entry.hash == entry.digest()
    True
    """

    number: int
    dataset: str
    kind: str
    question: str | None
    charge: int | None
    body: str
    timestamp: str
    previous: str
    hash: str = ""

    def digest(self) -> str:
        """Return the hash that this entry should have: SHA-256 of the JSON list of these columns, in this order."""
        content = [
            self.number,
            self.dataset,
            self.kind,
            self.question,
            self.charge,
            self.body,
            self.timestamp,
            self.previous,
        ]
        return hashlib.sha256(json.dumps(content, separators=(",", ":"), default=repr).encode()).hexdigest()

    def sealed(self) -> Entry:
        """Return the entry with its hash."""
        return replace(self, hash=self.digest())

    @classmethod
    def intact(cls, rows: Iterable[Iterable[Any]]) -> list[Entry]:
        """Return the entries that rows of the database hold; LedgerError if one is not what was written."""
        return [_intact(*row) for row in rows]

    def content(self) -> dict[str, Any]:
        """Return the parsed body; LedgerError if it is no JSON object."""
        body = parsed(self.body)
        if not isinstance(body, dict):
            raise LedgerError(f"the ledger is damaged: entry {self.number!r} holds no JSON object; verify it")
        return body

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as a JSON object, with its body parsed."""
        return {**vars(self), "body": self.content()}


_COLUMNS = (int, str, str, str | None, int | None, str, str, str, str)
"""Returns the columns of an entry, in their order."""


@lru_cache(maxsize=256, typed=True)
def _intact(*row: Any) -> Entry:
    """Return the entry of a row; LedgerError if its hash does not fit. Cached: the last entries are read again."""
    entry = Entry(*row)
    typed = all(isinstance(value, kind) for value, kind in zip(row, _COLUMNS, strict=True))
    if not typed or entry.hash != entry.digest():
        raise LedgerError(
            f"the ledger is damaged: entry {entry.number!r} was changed: its hash does not fit its contents"
        )
    return entry


def parsed(written: str) -> Any:
    """Return the value of a stored JSON text; `LedgerError` if it is damaged.

    >>> parsed('{"value":41}')
    {'value': 41}
    """
    try:
        return json.loads(written)
    except (ValueError, TypeError, RecursionError):
        raise LedgerError("the ledger is damaged: it holds a text that is not JSON; verify it") from None


def label(name: str, value: object) -> str:
    """Return `value` if every database can hold it as a name: a text of 1 to 200 characters without NUL.

    >>> label("dataset", "steps'; DROP TABLE accounts --")
    "steps'; DROP TABLE accounts --"
    """
    text = validation.text(name, value)
    if len(text) > LONGEST_LABEL:
        raise InvalidInputError(f"{name} must have at most {LONGEST_LABEL} characters, not {len(text)}")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidInputError(f"{name} holds a character that no database can store: {text!a}")
    return text
