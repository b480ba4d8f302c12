"""Shared by the attacks on servers: a server of samples, and a request for a release."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

import bayesdp as bdp
from attacks.common import sample
from attacks.races import EPSILON
from shared.serving import Serving
from shared.wire import Sent, bearer

__all__ = ["BROKEN_CONNECTION", "MANY", "release", "serving"]

BROKEN_CONNECTION = (OSError, http.client.HTTPException)
"""What a client sees of a server that is killed."""

MANY = 1e6
"""A budget that is not the limit."""


def serving(folder: Path, budgets: Mapping[str, float], private: int = 0, **options: Any) -> Serving:
    """Return a server of samples, each with a budget.

    private: what is added to the private value of one record.
    """
    folder.mkdir(parents=True)
    bdp.Independent().save(folder / "model.json")
    for place, name in enumerate(budgets):
        rows = sample(200 + place)
        rows = rows.with_columns(s=pl.when(pl.col("t") == 7).then(pl.col("s") + private).otherwise(pl.col("s")))
        rows.write_parquet(folder / f"{name}.parquet")
    datasets = {
        name: {"data": f"{name}.parquet", "model": "model.json", "epsilon": budget, "public": ["t"]}
        for name, budget in budgets.items()
    }
    return Serving(folder, datasets, **options)


def release(dataset: str, query: bdp.Query, token: str, key: str | None = None, epsilon: float = EPSILON) -> Sent:
    """Return a request for a release."""
    headers = (bearer(token), *([(b"Idempotency-Key", key.encode())] if key else []))
    return Sent.post(f"/v1/datasets/{dataset}/release", {"query": query.to_dict(), "epsilon": epsilon}, *headers)
