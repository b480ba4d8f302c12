"""Pages in Markdown and HTML: whatever the words of others hold, they stay words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reader import Reader  # type: ignore[import-not-found]

from bayesdp._support.validation import escaped
from bayesdp.session.pages import Block, Code, Listed, Page, Verbatim

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
    "\n",
    "\n\n## ",
    "\t",
    "    ",
    "- [ ] ",
    "<!--",
    "\u2028",
]
words = st.lists(st.sampled_from(MARKUP) | st.text(max_size=6), max_size=6).map("".join)


def rendered(page: Page) -> Reader:
    """Return what a reader of Markdown with tables and struck-out text makes of a page."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return Reader(markdown.render(page.markdown()))


def line(text: str) -> str:
    """Return a text as one line, with control characters as they are printed."""
    return " ".join(escaped(" ".join(text.split())).split())


@given(words)
def test_code_is_shown_as_it_is(text: str) -> None:
    page = Page("t", [], [("name", (Code(text),))], [("s", [Listed([("a ", Code(text), " b")]), Verbatim(text)])])
    read = Reader(page.html())
    assert read.tags.count("code") == 2
    assert line(read.text).count(line(text)) >= 2
    assert line(f"a {text} b") in line(rendered(page).text)


@given(words)
def test_words_bring_no_element(text: str) -> None:
    def page(inside: str) -> Page:
        listed = Listed([inside, f"a {inside}"]), Listed([inside], ordered=True)
        blocks: list[Block] = [
            inside,
            *listed,
            ("Code: ", Code("x"), inside, Code(inside or "x")),
            Verbatim(f"{inside}x"),
            inside,
        ]
        return Page("t", [inside], [(inside, inside), ("a", f"{inside}b")], [("s", blocks)])

    given, plain = page(text), page("plain")
    for read, expected in (
        (rendered(given), rendered(plain)),
        (Reader(given.html()), Reader(plain.html())),
        (Reader(given._repr_html_()), Reader(plain._repr_html_())),
    ):
        if text.strip():
            assert read.tags == expected.tags
        assert set(read.tags) <= set(expected.tags)
        assert read.attributes == expected.attributes


@given(words)
def test_words_read_as_they_are(text: str) -> None:
    marked = f"«{text}»"
    page = Page("t", [marked], [(marked, marked)], [("s", [marked, Listed([marked]), ("a ", Code(marked), ".")])])
    for read in (rendered(page), Reader(page.html()), Reader(page._repr_html_())):
        assert line(read.text).count(line(marked)) == 6


PAGE = Page(
    "A title",
    ["Mind this."],
    [("who", "Ada"), ("filter", (Code("a | b"),))],
    [("First", ["Words.", Listed(["one", "two"], ordered=True)]), ("Second", [Verbatim("a < b\n  c")])],
)


def test_both_forms_say_the_same_in_the_same_order() -> None:
    read = Reader(PAGE.html())
    for text in ("A title", "Warning: Mind this.", "who", "Ada", "First", "Words.", "one", "Second", "a < b"):
        assert text in read.text
        assert text in PAGE.markdown()
    assert (read.tags.count("h1"), read.tags.count("h2"), read.tags.count("li")) == (1, 2, 2)
    assert str(PAGE) == PAGE.markdown()
    assert "| filter | a \\| b |" in PAGE.markdown()
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
    assert page.markdown().count("\n## ") == 1
