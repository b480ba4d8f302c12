"""Where a ledger lives: its tables, how it is opened and created, and transactions that no other process can pass.

SQLite runs with a rollback journal and `synchronous=EXTRA`. Deleting the journal is what commits a transaction; with
FULL that deletion may not have reached the disk when the power fails, and a charge whose answer is already out would be
undone. EXTRA also syncs the directory. WAL with FULL would be durable too, but it leaves a second file that a copy must
not forget, needs shared memory, and saves nothing here, where a connection lives for one transaction only (`NullPool`),
so that a fork never inherits one. A file is built under another name and linked into place complete: there is never
half a ledger, and an empty file is not mistaken for a new one.

PostgreSQL runs in READ COMMITTED; every writer first locks the one row of the ledger table. Readers see a snapshot.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError, LedgerError, MissingDependencyError
from bayesdp.ledger.location import user_ledger
from bayesdp.ledger.records import CHANGES, GENESIS

__all__ = [
    "IS_CHANGE",
    "SCHEMA",
    "Database",
    "accounts",
    "entries",
    "index_changes",
    "ledgers",
    "to_be_created",
    "totals",
]

SCHEMA = 1
PATIENCE = 60
"""How many seconds a transaction waits for others before it gives up."""

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
    sa.Column("tau", sa.Text, nullable=False),  # exact: a fraction
    sa.Column("since", _Number, nullable=False),
)

_READ_SQLITE = ("BEGIN",)
_WRITE_SQLITE = ("PRAGMA synchronous = EXTRA", "BEGIN IMMEDIATE")
_READ_POSTGRESQL = ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",)
_WRITE_POSTGRESQL = (
    "SET LOCAL synchronous_commit = on; SET LOCAL lock_timeout = '{patience}s'; "
    "SET LOCAL idle_in_transaction_session_timeout = '10min'",  # a client that vanished must not lock out the others
)


class Database:
    """The database behind a ledger.

    Needs the address of one, or a place where `create` may make it. Raises `InvalidInputError` for an address of no
    known form, `LedgerError` with the reason when there is no ledger of this schema there.
    """

    def __init__(self, url: str | Path, *, create: bool) -> None:
        path = _sqlite_path(url)
        self._secrets: tuple[str, ...] = ()
        self._begin = (_READ_POSTGRESQL, _WRITE_POSTGRESQL) if path is None else (_READ_SQLITE, _WRITE_SQLITE)
        self._engine = self._at_url(str(url)) if path is None else self._at_path(path, create=create)
        with self.transaction(write=False) as connection:
            installed = sa.inspect(connection).has_table(ledgers.name)
        if not installed and not (create and path is None):
            raise LedgerError(f"{self.name} is not a ledger: it has no table {ledgers.name}")
        if not installed:
            with self.transaction(write=True) as connection:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_CREATION_LOCK)))
                if not sa.inspect(connection).has_table(ledgers.name):
                    _install(connection)

    @contextlib.contextmanager
    def transaction(self, *, write: bool, engine: sa.Engine | None = None) -> Iterator[sa.Connection]:
        """Enter a transaction: committed when left, undone by an exception; `LedgerError` if it fails.

        engine: that of another database than this one, of the same kind.
        """
        try:
            with (engine or self._engine).connect() as connection, connection.begin():
                for statement in self._begin[write]:
                    connection.exec_driver_sql(statement.format(patience=PATIENCE))
                yield connection
        except SQLAlchemyError as error:
            raise LedgerError(f"the ledger {self.name} cannot be used: {self._reason(error)}") from None

    def close(self) -> None:
        """Let go of everything."""
        self._engine.dispose()

    def damages(self) -> list[str]:
        """Return what SQLite's own check of the file finds wrong; PostgreSQL looks after its pages itself."""
        if self._engine.dialect.name != "sqlite":
            return []
        with self.transaction(write=False) as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
            return [f"the file is damaged: {line}" for line in found if line != "ok"]

    def _reason(self, error: SQLAlchemyError) -> str:
        """Return the database's own words, without the parameters, and without the password."""
        found = str(error.orig if isinstance(error, DBAPIError) else error).strip() or type(error).__name__
        for secret in self._secrets:
            found = found.replace(secret, "***")
        first = found.splitlines()[0]
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
            return sa.create_engine(
                url.set(drivername="postgresql+psycopg", query={"connect_timeout": str(PATIENCE), **url.query}),
                poolclass=sa.NullPool,
                isolation_level="READ COMMITTED",
                hide_parameters=True,
                connect_args={"client_encoding": "utf8"},
            )
        except ImportError:
            raise MissingDependencyError(
                'a ledger in PostgreSQL needs psycopg: pip install "bayesdp[postgresql]"'
            ) from None

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
            with self.transaction(write=True, engine=_sqlite_engine(fresh)) as connection:
                _install(connection)
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


def index_changes(connection: sa.Connection) -> None:
    """Give a ledger of version 0.1 the index by which an account's last change is found; without it, that is slower."""
    with contextlib.suppress(SQLAlchemyError), connection.begin_nested():  # of a table that may be somebody else's
        _changes.create(connection, checkfirst=True)


def _is_users(place: Path) -> bool:
    """Whether a file is the user's own ledger, whose folder is made with it."""
    return place == Path(os.path.realpath(user_ledger()))


def _cannot_open(path: str | Path, error: OSError | ValueError) -> LedgerError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return LedgerError(f"cannot open the ledger {brief(str(path))}: {reason}")


def _install(connection: sa.Connection) -> None:
    _metadata.create_all(connection, checkfirst=False)
    connection.execute(ledgers.insert().values(id=1, schema=SCHEMA, entries=0, head=GENESIS))


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
        raise InvalidInputError(f"ledger must be {_FORMS}, not {brief(url)}")
    path: str | None = url
    if "://" in url or re.match(r"(sqlite|postgres(ql)?)(\+\w+)?:|file:", url):
        try:
            parsed = sa.make_url(url)
        except (ArgumentError, ValueError):
            raise InvalidInputError(f"the ledger's URL cannot be read; expected {_FORMS}") from None
        if parsed.drivername in {"postgresql", "postgresql+psycopg", "postgres"}:
            return None
        if parsed.drivername not in {"sqlite", "sqlite+pysqlite"}:
            raise InvalidInputError(f"a ledger cannot live in {parsed.drivername}; expected {_FORMS}")
        if parsed.host or parsed.query:
            raise InvalidInputError(f"a SQLite ledger is a file and takes no host and no options; expected {_FORMS}")
        path = parsed.database
    if not path or path.startswith((":memory:", "file:")):
        raise InvalidInputError(f"a ledger must outlive the process, so it cannot be in memory; expected {_FORMS}")
    return path
