"""The proof pages: one for each theorem, in a checkout and in an installed package."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bayesdp.cli import run
from bayesdp.errors import InvalidInputError
from bayesdp.session import proofs
from bayesdp.theorems.registry import theorems

ROOT = Path(__file__).parents[2]


def test_every_theorem_has_a_page_that_the_command_prints(capsys: Any) -> None:
    for theorem in theorems():
        assert Path(theorem.proof).stem == theorem.name
        page = (ROOT / theorem.proof).read_text(encoding="utf-8")
        assert run(["proof", theorem.name]) == 0
        assert capsys.readouterr().out == page
    assert run(["proof", "general", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "general"
    for wrong in ("nothing", "../README", "general.md", ""):
        assert run(["proof", wrong]) == 2
        assert "there is no page named" in capsys.readouterr().err


def test_the_pages_are_packed_where_an_installed_package_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    assert build["targets"]["wheel"]["force-include"] == {"docs/theory": "bayesdp/docs/theory"}
    packed = tmp_path / "bayesdp" / "docs" / "theory"
    packed.mkdir(parents=True)
    (packed / "only.md").write_text("# Packed\n", encoding="utf-8")
    monkeypatch.setattr(proofs, "files", lambda name: tmp_path / name)
    assert proofs.proof_names() == ("only",)
    assert str(proofs.proof("only")) == "# Packed"


def test_exactly_the_pages_of_the_folder_are_found_by_name() -> None:
    names = proofs.proof_names()
    assert {theorem.name for theorem in theorems()} <= set(names)
    assert list(names) == sorted(path.stem for path in (ROOT / "docs" / "theory").glob("*.md"))
    for wrong in ("../errata", "general.md", "", "general\0"):
        with pytest.raises(InvalidInputError, match=r"there is no page named .*; there are .*general, "):
            proofs.proof(wrong)
    assert proofs.proof("general").to_dict() == {"name": "general", "page": str(proofs.proof("general"))}


def test_without_the_pages_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "_folder", lambda: tmp_path / "nowhere")
    assert proofs.proof_names() == ()
    with pytest.raises(InvalidInputError, match="there is no page named 'general'"):
        proofs.proof("general")
