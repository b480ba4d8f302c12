"""`make demo`: its story, and what it needs."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bayesdp.experiments.demo import main

ROOT = Path(__file__).parents[2]


def test_the_demo_tells_its_story_and_writes_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(str(tmp_path / "out"))
    printed = capsys.readouterr().out
    assert "promises a leakage of 1, if no two records are correlated" in printed
    assert "what is proven for the same release is 3.48123" in printed
    assert "of the budget of 2" in printed.lower()
    assert (tmp_path / "out" / "budget.db").exists()
    assert "odds ratio of neighbours at most 17.12, whatever the hour" in printed
    for picture in ("activity.png", "odds.png"):
        assert (tmp_path / "out" / picture).stat().st_size > 2000


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
