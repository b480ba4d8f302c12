"""A process that releases again and again is killed at random moments: no answer is ever without its charge.

cd benchmarks && python -m attacks.kills           # 252 kills: SQLite, (ε, δ), and PostgreSQL if installed
cd benchmarks && python -m attacks.kills --short   # 8 kills on SQLite, half of them with a δ
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bayesdp as bdp
from attacks.common import Finding, main, opened, processes, sample, verified
from shared.postgresql import PostgreSQL

__all__ = ["attack", "killed"]

_LONGEST = 0.5
"""A process is killed within this many seconds after its first answer."""


def attack(short: bool) -> Iterator[Finding]:
    """Kill processes that use a ledger in a file, and one on a server."""
    with tempfile.TemporaryDirectory() as folder:
        times = 4 if short else 84
        yield killed(str(Path(folder) / "budget.db"), Path(folder), times, "SQLite")
        yield killed(str(Path(folder) / "delta.db"), Path(folder) / "delta", times, "SQLite, δ = 1e-6", delta=1e-6)
        if short:
            return
        try:
            server = PostgreSQL()
        except FileNotFoundError:
            yield Finding("PostgreSQL", note="it is not installed")
            return
        with server:
            yield killed(server.url, Path(folder) / "server", 84, "PostgreSQL")


def killed(url: str, folder: Path, times: int, name: str, delta: float | None = None) -> Finding:
    """Repeatedly start a process that releases on one account, kill it, and check the ledger.

    delta: the δ of an account whose releases have Gaussian noise.
    """
    folder.mkdir(exist_ok=True)
    draw = random.Random(times)
    broken: list[str] = []
    answered = 0
    for number in range(times):
        log = folder / f"{number}.jsonl"
        process = processes().Process(target=_release, args=(url, str(log), number, delta))
        process.start()
        while process.is_alive() and not (log.exists() and log.stat().st_size):
            time.sleep(0.005)
        time.sleep(draw.uniform(0, _LONGEST))
        process.kill()
        process.join()
        lines = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
        given = [json.loads(line) for line in lines]
        answered += len(given)
        broken += [f"kill {number + 1}: {text}" for text in _wrong(url, given)]
    return Finding(name, times, broken, f"{answered} answers were out")


def _wrong(url: str, given: list[dict[str, object]]) -> Iterator[str]:
    """Yield the problems of a ledger after a kill, given the answers that were returned."""
    problems, entries = verified(url)
    yield from problems
    charges = {entry.number for entry in entries if entry.kind == "charge"}
    answers = {entry.charge: json.loads(entry.body) for entry in entries if entry.kind == "answer"}
    if not set(answers) <= charges:
        yield f"{len(set(answers) - charges)} answers have no charge"
    if len(answers) != sum(entry.kind == "answer" for entry in entries):
        yield "two answers share a charge"
    for answer in given:
        if answer["entry"] not in charges:
            yield f"an answer is out, but its charge {answer['entry']} is not in the ledger"
        elif answers.get(answer["entry"], {}).get("value") != answer["value"]:
            yield f"the answer to charge {answer['entry']} is not the one that is out"


def _release(url: str, log: str, number: int, delta: float | None) -> None:
    """Release different questions forever; write down each answer when it is returned."""
    budget = {"epsilon": 1e6} if delta is None else {"epsilon": 8.0, "delta": delta}
    asked: dict[str, Any] = {"epsilon": 0.125} if delta is None else {"share": 1e-5, "noise": "gaussian"}
    with (
        Path(log).open("ab", buffering=0) as file,
        opened(sample(), bdp.Independent(), ["t"], ledger=url, dataset="kills", **budget) as session,
    ):
        for place in range(1_000_000):
            question = bdp.Count("s", equals=1, where=f"t != {1000 + 1_000_000 * number + place}")
            answer = session.release(question, **asked)
            file.write(json.dumps({"entry": answer.entry, "value": answer.value}).encode() + b"\n")
            os.fsync(file.fileno())


if __name__ == "__main__":
    sys.exit(main(attack))
