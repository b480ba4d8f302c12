"""On which line of a TOML text an entry is: `tomllib` reads values, and keeps no positions."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Path", "line_of"]

Path = Sequence[str | int]
"""The keys that lead to an entry; a number is a place in an array."""


def line_of(text: str, path: Path) -> int:
    """Return the line on which an entry of a valid TOML text begins; if there is none, that of its table.

    The lines up to some line are a TOML text of their own unless that line is inside of a value. So the entry begins
    after the last such text that does not have it yet.

    >>> line_of("a = 1\\n[b]\\nc = [\\n  2,\\n]\\n", ("b", "c")), line_of("a = 1\\n[b]\\n", ("b", "d"))
    (3, 2)
    """
    lines = text.splitlines(keepends=True)
    before = 0
    for number in range(1, len(lines) + 1):
        try:
            read = tomllib.loads("".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue
        if _is_in(read, path):
            return before + 1
        before = number
    return line_of(text, path[:-1]) if path else 1


def _is_in(document: Any, path: Path) -> bool:
    for key in path:
        entries = dict(enumerate(document)) if isinstance(document, list) else document
        if not isinstance(entries, Mapping) or key not in entries:
            return False
        document = entries[key]
    return bool(path)
