"""`make demo`: its story, and what it needs."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.xdist_group("demo")  # it runs once

OTHERS = (
    *("statsmodels", "pandas", "duckdb", "pyarrow", "dask", "ibis", "psycopg", "pyspark"),
    *("hypothesis", "pytest"),
)
"""What the extra `demo`, which `make demo` installs, does not bring."""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the demo without what only other extras bring; return the folder of its pictures, with what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    program = (
        f"import sys; sys.modules |= dict.fromkeys({OTHERS}); "
        f"sys.path.insert(0, {str(ROOT / 'examples')!r}); from demo import main; main({str(folder / 'out')!r})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (folder / "printed.txt").write_text(done.stdout, encoding="utf-8")
    return folder


def test_the_demo_tells_its_story_and_writes_a_picture(out: Path) -> None:
    printed = (out / "printed.txt").read_text(encoding="utf-8")
    assert "promises a leakage of 1, if no two records are correlated" in printed
    assert "what is proven for the same release is 3.48123" in printed
    assert "of the budget of 2" in printed.lower()
    assert (out / "out" / "budget.db").exists()
    assert "odds ratio of neighbours at most 17.12, whatever the hour" in printed
    for picture in ("activity.png", "odds.png"):
        assert (out / "out" / picture).stat().st_size > 2000


def test_the_demo_needs_nothing_but_its_own_extra(out: Path) -> None:
    """It ran without the others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["optional-dependencies"]["demo"] == ["bayesdp[plot]"]
    assert (out / "out" / "activity.png").exists()
