"""A PostgreSQL server of one's own, for tests and benchmarks of ledgers: started and stopped as often as one likes."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

__all__ = ["PostgreSQL"]

_SECONDS_TO_START = 600


class PostgreSQL:
    """A server in a new folder that runs as an ordinary user and listens on a Unix socket in that folder only.

    Raises FileNotFoundError where PostgreSQL is not installed. `folder` is the host to connect to, as user postgres.
    """

    def __init__(self) -> None:
        binaries = _binaries()
        if binaries is None:
            raise FileNotFoundError("PostgreSQL is not installed: no initdb in PATH or in /usr/lib/postgresql/*/bin")
        user = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
        self._temporary = tempfile.TemporaryDirectory(prefix="bayesdp-", dir="/tmp")
        self.folder = Path(self._temporary.name)
        os.chown(self.folder, user.pw_uid, user.pw_gid)
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
        self._quiet: dict[str, Any] = {
            "cwd": self.folder,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
            **identity,
        }
        data = str(self.folder / "data")
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        subprocess.run([str(binaries / "initdb"), "-D", data, *options], check=True, **self._quiet)
        self._command = [str(binaries / "postgres"), "-D", data, "-k", str(self.folder), "-c", "listen_addresses="]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.stop(signal.SIGQUIT)  # at once: the data are not needed
        self._temporary.cleanup()

    @property
    def url(self) -> str:
        """The address of its database, for a ledger."""
        return f"postgresql://postgres@/postgres?host={self.folder}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        import psycopg

        self._process = subprocess.Popen(self._command, **self._quiet)
        deadline = time.monotonic() + _SECONDS_TO_START
        while True:
            try:
                psycopg.connect(host=str(self.folder), user="postgres", dbname="postgres").close()
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT ends all connections and shuts down, SIGQUIT is a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
        self._process = None


def _binaries() -> Path | None:
    initdb = shutil.which("initdb")
    candidates = [Path(initdb).resolve().parent] if initdb else []
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in candidates if (folder / "postgres").exists()), None)
