"""Links in the documentation: pages, files and headings that they name exist; addresses elsewhere are well formed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tools.docs.navigation import ROOT, all_pages

READ = MarkdownIt("commonmark").enable("table")
PAGES = [ROOT / page for page in all_pages()]


def tokens(text: str) -> Iterator[Token]:
    """Yield everything that is on a page, also what stands inside a line."""
    for token in READ.parse(text):
        yield token
        yield from token.children or ()


def links(text: str) -> list[str]:
    """Return where the links and pictures of a page point."""
    found = [token.attrGet("href") if token.type == "link_open" else token.attrGet("src") for token in tokens(text)]
    return [unquote(str(link)) for link in found if link is not None]


def slug(heading: str) -> str:
    """Return the anchor that GitHub, and the site, give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Return the anchors of a page; of headings with the same words the later ones are numbered."""
    every = READ.parse(text)
    headings = [after for token, after in pairwise(every) if token.type == "heading_open"]
    seen: Counter[str] = Counter()
    names = set()
    for heading in headings:
        name = slug("".join(child.content for child in heading.children or () if child.type in ("text", "code_inline")))
        names.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return names


@cache
def anchors_of(page: Path) -> set[str]:
    return anchors(page.read_text(encoding="utf-8"))


def broken(page: Path, text: str) -> Iterator[str]:
    """Yield the links of a page that lead nowhere."""
    for link in links(text):
        address = urlsplit(link)
        if address.scheme:
            if not (address.scheme == "https" and "." in address.netloc and " " not in link):
                yield link
            continue
        target = (page.parent / address.path).resolve() if address.path else page
        inside = target.is_relative_to(ROOT) or target.is_relative_to(page.parent)
        there = inside and target.exists()
        if not (there and (not address.fragment or address.fragment in anchors_of(target))):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert list(broken(page, page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_that_are_named_exist(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        return  # it names what there was
    for path in re.findall(r"`((?:src|tests|docs|benchmarks|tools)/[\w/.-]+)`", page.read_text(encoding="utf-8")):
        assert (ROOT / path).exists(), path


LAST = "next step"


def last_section(text: str) -> tuple[str, list[str]]:
    """Return the last heading of a page of the second level or above, in small letters, and the links below it."""
    every = READ.parse(text)
    places = [place for place, token in enumerate(every) if token.type == "heading_open" and token.tag in ("h1", "h2")]
    below = [link for token in every[places[-1] :] for link in _links_in(token)]
    return every[places[-1] + 1].content.lower(), below


def _links_in(token: Token) -> list[str]:
    return [str(child.attrGet("href")) for child in token.children or () if child.type == "link_open"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_page_ends_with_the_next_step(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        return  # a list that ends with the oldest entry
    heading, below = last_section(page.read_text(encoding="utf-8"))
    assert heading == LAST, f"end the page with a section '## Next step' that links to the page to read next: {page}"
    assert any(link.partition("#")[0].endswith(".md") for link in below), page


def test_a_page_without_a_next_step_is_found() -> None:
    assert last_section("# One\n\n## Next step\n\n[a](a.md), [b](b.md#c)\n") == (LAST, ["a.md", "b.md#c"])
    assert last_section("# One\n\n## Next step\n\n[a](a.md)\n\n## Two\n") == ("two", [])
    assert last_section("# One\n\n[a](a.md)\n") == ("one", ["a.md"])


def test_what_is_broken_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "# One\n\n## `Two` (b), τ\n\n## One\n"
    page.write_text(text, encoding="utf-8")
    assert anchors(text) == {"one", "two-b-τ", "one-1"}
    for good in ("#one", "page.md#two-b-τ", "#one-1", "https://example.org/x", "page.md"):
        assert list(broken(page, f"[a]({good})")) == [], good
    for bad in (
        "#three",
        "page.md#three",
        "nothing.md",
        "http://example.org",
        "https://nowhere",
        "ftp://example.org/x",
    ):
        assert list(broken(page, f"[a]({bad})")) == [bad]
    assert list(broken(page, "| a |\n|---|\n| ![b](no.svg) |\n")) == ["no.svg"]
    assert list(broken(page, "`[a](nothing.md)`")) == []
