"""Rows per second of five questions on Polars, DuckDB and Spark, how that grows, and what it means for 10¹⁰ rows.

Every question runs in a process of its own, on Parquet files that are deleted afterwards. The cost is taken for
seconds = a + b · rows: both are found from the smaller sizes, and the largest is predicted and compared. Spark's own
log of events says how many bytes it read, shuffled, and returned to the driver.

    python benchmarks/scale.py                        # 10⁶, 10⁷ and 10⁸ rows
    python benchmarks/scale.py 1000000 10000000       # other sizes
    python benchmarks/scale.py --write-docs           # and write the tables of docs/scale.md
    python benchmarks/scale.py --resume --minutes 60  # go on with what build/scale.json lacks, for an hour
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
KEPT = PAGE.parents[1] / "build" / "scale.json"
BEGIN, END = "<!-- measured: begin (python benchmarks/scale.py --write-docs) -->", "<!-- measured: end -->"

SIZES = (10**6, 10**7, 10**8)
QUESTIONS = ("count", "sum", "histogram", "quantile", "transitions by hour")
REPEATED = 10**8
"""The largest number of rows with a warm-up and the better of two times; larger tables are timed once."""

MEMORY = {"polars": 130, "duckdb": 60, "spark": 0}
"""Bytes per row for transitions; a query that needs more memory than is free is skipped. Spark spills to disk."""

FUTURE, EXECUTORS = 10**10, 1000
"""Rows, and executors of one core each."""

THREADS = 2
"""Settings of Spark in these measurements."""


@dataclass(frozen=True)
class Cost:
    """The cost of a query: seconds, peak megabytes of the Python process, and Spark's log."""

    seconds: float
    megabytes: float
    spark: dict[str, int] = field(default_factory=dict)


def exact_answer(frame: Any, question: str) -> Callable[[], object]:
    """Return the exact part of a private answer, which the engine computes."""
    from bayesdp import Count, Histogram, Median, Query, Sum
    from bayesdp.frames.aggregates import tally
    from bayesdp.frames.transitions import transitions
    from bayesdp.models import ChainLayout

    if question == QUESTIONS[-1]:
        return lambda: transitions(frame, "state", ChainLayout("time", entity="meter"), within=["hour"])
    queries: dict[str, Query] = {
        "count": Count("value > 60", equals=True),
        "sum": Sum("value", bounds=(0, 100)),
        "histogram": Histogram("state", cells=[0, 1, 2]),
        "quantile": Median("value", candidates=range(0, 101, 5)),
    }
    return lambda: tally(frame, [queries[question]])


def child(engine: str, question: str, folder: str, rows: str) -> None:
    """Time one query in this process."""
    from shared.meters import opened
    from shared.reporting import peak_megabytes

    with tempfile.TemporaryDirectory() as log:
        settings = {"eventLog_enabled": "true", "eventLog_dir": log} if engine == "spark" else {}
        times = []
        with opened(engine, Path(folder), **settings) as frame:
            query = exact_answer(frame, question)
            if int(rows) <= REPEATED:
                query()
            for last in (False, True) if int(rows) <= REPEATED else (True,):
                if engine == "spark":
                    frame.sparkSession.sparkContext.setJobGroup("last" if last else "warm", question)
                begun = time.perf_counter()
                query()
                times.append(time.perf_counter() - begun)
        logged = spark_log(Path(log)) if engine == "spark" else {}
    print(json.dumps({"seconds": min(times), "megabytes": peak_megabytes(), "spark": logged}))


def spark_log(folder: Path) -> dict[str, int]:
    """Return the bytes that the last run of a query read, shuffled and returned, and the number of tasks."""
    events = [json.loads(line) for path in folder.iterdir() for line in path.read_text("utf-8").splitlines()]
    stages = {
        stage
        for event in events
        if event["Event"] == "SparkListenerJobStart" and event["Properties"].get("spark.jobGroup.id") == "last"
        for stage in event["Stage IDs"]
    }
    totals: Counter[str] = Counter(tasks=0, readers=0, read=0, shuffled=0, returned=0)
    for event in events:
        if event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in stages:
            metrics = event["Task Metrics"]
            read = metrics["Input Metrics"]["Bytes Read"]
            totals += Counter(
                tasks=1,
                readers=int(read > 0),
                read=read,
                shuffled=metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"],
                returned=metrics["Result Size"],
            )
    return dict(totals)


def measured(engine: str, question: str, folder: Path, rows: int, seconds: float) -> Cost | str:
    """Return the cost of a query, or the reason why it was skipped."""
    if question == QUESTIONS[-1] and available() < MEMORY[engine] * rows:
        return "needs more memory than was free"
    command = [sys.executable, __file__, "child", engine, question, str(folder), str(rows)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"more than {seconds:g} s"
    if done.returncode:
        raise SystemExit(f"{engine}, {question}, {rows:,} rows failed:\n{done.stderr}")
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def available() -> int:
    """Return the bytes of free memory."""
    lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


Costs = dict[tuple[str, str], dict[int, Cost | str]]


def line_through(costs: dict[int, Cost]) -> tuple[float, float]:
    """Return the constant seconds of a query and those per row, from the two largest sizes."""
    (less, first), (more, second) = sorted(costs.items())[-2:]
    slope = max(0.0, (second.seconds - first.seconds) / (more - less))
    return max(0.0, first.seconds - slope * less), slope


def ran(costs: dict[int, Cost | str]) -> dict[int, Cost]:
    """Return the measurements without skipped queries."""
    return {rows: cost for rows, cost in costs.items() if isinstance(cost, Cost)}


def report_growth(costs: Costs) -> None:
    """Report rows per second, and how well smaller sizes predict the largest."""
    from shared.reporting import heading, report

    print(heading())
    for (engine, question), by_rows in costs.items():
        for rows, cost in by_rows.items():
            name = f"{engine}, {question}, {rows:,} rows"
            if isinstance(cost, str):
                print(f"{name}: not run, {cost}")
            else:
                report(name, rows / cost.seconds / 1e6, "million rows/s")
        measured_at = ran(by_rows)
        if len(measured_at) > 2:
            *smaller, largest = sorted(measured_at)
            fixed, slope = line_through({rows: measured_at[rows] for rows in smaller})
            predicted, took = fixed + slope * largest, measured_at[largest].seconds
            report(
                f"{engine}, {question}, {largest:,} rows: predicted", predicted, baseline=took, beside="what it took"
            )


def leakage_times() -> dict[str, list[float]]:
    """Return the seconds of calibrations for chains of 10⁶, 10⁸ and 10¹⁰ records, which read no data."""
    from bayesdp import Count, MarkovChain, OddsChain, calibrate

    seconds: dict[str, list[float]] = {}
    for name, chain in (
        ("chain of two states", lambda rows, p: MarkovChain([[1 - p, p], [0.3, 0.7]], length=rows)),
        ("bounded odds", lambda rows, p: OddsChain(17.1148 + p, length=rows)),
    ):
        calibrate(chain(10**5, 0.12), Count(equals=1), epsilon=1.0)
        seconds[name] = [math.inf] * 3
        for number in range(15):  # a new chain every time, because results are cached
            place, rows = number % 3, (10**6, 10**8, 10**10)[number % 3]
            begun = time.perf_counter()
            calibrate(chain(rows, 0.121 + 0.001 * number), Count(equals=1), epsilon=1.0)
            seconds[name][place] = min(seconds[name][place], time.perf_counter() - begun)
    return seconds


def report_leakage(times: dict[str, list[float]]) -> None:
    """Report that a calibration does not depend on the number of records."""
    from shared.reporting import report

    for name, (small, _, large) in times.items():
        title = f"calibration, {name}, 10¹⁰ records"
        report(title, large, baseline=small, beside="10⁶ records", ratio_at_most=2)


def rates(costs: Costs, sizes: Sequence[int]) -> str:
    """Return a table of million rows per second."""
    lines = [
        f"| question | engine | {' | '.join(f'{rows:,} rows' for rows in sizes)} | ns a row | largest predicted |",
        f"|---|---|{'---|' * (len(sizes) + 2)}",
    ]
    for (engine, question), by_rows in costs.items():
        cells = [
            f"{rows / cost.seconds / 1e6:.3g} M/s" if isinstance(cost, Cost) else f"not run: {cost}"
            for rows, cost in by_rows.items()
        ]
        measured_at = ran(by_rows)
        slope = f"{1e9 * line_through(measured_at)[1]:.3g}" if len(measured_at) > 1 else "–"
        off = "–"
        if len(measured_at) > 2:
            *smaller, largest = sorted(measured_at)
            fixed, per_row = line_through({rows: measured_at[rows] for rows in smaller})
            off = f"{100 * ((fixed + per_row * largest) / measured_at[largest].seconds - 1):+.0f} %"
        lines.append(f"| {question} | {engine} | {' | '.join(cells)} | {slope} | {off} |")
    return "\n".join(lines)


def future(costs: Costs) -> str:
    """Return a table of what Spark would read, shuffle and return for 10¹⁰ rows, beside the measured bytes."""
    lines = [
        "| question | rows | tasks that read | read | shuffled | returned to the driver | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for question in QUESTIONS:
        measured_at = ran(costs[("spark", question)])
        for rows, cost in measured_at.items():
            lines.append(_line(question, f"{rows:,}", cost.spark, f"{cost.seconds:.3g}, {THREADS} threads"))
        if len(measured_at) > 1:
            lines.append(_line(question, f"**{FUTURE:,}**", *extrapolated(question, measured_at)))
    return "\n".join(lines)


def extrapolated(question: str, measured_at: dict[int, Cost]) -> tuple[dict[str, int], str]:
    """Extrapolate the largest measured size to 10¹⁰ rows: bytes, and seconds on 1,000 executors.

    Bytes read grow with the rows, and so do files, and the tasks that read them. What a task hands on is one row, or
    for transitions every record once; what it returns depends on neither.
    """
    largest = max(measured_at)
    log, (fixed, slope) = measured_at[largest].spark, line_through(measured_at)
    read = log["read"] * FUTURE // largest
    readers = log["readers"] * FUTURE // largest
    others = log["tasks"] - log["readers"]
    tasks = readers + (others if question != QUESTIONS[-1] else max(others, EXECUTORS))
    per_row = question == QUESTIONS[-1]
    shuffled = log["shuffled"] * FUTURE // largest if per_row else log["shuffled"] * readers // max(log["readers"], 1)
    returned = log["returned"] * tasks // max(log["tasks"], 1)
    seconds = fixed + slope * FUTURE * THREADS / EXECUTORS
    expected = {"readers": readers, "read": read, "shuffled": shuffled, "returned": returned}
    return expected, f"{seconds:.3g}, {EXECUTORS:,} executors"


def _line(question: str, rows: str, log: dict[str, int], seconds: str) -> str:
    amounts = " | ".join(_bytes(log.get(what, 0)) for what in ("read", "shuffled", "returned"))
    return f"| {question} | {rows} | {log.get('readers', 0):,} | {amounts} | {seconds} |"


def _bytes(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


def leaked(times: dict[str, list[float]]) -> str:
    """Return a table of calibrations."""
    lines = ["| calibration | 10⁶ records | 10⁸ records | 10¹⁰ records |", "|---|---|---|---|"]
    for name, taken in times.items():
        lines.append(f"| {name} | {' | '.join(f'{1000 * seconds:.3g} ms' for seconds in taken)} |")
    return "\n".join(lines)


def setting(load: float) -> str:
    """Return the machine, its load, versions and the date."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("polars", "duckdb", "pyspark", "narwhals"))
    cores = os.cpu_count() or 1
    busy = (
        f"The machine was **busy with other work** (load {load:.0f} before the run): times are too long, "
        "and so uneven that predicted ones say little. Bytes do not depend on that."
    )
    return (
        f"Measured on {datetime.now(UTC):%d %B %Y}: {cores} cores, {memory:.0f} GB, {platform.system()}; "
        f"Python {platform.python_version()}, {packages}; Spark as local[{THREADS}]."
        + (f" {busy}" if load > cores / 2 else "")
    )


def write_docs(text: str) -> None:
    """Write the tables between the markers of the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


def kept() -> dict[str, Cost | str]:
    """Return the measurements of an earlier run."""
    measured = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    return {name: cost if isinstance(cost, str) else Cost(**cost) for name, cost in measured.items()}


def keep(measured: dict[str, Cost | str]) -> None:
    """Store the measurements for a later run with --resume."""
    KEPT.parent.mkdir(exist_ok=True)
    plain = {name: cost if isinstance(cost, str) else asdict(cost) for name, cost in measured.items()}
    KEPT.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    from shared.meters import ENGINES, write_meters

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", type=int, default=SIZES)
    parser.add_argument("--write-docs", action="store_true", help="write the tables of docs/scale.md")
    parser.add_argument("--resume", action="store_true", help="measure only what build/scale.json lacks")
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no query after this many minutes")
    parser.add_argument("--seconds", type=float, default=1800, help="abort a query that takes longer")
    arguments = parser.parse_args()
    sizes, load, end = sorted(arguments.rows), os.getloadavg()[0], time.monotonic() + 60 * arguments.minutes
    known = kept() if arguments.resume else {}
    costs: Costs = {(engine, question): {} for question in QUESTIONS for engine in ENGINES}
    for rows in sizes:
        names = {pair: f"{', '.join(pair)}, {rows:,} rows" for pair in costs}
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "meters"
            for pair, name in names.items():
                if name not in known and time.monotonic() < end:
                    if not folder.exists():
                        write_meters(folder, rows)
                    known[name] = measured(*pair, folder, rows, arguments.seconds)
                    print(f"{name}: {known[name]}", file=sys.stderr, flush=True)
                    keep(known)
                costs[pair][rows] = known.get(name, "the time was over")
    times = leakage_times()
    report_growth(costs)
    report_leakage(times)
    tables = "\n\n".join([setting(load), rates(costs, sizes), future(costs), leaked(times)])
    print(f"\n{tables}")
    if arguments.write_docs:
        write_docs(tables)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:])
    else:
        main()
