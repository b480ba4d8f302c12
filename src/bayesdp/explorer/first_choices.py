"""First choices for a table, from the names and the types of its columns alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bayesdp.explorer.choices import Choices

if TYPE_CHECKING:
    from bayesdp.frames.source import Kind

__all__ = ["first_choices"]

_DATES = {"date", "datetime", "time", "timestamp", "year", "month", "week", "day"}
_CLOCKS = {"hour", "interval", "minute", "second", "slot", "t"}
_ENTITIES = {
    "account", "client", "customer", "device", "employee", "id", "member", "meter", "participant", "patient", "person",
    "sensor", "station", "student", "subject", "user", "who",
}  # fmt: skip
_GROUPS = {"class", "clinic", "company", "family", "hospital", "household", "school", "team"}

_PREFERRED: tuple[Kind, ...] = ("truth", "whole", "number", "text")
"""The kinds of columns that a question is likeliest to be about, the likeliest first."""


def first_choices(kinds: Mapping[str, Kind | None]) -> Choices:
    """Return choices that a reader may keep: dates and clocks order records, and id-like columns tell chains apart.

    >>> first = first_choices({"steps": "whole", "date": "time", "interval": "whole"})
    >>> first.subject, first.order
    ('steps > 0', ['date', 'interval'])
    """
    dates, clocks = ([name for name, kind in kinds.items() if _orders(name, kind, by)] for by in (_DATES, _CLOCKS))
    order = list(dict.fromkeys([*dates, *clocks]))[:3]
    left = {name: kind for name, kind in kinds.items() if name not in order}
    entities = [name for name in left if _words(name) & _ENTITIES][:2] if order else []
    groups = [name for name in left if name not in entities and _words(name) & _GROUPS][:1]
    likely = [(name, kind) for name, kind in left.items() if name not in (*entities, *groups) and kind in _PREFERRED]
    column, kind = min(likely, key=lambda pair: _PREFERRED.index(pair[1] or "text"), default=("", None))
    counted = bool(order) or kind in ("truth", "text", None)
    return Choices(
        kind="count" if counted else "sum",
        column=column,
        condition="> 0" if counted and kind in ("whole", "number") else "",
        values="true" if kind == "truth" else "",
        low="",
        high="",
        size="",
        **dict(zip(("order_by", "then_by", "last_by"), order, strict=False)),
        **dict(zip(("entity", "and_entity"), entities, strict=False)),
        group="" if counted or not groups else groups[0],
    )


def _orders(name: str, kind: Kind | None, by: set[str]) -> bool:
    return kind is not None and ((kind == "time" and by is _DATES) or bool(_words(name) & by))


def _words(name: str) -> set[str]:
    """Return the words of a column's name: of person_id and personId both person and id."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
