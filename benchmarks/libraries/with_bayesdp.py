"""bayesdp: a session on a Parquet file, opened, charged to a ledger on disk and answered; records are a chain."""

import tempfile
from functools import lru_cache
from itertools import count as numbers
from pathlib import Path
from typing import Any

import polars as pl
from worker import Worker

import bayesdp as bdp
from bayesdp.experiments.twins import ACTIVITY_COUNTS
from bayesdp.mechanisms.discrete_laplace import DiscreteLaplaceMechanism

LEDGERS = Path(tempfile.mkdtemp(prefix="bayesdp-peers-"))
NUMBERS = numbers()
LONG = 1_000_000


def chain(length: int) -> bdp.Model:
    """Return what is assumed of the records: the chain of Activity."""
    return bdp.MarkovChain.from_counts(ACTIVITY_COUNTS, states=(0, 1), length=length, state="active")


def independent(length: int) -> bdp.Model:
    """Return what other libraries assume."""
    return bdp.Independent()


def released(table: Any, model: bdp.Model, query: bdp.Query, epsilon: float) -> float:
    """Return one answer of a new session with a ledger of its own."""
    ledger = LEDGERS / f"{next(NUMBERS)}.db"
    with bdp.Session(table, model, epsilon=epsilon, ledger=ledger, dataset="peers") as session:
        value = session.release(query, epsilon=epsilon).value
    assert not isinstance(value, tuple)
    return float(value)


def worker(model: Any) -> Worker:
    """Return the worker for a model by the number of records."""

    def load(file: str) -> tuple[str, int]:
        return file, int(pl.scan_parquet(file).select(pl.len()).collect().item())

    def count(data: Any, epsilon: float) -> float:
        return released(data[0], model(data[1]), bdp.Count("active", equals=1), epsilon)

    def summed(data: Any, epsilon: float) -> float:
        return released(data[0], model(data[1]), bdp.Sum("active", bounds=(0, 1)), epsilon)

    def mean(data: Any, epsilon: float) -> float:
        return released(data[0], model(data[1]), bdp.Mean("active", bounds=(0, 1), size=data[1]), epsilon)

    @lru_cache(maxsize=1)
    def noise(epsilon: float) -> DiscreteLaplaceMechanism:
        tau = bdp.calibrate(model(LONG), bdp.Count("active", equals=1), epsilon=epsilon).tau
        return DiscreteLaplaceMechanism(1, tau)

    def small(row: Any, epsilon: float) -> float:
        """Return what a session releases, without the ledger, which would be asked tens of thousands of times."""
        return float(noise(epsilon).release([int(row.sum())])[0])

    return Worker("bayesdp", "replace", load, {"count": count, "sum": summed, "mean": mean}, small)


if __name__ == "__main__":
    worker(chain).main()
