"""Escaping texts from users in Markdown, so that none of their characters act as markup."""

from __future__ import annotations

import re

__all__ = ["beginning", "plain"]

_MARKUP = re.compile(
    r"""
    [\\`*\[<|~$]                                             # escapes, code, emphasis, links, tags, cells, addresses
    | (?<![^\W_])_ | _(?![^\W_])                             # emphasis, unless inside a word
    | &(?=\#?[0-9A-Za-z]+;)                                  # a character entity
    | (?<=[\w.+-])@(?=[\w-]+\.)                             # an email address
    | (?i:(?<=http)|(?<=https)|(?<=ftp)):(?=//) | (?i:(?<=www))\.  # addresses that some renderers turn into links
    """,
    re.VERBOSE,
)
"""What can be markup anywhere in Markdown, including its common extensions."""

_BEGINNING = re.compile(r"^(?:[#>+:%=-]|\d{1,9}(?=[.)]))")
"""What can be markup at the beginning of a block: a heading, a quotation, a list item."""


def plain(text: str) -> str:
    """Return Markdown that renders as the text, which is one line and does not begin a block.

    >>> print(plain("<b> of step_count | [a](b)"))
    \\<b> of step_count \\| \\[a](b)
    """
    return _MARKUP.sub(r"\\\g<0>", text)


def beginning(line: str) -> str:
    """Return a line of Markdown that begins a paragraph, not a heading, quotation or list.

    >>> print(beginning("1. a"), beginning("# b"))
    1\\. a \\# b
    """
    return _BEGINNING.sub(lambda match: f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}", line)
