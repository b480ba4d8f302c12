"""The proof pages (docs/theory), in an installed package and in a checkout."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from bayesdp._support.documents import Document
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError

__all__ = ["Proof", "proof", "proof_names"]

_FOLDER = "docs/theory"


@dataclass(frozen=True)
class Proof(Document):
    """One page, in Markdown; it prints as it is."""

    name: str
    page: str

    def to_dict(self) -> dict[str, Any]:
        """Return what `bayesdp proof --json` prints."""
        return {"name": self.name, "page": self.page}

    def __str__(self) -> str:
        return self.page


def proof(name: str) -> Proof:
    """Return a page by the name of its theorem; InvalidInputError if there is none of that name.

    >>> proof("general").page.splitlines()[0].startswith("# ")
    True
    """
    known = proof_names()
    if name not in known:
        raise InvalidInputError(f"there is no page named {brief(name)}; there are {', '.join(known)}")
    return Proof(name, (_folder() / f"{name}.md").read_text(encoding="utf-8").rstrip("\n"))


def proof_names() -> tuple[str, ...]:
    """Return the names of all pages: the theorems and their foundations."""
    folder = _folder()
    pages = (Path(entry.name) for entry in folder.iterdir()) if folder.is_dir() else ()
    return tuple(sorted(page.stem for page in pages if page.suffix == ".md"))


def _folder() -> Traversable:
    """Return the folder of the pages: packed into the package, or beside the sources."""
    packed = files("bayesdp") / _FOLDER
    return packed if packed.is_dir() else Path(__file__).parents[3] / _FOLDER
