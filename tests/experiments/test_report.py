"""The report as a page that needs nothing else, and as Markdown beside its pictures."""

import re
from html.parser import HTMLParser

import pytest

from bayesdp.experiments import Report
from bayesdp.experiments.paper import FIGURES
from bayesdp.experiments.report import html, introduction, markdown
from bayesdp.experiments.tables import ReportTable

FIGURES_OF_ALL = 40


class _Page(HTMLParser):
    """What a page consists of, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.links: list[str] = []
        self.places: list[str] = []
        self.tags: list[str] = []
        self.labels = 0
        self.alts: list[str] = []
        self.captions: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = {name: value or "" for name, value in attrs}
        self.sources += [given[name] for name in ("src", "srcset", "data", "action") if name in given]
        self.links += [given["href"]] if "href" in given else []
        self.places += [given["id"]] if "id" in given else []
        self.alts += [given["alt"]] if given.get("alt") else []
        self.labels += tag == "td" and bool(given.get("data-label"))
        self.captions += [""] if tag == "figcaption" else []

    def handle_data(self, data: str) -> None:
        if self.captions and self.tags[-1] == "figcaption":
            self.captions[-1] += data


@pytest.fixture(scope="module")
def page(full: Report) -> _Page:
    return _Page(full.html.read_text(encoding="utf-8"))


def test_the_page_needs_nothing_else(full: Report, page: _Page) -> None:
    assert len(page.sources) == len(page.alts) == FIGURES_OF_ALL
    assert all(link.startswith("data:image/svg+xml;base64,") for link in page.sources)
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert not re.search(r"url\(|@import", full.html.read_text(encoding="utf-8"))


def test_contents_list_all_figures_and_tables_pictures_first(full: Report, page: _Page) -> None:
    assert page.links == [f"#{place}" for place in page.places]
    assert page.places[:FIGURES_OF_ALL] == [name for name in FIGURES if name in page.places]
    assert page.places[FIGURES_OF_ALL:] == [f"table-{table.name}" for table in full.tables]
    assert max(i for i, tag in enumerate(page.tags) if tag == "img") < page.tags.index("table")
    assert page.tags.index("nav") < page.tags.index("img")


def test_captions_do_not_repeat_the_text_of_the_picture(full: Report, page: _Page) -> None:
    assert len(page.captions) == FIGURES_OF_ALL
    for chart in full.charts:
        for caption in page.captions:
            assert chart.says not in caption
            assert chart.source not in caption


def test_tables_fit_the_page(full: Report, page: _Page) -> None:
    text = full.html.read_text(encoding="utf-8")
    assert 'name="viewport" content="width=device-width' in text
    assert "@media (max-width" in text
    assert page.tags.count("table") == 6
    assert page.labels == page.tags.count("td")
    for table in full.tables:
        assert len(table.header) - table.grouped <= 7
    assert "scroll" not in text


def test_what_a_twin_is_is_said_once(full: Report) -> None:
    for path in (full.html, full.markdown):
        text = re.sub(r'src="[^"]*"', "", path.read_text(encoding="utf-8"))
        assert text.count("built-in twin") == 1
        assert "electricity-90, marked “(twin)” below" in text


def test_the_report_says_what_the_original_data_are_like(full: Report) -> None:
    text = full.html.read_text(encoding="utf-8")
    assert "The original is not a first-order chain" in text
    assert "G² = 496 on 2 degrees of freedom" in text
    assert "Neighbouring rows of the original resemble each other (autocorrelation up to 0.29)" in text


def test_the_markdown_shows_the_pictures_that_were_written(full: Report) -> None:
    text = full.markdown.read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", text)
    assert len(shown) == FIGURES_OF_ALL
    assert all((full.out / path).is_file() for path in shown)


TABLE = ReportTable("t", "A <table>", ("what", "a|b"), (("x & y", "1|2"),), ("One note.",))


def test_whatever_is_in_a_table_or_a_failure_stays_text() -> None:
    text = html(["<intro>"], [], {}, [TABLE], {"galton": "<script>"})
    found = _Page(text)
    assert "script" not in found.tags
    assert "&lt;script&gt;" in text
    assert "x &amp; y" in text
    assert found.places == ["table-t"]
    assert "img" not in found.tags
    lines = markdown(["intro"], [], [TABLE], {"galton": "gone"}, "figures").splitlines()
    assert "| x & y | 1\\|2 |" in lines
    assert "- galton: gone" in lines


def test_a_report_without_data_says_so() -> None:
    assert any("Data: none, theory only." in text for text in introduction([], 10, 3, {}))
    assert any("10, seed 3" in text for text in introduction([], 10, 3, {}))
    assert "<nav" not in html([], [], {}, [], {})


def test_rows_of_one_data_set_stand_under_its_name() -> None:
    grouped = ReportTable(
        "t", "T", ("data", "what", "n"), (("A", "x", "1"), ("A", "y", "2"), ("B", "x", "3")), grouped=True
    )
    text = html([], [], {}, [grouped], {})
    assert text.count('<th colspan="2">') == 2
    assert _Page(text).labels == 6


def test_names_of_files_and_refusals_are_no_markup() -> None:
    hostile = "<script>x</script> `a` **b** [c](http://d) | \n# e"
    reader = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    page = reader.render(markdown([hostile], [], [], {hostile: hostile}, "figures"))
    assert not re.search("<(script|code|strong|a)[ >]", page)
    assert page.count("<h1>") == 1
