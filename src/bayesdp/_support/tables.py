"""What is printed as plain text: tables with a header, a rule and right-aligned numbers; numbers of things."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["counted", "table"]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a table; the first and last columns are texts, those between are numbers.

    >>> print(table(["theorem", "ε", "note"], [["general", "3", ""]]))
    theorem  ε  note
    -------  -  ----
    general  3
    """
    widths = [max(len(row[index]) for row in [header, *rows]) for index in range(len(header))]
    last = len(header) - 1

    def line(cells: Sequence[str]) -> str:
        placed = [
            cell.ljust(width) if index in (0, last) else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(placed).rstrip()

    rule = ["-" * width if title else "" for title, width in zip(header, widths, strict=True)]
    return "\n".join([line(header), line(rule), *(line(row) for row in rows)])


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number of things: "1 release", "2 releases"; `many` where that is not `one` with an s.

    >>> counted(1, "release"), counted(2, "entry", "entries"), counted(0, "refusal")
    ('1 release', '2 entries', 'no refusals')
    """
    return f"{number or 'no'} {one if number == 1 else many or one + 's'}"
