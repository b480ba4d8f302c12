"""Sixteen processes release on one account at once: together they never pass its budget, and no charge is lost.

cd benchmarks && python -m attacks.races           # three races of 16 × 50 releases
cd benchmarks && python -m attacks.races --short   # one race of 8 × 10
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import bayesdp as bdp
from attacks.common import Finding, main, opened, processes, sample, verified
from bayesdp.errors import BudgetError

__all__ = ["EPSILON", "asked", "attack", "ended", "race"]

EPSILON = 0.125
"""The ε of one release; a power of two, so that sums are exact."""


def attack(short: bool) -> Iterator[Finding]:
    """Run the races, each on a new ledger."""
    for number in range(1 if short else 3):
        workers, releases = (8, 10) if short else (16, 50)
        with tempfile.TemporaryDirectory() as folder:
            yield race(f"{Path(folder) / 'budget.db'}", workers, releases, f"race {number + 1}")


def race(url: str, workers: int, releases: int, name: str = "race") -> Finding:
    """Let several processes try several releases each, of which the budget allows half."""
    budget = workers * releases * EPSILON / 2
    with processes().Pool(workers) as pool:
        given = pool.map(partial(_releases, url, budget, releases), range(workers), chunksize=1)
    return ended(url, [entry for worker in given for entry in worker], budget, workers * releases, name)


def ended(url: str, answered: Sequence[int], budget: float, tried: int, name: str) -> Finding:
    """Compare a ledger with the answers that were given in a race, and with the budget.

    answered: the entries of the answers.    tried: how many releases were asked for.
    """
    broken, entries = verified(url)
    charges = {entry.number for entry in entries if entry.kind == "charge"}
    answers = [entry.charge for entry in entries if entry.kind == "answer"]
    with opened(sample(), bdp.Independent(), ["t"], ledger=url, dataset="race", epsilon=budget) as session:
        leaked = session.leaked
    if leaked > budget:
        broken.append(f"ε = {leaked} has leaked of a budget of {budget}")
    if len(answered) != len(set(answered)) or set(answered) != charges or sorted(answers) != sorted(charges):
        broken.append(f"{len(answered)} answers were given for {len(charges)} charges and {len(answers)} entries")
    if len(charges) * EPSILON != budget:
        broken.append(f"{len(charges)} releases were made, but the budget allows {budget / EPSILON:g}")
    return Finding(name, tried, broken, f"{len(charges)} released, the rest refused for the budget")


def _releases(url: str, budget: float, releases: int, worker: int) -> list[int]:
    """Release different questions until the budget is used up; return the entries of the answers."""
    answered = []
    with opened(sample(), bdp.Independent(), ["t"], ledger=url, dataset="race", epsilon=budget) as session:
        for number in range(releases):
            try:
                answered.append(session.release(asked(worker * releases + number), epsilon=EPSILON).entry)
            except BudgetError:
                continue
    return answered


def asked(number: int) -> bdp.Query:
    """Return a question about the sample that no other number asks."""
    return bdp.Count("s", equals=1, where=f"t != {number + 1000}")


if __name__ == "__main__":
    sys.exit(main(attack))
