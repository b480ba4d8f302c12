"""Parse option values into models, columns and numbers, with errors that name the option."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from bayesdp._support import validation
from bayesdp._support.files import refuse_overwriting
from bayesdp._support.validation import brief, probability
from bayesdp._support.validation import natural as at_least
from bayesdp._support.validation import positive as above_zero
from bayesdp.cli.wording import worded
from bayesdp.errors import InvalidInputError, ModelError

if TYPE_CHECKING:
    from bayesdp.frames.source import LazyTable
    from bayesdp.models import Model

__all__ = [
    "Source",
    "adversary",
    "bounds",
    "columns",
    "credibility",
    "files",
    "folder",
    "given",
    "ledger",
    "model",
    "natural",
    "number",
    "numbers",
    "numbers_given",
    "one_of",
    "picture",
    "positive",
    "promised",
    "released_picture",
    "split",
    "table",
    "whole",
]

Source: TypeAlias = "str | list[str] | LazyTable"
"""A table: a path, several paths, or a table that is open in Spark."""


def model(path: str | Path) -> Model:
    """Read the model file; errors name its JSON entries."""
    from bayesdp.models import Model

    try:
        return Model.load(path)
    except ModelError as error:
        raise ModelError(worded(error.message, {})) from None


def ledger(url: str | None) -> str | Path:
    """Return the named ledger, or the default ledger."""
    from bayesdp.ledger import default_ledger

    return default_ledger() if url is None else url


def files(*data: str) -> list[str]:
    """Return the files that paths, patterns or a database URL name; none for an invalid one."""
    from bayesdp.frames.databases import database_file
    from bayesdp.frames.paths import matching

    found: list[str] = []
    for name in data:
        with suppress(OSError, ValueError):
            inside = database_file(name)
            found += matching(name) if inside is None else [inside]
    return found


@contextmanager
def table(data: Sequence[str], engine: str, master: str | None) -> Iterator[Source]:
    """Return the table in the engine of --engine; Spark runs only within this context.

    Several paths are not read here, because only a session knows which of the errors of their records it may show.
    """
    if engine not in ("polars", "spark"):
        raise InvalidInputError(f"--engine must be polars or spark, not {brief(engine)}")
    if engine == "polars":
        if master is not None:
            raise InvalidInputError("--master requires --engine spark")
        yield data[0] if len(data) == 1 else _together(data)
        return
    from bayesdp.frames.spark import spark_table

    with spark_table(*data, master=master) as opened:
        yield opened


def _together(data: Sequence[str]) -> list[str]:
    """Return several paths; refuses what is no path, which would not be quoted in a list of anything."""
    from bayesdp.frames.databases import is_database
    from bayesdp.frames.paths import files_of

    for name in data:
        if not is_database(name):  # which is refused later
            files_of(name)
    return list(data)


def picture(path: str | None, inputs: Sequence[str]) -> None:
    """Refuse, before computing anything, a plot that cannot be drawn or would overwrite an input."""
    if path is not None:
        from bayesdp.plotting.drawing import check_place

        refuse_overwriting(path, inputs)
        check_place(path)


def released_picture(path: str | None, inputs: Sequence[str | Path], dry_run: bool) -> None:
    """Refuse a plot of a release as `picture` does, and one of a release that is not made.

    inputs: the files that are read; a ledger among them may be the URL of its file.
    """
    if path is not None and dry_run:
        raise InvalidInputError("--plot draws what is released, and --dry-run releases nothing; give one of them")
    picture(path, [str(place).removeprefix("sqlite:///") for place in inputs])


def number(option: str, text: str) -> float:
    """Read one number."""
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"{option} must be a number, not {brief(text)}") from None


def credibility(text: str | None) -> float | None:
    """Read --credibility, if it is given."""
    return None if text is None else number("--credibility", text)


def positive(option: str, text: str) -> float:
    """Read one number above zero."""
    return above_zero(option, number(option, text))


def bounds(option: str, texts: tuple[str, str]) -> tuple[float, float]:
    """Read two numbers; the error names an option that comes where a number is missing."""
    for text in texts:
        if text.startswith("-") and not _is_number(text):
            raise InvalidInputError(
                f"{option} needs two numbers, LOW HIGH, such as {option} 0 100, but {text} came early"
            )
    low, high = (validation.number(option, number(option, text)) for text in texts)
    return low, high


def numbers(option: str, text: str) -> list[float]:
    """Read comma-separated numbers."""
    return [number(option, part) for part in split(option, text)]


def columns(option: str, texts: Sequence[str] | None) -> list[str]:
    """Read column names: comma-separated, and the option may be given several times."""
    return [part for text in texts or () for part in split(option, text)]


def promised(delta: str | None) -> dict[str, float]:
    """Read --budget-delta, as a session takes it; nothing if it was not given."""
    option = "--budget-delta"
    return {} if delta is None else {"delta": probability(option, number(option, delta))}


def one_of(first: str, first_text: str | None, second: str, second_text: str | None) -> dict[str, float]:
    """Read the one of two options that must be given."""
    given = {option: text for option, text in ((first, first_text), (second, second_text)) if text is not None}
    if len(given) != 1:
        raise InvalidInputError(f"give either {first} or {second}")
    return {option.removeprefix("--"): number(option, text) for option, text in given.items()}


def numbers_given(texts: dict[str, str | None]) -> dict[str, float]:
    """Read those of several options that were given, by the names of their parameters."""
    return {option.removeprefix("--"): number(option, text) for option, text in texts.items() if text is not None}


def given(**texts: str | None) -> dict[str, Any]:
    """Return those of several texts that were given."""
    return {name: text for name, text in texts.items() if text is not None}


def neighbours(kind: str | None) -> str:
    """Return the neighbours of a τ that was made elsewhere; a note on stderr if "replace" is taken without a word."""
    if kind is None:
        print(
            "note: --tau is taken to be about replacing a record; most libraries add or remove one: "
            "--neighbours add-remove",
            file=sys.stderr,
        )
    return kind or "replace"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def whole(option: str, text: str) -> int:
    """Read one whole number."""
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError(f"{option} must be a whole number, not {brief(text)}") from None


def natural(option: str, text: str, least: int = 1) -> int:
    """Read one whole number of at least `least`."""
    return at_least(option, whole(option, text), least=least)


def period(text: str) -> str | int:
    """Read the length of a period: a number of units of the order, or the name of a period of the calendar."""
    return int(text) if text.isascii() and text.isdecimal() else text


def adversary(target: str | None, known: str | None) -> dict[str, Any]:
    """Read the adversary of --target and --known; None if neither is given."""
    if target is None:
        if known is not None:
            raise InvalidInputError("--known requires --target, the record that the adversary asks about")
        return {}
    listed = [] if known is None else split("--known", known)
    return {
        "target": natural("--target", target, least=0),
        "known": [natural("--known", record, least=0) for record in listed],
    }


def folder(option: str, path: str) -> str:
    """Raise an error for a path that is not a readable folder."""
    try:
        next(Path(path).iterdir(), None)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInputError(f"{option} must be a folder that can be read, not {brief(path)} ({why})") from None
    return path


def split(option: str, text: str) -> list[str]:
    """Read comma-separated texts, which may be quoted."""
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        rows = []
    parts = [part.strip() for row in rows for part in row]
    if not parts or "" in parts:
        raise InvalidInputError(f"{option} must be a comma-separated list without empty entries, not {brief(text)}")
    return parts
