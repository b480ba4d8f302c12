"""The package as a stranger meets it: what importing costs, what it offers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import bayesdp

ROOT = Path(__file__).parents[1]


def test_every_public_name_exists_and_is_documented() -> None:
    for name in bayesdp.__all__:
        assert getattr(bayesdp, name).__doc__, name
        assert name in dir(bayesdp)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = bayesdp.nothing


def test_importing_loads_nothing_heavy() -> None:
    program = "import sys, bayesdp; print({'numpy', 'scipy', 'typer', 'matplotlib'} & set(sys.modules) or '')"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "\n"


def test_leakage_is_a_function_after_its_module_is_imported() -> None:
    program = "from bayesdp.theorems.registry import theorems; import bayesdp; print(callable(bayesdp.leakage))"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "True\n"
    )


def test_no_package_index_or_machine_path_is_committed() -> None:
    constraints = (ROOT / "constraints.txt").read_text()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in constraints.splitlines())
