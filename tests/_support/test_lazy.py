"""Names that load when they are first used, and no others."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from bayesdp._support.lazy import lazily


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a package of two modules, neither of which is loaded."""
    folder = tmp_path / "house_of_lazy"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "room.py").write_text("door = object()\n")
    (folder / "cellar.py").write_text("wine = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("house_of_lazy", "house_of_lazy.room", "house_of_lazy.cellar"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return folder.name


def test_a_name_is_loaded_from_its_home_alone_and_kept(package: str) -> None:
    namespace: dict[str, Any] = {}
    load = lazily(package, {"door": "room", "cellar": ""}, namespace)
    assert f"{package}.room" not in sys.modules
    assert load("door") is import_module(f"{package}.room").door
    assert namespace == {"door": load("door")}
    assert f"{package}.cellar" not in sys.modules


def test_a_name_without_a_home_is_a_module_itself(package: str) -> None:
    namespace: dict[str, Any] = {}
    assert lazily(package, {"cellar": ""}, namespace)("cellar") is import_module(f"{package}.cellar")
    assert namespace["cellar"].wine == 1


def test_other_names_do_not_exist_even_if_a_module_has_them(package: str) -> None:
    namespace: dict[str, Any] = {}
    load = lazily(package, {"door": "room", "lost": "room"}, namespace)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'wine'"):
        load("wine")
    with pytest.raises(AttributeError, match="lost"):
        load("lost")
    assert not namespace
