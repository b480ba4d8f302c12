"""OpenDP's Polars context: a Parquet file, of which a record may be there or not; the size is bounded, not public."""

import warnings
from typing import Any

import opendp.prelude
import polars as pl
from worker import Worker

warnings.filterwarnings("ignore", category=FutureWarning)

dp: Any = opendp.prelude
column: Any = pl.col("active")
dp.enable_features("contrib")

_MOST = 2**31


def context(frame: Any, epsilon: float) -> Any:
    """Return a context for one query."""
    return dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=epsilon),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=_MOST)],
    ).query()


def count(frame: Any, epsilon: float) -> float:
    """Return how many are 1."""
    query = context(frame, epsilon).filter(column == 1).select(dp.len())
    return float(query.release().collect().item())


def summed(frame: Any, epsilon: float) -> float:
    """Return the sum."""
    query = context(frame, epsilon).select(column.fill_null(0).dp.sum((0, 1)))
    return float(query.release().collect().item())


def mean(frame: Any, epsilon: float) -> float:
    """Return the mean: half of ε for the sum, half for the size."""
    query = context(frame, epsilon).select(column.fill_null(0).dp.mean((0, 1)))
    return float(query.release().collect().item())


WORKER = Worker(
    "opendp",
    "add-remove",
    pl.scan_parquet,
    {"count": count, "sum": summed, "mean": mean},
    lambda row, epsilon: count(pl.LazyFrame({"active": row}), epsilon),
)

if __name__ == "__main__":
    WORKER.main()
