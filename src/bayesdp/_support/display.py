"""Output described once and rendered twice: as text for a terminal, and as HTML for a notebook.

Names, states and reasons come from users, so the HTML escapes them. It sets no colour, so that it can be read on light
and dark pages, and loads nothing.
"""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from bayesdp._support.validation import escaped
from bayesdp._support.words import filled

__all__ = [
    "Block",
    "Code",
    "Displayed",
    "PrintedTable",
    "Section",
    "Words",
    "as_html",
    "as_text",
    "lines",
    "table",
    "warned",
]

_WIDE = 100
"""Characters in a line of text that is filled."""


@dataclass(frozen=True)
class Words:
    """A paragraph.

    indent:  what each line of text begins with.
    warning: whether the paragraph is highlighted and begins with "Warning".
    filled:  whether the text is wrapped to lines of equal length.

    >>> print(Words("the data deny it", warning=True).text())
    Warning: the data deny it
    """

    words: str
    indent: str = ""
    warning: bool = False
    filled: bool = False

    def text(self) -> str:
        """Return the paragraph as text."""
        words = f"Warning: {self.words}" if self.warning else self.words
        if not self.filled:
            return words
        hanging = self.indent + "  " * bool(self.indent)
        return filled(words, _WIDE, ":", initial_indent=self.indent, subsequent_indent=hanging, break_long_words=False)

    def html(self) -> str:
        """Return the paragraph as HTML; line breaks are kept."""
        style = "margin:.2em 0;white-space:pre-line"
        if self.warning:
            return _tag("p", f"<strong>Warning:</strong> {_safe(self.words)}", f"{style};{_WARNING}")
        return _tag("p", _safe(self.words), f"{style};margin-left:1.5em" if self.indent else style)


_WARNING = "border-left:.25em solid;padding-left:.6em"


@dataclass(frozen=True)
class PrintedTable:
    """A table: text in the first and last columns, numbers in those between."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        """Return the table as text."""
        return table(self.header, self.rows)

    def html(self) -> str:
        """Return the table as HTML; an empty header is left out."""
        head = "".join(_tag("th", _safe(cell.strip()), self._style(place)) for place, cell in enumerate(self.header))
        body = "".join(
            _tag("tr", "".join(_tag("td", _safe(cell.strip()), self._style(place)) for place, cell in enumerate(row)))
            for row in self.rows
        )
        titled = _tag("thead", _tag("tr", head)) if any(self.header) else ""
        return _tag("table", f"{titled}{_tag('tbody', body)}", "border-collapse:collapse;margin:.4em 0")

    def _style(self, column: int) -> str:
        side = "left" if column in (0, len(self.header) - 1) else "right"
        wrapping = "normal" if column == len(self.header) - 1 else "nowrap"
        return f"text-align:{side};vertical-align:top;padding:.15em .7em;white-space:{wrapping}"


@dataclass(frozen=True)
class Code:
    """Lines that are shown unchanged."""

    code: str

    def text(self) -> str:
        """Return the lines, indented."""
        return textwrap.indent(self.code, "    ")

    def html(self) -> str:
        """Return the lines as HTML."""
        return _tag("pre", _safe(self.code), "margin:.4em 0;white-space:pre-wrap")


Block = Words | PrintedTable | Code
Section = Sequence[Block]
"""Blocks that follow one another; an empty line separates two sections."""


def lines(*texts: str) -> list[Words]:
    """Return lines of text as blocks."""
    return [Words(text) for text in texts]


def warned(texts: Iterable[str]) -> list[Words]:
    """Return warnings as blocks."""
    return [Words(text, warning=True) for text in texts]


def as_text(sections: Iterable[Section]) -> str:
    """Return sections as text.

    >>> print(as_text([lines("One release.", "It leaks:"), [Code("a")]]))
    One release.
    It leaks:
    <BLANKLINE>
        a
    """
    return "\n\n".join("\n".join(block.text() for block in section) for section in sections if section)


def as_html(sections: Iterable[Section]) -> str:
    """Return sections as HTML.

    >>> "&lt;script&gt;" in as_html([lines("<script>")])
    True
    """
    drawn = ("".join(block.html() for block in section) for section in sections if section)
    parts = (_tag("div", section, "margin:0 0 .8em") for section in drawn)
    return _tag("div", "".join(parts), "max-width:64em;overflow-x:auto")


class Displayed(ABC):
    """An object that prints as text and displays in a notebook, both from the same description."""

    @abstractmethod
    def _printed(self) -> Sequence[Section]:
        """Return what is printed."""

    def _shown(self) -> Sequence[Section]:
        """Return what a notebook shows: by default what is printed."""
        return self._printed()

    def __str__(self) -> str:
        return as_text(self._printed())

    def _repr_html_(self) -> str:
        return as_html(self._shown())


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a table: text in the first and last columns, right-aligned numbers in those between.

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


def _safe(text: str) -> str:
    return escape(escaped(text))


def _tag(name: str, content: str, style: str = "") -> str:
    return f'<{name} style="{style}">{content}</{name}>' if style else f"<{name}>{content}</{name}>"
