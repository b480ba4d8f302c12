"""Tables in databases, by URL: `sqlite:///steps.db#walks`, `duckdb:///steps.duckdb#walks`, `postgresql://host/db#walks`.

DuckDB and PostgreSQL compute in the database. Polars reads a SQLite file in portions and checks that each value has the
declared type of its column, because SQLite does not.
"""

from __future__ import annotations

import datetime
import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp._support.validation import brief
from bayesdp.errors import FrameError, MissingDependencyError, RecordsError
from bayesdp.frames.failures import refusing
from bayesdp.frames.files import name_list
from bayesdp.frames.snapshots import Snapshot

if TYPE_CHECKING:
    import polars
    from sqlalchemy import URL

__all__ = ["DatabaseAddress", "database_file", "is_database", "open_database"]

_SCHEME = re.compile(r"(sqlite|duckdb|postgresql|postgres)://", re.IGNORECASE)

_PORTION = 50_000
"""Rows of a SQLite table in memory at a time, unless Polars asks for another number."""


@dataclass(frozen=True)
class DatabaseAddress:
    """The address of a database, and the name of a table in it.

    >>> str(DatabaseAddress.of("postgresql://ada:secret@db/health#visits"))
    'postgresql://ada:***@db/health#visits'
    """

    url: URL
    table: str | None

    @classmethod
    def of(cls, address: str) -> DatabaseAddress:
        """Parse an address; FrameError if that fails. Messages contain no password."""
        from sqlalchemy import make_url
        from sqlalchemy.exc import ArgumentError

        written, _, table = address.partition("#")
        try:
            return cls(make_url(written), table or None)
        except (ArgumentError, ValueError):
            raise FrameError(
                "cannot read the address of a database; write it like sqlite:///steps.db#table, "
                "duckdb:///steps.duckdb#table or postgresql://user@host/database#table"
            ) from None

    def __str__(self) -> str:
        address = self.url.set(query={}).render_as_string(hide_password=True)  # options may hold a password, too
        return address if self.table is None else f"{address}#{self.table}"

    @property
    def file(self) -> str:
        """The file of a database; FrameError if it does not exist."""
        path = self.url.database
        if not path or not Path(path).is_file():
            raise FrameError(f"cannot read {self}: there is no such file")
        return path

    def named(self, tables: Sequence[str]) -> str:
        """Return the name of the table; FrameError if none is named, or if there is none of that name."""
        if self.table is not None and self.table in tables:
            return self.table
        there = f"it has {name_list(sorted(tables))}" if tables else "it has no tables"
        if self.table is None:
            raise FrameError(
                f"{self} names no table; add one after a #, such as {self}#{(*tables, 'table')[0]}; {there}"
            )
        raise FrameError(f"{DatabaseAddress(self.url, None)} has no table {brief(self.table)}; {there}")


def is_database(source: str) -> bool:
    """Whether a text is the address of a database.

    >>> is_database("sqlite:///steps.db#walks"), is_database("steps.csv")
    (True, False)
    """
    return _SCHEME.match(source) is not None


def database_file(source: str) -> str | None:
    """Return the file of an address; None for a server, and for other texts."""
    if not is_database(source):
        return None
    url = DatabaseAddress.of(source).url
    return None if url.get_backend_name().startswith("postgres") else url.database


def open_database(source: str) -> tuple[Any, str, Snapshot | None]:
    """Return an unread table of a database in its engine, its address without a password, and a snapshot of its file.

    There is no snapshot for a server, nor for a SQLite file in WAL mode, whose times do not change with its data.

    Raises FrameError for a database or table that does not exist, MissingDependencyError if a package is missing.
    """
    place = DatabaseAddress.of(source)
    backend = place.url.get_backend_name()
    opener = {"sqlite": _sqlite, "duckdb": _duckdb}.get(backend, _postgresql)
    with refusing(lambda error: _refusal(place, error), ImportError):
        snapshot = None if opener is _postgresql or _writes_ahead(place) else Snapshot.of(str(place), [place.file])
        return opener(place), str(place), snapshot


def _refusal(place: DatabaseAddress, error: BaseException) -> FrameError:
    return FrameError(
        f"cannot open {place}: {type(error).__name__}; its message is withheld because it may quote the address; open "
        "the database with its own client to see it"
    )


def _writes_ahead(place: DatabaseAddress) -> bool:
    """Return whether a file is a SQLite database in WAL mode, by its header."""
    with Path(place.file).open("rb") as file:
        header = file.read(20)
    return header.startswith(b"SQLite format 3") and header[18:] == b"\x02\x02"


# --- DuckDB and PostgreSQL --------------------------------------------------------------------------------------------


def _duckdb(place: DatabaseAddress) -> Any:
    with _needing("duckdb", "bayesdp[duckdb]"):
        duckdb: Any = import_module("duckdb")
    connection = duckdb.connect(place.file, read_only=True)
    tables = [name for (name,) in connection.execute("SELECT table_name FROM information_schema.tables").fetchall()]
    return connection.table(_quoted(place.named(tables), '"'))


def _postgresql(place: DatabaseAddress) -> Any:
    with _needing("ibis", "ibis-framework[postgres]"):
        ibis: Any = import_module("ibis")
    url = place.url
    options: dict[str, Any] = {"host": url.host, "port": url.port, "user": url.username, "password": url.password}
    options |= {"database": url.database, **url.query}
    with _needing("PostgreSQL", "ibis-framework[postgres]", AttributeError):
        postgres = ibis.postgres
    backend = postgres.connect(**{name: value for name, value in options.items() if value is not None})
    weakref.finalize(backend, backend.con.close)  # the connection lives as long as its tables
    schema, dot, table = (place.table or "").rpartition(".")
    inside = {"database": schema} if dot else {}
    tables = backend.list_tables(**inside)
    name = DatabaseAddress(url, table or None).named(tables)
    return backend.table(name, **inside)


@contextmanager
def _needing(what: str, package: str, missing: type[Exception] = ImportError) -> Iterator[None]:
    """Raise MissingDependencyError if the block fails because a package is missing."""
    try:
        yield
    except missing:
        raise MissingDependencyError(
            f"reading from {what} needs one more package; try: pip install '{package}'"
        ) from None


def _quoted(name: str, mark: str) -> str:
    return mark + name.replace(mark, 2 * mark) + mark


# --- SQLite -----------------------------------------------------------------------------------------------------------


def _sqlite(place: DatabaseAddress) -> polars.LazyFrame:
    import sqlite3

    from polars.io.plugins import register_io_source

    address = f"{Path(place.file).resolve().as_uri()}?mode=ro"

    def connected() -> Any:
        return closing(sqlite3.connect(address, uri=True, check_same_thread=False))

    with connected() as connection:
        known = (
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
        )
        table = place.named([name for (name,) in connection.execute(known)])
        described = connection.execute(f"PRAGMA table_info({_quoted(table, '`')})").fetchall()
    columns = {str(name): _Declared.as_(str(declared or "")) for _, name, declared, *_ in described}
    schema = {name: column.dtype for name, column in columns.items()}

    def portions(
        wanted: list[str] | None, predicate: polars.Expr | None, rows: int | None, size: int | None
    ) -> Iterator[polars.DataFrame]:
        names = list(columns) if wanted is None else wanted
        listed_names = ", ".join(_quoted(name, "`") for name in names)
        limit = "" if rows is None else f" LIMIT {int(rows)}"
        with connected() as connection:
            cursor = connection.execute(f"SELECT {listed_names} FROM {_quoted(table, '`')}{limit}")  # noqa: S608 (quoted)
            while portion := cursor.fetchmany(size or _PORTION):
                yield _portion(portion, {name: columns[name] for name in names}, predicate, str(place))

    return register_io_source(portions, schema=schema)


def _portion(
    rows: Sequence[tuple[Any, ...]], columns: Mapping[str, _Declared], predicate: polars.Expr | None, place: str
) -> polars.DataFrame:
    import polars

    series = []
    for (name, column), values in zip(columns.items(), zip(*rows, strict=True), strict=True):
        try:
            read = [None if value is None else column.read(value) for value in values]
        except (ValueError, TypeError):
            raise RecordsError(
                f"column {name!r} of {place} is declared as {column.name or 'nothing'}, but holds a value of another "
                "type, which SQLite allows; correct the value or the declaration"
            ) from None
        series.append(polars.Series(name, read, dtype=column.dtype))
    frame = polars.DataFrame(series)
    return frame if predicate is None else frame.filter(predicate)


@dataclass(frozen=True)
class _Declared:
    """A column of SQLite: its declared type, the type in Polars, and the function that converts a value."""

    name: str
    dtype: Any
    read: Callable[[Any], Any]

    @classmethod
    def as_(cls, name: str) -> _Declared:
        """Return the column of a declared type, by SQLite's own rules, with booleans and times added.

        A column without a declared type, or of bytes, holds bytes, and no question can be about it.
        """
        import polars

        kinds = (
            (r"^BOOL(EAN)?$", polars.Boolean(), _truth),
            (r"^DATE$", polars.Date(), _date),
            (r"^(DATETIME|TIMESTAMP)", polars.Datetime("us"), _moment),
            (r"INT", polars.Int64(), _of(int)),
            (r"CHAR|CLOB|TEXT", polars.String(), _of(str)),
            (r"REAL|FLOA|DOUB|NUMERIC|DECIMAL", polars.Float64(), _number),
        )
        for pattern, dtype, read in kinds:
            if re.search(pattern, name.upper()):
                return cls(name, dtype, read)
        return cls(name, polars.Binary(), _of(bytes))


def _of(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError
        return value

    return read


def _truth(value: Any) -> bool:
    if value not in (0, 1) or not isinstance(value, int):
        raise ValueError
    return bool(value)


def _number(value: Any) -> float:
    if not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _date(value: Any) -> datetime.date:
    return datetime.date.fromisoformat(value)


def _moment(value: Any) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(value)
    if moment.tzinfo is not None:
        raise ValueError
    return moment
