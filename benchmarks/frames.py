"""Private sums and counts, and transitions, against hand-written queries of the engine itself, over Parquet files.

Each query runs in processes of its own on the same files, ours and the hand-written one in turn; the ratio is that of
the best times, and of the peak memory. On a busy machine the ratio of processor times says more; Spark's include Java.
Private: a session is opened, the answer charged to a new ledger, and released. The hand-written queries compute the
same integers (they clean NaN, and place values on the grid) and nothing else; a clipped sum of floats, which depends on
the order of addition, stands beside them. Transitions are those of a fifth of the rows, by meter. First a CSV file with
dates: finding its types beside reading it.

Patterns are the counts of each record with the three before and after it, by hour, of a tenth of the rows. A chain is
all records of a fifth of the rows, without meters: on Spark, beside a window that moves them all to one partition, with
two threads and on two executors. Dask has no windows to compare with: its times are beside those of Polars.

    python benchmarks/frames.py             # a hundred million rows, a million of CSV
    python benchmarks/frames.py 1000000     # fewer
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

ROWS = 100_000_000
CSV_ROWS = 1_000_000
REPEATS, ROUNDS = 2, 3
FEW = 2_000_000
"""The largest number of rows with one round and no target, because constant costs dominate there."""

LIMITS = {"polars": 1.15, "duckdb": 1.15, "spark": 1.3}
WINDOWS_LIMIT = 1.25
"""The target of everything that follows a chain."""
REACH = 3

Query = Callable[[], Any]

TITLES = {"transitions": "transitions", "patterns": f"patterns of reach {REACH} by hour", "chain": "one long chain"}
BESIDE = {"chain": "one partition"}


def hand_written(engine: str, frame: Any, folder: Path, step: float) -> dict[str, Query]:
    """Return the hand-written queries for an engine."""
    if engine == "polars":
        return _in_polars(frame, step)
    table = f"'{folder}/*.parquet'" if engine == "duckdb" else "meters"
    placed = f"floor(greatest(0, least(100, value)) / cast({step!r} as double) + 0.5)"
    window = f"select state, lag(state) over (partition by meter order by time) as before from {table}"
    counted = f"select before, state, count(*) from ({window}) where before is not null group by before, state"
    records = f"select *, {_pattern_in_sql()} from {table} window w as (partition by meter order by time)"
    queries = {
        "patterns": f"select hour(noon), code, count(*) from ({records}) where code is not null group by 1, 2",
        "chain": counted.replace("partition by meter ", ""),
        "sum": f"select sum(case when isnan(value) then null else cast({placed} as bigint) end) from {table}",
        "float sum": f"select sum(greatest(0, least(100, value))) from {table}",
        "count": f"select count(*) from {table} where value > 60 and not isnan(value)",
        "transitions": counted,
    }
    if engine == "duckdb":
        del queries["chain"]
        import duckdb

        return {name: lambda sql=sql: duckdb.execute(sql).fetchall() for name, sql in queries.items()}  # type: ignore[misc]
    frame.createOrReplaceTempView("meters")
    return {name: lambda sql=sql: frame.sparkSession.sql(sql).collect() for name, sql in queries.items()}  # type: ignore[misc]


def _pattern_in_sql() -> str:
    """Return the states of a record and of those before it, as digits of a number, and the time in the middle."""
    digits = [f"{3**back} * cast(lag(state, {back}) over w as bigint)" for back in range(1, 2 * REACH + 1)]
    return f"state + {' + '.join(digits)} as code, lag(time, {REACH}) over w as noon"


def _in_polars(frame: Any, step: float) -> dict[str, Query]:
    from polars import Int64, col

    value, before = col("value").fill_nan(None), col("state").shift(1).over("meter", order_by="time")
    placed = (value.clip(0, 100) / step + 0.5).floor().cast(Int64)
    earlier = [col("state").cast(Int64).shift(back) * 3**back for back in range(2 * REACH + 1)]
    code = sum(earlier[1:], earlier[0]).over("meter", order_by="time")
    noon = col("time").shift(REACH).over("meter", order_by="time")
    queries = {
        "sum": frame.select(placed.sum()),
        "float sum": frame.select(col("value").clip(0, 100).sum()),
        "count": frame.filter(value > 60).select(col("value").len()),
        "transitions": frame.with_columns(before=before).group_by("before", "state").len().drop_nulls(),
        "patterns": frame.with_columns(code=code, noon=noon).group_by(col("noon").dt.hour(), "code").len().drop_nulls(),
    }
    return {name: lambda query=query: query.collect(engine="streaming").rows() for name, query in queries.items()}  # type: ignore[misc]


def private(frame: Any, question: Any, folder: Path) -> Query:
    """Return a function that makes a new release each time: a session, a charge to a new ledger, noise."""
    from bayesdp import Independent, Session

    numbers = count()

    def released() -> Any:
        ledger = folder / f"{next(numbers)}.db"
        with Session(frame, Independent(), epsilon=1.0, ledger=ledger, dataset="meters") as session:
            return session.release(question, epsilon=0.5)

    return released


def child(engine: str, name: str, variant: str, place: str) -> None:
    """Time one query in this process; print the time and the exact answer."""
    from bayesdp import Count, Sum
    from bayesdp.frames.aggregates import tally
    from bayesdp.frames.patterns import patterns
    from bayesdp.frames.transitions import transitions
    from bayesdp.models import ChainLayout
    from shared.meters import opened
    from shared.reporting import peak_megabytes, processor_seconds

    question = Count("value > 60", equals=True) if name == "count" else Sum("value", bounds=(0, 100))
    with tempfile.TemporaryDirectory() as folder, opened(engine, Path(place)) as frame:
        answer: Any
        if variant == "hand":
            step = tally(frame, [Sum("value", bounds=(0, 100))])[0].grid.step  # type: ignore[union-attr]
            query = hand_written(engine, frame, Path(place), step)[name]
            answer = sorted([int(number) for number in row] for row in query())
        elif name == "patterns":

            def query() -> Any:
                return patterns(frame, "state", ChainLayout("time", entity="meter"), reach=REACH, within=["hour"])

            found = query()
            rows = zip(found.stratum.tolist(), found.code.tolist(), found.count.tolist(), strict=True)
            answer = sorted([int(found.strata[stratum][0]), code, count] for stratum, code, count in rows)
        elif name in ("transitions", "chain"):

            def query() -> Any:
                return transitions(frame, "state", ChainLayout("time", entity="meter" if name == "transitions" else ()))

            counts = query().counts
            answer = [[a, b, counts[a][b]] for a in range(len(counts)) for b in range(len(counts))]
        else:
            query = private(frame, question, Path(folder))
            query()
            answer = [list(tally(frame, [question])[0].counts)]
        times, processor = [], []
        for _ in range(REPEATS):
            begun, used = time.perf_counter(), processor_seconds()
            query()
            times.append(time.perf_counter() - begun)
            processor.append(processor_seconds() - used)
    cost = {"seconds": min(times), "processor": min(processor), "megabytes": peak_megabytes(), "answer": answer}
    print(json.dumps(cost))


def measured(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, __file__, "child", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, arguments))} failed:\n{done.stderr}")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def compare(engine: str, name: str, folder: Path, rows: int, limit: float | None) -> None:
    """Report our time beside the hand-written query."""
    from shared.meters import CLUSTER
    from shared.reporting import report

    hand, ours, floats = [], [], []
    for _ in range(ROUNDS if rows > FEW else 1):
        hand.append(measured(*(("polars", name, "ours") if engine == "dask" else (engine, name, "hand")), folder))
        ours.append(measured(engine, name, "ours", folder))
        floats += [measured(engine, "float sum", "hand", folder)] if name == "sum" and engine != "dask" else []
    if hand[0]["answer"] != ours[0]["answer"]:
        raise SystemExit(f"{name} in {engine}: the answers differ: {hand[0]['answer']} and {ours[0]['answer']}")
    beside = "the same in Polars" if engine == "dask" else BESIDE.get(name, "a hand-written query")

    def best(rounds: list[dict[str, Any]], what: str = "seconds") -> float:
        return min(float(figures[what]) for figures in rounds)

    title = f"{engine}, {TITLES.get(name, f'private {name}')}, {rows:,} rows"
    report(title, best(ours), baseline=best(hand), beside=f"{beside}, same integers", ratio_at_most=limit)
    if floats:
        report(title, best(ours), baseline=best(floats), beside="a clipped sum of floats")
    used = best(ours, "processor")
    report(f"{title}: processor", used, baseline=best(hand, "processor"), beside=beside)
    if engine not in ("spark", CLUSTER):  # whose memory is Java's
        peak = best(ours, "megabytes")
        report(f"{title}: memory", peak, "MB", baseline=best(hand, "megabytes"), beside=beside)


def csv_types(folder: Path, rows: int) -> None:
    """Report the time to infer the types of a CSV file with dates, beside Polars reading it."""
    import numpy as np
    import polars

    from bayesdp.frames.source import scan
    from shared.reporting import report

    generator, path = np.random.default_rng(1), folder / "rows.csv"
    times = np.datetime64("2024-01-01", "us") + np.arange(rows) * np.timedelta64(1, "m")
    columns = {"time": times, "day": times.astype("datetime64[D]"), "value": generator.normal(50, 20, rows)}
    polars.DataFrame({"meter": generator.integers(0, 2000, rows), **columns}).write_csv(path)
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(ROUNDS):
        for query, taken in (
            (lambda: polars.read_csv(path, try_parse_dates=True, infer_schema_length=100), bare),
            (lambda: scan(path), ours),
        ):
            begun = time.perf_counter()
            query()
            taken.append(time.perf_counter() - begun)
    title = f"types of a CSV file with dates, {rows:,} rows"
    report(title, min(ours), baseline=min(bare), beside="Polars reading it", ratio_at_most=3)


def main(rows: int) -> None:
    from shared.meters import CLUSTER, ENGINES, write_meters
    from shared.reporting import heading

    print(heading())
    with tempfile.TemporaryDirectory() as folder:
        whole, fifth, tenth = (Path(folder) / name for name in ("whole", "fifth", "tenth"))
        csv_types(Path(folder), min(rows, CSV_ROWS))
        write_meters(whole, rows)
        write_meters(fifth, rows // 5)
        write_meters(tenth, rows // 10)
        for engine in ENGINES:
            for name in ("sum", "count"):
                compare(engine, name, whole, rows, LIMITS[engine] if rows > FEW else None)
            compare(engine, "transitions", fifth, rows // 5, WINDOWS_LIMIT if rows > FEW else None)
            compare(engine, "patterns", tenth, rows // 10, WINDOWS_LIMIT if rows > FEW else None)
        for cluster in ("spark", CLUSTER):
            compare(cluster, "chain", fifth, rows // 5, WINDOWS_LIMIT if rows > FEW else None)
        for name in ("sum", "count"):
            compare("dask", name, whole, rows, None)
        for name in ("transitions", "chain"):
            compare("dask", name, fifth, rows // 5, None)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
