"""Suggest an option or a command in place of one that does not exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["nearest"]

_CLOSE = 0.75
"""The least similarity of two words, by difflib's ratio: all but a letter or two."""

_ABBREVIATION = 3
"""The fewest letters that can be an abbreviation."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the option or command that was probably meant: the only one with this prefix, or a similar one.

    The hyphens before an option do not count: all options share them.

    >>> known = ["--states", "--size", "--epsilon"]
    >>> nearest("--state", known), nearest("--eps", known), nearest("--sizes", known), nearest("--seed", known)
    ('--states', '--epsilon', '--size', None)
    """
    letters, by_letters = word.lstrip("-"), {name.lstrip("-"): name for name in known}
    longer = [name for name in by_letters if name.startswith(letters)] if len(letters) >= _ABBREVIATION else []
    close = longer if len(longer) == 1 else get_close_matches(letters, by_letters, n=1, cutoff=_CLOSE)
    return by_letters[close[0]] if close else None
