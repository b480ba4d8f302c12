"""What people install: a wheel and a source archive, the same bytes each time, working in a clean environment."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import bayesdp

PROJECT = Path(__file__).parents[1]
RELEASE = """
import bayesdp as bdp, polars, sys
frame = polars.DataFrame({"on": [0, 1, 1, 0] * 50})
with bdp.Session(frame, bdp.OddsChain(9, column="on"), epsilon=1.0, ledger="budget.db", dataset="d") as session:
    print(session.release(bdp.Count("on", equals=1), epsilon=1.0))
"""

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("distribution")]


def built(folder: Path) -> dict[str, Path]:
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(PROJECT)]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env={**os.environ, "SOURCE_DATE_EPOCH": "0"})
    return {"wheel": next(folder.glob("*.whl")), "source": next(folder.glob("*.tar.gz"))}


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return built(tmp_path_factory.mktemp("first"))


def python(version: str) -> str | None:
    """Return a Python of that version: this one, one on the path, or one of pyenv."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    ours = sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python"))
    return str(ours[-1]) if ours else shutil.which(f"python{version}")


def test_the_same_source_gives_the_same_bytes(distributions: dict[str, Path], tmp_path: Path) -> None:
    again = built(tmp_path)
    for kind, path in distributions.items():
        assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(again[kind].read_bytes()).digest(), kind


def test_they_hold_what_people_need_and_nothing_of_this_machine(distributions: dict[str, Path]) -> None:
    with zipfile.ZipFile(distributions["wheel"]) as wheel:
        names = set(wheel.namelist())
        assert not any(str(PROJECT).encode() in wheel.read(name) for name in names)
    assert {"bayesdp/py.typed", "bayesdp/docs/theory/odds-chain.md"} <= names
    assert not any("__pycache__" in name or name.endswith((".db", ".csv")) for name in names)
    with tarfile.open(distributions["source"]) as source:
        inside = {name.split("/", 1)[1] for name in source.getnames() if "/" in name}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "SECURITY.md"} <= inside


@pytest.mark.parametrize(
    ("version", "kind"), [("3.11", "source"), ("3.12", "wheel"), ("3.13", "wheel"), ("3.14", "wheel")]
)
def test_it_installs_and_runs(distributions: dict[str, Path], version: str, kind: str, tmp_path: Path) -> None:
    interpreter = python(version)
    if interpreter is None:
        pytest.skip(f"there is no Python {version} on this machine")
    subprocess.run([interpreter, "-m", "venv", tmp_path / "env"], check=True)
    programs = tmp_path / "env" / "bin"
    quiet = {**os.environ, "PIP_CONSTRAINT": str(PROJECT / "constraints.txt"), "PYTHONPATH": ""}

    def run(*command: str) -> str:
        place = [str(programs / command[0]), *command[1:]]
        done = subprocess.run(place, cwd=tmp_path, env=quiet, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", str(distributions[kind]))
    assert bayesdp.__version__ in run("bayesdp", "--version")
    assert "sinh" in run("bayesdp", "proof", "odds-chain")
    assert "d has leaked ε = 1 in all" in run("python", "-W", "error", "-c", RELEASE)
