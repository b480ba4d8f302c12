"""One warm release, end to end, against the bare OpenDP call; a ledger of 100,000 entries against an empty one.

The processor time of a release on SQLite, beside the two durable commits of a row that it cannot do without.
And a stored answer that is given again: of a question with 65 answers, against one with a single answer.

python benchmarks/release.py            # 100,000 entries
python benchmarks/release.py 2000       # fewer
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import bayesdp as bdp
from bayesdp.experiments.data import load
from bayesdp.ledger import Charge, Ledger, Receipt
from bayesdp.mechanisms import DiscreteLaplaceMechanism
from shared.reporting import heading, report

ROUNDS = 40
ENTRIES = 100_000
ANSWERS = 65
COMMITS = 5
"""The target of a release, in times two bare commits."""

ROW = "x" * 1000
"""What a bare commit writes: about as much as an entry of a ledger."""


def medians(*series: list[Callable[[], Any]], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Return the median time of each of several series of calls, made in turn; every call is made once."""
    times: list[list[float]] = [[] for _ in series]
    for calls in zip(*series, strict=True):
        for call, taken in zip(calls, times, strict=True):
            begun = clock()
            call()
            taken.append(clock() - begun)
    return [sorted(taken)[len(taken) // 2] for taken in times]


def releases(session: bdp.Session, begin: int = 1) -> list[Callable[[], Any]]:
    """Return releases of questions not asked before."""

    def release(number: int) -> Callable[[], Any]:
        query = bdp.Count("steps > 0", equals=True, where=f"interval > -{number}", public_filter=True)
        return lambda: session.release(query, epsilon=1e-3)

    return [release(number) for number in range(begin, begin + ROUNDS)]


@contextmanager
def two_commits(path: Path) -> Iterator[list[Callable[[], Any]]]:
    """Return what commits a row twice, on disk as a ledger does."""
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA synchronous = EXTRA")
        file.execute("CREATE TABLE bare (line TEXT)")
        yield [lambda: [file.execute("INSERT INTO bare VALUES (?)", [ROW]) for _ in range(2)]] * ROUNDS


def fill(ledger: Ledger, dataset: str, entries: int) -> None:
    """Write charges with their answers in one transaction, as releases write them one by one."""
    key = bdp.Count("steps > 0", equals=True).ledger_key()
    state = ledger.state(dataset)
    with ledger._store(write=True) as store:
        for number in range(entries // 2):
            charge = Charge(f"{number:064d}", key.fingerprint, key.to_dict(), 1e-9, {"epsilon": 1e-9})
            entry = store.charge(dataset, charge)
            store.answer(dataset, Receipt(entry.number, entry.hash, state), {"value": number, "tau": 1e-9})


def stored_again(session: bdp.Session) -> list[list[Callable[[], Any]]]:
    """Return what gives a stored answer again: of a question that has one, and of one that has many."""
    once, often = bdp.Count("steps > 0", equals=True), bdp.Count("steps > 0", equals=False)
    session.release(once, epsilon=1e-4)
    for number in range(1, ANSWERS + 1):
        session.release(often, epsilon=1e-4 * number)
    return [[partial(session.release, query, epsilon=1e-4)] * ROUNDS for query in (once, often)]


def main(entries: int) -> None:
    frame = load("activity").frame
    chain = bdp.MarkovChain.fit(frame, state="steps > 0", order_by=["date", "interval"], missing="drop")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as open_:
        empty, full = (open_.enter_context(Ledger(Path(folder) / name)) for name in ("empty.db", "full.db"))
        sessions = [
            open_.enter_context(
                bdp.Session(frame, chain, epsilon=5.0, ledger=ledger, dataset="steps", public=["interval"])
            )
            for ledger in (empty, full)
        ]
        for session in sessions:
            session.release(bdp.Count("steps > 0", equals=True), epsilon=1e-3)
        fill(full, "steps", entries)
        os.sync()
        mechanism = DiscreteLaplaceMechanism(sensitivity=1, tau=0.01)
        calls: list[Callable[[], Any]] = [lambda: mechanism.release([4250])] * ROUNDS
        bare, few, many = medians(calls, *(releases(session) for session in sessions))
        bare_file = open_.enter_context(two_commits(Path(folder) / "bare.db"))
        ours, commits = medians(releases(sessions[0], ROUNDS + 1), bare_file, clock=time.process_time)
        single, several = medians(*stored_again(sessions[0]))
    print(heading())
    beside = "the bare OpenDP call"
    report("release: added to the bare OpenDP call", 1000 * (few - bare), "ms", at_most=30)
    report("release, empty ledger", 1000 * few, "ms", baseline=1000 * bare, beside=beside)
    report(f"release, {entries:,} entries", 1000 * many, "ms", baseline=1000 * few, beside="an empty ledger")
    title, beside = "release, empty ledger: processor", "two bare durable commits"
    report(title, 1000 * ours, "ms", baseline=1000 * commits, beside=beside, ratio_at_most=COMMITS)
    again = f"a stored answer again, of a question with {ANSWERS}"
    report(again, 1000 * several, "ms", baseline=1000 * single, beside="one with a single answer", ratio_at_most=1.5)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ENTRIES)
