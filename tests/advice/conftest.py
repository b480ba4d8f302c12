"""Series of states whose law is known, and the advice on them, computed once."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import cache

import numpy as np
import polars
import pytest

import bayesdp as bdp

RECORDS = 12_000
START = datetime.datetime(2024, 1, 1)


@pytest.fixture(scope="session")
def simulated() -> Callable[..., polars.DataFrame]:
    """Return a function that makes a series of a law, of so many records and from a seed."""
    return _simulated


@pytest.fixture(scope="session")
def advised() -> Callable[[str], bdp.Advice]:
    """Return a function that advises on a series of a law."""
    return _advised


def _simulated(kind: str, records: int = RECORDS, seed: int = 3) -> polars.DataFrame:
    """Return a series of two states, a record every ten minutes, of a law that is known."""
    generator = np.random.default_rng(seed)
    states = [0, 1, 0]
    for t in range(records - 3):
        hour = t // 6 % 24
        odds = {
            "independent": 0.3,
            "chain": 0.75 if states[-1] else 0.2,
            "two": 0.1 + 0.4 * states[-1] + 0.4 * states[-2],
            "clock": _shifted(0.75 if states[-1] else 0.2, 1.5 if 8 <= hour < 18 else -1.5),
        }[kind]
        states.append(int(generator.random() < odds))
    times = [START + datetime.timedelta(minutes=10 * t) for t in range(records)]
    return polars.DataFrame({"t": times, "on": states[:records]})


def _shifted(probability: float, by: float) -> float:
    """Return a probability whose log odds are shifted: the odds ratio of neighbours stays what it is."""
    return float(1 / (1 + (1 - probability) / probability * np.exp(-by)))


@cache
def _advised(kind: str) -> bdp.Advice:
    return bdp.advise(_simulated(kind), bdp.Count("on", equals=1), order_by="t")
