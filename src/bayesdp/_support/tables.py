"""Plain text tables: a header, a rule, right-aligned numbers."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["table"]


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
