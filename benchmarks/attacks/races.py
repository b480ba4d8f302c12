"""Sixteen processes release on one account at once: together they never pass its budget, and no charge is lost.

cd benchmarks && python -m attacks.races           # six races of 16 × 50 releases, three on accounts of (ε, δ)
cd benchmarks && python -m attacks.races --short   # two races of 8 × 10
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import bayesdp as bdp
from attacks.common import Finding, main, opened, processes, sample, verified
from bayesdp.errors import BudgetError

__all__ = ["attack", "race"]

EPSILON = 0.125
"""The ε of one release; a power of two, so that sums are exact."""


def attack(short: bool) -> Iterator[Finding]:
    """Run the races, each on a new ledger."""
    for number, delta in product(range(1 if short else 3), (None, 1e-6)):
        workers, releases = (8, 10) if short else (16, 50)
        name = f"race {number + 1}" + ("" if delta is None else f", δ = {delta:g}")
        with tempfile.TemporaryDirectory() as folder:
            yield race(f"{Path(folder) / 'budget.db'}", workers, releases, name, delta)


def race(url: str, workers: int, releases: int, name: str = "race", delta: float | None = None) -> Finding:
    """Let several processes try several releases each, of which the account allows half.

    delta: the δ of an account whose limit is shared; a share is rounded up, so that one release may not fit.
    """
    allowed = workers * releases // 2
    budget = allowed * EPSILON if delta is None else 2.0
    account: dict[str, Any] = {"ledger": url, "dataset": "race", "epsilon": budget}
    account |= {} if delta is None else {"delta": delta}
    asked: dict[str, Any] = {"epsilon": EPSILON} if delta is None else {"share": 1 / allowed}
    with processes().Pool(workers) as pool:
        given = pool.map(partial(_releases, account, asked, releases), range(workers), chunksize=1)
    answered = [entry for worker in given for entry in worker]
    broken, entries = verified(url)
    charges = {entry.number for entry in entries if entry.kind == "charge"}
    answers = [entry.charge for entry in entries if entry.kind == "answer"]
    with opened(sample(), bdp.Independent(), ["t"], **account) as session:
        leaked = session.leaked
    if leaked > budget:
        broken.append(f"ε = {leaked} has leaked of a budget of {budget}")
    if len(answered) != len(set(answered)) or set(answered) != charges or sorted(answers) != sorted(charges):
        broken.append(f"{len(answered)} answers were given for {len(charges)} charges and {len(answers)} entries")
    if len(charges) not in ({allowed} if delta is None else {allowed, allowed - 1}):
        broken.append(f"{len(charges)} releases were made, but the budget allows {allowed}")
    return Finding(name, workers * releases, broken, f"{len(charges)} released, the rest refused for the budget")


def _releases(account: dict[str, Any], asked: dict[str, Any], releases: int, worker: int) -> list[int]:
    """Release different questions until the budget is used up; return the entries of the answers."""
    answered = []
    with opened(sample(), bdp.Independent(), ["t"], **account) as session:
        for number in range(releases):
            question = bdp.Count("s", equals=1, where=f"t != {worker * releases + number + 1000}")
            try:
                answered.append(session.release(question, **asked).entry)
            except BudgetError:
                continue
    return answered


if __name__ == "__main__":
    sys.exit(main(attack))
