"""The small package: its modules follow from imports, and none of them loads anything heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {"polars", "opendp", "scipy", "sqlalchemy", "narwhals", "numpy", "rich", "typer", "platformdirs", "httpx"}
ALLOWED = {"httpx", "numpy", "rich"}
"""What its modules import from elsewhere, inside functions: the transport; accuracies of sums; printing in colour."""


@pytest.fixture
def subset(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    from tools import subset

    return subset


def test_it_needs_no_engine(subset: ModuleType) -> None:
    assert subset.foreign() - sys.stdlib_module_names == ALLOWED
    parts = {name.partition(".")[2].partition(".")[0] for name in subset.modules()}
    assert not parts & {"models", "theorems", "calibration", "mechanisms", "frames", "advice", "audit", "cli"}


def test_importing_it_loads_nothing_heavy(subset: ModuleType) -> None:
    names = [name for name in subset.modules() if name != "bayesdp"]
    program = f"import sys, importlib, bayesdp as bdp; [importlib.import_module(name) for name in {names}]; "
    program += "bdp.Answer, bdp.Count, bdp.connect; "
    program += f"print(sorted(set({sorted(HEAVY)}) & set(sys.modules)), "
    program += f"sorted(name for name in sys.modules if name.startswith('bayesdp.') and name not in {names}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[] []\n"


def test_modules_are_found_through_what_imports_them(subset: ModuleType, tmp_path: Path) -> None:
    files = {
        "__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from bayesdp import heavy\n",
        "client/__init__.py": "from bayesdp.client.remote import connect\n",
        "client/remote.py": "import json, numpy.linalg\ndef connect():\n    from bayesdp._support import display\n",
        "client/unused.py": "",
        "_support/__init__.py": "",
        "_support/display.py": "import bayesdp.deep.below\n",
        "deep/__init__.py": "",
        "deep/below.py": "",
        "heavy.py": "import scipy\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {path.relative_to(tmp_path).as_posix() for path in subset.modules(tmp_path).values()}
    assert found == set(files) - {"client/unused.py", "heavy.py"}
    assert subset.foreign(tmp_path) == {"json", "numpy", "typing"}
