"""The database of a ledger: its tables, how it is opened and created, and transactions that exclude other writers.

SQLite runs with a rollback journal and `synchronous=EXTRA`. Deleting the journal is what commits a transaction; with
FULL that deletion may not have reached the disk when the power fails, and a charge whose answer is already out would be
undone. EXTRA also syncs the directory. WAL with FULL would be durable too, but it leaves a second file that a copy must
not forget, needs shared memory, and saves nothing here, where a connection lives for one transaction only (`NullPool`),
so that a fork never inherits one. A file is built under another name and linked into place complete: there is never
half a ledger, and an empty file is not mistaken for a new one. Writers queue for the file (`locking`).

PostgreSQL runs in READ COMMITTED; every writer first locks the one row of the ledger table. Readers see a snapshot.
Its commit releases that row at once and then waits for the disk, together with all other writers (`transaction`).
Connections are kept, for connecting takes longer than everything else; a fork forgets those of its parent. A connection
that is lost before the commit has written nothing. One that is lost during the commit leaves open whether it has:
`UncertainError`.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import re
import sqlite3
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from bayesdp._support.messages import name_of
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError, LedgerError, MissingDependencyError, UnavailableError
from bayesdp.ledger.location import user_ledger
from bayesdp.ledger.locking import write_turn
from bayesdp.ledger.records import CHANGES, CHECKS, GENESIS
from bayesdp.ledger.transaction import Transaction

__all__ = [
    "IS_CHANGE",
    "IS_CHECK",
    "SCHEMA",
    "Database",
    "LostError",
    "UncertainError",
    "accounts",
    "add_tables",
    "answers",
    "decisions",
    "entries",
    "index_changes",
    "ledgers",
    "reconnecting",
    "to_be_created",
    "totals",
]

T = TypeVar("T")

SCHEMA = 3
"""The schema that new ledgers have. A ledger of an earlier one gets it with the first entry that needs it."""

PATIENCE = 60
"""How many seconds a transaction waits for others before it gives up."""

RECOVERY = 30
"""For how many seconds to try to reach a lost server again before a charge or its answer is given up."""

_PAUSE = 0.1
_KEPT = 2
"""How many idle connections to a server are kept; threads that work at once open more, for the time they need them."""

_CREATION_LOCK = 0x6261796573_6470
_FORMS = "a file such as budget.db, sqlite:///budget.db, or postgresql://user@host/database"

_metadata = sa.MetaData()
_Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")

ledgers = sa.Table(
    "bayesdp_ledger",
    _metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("schema", sa.Integer, nullable=False),
    sa.Column("entries", _Number, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
)
entries = sa.Table(
    "bayesdp_entries",
    _metadata,
    sa.Column("number", _Number, primary_key=True, autoincrement=False),
    sa.Column("dataset", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("question", sa.Text),
    sa.Column("charge", _Number, unique=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("timestamp", sa.Text, nullable=False),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Index("bayesdp_entries_lookup", "dataset", "kind", "question", "number"),
)
IS_CHANGE = sa.text(f"kind IN ({', '.join(map(repr, CHANGES))})")
"""Literal, so that the databases see that a query with this condition can use the index that has it."""

_changes = sa.Index(
    "bayesdp_entries_changes",
    entries.c.dataset,
    entries.c.number,
    sqlite_where=IS_CHANGE,
    postgresql_where=IS_CHANGE,
)
IS_CHECK = sa.text(f"kind IN ({', '.join(map(repr, CHECKS))})")

_checks = sa.Index(
    "bayesdp_entries_checks",
    entries.c.question,
    entries.c.number,
    sqlite_where=IS_CHECK,
    postgresql_where=IS_CHECK,
)
accounts = sa.Table(
    "bayesdp_accounts",
    _metadata,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("budget", sa.Double, nullable=False),
    sa.Column("charges", _Number, nullable=False),
)
totals = sa.Table(
    "bayesdp_totals",
    _metadata,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("tau", sa.Text, nullable=False),  # exact: `pieces.written`
    sa.Column("since", _Number, nullable=False),
)
decisions = sa.Table(
    "bayesdp_decisions",
    _metadata,
    sa.Column("entry", _Number, primary_key=True, autoincrement=False),
)

answers = sa.Table(
    "bayesdp_answers",
    _metadata,
    sa.Column("entry", _Number, primary_key=True, autoincrement=False),
    sa.Column("dataset", sa.Text, nullable=False),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("tau", sa.Double, nullable=False),
    sa.Column("terms", sa.Text, nullable=False),
    sa.Column("demand", sa.Double, nullable=False),
    sa.Column("shared", sa.Integer, nullable=False),
    sa.Index("bayesdp_answers_lookup", "dataset", "question"),
)

_READ_SQLITE = ("BEGIN",)
_WRITE_SQLITE = ("PRAGMA busy_timeout = {milliseconds}", "PRAGMA synchronous = EXTRA", "BEGIN IMMEDIATE")
_READ_POSTGRESQL = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",)
_WRITE_POSTGRESQL = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    "SELECT set_config('synchronous_commit', '{waits}', true), set_config('lock_timeout', '{milliseconds}', true), "
    "set_config('idle_in_transaction_session_timeout', '10min', true)",  # for clients that vanished
)
# to_regclass would answer from what the connection remembers, which may be that there was no such table a moment ago.
_INSTALLED = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name",
    "postgresql": "SELECT 1 FROM pg_catalog.pg_class WHERE relname = :name AND pg_catalog.pg_table_is_visible(oid)",
}
_KEPT_ALIVE = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}
"""With these settings, a server that vanished is noticed after a minute."""


class LostError(UnavailableError):
    """There is no connection to the ledger's server, or it was lost; nothing was written."""


class UncertainError(LostError):
    """The connection was lost during the commit, so it is not known whether the commit was made.

    lost: the error that the connection was lost.
    """

    def __init__(self, lost: str) -> None:
        super().__init__(f"{lost}; it was lost during the commit")
        self.lost = lost


class Database:
    """The database behind a ledger.

    Needs the address of one, or a place where `create` may make it. Raises `InvalidInputError` for an address of no
    known form, `LedgerError` with the reason when there is no ledger of this schema there.
    """

    def __init__(self, url: str | Path, *, create: bool) -> None:
        path = _sqlite_path(url)
        self._secrets: tuple[str, ...] = ()
        self._directory: Path | None = None
        self._opened: weakref.WeakSet[Any] = weakref.WeakSet()
        self._begin = (_READ_POSTGRESQL, _WRITE_POSTGRESQL) if path is None else (_READ_SQLITE, _WRITE_SQLITE)
        self._flushes = False
        self._engine = self._at_url(str(url)) if path is None else self._at_path(path, create=create)
        self._keep()
        with self.transaction(write=False) as transaction:
            installed = self._is_installed(transaction)
        self._flushes = path is None and self._can_flush()
        if not installed and not (create and path is None):
            raise LedgerError(f"{self.name} is not a ledger: it has no table {ledgers.name}")
        if not installed:
            with self.transaction(write=True) as transaction:
                transaction.run(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})")
                if not self._is_installed(transaction):
                    _install(transaction)

    @contextlib.contextmanager
    def transaction(self, *, write: bool) -> Iterator[Transaction]:
        """Enter a transaction: committed when left, undone by an exception; `LedgerError` if it fails.

        That is a `LostError` if there is no connection to the server, and an `UncertainError` if the transaction may or
        may not have been committed.
        """
        if self._process != os.getpid():  # the connections are those of the parent
            self.close()
            self._keep()
        with self._write_turn(write=write) as patience:
            begin = _patiently(self._begin[write], patience, waits=not self._flushes)
            with self._transaction(self._engine, begin, write=write) as transaction:
                yield transaction

    @contextlib.contextmanager
    def _transaction(self, engine: sa.Engine, begin: tuple[str, ...], *, write: bool) -> Iterator[Transaction]:
        transaction = Transaction(engine, begin, durable=write, flushes=self._flushes)
        broken = False
        try:
            try:
                yield transaction
                transaction.commit()
            except BaseException:
                broken = transaction.broken
                raise
            finally:
                transaction.close()
        except (SQLAlchemyError, engine.dialect.loaded_dbapi.Error) as error:
            reason = f"the ledger {self.name} cannot be used: {self._reason(error)}"
            if transaction.committing and (broken or (write and self._flushes)):
                raise UncertainError(reason) from None
            if write and (transaction.server or not transaction.committing):
                reason += "; nothing was written"
            raise (LostError if broken else UnavailableError)(reason) from None

    @contextlib.contextmanager
    def _write_turn(self, *, write: bool) -> Iterator[float]:
        """Wait in the queue of writers to a SQLite file; yields how long to wait for its lock after that."""
        if not write or self._directory is None:
            yield PATIENCE
            return
        with write_turn(self._directory, PATIENCE) as left:
            yield left

    def close(self) -> None:
        """Close all connections."""
        self._close()

    def _keep(self) -> None:
        """Keep connections for this process, and close them once they are no longer needed."""
        self._process = os.getpid()
        self._close = weakref.finalize(self, _dispose, self._engine, self._opened, self._process)

    def damages(self) -> list[str]:
        """Return the damages that SQLite's own check of the file finds; PostgreSQL checks its pages itself."""
        if self._engine.dialect.name != "sqlite":
            return []
        with self.transaction(write=False) as transaction:
            (rows,) = transaction.fetch((sa.text("PRAGMA integrity_check"), {}))
            return [f"the file is damaged: {line}" for (line,) in rows if line != "ok"]

    def _is_installed(self, transaction: Transaction) -> bool:
        (rows,) = transaction.fetch((sa.text(_INSTALLED[self._engine.dialect.name]), {"name": ledgers.name}))
        return bool(rows)

    def _can_flush(self) -> bool:
        """Tell whether the server can flush its log after a commit; else the commit itself must wait for the disk."""
        self._flushes = True
        try:
            with self.transaction(write=False) as transaction:
                transaction.fetch()
                transaction.durable = True
        except LostError:
            raise
        except LedgerError:
            return False
        return True

    def _reason(self, error: Exception) -> str:
        """Return the database's own message, without the parameters and the password."""
        words = str(error.orig if isinstance(error, DBAPIError) else error).strip() or type(error).__name__
        for secret in self._secrets:
            words = words.replace(secret, "***")
        first = words.splitlines()[0]
        return (
            f"{first} (waited {PATIENCE} seconds for other processes)"
            if "locked" in first or "lock timeout" in first
            else first
        )

    def _at_url(self, address: str) -> sa.Engine:
        url = sa.make_url(address)
        secrets = (url.password, *(url.query.get(option) for option in ("password", "sslpassword")))
        self._secrets = tuple(str(secret) for secret in secrets if secret)
        self.name = url.set(query={}).render_as_string(hide_password=True)
        try:
            engine = sa.create_engine(
                url.set(
                    drivername="postgresql+psycopg",
                    query={"connect_timeout": str(PATIENCE), **_KEPT_ALIVE, **url.query},
                ),
                pool_size=_KEPT,
                max_overflow=-1,
                hide_parameters=True,
                use_native_hstore=False,  # it would be looked up on every connection
                connect_args={"client_encoding": "utf8", "autocommit": True},  # we say BEGIN and COMMIT ourselves
            )
        except ImportError:
            raise MissingDependencyError(
                'a ledger in PostgreSQL needs psycopg: pip install "bayesdp[postgresql]"'
            ) from None
        opened = self._opened
        sa.event.listen(engine, "connect", lambda connection, _: opened.add(connection))
        return engine

    def _at_path(self, path: str | Path, *, create: bool) -> sa.Engine:
        self.name = str(path)
        try:
            place = Path(os.path.realpath(path))
            if create and to_be_created(path):
                self._create(place)
            if not place.is_file():
                raise LedgerError(f"there is no ledger at {path}" + " (it is not a file)" * place.exists())
        except (OSError, ValueError) as error:
            raise _cannot_open(path, error) from None
        self._directory = place.parent
        return _sqlite_engine(place)

    def _create(self, place: Path) -> None:
        """Build a ledger that only its owner can read, and link it into place unless another process was first."""
        if _is_users(place):
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".bayesdp-", suffix=".new", dir=place.parent)
        os.close(handle)
        fresh = Path(name)
        try:
            fresh.chmod(0o600)  # whatever the umask took away
            with self._transaction(
                _sqlite_engine(fresh), _patiently(_WRITE_SQLITE, PATIENCE), write=True
            ) as transaction:
                _install(transaction)
            with contextlib.suppress(FileExistsError):
                place.hardlink_to(fresh)
        finally:
            fresh.unlink()
        if os.name == "posix":
            directory = os.open(place.parent, os.O_RDONLY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)


def reconnecting(work: Callable[[], T]) -> T:
    """Return what `work` returns; retry it while there is no connection, and at last raise its `LostError`."""
    begun, pause = time.monotonic(), _PAUSE
    while True:
        try:
            return work()
        except LostError:
            if time.monotonic() - begun + pause > RECOVERY:
                raise
        time.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - so that not all come back at once
        pause = min(2 * pause, 10 * _PAUSE)


def to_be_created(url: str | Path) -> bool:
    """Tell whether a ledger would be a new SQLite file; refuses what cannot be one."""
    path = _sqlite_path(url)
    if path is None:
        return False
    try:
        place = Path(os.path.realpath(path))
        if place.exists():
            return False
        if not place.parent.is_dir() and not _is_users(place):
            raise LedgerError(f"cannot create the ledger {path}: there is no directory {place.parent}")
    except (OSError, ValueError) as error:
        raise _cannot_open(path, error) from None
    return True


def index_changes(transaction: Transaction) -> None:
    """Give a ledger of version 0.1 the index that makes it faster to find an account's last change."""
    _add_index(transaction, _changes)


def add_tables(transaction: Transaction) -> None:
    """Give a ledger of an earlier schema the tables that were added later, and an index for speed."""
    for table in (decisions, answers):
        transaction.write((sa.schema.CreateTable(table, if_not_exists=True), {}))
    for index in sorted(answers.indexes, key=lambda index: str(index.name)):
        transaction.write((sa.schema.CreateIndex(index, if_not_exists=True), {}))
    _add_index(transaction, _checks)


def _add_index(transaction: Transaction, index: sa.Index) -> None:
    transaction.run("SAVEPOINT indexing")
    try:
        transaction.write((sa.schema.CreateIndex(index, if_not_exists=True), {}))
    except transaction.engine.dialect.loaded_dbapi.Error:  # the table may belong to another role
        transaction.run("ROLLBACK TO SAVEPOINT indexing")


def _dispose(engine: sa.Engine, opened: weakref.WeakSet[Any], process: int) -> None:
    """Close the connections of a process; a fork closes its copies only, for its parent goes on using them."""
    ours = process == os.getpid()
    for connection in () if ours else tuple(opened):
        _sever(connection)
    engine.dispose(close=ours)


def _sever(connection: Any) -> None:
    """Close a connection without a message to the server, which would end it for the parent as well."""
    if connection.closed:
        return
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, connection.fileno(), inheritable=False)
    os.close(nowhere)
    connection.close()


def _patiently(statements: tuple[str, ...], patience: float, *, waits: bool = True) -> tuple[str, ...]:
    """Return the statements that begin a transaction. waits: whether its commit waits for the disk."""
    milliseconds = math.ceil(1000 * patience)
    return tuple(text.format(milliseconds=milliseconds, waits="on" if waits else "off") for text in statements)


def _is_users(place: Path) -> bool:
    """Whether a file is the user's own ledger, whose folder is made with it."""
    return place == Path(os.path.realpath(user_ledger()))


def _cannot_open(path: str | Path, error: OSError | ValueError) -> LedgerError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return LedgerError(f"cannot open the ledger {brief(str(path))}: {reason}")


def _install(transaction: Transaction) -> None:
    for table in _metadata.sorted_tables:
        transaction.write((sa.schema.CreateTable(table), {}))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            transaction.write((sa.schema.CreateIndex(index), {}))
    transaction.write((ledgers.insert(), {"id": 1, "schema": SCHEMA, "entries": 0, "head": GENESIS}))


def _sqlite_engine(path: Path) -> sa.Engine:
    """Return an engine that never creates the file, and leaves BEGIN to us: `isolation_level=None`."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path.as_uri() + "?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None)
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")  # for verify to see
        return connection

    return sa.create_engine("sqlite://", creator=connect, poolclass=sa.NullPool, hide_parameters=True)


def _sqlite_path(url: str | Path) -> str | Path | None:
    """Return the path of a SQLite ledger, or None for the URL of a PostgreSQL one."""
    if isinstance(url, Path):
        return url
    if not isinstance(url, str) or not url.strip():
        raise InvalidInputError(name_of("ledger") + f" must be {_FORMS}, not {brief(url)}")
    path: str | None = url
    if "://" in url or re.match(r"(sqlite|postgres(ql)?)(\+\w+)?:|file:", url):
        try:
            parsed = sa.make_url(url)
        except (ArgumentError, ValueError):
            raise InvalidInputError(f"the ledger's URL cannot be read; expected {_FORMS}") from None
        if parsed.drivername in {"postgresql", "postgresql+psycopg", "postgres"}:
            return None
        if parsed.drivername not in {"sqlite", "sqlite+pysqlite"}:
            raise InvalidInputError(f"{parsed.drivername} cannot hold a ledger; expected {_FORMS}")
        if parsed.host or parsed.query:
            raise InvalidInputError(f"a SQLite ledger is a file and takes no host and no options; expected {_FORMS}")
        path = parsed.database
    if not path or path.startswith((":memory:", "file:")):
        raise InvalidInputError(f"a ledger must outlive the process, so it cannot be in memory; expected {_FORMS}")
    return path
