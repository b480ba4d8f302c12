"""The package as a stranger meets it: what importing costs, what it offers, and whether its documentation runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import bayesdp

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_every_public_name_exists_and_is_documented() -> None:
    for name in bayesdp.__all__:
        assert getattr(bayesdp, name).__doc__, name
        assert name in dir(bayesdp)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = bayesdp.nothing


def test_importing_loads_nothing_heavy() -> None:
    program = "import sys, bayesdp; print({'numpy', 'scipy', 'typer', 'matplotlib'} & set(sys.modules) or '')"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "\n"


def test_leakage_is_the_function_even_after_its_modules_are_imported() -> None:
    program = "from bayesdp.theorems.registry import theorems; import bayesdp; print(callable(bayesdp.leakage))"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "True\n"
    )


def _python(page: Path) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if _python(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_python_in_the_documentation_runs(page: Path, tmp_path: Path) -> None:
    program = tmp_path / "page.py"
    program.write_text(_python(page), encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


def _optional(page: Path) -> list[tuple[str, str]]:
    """Return the blocks that need a package of which we do not vouch that it is there: its name, and the code."""
    return re.findall(r"```python (\w+)\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize(
    ("package", "program"), [block for page in PAGES for block in _optional(page)], ids=lambda text: text.split()[0]
)
def test_python_that_needs_another_package_runs_where_it_is(package: str, program: str, tmp_path: Path) -> None:
    pytest.importorskip(package, reason=f"{package} cannot be imported here", exc_type=ImportError)
    (tmp_path / "page.py").write_text(program, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "page.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


def test_no_package_index_or_machine_path_is_committed() -> None:
    constraints = (ROOT / "constraints.txt").read_text()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in constraints.splitlines())
