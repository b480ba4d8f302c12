"""The bayesdp that wrote ledgers of the schema before refuses those of this one, and leaves them as they are."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import polars
import pytest

import bayesdp as bdp
from bayesdp.ledger.database import SCHEMA

REPOSITORY = Path(__file__).parents[2]


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(REPOSITORY), *arguments], capture_output=True, check=True).stdout


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sources of the last bayesdp with the schema before, as the repository has them."""
    try:
        changes = git("log", "--format=%H", f"-SSCHEMA = {SCHEMA - 1}\n", "--", "src/bayesdp/ledger/database.py")
        archive = git("archive", f"{changes.split()[0].decode()}^", "src")
    except (OSError, IndexError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no history that goes back to schema {SCHEMA - 1}: {error}")
    folder = tmp_path_factory.mktemp("previous")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["show"], ["verify"], ["lower", "--dataset", "d", "--to", "0.5"], ["export"]], ids=str
)
def test_the_previous_version_refuses_a_new_ledger_and_leaves_it(
    command: list[str], previous: Path, tmp_path: Path
) -> None:
    path = tmp_path / "budget.db"
    frame = polars.DataFrame({"s": [0, 1] * 20})
    with bdp.Session(frame, bdp.Independent(), dataset="d", epsilon=1.0, ledger=path) as session:
        session.release(bdp.Count("s", equals=1), epsilon=0.5)
    before = path.read_bytes()
    ran = subprocess.run(
        [sys.executable, "-m", "bayesdp", "budget", command[0], "--ledger", str(path), *command[1:]],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(previous)},
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert ran.stderr.count("\n") == 1
    assert f"the ledger's schema is {SCHEMA}" in ran.stderr
    assert path.read_bytes() == before
    assert not [other for other in tmp_path.iterdir() if other != path]
