"""The running time of `advise`: small tables, and ten million rows of 2,000 meters in Polars and DuckDB.

Small tables: 15,264 rows, a chain of 104 states, and 80 users whose states go round and round. The processor time of
each stands beside that of the fit of a chain to the same table.

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


def many_states(states: int, rows: int) -> polars.DataFrame:
    """Return a chain of many states that mostly stays where it is."""
    generator = np.random.default_rng(states)
    matrix = 0.8 * np.eye(states) + 0.2 * generator.dirichlet(np.ones(states), states)
    following, path = matrix.cumsum(axis=1), [0]
    for share in generator.random(rows - 1):
        path.append(min(int(np.searchsorted(following[path[-1]], share)), states - 1))
    return polars.DataFrame({"t": np.arange(rows), "s": path})


def cycles(users: int, records: int) -> polars.DataFrame:
    """Return users whose state goes round three states, one a record."""
    t = np.arange(records)
    states = np.concatenate([(t + user) % 3 for user in range(users)])
    return polars.DataFrame({"user": np.repeat(np.arange(users), records), "t": np.tile(t, users), "s": states})


def advised(name: str, rows: int, frame: object, limit: float | None, **columns: object) -> None:
    begun, used = time.perf_counter(), time.process_time()
    advice = bdp.advise(frame, **columns)  # type: ignore[arg-type]
    seconds, worked = time.perf_counter() - begun, time.process_time() - used
    chosen = "none" if advice.recommended is None else advice.recommended.name
    report(f"advise, {name}, {rows:,} rows ({chosen})", seconds, at_most=limit)
    report(f"advise, {name}, {rows:,} rows: processor time", worked, baseline=fitted(frame, **columns), beside="a fit")
    report(f"advise, {name}, {rows:,} rows: peak", peak_megabytes() / 1024, "GB")


def fitted(frame: object, **columns: object) -> float:
    """Return the processor time of the fit of a chain with its diagnosis: the least that any advice needs."""
    used = time.process_time()
    bdp.MarkovChain.fit(frame, smoothing=0.5, **columns)  # type: ignore[arg-type]
    return time.process_time() - used


def main(rows: int) -> None:
    steps = load("activity").frame
    print(heading())
    advised("polars", len(steps), steps, 10, state="steps > 0", order_by=["date", "interval"], missing="drop")
    many, round_and_round = many_states(104, 20_000), cycles(80, 720)
    advised("104 states", len(many), many, 15, state="s", order_by="t")
    advised("cycles of three", len(round_and_round), round_and_round, 5, state="s", order_by="t", entity="user")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "meters.parquet"
        generate(path, rows)
        import duckdb

        for name, frame in (("polars", polars.scan_parquet(path)), ("duckdb", duckdb.sql(f"from '{path}'"))):
            limit = 60 if rows == ROWS else None
            advised(name, rows, frame, limit, state="on", order_by="time", entity="meter", step="15m")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
