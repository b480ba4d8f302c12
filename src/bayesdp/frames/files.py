"""Parquet and CSV files as lazy tables. A CSV file says nothing about itself, so it is looked through when opened."""

from __future__ import annotations

import csv
import glob
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp.errors import BayesDPError, FrameError
from bayesdp.validation import brief

if TYPE_CHECKING:
    import polars

__all__ = ["MISSING_TEXTS", "first_line", "listed", "matching", "odd_csv", "open_files"]

MISSING_TEXTS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""What a field of a CSV file says when its value is missing."""


def open_files(path: str) -> tuple[polars.LazyFrame, frozenset[str]]:
    """Return the table in a file, or in the files of a glob, and the columns known to lack every value.

    Raises FrameError for what is no file of ours, cannot be read, or is a broken CSV file.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".parquet", ".csv"):
        raise FrameError(f"{path!r} is no kind of table we read; expected a .parquet or .csv file, or a glob of them")
    found = _found(path, suffix)
    try:
        return _parquet(found) if suffix == ".parquet" else _csv(found)
    except BayesDPError:
        raise
    except Exception as error:
        told = suffix == ".csv" and odd_csv(path)
        raise FrameError(f"cannot read {path}: {told or _safe(error, suffix)}") from None


def matching(path: str) -> list[str]:
    """Return the files that a path or a pattern names."""
    return [path] if Path(path).exists() else sorted(glob.glob(path, recursive=True))  # noqa: PTH207 (absolute patterns)


def _found(path: str, suffix: str) -> list[str]:
    try:
        found = matching(path)
    except (OSError, ValueError) as error:
        raise FrameError(f"cannot read {brief(path)}: {first_line(error)}") from None
    if not found:
        raise FrameError(f"cannot read {path}: there is no such file")
    if any(Path(each).is_dir() for each in found):
        raise FrameError(f"{path} is a folder; name its files, for example {Path(path) / '*'}{suffix}")
    return found


def _parquet(found: Sequence[str]) -> tuple[polars.LazyFrame, frozenset[str]]:
    import polars

    frame = polars.scan_parquet(list(found), glob=False)
    frame.collect_schema()
    return frame, frozenset()


def _csv(found: Sequence[str]) -> tuple[polars.LazyFrame, frozenset[str]]:
    import polars

    values = [each for each in map(_looked_through, found) if each]

    def scan(types: Mapping[str, polars.DataType] | None, rows: int | None) -> polars.LazyFrame:
        nulls = list(MISSING_TEXTS)
        return polars.scan_csv(
            list(found),
            glob=False,
            null_values=nulls,
            schema_overrides=types,
            infer_schema_length=rows,
            try_parse_dates=True,
        )

    types = scan(None, None).collect_schema()  # takes longer than any question; every question would do it again
    void = frozenset(name for name in types if values and all(each.get(name) == 0 for each in values))
    return scan(types, 1), void


def _looked_through(name: str) -> dict[str, int]:
    """Return how many values each column of a CSV file has; nothing for a file without rows.

    Refuses repeated names, rows with too many fields and quotes that are never closed. Polars renames the first, and
    sees the others only if it reads every column, which a question does not: so all fields are read once, as texts,
    before their types are found.
    """
    import polars

    repeated = [each for each, count in Counter(_names(name)).items() if count > 1]
    if repeated:
        raise FrameError(
            f"cannot read {name}: it has several columns called {listed(repeated)}; rename them, so that each has "
            "its own name"
        )
    texts = polars.scan_csv(
        name, glob=False, null_values=list(MISSING_TEXTS), infer_schema=False, encoding="utf8-lossy"
    )
    try:
        counts = texts.select(polars.all().count()).collect(engine="streaming")
        rows = texts.select(polars.len()).collect(engine="streaming").item()
    except polars.exceptions.ComputeError as error:
        if "more fields" in str(error):
            raise FrameError(
                f"cannot read {name}: some row has more fields than the first line has names; put texts that contain "
                "commas in quotes"
            ) from None
        raise FrameError(f"cannot read {name}: {_UNCLOSED}") from None
    odd = _rowless(name) if rows == 0 else None
    if odd is not None:
        raise FrameError(f"cannot read {name}: {odd}")
    return dict(zip(counts.columns, counts.row(0), strict=True)) if rows else {}


def odd_csv(path: str) -> str | None:
    """Return what is odd about CSV files that could not be read, without quoting a record; None if nothing is."""
    try:
        found = _found(path, ".csv")
        different = next((each for each in found if _names(each) != _names(found[0])), None)
        if different is not None:
            return (
                f"its files must have the same columns in the same order, but {found[0]} has "
                f"{listed(_names(found[0]))} and {different} has {listed(_names(different))}"
            )
        foreign = next((each for each in found if not _is_utf8(each)), None)
    except (OSError, FrameError):
        return None
    return None if foreign is None else f"{foreign} is not UTF-8; save it in that encoding"


def _is_utf8(name: str) -> bool:
    try:
        with Path(name).open(encoding="utf-8") as file:
            while file.read(_AT_ONCE):
                pass
    except UnicodeDecodeError:
        return False
    return True


_AT_ONCE = 2**20


def _rowless(name: str) -> str | None:
    """Return why a CSV file in which no row was found may hold some after all."""
    with Path(name).open("rb") as file:
        if b"\0" in file.read(_AT_ONCE):
            return "it holds NUL bytes, so it is no text in UTF-8"
    if _has_more_lines(name):
        return f"it has lines after the first, but no row; {_UNCLOSED}"
    if len(_lines(name, 2)) == 2:
        return "its lines end with a carriage return alone; save it with line feeds"
    return None


def _names(name: str) -> list[str]:
    """Return the names in the first line of a CSV file that is not blank; none if it cannot be told apart."""
    return next(iter(_lines(name, 1)), [])


def _lines(name: str, number: int) -> list[list[str]]:
    """Return the fields of the first lines of a CSV file that are not blank."""
    with Path(name).open(encoding="utf-8-sig", errors="replace", newline="") as file:
        try:
            return list(islice(filter(None, csv.reader(file)), number))
        except csv.Error:  # a field without end; Polars says what is wrong with it
            return []


def listed(names: Sequence[Any]) -> str:
    """Return names for a message, the first twelve of them."""
    return ", ".join(map(brief, names[:12])) + (", …" if len(names) > 12 else "")


_UNCLOSED = 'is there a quotation mark (") that is never closed?'


def _has_more_lines(name: str) -> bool:
    """Tell whether anything but blanks follows the first line."""
    with Path(name).open("rb") as file:
        file.readline()
        return any(line.strip() for line in file)


def _safe(error: Exception, suffix: str) -> str:
    """Return what may be said of an error: the text of one about a CSV file may quote records."""
    import polars

    said = suffix == ".parquet" or isinstance(error, OSError | polars.exceptions.NoDataError)
    return first_line(error) if said else type(error).__name__


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or its name if it says nothing."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
