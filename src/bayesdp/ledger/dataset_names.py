"""The names of data sets: one text, one name.

A name is stored trimmed and in Unicode's normal form C, so that "é" typed in two ways is one name. Invisible characters
(zero-width, directional and other format characters, fillers, variation selectors) are refused. Form C keeps names
apart that look different, such as "m²" and "m2", or "Steps" and "steps". Names that differ only in this way (case,
compatibility characters, spaces) are *alike*: the second one is opened only for a stated reason, which is stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from bayesdp._support import validation
from bayesdp._support.documents import fingerprint
from bayesdp._support.validation import brief, plain_number
from bayesdp.errors import InvalidInputError
from bayesdp.ledger.records import label

__all__ = ["dataset_name", "likeness", "normalised", "table_likeness"]

_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Invisible characters that Unicode does not classify as format characters (Cf)."""


def dataset_name(name: object) -> str:
    """Return a name as it is stored; InvalidInputError if it is empty, cannot be stored, or has invisible characters.

    >>> dataset_name(" cafe\\u0301 ") == "caf\\u00e9"
    True
    >>> dataset_name("steps\\u200b")
    Traceback (most recent call last):
    ...
    bayesdp.errors.InvalidInputError: dataset holds a character that cannot be seen, U+200B: 'steps\\u200b'
    """
    stored = validation.line("dataset", label("dataset", normalised(validation.text("dataset", name))))
    unseen = next((character for character in stored if _is_invisible(character)), None)
    if unseen is not None:
        raise InvalidInputError(f"dataset holds a character that cannot be seen, U+{ord(unseen):04X}: {brief(stored)}")
    return stored


def normalised(name: str) -> str:
    """Return a text trimmed and in normal form C, in which the same name is always the same text.

    >>> normalised(" a ")
    'a'
    """
    return unicodedata.normalize("NFC", name).strip()


def likeness(name: str) -> str:
    """Return a text that is equal for names that a reader could confuse.

    >>> likeness("Steps  2012") == likeness("steps\\u200b 2012") == likeness("ｓteps 2012")
    True
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join("".join(character for character in folded if not _is_invisible(character)).split())


_LABELS = frozenset({"record", "gaps", "length", "step", "column", "missing", "diagnosis", "schema", "credibility"})
"""Entries of a model or a description that may differ although table and assumption are the same."""


def table_likeness(model: object, description: object, *, of_any_size: bool = False) -> str:
    """Return a value that is equal for two accounts of one table under one model, however these are written.

    of_any_size: one of them is of a table that grows, so that its size says nothing.

    >>> one, other = {"type": "markov", "states": [0, 1]}, {"type": "markov", "states": ["0", "1"], "record": "day"}
    >>> table_likeness(one, {"records": 9}) == table_likeness(other, {"records": 9, "missing": "drop"})
    True
    """
    facts = _plain(description)
    if of_any_size and isinstance(facts, dict):
        facts = {name: fact for name, fact in facts.items() if name not in ("records", "growing")}
    return fingerprint({"model": _plain(model), "description": facts})


def _plain(value: object, name: str = "") -> Any:
    """Return a JSON value without labels, with the states of a chain as texts."""
    if isinstance(value, Mapping):
        return {key: _plain(item, str(key)) for key, item in value.items() if key not in _LABELS}
    if isinstance(value, list | tuple):
        return [str(plain_number(item)) if name == "states" else _plain(item) for item in value]
    return value


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) == "Cf" or _INVISIBLE.match(character) is not None
