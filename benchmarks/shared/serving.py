"""`bayesdp serve` as a process of its own, for tests and benchmarks: killed and started again as often as one likes."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Self

from bayesdp.server.tokens import TokenFile

__all__ = ["A_LOT", "Serving", "free_port", "toml"]

A_LOT = {"requests_per_minute": 10**6, "jobs": 1000, "wait": 300, "read_seconds": 60}
"""Limits that load alone does not reach, nor a machine that is busy with something else."""

_CHANCE = random.SystemRandom()
_SECONDS_TO_START = 180
_SECONDS_TO_STOP = 120


def free_port() -> int:
    """Return a port of loopback on which nothing listens, and that no outgoing connection is given by chance."""
    while True:
        port = _CHANCE.randrange(10_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def toml(document: Mapping[str, Any], above: str = "") -> str:
    """Return a document as TOML: plain values, lists of them, and tables.

    >>> print(toml({"ledger": "a.db", "server": {"port": 1}}), end="")
    ledger = "a.db"
    [server]
    port = 1
    """
    text = "".join(
        f"{name} = {json.dumps(value)}\n" for name, value in document.items() if not isinstance(value, Mapping)
    )
    for name, value in document.items():
        if isinstance(value, Mapping):
            text += f"[{above}{name}]\n{toml(value, f'{above}{name}.')}"
    return text


class Serving:
    """A server in a folder, on a port of loopback. It is killed at the end of the `with` block.

    datasets:  what the configuration says of each data set; paths in it are relative to the folder.
    analysts:  what each may do; by default "ada" may ask all data sets.
    ledger:    its URL; by default a file in the folder.    limits: what analysts may ask, beside a lot.
    """

    def __init__(
        self,
        folder: Path,
        datasets: Mapping[str, Mapping[str, Any]],
        *,
        analysts: Mapping[str, Mapping[str, Any]] | None = None,
        ledger: str | None = None,
        limits: Mapping[str, float] | None = None,
    ) -> None:
        self.port = free_port()
        self.folder = folder
        self.ledger = ledger or f"{folder / 'ledger.db'}"
        self.file = folder / "serve.toml"
        self.log = folder / "serve.log"
        configuration = {
            "ledger": self.ledger,
            "server": {"port": self.port},
            "limits": {**A_LOT, **(limits or {})},
            "datasets": datasets,
            "analysts": {"ada": {"datasets": list(datasets)}} if analysts is None else analysts,
        }
        self.file.write_text(toml(configuration), encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None
        self._writing: IO[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def token(self, name: str, days: float | None = None) -> str:
        """Return a new token of an analyst; it expires after some days, if that is said."""
        return self._tokens.add(name, days=days).token

    def revoke(self, name: str) -> None:
        """Revoke all tokens of an analyst."""
        self._tokens.revoke(name)

    @property
    def _tokens(self) -> TokenFile:
        return TokenFile(self.folder / "tokens.json")

    def start(self, seconds: float = _SECONDS_TO_START) -> None:
        """Start it, and wait until it is ready.

        Raises RuntimeError, with its log, if it is not ready in time.
        """
        self._writing = self.log.open("ab")
        self._process = subprocess.Popen(
            self._line(str(self.file)),
            cwd=self.folder,
            stdout=self._writing,
            stderr=self._writing,
            start_new_session=True,
        )
        deadline = time.monotonic() + seconds
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server is not ready:\n{self.log.read_text('utf-8')[-4000:]}")
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill it at once (SIGKILL), if it runs."""
        self._end(signal.SIGKILL)

    def stop(self) -> int | None:
        """Ask it to stop (SIGTERM), wait until it has, and return its exit status; TimeoutExpired if it does not."""
        return self._end(signal.SIGTERM)

    def processor_seconds(self) -> float:
        """Return how long processors have worked for it."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Return the peak of its memory."""
        assert self._process is not None
        lines = Path(f"/proc/{self._process.pid}/status").read_text("utf-8").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))

    def _line(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "bayesdp", "serve", *words]

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _end(self, how: signal.Signals) -> int | None:
        process, self._process = self._process, None
        if process is not None:
            try:
                process.send_signal(how)
                process.wait(_SECONDS_TO_STOP)
            finally:
                process.kill()
                process.wait()
        if self._writing is not None:
            self._writing.close()
        return None if process is None else process.returncode
