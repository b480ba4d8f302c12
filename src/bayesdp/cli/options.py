"""From the texts of the command line to models, queries and numbers, with errors that name the option."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp._support.validation import Scalar, brief, is_scalar
from bayesdp._support.validation import natural as at_least
from bayesdp._support.validation import positive as above_zero
from bayesdp.cli.spelling import spelled
from bayesdp.cli.words import listed
from bayesdp.errors import InvalidInputError, ModelError, QueryError
from bayesdp.queries import Query, query_from_dict

if TYPE_CHECKING:
    from bayesdp.models import Model

__all__ = [
    "adversary",
    "columns",
    "files",
    "folder",
    "ledger",
    "model",
    "natural",
    "number",
    "numbers",
    "one_of",
    "pair",
    "positive",
    "query",
    "whole",
]


def model(path: str | Path) -> Model:
    """Read the model file; errors name its JSON entries."""
    from bayesdp.models import Model

    try:
        return Model.load(path)
    except ModelError as error:
        raise ModelError(spelled(str(error), {})) from None


def ledger(url: str | None) -> str | Path:
    """Return the ledger that is named, or the one that is used when none is."""
    from bayesdp.ledger import default_ledger

    return default_ledger() if url is None else url


def files(data: str) -> list[str]:
    """Return the files a path or a pattern names; none for what cannot be read as either."""
    from bayesdp.frames.files import matching

    try:
        return matching(data)
    except (OSError, ValueError):
        return []


def query(
    kind: str,
    assumed: Model,
    states: str | None,
    bounds: tuple[str, str] | None,
    column: str | None,
    where: str | None,
    public_filter: bool,
    size: str | None,
) -> Query:
    """Build the query of a registered kind; options that the kind does not use are refused."""
    kinds = Query.kinds()
    if kind not in kinds:
        raise QueryError(f"--query must be one of {', '.join(kinds)}, not {brief(kind)}")
    known = {"--bounds": bounds, "--states": states, "--size": size}
    for option, given in known.items():
        if given is not None and option not in _options(kinds[kind]):
            takers = [name for name, other in kinds.items() if option in _options(other)]
            raise QueryError(f"{option} goes with {listed(takers)}, not with {kind}")
    entries: dict[str, Any] = {"column": column, "where": where, "public_filter": public_filter}
    if "--bounds" in _options(kinds[kind]):
        if bounds is None:
            raise QueryError(f"a {kind} needs --bounds LOW HIGH to clip values to, such as --bounds 0 100")
        entries["bounds"] = tuple(number("--bounds", end) for end in bounds)
    if "--states" in _options(kinds[kind]):
        values = _implied(kinds[kind], assumed) if states is None else _values(states, assumed)
        entries |= kinds[kind].entries_for(values)
    if size is not None:
        entries["size"] = whole("--size", size)
    return query_from_dict({"query": kind, **entries})


def _options(kind: type[Query]) -> set[str]:
    """Return the options of a kind of query, besides those of all: --column, --where and --public-filter."""
    taken = {item.name for item in fields(kind)} & {"bounds", "size"} | ({"states"} if kind.counts_values else set())
    return {f"--{name}" for name in taken}


def number(option: str, text: str) -> float:
    """Read one number."""
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"{option} must be a number, not {brief(text)}") from None


def positive(option: str, text: str) -> float:
    """Read one number above zero."""
    return above_zero(option, number(option, text))


def pair(given: tuple[str, str] | None) -> tuple[str, str] | None:
    """Refuse bounds of which one is another option: --bounds was given one number, or none."""
    for value in given or ():
        if value.startswith("-") and not _is_number(value):
            raise InvalidInputError(
                f"--bounds needs two numbers, LOW HIGH, such as --bounds 0 100, but {value} came early"
            )
    return given


def numbers(option: str, text: str) -> list[float]:
    """Read comma-separated numbers."""
    return [number(option, part) for part in _split(option, text)]


def columns(option: str, texts: Sequence[str] | None) -> list[str]:
    """Read column names: comma-separated, and the option may be given several times."""
    return [part for text in texts or () for part in _split(option, text)]


def one_of(first: str, first_text: str | None, second: str, second_text: str | None) -> dict[str, float]:
    """Read the one of two options that must be given."""
    given = {option: text for option, text in ((first, first_text), (second, second_text)) if text is not None}
    if len(given) != 1:
        raise InvalidInputError(f"give either {first} or {second}")
    return {option.removeprefix("--"): number(option, text) for option, text in given.items()}


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


def adversary(target: str | None, known: str | None) -> dict[str, Any]:
    """Read which adversary --target and --known name; nothing if all of them are meant."""
    if target is None:
        if known is not None:
            raise InvalidInputError("--known goes with --target, the record this adversary asks about")
        return {}
    listed = [] if known is None else _split("--known", known)
    return {
        "target": natural("--target", target, least=0),
        "known": [natural("--known", record, least=0) for record in listed],
    }


def folder(option: str, path: str) -> str:
    """Refuse a path that is no folder we can read."""
    try:
        next(Path(path).iterdir(), None)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInputError(f"{option} must be a folder that can be read, not {brief(path)} ({why})") from None
    return path


def _split(option: str, text: str) -> list[str]:
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        rows = []
    parts = [part.strip() for row in rows for part in row]
    if not parts or "" in parts:
        raise InvalidInputError(f"{option} must be a comma-separated list without empty entries, not {brief(text)}")
    return parts


def _implied(kind: type[Query], assumed: Model) -> list[Scalar]:
    """Return what is counted if nothing is said: all states of a chain in cells, else true if it is true or false."""
    states = _states(assumed)
    if states and kind.by_cell:
        return states
    if len(states) == 2 and all(isinstance(state, bool) for state in states):
        return [True]
    some = (
        f": some of {', '.join(json.dumps(state) for state in states[:8])}" if states else ", such as --states active"
    )
    raise QueryError(f"a {kind.kind} needs --states, the values to count{some}")


def _states(assumed: Model) -> list[Scalar]:
    """Return the states of a chain, or of the several chains it may be."""
    return list(assumed.states)


def _values(text: str, assumed: Model) -> list[Scalar]:
    """Return the states that `text` names: a JSON list without its brackets, or plain comma-separated texts."""
    written = _json(f"[{text}]")
    if isinstance(written, list) and written and all(map(is_scalar, written)):
        return [_state(value, json.dumps(value), assumed) for value in written]
    return [_state(part, part, assumed) for part in _split("--states", text)]


def _state(value: Scalar, text: str, assumed: Model) -> Scalar:
    """Return the model's state that is `value`, else its state that reads the same, else the value itself."""
    states = _states(assumed)
    if any(type(state) is type(value) and state == value for state in states):
        return value
    reads = text if isinstance(value, str) else json.dumps(value)
    alike = {json.dumps(state): state for state in states if reads in (str(state), json.dumps(state))}
    if len(alike) > 1:
        raise QueryError(f"--states {reads} could be any of {', '.join(alike)}; write the one you mean as JSON")
    if alike:
        return next(iter(alike.values()))
    plain = _json(text)
    return plain if not states and is_scalar(plain) else value


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
