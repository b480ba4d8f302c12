"""Which parts of an output are tables of text."""

from __future__ import annotations

import re
from itertools import groupby

__all__ = ["parted"]

RULE = re.compile(r"^ *---+(?: +-+)+ *$", re.MULTILINE)
"""The line below the head of a table of text."""


def parted(text: str) -> list[tuple[bool, str]]:
    """Return the pieces of an output, and whether each is a table of text.

    >>> parted("Known:\\na    b\\n---  --\\n1    2\\nBoth are exact.")
    [(False, 'Known:'), (True, 'a    b\\n---  --\\n1    2'), (False, 'Both are exact.')]
    """
    lines = text.split("\n")
    tables = [False] * len(lines)
    for place, rule in enumerate(lines):
        if RULE.match(rule):
            gaps = [slice(*gap.span()) for gap in re.finditer(r"(?<=-) +(?=-)", rule)]
            first = max(place - 1, 0)
            for row, line in enumerate(lines[first:], first):
                if row > place and (
                    not line.strip() or line.startswith("$ ") or any(line[gap].strip() for gap in gaps)
                ):
                    break
                tables[row] = True
    runs = groupby(zip(tables, lines, strict=True), key=lambda pair: pair[0])
    pieces = [(table, "\n".join(line for _, line in run).strip("\n")) for table, run in runs]
    return [piece for piece in pieces if piece[1]] if any(tables) else [(False, text)]
