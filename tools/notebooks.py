"""Make the notebooks of the documentation out of its pages, one for each: text, code and commands, no outputs.

python tools/notebooks.py            # exit status 1 if a notebook is not that of its page
python tools/notebooks.py --write    # make them (also: make notebooks)
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
FOLDER = DOCS / "notebooks"
JOURNEYS = sorted((DOCS / "journeys").glob("[!R]*.md"))  # its README lists them
PAGES = (DOCS / "tutorial.md", *(page for page in JOURNEYS if page.stem != "spark-cluster"))  # which needs a cluster

_FENCED = re.compile(r"^```(?P<info>[a-z][\w ]*)\n(?P<body>.*?)^```\n", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|#)([^)]+)\)")
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*\n)", re.MULTILINE)
_OWN_FOLDER = "import os\nimport tempfile\n\nos.chdir(tempfile.mkdtemp())  # an empty folder for the files made below"


def notebook(page: Path) -> str:
    """Return the notebook of a page, as the text of its file."""
    cells: list[dict[str, Any]] = [
        {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
        | ({"execution_count": None, "outputs": []} if kind == "code" else {})
        for number, (kind, text) in enumerate(_cells(page))
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document: dict[str, Any] = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _cells(page: Path) -> Iterator[tuple[str, str]]:
    """Return the cells of a page in order; what it shows as output is left out, for the notebook will make it."""
    text = _from_here(page)
    heading, rest = text.split("\n", 1)
    yield "markdown", heading
    yield "code", _OWN_FOLDER
    done = 0
    for block in _FENCED.finditer(rest):
        if between := rest[done : block.start()].strip():
            yield "markdown", between
        done = block.end()
        language, *words = block["info"].split()
        if language == "python":
            yield "code", block["body"].strip()
        elif language == "console":
            commands = "".join(_COMMAND.findall(block["body"])).strip()
            yield "code", f"%%bash{' --no-raise-error' if 'fails' in words else ''}\n{commands}"
        elif language != "text":
            raise ValueError(f"{page.name}: a notebook has no equivalent of a block of {language}")
    if end := rest[done:].strip():
        yield "markdown", end


def _from_here(page: Path) -> str:
    """Return a page whose links lead on from the folder of the notebooks; to another page's notebook if it has one."""

    def moved(match: re.Match[str]) -> str:
        path, hash_, place = match[1].partition("#")
        target = Path(os.path.normpath(page.parent / path))
        if target in PAGES:
            return f"]({target.stem}.ipynb)"
        return f"]({Path(os.path.relpath(target, FOLDER)).as_posix()}{hash_}{place})"

    return _LINK.sub(moved, page.read_text(encoding="utf-8"))


def main(arguments: Sequence[str]) -> int:
    """Compare every notebook with its page, or write it; return 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="make the notebooks")
    given = parser.parse_args(arguments)
    files = {FOLDER / f"{page.stem}.ipynb": notebook(page) for page in PAGES}
    if given.write:
        FOLDER.mkdir(exist_ok=True)
        for file, text in files.items():
            file.write_text(text, encoding="utf-8")
    stale = [file for file, text in files.items() if not file.exists() or file.read_text(encoding="utf-8") != text]
    stale += sorted(set(FOLDER.glob("*.ipynb")) - files.keys())
    for file in stale:
        print(f"{file.name} is not the notebook of its page; make notebooks makes it")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
