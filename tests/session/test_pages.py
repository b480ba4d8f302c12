"""Pages in Markdown and HTML: whatever the words of others hold, they stay words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reader import Reader  # type: ignore[import-not-found]

from bayesdp.session.pages import Listed, Page, Verbatim, code


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1))
def test_code_is_shown_as_it_is(text: str) -> None:
    page = Page("t", [], [("name", code(text))], [("s", [Listed([code(text)]), Verbatim(text)])])
    read = Reader(page.html())
    assert read.tags.count("code") == 2
    assert read.text.count(text) >= 3


PAGE = Page(
    "A title",
    ["Mind this."],
    [("who", "Ada"), ("filter", code("a | b"))],
    [("First", ["Words.", Listed(["one", "two"], ordered=True)]), ("Second", [Verbatim("a < b\n  c")])],
)


def test_both_forms_say_the_same_in_the_same_order() -> None:
    read = Reader(PAGE.html())
    for text in ("A title", "Warning: Mind this.", "who", "Ada", "First", "Words.", "one", "Second", "a < b"):
        assert text in read.text
        assert text in PAGE.markdown()
    assert (read.tags.count("h1"), read.tags.count("h2"), read.tags.count("li")) == (1, 2, 2)
    assert str(PAGE) == PAGE.markdown()
    assert "| filter | `a \\| b` |" in PAGE.markdown()
    assert "1. one\n2. two\n" in PAGE.markdown()
    assert "    a < b\n      c\n" in PAGE.markdown()


def test_in_a_notebook_it_has_smaller_headings_and_no_style() -> None:
    read = Reader(PAGE._repr_html_())
    assert {"h3", "h4"} <= set(read.tags)
    assert not {"h1", "h2", "style", "html"} & set(read.tags)


@pytest.mark.parametrize(
    "words", ["<script>x</script>", "[a](http://b)", "a | b", "back\\| slash", "two\nlines\n## no"]
)
def test_words_are_no_markup_wherever_they_stand(words: str) -> None:
    page = Page("t", [words], [(words, words)], [("s", [words, Listed([words])])])
    read = Reader(page.html())
    assert not {"script", "a"} & set(read.tags)
    assert read.text.count(" ".join(words.split())) == 5
    assert not re.search(r"(?<!\\)<|\]\(", page.markdown())
    assert page.markdown().count("\n## ") == 1
    rows = [line for line in page.markdown().splitlines() if line.startswith("| ") and line != "| | |"]
    assert all(len(re.findall(r"(?<!\\)\|", line.replace("\\\\", ""))) == 3 for line in rows)
