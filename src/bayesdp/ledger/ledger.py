"""The ledger and its accounts: what a session and the command line use."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from bayesdp._support import validation
from bayesdp._support.documents import canonical
from bayesdp._support.messages import in_python, param
from bayesdp.errors import AccountChangedError, InvalidInputError, LedgerError, UnavailableError
from bayesdp.ledger import checks, facts, verification
from bayesdp.ledger.accounts import AccountStore, refuse_promise
from bayesdp.ledger.amounts import checked_promise
from bayesdp.ledger.changes import refuse_fixed_or_growing, refuse_other
from bayesdp.ledger.database import Database, LostError, UncertainError, reconnecting
from bayesdp.ledger.postings import Postings, Requester, RequestsCharged
from bayesdp.ledger.records import Charge, Check, Entry, OfCharge, Opening, Receipt, State, Verification, label, parsed

__all__ = ["Account", "Ledger"]


class Ledger:
    """The account of everything released, on any number of data sets, for any number of processes at once.

    url:    a SQLite file (`"budget.db"`, a `Path`, `"sqlite:///budget.db"`), created readable by its owner only, or a
            PostgreSQL database (`"postgresql://user@host/database"`).
    create: whether to create the ledger if there is none.

    Every failure — a lock held by another process for a minute, a full disk, a lost connection, a file that is no
    ledger — raises `LedgerError`, and then nothing may be released. A `Ledger` may be used by several threads and after
    a fork; do not fork inside `Account.charge`.

    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> ledger = Ledger(f"sqlite:///{folder.name}/budget.db")
    >>> account = ledger.account("steps", model={"type": "independent"}, description={"rows": 100}, budget=2.0)
    >>> (receipt,) = account.charge((), lambda state: (Charge("9f2c", "count", {"query": "count"}, tau=0.5),))
    >>> head = account.answer(receipt, {"value": 41})
    >>> account.answers("9f2c"), account.state().totals[0].tau
    (({'value': 41},), 0.5)
    >>> ledger.lower("steps", 1.0).budget, ledger.verify([(receipt.entry, receipt.head)]).ok
    (1.0, True)
    >>> folder.cleanup()
    """

    def __init__(self, url: str | Path, *, create: bool = True) -> None:
        self._database: Database | None = Database(url, create=create)
        self._seen: tuple[int, str] | None = None
        self._schema = 1
        with self._store():
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._database.name if self._database else 'closed'!r})"

    @property
    def name(self) -> str:
        """The location of the ledger: a file, or a database's address without its password."""
        return self._open_database().name

    def close(self) -> None:
        """Close the ledger; using it afterwards raises `LedgerError`."""
        if self._database is not None:
            self._database.close()
        self._database = None

    def account(
        self,
        dataset: str,
        *,
        model: Mapping[str, Any],
        description: Mapping[str, Any],
        budget: float | None,
        at_once: bool = True,
        separate_because: str | None = None,
        public: Collection[str] = (),
        loss: Mapping[str, Any] | None = None,
    ) -> Account:
        """Return the account of a data set, opening it with this budget if there is none yet.

        Needs a printable name of at most 200 characters, which is normalised (`dataset_names`), and the model and a
        description of the data as JSON objects. A data set that was opened before keeps its budget, and is refused with
        `LedgerError` if the model or the description is another one. Opening for the first time without a budget raises
        `InvalidInputError`.

        at_once:          False leaves the ledger alone until the first charge, which then opens the account as well.
        separate_because: why this is an account of its own although the ledger has one with the same model and
                          description, or with a name that could be taken for it; kept in the ledger. Without a reason,
                          that raises `LedgerError`.
        public:           the columns that the holder of the data names as public. An account that is open already must
                          name them, else `LedgerError`.
        loss:             what the account promises besides ε, {"definition": "approximate", "delta": 1e-06}; None if
                          every release is pure. It is fixed for the life of the account: `LedgerError` if the account
                          was opened with another promise. None goes on with the promise of an account that is open.
        """
        loss = None if loss is None else checked_promise(loss)
        canonical("model", model)
        canonical("description", description)
        if separate_because is not None:
            validation.text("separate_because", separate_because)
        named = _columns(public)
        with self._store() as store:
            name = store.name(dataset)
            opened = store.opened(name, model, description, separate_because)
            opening = None
            if not opened:
                opening = Opening(model, description, _first_budget(name, budget), separate_because, named, loss)
            account = Account(self, store.state(name, opening=opening), store.charged(name), opening)
        if opened:
            account._check_named(named, loss)
        elif at_once:
            with self._store(write=True) as store:
                account._open(store)
        return account

    def check_model(
        self,
        dataset: str,
        model: Mapping[str, Any],
        *,
        budget: float | None,
        apart_from: Collection[str] = (),
        growing: bool | None = None,
    ) -> None:
        """Raise what `account` would raise for any data, before the data are read.

        apart_from: entries of the model, at any depth, that depend on the data and are not compared yet.
        growing:    whether the table is one that grows; None if that is not compared yet.

        Raises `LedgerError` for an account that was opened under another model, `InvalidInputError` for a data set that
        has none if there is no budget to open one with.
        """
        with self._store() as store:
            name = store.name(dataset)
            opening = store.opening(name)
        if opening is None:
            _first_budget(name, budget)
            return
        if growing is not None:
            refuse_fixed_or_growing(name, opening["description"], growing=growing)
        known, given = (
            {"model": _without(apart_from, m)} for m in (opening["model"], parsed(canonical("model", model)))
        )
        if known != given:
            refuse_other(name, known, given)

    def check_description(self, dataset: str, description: Mapping[str, Any], columns: Collection[str] = ()) -> None:
        """Raise what `account` would raise for another description, before the records of the table are read.

        columns: the names of the table's columns, by which a message says what is new.
        """
        known = self.description(dataset)
        given = parsed(canonical("description", description))
        if known is not None and known != given:
            refuse_other(dataset, {"description": known}, {"description": given}, columns)

    def description(self, dataset: str) -> Mapping[str, Any] | None:
        """Return the description of the data of an account, as it holds now; None if there is no account."""
        opening = self.opening(dataset)
        return None if opening is None else opening["description"]

    def opening(self, dataset: str) -> Mapping[str, Any] | None:
        """Return how an account was opened, with the "model" and the "description" that hold now; None without one."""
        with self._store() as store:
            return store.opening(store.name(dataset))

    def growth(self, dataset: str) -> Mapping[str, Any] | None:
        """Return the body of the entry by which the table of a fixed account may grow since; None without one."""
        with self._store() as store:
            entry = store.growth(store.name(dataset))
        return None if entry is None else entry.content()

    def grow(
        self,
        before: State,
        *,
        model: Mapping[str, Any],
        description: Mapping[str, Any],
        extents: Sequence[Mapping[str, Any]],
        parts: Sequence[Mapping[str, Any]] = (),
        reason: str,
    ) -> State:
        """Let the table of an account grow from now on, for a reason that is kept. This cannot be undone.

        before:      the account when the table was compared with what it knows.
        model, description: those that hold from now on: the model of any length, and a description that says
                     {"growing": True}.
        extents:     how far the table reached until now, as charges about a growing table say.
        parts:       who was in which part, by a column each, up to that end.

        Raises `LedgerError` if the account has changed since `before`, `InvalidInputError` if its table grows already.
        """
        body = {"model": model, "description": description, "extents": list(extents)}
        body["reason"] = validation.text("reason", reason)
        with self._store(write=True) as store:
            facts.grow(store, before, body, parts)
            return store.state(before.dataset)

    def check(self, dataset: str, check: Check, *, most: int | None = None) -> None:
        """Enter a check that is about to be made on a table, even for a data set without an account.

        most: the caller's own limit on the number of checks of the table, if it is lower than the ledger's.

        A check that was made on the same table before, under any name, is not entered again. Raises `LedgerError` if no
        more checks of the table are allowed.
        """
        with self._store() as store:
            if checks.is_known(store, check):
                return
        with self._store(write=True) as store:
            checks.enter(store, store.name(dataset), check, most)

    def refused(self, dataset: str, reason: str, check: Check | None = None) -> None:
        """Enter that a release was refused, even for a data set without an account: every refusal reveals something.

        reason: the kind of refusal, in a line with nothing private.
        check:  the check that failed, if one was made.
        """
        line = validation.line("reason", label("reason", reason))
        with self._store(write=True) as store:
            checks.refuse(store, store.name(dataset), line, check)

    def allow_checks(self, dataset: str, number: int, *, reason: str) -> tuple[int, int]:
        """Allow this many checks of a data set's table, for a reason that is kept.

        Returns how many different ones were made, and how many were allowed before. Raises `InvalidInputError` if that
        is not more, `LedgerError` if the ledger has no table of that data set.
        """
        more, why = validation.natural("checks", number), validation.text("reason", reason)
        with self._store(write=True) as store:
            return checks.allow(store, store.name(dataset), more, why)

    def public(self, dataset: str) -> tuple[str, ...]:
        """Return the columns that a data set's account names as public, sorted; none if it has no account."""
        with self._store() as store:
            return store.public(store.name(dataset))

    def name_public(
        self,
        dataset: str,
        columns: Collection[str],
        *,
        reason: str,
        check: Callable[[Sequence[Entry]], None] = lambda entries: None,
    ) -> State:
        """Name columns as public in an account that is open, for a reason that is kept.

        check: raises for a column that cannot be public, given all entries of the data set, under the write lock.

        Raises `LedgerError` if there is no account, `InvalidInputError` if it names all of them already.
        """
        named, why = _columns(columns), validation.text("reason", reason)
        with self._store(write=True) as store:
            name = store.name(dataset)
            store.state(name)
            facts.name_public(store, name, named, why, check)
            return store.state(name)

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all data sets that have an account, sorted."""
        with self._store() as store:
            return store.datasets()

    def state(self, dataset: str) -> State:
        """Return the state of a data set's account; `LedgerError` if it has none."""
        with self._store() as store:
            return store.state(store.name(dataset))

    def lower(self, dataset: str, budget: float, *, reason: str | None = None) -> State:
        """Lower the budget of a data set; `InvalidInputError` if that would not lower it."""
        if reason is not None:
            validation.text("reason", reason)
        return self._set_budget("lower", dataset, budget, reason)

    def raise_budget(self, dataset: str, budget: float, *, reason: str) -> State:
        """Raise the budget of a data set, for a reason that is kept; `InvalidInputError` if that would not raise it."""
        return self._set_budget("raise", dataset, budget, validation.text("reason", reason))

    def entries(self, dataset: str | None = None, kind: str | None = None) -> tuple[Entry, ...]:
        """Return the entries in order: all of them, those of a data set, those of a kind ("open", "charge", …).

        One that was changed since it was written raises `LedgerError`.
        """
        with self._store() as store:
            return tuple(store.read(None if dataset is None else store.name(dataset), kind))

    def head(self) -> tuple[int, str]:
        """Return the number and the hash of the last entry; 0 and zeros for a ledger without any.

        They are on disk, so a later ledger that lacks them is another one, or was cut off.
        """
        with self._store() as store:
            store.rely()
            return store.entries, store.head

    def continues(self, number: int, head: str) -> bool:
        """Tell whether the ledger's chain has this hash at an entry, as one that was seen before must have."""
        entry, hashed = validation.natural("entry", number, least=0), validation.line("head", head)
        with self._store() as store:
            store.rely()
            return store.continues(entry, hashed)

    def upgrade(self) -> None:
        """Give a ledger of an earlier version the present schema, which those versions refuse; one that has it is left.

        The first new entry does the same. On a server only the owner of the tables can (docs/team.md).
        """
        with self._store(write=True) as store:
            store.upgrade()

    def verify(self, heads: Iterable[tuple[int, str]] = ()) -> Verification:
        """Recompute everything from the entries: the chain and its hashes, budgets and totals, one charge per answer.

        heads: (entry number, hash) pairs kept outside of the ledger, as receipts and answers carry them; each must
               stand in the chain at that entry.

        What it cannot detect: someone who may write to the ledger can rewrite it from some entry on, with all hashes
        and totals, or cut off its end, or replace it by an older copy. Only the hash of a changed or missing entry that
        was kept elsewhere reveals that. Releases made without the ledger cannot be detected either. Raises
        `LedgerError` when the database is too damaged to be read at all.
        """
        known: dict[int, set[str]] = {}
        for number, head in heads:
            known.setdefault(validation.natural("entry", number), set()).add(validation.text("head", head))
        damages = self._open_database().damages()
        with self._store(anew=True) as store:
            store.rely()
            problems = (*damages, *verification.problems(store, known))
            return Verification(not problems, store.entries, problems, store.head)

    def export(self) -> dict[str, Any]:
        """Return the whole ledger as one JSON object: every account and every entry."""
        with self._store() as store:
            store.rely()
            states = [store.state(dataset) for dataset in store.datasets()]
            accounts = [
                {
                    "dataset": state.dataset,
                    "budget": state.budget,
                    **({} if state.promise is None else {"loss": state.promise}),
                    "public": list(state.public),
                    "charges": state.charges,
                    "totals": [total.to_dict() for total in state.totals],
                }
                for state in states
            ]
            lines = [entry.to_dict() for entry in store.read()]
            return {
                "kind": "ledger",
                "schema": store.schema,
                "head": store.head,
                "datasets": accounts,
                "entries": lines,
            }

    def _open_database(self) -> Database:
        if self._database is None:
            raise LedgerError("the ledger is closed")
        return self._database

    @contextlib.contextmanager
    def _store(self, *, write: bool = False, anew: bool = False, **foreseen: Any) -> Iterator[AccountStore]:
        """Open the accounts for one transaction; `foreseen` is what will be read, as for `AccountStore`.

        The ledger must contain its end as this process saw it last, which is remembered once it is on disk.

        anew: whether to skip that check.
        """
        with self._open_database().transaction(write=write) as transaction:
            seen = None if anew else self._seen
            store = AccountStore(transaction, write=write, seen=seen, schema=self._schema, **foreseen)
            yield store
            store.flush()
        self._schema = store.schema
        if store.entries and (transaction.durable or not transaction.server) and not anew:
            self._seen = max(self._seen or (0, ""), (store.entries, store.head), key=lambda end: end[0])

    def _set_budget(self, kind: str, dataset: str, budget: float, reason: str | None) -> State:
        budget = validation.positive("budget", budget)
        with self._store(write=True) as store:
            name = store.name(dataset)
            before = store.state(name).budget
            if budget == before or (budget > before) != (kind == "raise"):
                raise InvalidInputError(f"the budget of {name!r} is {before:g}; {budget:g} does not {kind} it")
            store.set_budget(name, kind, budget, reason)
            return store.state(name)


def _first_budget(dataset: str, budget: float | None) -> float:
    """Return the budget to open an account with."""
    if budget is None:
        raise InvalidInputError(
            f"{dataset!r} is new to the ledger: give the budget that may be spent on it by "
            + in_python("epsilon= of a Session", elsewhere=param("budget"))
        )
    return validation.positive("budget", budget)


def _columns(columns: object) -> tuple[str, ...]:
    """Return the names of columns, each once and sorted."""
    return tuple(sorted({validation.line("public", column) for column in validation.items("public", columns)}))


def _questions(questions: object) -> tuple[str, ...]:
    """Return the fingerprints of questions to be looked up."""
    return tuple(label("question", question) for question in validation.items("questions", questions))


def _without(names: Collection[str], document: Any) -> Any:
    """Return a JSON document without the entries of these names, at any depth."""
    if isinstance(document, list):
        return [_without(names, item) for item in document]
    if isinstance(document, dict):
        return {name: _without(names, value) for name, value in document.items() if name not in names}
    return document


class HasCharges(Protocol):
    """A decision made under the write lock, with the charges that follow from it."""

    @property
    def charges(self) -> Sequence[Charge]:
        """The charges, to be made together or not at all."""


Decision = TypeVar("Decision", bound=HasCharges)


@dataclass(frozen=True)
class _Charges:
    """A decision that consists of charges only."""

    charges: Sequence[Charge]


@dataclass
class _Memory:
    """What an account remembers of the ledger: the state that it read last, which questions were charged, and by whom.

    opening:  how the account will be opened; None once it is.
    postings: what was posted in whose name, in the charges that were read; `reading` guards them.
    """

    last: State
    charged: set[str]
    opening: Opening | None
    postings: Postings = field(default_factory=Postings)
    reading: threading.Lock = field(default_factory=threading.Lock)

    @property
    def since(self) -> int:
        """The entry from which on charges must be read."""
        return self.postings.last[0]


class Account:
    """One data set's account in a ledger; `Ledger.account` opens it.

    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> account = Ledger(f"{folder.name}/budget.db").account("steps", model={}, description={}, budget=2.0)
    >>> once = lambda state: () if state.answers("9f2c") else (Charge("9f2c", "count", {}, tau=0.5),)
    >>> (receipt,) = account.charge(["9f2c"], once)
    >>> head = account.answer(receipt, {"value": 41})
    >>> account.charge(["9f2c"], once)
    ()
    >>> folder.cleanup()
    """

    def __init__(
        self, ledger: Ledger, state: State, charged: Collection[str] = (), opening: Opening | None = None
    ) -> None:
        self._ledger = ledger
        self._memory = _Memory(state, set(charged), opening)
        self.requester: Requester | None = None
        """In whose name charges are made; None if that is nobody's (`in_name_of`)."""
        self.dataset = state.dataset
        self.public = state.public
        """The columns that are public, as they were named when the account was looked up."""
        self.grown = state.grown
        """The entry by which the table may grow, if there was one when the account was looked up."""
        self.promise = state.promise
        """What the account promises besides ε; None if it is pure. It never changes."""

    def __repr__(self) -> str:
        return f"Account({self._ledger!r}, {self.dataset!r})"

    def in_name_of(self, requester: Requester) -> Account:
        """Return this account for charges that are made in somebody's name, within what may be posted in it.

        Both remember together what they last read.
        """
        account = copy.copy(self)
        account.requester = requester
        return account

    def posted(self, by: str) -> tuple[Fraction, Fraction]:
        """Return the ε posted in a name today, by the ledger's clock in UTC, and in all."""
        with self._postings() as (store, postings):
            return postings.spent(by, store.moment[:10])

    def requested(self, requester: Requester) -> RequestsCharged | None:
        """Return the charges that a request made before; None if it made none, `InvalidInputError` for another one."""
        with self._postings() as (_, postings):
            return postings.request(requester)

    @contextlib.contextmanager
    def _postings(self) -> Iterator[tuple[AccountStore, Postings]]:
        with self._memory.reading, self._ledger._store(dataset=self.dataset, since=self._memory.since) as store:
            yield store, self._read_postings(store)

    def _read_postings(self, store: AccountStore) -> Postings:
        """Return the sums over all charges of the account, after reading those that are new."""
        known = self._memory.postings
        found = store.charges_since(self.dataset, known.last[0])
        if known.charges and (not found or (found[0].number, found[0].hash) != known.last):
            known, found = Postings(), store.charges_since(self.dataset, 0)
        self._memory.postings = Postings()  # whatever fails from here on, everything is read again
        try:
            for entry in found[1:] if known.charges else found:
                known.add(entry, entry.content())
        except (AttributeError, LookupError, TypeError) as error:
            raise LedgerError(f"the ledger is damaged: a charge cannot be read ({error}); verify it") from None
        account = store.account(self.dataset)
        if known.charges != (0 if account is None else account.charges):
            raise LedgerError(
                f"the ledger is damaged or was changed: the charges of {self.dataset!r} are not as many as its account "
                "says. Nothing was charged; bayesdp budget verify says more"
            )
        self._memory.postings = known
        return known

    @property
    def is_open(self) -> bool:
        """Whether the account was open when it was looked up, or was opened here."""
        return self._memory.opening is None

    def open(self) -> State:
        """Open the account now, without a charge; `LedgerError` if it is open already."""
        with self._ledger._store(write=True) as store:
            if not self._open(store):
                raise LedgerError(
                    f"the data set {self.dataset!r} has an account already; bayesdp budget show prints it"
                )
            state = store.state(self.dataset)
        self._memory.opening = None
        return self._remembered(state)

    def state(self, *questions: str) -> State:
        """Return the state of the account now, or as its first charge will open it.

        questions: those whose answers will be needed; they are read at the same moment as the totals.
        """
        looked_up = _questions(questions)
        with self._ledger._store(dataset=self.dataset, questions=looked_up) as store:
            return self._remembered(store.state(self.dataset, looked_up, self._memory.opening))

    def last_state(self, *questions: str) -> State | None:
        """Return the account as it was read last, without reading the ledger; None if a question may have an answer.

        A charge that is decided in this state is decided again if the account has changed since (`charge_for`).
        """
        looked_up = _questions(questions)
        if not self._memory.charged.isdisjoint(looked_up):
            return None
        return replace(self._memory.last, answered=dict.fromkeys(looked_up, ()), pending={})

    def _remembered(self, state: State) -> State:
        """Return a state, and remember it with the questions that were charged."""
        self._memory.last = state
        self._memory.charged.update(question for question in state.answered if state.is_charged(question))
        return state

    def charge(self, questions: Sequence[str], decide: Callable[[State], Sequence[Charge]]) -> tuple[Receipt, ...]:
        """Run `decide` under the write lock, and record the charges that it returns.

        Returns one receipt for each charge; all else is as for `charge_for`.
        """
        return self.charge_for(questions, lambda state: _Charges(decide(state)))[1]

    def charge_for(
        self, questions: Sequence[str], decide: Callable[[State], Decision]
    ) -> tuple[Decision, tuple[Receipt, ...]]:
        """Run `decide` under the write lock, and record the charges of the decision that it returns.

        questions: the fingerprints whose stored answers and unanswered charges it needs for that.
        decide:    takes the state; returns what has `charges`, which are made together or not at all. With no charges
                   nothing is written, as when it raises. All other processes wait for it: it should not take long, nor
                   fork, nor charge.

        Returns the decision, and one receipt for each charge once they are on disk. Raises `LedgerError` when the
        charges could not be written for certain: then draw no noise. If the connection to a server is lost during the
        commit, the ledger is asked again whether they were written.
        """
        looked_up = _questions(questions)
        written: list[Entry] = []
        requester = self.requester
        foreseen: dict[str, Any] = {} if requester is None else {"since": self._memory.since}
        try:
            with (
                contextlib.nullcontext() if requester is None else self._memory.reading,
                self._ledger._store(write=True, dataset=self.dataset, questions=looked_up, **foreseen) as store,
            ):
                state = self._remembered(store.state(self.dataset, looked_up, self._memory.opening))
                self._check_current(state.public, state.grown)
                decision = decide(state)
                charges = decision.charges
                if not isinstance(charges, tuple | list) or not all(isinstance(charge, Charge) for charge in charges):
                    raise InvalidInputError("a decision is a tuple of charges and of nothing else; it may be empty")
                if not charges:
                    return decision, ()
                if requester is not None:
                    charges = self._read_postings(store).posted(charges, requester, store.moment[:10])
                self._open(store)
                written += [store.charge(self.dataset, charge) for charge in charges]
                after = store.state(self.dataset)
        except UncertainError as error:
            self._settle(written, error)
        self._memory.opening = None
        self._memory.last = after
        self._memory.charged.update(charge.question for charge in charges)
        return decision, tuple(Receipt(entry.number, entry.hash, after) for entry in written)

    def answer(self, receipt: OfCharge, body: Mapping[str, Any]) -> str:
        """Store the answer to a charge, and return the ledger's new head hash.

        Needs a receipt of this account and a JSON object of released values. A second answer for one charge raises
        `AnsweredError`, the receipt of another account or ledger `LedgerError`.

        While there is no connection to the server, it is tried again for half a minute; if it was lost during the
        commit, the answer may be stored already, and is not stored twice.
        """
        written: list[Entry] = []

        def store() -> str:
            with self._ledger._store(write=True, dataset=self.dataset, charge=receipt.entry) as store:
                stored = next((entry for entry in written if store.contains(entry)), None)
                if stored is None:
                    written.append(store.answer(self.dataset, receipt, body))
                    stored = written[-1]
            return stored.hash

        try:
            return reconnecting(store)
        except LostError as error:
            raise UnavailableError(
                f"{error}. The release was charged before, in entry {receipt.entry}, and the charge stands; whether "
                "its answer was stored is not known, and it is not given"
            ) from None

    def _settle(self, written: Sequence[Entry], error: UncertainError) -> None:
        """Find out whether charges were committed when the connection was lost; LedgerError unless they were.

        Their transaction held the ledger's lock: once this one holds it, they are there or never will be; and once
        this one has committed, they are on disk.
        """
        last = written[-1]

        def is_charged() -> bool:
            with self._ledger._store(write=True) as store:
                return store.contains(last)

        try:
            if reconnecting(is_charged):
                return
        except LostError:
            raise UnavailableError(
                f"{error}, and the ledger cannot be reached any more: entry {last.number} of {self.dataset!r} may be "
                "charged or not, which bayesdp budget show tells when it can. Nothing was released"
            ) from None
        raise UnavailableError(f"{error.lost}; nothing was charged and nothing was released")

    def answer_of(self, charge: int) -> Mapping[str, Any] | None:
        """Return the stored answer of a charge, by the number of its entry; None if it has none."""
        with self._ledger._store() as store:
            return store.answer_of(self.dataset, charge)

    def answers(self, question: str) -> tuple[Mapping[str, Any], ...]:
        """Return the stored answers to a question's fingerprint, newest first."""
        (looked_up,) = _questions([question])
        with self._ledger._store() as store:
            return store.answers(self.dataset, looked_up)

    def windows(self, question: str) -> tuple[Mapping[str, Any], ...]:
        """Return the stored answers about the windows of a stream, by the fingerprint of its question, oldest first."""
        (looked_up,) = _questions([question])
        with self._ledger._store() as store:
            return store.windows(self.dataset, looked_up)

    def store_windows(self, receipt: OfCharge, bodies: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
        """Store answers about windows of a stream, all or nothing; return all that are stored, oldest first.

        Needs the receipt of the stream's charge, and JSON objects of released values with a "window" each: its first
        period, and the first one after it. A window that has an answer keeps it: the answer that another process
        stored first is returned.
        """

        def store() -> tuple[Mapping[str, Any], ...]:
            with self._ledger._store(write=True, dataset=self.dataset, charge=receipt.entry) as store:
                return store.store_windows(self.dataset, receipt, bodies)

        try:
            return reconnecting(store)
        except LostError as error:
            raise UnavailableError(
                f"{error}. The stream was charged before, in entry {receipt.entry}; whether these answers were stored "
                "is not known, and they are not given"
            ) from None

    def parts(self, by: str) -> Mapping[str, Any] | None:
        """Return who was in which part by a column, as recorded last (`note_parts`); None if it was never recorded."""
        with self._ledger._store() as store:
            return facts.last_parts(store, self.dataset, by)

    def note_parts(self, by: str, before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> None:
        """Record who is in which part by a column, after a comparison with the record `before`."""
        with self._ledger._store(write=True) as store:
            growth = store.growth(self.dataset)
            self._check_current(self.public, None if growth is None else growth.number)
            facts.note_parts(store, self.dataset, by, before, now)

    def _check_current(self, public: Sequence[str], grown: int | None) -> None:
        """Refuse to go on if the holder of the data has said something else of the account since it was looked up."""
        what = "other columns" if public != self.public else "the table" if grown != self.grown else None
        if what is not None:
            said = {"other columns": "are public now than when it was opened", "the table": "grows since it was opened"}
            raise AccountChangedError(f"{what} of {self.dataset!r} {said[what]}; open it again. Nothing was charged")

    def _check_named(self, columns: Collection[str], loss: Mapping[str, Any] | None) -> None:
        """Refuse columns that were not named as public, and another δ than that of the account."""
        if loss is not None:
            refuse_promise(self.dataset, loss, self._memory.last.promise)
        unnamed = sorted(set(columns) - set(self.public))
        if unnamed:
            raise LedgerError(
                f"the account of {self.dataset!r} does not name {', '.join(map(repr, unnamed))} as public. The holder "
                "of the data can do that once, with a reason: bayesdp budget public --dataset NAME --columns A,B "
                "--reason TEXT"
            )

    def _open(self, store: AccountStore) -> bool:
        """Open the account if it is not open yet, and tell whether this opened it."""
        if self._memory.opening is None or store.opened_with(self.dataset, self._memory.opening):
            return False
        store.open(self.dataset, self._memory.opening)
        return True
