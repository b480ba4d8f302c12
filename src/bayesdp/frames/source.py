"""Lazy tables of every engine: the dataframes that Narwhals supports, files and databases.

Engines treat NaN, nulls in comparisons and integers with gaps differently. The rules here make them agree: a value is
*present* if it is neither null nor NaN, expressions on other values are masked, and only aggregates are collected.
"""

from __future__ import annotations

import datetime
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import reduce
from importlib import import_module
from operator import and_, or_
from pathlib import Path
from typing import Any, Literal

import narwhals as nw

from bayesdp._support.validation import Missing, Scalar, brief, checked_missing, plain_number
from bayesdp._support.words import folded
from bayesdp.errors import BayesDPError, FrameError, MissingDependencyError, NoColumnError, QueryError, RecordsError
from bayesdp.frames.databases import is_database, open_database
from bayesdp.frames.failures import first_line, refusing
from bayesdp.frames.files import name_list, odd_csv, open_files
from bayesdp.frames.paths import is_path, named_together
from bayesdp.frames.snapshots import Snapshot

__all__ = [
    "KINDS",
    "Kind",
    "LazyTable",
    "Missing",
    "as_kind",
    "checked_missing",
    "one_or_zero",
    "places",
    "plain",
    "reading",
    "scan",
    "whole",
]

Kind = Literal["truth", "whole", "number", "text", "time"]

_PLAIN = frozenset((int, str, bool))

_PICKS = 64
"""How many picks a table remembers."""

_SHUFFLED = 200
"""The default number of partitions of Spark."""

KINDS: Mapping[Kind, str] = {
    "truth": "true and false",
    "whole": "whole numbers",
    "number": "numbers",
    "text": "texts",
    "time": "times",
}


@dataclass(frozen=True)
class LazyTable:
    """A table that has not been read: only its columns are known."""

    frame: nw.LazyFrame[Any]
    schema: Mapping[str, nw.dtypes.DType]
    name: str = "the table"
    pending: tuple[Callable[[Any], Any], ...] = ()
    void: frozenset[str] = frozenset()
    """Columns of a CSV file without any value, and so without a type."""
    guessed: bool = False
    """Whether the types of columns were inferred from values, as in a CSV file."""
    complete: bool = False
    """Whether to assume that no value is missing or NaN and leave out masks; the same scan must then verify it."""
    snapshot: Snapshot | None = None
    """The state of the table's files when it was opened from files, which must not change."""
    _picks: dict[Any, LazyTable] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What was picked before, which has not been read: every question about a table picks twice."""

    @property
    def engine(self) -> nw.Implementation:
        """The engine that computes on the table."""
        engine: nw.Implementation = self.frame.implementation
        return engine

    def __contains__(self, column: object) -> bool:
        return column in self.schema

    def pick(self, columns: Sequence[str], *, key_columns: Collection[str] = (), complete: bool = False) -> LazyTable:
        """Return the table with only these columns, cleaned; raises NoColumnError for other names.

        Cleaned means: missing values and NaN are null, numbers are 64-bit floats, whole numbers 64-bit integers, and
        categories are texts.

        key_columns: columns that only distinguish records: their integers keep their width, so sorting and grouping
                     are faster.
        complete:    assume that no value is missing, which is faster. The results hold only if the same scan finds that
                     every value is present and that every column of numbers has a finite sum.
        """
        self.check_names(columns)
        if self.in_pandas:  # which computes at once
            with reading(self):
                return self._picked(columns, key_columns, complete)
        wanted = (tuple(columns), frozenset(key_columns), complete)
        picked = self._picks.get(wanted)
        if picked is None:
            with reading(self):
                picked = self._picked(columns, key_columns, complete)
            if len(self._picks) >= _PICKS:  # other threads may pick meanwhile
                self._picks.clear()
            self._picks[wanted] = picked
        return picked

    def _picked(self, columns: Sequence[str], key_columns: Collection[str], complete: bool) -> LazyTable:
        for column in columns:
            if column in self.void:
                raise RecordsError(f"column {column!r} of {self.name} holds no values: all of them are missing")
            self._check_name(column)
        frame = self.frame.select(*dict.fromkeys(columns))
        native: Any = frame.to_native()
        if self.engine.is_pandas():
            frame = nw.from_native(with_nulls(native, self.name)).lazy()
        elif self.engine.is_dask():
            known = with_nulls(native._meta, self.name, _TEXTS)
            frame = nw.from_native(native.map_partitions(with_nulls, self.name, _TEXTS, meta=known)).lazy()
        frame = frame.select(
            *_cleaned(LazyTable(frame, frame.collect_schema(), self.name, complete=complete), key_columns)
        )
        return self.made_of(frame, complete=complete)

    def made_of(self, frame: nw.LazyFrame[Any], *, complete: bool = False) -> LazyTable:
        """Return the table in a frame derived from this table's, with the same name and files."""
        schema = frame.collect_schema()
        return LazyTable(frame, schema, self.name, guessed=self.guessed, complete=complete, snapshot=self.snapshot)

    def check_names(self, columns: Iterable[str]) -> None:
        """Raise NoColumnError for columns that the table does not have."""
        for column in columns:
            if column not in self.schema:
                complaint = f"{self.name} has no column {brief(column)}"
                whole = f"{complaint}; it has {name_list(list(self.schema))}"
                raise NoColumnError(whole, complaint if self.guessed else whole)

    def types_from_values(self, columns: Iterable[str]) -> bool:
        """Whether the type of some of these columns was inferred from values: in a CSV file, in pandas's objects."""
        if self.guessed or not self.in_pandas:
            return self.guessed
        types: Any = self.frame.to_native().dtypes
        return any(types[column].kind == "O" for column in columns)

    def _check_name(self, column: str) -> None:
        """Refuse a name that the engine would read as a pattern, or as another column."""
        misread = column == "*" and self.engine.is_duckdb()
        if self.engine.is_polars():
            misread = column == "*" or (column.startswith("^") and column.endswith("$"))
        elif self.in_spark:
            misread = column == "*" or "." in column or "`" in column
        if misread:
            raise FrameError(
                f"{self.engine.value} reads the column name {brief(column)} as a pattern or a path; rename the column"
            )
        if self.engine.is_duckdb() or self.engine.is_ibis():
            native: Any = self.frame.to_native()
            if sum(name.lower() == column.lower() for name in native.columns) > 1:
                raise FrameError(
                    f"{self.name} has several columns called {brief(column)} that differ only in case, which "
                    f"{self.engine.value} ignores; rename them"
                )

    @property
    def in_spark(self) -> bool:
        """Whether Spark computes."""
        return bool(self.engine.is_pyspark() or self.engine.is_pyspark_connect())

    @property
    def partitions(self) -> int:
        """How many partitions the engine computes separately; 1 if it does not partition tables."""
        native: Any = self.frame.to_native()
        if self.engine.is_dask():
            return int(native.npartitions)
        setting = native.sparkSession.conf.get("spark.sql.shuffle.partitions") if self.in_spark else "1"
        return int(setting) if setting.isdigit() else _SHUFFLED

    @property
    def in_pandas(self) -> bool:
        """Whether pandas computes aggregates, so that a window follows the order of the rows."""
        return self.engine.is_pandas() or self.engine.is_dask()

    def together(self, columns: Sequence[str]) -> LazyTable:
        """Move the records that agree in these columns (none: all records) into one partition of a Dask table."""
        if not self.engine.is_dask():
            return self
        native: Any = self.frame.to_native()
        native = native.shuffle(on=list(columns)) if columns else native.repartition(npartitions=1)
        return replace(self, frame=nw.from_native(native).lazy())

    def mapped(self, function: Callable[[Any], Any]) -> LazyTable:
        """Return the table with a function applied to its frame; for Dask, to each partition."""
        if self.engine.is_dask():
            return replace(self, pending=(*self.pending, function))
        frame = function(self.frame)
        return replace(self, frame=frame, schema=frame.collect_schema())

    def parts(self, aggregate: Callable[[Any], Any]) -> list[list[tuple[Any, ...]]]:
        """Compute an aggregate and return its rows: once, or for Dask once for each partition.

        Dask has no integers with missing values and no windows; inside a partition pandas has both.

        This is the only place that reads from a table. Raises FrameError if the files of the table changed since it
        was opened.
        """
        with reading(self), nullcontext() if self.snapshot is None else self.snapshot.held():
            return self._computed(aggregate)

    def sums(self, numbers: Mapping[str, nw.Expr]) -> dict[str, int]:
        """Return the exact sums of expressions of whole numbers, by their names."""

        def totals(frame: Any) -> Any:
            return frame.select(**numbers).select(*(nw.col(name).sum() for name in numbers))

        parts = [map(whole, part[0]) for part in self.parts(totals)]
        return dict(zip(numbers, map(sum, zip(*parts, strict=True)), strict=True))

    def _computed(self, aggregate: Callable[[Any], Any]) -> list[list[tuple[Any, ...]]]:
        native: Any = self.frame.to_native()
        if not self.in_pandas:
            options = {"engine": "streaming"} if self.engine.is_polars() else {}
            return [aggregate(self.frame).collect(**options).rows()]
        steps = (*self.pending, aggregate)
        if self.engine.is_pandas():
            return [_in_pandas(steps, native)]
        dask: Any = import_module("dask")
        return list(dask.compute(*(dask.delayed(_in_pandas)(steps, part) for part in native.to_delayed())))

    def kind(self, column: str) -> Kind:
        """Return the kind of values in a column; refuses lists, bytes and other types."""
        dtype = self.schema[column]
        if dtype.is_boolean():
            return "truth"
        if dtype.is_integer():
            return "whole"
        if dtype.is_float() or dtype.is_decimal():
            return "number"
        if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
            return "text"
        if isinstance(dtype, (nw.Date, nw.Datetime)):
            return "time"
        raise FrameError(
            f"column {column!r} of {self.name} holds values of type {dtype}; expected numbers, texts, times or booleans"
        )

    def column(self, name: str) -> nw.Expr:
        """Return a column of values."""
        self.kind(name)
        return nw.col(name)

    def present(self, columns: Iterable[str]) -> nw.Expr:
        """Return whether a record has a value in all of these columns. Never null."""
        return reduce(and_, (~nw.col(column).is_null() for column in columns))

    def decided(self, truth: nw.Expr) -> nw.Expr:
        """Return a condition that is false where it is null."""
        return truth if self.complete else truth.fill_null(False)

    def ones(self, condition: nw.Expr) -> nw.Expr:
        """Return a condition as ones and zeros; PostgreSQL, through Ibis, cannot cast booleans to 64-bit integers."""
        return one_or_zero(condition) if self.engine.is_ibis() else condition.cast(nw.Int64)

    def occurrences(self, condition: nw.Expr) -> nw.Expr:
        """Return the expression, fastest in this engine, whose sum is the number of records that meet a condition.

        DuckDB adds up booleans; Spark chooses numbers faster than it casts booleans.
        """
        if self.engine.is_duckdb():
            return condition
        return one_or_zero(condition) if self.in_spark else self.ones(condition)

    def truth(self, name: str) -> nw.Expr:
        """Return a column of booleans as a condition; FrameError for any other column."""
        if self.kind(name) != "truth":
            raise FrameError(
                f"column {name!r} of {self.name} holds {KINDS[self.kind(name)]}, so it is not a condition by itself; "
                f"compare it with a value, such as {name} > 0"
            )
        return self.column(name)

    def pair(self, left: str, right: str) -> tuple[nw.Expr, nw.Expr]:
        """Return two columns in types that can be compared; FrameError for others, such as texts and numbers."""
        kinds = self.kind(left), self.kind(right)
        if kinds == ("time", "time") and _clock(self.schema[left]) != _clock(self.schema[right]):
            raise FrameError(
                f"column {left!r} holds {_clock(self.schema[left])} and column {right!r} {_clock(self.schema[right])}; "
                "they cannot be compared"
            )
        if kinds[0] == kinds[1]:
            return self.column(left), self.column(right)
        if set(kinds) == {"whole", "number"}:
            return self.column(left).cast(nw.Float64), self.column(right).cast(nw.Float64)
        raise FrameError(
            f"column {left!r} holds {KINDS[kinds[0]]} and column {right!r} {KINDS[kinds[1]]}; they cannot be compared"
        )

    def clipped(self, name: str, low: int, high: int) -> nw.Expr:
        """Return a column of whole numbers of any width, clipped, as 64-bit integers."""
        column, dtype = nw.col(name), self.schema[name]
        if isinstance(dtype, (nw.UInt64, nw.UInt128)):
            column = column.clip(0, max(high, 0)).cast(nw.Int64)
        elif isinstance(dtype, nw.Int128):
            column = column.clip(low, high).cast(nw.Int64)
        return column.clip(low, high)

    def value(self, name: str, literal: Scalar) -> Any:
        """Return a value in a type that can be compared with the column; QueryError if the column cannot hold it.

        A value in a condition keeps its type: a column of texts refuses `room > 0`. Values of questions and states of
        chains are first converted by `as_kind`.
        """
        kind = self.kind(name)
        if kind == "text" and isinstance(literal, str):
            return literal
        if kind == "time" and isinstance(literal, str):
            return self._moment(name, literal)
        if kind == "truth" and not isinstance(literal, str) and literal in (0, 1):
            return bool(literal)
        if kind == "number" and not isinstance(literal, str):
            return float(literal)
        if kind == "whole" and not isinstance(literal, str):
            return self._whole(name, literal)
        raise QueryError(
            f"column {name!r} of {self.name} holds {KINDS[kind]}, which {brief(literal)} is not; "
            "write the value as in the table"
        )

    def _whole(self, name: str, literal: float) -> float:
        """Return a number that engines can compare with integers: beyond their range, a float beyond it."""
        if not float(literal).is_integer():
            return literal
        dtype = self.schema[name]
        bits = 127 if isinstance(dtype, (nw.Int128, nw.UInt128)) else 63
        least, largest = (0, 2 ** (bits + 1)) if dtype.is_unsigned_integer() else (-(2**bits), 2**bits)
        return int(literal) if least <= literal < largest else math.copysign(1e40, literal)

    def _moment(self, name: str, literal: str) -> datetime.date | nw.Expr:
        dtype = self.schema[name]
        try:
            if isinstance(dtype, nw.Date):
                return datetime.date.fromisoformat(literal)
            moment = datetime.datetime.fromisoformat(literal)
        except ValueError:
            raise QueryError(
                f"column {name!r} of {self.name} holds times; write them like 2012-10-01 or 2012-10-01T08:05:00, "
                f"not {brief(literal)}"
            ) from None
        if _clock(dtype) == "times in a time zone":
            return moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment
        if moment.tzinfo is not None:
            raise QueryError(
                f"column {name!r} of {self.name} holds times without a time zone, but {brief(literal)} has one; leave "
                "it out"
            )
        if self.in_spark:  # Spark's own literals have a time zone
            return nw.lit(moment.isoformat(sep=" ")).cast(nw.Datetime("us"))
        return moment

    def check_distinct(self, name: str, values: Sequence[Scalar]) -> None:
        """Refuse values that the column cannot hold, and values that are equal in it."""
        for value in values:
            self.value(name, as_kind(self.kind(name), value))
        places(name, self.kind(name), values)

    def check_distinct_cells(self, name: str, cells: Sequence[Sequence[Scalar]]) -> None:
        """Refuse texts in different cells that a database may treat as equal: a record would be in several cells.

        Polars, pandas and Dask compare texts exactly. A database compares them by the collation of the column, which
        may ignore case, accents or trailing spaces.
        """
        if self.kind(name) != "text" or self.engine.is_polars() or self.in_pandas:
            return
        place_of: dict[str, int] = {}
        for place, cell in enumerate(cells):
            for value in cell:
                if place_of.setdefault(folded(str(value)), place) != place:
                    raise QueryError(
                        f"{self.engine.value} may treat {brief(value)} as equal to a value of {name!r} in another "
                        "cell, because databases may ignore case, accents and spaces; count both in one cell, or read "
                        "the table with Polars"
                    )

    def member(self, name: str, values: Sequence[Scalar]) -> nw.Expr:
        """Return whether a column has one of these values; QueryError for a value that it cannot hold."""
        wanted = [self.value(name, value) for value in values]
        if self.kind(name) == "whole":
            wanted = [value for value in wanted if isinstance(value, int)]
        if self.kind(name) == "truth":
            column = self.column(name)
            either = [column if value else ~column for value in dict.fromkeys(wanted)]
            return either[0] if len(either) == 1 else either[0] | either[1]
        if self.kind(name) == "time" and self.in_spark:
            equal: list[nw.Expr] = [self.column(name) == value for value in wanted]
            return reduce(or_, equal)
        return self.column(name).is_in(wanted)


def as_kind(kind: Kind, literal: Scalar) -> Scalar:
    """Return a value converted to the kind of a column, or unchanged if it cannot be converted.

    The state "1" of a model matches the number 1 of a table with numbers, and 1 matches the text "1". The texts true
    and false match booleans. A boolean matches no text, which could be true, True or TRUE.

    >>> as_kind("whole", "1"), as_kind("text", 1.0), as_kind("truth", "True"), as_kind("whole", "01")
    (1, '1', True, '01')
    """
    if kind == "text":
        return literal if isinstance(literal, str | bool) else str(plain_number(literal))
    if kind == "time" or not isinstance(literal, str):
        return literal
    if kind == "truth" and literal.lower() in _TRUTHS:
        return _TRUTHS[literal.lower()]
    return plain_number(
        float(literal) if _REAL.fullmatch(literal) else int(literal) if _WHOLE.fullmatch(literal) else literal
    )


_TRUTHS = {"true": True, "false": False}
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,299})")
_REAL = re.compile(r"-?(0|[1-9]\d{0,15})(\.\d{1,99}([eE][+-]?\d\d?)?|[eE][+-]?\d\d?)")
"""Numbers as in JSON, of limited length."""


def places(name: str, kind: Kind, values: Sequence[Scalar]) -> dict[Any, int]:
    """Return the positions of values, by the value that a column of that kind holds for each.

    Raises QueryError for values that are equal in it, such as 1 and "1", or a time written in two ways.
    """
    place_of: dict[Any, int] = {}
    for place, value in enumerate(values):
        held: Any = as_kind(kind, value)
        if kind == "number" and not isinstance(held, str):
            held = float(held)
        elif kind == "time":
            moment = datetime.datetime.fromisoformat(str(value))
            held = moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment
        if held in place_of:
            raise QueryError(
                f"{brief(values[place_of[held]])} and {brief(value)} are the same value of {name!r}; name it once"
            )
        place_of[held] = place
    return place_of


def scan(source: object) -> LazyTable:
    """Open a table: a dataframe of any engine that Narwhals supports, files by path or glob, or a database by URL.

    A list of paths or globs is one table.

    Raises FrameError for anything else, MissingDependencyError if the package of an engine is missing.

    >>> import polars
    >>> list(scan(polars.DataFrame({"steps": [0, 7]})).schema)
    ['steps']
    """
    if isinstance(source, LazyTable):
        return source
    if isinstance(source, str) and is_database(source):
        native, name, snapshot = open_database(source)
        return replace(_frame(native), name=name, snapshot=snapshot)
    paths = [source] if isinstance(source, str | Path) else source
    if not isinstance(paths, list | tuple):
        return _frame(source)
    if paths is source and not all(is_path(path) or (isinstance(path, str) and is_database(path)) for path in paths):
        return _frame(source)
    if not paths:
        raise FrameError("the list of paths is empty; name the files of the table")
    names = [str(path) for path in paths]
    if len(names) == 1 and paths is source:
        return scan(names[0])
    address = next((name for name in names if is_database(name)), None)
    if address is not None:
        raise FrameError(f"{brief(address)} is a table of a database, and cannot be read with files; name it alone")
    opened = open_files(*names)
    table = _frame(opened.frame)
    return replace(
        table, name=named_together(names), void=opened.void, guessed=opened.guessed, snapshot=opened.snapshot
    )


def _frame(source: object) -> LazyTable:
    with refusing(lambda error: _not_opened(source, error)):
        frame = nw.from_native(source)  # type: ignore[call-overload]
        frame = frame.lazy(backend="polars") if frame.implementation.is_pyarrow() else frame.lazy()
        schema = frame.collect_schema()
    odd = [name for name in schema if not isinstance(name, str)]
    if odd:
        raise FrameError(
            f"the names of columns must be texts, but the table has {name_list(odd)}; rename them, for example with "
            "frame.columns = frame.columns.map(str)"
        )
    return LazyTable(frame, schema)


def _not_opened(source: object, error: BaseException) -> BayesDPError:
    """Return the error to raise if an engine fails to open a frame; its own text may quote records."""
    if isinstance(error, ImportError):
        return _lacking(type(source).__name__, error)
    if isinstance(error, TypeError | ValueError | AttributeError):
        return FrameError(_no_table(source))
    return RecordsError(f"the table cannot be opened: its engine stopped with {type(error).__name__}; {_WITHHELD}")


def _no_table(source: object) -> str:
    """Return why something is not a table. The message has its type but none of its values, which may be private."""
    repeated = _repeated(source)
    if repeated:
        return f"the table has several columns called {name_list(repeated)}; rename them, so that each has its own name"
    column = hasattr(type(source), "__array__") or hasattr(type(source), "to_numpy")
    return (
        "expected a table (pandas, Polars, PyArrow, DuckDB, PySpark, Dask or Ibis) or a file's path, not something of "
        f"type {type(source).__name__}" + ("; give the whole table, and name the column" if column else "")
    )


def _repeated(source: Any) -> list[Any]:
    with suppress(Exception):
        names = source.column_names if hasattr(source, "column_names") else source.columns
        return [name for name, count in Counter(names).items() if count > 1]
    return []


def _cleaned(table: LazyTable, key_columns: Collection[str]) -> Iterator[nw.Expr]:
    as_it_is = table.complete and (table.engine.is_duckdb() or table.in_spark)  # there, a clipped NaN is a number
    for column, dtype in table.schema.items():
        kind = table.kind(column)
        if kind == "number":
            number = nw.col(column) if isinstance(dtype, nw.Float64) else nw.col(column).cast(nw.Float64)
            yield number if as_it_is else number.fill_nan(None)
        elif kind == "whole" and not (column in key_columns or isinstance(dtype, _WIDE)):
            yield nw.col(column).cast(nw.Int64)
        elif isinstance(dtype, nw.Datetime) and dtype.time_zone not in (None, "UTC") and table.engine.is_polars():
            yield nw.col(column).dt.convert_time_zone("UTC")
        elif kind == "text" and not isinstance(dtype, nw.String):
            yield nw.col(column).cast(nw.String)
        else:
            yield nw.col(column)


def one_or_zero(condition: nw.Expr) -> nw.Expr:
    """Return a condition as 1 where it holds and 0 elsewhere."""
    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0))


_WIDE = (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128)


def _clock(dtype: nw.dtypes.DType) -> str:
    if isinstance(dtype, nw.Datetime):
        return "times" if dtype.time_zone is None else "times in a time zone"
    return "dates"


_TEXTS = {"string": "string", "empty": "string"}
_OBJECTS = {**_TEXTS, "boolean": "boolean", "date": "datetime64[us]", "datetime": "datetime64[us]"}
_NULLABLE = {"f": "Float64", "i": "Int64", "u": "Int64", "b": "boolean"}


def with_nulls(frame: Any, name: str, objects: Mapping[str, str] = _OBJECTS) -> Any:
    """Return a pandas frame with pandas's nullable types, which depend only on its own types.

    objects: the kinds of Python objects that columns may hold, with their types. All partitions of a Dask table must
             have one type, so their objects must be texts.
    """
    return frame.assign(**{column: _with_nulls(frame[column], column, name, objects) for column in frame.columns})


def _with_nulls(column: Any, called: str, name: str, objects: Mapping[str, str]) -> Any:
    pandas: Any = import_module("pandas")
    if column.dtype == object:
        column = _typed(column, called, name, objects)
    kind = column.dtype.kind
    if isinstance(column.dtype, pandas.ArrowDtype) and "decimal" in str(column.dtype):
        return column.astype("double[pyarrow]").astype("Float64")
    if kind == "u" and column.dtype.itemsize == 8:
        return column.astype("UInt64")
    if kind in _NULLABLE:
        return column.astype(_NULLABLE[kind])
    return column.dt.tz_convert("UTC") if getattr(column.dtype, "tz", None) is not None else column


def _typed(column: Any, called: str, name: str, objects: Mapping[str, str]) -> Any:
    """Return a column of Python objects as texts, booleans or times; refuses all others.

    The type must be inferred from the values. That is unsafe for numbers: the step of a sum depends on whether they
    are whole, so one private value could change it. Here one value can cause a refusal at most.
    """
    pandas: Any = import_module("pandas")
    held = pandas.api.types.infer_dtype(column, skipna=True)
    if held not in objects:
        raise RecordsError(
            f"column {called!r} of {name} has pandas's type object, which may hold only texts"
            f"{', booleans and times' if 'boolean' in objects else ''}; convert it to a type such as Int64, Float64, "
            'boolean or datetime64[us]: frame.astype({"column": "Int64"})'
        )
    return pandas.to_datetime(column) if objects[held] == "datetime64[us]" else column.astype(objects[held])


def _in_pandas(steps: Sequence[Callable[[Any], Any]], native: Any) -> list[tuple[Any, ...]]:
    numpy: Any = import_module("numpy")
    frame = nw.from_native(native, eager_only=True)
    with numpy.errstate(all="ignore"):  # sums that are not finite are checked later
        for step in steps:
            frame = step(frame)
    rows: list[tuple[Any, ...]] = frame.rows()
    return rows


@contextmanager
def reading(table: LazyTable) -> Iterator[None]:
    """Turn errors that the engine raises while it computes, panics included, into errors of this package."""
    with refusing(lambda error: _stopped(table, error)):
        yield


def _stopped(table: LazyTable, error: BaseException) -> BayesDPError:
    """Return the error to raise if an engine stops while it computes; ChangedError if files of the table changed."""
    if table.snapshot is not None:
        table.snapshot.check()
    if isinstance(error, ImportError):
        return _lacking(table.engine.value, error)
    odd = table.guessed and odd_csv(table.name)
    stopped = f"{table.engine.value} stopped with {type(error).__name__}; {_WITHHELD}"
    return RecordsError(f"{table.name} cannot be read: {odd or stopped}")


def _lacking(engine: str, error: ImportError) -> MissingDependencyError:
    return MissingDependencyError(
        f"reading from {engine} needs one more package ({first_line(error)}); try: pip install pyarrow"
    )


_WITHHELD = "its message is withheld because it may quote records; read the table with the engine itself to see it"


def whole(value: object) -> int:
    """Return an aggregate as a Python integer; that of no rows is 0."""
    if type(value) is int:
        return value
    if isinstance(value, int | Decimal):
        return int(value)
    return int(plain(value) or 0)


def plain(value: Any) -> Scalar | None:
    """Return a value from an engine as a Python scalar, integral floats as integers; None if it is missing.

    >>> plain(2.0), plain(float("nan")), plain("é")
    (2, None, 'é')
    """
    if type(value) in _PLAIN:  # a pattern count has 100,000 of them
        return value  # type: ignore[no-any-return]
    if value is None or value is getattr(sys.modules.get("pandas"), "NA", None):
        return None
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    if isinstance(value, str | bool | int):
        return value
    return str(value)
