"""The pages of the documentation site and their order in its navigation.

A section lists pages by name or by pattern. It skips names without a page, so a page may be listed before it is
written. A page that is in no section is an error (`unplaced`), so that every page can be found. The README of a folder
represents the folder: the other pages of the folder are below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FRONT = "README.md"
"""The first page of the site."""


@dataclass(frozen=True)
class Section:
    """A caption of the navigation, and the pages below it: paths from the root of the repository, or patterns."""

    caption: str
    pages: tuple[str, ...]


SECTIONS = (
    Section(
        "Start",
        (
            "docs/why.md",
            "docs/tutorial.md",
            "docs/which-assumption.md",
            "docs/choosing-a-model.md",
            "docs/data-protection-officer.md",
            "docs/researcher.md",
            "docs/engineer.md",
        ),
    ),
    Section(
        "How-to",
        (
            "docs/journeys/README.md",
            "docs/journeys/*.md",
            "docs/advise.md",
            "docs/fitting.md",
            "docs/diagnostics.md",
            "docs/uncertainty.md",
            "docs/releases.md",
            "docs/frames.md",
            "docs/scale.md",
            "docs/team.md",
            "docs/with-other-libraries.md",
            "docs/model-trainers.md",
            "docs/audit.md",
            "docs/explore.md",
            "docs/pictures.md",
            "docs/reproduce.md",
            "docs/extending.md",
            "CONTRIBUTING.md",
        ),
    ),
    Section(
        "Understand",
        (
            "docs/one-number.md",
            "docs/theory/README.md",
            "docs/errata.md",
            "docs/related-work.md",
            "docs/numerics.md",
            "docs/architecture.md",
            "SECURITY.md",
        ),
    ),
    Section(
        "Reference",
        (
            "docs/models.md",
            "docs/what-is-covered.md",
            "docs/api/README.md",
            "docs/performance.md",
            "docs/glossary.md",
            "docs/versions.md",
            "CHANGELOG.md",
        ),
    ),
)
"""What a reader may want: to begin, to do something, to know why it is so, to look something up."""

FIRST = (
    "docs/journeys/step-counter.md",
    "docs/journeys/smart-meters.md",
    "docs/journeys/public-dashboard.md",
    "docs/journeys/families.md",
    "docs/journeys/sensor-series.md",
    "docs/journeys/sql-database.md",
    "docs/journeys/spark-cluster.md",
    "docs/api/asking.md",
    "docs/api/models.md",
    "docs/api/queries.md",
    "docs/api/sessions.md",
    "docs/api/client.md",
    "docs/api/ledgers.md",
    "docs/theory/contraction.md",
    "docs/theory/side-information.md",
    "docs/theory/impossibility.md",
    "docs/theory/composition.md",
    "docs/theory/accounting.md",
    "docs/theory/running-totals.md",
    "docs/theory/accuracy.md",
    "docs/theory/private-fit.md",
    "docs/theory/prior-art.md",
)
"""The order of pages below a README: those that are named here come first, such as pages about all theorems before the
theorems; the others follow by name."""


def all_pages(root: Path = ROOT) -> tuple[str, ...]:
    """Return every page of the site: those of docs/, and those at the root of the repository."""
    own = [path.relative_to(root).as_posix() for path in root.glob("*.md")]
    return (*sorted(own), *sorted(path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md")))


def placed(section: Section, root: Path = ROOT) -> tuple[str, ...]:
    """Return the pages of a section that exist, in its order, each once, without those below a README."""
    pages = [path.relative_to(root).as_posix() for pattern in section.pages for path in sorted(root.glob(pattern))]
    return tuple(page for page in dict.fromkeys(pages) if owner(page, root) is None)


def owner(page: str, root: Path = ROOT) -> str | None:
    """Return the page above `page`: the README of its folder in docs/, if there is one and it is another page."""
    folder = Path(page).parent
    readme = (folder / "README.md").as_posix()
    return readme if folder.parts[1:] and page != readme and (root / readme).exists() else None


def below(page: str, root: Path = ROOT) -> tuple[str, ...]:
    """Return the pages below `page`, in order."""
    pages = [other for other in all_pages(root) if owner(other, root) == page]
    return tuple(sorted(pages, key=lambda other: (FIRST.index(other) if other in FIRST else len(FIRST), other)))


def unplaced(root: Path = ROOT) -> Iterator[str]:
    """Yield every page that is missing from the navigation."""
    seen = {FRONT, *(page for section in SECTIONS for page in placed(section, root))}
    for page in all_pages(root):
        if (owner(page, root) or page) not in seen:
            yield page


def toctrees(page: str, root: Path = ROOT) -> str:
    """Return the navigation that Sphinx reads at the end of `page`, as MyST Markdown; none for most pages."""
    if page == FRONT:
        return "".join(_toctree(placed(section, root), section.caption) for section in SECTIONS)
    return _toctree(below(page, root))


def _toctree(pages: tuple[str, ...], caption: str | None = None) -> str:
    if not pages:
        return ""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    entries = [f"/{page.removesuffix('.md')}" for page in pages]
    return "\n".join(["", "", "```{toctree}", *options, "", *entries, "```", ""])
