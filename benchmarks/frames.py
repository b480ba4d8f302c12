"""Statistics through `bayesdp.frames` against hand-written Polars and DuckDB queries on 20 million rows.

Each query runs in processes of its own on the same Parquet file, ours and the hand-written one in turn; the ratio is
that of the best times, and of the peak memory. The hand-written queries clean NaN, as any correct query must, and do
nothing else.

    python benchmarks/frames.py            # 20 million rows
    python benchmarks/frames.py 2000000    # fewer
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROWS = 20_000_000
REPEATS = 3
ROUNDS = 4
STEP = 100 / 2**37


def generate(path: Path, rows: int) -> None:
    import numpy as np
    import polars

    generator = np.random.default_rng(1)
    polars.DataFrame(
        {
            "entity": generator.integers(0, 2000, rows),
            "time": np.arange(rows),
            "state": generator.integers(0, 3, rows),
            "value": generator.normal(50, 20, rows),
        }
    ).write_parquet(path)


def polars_sum(path: str) -> Callable[[], Any]:
    import polars

    column = polars.col("value").fill_nan(None)
    placed = (column.clip(0, 100) / STEP + 0.5).floor().cast(polars.Int64)
    return lambda: polars.scan_parquet(path).select(placed.sum()).collect(engine="streaming").item()


def polars_sum_ours(path: str) -> Callable[[], Any]:
    import polars

    from bayesdp import Sum
    from bayesdp.frames.aggregates import tally

    return lambda: tally(polars.scan_parquet(path), [Sum("value", bounds=(0, 100))])[0].counts[0]


def polars_transitions(path: str) -> Callable[[], Any]:
    import polars

    before = polars.col("state").shift(1).over("entity", order_by="time")
    counted = polars.scan_parquet(path).with_columns(before=before).group_by("before", "state").len()
    return lambda: sorted(row for row in counted.collect(engine="streaming").rows() if row[0] is not None)


def polars_transitions_ours(path: str) -> Callable[[], Any]:
    import polars

    return _transitions(lambda: polars.scan_parquet(path))


def duckdb_sum(path: str) -> Callable[[], Any]:
    import duckdb

    sql = f"""select sum(case when isnan(value) then null
              else floor(greatest(0, least(100, value)) / {STEP!r}::double + 0.5)::bigint end) from '{path}'"""
    return lambda: int(duckdb.execute(sql).fetchall()[0][0])


def duckdb_sum_ours(path: str) -> Callable[[], Any]:
    import duckdb

    from bayesdp import Sum
    from bayesdp.frames.aggregates import tally

    return lambda: tally(duckdb.sql(f"select * from '{path}'"), [Sum("value", bounds=(0, 100))])[0].counts[0]


def duckdb_transitions(path: str) -> Callable[[], Any]:
    import duckdb

    window = f"select state, lag(state) over (partition by entity order by time) as before from '{path}'"
    sql = f"select before, state, count(*) from ({window}) where before is not null group by all order by all"
    return lambda: duckdb.execute(sql).fetchall()


def duckdb_transitions_ours(path: str) -> Callable[[], Any]:
    import duckdb

    return _transitions(lambda: duckdb.sql(f"select * from '{path}'"))


def _transitions(source: Callable[[], object]) -> Callable[[], Any]:
    from bayesdp.frames.transitions import transitions
    from bayesdp.models import ChainLayout

    def counted() -> list[tuple[Any, Any, int]]:
        found = transitions(source(), "state", ChainLayout("time", entity="entity"))
        states = found.states
        return [(a, b, found.counts[i][j]) for i, a in enumerate(states) for j, b in enumerate(states)]

    return counted


QUERIES: dict[str, Callable[[str], Callable[[], Any]]] = {
    name: query for name, query in globals().items() if callable(query) and name.startswith(("polars_", "duckdb_"))
}


def child(name: str, path: str) -> None:
    query = QUERIES[name](path)
    answer, best = query(), float("inf")
    for _ in range(REPEATS):
        begun = time.perf_counter()
        query()
        best = min(best, time.perf_counter() - begun)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": best, "megabytes": peak, "answer": answer}))


def measured(name: str, path: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "child", name, str(path)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def best(rounds: list[dict[str, Any]], what: str) -> float:
    return min(float(each[what]) for each in rounds)


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        generate(path, rows)
        print(f"{rows:,} rows; hand-written query = 1")
        print(f"{'query':22} {'hand':>8} {'ours':>8} {'time':>7} {'memory':>7}")
        for name in (name for name in QUERIES if not name.endswith("_ours")):
            hand, ours = [], []
            for _ in range(ROUNDS):
                hand.append(measured(name, path))
                ours.append(measured(f"{name}_ours", path))
            if hand[0]["answer"] != ours[0]["answer"]:
                raise SystemExit(f"{name}: the answers differ: {hand[0]['answer']} and {ours[0]['answer']}")
            seconds = best(hand, "seconds"), best(ours, "seconds")
            memory = best(ours, "megabytes") / best(hand, "megabytes")
            print(f"{name:22} {seconds[0]:7.3f}s {seconds[1]:7.3f}s {seconds[1] / seconds[0]:6.2f}× {memory:6.2f}×")


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
