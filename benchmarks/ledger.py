"""How fast a ledger is: on PostgreSQL and on SQLite, for one process and for many, and when much was asked before.

python benchmarks/ledger.py           # a minute or two
python benchmarks/ledger.py --short   # fewer releases each

It starts a PostgreSQL of its own, whose commits are on disk before they are confirmed. Beside each figure stands a
baseline of the same run: the bare durable commit of one row, which a release must make twice; or the same release by
one process alone; or on an account where nothing was asked before. Where eight processes are compared with one, the
same is done with work that waits for no disk and no lock: that is what the cores allow. Where a commit takes next to no
time, no more than that can be reached; so it is measured with a slow disk, too.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import select
import socket
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import psycopg

import bayesdp as bdp
from bayesdp.frames.aggregates import tally
from bayesdp.ledger import Charge, Ledger, Receipt
from shared.postgresql import PostgreSQL
from shared.reporting import heading, report

ROW = "x" * 1000
"""What a bare commit writes: about as much as an entry of a ledger."""

MORE = "of eight processes to one"

Work = Callable[[int], Any]
"""Something to be done again and again; its argument is how often it was done before."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    releases: by each process.    waiting: by each of those that queue up.    questions: asked before.
    rounds:   of releases that are compared one by one.
    """

    releases: int
    waiting: int
    questions: int = 600
    rounds: int = 30


FULL = Sizes(releases=100, waiting=50)
SHORT = Sizes(releases=20, waiting=5, rounds=10)


@dataclass(frozen=True)
class Pace:
    """How processes got on together: how much they did in a second, and how long the longest took."""

    per_second: float
    longest: float


def frame() -> pl.DataFrame:
    return pl.DataFrame({"ill": [True, False] * 500, "age": [20.0, 40.0] * 500, "district": [1, 2] * 500})


def session(url: str, dataset: str) -> bdp.Session:
    """Open a session on a small table, so that the ledger is what takes time."""
    options: dict[str, Any] = {"ledger": url, "dataset": dataset, "public": ["district"]}
    return bdp.Session(frame(), bdp.Independent(), epsilon=1e6, separate_because="a benchmark", **options)


def same_total(number: int) -> bdp.Query:
    """Return a question not asked before, whose τ is added to that of all the others."""
    return bdp.Count("ill", equals=True, where=f"district > -{number + 1}", public_filter=True)


def own_total(number: int) -> bdp.Query:
    """Return a question not asked before, whose τ is kept apart from that of all others: it clips otherwise."""
    return bdp.Sum("age", bounds=(0, number + 1))


@contextmanager
def releasing(url: str, dataset: str, question: Callable[[int], bdp.Query], begin: int = 0) -> Iterator[Work]:
    """Return what makes a release of a new question, once the first one is made."""
    with session(url, dataset) as opened:
        opened.release(question(begin), epsilon=1e-3)
        yield lambda number: opened.release(question(begin + number + 1), epsilon=1e-3)


@contextmanager
def committing(url: str) -> Iterator[Work]:
    """Return what commits one row of a table without anything around it, on disk as a ledger does."""
    if url.startswith("postgresql"):
        with psycopg.connect(url, autocommit=True) as server:
            yield lambda number: server.execute("INSERT INTO bare VALUES (%s)", [ROW])
    else:
        with closing(sqlite3.connect(url, isolation_level=None, timeout=60)) as file:
            file.execute("PRAGMA synchronous = EXTRA")
            yield lambda number: file.execute("INSERT INTO bare VALUES (?)", [ROW])


@contextmanager
def reading() -> Iterator[Work]:
    """Return what answers the same questions without noise and without a ledger: work that waits for nothing."""
    table = frame()
    yield lambda number: tally(table, [same_total(number)])


def create_bare_table(url: str) -> None:
    connection: Any = psycopg.connect(url) if url.startswith("postgresql") else sqlite3.connect(url)
    with closing(connection):
        connection.execute("CREATE TABLE bare (line text)")
        connection.commit()


def check_durable(url: str) -> None:
    """Refuse a server that confirms what is not on disk."""
    with psycopg.connect(url) as server:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            value = server.execute(f"SHOW {setting}".encode()).fetchone()
            if value != ("on",):
                raise SystemExit(f"the server's commits are not durable: {setting} is {value}")


def times(works: Sequence[Work], rounds: int) -> list[float]:
    """Return the median time of each of several works, done in turn."""
    taken: list[list[float]] = [[] for _ in works]
    for number in range(rounds):
        for work, seconds in zip(works, taken, strict=True):
            begun = time.perf_counter()
            work(number)
            seconds.append(time.perf_counter() - begun)
    return [statistics.median(seconds) for seconds in taken]


def _process(prepared: Any, repetitions: int, start: Any, results: Any) -> None:
    """Do something again and again, as soon as all processes are ready; tell when each repetition began and ended."""
    with prepared() as work:
        start.wait()
        moments = [time.monotonic()]
        for number in range(repetitions):
            work(number)
            moments.append(time.monotonic())
        start.wait()
    results.put(moments)


def together(prepared: Sequence[Callable[[], Any]], repetitions: int) -> Pace:
    """Let processes of their own do these things at the same time, so often each."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["polars", "psycopg", "narwhals", "opendp.mod", "bayesdp.session.session"])
    start, results = context.Barrier(len(prepared)), context.SimpleQueue()
    processes = [context.Process(target=_process, args=(work, repetitions, start, results)) for work in prepared]
    for process in processes:
        process.start()
    every = [results.get() for _ in processes]
    for process in processes:
        process.join()
    lasted = max(moments[-1] for moments in every) - min(moments[0] for moments in every)
    longest = max(end - begin for moments in every for begin, end in itertools.pairwise(moments))
    return Pace(len(prepared) * repetitions / lasted, longest)


class Counted:
    """A server seen through a socket that counts round trips: how often the server says that it waits for more.

    url: the address of the server through that socket.
    """

    def __init__(self, server: PostgreSQL, folder: str) -> None:
        self.round_trips = 0
        self.url = f"postgresql://postgres@/postgres?host={folder}"
        self._server = str(server.folder / ".s.PGSQL.5432")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{folder}/.s.PGSQL.5432")
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._server)
            unread = b""
            while True:
                readable, _, _ = select.select([client, server], [], [])
                for source, goal in ((client, server), (server, client)):
                    if source not in readable:
                        continue
                    passed = source.recv(1 << 20)
                    if not passed:
                        return
                    goal.sendall(passed)
                    if source is server:
                        unread = self._read(unread + passed)

    def _read(self, answered: bytes) -> bytes:
        """Count ReadyForQuery among the messages of a server; return the beginning of one that is not complete yet."""
        while len(answered) >= 5 and len(answered) > (length := int.from_bytes(answered[1:5], "big")):
            self.round_trips += answered[:1] == b"Z"
            answered = answered[length + 1 :]
        return answered


def round_trips(server: PostgreSQL, rounds: int) -> float:
    """Return how often a release waits for the server."""
    with tempfile.TemporaryDirectory() as folder:
        counted = Counted(server, folder)
        with releasing(counted.url, "counted", same_total) as release:
            release(0)
            before = counted.round_trips
            for number in range(1, rounds + 1):
                release(number)
            return (counted.round_trips - before) / rounds


def fill(url: str, dataset: str, questions: int, question: Callable[[int], bdp.Query]) -> None:
    """Write the charges and answers of so many questions at once, as releases write them one by one."""
    with Ledger(url) as ledger:
        state = ledger.state(dataset)
        with ledger._store(write=True) as store:
            for number in range(questions):
                key = question(number).ledger_key()
                charge = Charge(f"{number:064d}", key.fingerprint, key.to_dict(), 1e-3, {"epsilon": 1e-3})
                entry = store.charge(dataset, charge)
                store.answer(dataset, Receipt(entry.number, entry.hash, state), {"value": number, "tau": 1e-3})


def one_session(server: PostgreSQL, sizes: Sizes) -> None:
    """Measure one session on PostgreSQL, beside two bare commits."""
    with releasing(server.url, "alone", same_total) as release, committing(server.url) as commit:
        slow, bare = times([release, commit], sizes.releases)
    two = f"two bare commits of {1000 * bare:.1f} ms"
    report("PostgreSQL, one session, releases a second", 1 / slow, "/s", at_least=60)
    report("PostgreSQL, one release", 1000 * slow, "ms", baseline=2000 * bare, beside=two)
    report("PostgreSQL, round trips of a release", round_trips(server, sizes.rounds), "", beside="1 for a bare commit")


@contextmanager
def slow_disk(server: PostgreSQL) -> Iterator[None]:
    """Let every flush of the server's log wait for a hundredth of a second, as for a disk far away."""
    settings = {"commit_delay": "10000", "commit_siblings": "0"}
    with psycopg.connect(server.url, autocommit=True) as connection:
        for name, value in settings.items():
            connection.execute(f"ALTER SYSTEM SET {name} = {value}".encode())
        connection.execute("SELECT pg_reload_conf()")
        while connection.execute("SHOW commit_delay").fetchone() != (settings["commit_delay"],):
            time.sleep(0.1)
        yield
        for name in settings:
            connection.execute(f"ALTER SYSTEM RESET {name}".encode())
        connection.execute("SELECT pg_reload_conf()")


def eight_data_sets(server: PostgreSQL, sizes: Sizes, disk: str) -> None:
    """Measure eight processes on eight data sets of one ledger, beside one process; and bare commits likewise."""
    works = [partial(releasing, server.url, f"{disk} {number}", same_total) for number in range(8)]
    alone, eight = (together(works[:many], sizes.releases) for many in (1, 8))
    bare, bare_eight = (together([partial(committing, server.url)] * many, sizes.releases) for many in (1, 8))
    report(f"PostgreSQL, {disk}, releases/s {MORE}", eight.per_second / alone.per_second, "×", at_least=3)
    report(f"… bare commits/s {MORE}", bare_eight.per_second / bare.per_second, "×")


def cores(sizes: Sizes) -> None:
    """Measure what the cores allow: eight processes, beside one, that wait for no disk and no lock."""
    read, read_eight = (together([reading] * many, 5 * sizes.releases) for many in (1, 8))
    report(f"{os.cpu_count()} cores, reading without a ledger/s {MORE}", read_eight.per_second / read.per_second, "×")


def one_file(folder: Path, sizes: Sizes) -> None:
    """Measure eight and sixteen processes on one data set in a SQLite file, beside one process."""
    url, bare = str(folder / "many.db"), str(folder / "bare.db")
    create_bare_table(bare)

    def works(many: int) -> list[Callable[[], Any]]:
        return [partial(releasing, url, "shared", same_total, 10**6 * (16 * many + place)) for place in range(many)]

    alone, eight = (together(works(many), sizes.releases) for many in (1, 8))
    bare_alone, bare_eight = (together([partial(committing, bare)] * many, sizes.releases) for many in (1, 8))
    queue = together(works(16), sizes.waiting)
    report(f"SQLite, releases/s on one data set {MORE}", eight.per_second / alone.per_second, "×", at_least=1)
    report(f"… bare commits/s {MORE}", bare_eight.per_second / bare_alone.per_second, "×")
    report(f"SQLite, worst wait of 16 processes × {sizes.waiting} releases", queue.longest, at_most=5)


def many_questions(name: str, url: str, sizes: Sizes) -> None:
    """Measure a release after many questions, beside one on an account where nothing was asked before."""
    for kind, question in (("own totals", own_total), ("one total", same_total)):
        with ExitStack() as opened:
            first, later = (
                opened.enter_context(releasing(url, f"{which}, {kind}", question, begin))
                for which, begin in (("few", 0), ("many", sizes.questions))
            )
            fill(url, f"many, {kind}", sizes.questions, question)
            early, late = times([first, later], sizes.rounds)
        row = f"{name}, a release after {sizes.questions} with {kind}"
        report(row, 1000 * late, "ms", baseline=1000 * early, beside="the first ones", ratio_at_most=2)


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--short", action="store_true", help="fewer releases each")
    sizes = SHORT if arguments.parse_args().short else FULL
    print(heading())
    with PostgreSQL() as server, tempfile.TemporaryDirectory() as folder:
        check_durable(server.url)
        create_bare_table(server.url)
        one_session(server, sizes)
        cores(sizes)
        eight_data_sets(server, sizes, "this disk")
        with slow_disk(server):
            eight_data_sets(server, sizes, "a disk of 10 ms")
        one_file(Path(folder), sizes)
        many_questions("PostgreSQL", server.url, sizes)
        many_questions("SQLite", str(Path(folder) / "questions.db"), sizes)


if __name__ == "__main__":
    main()
