"""The package as a stranger meets it: what importing costs, what it offers, and that the documentation is true."""

import re
import subprocess
import sys
import tomllib
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_in_the_documentation_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        if not link.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / link).exists(), link
    for path in re.findall(r"`((?:src|tests|docs|benchmarks)/[\w/.-]+)`", text):
        assert (ROOT / path).exists(), path


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


def test_the_demo_tells_its_story_and_writes_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bayesdp.experiments.demo import main

    main(str(tmp_path / "out"))
    printed = capsys.readouterr().out
    assert "promises a leakage of 1, if no two records are correlated" in printed
    assert "what is proven for the same release is 3.48123" in printed
    assert "of the budget of 2" in printed.lower()
    assert (tmp_path / "out" / "budget.db").exists()
    assert (tmp_path / "out" / "activity.png").stat().st_size > 2000


def test_the_demo_needs_nothing_but_its_own_extra(tmp_path: Path) -> None:
    """`make demo` installs the extra `demo`; what only other extras bring is hidden here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["optional-dependencies"]["demo"] == ["bayesdp[plot]"]
    others = [
        "statsmodels",
        "pandas",
        "duckdb",
        "pyarrow",
        "dask",
        "ibis",
        "psycopg",
        "pyspark",
        "hypothesis",
        "pytest",
    ]
    program = (
        f"import sys; sys.modules |= dict.fromkeys({others}); "
        f"from bayesdp.experiments.demo import main; main({str(tmp_path)!r})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "activity.png").exists()


def test_no_package_index_or_machine_path_is_committed() -> None:
    constraints = (ROOT / "constraints.txt").read_text()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in constraints.splitlines())


def test_the_readmes_table_is_what_the_code_prints() -> None:
    from bayesdp.experiments.demo import readme_table

    assert readme_table() in (ROOT / "README.md").read_text(encoding="utf-8")
