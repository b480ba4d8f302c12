"""The direction of dependencies is enforced: imports point down, also inside functions."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def layers() -> ModuleType:
    path = Path(__file__).parents[1] / "tools" / "layers.py"
    spec = importlib.util.spec_from_file_location("layers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["layers"] = module
    spec.loader.exec_module(module)
    return module


def test_our_own_imports_point_down(layers: ModuleType) -> None:
    assert list(layers.upward()) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from bayesdp.session import Session\n", True),
        ("def fit():\n    from bayesdp.frames.source import scan\n", True),
        ("import bayesdp.cli.app\n", True),
        ("from bayesdp import experiments\n", True),
        ("class A:\n    def b(self):\n        if True:\n            import bayesdp.ledger\n", True),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from bayesdp.session import Session\n", False),
        ("from bayesdp.errors import ModelError\nfrom bayesdp.queries import Query\nimport numpy\n", False),
        ("from bayesdp import __version__\n", False),
    ],
)
def test_an_import_that_points_up_is_found(layers: ModuleType, tmp_path: Path, text: str, found: bool) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "chain.py").write_text(text)
    assert bool(list(layers.upward(tmp_path))) == found


def test_a_room_without_a_layer_is_refused(layers: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "attic.py").write_text("")
    assert "stands in no layer" in next(layers.upward(tmp_path))
