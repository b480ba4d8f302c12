"""The documentation site as a reader gets it: it is built without a warning, needs no other host, and is legible.

Pages are opened in a real Chromium, at the width of a desk and of a telephone; without Playwright or Chromium that is
skipped.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tools.docs.navigation import ROOT, all_pages

LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("object", "data")}
"""What a browser fetches by itself: of links only these kinds."""
FETCHED = {"stylesheet", "preload", "prefetch", "icon", "preconnect", "dns-prefetch", "modulepreload", "manifest"}


class Fetched(HTMLParser):
    """Which addresses a browser fetches for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        wanted = [value for name, value in attrs if (tag, name) in LOADED and value]
        if tag == "link" and FETCHED & set((given.get("rel") or "").split()):
            wanted.append(given.get("href") or "")
        wanted += re.findall(r"url\(\s*['\"]?([^'\")]+)", given.get("style") or "")
        self.addresses += wanted


def fetched(path: Path) -> list[str]:
    """Return the addresses that a page or a style sheet makes a browser fetch."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return re.findall(r"url\(\s*['\"]?([^'\")]+)", text) + re.findall(r"@import\s+['\"]([^'\"]+)", text)
    parser = Fetched()
    parser.feed(text)
    return parser.addresses


def foreign(address: str) -> bool:
    """Whether an address leads to another host."""
    return re.match(r"(?:[a-z][a-z0-9+.-]*:)?//", address, flags=re.IGNORECASE) is not None


def test_what_a_page_fetches_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<link rel="stylesheet" href="//a.org/x.css"><link rel="canonical" href="https://b.org"><img src="c.png">'
        '<script src="https://d.org/y.js"></script><p style="background: url(\'http://e.org/z\')"><a href="https://f.org">'
    )
    assert [address for address in fetched(page) if foreign(address)] == [
        "//a.org/x.css",
        "https://d.org/y.js",
        "http://e.org/z",
    ]
    style = tmp_path / "style.css"
    style.write_text('@import "https://a.org/b.css"; p { background: url(data:image/png;base64,AA) }')
    assert [address for address in fetched(style) if foreign(address)] == ["https://a.org/b.css"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does, without a network: a proxy that is not there answers every request."""
    pytest.importorskip("sphinx")
    folder = tmp_path_factory.mktemp("site")
    nowhere = "http://127.0.0.1:9"
    environment = os.environ | {"http_proxy": nowhere, "https_proxy": nowhere, "PYTHONDONTWRITEBYTECODE": "1"}
    options = ["--quiet", "--fail-on-warning", "--keep-going", "--fresh-env", "--conf-dir", "tools/docs"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, "--doctree-dir", str(folder / "trees"), ".", str(folder / "site")],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "site"


@pytest.mark.slow
@pytest.mark.xdist_group("site")
def test_every_page_is_built_and_needs_no_other_host(site: Path) -> None:
    for page in all_pages():
        assert (site / page).with_suffix(".html").exists(), page
    assert (site / "index.html").read_bytes() == (site / "README.html").read_bytes()
    assert (site / "_static/mathjax/tex-chtml.js").exists()
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        addresses = fetched(path)
        assert [address for address in addresses if foreign(address)] == [], path
        for address in addresses:
            place = address.partition("?")[0].partition("#")[0]
            assert address.startswith("data:") or (path.parent / place).exists(), (path, address)


@pytest.mark.slow
@pytest.mark.xdist_group("site")
def test_the_reference_has_what_people_type(site: Path) -> None:
    text = (site / "docs/api/asking.html").read_text(encoding="utf-8")
    assert 'id="bayesdp.calibrate"' in text
    assert 'href="errors.html#bayesdp.errors.InvalidInputError"' in text


STICKING_OUT = """
() => [...document.querySelectorAll("article *")].filter(element => {
  const box = element.getBoundingClientRect();
  if (!box.width || box.right <= document.documentElement.clientWidth + 1) return false;
  for (let above = element; above.tagName != "ARTICLE"; above = above.parentElement)
    if (["auto", "scroll"].includes(getComputedStyle(above).overflowX)) return false;
  return !element.closest("mjx-assistive-mml");
}).map(element => element.tagName + ": " + (element.innerText || "").slice(0, 60))
"""
"""What lies beyond the right edge of the page and cannot be scrolled to."""

SCROLLED = """
() => [...document.querySelectorAll("mjx-container[display]")]
  .filter(formula => formula.scrollWidth > formula.clientWidth + 1)
  .map(formula => formula.textContent.slice(0, 60))
"""
"""Displayed formulas that are wider than their column."""

UNREAD = r"""
() => [...document.querySelectorAll("article p, article li, article td")]
  .flatMap(element => [...element.childNodes])
  .filter(node => node.nodeType == 3 && /\$[^$]+\$|\\[a-zA-Z]+\{/.test(node.data))
  .map(node => node.data)
"""
"""Text that looks like a formula that was not rendered."""


@pytest.mark.slow
@pytest.mark.xdist_group("site")
def test_pages_are_legible_on_a_desk_and_on_a_telephone(site: Path, browser: Any) -> None:
    page = browser.new_page()
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    for name in all_pages():
        page.goto((site / name).with_suffix(".html").as_uri())
        formulas = page.locator("article .math").count()
        if formulas:
            page.evaluate("MathJax.startup.promise")
        assert page.locator("mjx-container").count() == formulas, name
        assert page.locator("mjx-merror").count() == 0, (name, page.locator("mjx-merror").first.inner_text())
        assert page.evaluate(UNREAD) == [], name
        assert page.evaluate("[...document.images].filter(image => image.complete && !image.naturalWidth).length") == 0
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_function(f"document.documentElement.clientWidth == {width}")
            assert page.evaluate(STICKING_OUT) == [], f"{name} at {width} px"
            assert width < 1280 or page.evaluate(SCROLLED) == [], name
    assert errors == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


WRAPPED = """
() => [...document.querySelectorAll("article .highlight-text pre")].map(block => [
  block.parentElement.parentElement.classList.contains("table-of-text"), block.scrollWidth > block.clientWidth + 1
])
"""
"""Of every output on a page: is it a table of text, and does it have to be scrolled sideways?"""


@pytest.mark.slow
@pytest.mark.xdist_group("site")
def test_sentences_wrap_and_tables_keep_their_lines(site: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto((site / "README.html").as_uri())
    outputs = [tuple(output) for output in page.evaluate(WRAPPED)]
    assert set(outputs) == {(False, False), (True, True)}


@pytest.mark.slow
@pytest.mark.xdist_group("site")
def test_the_search_works_without_a_network(site: Path, browser: Any) -> None:
    page = browser.new_page()
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((site / "search.html").as_uri() + "?q=odds+ratio")
    page.wait_for_selector("#search-results p.search-summary:has-text('finished')")
    found = page.locator("#search-results ul.search a").evaluate_all("links => links.map(link => link.href)")
    assert any(link.partition("?")[0].endswith("docs/one-number.html") for link in found)
    assert errors == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
