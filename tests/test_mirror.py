"""The tests mirror src file by file: who changes a module finds its tests under the same name."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "bayesdp"
MODULES = [
    path.relative_to(SOURCE) for path in sorted(SOURCE.rglob("*.py")) if path.stem not in ("__init__", "__main__")
]


def mirror_of(module: Path) -> Path:
    """Return where the tests of a module belong."""
    return ROOT / "tests" / module.parent / f"test_{module.name}"


def test_every_module_has_its_file_of_tests() -> None:
    assert Path("session/session.py") in MODULES
    lacking = [str(mirror_of(module).relative_to(ROOT)) for module in MODULES if not mirror_of(module).is_file()]
    assert not lacking


def test_and_there_are_tests_in_it() -> None:
    """A function, or a class that inherits its tests."""
    written = [mirror_of(module) for module in MODULES if mirror_of(module).is_file()]
    tests = re.compile(r"^(?:    )?def test_|^class Test", re.MULTILINE)
    assert not [path.name for path in written if not tests.search(path.read_text(encoding="utf-8"))]
