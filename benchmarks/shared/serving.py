"""`bayesdp serve` as a process of its own, for tests and benchmarks: killed and started again as often as one likes."""

from __future__ import annotations

import contextlib
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

__all__ = ["Serving", "free_port", "toml"]

_CHANCE = random.SystemRandom()
_SECONDS_TO_START = 60
_SECONDS_TO_STOP = 30


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
    plain = {name: value for name, value in document.items() if not isinstance(value, Mapping)}
    text = "".join(f"{name} = {_value(value)}\n" for name, value in plain.items())
    for name, value in document.items():
        if isinstance(value, Mapping):
            inner = toml(value, f"{above}{name}.")
            header = "" if value and all(isinstance(each, Mapping) for each in value.values()) else f"[{above}{name}]\n"
            text += header + inner
    return text


def _value(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


class Serving:
    """A server with a configuration, in a folder, on a port of loopback. It is killed at the end of the `with` block.

    configuration: without the address, which this adds.    arguments: how Python starts it.
    """

    def __init__(self, folder: Path, configuration: Mapping[str, Any], name: str = "serve") -> None:
        self.port = free_port()
        self.folder = folder
        self.file = folder / f"{name}.toml"
        server = {**configuration.get("server", {}), "port": self.port}
        self.file.write_text(toml({**configuration, "server": server}), encoding="utf-8")
        self.log = folder / f"{name}.log"
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

    def command(self, *words: str) -> str:
        """Run `bayesdp serve WORDS` on the configuration, and return what it prints.

        Raises RuntimeError if it fails.
        """
        done = subprocess.run(self._line(*words), cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def start(self, seconds: float = _SECONDS_TO_START) -> None:
        """Start it, and wait until it is ready.

        Raises RuntimeError, with its log, if it is not ready in time.
        """
        self._writing = self.log.open("ab")
        self._process = subprocess.Popen(
            self._line(str(self.file)), cwd=self.folder, stdout=self._writing, stderr=self._writing, start_new_session=True
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
