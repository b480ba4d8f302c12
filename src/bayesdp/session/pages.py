"""A page of facts, paragraphs and lists, written as Markdown, or as HTML that prints well and needs nothing else.

Names, reasons and filters come from users: both forms escape them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from bayesdp._support.markdown import beginning, plain
from bayesdp._support.validation import escaped

__all__ = ["Block", "Code", "Listed", "Page", "Text", "Verbatim"]

_CSS = """
@page { size: A4; margin: 18mm 20mm; }
:root { color-scheme: light; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; background: #fff; color: #1a1a1a;
  font: 10.5pt/1.45 Georgia, "Times New Roman", serif; overflow-wrap: anywhere; }
h1 { font-size: 17pt; line-height: 1.2; margin: 0 0 1rem; border-bottom: 2px solid #1a1a1a; padding-bottom: .4rem; }
h2 { font-size: 12pt; margin: 1.3rem 0 .3rem; }
h2, p:has(+ pre) { break-after: avoid; }
p, ul, ol { margin: .4rem 0; }
li { margin: .15rem 0; }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid #ccc; }
th { width: 12rem; font-weight: normal; color: #555; overflow-wrap: normal; }
tr, li, pre { break-inside: avoid; }
code, pre { font: 8.5pt/1.4 "DejaVu Sans Mono", Menlo, Consolas, monospace; }
pre { padding: .6rem .8rem; background: #f5f5f5; white-space: pre-wrap; }
.warning { border-left: 4px solid #b00020; padding: .3rem .8rem; color: #b00020; }
@media print { body { max-width: none; margin: 0; padding: 0; } pre { background: none; border: 1px solid #ccc; } }
"""


@dataclass(frozen=True)
class Code:
    """Text that is code: a command, a filter, a fingerprint."""

    text: str


Text = str | tuple[str | Code, ...]
"""One text, or several in a row. Nothing in them is markup."""


@dataclass(frozen=True)
class Listed:
    """A list."""

    items: Sequence[Text]
    ordered: bool = False


@dataclass(frozen=True)
class Verbatim:
    """Lines that stay as they are."""

    text: str


Block = Text | Listed | Verbatim
"""A paragraph, a list, or lines that stay as they are."""


@dataclass(frozen=True)
class Page:
    """The content of a page. Its texts may contain `Code`; nothing else in them is markup.

    warnings: sentences that stand out, before everything else.
    facts:    a table of names and texts.
    sections: headings, each with its paragraphs.
    """

    title: str
    warnings: Sequence[Text]
    facts: Sequence[tuple[Text, Text]]
    sections: Sequence[tuple[str, Sequence[Block]]]

    def markdown(self) -> str:
        """Return the page in Markdown."""
        facts = "\n".join(f"| {_cell(name)} | {_cell(text)} |" for name, text in self.facts)
        warnings = "".join(f"**Warning: {_markdown(text)}**\n\n" for text in self.warnings)
        sections = "".join(
            f"\n## {title}\n\n{chr(10).join(map(_markdown_block, blocks))}" for title, blocks in self.sections
        )
        return f"{markdown_opening(self.title)}\n{warnings}| | |\n|---|---|\n{facts}\n{sections}"

    def __str__(self) -> str:
        return self.markdown()

    def html(self) -> str:
        """Return the page in HTML, with its style inside."""
        return (
            f'{html_opening(self.title)}<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{_html(self.title)}</title>\n<style>{_CSS}</style>\n</head>\n<body>\n{self._body('h1', 'h2')}"
            "</body>\n</html>\n"
        )

    def _repr_html_(self) -> str:
        """Return the page for a notebook: under smaller headings, in the notebook's own style."""
        return escaped(self._body("h3", "h4"))

    def _body(self, title: str, heading: str) -> str:
        warnings = "".join(f'<p class="warning">Warning: {_html(text)}</p>\n' for text in self.warnings)
        facts = "".join(f"<tr><th>{_html(name)}</th><td>{_html(text)}</td></tr>\n" for name, text in self.facts)
        sections = "".join(
            f"<{heading}>{_html(name)}</{heading}>\n{''.join(map(_html_block, blocks))}"
            for name, blocks in self.sections
        )
        return f"<{title}>{_html(self.title)}</{title}>\n{warnings}<table>\n{facts}</table>\n{sections}"


def markdown_opening(title: str) -> str:
    """Return the first line of a page with this title, in Markdown."""
    return f"# {title}\n"


def html_opening(title: str) -> str:
    """Return the first lines of a page with this title, in HTML."""
    return f"<!DOCTYPE html>\n<!-- {escape(title)} -->\n"


def _markdown_block(block: Block) -> str:
    if isinstance(block, Verbatim):
        return "".join(f"    {line}\n" for line in escaped(block.text).splitlines())
    if isinstance(block, Listed):
        marks = (f"{number}." if block.ordered else "-" for number in range(1, len(block.items) + 1))
        return "".join(f"{mark} {_markdown(item)}\n" for mark, item in zip(marks, block.items, strict=True))
    return f"{_markdown(block)}\n"


def _markdown(text: Text) -> str:
    """Return one line of Markdown that renders as the text; code is put between backticks.

    >>> print(_markdown(("1. a <b> is `c`: ", Code("d | `e`"))))
    1\\. a \\<b> is \\`c\\`: `` d | `e` ``
    """
    pieces = [_fenced(each.text) if isinstance(each, Code) else plain(each) for each in _pieces(text)]
    return beginning("".join(pieces).strip())


def _cell(text: Text) -> str:
    """Return the text in Markdown for a cell of a table. Code stays plain there: renderers disagree about | in code."""
    return "".join(plain(each.text if isinstance(each, Code) else each) for each in _pieces(text)).strip()


def _fenced(text: str) -> str:
    """Return code between more backticks than it contains."""
    if not text.strip():
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    space = " " if {text[0], text[-1]} & {"`", " "} else ""
    return f"{fence}{space}{text}{space}{fence}"


def _pieces(text: Text) -> Sequence[str | Code]:
    """Return the pieces of a text without line breaks and control characters."""
    given = (text,) if isinstance(text, str) else text
    return [Code(_line(each.text)) if isinstance(each, Code) else _line(each) for each in given]


def _line(text: str) -> str:
    return escaped(re.sub(r"\s+", " ", text))


def _html_block(block: Block) -> str:
    if isinstance(block, Verbatim):
        return f"<pre>{escape(escaped(block.text))}</pre>\n"
    if isinstance(block, Listed):
        tag = "ol" if block.ordered else "ul"
        items = "".join(f"<li>{_html(item)}</li>\n" for item in block.items)
        return f"<{tag}>\n{items}</{tag}>\n"
    return f"<p>{_html(block)}</p>\n"


def _html(text: Text) -> str:
    return "".join(
        f"<code>{escape(each.text)}</code>" if isinstance(each, Code) else escape(each) for each in _pieces(text)
    ).strip()
