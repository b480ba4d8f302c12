"""Words in Markdown: rendered, they bring no element and read as they are."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp._support.markdown import beginning, plain

MARKUP = [
    "<script>x</script>",
    "<b>",
    "`",
    "``",
    "\\",
    "\\`",
    "|",
    "\\|",
    "[a](http://b)",
    "[a]: http://b",
    "![",
    "]",
    "**",
    "*a*",
    "_a_",
    "__",
    "~~a~~",
    "#",
    "# ",
    "> ",
    "- ",
    "+ ",
    "1. ",
    "1)",
    "---",
    "===",
    "&lt;",
    "&#60;",
    "&",
    "http://a.example",
    "www.a.example",
    "me@a.example",
    "$x$",
    "\t",
    "    ",
    "- [ ] ",
    "<!--",
    "\u2028",
]
lines = st.lists(st.sampled_from(MARKUP) | st.text(st.characters(exclude_categories=["C"]), max_size=6), max_size=6)


@given(lines.map(lambda parts: " ".join("".join(parts).split())))
def test_a_line_is_a_paragraph_that_reads_as_it_is(text: str) -> None:
    reader = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable(["table", "strikethrough"])
    rendered = reader.render(beginning(plain(text)))
    found = re.fullmatch(r"<p>([^<]*)</p>\n", rendered) if text else re.fullmatch("()", rendered)
    assert found is not None, rendered
    assert html.unescape(found[1]) == text


def test_ordinary_words_are_left_alone() -> None:
    words = "step_count of 12-15 (50 : 50), ε = 0.5; a > b & c, postgresql://dp@db/ledger"
    assert beginning(plain(words)) == words


def test_addresses_that_some_readers_make_links_of_are_escaped() -> None:
    assert plain("http://a.b HTTPS://a.b www.a.b me@a.b") == r"http\://a.b HTTPS\://a.b www\.a.b me\@a.b"
