"""Words of others in Markdown: whatever they hold, they stay words."""

from __future__ import annotations

import re

__all__ = ["beginning", "plain"]

_MARKUP = re.compile(
    r"""
    [\\`*\[<|~$]                                             # escapes, code, emphasis, links, tags, cells, addresses
    | (?<![^\W_])_ | _(?![^\W_])                             # emphasis, unless inside a word
    | &(?=\#?[0-9A-Za-z]+;)                                  # the name of a character
    | (?<=[\w.+-])@(?=[\w-]+\.)                             # an address of mail
    | (?i:(?<=http)|(?<=https)|(?<=ftp)):(?=//) | (?i:(?<=www))\.  # addresses that some readers make links of
    """,
    re.VERBOSE,
)
"""What may be markup in Markdown wherever it stands, also in its common extensions."""

_BEGINNING = re.compile(r"^(?:[#>+:%=-]|\d{1,9}(?=[.)]))")
"""What may be markup at the beginning of a block: a heading, a quotation, an item of a list."""


def plain(text: str) -> str:
    """Return Markdown that reads as the text, which is one line and does not begin a block.

    >>> print(plain("<b> of step_count | [a](b)"))
    \\<b> of step_count \\| \\[a](b)
    """
    return _MARKUP.sub(r"\\\g<0>", text)


def beginning(line: str) -> str:
    """Return a line of Markdown such that it begins a paragraph, and no heading, quotation or list.

    >>> print(beginning("1. a"), beginning("# b"))
    1\\. a \\# b
    """
    return _BEGINNING.sub(lambda match: f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}", line)
