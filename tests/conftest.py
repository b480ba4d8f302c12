"""Hypothesis profiles: the same examples on every run, more in `make test-all`, new in `explore`. No real ledger.

PostgreSQL is started once, for those who ask for it.

A test that needs more or fewer examples than others asks for a multiple, so that profiles scale it, too:
`@settings(max_examples=3 * settings().max_examples)`. Hypothesis marks its tests `hypothesis`; `make test-all` runs
those and the slow ones, because nothing else would do more there than in `make test`.
"""

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]

_NUMBERS = itertools.count()

settings.register_profile(
    "default",
    max_examples=20,
    deadline=None,
    derandomize=True,
    phases=set(Phase) - {Phase.explain},  # it takes seconds, also where a test wants a property to fail
    suppress_health_check=_SLOW_IS_FINE,
)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=200)
settings.register_profile(
    "explore", parent=settings.get_profile("default"), max_examples=3000, derandomize=False, phases=set(Phase)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(autouse=True)
def ledger_of_nobody(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the user's own ledger: the default one is a new file."""
    monkeypatch.setenv("BAYESDP_LEDGER", str(tmp_path_factory.getbasetemp() / f"ledger-{next(_NUMBERS)}.db"))


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
