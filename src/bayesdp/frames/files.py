"""Files as lazy tables: Parquet, CSV and their kin. A CSV file is looked through when it is opened."""

from __future__ import annotations

import csv
import glob
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from bayesdp._support.validation import brief
from bayesdp.errors import BayesDPError, FrameError, MissingDependencyError, RecordsError

if TYPE_CHECKING:
    import polars

__all__ = ["MISSING_TEXTS", "Opened", "first_line", "listed", "matching", "odd_csv", "open_files"]

MISSING_TEXTS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""What a field of a CSV file says when its value is missing."""

_TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_SHEETS = ".xlsx"
_KNOWN = (".parquet", *_TEXT, _SHEETS)
_EXPECTED = (
    "expected a .parquet, .csv, .tsv, .csv.gz, .tsv.gz or .xlsx file, a glob of them, a folder of .parquet files, or a "
    "table of a database, such as sqlite:///steps.db#table"
)

_READERS = {
    "pandas.read_excel": (".xls", ".xlsm", ".ods"),
    "pandas.read_feather": (".feather", ".arrow", ".ipc"),
    "pandas.read_json": (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz"),
    "pandas.read_sas": (".sas7bdat", ".xpt"),
    "pandas.read_stata": (".dta",),
    "pandas.read_spss": (".sav", ".zsav", ".por"),
    "pandas.read_sql": (".sql",),
    "pandas.read_hdf": (".h5", ".hdf", ".hdf5"),
    "pandas.read_orc": (".orc",),
    "pandas.read_xml": (".xml",),
    "pandas.read_html": (".html", ".htm"),
    "pandas.read_csv": (".txt", ".dat", ".tab", ".psv", ".csv.bz2", ".csv.xz", ".csv.zst", ".csv.zip", ".txt.gz"),
    "polars.read_avro": (".avro",),
    "pyreadr.read_r": (".rds", ".rdata", ".rda"),
}
"""What reads the kinds of files that we do not."""

_DATABASES = {"sqlite": (".db", ".sqlite", ".sqlite3", ".db3"), "duckdb": (".duckdb", ".ddb")}
"""How the address of a file's tables begins."""


@dataclass(frozen=True)
class Opened:
    """A table in files that has not been read.

    void:    columns known to lack every value.
    guessed: whether types of columns were read off what the files, or the names of folders, hold.
    """

    frame: polars.LazyFrame
    void: frozenset[str] = frozenset()
    guessed: bool = False


def open_files(path: str) -> Opened:
    """Return the table in a file, in the files of a glob, in a folder of Parquet files, or in a sheet of Excel.

    Raises FrameError for what is no file of ours or cannot be read; RecordsError if what is wrong are the records.
    """
    path, sheet = _sheet(path)
    files = _files(path)
    try:
        if _suffix(path) == _SHEETS:
            return _excel(files, path, sheet)
        return _csv(files, path) if _is_csv(path) else _parquet(files, path)
    except BayesDPError:
        raise
    except Exception as error:
        raise _refusal(path, files, error) from None


def matching(path: str) -> list[str]:
    """Return the files that a path or a pattern names; of a folder, the Parquet files in it."""
    if not Path(path).exists():
        return sorted(glob.glob(path, recursive=True))  # noqa: PTH207 (absolute patterns)
    return _in_folder(path) if Path(path).is_dir() else [path]


def _in_folder(path: str) -> list[str]:
    """Return the Parquet files in a folder and those below it; what begins with a dot or underscore is no data."""
    inside = ((file, file.relative_to(path)) for file in Path(path).rglob("*.[pP][aA][rR][qQ][uU][eE][tT]"))
    return sorted(
        str(file) for file, place in inside if file.is_file() and not any(part[0] in "._" for part in place.parts)
    )


def _files(path: str) -> list[str]:
    """Return the files a table is in; refuses kinds of files that we do not read, and paths that lead nowhere."""
    try:
        folder = Path(path).is_dir() and path != ""
        files = matching(path) if folder or _suffix(path) in _KNOWN else []
    except (OSError, ValueError) as error:
        raise FrameError(f"cannot read {brief(path)}: {first_line(error)}") from None
    if folder and not files:
        raise FrameError(
            f"{path} is a folder without .parquet files; name the files in it, for example {Path(path) / '*.csv'}"
        )
    if not folder and _suffix(path) not in _KNOWN:
        raise FrameError(f"{brief(path)} is no kind of table we read; {_way_in(path)}")
    if not files:
        raise FrameError(f"cannot read {path}: there is no such file")
    if any(Path(file).is_dir() for file in files):
        raise FrameError(f"{path} names a folder; name the files in it, for example {files[0]}/*{_suffix(path)}")
    return files


def _suffix(path: str) -> str:
    """Return the ending of a file's name, with that of its compression: .csv, .csv.gz."""
    name = Path(path.lower())
    packed = name.suffix in (".gz", ".bz2", ".xz", ".zst", ".zip")
    return (Path(name.stem).suffix if packed else "") + name.suffix


def _is_csv(path: str) -> bool:
    return _suffix(path) in _TEXT and not Path(path).is_dir()


def _way_in(path: str) -> str:
    """Return how a file of another kind becomes a table."""
    database = next((name for name, suffixes in _DATABASES.items() if _suffix(path) in suffixes), None)
    if database is not None:
        return f"it is a database: name a table in it, {database}:///{path}#table"
    reader = next((name for name, suffixes in _READERS.items() if _suffix(path) in suffixes), None)
    if reader is None:
        return _EXPECTED
    return f"read it with {reader} and pass the frame, or save it as .csv or .parquet"


def _refusal(path: str, files: Sequence[str], error: Exception) -> FrameError:
    """Return what may be said of an error. Its own text may quote records of a CSV file."""
    import polars

    if isinstance(error, EOFError | zlib.error | gzip.BadGzipFile) or (
        isinstance(error, OSError) and error.errno is None and any(map(_is_packed, files))
    ):
        return FrameError(f"cannot read {path}: its compressed data is damaged or cut short; copy or pack it again")
    if isinstance(error, polars.exceptions.NoDataError):
        return FrameError(f"cannot read {path}: it is empty; expected a first line with the names of the columns")
    if _suffix(path) == _SHEETS:
        return RecordsError(f"cannot read {path}: {type(error).__name__}; open it in Excel, and save it again as .xlsx")
    if not _is_csv(path) or isinstance(error, OSError):
        return FrameError(f"cannot read {path}: {first_line(error)}")
    odd = odd_csv(path) or type(error).__name__
    if isinstance(error, polars.exceptions.SchemaError):
        odd = "a column holds values of another kind in one file than in another"
    return RecordsError(f"cannot read {path}: {odd}")


# --- Excel ------------------------------------------------------------------------------------------------------------


def _sheet(path: str) -> tuple[str, str | None]:
    """Return the file of a path such as steps.xlsx#March, and the sheet that it names; None if it names none."""
    file, mark, sheet = path.partition(f"{_SHEETS}#")
    return (file + _SHEETS, sheet) if mark else (path, None)


def _excel(files: Sequence[str], path: str, sheet: str | None) -> Opened:
    import polars

    try:
        from fastexcel import read_excel
    except ImportError:
        raise MissingDependencyError(
            "reading .xlsx files needs one more package; try: pip install 'bayesdp[excel]'"
        ) from None
    if len(files) > 1:
        raise FrameError(f"{path} names {len(files)} files; of Excel files only one is read at a time")
    sheets = read_excel(files[0]).sheet_names
    if sheet is None and len(sheets) > 1:
        raise FrameError(
            f"which sheet of {path}? Name it after a #, such as {path}#{sheets[0]}; it has {listed(sheets)}"
        )
    if sheet is not None and sheet not in sheets:
        raise FrameError(f"{path} has no sheet {brief(sheet)}; it has {listed(sheets)}")
    frame = polars.read_excel(files[0], sheet_name=sheet or sheets[0], infer_schema_length=None)
    void = frozenset(name for name in frame.columns if frame[name].null_count() == frame.height)
    return Opened(frame.lazy(), void, guessed=True)


# --- Parquet ----------------------------------------------------------------------------------------------------------


def _parquet(files: Sequence[str], path: str) -> Opened:
    import polars

    plain = polars.scan_parquet(list(files), glob=False)
    names = set(plain.collect_schema())
    keys = _partitions(files, path) if Path(path).is_dir() else ()
    if not keys:
        return Opened(plain)
    above = [part.partition("=")[0] for part in Path(path).parts if "=" in part]
    twice = sorted((names | set(above)) & set(keys) | names & set(above))
    if twice:
        raise FrameError(
            f"cannot read {path}: {listed(twice)} is given by the names of its folders and once more, by its files or "
            "by a folder above; rename one of them"
        )
    parted = polars.scan_parquet(list(files), glob=False, hive_partitioning=True).drop(above)
    parted.collect_schema()
    return Opened(parted, guessed=True)


def _partitions(files: Sequence[str], path: str) -> tuple[str, ...]:
    """Return the columns that the names of folders such as year=2012 make; the same for every file."""
    places = [Path(file).relative_to(path).parent.parts for file in files]
    keys = [tuple(part.partition("=")[0] for part in parts if "=" in part) for parts in places]
    different = next((file for file, mine in zip(files, keys, strict=True) if mine != keys[0]), None)
    if different is not None:
        raise FrameError(
            f"cannot read {path}: its files must lie in folders of the same names, such as year=2012/month=10, but "
            f"{different} and {files[0]} do not"
        )
    return keys[0]


# --- CSV --------------------------------------------------------------------------------------------------------------


def _csv(files: Sequence[str], path: str) -> Opened:
    separator = _separator(files[0])
    _check_names(files, path, separator)
    values = [counts for counts in (_looked_through(file, separator) for file in files) if counts]
    types = _types(files, separator, values)
    void = frozenset(name for name in types if values and all(counts.get(name) == 0 for counts in values))
    frame = _scanned(files, separator, types, 1)
    if separator != ",":
        _check_decimals(path, frame)
    return Opened(frame, void, guessed=True)


def _scanned(
    files: Sequence[str],
    separator: str,
    types: Mapping[str, polars.DataType] | None,
    rows: int | None,
    *,
    lenient: bool = False,
) -> polars.LazyFrame:
    """Return the table in CSV files; types that are not given are guessed from this many rows, or from all."""
    import polars

    return polars.scan_csv(
        list(files),
        glob=False,
        separator=separator,
        null_values=list(MISSING_TEXTS),
        schema_overrides=types,
        infer_schema_length=rows,
        try_parse_dates=True,
        ignore_errors=lenient,
    )


def _types(files: Sequence[str], separator: str, values: Sequence[Mapping[str, int]]) -> Mapping[str, polars.DataType]:
    """Return the types of columns: those of the first rows, if every value can be read so, else those of all rows.

    Finding types takes far longer than reading, above all those of times, and all rows at once take several times the
    size of the files in memory; the first rows, and reading, do not. Found once: every question would do it again.
    """
    for rows in _FIRST_ROWS:
        types = _scanned(files, separator, None, rows).collect_schema()
        present = {name: sum(counts.get(name, 0) for counts in values) for name in types}
        if _fits(files, separator, types, present, rows):
            return types
    return _scanned(files, separator, None, None).collect_schema()


def _fits(
    files: Sequence[str], separator: str, types: Mapping[str, polars.DataType], present: Mapping[str, int], rows: int
) -> bool:
    """Tell whether all values that are present can be read as these types, and none was found without a value.

    A column without values in the first rows shows nothing there.
    """
    import polars

    count = polars.all().count()
    begun = _texts(files[0], separator).head(rows).select(count).collect(engine="streaming")
    if not all(begun[name].item() or not number for name, number in present.items()):
        return False
    read = _scanned(files, separator, types, 1, lenient=True).select(count).collect(engine="streaming")
    return read.to_dicts() == [present]


_FIRST_ROWS = (10_000, 100_000)
"""How many rows the types of a text file's columns are guessed from, few first; all rows are checked against them."""


def _separator(name: str) -> str:
    """Return what separates the fields of a file, by its first line: a comma, a semicolon or a tab."""
    if _suffix(name).startswith(".tsv"):
        return "\t"
    named = re.sub(r'"[^"]*"', "", _header(name))
    if "," in named and ";" in named:
        raise FrameError(
            f"cannot read {name}: its first line holds commas and semicolons, and only one of them can separate the "
            "names; put names that hold the other in quotes"
        )
    return next((separator for separator in ",;\t" if separator in named), ",")


def _header(name: str) -> str:
    """Return the first line of a file that is not blank; line breaks between quotes do not end it."""
    header = ""
    with _text(name, "utf-8-sig", errors="replace") as file:
        while (line := file.readline(_AT_ONCE)) and len(header) < _AT_ONCE:
            header += line
            if header.strip() and header.count('"') % 2 == 0:
                break
    return header


def _check_decimals(path: str, frame: polars.LazyFrame) -> None:
    """Refuse a column of numbers such as 1,5: to Polars they are texts, and no sum would be possible."""
    from polars import selectors

    texts = selectors.string()
    commas = texts.str.contains(r"^\s*[+-]?[\d.]*(,\d+)?\s*$").all() & texts.str.contains(",", literal=True).any()
    names = [name for name, verdict in frame.select(commas).collect(engine="streaming").to_dict().items() if verdict[0]]
    if names:
        raise RecordsError(
            f"cannot read {path}: {listed(names)} holds numbers with a decimal comma; save the file with decimal "
            "points, or read it with pandas.read_csv, which takes them, and pass the frame"
        )


def _looked_through(name: str, separator: str) -> dict[str, int]:
    """Return how many values each column of a CSV file has; nothing for a file without rows.

    Refuses repeated names, rows with too many fields and quotes that are never closed. Polars renames the first, and
    sees the others only if it reads every column, which a question does not: so all fields are read once, as texts,
    before their types are found.
    """
    import polars

    repeated = [column for column, count in Counter(_names(name, separator)).items() if count > 1]
    if repeated:
        raise FrameError(
            f"cannot read {name}: it has several columns called {listed(repeated)}; rename them, so that each has "
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


def _texts(name: str, separator: str) -> polars.LazyFrame:
    """Return the fields of a CSV file as they are."""
    import polars

    nulls = list(MISSING_TEXTS)
    return polars.scan_csv(
        name, glob=False, separator=separator, null_values=nulls, infer_schema=False, encoding="utf8-lossy"
    )


_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}


def _check_names(files: Sequence[str], path: str, separator: str) -> None:
    """Refuse files that do not name the same columns in the same order."""
    expected = _names(files[0], separator)
    for file in files:
        names = _names(file, separator)
        if names != expected:
            raise FrameError(
                f"cannot read {path}: its files must have the same columns in the same order, but {files[0]} has "
                f"{listed(expected) or 'none'} and {file} has {listed(names) or 'none'}"
            )


def odd_csv(path: str) -> str | None:
    """Return what is odd about CSV files that could not be read, without quoting a record; None if nothing is."""
    try:
        foreign = next((file for file in _files(path) if not _is_utf8(file)), None) if _is_csv(path) else None
    except (OSError, EOFError, zlib.error, FrameError):
        return None
    return None if foreign is None else f"{foreign} is not UTF-8; save it in that encoding"


def _is_packed(name: str) -> bool:
    """Tell whether a file was compressed by gzip, whatever its name says, as Polars does."""
    with Path(name).open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _binary(name: str) -> BinaryIO:
    """Open a file to read what it holds, unpacked."""
    return cast("BinaryIO", gzip.open(name) if _is_packed(name) else Path(name).open("rb"))


def _text(name: str, encoding: str, errors: str = "strict") -> TextIOWrapper:
    """Open a file to read the text it holds, unpacked, with line breaks as they are."""
    return TextIOWrapper(_binary(name), encoding=encoding, errors=errors, newline="")


def _is_utf8(name: str) -> bool:
    try:
        with _text(name, "utf-8") as file:
            while file.read(_AT_ONCE):
                pass
    except UnicodeDecodeError:
        return False
    return True


_AT_ONCE = 2**20
"""Bytes that are read at a time, and more than any header has: a mebibyte."""


def _check_rowless(name: str, separator: str) -> None:
    """Refuse a CSV file in which no row was found, but which may hold some after all."""
    with _binary(name) as file:
        if b"\0" in file.read(_AT_ONCE):
            raise RecordsError(f"cannot read {name}: it holds NUL bytes, so it is no text in UTF-8")
    if _has_more_lines(name):
        raise RecordsError(f"cannot read {name}: it has lines after the first, but no row; {_UNCLOSED}")
    if len(_lines(name, separator, 2)) == 2:
        raise FrameError(f"cannot read {name}: its lines end with a carriage return alone; save it with line feeds")


def _names(name: str, separator: str) -> list[str]:
    """Return the names in the first line of a CSV file that is not blank; none if it cannot be told apart."""
    return next(iter(_lines(name, separator, 1)), [])


def _lines(name: str, separator: str, number: int) -> list[list[str]]:
    """Return the fields of the first lines of a CSV file that are not blank."""
    with _text(name, "utf-8-sig", errors="replace") as file:
        try:
            return list(islice(filter(None, csv.reader(file, delimiter=separator)), number))
        except csv.Error:  # a field without end; Polars says what is wrong with it
            return []


def listed(names: Sequence[Any]) -> str:
    """Return names for a message, the first twelve of them."""
    return ", ".join(map(brief, names[:12])) + (", …" if len(names) > 12 else "")


_UNCLOSED = 'is there a quotation mark (") that is never closed?'


def _has_more_lines(name: str) -> bool:
    """Tell whether anything but blanks follows the first line."""
    with _binary(name) as file:
        file.readline()
        return any(line.strip() for line in file)


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or its name if it says nothing."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
