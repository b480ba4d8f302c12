"""Files as lazy tables: Parquet, CSV, Excel. A CSV file is checked when it is opened."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from io import SEEK_END, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp._support.messages import in_python
from bayesdp._support.validation import brief
from bayesdp.errors import FrameError, MissingDependencyError, RecordsError
from bayesdp.frames.failures import refusing
from bayesdp.frames.packed import AT_ONCE, check_sheets, check_text, is_packed, unpacked
from bayesdp.frames.paths import SHEETS, files_of, files_together, is_text, named_together, suffix
from bayesdp.frames.snapshots import Snapshot

if TYPE_CHECKING:
    import polars

__all__ = ["MISSING_TEXTS", "OpenedFiles", "name_list", "odd_csv", "open_files"]

MISSING_TEXTS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""The fields of a CSV file that stand for missing values."""


@dataclass(frozen=True)
class OpenedFiles:
    """A table in files that has not been read.

    void:     columns known to have no value.
    guessed:  whether types of columns were inferred from values, or from the names of folders.
    snapshot: the files as they were before any of them was read.
    """

    frame: polars.LazyFrame
    void: frozenset[str] = frozenset()
    guessed: bool = False
    snapshot: Snapshot | None = None


def open_files(*paths: str) -> OpenedFiles:
    """Return the table in a file, in the files of a glob, in a folder of Parquet files, or in a sheet of Excel.

    Several paths, which may be globs and folders, are one table.

    Raises FrameError for a file of another kind, one that cannot be read, is too large or changes meanwhile;
    RecordsError if its records are wrong.
    """
    path, sheet = _sheet(paths[0]) if len(paths) == 1 else (named_together(paths), None)
    files = files_of(path) if len(paths) == 1 else files_together(paths)
    snapshot = Snapshot.of(path, files, [path] if len(paths) == 1 else paths)
    with refusing(lambda error: _refusal(path, files, error)), snapshot.held():
        return replace(_opened(files, path, sheet), snapshot=snapshot)


def _opened(files: Sequence[str], path: str, sheet: str | None) -> OpenedFiles:
    if suffix(path) == SHEETS:
        return _excel(files, path, sheet)
    if not is_text(path):
        return _parquet(files, path)
    for file in files:
        check_text(file)
    return _csv(files, path)


def _refusal(path: str, files: Sequence[str], error: BaseException) -> FrameError:
    """Return the error to raise. The text of the original may quote records, also from the statistics of Parquet."""
    import polars

    if isinstance(error, EOFError | zlib.error | gzip.BadGzipFile) or (
        isinstance(error, OSError) and error.errno is None and is_text(path) and any(map(is_packed, files))
    ):
        return FrameError(f"cannot read {path}: its compressed data is damaged or cut short; copy or pack it again")
    if isinstance(error, polars.exceptions.NoDataError):
        return FrameError(f"cannot read {path}: it is empty; expected a first line with the names of the columns")
    if suffix(path) == SHEETS:
        return RecordsError(f"cannot read {path}: {type(error).__name__}; open it in Excel, and save it again as .xlsx")
    if isinstance(error, OSError) and error.strerror:
        return FrameError(f"cannot read {path}: {error.strerror}")
    if is_text(path):
        odd = odd_csv(path, files) or type(error).__name__
        if isinstance(error, polars.exceptions.SchemaError):
            odd = "a column holds values of different kinds in its files"
        return RecordsError(f"cannot read {path}: {odd}")
    other = next((file for file in files if not _is_framed(file)), None)
    if other is not None:
        which = "it" if other == path else other
        return FrameError(f"cannot read {path}: {which} is not a Parquet file, or is cut short; write it again")
    return RecordsError(
        f"cannot read {path}: it is damaged, or not valid Parquet ({type(error).__name__}); write it again"
    )


def _is_framed(name: str) -> bool:
    with Path(name).open("rb") as file:
        begun, size = file.read(4), file.seek(0, SEEK_END)
        file.seek(max(size - 4, 0))
        return begun == file.read() == b"PAR1"


# --- Excel ------------------------------------------------------------------------------------------------------------


def _sheet(path: str) -> tuple[str, str | None]:
    """Return the file and the sheet of a path such as steps.xlsx#March; None if it names no sheet."""
    file, mark, sheet = path.partition(f"{SHEETS}#")
    return (file + SHEETS, sheet) if mark else (path, None)


def _excel(files: Sequence[str], path: str, sheet: str | None) -> OpenedFiles:
    import polars

    try:
        from fastexcel import read_excel
    except ImportError:
        raise MissingDependencyError(
            "reading .xlsx files needs one more package; try: pip install 'bayesdp[excel]'"
        ) from None
    if len(files) > 1:
        raise FrameError(f"{path} names {len(files)} files; name one Excel file")
    check_sheets(files[0])
    sheets = read_excel(files[0]).sheet_names
    if sheet is None and len(sheets) > 1:
        raise FrameError(f"{path} has the sheets {name_list(sheets)}; name one after a #, such as {path}#{sheets[0]}")
    if sheet is not None and sheet not in sheets:
        raise FrameError(f"{path} has no sheet {brief(sheet)}; it has {name_list(sheets)}")
    frame = polars.read_excel(files[0], sheet_name=sheet or sheets[0], infer_schema_length=None)
    void = frozenset(name for name in frame.columns if frame[name].null_count() == frame.height)
    return OpenedFiles(frame.lazy(), void, guessed=True)


# --- Parquet ----------------------------------------------------------------------------------------------------------


def _parquet(files: Sequence[str], path: str) -> OpenedFiles:
    import polars

    plain = polars.scan_parquet(list(files), glob=False)
    names = set(plain.collect_schema())
    keys = _partitions(files, path) if Path(path).is_dir() else ()
    if not keys:
        return OpenedFiles(plain)
    above = [part.partition("=")[0] for part in Path(path).parts if "=" in part]
    twice = sorted((names | set(above)) & set(keys) | names & set(above))
    if twice:
        raise FrameError(
            f"cannot read {path}: {name_list(twice)} is in the names of its folders and also in its files or in a "
            "folder above; rename one of them"
        )
    parted = polars.scan_parquet(list(files), glob=False, hive_partitioning=True).drop(above)
    parted.collect_schema()
    return OpenedFiles(parted, guessed=True)


def _partitions(files: Sequence[str], path: str) -> tuple[str, ...]:
    """Return the columns in the names of folders such as year=2012, which must be the same for every file."""
    places = [Path(file).relative_to(path).parent.parts for file in files]
    keys = [tuple(part.partition("=")[0] for part in parts if "=" in part) for parts in places]
    different = next((file for file, mine in zip(files, keys, strict=True) if mine != keys[0]), None)
    if different is not None:
        raise FrameError(
            f"cannot read {path}: {different} and {files[0]} are in folders for different columns; use the same "
            "for all files, such as year=2012/month=10"
        )
    return keys[0]


# --- CSV --------------------------------------------------------------------------------------------------------------


def _csv(files: Sequence[str], path: str) -> OpenedFiles:
    separator = _separator(files[0])
    _check_names(files, path, separator)
    values = [counts for counts in (_looked_through(file, separator) for file in files) if counts]
    types = _types(files, separator, values)
    void = frozenset(name for name in types if values and all(counts.get(name) == 0 for counts in values))
    frame = _scanned(files, separator, types, 1)
    if separator != ",":
        _check_decimals(path, frame)
    return OpenedFiles(frame, void, guessed=True)


def _scanned(
    files: Sequence[str], separator: str, types: Mapping[str, polars.DataType] | None, rows: int | None, **options: Any
) -> polars.LazyFrame:
    """Return the table in CSV files; types that are not given are inferred from this many rows, or from all."""
    return _scan_csv(
        files, separator, schema_overrides=types, infer_schema_length=rows, try_parse_dates=True, **options
    )


def _texts(name: str, separator: str) -> polars.LazyFrame:
    return _scan_csv([name], separator, infer_schema=False, encoding="utf8-lossy")


def _scan_csv(files: Sequence[str], separator: str, **options: Any) -> polars.LazyFrame:
    import polars

    nulls = list(MISSING_TEXTS)
    return polars.scan_csv(list(files), glob=False, separator=separator, null_values=nulls, **options)


def _types(files: Sequence[str], separator: str, values: Sequence[Mapping[str, int]]) -> Mapping[str, polars.DataType]:
    """Return the types of columns: those of the first rows if all values fit them, else those of all rows.

    Inferring types takes far longer than reading, above all for times, and with all rows it takes several times the
    size of the files in memory. The types are inferred once, because every question would do it again.
    """
    for rows in _FIRST_ROWS:
        types = _sure(files[0], separator, _scanned(files, separator, None, rows).collect_schema())
        present = {name: sum(counts.get(name, 0) for counts in values) for name in types}
        if _fits(files, separator, types, present, rows):
            return types
    return _sure(files[0], separator, _scanned(files, separator, None, None).collect_schema())


def _sure(name: str, separator: str, types: Mapping[str, polars.DataType]) -> Mapping[str, polars.DataType]:
    """Return types in which dates such as 02/01/2012 are texts, because either number may be the month."""
    import polars

    dates = [column for column, dtype in types.items() if dtype.is_temporal()]
    if not dates:
        return types
    first = _texts(name, separator).select(polars.col(dates).drop_nulls().first()).collect(engine="streaming")
    unsure = [column for column in dates if _AMBIGUOUS.match(first[column].item() or "")]
    return {**types, **dict.fromkeys(unsure, polars.String())}


_AMBIGUOUS = re.compile(r"\d{1,2}[/-]\d{1,2}[/-]\d")


def _fits(
    files: Sequence[str], separator: str, types: Mapping[str, polars.DataType], present: Mapping[str, int], rows: int
) -> bool:
    """Return whether all present values can be read as these types, each inferred from at least one value."""
    import polars

    count = polars.all().count()
    begun = _texts(files[0], separator).head(rows).select(count).collect(engine="streaming")
    if not all(begun[name].item() or not number for name, number in present.items()):
        return False
    read = _scanned(files, separator, types, 1, ignore_errors=True).select(count).collect(engine="streaming")
    return read.to_dicts() == [present]


_FIRST_ROWS = (10_000, 100_000)
"""How many rows types are inferred from, few first; all rows are then checked."""


def _separator(name: str) -> str:
    if suffix(name).startswith(".tsv"):
        return "\t"
    named = re.sub(r'"[^"]*"', "", _header(name))
    if "," in named and ";" in named:
        raise FrameError(
            f"cannot read {name}: its first line holds commas and semicolons, and only one of them can separate the "
            "names; put names that contain the other in quotes"
        )
    return next((separator for separator in ",;\t" if separator in named), ",")


def _header(name: str) -> str:
    """Return the first line of a file that is not blank, which line breaks between quotes do not end."""
    header = ""
    with _text(name, "utf-8-sig", errors="replace") as file:
        while (line := file.readline(AT_ONCE)) and len(header) < AT_ONCE:
            header += line
            if header.strip() and header.count('"') % 2 == 0:
                break
    return header


def _check_decimals(path: str, frame: polars.LazyFrame) -> None:
    """Refuse a column of numbers such as 1,5, which Polars reads as texts."""
    from polars import selectors

    texts = selectors.string()
    commas = texts.str.contains(r"^\s*[+-]?[\d.]*(,\d+)?\s*$").all() & texts.str.contains(",", literal=True).any()
    names = [name for name, verdict in frame.select(commas).collect(engine="streaming").to_dict().items() if verdict[0]]
    if names:
        raise RecordsError(
            f"cannot read {path}: {name_list(names)} holds numbers with a decimal comma; save the file with decimal "
            "points" + in_python(", or read it with pandas.read_csv, which takes them, and pass the frame")
        )


def _looked_through(name: str, separator: str) -> dict[str, int]:
    """Return how many values each column of a CSV file has; nothing for a file without rows.

    Refuses repeated names, rows with too many fields and quotes that are never closed. Polars renames the first and
    detects the others only if it reads every column, so all fields are read once, as texts.
    """
    import polars

    repeated = [column for column, count in Counter(_names(name, separator)).items() if count > 1]
    if repeated:
        raise FrameError(
            f"cannot read {name}: it has several columns called {name_list(repeated)}; rename them, so that each has "
            "its own name"
        )
    texts = _texts(name, separator)
    try:
        counts = texts.select(polars.all().count()).collect(engine="streaming")
        rows = texts.select(polars.len()).collect(engine="streaming").item()
    except polars.exceptions.ComputeError as error:
        if "more fields" in str(error):
            raise RecordsError(
                f"cannot read {name}: some row has more fields than the first line has names; put texts that contain "
                f"{_SEPARATORS[separator]} in quotes"
            ) from None
        raise RecordsError(f"cannot read {name}: {_UNCLOSED}") from None
    if rows == 0:
        _check_rowless(name, separator)
    return dict(zip(counts.columns, counts.row(0), strict=True)) if rows else {}


_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}


def _check_names(files: Sequence[str], path: str, separator: str) -> None:
    expected = _names(files[0], separator)
    for file in files:
        names = _names(file, separator)
        if names != expected:
            raise FrameError(
                f"cannot read {path}: its files must have the same columns in the same order, but {files[0]} has "
                f"{name_list(expected) or 'none'} and {file} has {name_list(names) or 'none'}"
            )


def odd_csv(path: str, files: Sequence[str] | None = None) -> str | None:
    """Return the reason why CSV files cannot be read, without quoting a record; None if it is unknown.

    files: those that the path names, if they are known.
    """
    try:
        named = (files_of(path) if files is None else files) if is_text(path) else []
        foreign = next((file for file in named if not _is_utf8(file)), None)
    except (OSError, EOFError, zlib.error, FrameError):
        return None
    return None if foreign is None else f"{foreign} is not UTF-8; save it in that encoding"


def _text(name: str, encoding: str, errors: str = "strict") -> TextIOWrapper:
    """Open a file as text, unpacked, with its line breaks unchanged."""
    return TextIOWrapper(unpacked(name), encoding=encoding, errors=errors, newline="")


def _is_utf8(name: str) -> bool:
    try:
        with _text(name, "utf-8") as file:
            while file.read(AT_ONCE):
                pass
    except UnicodeDecodeError:
        return False
    return True


def _check_rowless(name: str, separator: str) -> None:
    """Refuse a CSV file in which Polars found no row, although it may have some."""
    with unpacked(name) as file:
        if b"\0" in file.read(AT_ONCE):
            raise RecordsError(
                f"cannot read {name}: it holds NUL bytes, so it is not a text in UTF-8; save it in that encoding"
            )
    if _has_more_lines(name):
        raise RecordsError(f"cannot read {name}: it has lines after the first, but no row; {_UNCLOSED}")
    if len(_lines(name, separator, 2)) == 2:
        raise FrameError(f"cannot read {name}: its lines end with a carriage return alone; save it with line feeds")


def _names(name: str, separator: str) -> list[str]:
    """Return the names in the first line of a CSV file that is not blank; none if it cannot be parsed."""
    return next(iter(_lines(name, separator, 1)), [])


def _lines(name: str, separator: str, number: int) -> list[list[str]]:
    """Return the fields of the first lines of a CSV file that are not blank."""
    with _text(name, "utf-8-sig", errors="replace") as file:
        try:
            return list(islice(filter(None, csv.reader(file, delimiter=separator)), number))
        except csv.Error:  # a field without an end, which Polars reports
            return []


def name_list(names: Sequence[Any]) -> str:
    """Return the first twelve names, for a message."""
    return ", ".join(map(brief, names[:12])) + (", …" if len(names) > 12 else "")


_UNCLOSED = 'is there a quotation mark (") that is never closed?'


def _has_more_lines(name: str) -> bool:
    with unpacked(name) as file:
        file.readline()
        return any(line.strip() for line in file)
