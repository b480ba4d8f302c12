"""PipelineDP on its local backend: rows of Python, each with a privacy unit of its own, that may be there or not."""

from collections.abc import Iterable
from typing import Any

import pipeline_dp as pdp
from worker import Worker, column

Rows = list[tuple[int, int]]

_DELTA = 1e-15
"""Must be positive, but is not spent: partitions are public and the noise is Laplace."""


def load(file: str) -> Rows:
    """Return rows of a privacy unit and a value."""
    return rows_of(column(file))


def rows_of(values: Any) -> Rows:
    """Return each value with its number as privacy unit."""
    return list(enumerate(values.tolist()))


def answer(
    metric: Any, name: str, partition: Any, public: int, rows: Iterable[tuple[int, int]], epsilon: float
) -> float:
    """Return one metric of one public partition."""
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=_DELTA)
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    parameters = pdp.AggregateParams(
        metrics=[metric],
        noise_kind=pdp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=0,
        max_value=1,
    )
    extractors = pdp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=partition, value_extractor=lambda row: row[1]
    )
    result = engine.aggregate(rows, parameters, extractors, public_partitions=[public])
    accountant.compute_budgets()
    ((_, metrics),) = list(result)
    return float(getattr(metrics, name))


def count(rows: Rows, epsilon: float) -> float:
    """Return how many values are 1: the size of their partition."""
    return answer(pdp.Metrics.COUNT, "count", lambda row: row[1], 1, rows, epsilon)


WORKER = Worker(
    "pipeline-dp",
    "add-remove",
    load,
    {
        "count": count,
        "sum": lambda rows, epsilon: answer(pdp.Metrics.SUM, "sum", lambda row: 0, 0, rows, epsilon),
        "mean": lambda rows, epsilon: answer(pdp.Metrics.MEAN, "mean", lambda row: 0, 0, rows, epsilon),
    },
    lambda row, epsilon: count(rows_of(row), epsilon),
)

if __name__ == "__main__":
    WORKER.main()
