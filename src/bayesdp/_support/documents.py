"""JSON in and out: strict where it reads, exact where it writes."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bayesdp._support.files import write_private
from bayesdp._support.validation import Refuse, brief
from bayesdp.errors import InvalidInputError

__all__ = ["Document", "canonical", "checked", "fingerprint", "of_schema", "parse", "read", "write"]

_LARGEST_FILE = 64 * 1024 * 1024
"""Bytes. A chain of 1,000 states, the largest model that can be allowed, takes some 25 MB with its counts."""


class Document(ABC):
    """An object that can be written as JSON."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object as plain dictionaries, lists and scalars."""

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the JSON text. Floats are written so that they read back as the same float."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False, ensure_ascii=False)


def write(path: str | Path, document: Document) -> None:
    """Write a document to a file that only its owner can read: models hold exact counts and are as private as the data.

    Raises InvalidInputError, which names the file, if that fails; no partial file is left behind.
    """
    try:
        write_private(path, document.to_json(indent=2) + "\n")
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from None


def checked(document: object, kind: str, schema: int, refuse: Refuse = InvalidInputError) -> Mapping[str, Any]:
    """Return a stored document if this version can read it (docs/architecture.md, "Documents that are stored").

    A document without `kind` or `schema` was written by the first version.

    >>> dict(checked({"schema": 1, "value": 41}, "answer", 1))
    {'schema': 1, 'value': 41}
    >>> checked({"kind": "answer", "schema": 2}, "answer", 1)
    Traceback (most recent call last):
    ...
    bayesdp.errors.InvalidInputError: this answer is of schema 2, and this version of bayesdp reads schema 1; update it
    """
    read = of_schema(document, kind, schema, refuse)
    if read.get("kind", kind) != kind:
        raise refuse(f"expected a document of kind {kind}, not of kind {brief(read['kind'])}")
    return read


def of_schema(document: object, name: str, schema: int, refuse: Refuse = InvalidInputError) -> Mapping[str, Any]:
    """Return a JSON object if this version can read its schema."""
    if not isinstance(document, Mapping):
        raise refuse(f"the {name} must be a JSON object, not {brief(document)}")
    written = document.get("schema", 1)
    if isinstance(written, bool) or not isinstance(written, int) or not written >= 1:
        raise refuse(f'"schema" must be a whole number from 1, not {brief(written)}')
    if written > schema:
        raise refuse(
            f"this {name} is of schema {written}, and this version of bayesdp reads schema {schema}; update it"
        )
    return document


def parse(source: str, name: str = "the JSON text") -> Mapping[str, Any]:
    """Read one JSON object without NaN, infinities and duplicate keys.

    >>> dict(parse('{"type": "independent"}'))
    {'type': 'independent'}
    >>> parse('{"size": 2, "size": 3}')
    Traceback (most recent call last):
    ...
    bayesdp.errors.InvalidInputError: the JSON text gives "size" twice; remove one of them
    """

    def no_constant(constant: str) -> float:
        raise InvalidInputError(f"{name} contains {constant}; every number must be finite")

    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for key, value in pairs:
            if key in entries:
                raise InvalidInputError(f'{name} gives "{key}" twice; remove one of them')
            entries[key] = value
        return entries

    if not isinstance(source, str):
        raise InvalidInputError(f"{name} must be a text, not {type(source).__name__}")
    if not source.strip():
        raise InvalidInputError(f"{name} is empty; expected a JSON object")
    try:
        document = json.loads(source, parse_constant=no_constant, object_pairs_hook=no_duplicates)
    except json.JSONDecodeError as error:
        raise InvalidInputError(
            f"{name} is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise InvalidInputError(f"{name} is nested too deeply; expected a document that bayesdp wrote") from None
    except ValueError as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{name} holds a number that cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise InvalidInputError(f"{name} must hold one JSON object, not {type(document).__name__}")
    return document


def read(path: str | Path) -> Mapping[str, Any]:
    """Read one JSON object from a file; errors name the file."""
    name = str(path)
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)  # pipes and devices have no size to look up
        if len(content) > _LARGEST_FILE:
            raise InvalidInputError(f"{name} is larger than 64 MiB; expected a JSON document that bayesdp wrote")
        source = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInputError(f"{name} is not UTF-8 text; expected a JSON document") from None
    except (OSError, ValueError, TypeError) as error:
        if isinstance(error, InvalidInputError):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InvalidInputError(f"cannot read {name}: {reason}") from None
    return parse(source, name)


def canonical(name: str, document: Mapping[str, Any]) -> str:
    """Return a JSON object as text that is the same for equal objects; InvalidInputError if it is not one.

    >>> canonical("the model", {"type": "arbitrary", "size": 3})
    '{"size":3,"type":"arbitrary"}'
    """

    def plain(value: object) -> dict[str, Any]:
        if isinstance(value, Mapping):
            return dict(value)
        raise TypeError(f"{type(value).__name__} is no JSON value")

    if not isinstance(document, Mapping):
        raise InvalidInputError(f"{name} must be a JSON object, not {type(document).__name__}")
    try:
        written = json.dumps(
            document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=plain
        )
        written.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{name} cannot be written as JSON: {error}") from None
    return written


def fingerprint(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a JSON object, which does not depend on the order of its keys.

    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(canonical("the document", document).encode()).hexdigest()
