"""Every notebook is that of its page, has no outputs, and runs from top to bottom."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tools import notebooks
from tools.docs.navigation import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))

EXECUTE = """
import sys
import nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=1800, startup_timeout=600, kernel_name="python3").execute()
print(sum(bool(cell.get("outputs")) for cell in notebook.cells))
"""


def _read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def test_notebooks_are_those_of_their_pages(capsys: pytest.CaptureFixture[str]) -> None:
    status = notebooks.main([])
    assert status == 0, capsys.readouterr().out


def test_a_page_that_changed_needs_a_new_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\nWith [a link](other.md#part) and [itself](page.md).\n\n```python\nprint(1)\n```\n\n"
        "```text\n1\n```\n\n```console fails\n$ ls \\\n    nowhere\nno such file\n$ true\n```\n\nThe end.\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(notebooks, "FOLDER", tmp_path / "notebooks")
    monkeypatch.setattr(notebooks, "PAGES", (page,))
    assert notebooks.main([]) == 1
    assert "page.ipynb is not the notebook of its page" in capsys.readouterr().out
    assert notebooks.main(["--write"]) == 0
    made = _read(tmp_path / "notebooks" / "page.ipynb")
    assert [cell.source for cell in made.cells if cell.cell_type == "markdown"] == [
        "# A page",
        "With [a link](../other.md#part) and [itself](page.ipynb).",
        "The end.",
    ]
    assert [cell.source for cell in made.cells if cell.cell_type == "code"][1:] == [
        "print(1)",
        "%%bash --no-raise-error\nls \\\n    nowhere\ntrue",
    ]
    page.write_text(page.read_text(encoding="utf-8") + "More.\n", encoding="utf-8")
    assert notebooks.main([]) == 1


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_has_no_outputs(path: Path) -> None:
    notebook = _read(path)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where bayesdp is
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PATH": commands, "TMPDIR": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython")},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert int(done.stdout) > 3
