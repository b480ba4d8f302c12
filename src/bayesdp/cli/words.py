"""How the command line puts numbers into words."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number of things: "1 release", "2 releases"; `many` where that is not `one` with an s.

    >>> counted(1, "release"), counted(2, "entry", "entries"), counted(0, "refusal")
    ('1 release', '2 entries', 'no refusals')
    """
    return f"{number or 'no'} {one if number == 1 else many or one + 's'}"
