"""Ledgers to test with: SQLite files, and a real PostgreSQL that the tests start and stop."""

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bayesdp.ledger import Account, Ledger

MODEL = {"type": "independent"}
DESCRIPTION = {"rows": 100, "columns": ["s"]}
BACKENDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]


def _binaries() -> Path | None:
    found = shutil.which("initdb")
    candidates = [Path(found).resolve().parent] if found else []
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in candidates if (folder / "postgres").exists()), None)


@pytest.fixture(scope="session")
def server() -> Iterator[Path]:
    """Run PostgreSQL as an ordinary user, on a Unix socket only; return the socket's directory."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed: no initdb in PATH or in /usr/lib/postgresql/*/bin")
    user = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    identity: dict[str, Any] = (
        {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
    )
    with tempfile.TemporaryDirectory(prefix="bayesdp-", dir="/tmp") as name:
        folder = Path(name)
        os.chown(folder, user.pw_uid, user.pw_gid)
        quiet: dict[str, Any] = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **identity}
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        subprocess.run([binaries / "initdb", "-D", folder / "data", *options], check=True, **quiet)
        command = [str(binaries / "postgres"), "-D", f"{folder}/data", "-k", f"{folder}", "-c", "listen_addresses="]
        with subprocess.Popen(command, **quiet) as process:
            try:
                _wait_for(folder, process)
                yield folder
            finally:
                process.send_signal(signal.SIGQUIT)  # at once: nobody needs the data


def _wait_for(folder: Path, process: "subprocess.Popen[Any]") -> None:
    for _ in range(600):
        assert process.poll() is None, "PostgreSQL stopped while it was starting"
        try:
            psycopg.connect(host=str(folder), user="postgres", dbname="postgres").close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("PostgreSQL did not start within a minute")


@pytest.fixture(scope="session")
def new_database(server: Path) -> Callable[[], str]:
    """Return a function that makes an empty schema, all of a database that a ledger sees, and returns its URL."""
    numbers = itertools.count()

    def create() -> str:
        name = f"ledger{next(numbers)}"
        with psycopg.connect(host=str(server), user="postgres", dbname="postgres", autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"postgresql://postgres@/postgres?host={server}&options=-csearch_path%3D{name}"

    return create


@pytest.fixture(params=BACKENDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where a new ledger can be created."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/budget.db"
    create: Callable[[], str] = request.getfixturevalue("new_database")
    return create()


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    with Ledger(url) as ledger:
        yield ledger


@pytest.fixture
def account(ledger: Ledger) -> Account:
    return ledger.account("steps", model=MODEL, description=DESCRIPTION, budget=2.0)
