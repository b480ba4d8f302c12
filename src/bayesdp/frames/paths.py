"""The files that a path names."""

from __future__ import annotations

import glob
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bayesdp._support.messages import in_python
from bayesdp._support.validation import brief
from bayesdp.errors import FrameError
from bayesdp.frames.failures import first_line

__all__ = [
    "SHEETS",
    "check_once",
    "files_of",
    "files_together",
    "is_path",
    "is_text",
    "matching",
    "named_together",
    "suffix",
]

_MOST_NAMED = 3

SHEETS = ".xlsx"
_TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_KNOWN = (".parquet", *_TEXT, SHEETS)
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
"""Functions that read other kinds of files."""

_DATABASES = {"sqlite": (".db", ".sqlite", ".sqlite3", ".db3"), "duckdb": (".duckdb", ".ddb")}
"""The scheme in the address of a database file."""


def matching(path: str) -> list[str]:
    """Return the files that a path or a pattern names; for a folder, the Parquet files in it."""
    if not Path(path).exists():
        return sorted(glob.glob(path, recursive=True))  # noqa: PTH207 (absolute patterns)
    return _in_folder(path) if Path(path).is_dir() else [path]


def _in_folder(path: str) -> list[str]:
    """Return the Parquet files in a folder and below, except names that begin with a dot or underscore."""
    inside = ((file, file.relative_to(path)) for file in Path(path).rglob("*.[pP][aA][rR][qQ][uU][eE][tT]"))
    return sorted(
        str(file) for file, place in inside if file.is_file() and not any(part[0] in "._" for part in place.parts)
    )


def files_of(path: str) -> list[str]:
    """Return the files of a table.

    Raises FrameError for other kinds of files, for paths that do not exist, and for pipes and devices, which may never
    end.
    """
    try:
        folder = Path(path).is_dir() and path != ""
        files = matching(path) if folder or suffix(path) in _KNOWN else []
    except (OSError, ValueError) as error:
        raise FrameError(f"cannot read {brief(path)}: {first_line(error)}") from None
    if folder and not files:
        raise FrameError(
            f"{path} is a folder without .parquet files; name the files in it, for example {Path(path) / '*.csv'}"
        )
    if not folder and suffix(path) not in _KNOWN:
        raise FrameError(f"cannot read {brief(path)}: not a known kind of table; " + _advice(path))
    if not files:
        raise FrameError(f"cannot read {path}: there is no such file")
    if any(Path(file).is_dir() for file in files):
        raise FrameError(f"{path} names a folder; name the files in it, for example {files[0]}/*{suffix(path)}")
    for file in files:
        _check_regular(file)
    return files


def files_together(paths: Sequence[str]) -> list[str]:
    """Return the files that several paths name together, each of which may be a pattern or a folder.

    Raises FrameError for what `files_of` refuses, for files of different kinds or a file that is named twice, for
    Excel, and for folders such as year=2012, whose names are columns.
    """
    files: list[str] = []
    for path in paths:
        found = files_of(path)
        inside = [Path(file).relative_to(path).parent.parts for file in found] if Path(path).is_dir() else []
        if any("=" in part for parts in inside for part in parts):
            raise FrameError(f"{path} has folders whose names are columns; name this folder alone, not in a list")
        files += found
    kinds = {suffix(file) for file in files}
    if SHEETS in kinds:
        raise FrameError(f"{named_together(paths)}: Excel files cannot be read together; save them as .csv or .parquet")
    if len(kinds) > 1:
        raise FrameError(f"{named_together(paths)} are files of different kinds ({', '.join(sorted(kinds))}); name one")
    check_once(files)
    return files


def check_once(files: Iterable[str]) -> None:
    """Raise FrameError if a file is named twice, also by a link."""
    known: set[Path] = set()
    for file in files:
        if (real := Path(file).resolve()) in known:
            raise FrameError(f"{file} is named twice, so its records would count twice; name it once")
        known.add(real)


def named_together(paths: Sequence[str]) -> str:
    """Return the name of several paths in messages; it ends like the last of them.

    >>> named_together(["1.csv", "2.csv", "3.csv", "4.csv"])
    '1.csv, …, 4.csv'
    """
    return ", ".join(paths if len(paths) <= _MOST_NAMED else (paths[0], "…", paths[-1]))


def is_path(value: object) -> bool:
    """Return whether an entry of a list is a path: a list of anything else may hold records, and is not quoted."""
    if isinstance(value, Path):
        return True
    try:
        return isinstance(value, str) and value != "" and (suffix(value) in _KNOWN or Path(value).is_dir())
    except (OSError, ValueError):
        return False


def _check_regular(file: str) -> None:
    """Refuse a file that is not regular or cannot be opened. Links are followed."""
    try:
        mode = Path(file).stat().st_mode
        kind = next((name for name, is_kind in _IRREGULAR.items() if is_kind(mode)), None)
        if kind is not None:
            raise FrameError(f"cannot read {file}: it is {kind}; name a regular file")
        Path(file).open("rb").close()
    except FileNotFoundError:
        raise FrameError(f"cannot read {file}: it is a link to a file that does not exist") from None
    except (OSError, RuntimeError) as error:
        raise FrameError(f"cannot read {file}: {getattr(error, 'strerror', None) or type(error).__name__}") from None


_IRREGULAR: dict[str, Callable[[int], bool]] = {
    "a pipe (FIFO)": stat.S_ISFIFO,
    "a socket": stat.S_ISSOCK,
    "a device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode),
    "not a regular file": lambda mode: not stat.S_ISREG(mode),
}
"""Kinds of files that are not regular; the first that applies."""


def suffix(path: str) -> str:
    """Return the ending of a file's name, with that of its compression: .csv, .csv.gz."""
    name = Path(path.lower())
    packed = name.suffix in (".gz", ".bz2", ".xz", ".zst", ".zip")
    return (Path(name.stem).suffix if packed else "") + name.suffix


def is_text(path: str) -> bool:
    """Whether a path names text files: CSV or TSV, compressed or not."""
    return suffix(path) in _TEXT and not Path(path).is_dir()


def _advice(path: str) -> str:
    database = next((name for name, suffixes in _DATABASES.items() if suffix(path) in suffixes), None)
    if database is not None:
        return f"it is a database: name a table in it, {database}:///{path}#table"
    reader = next((name for name, suffixes in _READERS.items() if suffix(path) in suffixes), None)
    if reader is None:
        return _EXPECTED
    return f"read it with {reader} and " + in_python("pass the frame, or ") + "save it as .csv or .parquet"
