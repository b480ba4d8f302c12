"""What a server costs: releases over HTTP, beside the same releases by sessions in one process.

python benchmarks/serve.py           # a minute or two
python benchmarks/serve.py --short   # fewer releases, SQLite only

`bayesdp serve` runs as a process of its own on loopback; its clients, and the sessions that it is compared with, are
threads of this process. Both use a ledger of the same kind, and take turns, so that both see the same machine. A
ratio of 1.43 means 0.7 times as many releases a second.
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
from pathlib import Path

import polars as pl

import bayesdp as bdp
from shared.postgresql import PostgreSQL
from shared.reporting import heading, report
from shared.serving import Serving

EPSILON = 2.0**-10
SLOWEST = 1 / 0.7
"""The largest ratio of times that keeps 0.7 of the throughput."""

Ask = Callable[[bdp.Query], object]

NUMBERS = itertools.count()


def table(rows: int) -> pl.DataFrame:
    return pl.DataFrame({"ill": [row % 3 == 0 for row in range(rows)], "district": [row % 4 for row in range(rows)]})


def question() -> bdp.Query:
    """Return a question that was not asked before."""
    return bdp.Count("ill", equals=True, where=f"district > -{next(NUMBERS) + 1}", public_filter=True)


@contextmanager
def served(folder: Path, names: Sequence[str], clients: int, ledger: str | None) -> Iterator[list[Ask]]:
    """Serve data sets; return what each client asks one of them."""
    folder.mkdir()
    bdp.Independent().save(folder / "model.json")
    for place, name in enumerate(names):
        table(1000 + place).write_parquet(folder / f"{name}.parquet")
    datasets = {
        name: {"data": f"{name}.parquet", "model": "model.json", "epsilon": 1e6, "public": ["district"]} for name in names
    }
    with ExitStack() as opened:
        server = opened.enter_context(Serving(folder, datasets, ledger=ledger))
        token = server.token("ada")
        remotes = [opened.enter_context(bdp.connect(server.url, token)) for _ in range(clients)]
        yield [_releasing(remote[names[place % len(names)]].release) for place, remote in enumerate(remotes)]


@contextmanager
def in_process(folder: Path, names: Sequence[str], clients: int, ledger: str | None) -> Iterator[list[Ask]]:
    """Open the same sessions in this process."""
    folder.mkdir()
    with ExitStack() as opened:
        asked: list[Ask] = []
        for place in range(clients):
            name = names[place % len(names)]
            file = folder / f"{name}.parquet"
            table(1000 + place % len(names)).write_parquet(file)
            session = bdp.Session(
                file, bdp.Independent(), dataset=name, epsilon=1e6, public=["district"],
                ledger=ledger or folder / "ledger.db", by="ada",
            )  # fmt: skip
            asked.append(_releasing(opened.enter_context(session).release))
        yield asked


def _releasing(release: Callable[..., object]) -> Ask:
    return lambda query: release(query, epsilon=EPSILON)


def lasted(asks: Sequence[Ask], releases: int) -> float:
    """Let all ask at the same time, so often each; return the seconds that one release took of all."""
    questions = [[question() for _ in range(releases)] for _ in asks]
    with ThreadPoolExecutor(len(asks)) as pool:
        begun = time.perf_counter()
        list(pool.map(lambda ask, mine: [ask(each) for each in mine], asks, questions))
        return (time.perf_counter() - begun) / (releases * len(asks))


def compare(name: str, datasets: int, clients: int, ledgers: Sequence[str | None], rounds: int, releases: int) -> None:
    """Report what a release takes through a server, beside one in this process, round by round."""
    names = [f"d{number}" for number in range(datasets)]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        remote = opened.enter_context(served(Path(folder) / "served", names, clients, ledgers[0]))
        local = opened.enter_context(in_process(Path(folder) / "local", names, clients, ledgers[1]))
        lasted(remote, 2), lasted(local, 2)
        pairs = [(lasted(remote, releases), lasted(local, releases)) for _ in range(rounds)]
    over, inside = (statistics.median(column) for column in zip(*pairs, strict=True))
    beside = f"sessions in process, {1 / inside:.0f} /s"
    report(f"{name}, a release", 1000 * over, "ms", baseline=1000 * inside, beside=beside, ratio_at_most=SLOWEST)


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
