"""What a server costs: releases over HTTP, beside the same releases by sessions in one process.

python benchmarks/serve.py           # a minute or two
python benchmarks/serve.py --short   # fewer releases, SQLite only

`bayesdp serve` runs as a process of its own on loopback; its clients, and the sessions that it is compared with, are
threads of this process. Both use a ledger of the same kind, and take turns, so that both see the same machine. A
ratio of 1.43 means 0.7 times as many releases a second. On a busy machine, only processor times can be compared.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import bayesdp as bdp
from shared.postgresql import PostgreSQL
from shared.reporting import heading, report
from shared.serving import Serving

EPSILON = 2.0**-10
SLOWEST = 1 / 0.7
"""The largest ratio of times that keeps 0.7 of the throughput."""

Ask = Callable[..., object]
NUMBERS = itertools.count()


def question() -> bdp.Query:
    """Return a question that was not asked before."""
    return bdp.Count("ill", equals=True, where=f"district > -{next(NUMBERS) + 1}", public_filter=True)


@dataclass(frozen=True)
class Side:
    """What is compared: what each client calls, and how long processors have worked for the answers."""

    asks: Sequence[Ask]
    processor_seconds: Callable[[], float]


def tables(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Write the table of each data set; each is larger by a row, so that all are different."""
    files = {name: folder / f"{name}.parquet" for name in names}
    for place, file in enumerate(files.values()):
        rows = range(1000 + place)
        columns = {"ill": [row % 3 == 0 for row in rows], "district": [row % 4 for row in rows]}
        pl.DataFrame(columns).write_parquet(file)
    return files


@contextmanager
def served(folder: Path, names: Sequence[str], clients: int, ledger: str | None) -> Iterator[Side]:
    """Serve data sets to clients."""
    folder.mkdir()
    bdp.Independent().save(folder / "model.json")
    datasets = {
        name: {"data": str(file), "model": "model.json", "epsilon": 1e6, "public": ["district"]}
        for name, file in tables(folder, names).items()
    }
    with ExitStack() as opened:
        server = opened.enter_context(Serving(folder, datasets, ledger=ledger))
        token = server.token("ada")
        remotes = [opened.enter_context(bdp.connect(server.url, token)) for _ in range(clients)]
        asks = [remote[names[place % len(names)]].release for place, remote in enumerate(remotes)]
        yield Side(asks, server.processor_seconds)


@contextmanager
def in_process(folder: Path, names: Sequence[str], clients: int, ledger: str | None) -> Iterator[Side]:
    """Open the same sessions in this process, one for each client."""
    folder.mkdir()
    files = tables(folder, names)
    options: dict[str, Any] = {
        "epsilon": 1e6,
        "public": ["district"],
        "ledger": ledger or folder / "ledger.db",
        "by": "ada",
    }
    with ExitStack() as opened:
        sessions = [
            opened.enter_context(bdp.Session(files[name], bdp.Independent(), dataset=name, **options))
            for name in (names[place % len(names)] for place in range(clients))
        ]
        yield Side([session.release for session in sessions], time.process_time)


def lasted(side: Side, releases: int) -> tuple[float, float]:
    """Let all clients ask at the same time; return the time of one release of all, by the clock and of processors."""
    questions = [[question() for _ in range(releases)] for _ in side.asks]
    with ThreadPoolExecutor(len(side.asks)) as pool:
        begun, worked = time.perf_counter(), side.processor_seconds()
        list(pool.map(lambda ask, mine: [ask(each, epsilon=EPSILON) for each in mine], side.asks, questions))
        many = releases * len(side.asks)
        return (time.perf_counter() - begun) / many, (side.processor_seconds() - worked) / many


def compare(name: str, datasets: int, clients: int, ledgers: Sequence[str | None], rounds: int, releases: int) -> None:
    """Report what a release takes through a server, beside one in this process, round by round."""
    names = [f"d{number}" for number in range(datasets)]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        remote = opened.enter_context(served(Path(folder) / "served", names, clients, ledgers[0]))
        local = opened.enter_context(in_process(Path(folder) / "local", names, clients, ledgers[1]))
        for side in (remote, local):
            lasted(side, 2)
        pairs = [(lasted(remote, releases), lasted(local, releases)) for _ in range(rounds)]
    for place, what in enumerate(("a release", "… its processor time on the server")):
        over, inside = (statistics.median(taken[place] for taken in column) for column in zip(*pairs, strict=True))
        row = f"{name}, {what}" if not place else what
        most = SLOWEST if clients > 1 else None  # one client alone waits for each answer: that is no throughput
        report(row, 1000 * over, "ms", baseline=1000 * inside, beside="sessions in process", ratio_at_most=most)


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--short", action="store_true", help="fewer releases, SQLite only")
    short = arguments.parse_args().short
    rounds, releases = (3, 5) if short else (9, 20)
    print(heading())
    cases = [("1 client", 1, 1), ("16 clients, one data set", 1, 16), ("8 clients, 8 data sets", 8, 8)]
    for name, datasets, clients in cases:
        compare(f"SQLite, {name}", datasets, clients, (None, None), rounds, releases)
    if short:
        return
    for name, datasets, clients in cases:
        with PostgreSQL() as one, PostgreSQL() as other:
            compare(f"PostgreSQL, {name}", datasets, clients, (one.url, other.url), rounds, releases)


if __name__ == "__main__":
    main()
