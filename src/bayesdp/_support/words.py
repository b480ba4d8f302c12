"""Numbers and lists in words, wrapped texts, and texts that a database may confuse."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable
from typing import Any

__all__ = ["counted", "filled", "folded", "having", "kept_together", "listed", "plural"]

_IRREGULAR = {"child": "children", "man": "men", "woman": "women"}


def plural(one: str) -> str:
    """Return the plural of a name that people give to a record.

    >>> [plural(one) for one in ("record", "child", "entry", "day", "5-minute visit", "branch", "hour of a person")]
    ['records', 'children', 'entries', 'days', '5-minute visits', 'branches', 'hours of a person']
    """
    thing, of, whole = one.partition(" of ")
    if of:
        return f"{plural(thing)}{of}{whole}"
    before, space, last = one.rpartition(" ")
    if last in _IRREGULAR:
        return f"{before}{space}{_IRREGULAR[last]}"
    if last.endswith("y") and last[-2:-1] not in ("", *"aeiou"):
        return f"{one[:-1]}ies"
    return f"{one}es" if last.endswith(("s", "x", "z", "ch", "sh")) else f"{one}s"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number of things: "1 release", "2 releases"; `many` is the plural if `plural` does not know it.

    >>> counted(1, "release"), counted(2, "entry", "entries"), counted(0, "refusal")
    ('1 release', '2 entries', 'no refusals')
    """
    return f"{number or 'no'} {one if number == 1 else many or plural(one)}"


def having(number: int, one: str, whole: str) -> str:
    """Return the beginning of a sentence: how many things of a whole have something.

    >>> having(1, "record", "the table"), having(2, "group", "the table")
    ('1 record of the table has', '2 groups of the table have')
    """
    return f"{counted(number, one)} of {whole} {'has' if number == 1 else 'have'}"


def listed(words: Iterable[str], last: str = "and") -> str:
    """Return words as a list in a sentence.

    >>> listed(["mean"]), listed(["sum", "mean"]), listed(["count", "sum", "mean"], "or")
    ('mean', 'sum and mean', 'count, sum or mean')
    """
    *most, final = words
    return f"{', '.join(most)} {last} {final}" if most else final


def kept_together(text: str, *signs: str) -> str:
    """Return a text with non-breaking spaces around the signs, so that no line ends beside one of them.

    >>> kept_together("50 : 50", ":") == "50\\N{NO-BREAK SPACE}:\\N{NO-BREAK SPACE}50"
    True
    """
    for sign in signs:
        text = text.replace(f" {sign} ", f"{_UNBROKEN}{sign}{_UNBROKEN}")
    return text


_UNBROKEN = "\N{NO-BREAK SPACE}"


def filled(text: str, width: int, *signs: str, **options: Any) -> str:
    """Return a text in lines of at most `width` characters, none of which ends beside one of the signs.

    options: those of `textwrap.fill`.

    >>> filled("activity.csv, n = 15,264", 20, "=").splitlines()
    ['activity.csv,', 'n = 15,264']
    """
    return textwrap.fill(kept_together(text, *signs), width, break_on_hyphens=False, **options).replace(_UNBROKEN, " ")


def folded(text: str) -> str:
    """Return a text without what a database may ignore when it compares texts: case, accents, width, spaces.

    >>> folded("Nord ") == folded("nord"), folded("Malmö") == folded("ＭALMO"), folded("A1") == folded("A2")
    (True, True, False)
    """
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    seen = (letter for letter in plain if not unicodedata.combining(letter) and unicodedata.category(letter) != "Cf")
    return " ".join("".join(seen).split())
