"""The package as a whole: what importing costs, what it offers, and where its tests are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import bayesdp

ROOT = Path(__file__).parents[1]
SOURCE, TESTS = ROOT / "src" / "bayesdp", ROOT / "tests"
PACKAGES = [path.parent.relative_to(SOURCE) for path in sorted(SOURCE.glob("*/**/__init__.py"))]
MODULES = [path.stem for path in sorted(SOURCE.glob("*.py")) if not path.stem.startswith("__")]
ACROSS = {"benchmarks", "docs", "examples", "extension"}
"""Folders of tests that belong to no package."""


def with_tests(path: Path) -> bool:
    """Whether a file has tests: functions, or a class that inherits them."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return re.search(r"^(?:    )?def test_|^class Test", text, re.MULTILINE) is not None


def test_every_public_name_exists_and_is_documented() -> None:
    for name in bayesdp.__all__:
        assert getattr(bayesdp, name).__doc__, name
        assert name in dir(bayesdp)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = bayesdp.nothing


def test_importing_loads_nothing_heavy() -> None:
    program = "import sys, bayesdp; print({'numpy', 'scipy', 'typer', 'matplotlib'} & set(sys.modules) or '')"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "\n"


def test_packages_are_attributes_without_an_import() -> None:
    program = "import bayesdp as bdp; print(bdp.models.MarkovChain.kind, bdp.errors.BayesDPError.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "markov BayesDPError\n"


def test_leakage_is_a_function_after_its_module_is_imported() -> None:
    program = "from bayesdp.theorems.registry import theorems; import bayesdp; print(callable(bayesdp.leakage))"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "True\n"
    )


def test_no_package_index_or_machine_path_is_committed() -> None:
    constraints = (ROOT / "constraints.txt").read_text()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in constraints.splitlines())


@pytest.mark.parametrize("package", PACKAGES, ids=Path.as_posix)
def test_every_package_has_its_folder_of_tests(package: Path) -> None:
    assert any(with_tests(path) for path in (TESTS / package).glob("test_*.py"))


@pytest.mark.parametrize("module", MODULES)
def test_modules_outside_of_packages_are_tested_at_the_root(module: str) -> None:
    assert with_tests(TESTS / f"test_{module}.py")


def test_every_folder_of_tests_belongs_to_a_package() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.glob("*/**/test_*.py")}
    assert folders - set(PACKAGES) == {Path(name) for name in ACROSS}
