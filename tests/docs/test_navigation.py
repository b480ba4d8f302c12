"""The navigation of the site: it takes every page, by rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.docs import navigation
from tools.docs.navigation import SECTIONS, all_pages, below, placed, toctrees, unplaced


def test_every_page_is_in_the_navigation() -> None:
    assert list(unplaced()) == []


def test_a_page_is_in_the_navigation_once() -> None:
    pages = [page for section in SECTIONS for page in placed(section)]
    pages += [page for parent in pages for page in below(parent)]
    assert sorted([navigation.FRONT, *pages]) == sorted(all_pages())


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for page in ("README.md", "docs/why.md", "docs/journeys/b.md", "docs/journeys/a.md", "docs/theory/README.md"):
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / page).write_text("# Page\n")
    (tmp_path / "docs/theory/markov-x.md").write_text("# X\n")
    (tmp_path / "docs/theory/accuracy.md").write_text("# Accuracy\n")
    return tmp_path


def test_pages_that_are_not_written_yet_are_passed_over(repository: Path) -> None:
    assert placed(SECTIONS[0], repository) == ("docs/why.md",)
    assert placed(SECTIONS[1], repository) == ("docs/journeys/a.md", "docs/journeys/b.md")
    assert "/docs/why\n" in toctrees("README.md", repository)
    assert "tutorial" not in toctrees("README.md", repository)


def test_a_readme_stands_for_its_folder(repository: Path) -> None:
    assert below("docs/theory/README.md", repository) == ("docs/theory/accuracy.md", "docs/theory/markov-x.md")
    (repository / "docs/journeys/README.md").write_text("# Guides\n")
    assert placed(SECTIONS[1], repository) == ("docs/journeys/README.md",)
    assert below("docs/journeys/README.md", repository) == ("docs/journeys/a.md", "docs/journeys/b.md")
    assert toctrees("docs/why.md", repository) == ""


def test_a_page_in_no_section_is_named(repository: Path) -> None:
    assert list(unplaced(repository)) == []
    (repository / "docs/forgotten.md").write_text("# Forgotten\n")
    (repository / "docs/elsewhere").mkdir()
    (repository / "docs/elsewhere/page.md").write_text("# Page\n")
    assert list(unplaced(repository)) == ["docs/elsewhere/page.md", "docs/forgotten.md"]
