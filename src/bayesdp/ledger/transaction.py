"""One transaction of a ledger's database, in as few round trips as there can be.

Statements are written with SQLAlchemy, compiled once, and executed by the driver. Those that do not depend on each
other's results are sent together: in PostgreSQL's pipeline mode a batch costs one round trip, and the server executes
its statements one after the other, each seeing what was committed before it began. What begins the transaction goes
with the first batch.

A commit that waits for the disk holds the ledger's lock meanwhile, so that all writers wait for the disk in turn.
Instead a writer commits without waiting, which releases the lock, and in the same batch flushes the server's log: it
commits an empty message, and waits for the disk and for standbys. The log is written in order, so everything committed
before is then on disk, too, and many flushes are one. A reader of what will be relied on, such as a stored answer,
flushes likewise: a crash may undo what another process has not flushed yet.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.pool import PoolProxiedConnection

from bayesdp.errors import LedgerError

__all__ = ["Row", "Statement", "Transaction"]

Row = tuple[Any, ...]
Statement = tuple[sa.Executable, Mapping[str, Any]]
"""What to execute, and the values of its parameters."""

_DIALECTS: dict[str, Any] = {
    "sqlite": sqlite.dialect(paramstyle="named"),
    "postgresql": postgresql.psycopg.dialect(),  # type: ignore[no-untyped-call]
}
_CLOCK = sa.select(sa.func.clock_timestamp())
_FLUSH = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    "SELECT pg_logical_emit_message(true, 'bayesdp', '') - '0/0'::pg_lsn, set_config('synchronous_commit', 'on', true)",
    "COMMIT",
    "SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn",
)


@dataclass
class Transaction:
    """A transaction that begins with its first statement.

    engine: where connections come from.
    begin:  what begins the transaction.
    durable: whether all that it wrote and read must be on disk when it is committed.
    flushes: whether a server's log is flushed for that after the commit; else the commit itself waits for the disk.

    Raises the driver's own exceptions; `Database.transaction` turns them into ours.
    """

    engine: sa.Engine
    begin: tuple[str, ...]
    durable: bool = False
    flushes: bool = False
    committing: bool = False
    _connection: PoolProxiedConnection | None = None
    _pool: sa.Pool | None = None
    _moment: datetime | None = None

    @property
    def server(self) -> bool:
        """Whether the database is a server, with a clock of its own and connections that can break."""
        return self.engine.dialect.name == "postgresql"

    @property
    def broken(self) -> bool:
        """Whether the connection to the server is lost, or there never was one."""
        return self.server and (self._connection is None or bool(self._driver.closed))

    @property
    def moment(self) -> datetime:
        """The time by the ledger's clock: the server's, if there is one, just after the transaction got its locks."""
        if self._moment is None:
            self.fetch()
        assert self._moment is not None
        return self._moment

    def fetch(self, *statements: Statement) -> list[list[Row]]:
        """Return the rows of each of these statements, which are sent together."""
        texts = [(_text(self.engine.dialect.name, statement), values) for statement, values in statements]
        return [rows for rows, _ in self._together(texts)]

    def stream(self, statement: sa.Executable, **values: Any) -> Iterator[Row]:
        """Yield the rows of a statement, however many there are."""
        self.fetch()
        text, constants = _text(self.engine.dialect.name, statement)
        # Not `yield from`: stopping in the middle would close the cursor, perhaps after its connection.
        for row in self._driver.execute(text, {**constants, **values}):  # noqa: UP028
            yield row

    def write(self, *statements: Statement) -> list[int]:
        """Execute statements, which are sent together; return how many rows each of them changed."""
        texts = [(_text(self.engine.dialect.name, statement), values) for statement, values in statements]
        return [changed for _, changed in self._together(texts)]

    def run(self, text: str) -> None:
        """Execute a text."""
        self._together([((text, {}), {})])

    def commit(self) -> None:
        """Commit, if anything was begun. While `committing`, it is not known whether it is done."""
        if self._connection is not None:
            if self.server and self._driver.info.transaction_status.name != "INTRANS":
                raise LedgerError("the ledger's transaction was given up before its commit; nothing was written")
            self.committing = True
            if self.server and self.flushes and self.durable:
                self._commit_and_flush()
            else:
                self._connection.commit()
            self.committing = False

    def close(self) -> None:
        """Undo what is not committed and give the connection back; close one that is lost or not kept."""
        if self._connection is None:
            return
        connection, self._connection = self._connection, None
        try:
            connection.rollback()
        except Exception:
            connection.invalidate()
        if self.server and self._pool is not self.engine.pool:  # the others were closed meanwhile
            connection.invalidate()
        connection.close()

    def _commit_and_flush(self) -> None:
        """Commit, and wait until that is on disk; LedgerError if the server confirms it and it is not."""
        texts: list[_Text] = [(text, {}) for text in ("COMMIT", *_FLUSH)]
        results = [rows for rows, _ in _executed(self._driver, texts, self.server, prepare=False)]
        *_, ((written, _),), _, ((flushed,),) = results
        if flushed < written:
            raise LedgerError(
                "the ledger's server confirms what is not on its disk: bayesdp budget show tells what it holds. "
                "Nothing was released"
            )

    @property
    def _driver(self) -> Any:
        assert self._connection is not None
        return self._connection.driver_connection

    def _together(self, texts: Sequence[tuple[_Text, Mapping[str, Any]]]) -> list[_Result]:
        given = [(text, {**constants, **values}) for (text, constants), values in texts]
        if self._connection is not None:
            return _executed(self._driver, given, self.server)
        clock: list[_Text] = [(_text("postgresql", _CLOCK)[0], {})] if self.server else []
        first = [*((text, {}) for text in self.begin), *clock, *given]
        results = self._first(first)[len(self.begin) :]
        if clock:
            ((moment,),), _ = results.pop(0)
            self._moment = moment.astimezone(UTC)
        else:
            self._moment = datetime.now(UTC)
        return results

    def _first(self, texts: Sequence[tuple[str, Mapping[str, Any]]]) -> list[_Result]:
        """Execute the first statements; on a new connection, if the one that was kept turns out to be lost.

        They only read and lock, so that nothing is done twice.
        """
        self._connect()
        assert self._connection is not None
        used = self._connection.info.get(_USED, False)
        self._connection.info[_USED] = True
        try:
            return _executed(self._driver, texts, self.server)
        except Exception:
            if not (used and self.broken):
                raise
        self.close()
        self.engine.dispose()
        self._connect()
        return _executed(self._driver, texts, self.server)

    def _connect(self) -> None:
        self._pool = self.engine.pool
        self._connection = self.engine.raw_connection()


_USED = "used"
_Text = tuple[str, Mapping[str, Any]]
_Result = tuple[list[Row], int]


@lru_cache(maxsize=256)
def _text(dialect: str, statement: sa.Executable) -> _Text:
    """Return a statement's text for the driver, and the parameters whose values stand in the statement."""
    compiled = statement.compile(dialect=_DIALECTS[dialect])  # type: ignore[attr-defined]
    return str(compiled), {name: value for name, value in (compiled.params or {}).items() if value is not None}


def _executed(
    driver: Any, texts: Sequence[tuple[str, Mapping[str, Any]]], server: bool, *, prepare: bool | None = None
) -> list[_Result]:
    """Execute texts in order; return the rows of each and how many it changed.

    prepare: whether a server keeps the texts; by default those that come again and again.
    """
    if not server:
        return [
            _result(cursor, cursor.description) for cursor in (driver.execute(text, values) for text, values in texts)
        ]
    cursors = []
    with driver.pipeline() if _pipelines() else contextlib.nullcontext():
        for text, values in texts:
            cursor = driver.cursor()
            cursors.append(cursor.execute(text, values or None, prepare=prepare))
    return [_result(cursor, cursor.rownumber) for cursor in cursors]  # its description takes long to make


@lru_cache(maxsize=1)
def _pipelines() -> bool:
    """Whether the client library can send statements together."""
    import psycopg

    return psycopg.Pipeline.is_supported()


def _result(cursor: Any, rows: object) -> _Result:
    """Return the rows and how many were changed. rows: None if the statement has none."""
    return ([] if rows is None else cursor.fetchall()), cursor.rowcount
