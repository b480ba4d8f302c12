"""The accounts during one transaction: reading them, and writing entries together with the totals they change.

Before an account is used or anything is written, the end of the chain and the account are checked against each
other, in a time that does not depend on the length of the ledger: the last entries must be linked up to the head, and
the account must be the one that its last change sealed (`account_totals`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NoReturn

from sqlalchemy import Executable, bindparam, func, select, update

from bayesdp._support.documents import canonical, fingerprint
from bayesdp._support.messages import in_python, param
from bayesdp.errors import AnsweredError, LedgerError
from bayesdp.ledger.account_totals import SEAL, AccountTotals, Subtotal, promise_in
from bayesdp.ledger.answer_index import answer_row
from bayesdp.ledger.changes import refuse_other
from bayesdp.ledger.database import (
    IS_CHANGE,
    IS_CHECK,
    SCHEMA,
    accounts,
    add_tables,
    answers,
    decisions,
    entries,
    index_changes,
    ledgers,
    totals,
)
from bayesdp.ledger.dataset_names import dataset_name, likeness, normalised, table_likeness
from bayesdp.ledger.records import (
    DECISIONS,
    GENESIS,
    UPGRADING,
    Charge,
    Entry,
    OfCharge,
    Opening,
    Pending,
    State,
    parsed,
)
from bayesdp.ledger.replay import Replay
from bayesdp.ledger.transaction import Row, Statement, Transaction

__all__ = ["RECENT", "AccountStore", "refuse_promise"]

WITH_ANSWER_INDEX = WITH_PROMISES = 3
"""The schemas that added the index of answers, and accounts that promise more than ε."""

RECENT = 16
"""How many of the last entries are checked whenever an account is read or changed."""

# The statements of a release are built once: SQLAlchemy takes longer to build them than SQLite to execute them.
_POSITION = select(ledgers).where(ledgers.c.id == 1)
_LOCKED_POSITION = _POSITION.with_for_update()
_NAMES = select(accounts.c.dataset)
_ACCOUNT = select(accounts).where(accounts.c.dataset == bindparam("dataset"))
_TOTALS = select(totals).where(totals.c.dataset == bindparam("dataset")).order_by(totals.c.since)
_ENTRIES = select(entries).order_by(entries.c.number)
_RECENT = select(entries).order_by(entries.c.number.desc()).limit(RECENT)
_ENTRY = select(entries).where(entries.c.number == bindparam("number"))
_LAST_NUMBER = select(func.max(entries.c.number)).where(entries.c.dataset == bindparam("dataset"), IS_CHANGE)
_LAST_CHANGE = select(entries).where(entries.c.number == _LAST_NUMBER.scalar_subquery())
_FOLLOWING = select(entries).where(entries.c.number == _LAST_NUMBER.scalar_subquery() + 1)
_ANSWERED = select(entries.c.number).where(entries.c.charge == bindparam("charge"))
_ANSWER_OF = select(entries).where(entries.c.charge == bindparam("charge"), entries.c.kind == "answer")
_ANSWERS = (
    select(entries)
    .where(entries.c.dataset == bindparam("dataset"), entries.c.kind == "answer")
    .where(entries.c.question == bindparam("question"))
    .order_by(entries.c.number.desc())
)
_BEST = select(
    answers.c.entry,
    answers.c.shared,
    func.row_number().over(order_by=(answers.c.tau.desc(), answers.c.entry.desc())).label("by_tau"),
    func.row_number()
    .over(partition_by=answers.c.terms, order_by=(answers.c.demand.desc(), answers.c.entry.desc()))
    .label("by_demand"),
)
_BEST_OF = _BEST.where(
    answers.c.dataset == bindparam("dataset"), answers.c.question == bindparam("question")
).subquery()
_BEST_ANSWERS = (
    select(entries)
    .join(_BEST_OF, entries.c.number == _BEST_OF.c.entry)
    .where((_BEST_OF.c.by_tau == 1) | ((_BEST_OF.c.by_demand == 1) & (_BEST_OF.c.shared <= bindparam("together"))))
    .order_by(entries.c.number.desc())
)
"""The answer with the largest τ, and for each of the terms the one whose request asked for most. Terms that more
questions shared than are now requested together are left out: such an answer took a smaller part of its ε."""

_INDEX = answers.insert()
_STORED = select(entries).where(entries.c.kind == "answer").order_by(entries.c.number)
_OPENED = select(entries).where(entries.c.dataset == bindparam("dataset"), entries.c.kind == "open").limit(1)
_CHARGED = select(entries.c.question).where(entries.c.dataset == bindparam("dataset"), entries.c.kind == "charge")
_CHARGED = _CHARGED.distinct()
_ANSWER = entries.alias()
_UNANSWERED = (
    select(entries)
    .where(entries.c.dataset == bindparam("dataset"), entries.c.kind == "charge")
    .where(entries.c.question == bindparam("question"))
    .where(~select(_ANSWER.c.number).where(_ANSWER.c.charge == entries.c.number).exists())
    .order_by(entries.c.number.desc())
    .limit(1)
)
_NAMED = (
    select(entries)
    .where(entries.c.dataset == bindparam("dataset"), (entries.c.kind == "public") | (entries.c.kind == "grow"))
    .order_by(entries.c.number)
)
"""What the holder of the data has said of an account: which columns are public, and that its table may grow."""

_PARTS = (
    select(entries)
    .where(entries.c.dataset == bindparam("dataset"), entries.c.kind == "parts")
    .where(entries.c.question == bindparam("question"))
    .order_by(entries.c.number.desc())
    .limit(1)
)
_NEXT = entries.alias()
_WINDOWS = (
    select(entries, _NEXT.c.previous)
    .outerjoin(_NEXT, _NEXT.c.number == entries.c.number + 1)
    .where(entries.c.dataset == bindparam("dataset"), entries.c.kind == "window")
    .where(entries.c.question == bindparam("question"))
    .order_by(entries.c.number)
)
"""The answers about the windows of a stream, each with the hash that the next entry refers to."""

_CHARGES_SINCE = (
    select(entries, _NEXT.c.previous)
    .outerjoin(_NEXT, _NEXT.c.number == entries.c.number + 1)
    .where(entries.c.dataset == bindparam("dataset"), entries.c.kind == "charge")
    .where(entries.c.number >= bindparam("since"))
    .order_by(entries.c.number)
)
"""The charges from an entry on, each with the hash that the next entry refers to."""

_CHECKS = select(entries).where(IS_CHECK, entries.c.question == bindparam("columns")).order_by(entries.c.number)
_HASH = select(entries.c.hash).where(entries.c.number == bindparam("number"))
_DECISIONS = select(decisions.c.entry)
_DECIDE = decisions.insert()
_OPEN = accounts.insert()
_BEGIN = totals.insert()
_APPEND = entries.insert()
_MOVE = update(ledgers).where(ledgers.c.head == bindparam("previous"))
_MOVE = _MOVE.values(entries=bindparam("number"), head=bindparam("hash"))
_UPGRADE = update(ledgers).where(ledgers.c.id == bindparam("of")).values(schema=SCHEMA)
_ADD = update(totals).where(totals.c.dataset == bindparam("in_dataset"), totals.c.key == bindparam("at_key"))
_ADD = _ADD.values(tau=bindparam("sum"))
_COUNT = update(accounts).where(accounts.c.dataset == bindparam("of")).values(charges=bindparam("number"))
_BUDGET = update(accounts).where(accounts.c.dataset == bindparam("of")).values(budget=bindparam("new"))

_OF_ACCOUNT: tuple[Executable, ...] = (_ACCOUNT, _TOTALS, _LAST_CHANGE, _FOLLOWING)


class AccountStore:
    """The ledger as one transaction sees it. With `write`, no other process writes until the transaction ends.

    dataset, questions: the account and the questions that will be read; they are fetched together with the end of the
    ledger. charge: the number of a charge that will be answered; it is fetched, too. since: the entry from which on
    charges will be read.
    seen: the number and hash of an entry that the ledger must hold; LedgerError if it does not.
    schema: a schema that the ledger had before; another process may have upgraded it since.

    Writes are buffered until the next read, or until `flush`, and then sent together.
    """

    def __init__(
        self,
        transaction: Transaction,
        *,
        write: bool,
        dataset: str | None = None,
        questions: Collection[str] = (),
        charge: int | None = None,
        since: int | None = None,
        seen: tuple[int, str] | None = None,
        schema: int = 1,
    ) -> None:
        self._transaction = transaction
        self._write = write
        self._foreseen: dict[tuple[Executable, tuple[Any, ...]], list[Row]] = {}
        self._unwritten: list[Statement] = []
        position: Statement = (_LOCKED_POSITION if write else _POSITION, {})
        foreseen = _foreseen(dataset, questions, charge, schema)
        if since is not None:
            foreseen.append((_CHARGES_SINCE, {"dataset": dataset, "since": since}))
        if seen is not None:
            foreseen.append((_HASH, {"number": seen[0]}))
        rows, *others = transaction.fetch(position, *foreseen)
        for (query, values), fetched in zip(foreseen, others, strict=True):
            self._foreseen[query, tuple(values.values())] = fetched
        if not rows:
            raise LedgerError(
                "the ledger is damaged: the row with its last entry is missing; put a copy of it in its place"
            )
        ((_, schema, number, head),) = rows
        if schema not in range(1, SCHEMA + 1):
            raise LedgerError(f"the ledger's schema is {schema}, and this version of bayesdp reads 1 to {SCHEMA} only")
        if not isinstance(number, int) or not isinstance(head, str):
            _damaged("it does not say where it ends")
        if seen is not None and others[-1] != [(seen[1],)]:
            _damaged(
                f"entry {seen[0]}, which was there before, is missing or another one; an older copy may have been put "
                "in its place"
            )
        self.schema: int = schema
        self.entries: int = number
        self.head: str = head
        self.moment = transaction.moment.isoformat(timespec="microseconds")
        self._end_checked = False
        self._accounts: dict[str, AccountTotals | None] = {}
        self._said: dict[str, list[Entry]] = {}

    def rows(self, query: Executable, **values: Any) -> list[Row]:
        """Send all buffered writes, then return the rows of a query."""
        self.flush()
        known = self._foreseen.get((query, tuple(values.values())))
        return self._transaction.fetch((query, values))[0] if known is None else known

    def flush(self) -> None:
        """Send the buffered writes; LedgerError unless every statement changes exactly one row."""
        if not self._unwritten:
            return
        changed = self._transaction.write(*self._unwritten)
        self._unwritten.clear()
        self._foreseen.clear()
        if any(rows != 1 for rows in changed):
            raise LedgerError("another process wrote to the ledger at the same time; nothing was charged")

    def rely(self) -> None:
        """Ensure that what was read is on disk when the transaction ends, because the caller relies on it."""
        self._transaction.durable = True

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all accounts."""
        names = tuple(name for (name,) in self.rows(_NAMES))
        if not all(isinstance(name, str) for name in names):
            _damaged("an account has no name")
        return tuple(sorted(names))

    def name(self, given: object) -> str:
        """Return the name under which a data set has its account, or will have it.

        An account that an older version opened under a name that is not normalised is found, too. Two accounts whose
        normalised names are equal, which only an older version can have opened, are refused as ambiguous.
        """
        stored = self.datasets()
        name = given if isinstance(given, str) and given in stored else dataset_name(given)
        same = [other for other in stored if normalised(other) == normalised(name)]
        if len(same) > 1:
            raise LedgerError(
                f"the ledger has {len(same)} accounts whose names are the same text, {' and '.join(map(ascii, same))}: "
                "what was spent on one is not accounted for in the other, so nothing more is released under that name"
            )
        return same[0] if same else name

    def stored(self, dataset: str | None = None, kind: str | None = None) -> Iterator[Entry]:
        """Yield the entries in order, as they are stored, without a check of their hashes."""
        query = _ENTRIES
        if dataset is not None:
            query = query.where(entries.c.dataset == dataset)
        if kind is not None:
            query = query.where(entries.c.kind == kind)
        self.flush()
        yield from (Entry(*row) for row in self._transaction.stream(query))

    def read(self, dataset: str | None = None, kind: str | None = None) -> Iterator[Entry]:
        """Yield the entries in order: all, or those of a data set, or of a kind. LedgerError if one was changed."""
        for entry in self.stored(dataset, kind):
            yield from Entry.intact([tuple(vars(entry).values())])

    def answers(self, dataset: str, question: str) -> tuple[Mapping[str, Any], ...]:
        """Return the stored answers to a question, newest first; LedgerError if one was changed."""
        return self._answers_in(dataset, question, self.rows(_ANSWERS, dataset=dataset, question=question))

    def best_answers(self, dataset: str, question: str, together: int) -> tuple[Mapping[str, Any], ...]:
        """Return the best stored answers to one of several questions, newest first (`State.answered`).

        A ledger without the index of answers gives all of them.
        """
        if self.schema < WITH_ANSWER_INDEX:
            return self.answers(dataset, question)
        rows = self.rows(_BEST_ANSWERS, dataset=dataset, question=question, together=together)
        return self._answers_in(dataset, question, rows)

    def _answers_in(self, dataset: str, question: str, rows: Sequence[Row]) -> tuple[Mapping[str, Any], ...]:
        stored, of_question = Entry.intact(rows), (dataset, "answer", question)
        if not all((entry.dataset, entry.kind, entry.question) == of_question for entry in stored) or not all(
            map(self._is_linked, stored)
        ):
            _damaged(f"an answer of {dataset!r} is not the one that was stored")
        if stored:
            self.rely()
        return tuple(entry.content() for entry in stored)

    def public(self, dataset: str) -> tuple[str, ...]:
        """Return the columns that an account names as public, sorted; LedgerError if an entry was changed."""
        named = [entry.content() for entry in self._named(dataset) if entry.kind == "public"]
        return tuple(sorted({column for body in named for column in body.get("columns", ())}))

    def growth(self, dataset: str) -> Entry | None:
        """Return the entry by which the table of an account may grow; None without one, LedgerError if it was changed.

        Its body has the "model" and the "description" that hold from then on, and the "extents" of the table before.
        """
        return next((entry for entry in self._named(dataset) if entry.kind == "grow"), None)

    def _named(self, dataset: str) -> list[Entry]:
        """Return what the holder of the data has said of an account, oldest first."""
        if dataset in self._said:
            return self._said[dataset]
        said = Entry.intact(self.rows(_NAMED, dataset=dataset))
        if not all(map(self._is_linked, said)) or not self.are_decided(said):
            _damaged(f"what the holder of {dataset!r} has said of it (public columns, growth) is not what was entered")
        self._said[dataset] = said
        return said

    def parts(self, dataset: str, question: str) -> Mapping[str, Any] | None:
        """Return the last record of who is in which part, by a column's fingerprint; None if there is none."""
        noted = Entry.intact(self.rows(_PARTS, dataset=dataset, question=question))
        if not all(map(self._is_linked, noted)):
            _damaged(f"who is in which part of {dataset!r} is not what was noted")
        return noted[0].content() if noted else None

    def windows(self, dataset: str, question: str) -> tuple[Mapping[str, Any], ...]:
        """Return the stored answers about the windows of a stream, oldest first; LedgerError if one was changed."""
        rows = self.rows(_WINDOWS, dataset=dataset, question=question)
        stored = self._followed(rows, f"an answer about a window of {dataset!r} is not the one that was stored")
        return tuple(entry.content() for entry in stored)

    def charges_since(self, dataset: str, since: int) -> list[Entry]:
        """Return the charges of a data set from an entry on, oldest first; LedgerError if one was changed."""
        rows = self.rows(_CHARGES_SINCE, dataset=dataset, since=since)
        return self._followed(rows, f"a charge on {dataset!r} is not the one that was made")

    def _followed(self, rows: Sequence[Row], otherwise: str) -> list[Entry]:
        """Return entries whose rows have the hash that the next entry refers to; LedgerError if one was changed."""
        stored = Entry.intact(row[:-1] for row in rows)
        followed = [
            self.head if entry.number == self.entries else row[-1] for entry, row in zip(stored, rows, strict=True)
        ]
        if [entry.hash for entry in stored] != followed:
            _damaged(otherwise)
        if stored:
            self.rely()
        return stored

    def store_windows(
        self, dataset: str, receipt: OfCharge, bodies: Sequence[Mapping[str, Any]]
    ) -> tuple[Mapping[str, Any], ...]:
        """Write the answers about windows of a stream that have none yet; return all that are stored, oldest first."""
        charge = self._charge_of(dataset, receipt)
        assert charge.question is not None
        known = self.windows(dataset, charge.question)
        taken = {tuple(body["window"]) for body in known}
        new = [{**body, "charge": receipt.entry} for body in bodies if tuple(body["window"]) not in taken]
        for body in new:
            self._append(dataset, "window", body, question=charge.question)
        return (*known, *new)

    def checks_of(self, columns: str) -> list[Entry]:
        """Return the recorded checks of all tables with these columns, by their fingerprint, oldest first."""
        entries = Entry.intact(self.rows(_CHECKS, columns=columns))
        if not self.are_decided([entry for entry in entries if entry.kind in DECISIONS]):
            _damaged("it allows checks that the holder of the data did not allow")
        return entries

    def are_decided(self, made: Sequence[Entry]) -> bool:
        """Tell whether entries that only the holder of the data may make are listed as such."""
        return not made or {entry.number for entry in made} <= {number for (number,) in self.rows(_DECISIONS)}

    def append(self, dataset: str, kind: str, body: Mapping[str, Any], question: str | None = None) -> Entry:
        """Write an entry that changes no account."""
        return self._append(dataset, kind, body, question=question)

    def answer_of(self, dataset: str, charge: int) -> Mapping[str, Any] | None:
        """Return the stored answer of a charge; None if it has none, LedgerError if it was changed."""
        stored = Entry.intact(self.rows(_ANSWER_OF, charge=charge))
        if not all(entry.dataset == dataset and self._is_linked(entry) for entry in stored):
            _damaged(f"an answer of {dataset!r} is not the one that was stored")
        if stored:
            self.rely()
        return stored[0].content() if stored else None

    def account(self, dataset: str) -> AccountTotals | None:
        """Return the account, or None if there is none; LedgerError if it contradicts the chain."""
        if dataset not in self._accounts:
            self._check_end()
            self._accounts[dataset] = self._checked_account(dataset)
        return self._accounts[dataset]

    def state(self, dataset: str, questions: Collection[str] = (), opening: Opening | None = None) -> State:
        """Return the state of an account, with what was charged and answered of these questions.

        opening: how the account will be opened, if it is not open yet. LedgerError if there is no account and no
        opening, or if the account contradicts the chain.
        """
        answered = {question: self.best_answers(dataset, question, len(questions)) for question in questions}
        charged = {question: self._unanswered(dataset, question) for question in questions}
        pending = {question: charge for question, charge in charged.items() if charge is not None}
        if opening is not None and not self.opened_with(dataset, opening):
            account = AccountTotals.opened(opening.to_dict())
            public = tuple(sorted(opening.public))
        else:
            account, public = self._existing(dataset), self.public(dataset)
        growth = self.growth(dataset)
        return State(
            dataset=dataset,
            budget=account.budget,
            totals=account.totals,
            charges=account.charges,
            entries=self.entries,
            head=self.head,
            answered=answered,
            pending=pending,
            moment=self.moment,
            public=public,
            promise=None if account.promise is None else parsed(account.promise),
            grown=None if growth is None else growth.number,
        )

    def charged(self, dataset: str) -> frozenset[str]:
        """Return the fingerprints of all questions that were ever charged."""
        return frozenset(question for (question,) in self.rows(_CHARGED, dataset=dataset))

    def opening(self, dataset: str) -> Mapping[str, Any] | None:
        """Return the body of the entry that opened an account; None if there is none.

        If the table of the account may grow since, model and description are those that hold now.
        """
        account = self.account(dataset)
        if account is None:
            return None
        entry = next(self.read(dataset, "open"), None)
        body = {} if entry is None else entry.content()
        for name in ("model", "description"):
            part = body.get(name)
            if not isinstance(part, Mapping) or fingerprint(part) != getattr(account, name):
                _damaged(f"the account of {dataset!r} is not the one that was opened")
        growth = self.growth(dataset)
        return body if growth is None else {**body, **_identity(growth)}

    def opened(
        self,
        dataset: str,
        model: Mapping[str, Any],
        description: Mapping[str, Any],
        separate_because: str | None,
    ) -> bool:
        """Tell whether the data set has an account.

        LedgerError if that names another model or description, or if there is none and another account looks like
        it, unless there is a reason to have both.
        """
        account = self.account(dataset)
        if account is None:
            if separate_because is None:
                self._check_separate(dataset, model, description)
            return False
        growth = self.growth(dataset)
        known = (account.model, account.description)
        if growth is not None:
            known = tuple(map(fingerprint, _identity(growth).values()))  # type: ignore[assignment]
        if (fingerprint(model), fingerprint(description)) != known:
            opened = self.opening(dataset)
            assert opened is not None
            given = {"model": model, "description": description}
            refuse_other(dataset, opened, parsed(canonical("the account", given)))
        return True

    def opened_with(self, dataset: str, opening: Opening) -> bool:
        """Tell whether the data set has the account that is to be opened; LedgerError as `opened` does.

        LedgerError also if another process has opened it with another promise in the meantime.
        """
        opened = self.opened(dataset, opening.model, opening.description, opening.separate_because)
        if opened:
            promise = self._existing(dataset).promise
            refuse_promise(dataset, opening.loss, None if promise is None else parsed(promise))
        return opened

    def open(self, dataset: str, opening: Opening) -> None:
        """Open an account."""
        account = AccountTotals.opened(opening.to_dict())
        self._change(dataset, account, "open", opening.to_dict())
        row = {"model": account.model, "description": account.description, "budget": account.budget, "charges": 0}
        self._later(_OPEN, dataset=dataset, **row)
        if opening.public:
            self._append(dataset, "public", {"columns": sorted(opening.public), "reason": _AT_OPENING})

    def charge(self, dataset: str, charge: Charge) -> Entry:
        """Write a charge and add its τ to the total of its key."""
        number = self.entries + 1
        account = self._existing(dataset).charged(number, charge.key, charge.query, charge.cost)
        entry = self._change(dataset, account, "charge", charge.to_dict(), charge.question)
        subtotal = next(subtotal for subtotal in account.subtotals if subtotal.key == charge.key)
        if subtotal.since == number:
            self._later(_BEGIN, dataset=dataset, **subtotal._asdict())
        else:
            self._later(_ADD, in_dataset=dataset, at_key=charge.key, sum=subtotal.tau)
        self._later(_COUNT, of=dataset, number=account.charges)
        return entry

    def answer(self, dataset: str, receipt: OfCharge, body: Mapping[str, Any]) -> Entry:
        """Write the one answer of a charge."""
        charge = self._charge_of(dataset, receipt)
        if self.rows(_ANSWERED, charge=receipt.entry):
            raise AnsweredError(f"the charge {receipt.entry} has its answer already; another one needs another charge")
        entry = self._append(dataset, "answer", body, question=charge.question, charge=receipt.entry)
        if self.schema >= WITH_ANSWER_INDEX:
            self._index(entry)
        return entry

    def _charge_of(self, dataset: str, receipt: OfCharge) -> Entry:
        charge = self._entry(receipt.entry)
        if charge is None or (charge.dataset, charge.kind, charge.hash) != (dataset, "charge", receipt.head):
            raise LedgerError(f"entry {receipt.entry} is not the charge on {dataset!r} that this receipt is for")
        return charge

    def _index(self, entry: Entry) -> None:
        """Add an answer to the index of answers."""
        if entry.question is not None:
            row = answer_row(entry.dataset, entry.question, entry.content())
            self._later(_INDEX, entry=entry.number, **row._asdict())

    def set_budget(self, dataset: str, kind: str, budget: float, reason: str | None) -> None:
        """Write that the budget was lowered or raised."""
        before = self._existing(dataset)
        body = {"budget": budget, "before": before.budget, "reason": reason}
        self._change(dataset, before.with_budget(budget), kind, body)
        self._later(_BUDGET, of=dataset, new=budget)

    def contains(self, entry: Entry) -> bool:
        """Tell whether an entry is in the ledger, unchanged."""
        return self._entry(entry.number) == entry

    def continues(self, number: int, head: str) -> bool:
        """Tell whether the chain has this hash at an entry; 0 is before the first."""
        self._check_end()
        return (head == GENESIS) if number == 0 else self.rows(_HASH, number=number) == [(head,)]

    def _later(self, statement: Executable, **values: Any) -> None:
        self._unwritten.append((statement, values))

    def _entry(self, number: int) -> Entry | None:
        """Return an entry of the ledger, or None if there is none."""
        rows = self.rows(_ENTRY, number=number)
        return Entry(*rows[0]) if rows else None

    def _existing(self, dataset: str) -> AccountTotals:
        account = self.account(dataset)
        if account is None:
            raise LedgerError(f"the ledger has no data set {dataset!r}")
        return account

    def _check_separate(self, dataset: str, model: Mapping[str, Any], description: Mapping[str, Any]) -> None:
        """Refuse a new account that may be an existing one under another name."""
        alike = next((name for name in self.datasets() if likeness(name) == likeness(dataset)), None)
        if alike is not None:
            raise LedgerError(
                f"the ledger has no data set {dataset!r}, but it has {alike!r}. Use that name, or, if these really are "
                "other data, say why: " + _SEPARATELY
            )
        openings = {entry.dataset: entry.content() for entry in self.read(kind="open")}
        openings |= {entry.dataset: entry.content() for entry in self.read(kind="grow")}
        alike_tables = [
            name
            for name, opening in openings.items()
            if _alike(model, description, opening.get("model"), opening.get("description"))
        ]
        if alike_tables:
            raise LedgerError(
                f"{dataset!r} looks like {alike_tables[0]!r}, which has an account: same columns, size and model. What "
                "is released of one table under two names is not accounted for together. Use that name, or, if these "
                "really are other data, say why: " + _SEPARATELY
            )

    def _unanswered(self, dataset: str, question: str) -> Pending | None:
        """Return the last charge of a question whose answer is not stored, or None; LedgerError if it was changed."""
        for entry in Entry.intact(self.rows(_UNANSWERED, dataset=dataset, question=question)):
            body = entry.content()
            tau, loss, details = body.get("tau"), body.get("loss"), body.get("details", {})
            known = isinstance(tau, float) or (tau is None and isinstance(loss, Mapping))
            if not known or not isinstance(details, Mapping) or not self._is_linked(entry):
                _damaged(f"a charge on {dataset!r} is not the one that was made")
            return Pending(entry.number, entry.hash, entry.timestamp, tau, details, loss)
        return None

    def _check_end(self) -> None:
        """Refuse a ledger whose last entries were changed, or do not lead up to its recorded end."""
        if self._end_checked:
            return
        rows = self.rows(_RECENT)
        place = self.entries, self.head
        for entry in Entry.intact(rows):
            if (entry.number, entry.hash) != place:
                break
            place = entry.number - 1, entry.previous
        else:
            if len(rows) == RECENT or place == (0, GENESIS):
                self._end_checked = True
                return
        _damaged("its last entries do not lead up to where it says that it ends")

    def _checked_account(self, dataset: str) -> AccountTotals | None:
        named, spent, last, following = (self.rows(query, dataset=dataset) for query in _OF_ACCOUNT)
        if not named and not spent and not last:
            return None
        if len(named) > 1:
            _damaged(f"there are {len(named)} accounts of the name {dataset!r}")
        opened = self.rows(_OPENED, dataset=dataset) if self.schema >= WITH_PROMISES else []
        promise = promise_in(_opening(opened[0])) if opened else None
        account = _account_totals(named[0], tuple(spent), promise) if named else None
        if account is None or not last or not self._sealed(dataset, account, last[0], following):
            _damaged(f"the account of {dataset!r} is not what its entries add up to")
        return account

    def _sealed(self, dataset: str, account: AccountTotals, row: Row, following: Sequence[Row]) -> bool:
        """Tell whether an account matches the seal of its last change; those of version 0.1 have none: recompute."""
        change = _intact(row)
        if not self._is_linked(change, following):
            return False
        seal = change.content().get(SEAL)
        if seal is not None:
            return bool(account.seal == seal)
        replay = Replay()
        contradictions = [wrong for entry in self.read(dataset) for wrong in replay.apply(entry)]
        if self._write:
            index_changes(self._transaction)
        return not contradictions and replay.accounts.get(dataset) == account

    def _is_linked(self, entry: Entry, following: Sequence[Row] | None = None) -> bool:
        """Tell whether the entry after this one follows it; the most recent ones are checked all together."""
        if entry.number > self.entries - RECENT:
            return True
        rows = self.rows(_ENTRY, number=entry.number + 1) if following is None else following
        return bool(rows) and _intact(rows[0]).previous == entry.hash

    def _change(
        self, dataset: str, account: AccountTotals, kind: str, body: Mapping[str, Any], question: str | None = None
    ) -> Entry:
        """Append an entry that changes an account, with the seal of the account after it."""
        entry = self._append(dataset, kind, {**body, SEAL: account.seal}, question=question)
        self._accounts[dataset] = account
        return entry

    def _append(
        self, dataset: str, kind: str, body: Mapping[str, Any], question: str | None = None, charge: int | None = None
    ) -> Entry:
        self._check_end()
        if kind in UPGRADING:
            self.upgrade()
        written = canonical("the body", body)
        entry = Entry(self.entries + 1, dataset, kind, question, charge, written, self.moment, self.head).sealed()
        self._said.pop(dataset, None)
        self._later(_APPEND, **vars(entry))
        self._later(_MOVE, previous=self.head, number=entry.number, hash=entry.hash)
        if kind in DECISIONS:
            self._later(_DECIDE, entry=entry.number)
        self.entries, self.head = entry.number, entry.hash
        return entry

    def upgrade(self) -> None:
        """Give the ledger the present schema: older versions then refuse it, since they could not read all of it.

        On a server, only the owner of the tables can.
        """
        if self.schema < SCHEMA:
            self.flush()
            add_tables(self._transaction)
            for row in self._transaction.fetch((_STORED, {}))[0]:
                self._index(Entry(*row))
            self._later(_UPGRADE, of=1)
            self.schema = SCHEMA


_AT_OPENING = "named when the account was opened"


@lru_cache(maxsize=16)
def _account_totals(row: Row, spent: tuple[Row, ...], promise: str | None) -> AccountTotals:
    """Return the account that these rows describe; cached, since a release reads the same rows twice."""
    _, model, description, budget, charges = row
    return AccountTotals(model, description, budget, charges, tuple([Subtotal(*total[1:]) for total in spent]), promise)


@lru_cache(maxsize=16)
def _opening(row: Row) -> Mapping[str, Any]:
    """Return the body of the entry that opened an account."""
    return _intact(row).content()


def _foreseen(dataset: str | None, questions: Collection[str], charge: int | None, schema: int) -> list[Statement]:
    """Return the statements that will be needed, given the arguments of `AccountStore`."""
    if dataset is None:
        return []
    if charge is not None:
        return [(_RECENT, {}), (_ENTRY, {"number": charge}), (_ANSWERED, {"charge": charge})]
    together, indexed = {"together": len(questions)}, schema >= WITH_ANSWER_INDEX
    of_questions: list[Statement] = []
    for question in questions:
        named = {"dataset": dataset, "question": question}
        of_questions += [(_BEST_ANSWERS, named | together) if indexed else (_ANSWERS, named), (_UNANSWERED, named)]
    of_account = (*_OF_ACCOUNT, _NAMED, *([_OPENED] if schema >= WITH_PROMISES else []))
    return [(_RECENT, {}), *((query, {"dataset": dataset}) for query in of_account), *of_questions]


def _alike(model: object, description: object, other_model: object, other: object) -> bool:
    """Tell whether two accounts may be of one table under one model; the size of a growing table is not compared."""
    grows = any(isinstance(facts, Mapping) and "growing" in facts for facts in (description, other))
    mine = table_likeness(model, description, of_any_size=grows)
    return mine == table_likeness(other_model, other, of_any_size=grows)


_SEPARATELY = param("separate_because", like='"reason"') + ", which the ledger keeps"


def _intact(row: Row) -> Entry:
    (entry,) = Entry.intact([row])
    return entry


def _damaged(what: str) -> NoReturn:
    raise LedgerError(
        f"the ledger is damaged or was changed: {what}. Nothing was charged; bayesdp budget verify says more"
    )


def _identity(growth: Entry) -> dict[str, Mapping[str, Any]]:
    """Return the model and the description of an account whose table may grow; LedgerError if they are damaged."""
    body = growth.content()
    found = {name: body.get(name) for name in ("model", "description")}
    if not all(isinstance(part, Mapping) for part in found.values()):
        _damaged(f"entry {growth.number} does not say what holds of {growth.dataset!r} as it grows")
    return found  # type: ignore[return-value]


def refuse_promise(dataset: str, given: Mapping[str, Any] | None, opened: Mapping[str, Any] | None) -> None:
    """Refuse an account that was opened with another δ: it is fixed for the life of the account."""
    if (given or {}).get("delta") == (opened or {}).get("delta"):
        return
    requested, recorded = ("no delta" if loss is None else f"delta = {loss['delta']:g}" for loss in (given, opened))
    raise LedgerError(
        f"the data set {dataset!r} was opened with {recorded}, not with {requested}, and that is fixed for the life of "
        "an account. Leave " + in_python("delta=", elsewhere="--budget-delta") + " out to go on as it was opened"
    )
