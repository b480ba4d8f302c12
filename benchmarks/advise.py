"""The running time of `advise`: 15,264 rows in memory, and ten million rows of 2,000 meters in Polars and DuckDB.

python benchmarks/advise.py            # ten million rows
python benchmarks/advise.py 1000000    # fewer
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars

import bayesdp as bdp
from bayesdp.experiments.data import load
from shared.reporting import heading, peak_megabytes, report

ROWS = 10_000_000
METERS = 2000
MINUTES = 15


def generate(path: Path, rows: int) -> None:
    """Write chains of two states with the same law, one record every quarter of an hour."""
    generator = np.random.default_rng(1)
    length = rows // METERS
    states = np.zeros((METERS, length), dtype=np.int8)
    for t in range(1, length):
        states[:, t] = generator.random(METERS) < np.where(states[:, t - 1] == 1, 0.7, 0.12)
    times = np.datetime64("2024-01-01", "us") + np.arange(length) * np.timedelta64(MINUTES, "m")
    table = {"meter": np.repeat(np.arange(METERS), length), "time": np.tile(times, METERS), "on": states.reshape(-1)}
    polars.DataFrame(table).write_parquet(path)


def advised(name: str, rows: int, frame: object, limit: float | None, **columns: object) -> None:
    begun, used = time.perf_counter(), time.process_time()
    advice = bdp.advise(frame, **columns)  # type: ignore[arg-type]
    seconds, worked = time.perf_counter() - begun, time.process_time() - used
    chosen = "none" if advice.recommended is None else advice.recommended.name
    report(f"advise, {name}, {rows:,} rows ({chosen})", seconds, at_most=limit)
    report(f"advise, {name}, {rows:,} rows: processor time", worked)
    report(f"advise, {name}, {rows:,} rows: peak", peak_megabytes() / 1024, "GB")


def main(rows: int) -> None:
    steps = load("activity").frame
    print(heading())
    advised("polars", len(steps), steps, 10, state="steps > 0", order_by=["date", "interval"], missing="drop")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "meters.parquet"
        generate(path, rows)
        import duckdb

        for name, frame in (("polars", polars.scan_parquet(path)), ("duckdb", duckdb.sql(f"from '{path}'"))):
            limit = 60 if rows == ROWS else None
            advised(name, rows, frame, limit, state="on", order_by="time", entity="meter", step="15m")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
