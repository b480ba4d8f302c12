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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('from importlib import import_module\nimport_module("bayesdp.cli.app")\n', "models uses cli"),
        ('def fit():\n    import importlib\n    importlib.import_module("bayesdp.frames")\n', "models uses frames"),
        ('import_module("bayesdp.models.base")\n', "must begin with the name of another package"),
        ('HOME = "bayesdp.plotting.results:plot_leakage"\n', "models uses plotting"),
        ('import_module(f"bayesdp.{part}.source")\n', "must begin with the name of another package"),
        ('__import__("bayesdp" + ".cli")\n', "must begin with the name of another package"),
        ('import_module(".cli", "bayesdp")\n', "must begin with the name of another package"),
        ("import_module(name)\n", "must begin with the name of another package"),
        ('import_module("bayesdp")\n', "must begin with the name of another package"),
        ("from importlib import import_module as load\n", "must keep its name"),
        ("from ..session import Session\n", "write the full name"),
        ("import bayesdp as bdp\n", "import from the module that has them"),
        ('from bayesdp._support import hooks\nhooks.register({"a": "b:c"})\n', "hooks.register is not for"),
        ("from bayesdp._support import hooks\nhooks.load(name)\n", "hooks.load is not for"),
        ("from bayesdp._support.hooks import load\n", "import the module hooks"),
        ('import_module("pandas")\nimport_module(f"pyspark{name}")\n', None),
        ('from bayesdp._support import hooks\nhooks.call("table.scan")\nhooks.resolve("plot.leakage")\n', None),
        ('"""Of bayesdp.cli, in words."""\nNAMES = "bayesdp.db", "bayesdp.models.base.Model"\n', None),
    ],
)
def test_an_import_that_hides_its_layer_is_found(
    layers: ModuleType, tmp_path: Path, text: str, found: str | None
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "chain.py").write_text(text)
    complaints = "\n".join(layers.upward(tmp_path))
    assert not complaints if found is None else found in complaints


def test_only_two_modules_import_others_by_name(layers: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "_support").mkdir()
    for place in ("__init__.py", "_support/hooks.py", "_support/lazy.py", "_support/__init__.py"):
        (tmp_path / place).write_text('import_module("bayesdp.cli.app")\n')
    assert {complaint.partition(":")[0] for complaint in layers.upward(tmp_path)} == {
        "_support/__init__.py",
        "_support/lazy.py",
    }


def test_names_that_the_package_offers_count_as_their_modules(layers: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "__init__.py").write_text('_HOMES = {"Session": "session.session", "Count": "queries", "audit": ""}\n')
    (tmp_path / "models" / "chain.py").write_text("from bayesdp import Count, Session, audit\n")
    assert [complaint.partition(": ")[2] for complaint in layers.upward(tmp_path)] == [
        "models uses session, which stands above it",
        "models uses audit, which stands above it",
    ]


def test_a_part_without_a_layer_is_refused(layers: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "attic.py").write_text("")
    assert "stands in no layer" in next(layers.upward(tmp_path))
