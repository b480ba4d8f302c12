"""OpenDP's measurements of vectors: the size is public, and one record is replaced (a symmetric distance of 2)."""

from functools import lru_cache
from typing import Any

import numpy as np
import opendp.prelude as dp
from worker import Worker, column

dp.enable_features("contrib")


@lru_cache(maxsize=8)
def total(size: int, epsilon: float) -> Any:
    """Return the measurement of a sum of numbers between 0 and 1."""
    space = dp.vector_domain(dp.atom_domain(T="i32", bounds=(0, 1)), size=size), dp.symmetric_distance()
    summed = dp.t.make_sum(*space)
    return dp.binary_search_chain(lambda scale: summed >> dp.m.then_laplace(scale), 2, epsilon)


@lru_cache(maxsize=8)
def counted(size: int, epsilon: float) -> Any:
    """Return the measurement of how many numbers are 1."""
    space = dp.vector_domain(dp.atom_domain(T="i32"), size=size), dp.symmetric_distance()
    ones = dp.t.make_count_by_categories(*space, categories=[1], null_category=False)
    return dp.binary_search_chain(lambda scale: ones >> dp.m.then_laplace(scale), 2, epsilon)


def count(data: Any, epsilon: float) -> float:
    """Return how many are 1."""
    return float(counted(len(data), epsilon)(data)[0])


def summed(data: Any, epsilon: float) -> float:
    """Return the sum."""
    return float(total(len(data), epsilon)(data))


WORKER = Worker(
    "opendp",
    "replace",
    lambda file: column(file).astype(np.int32),
    {"count": count, "sum": summed, "mean": lambda data, epsilon: summed(data, epsilon) / len(data)},
    lambda row, epsilon: summed(row.astype(np.int32), epsilon),
)

if __name__ == "__main__":
    WORKER.main()
