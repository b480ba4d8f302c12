"""What windows save, and what they take: the error of profiles, the time of an account with many windows, and one scan.

Real activity data under one ε = 1: counts by hour, and by weekday and hour, beside counts whose τ's are all added up.
A year of daily publications: the account after the first day and after the last one.
An account with a window for every day: one more charge beside the first ones. The 168 windows of a week in one scan,
beside one hand-written query that groups the records, in Polars, DuckDB and Spark.

python benchmarks/windows.py                  # 10,000 windows, ten million rows
python benchmarks/windows.py 1000 1000000     # fewer
"""

from __future__ import annotations

import datetime
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import polars

import bayesdp as bdp
from bayesdp.experiments.data import load
from bayesdp.frames.source import scan
from bayesdp.frames.windows import Order, tally_windows, windows_of
from bayesdp.ledger import Charge, Ledger, Receipt
from bayesdp.mechanisms import DiscreteLaplaceMechanism
from bayesdp.models import ChainLayout
from bayesdp.queries.region import Region
from bayesdp.session.accounting import Accountant
from shared.meters import ENGINES, opened, write_meters
from shared.reporting import heading, report

WINDOWS, ROWS, FEW = 10_000, 10_000_000, 2_000_000
NEXT_CHARGE, ONE_SCAN = 1.5, 1.25
CHARGES, SCANS, BETA, DAYS = 21, 5, 0.05, 365
ODDS = 17.12
BEGIN = datetime.date(2000, 1, 1)
CHAIN = bdp.OddsChain(9.0, column="on", layout=ChainLayout("day"))


def errors() -> None:
    """Report how far off the counts of a profile are, beside those of an account that adds up all τ's."""
    activity = load("activity")
    chain = bdp.OddsChain(ODDS, column="steps > 0", layout=ChainLayout(["date", "interval"]))
    print(f"steps > 0 at odds {ODDS}: {activity.description}")
    for by in (["hour"], ["weekday", "hour"]):
        question = bdp.Count("steps > 0", equals=True, by=by)
        with tempfile.TemporaryDirectory() as folder:
            ledger = Path(folder) / "budget.db"
            account: Any = {"epsilon": 1.0, "ledger": ledger, "dataset": "steps", "missing": "drop"}
            with bdp.Session(activity.frame, chain, **account) as session:
                answers = session.release_by(question, epsilon=1.0)
                assert session.leaked <= 1.0
        alone = (question.undivided,) * len(answers)
        added = Accountant(chain).affordable(alone, epsilon=1.0, spent=(), budget=1.0).tau
        before = DiscreteLaplaceMechanism(sensitivity=1, tau=added)
        title, answer, beside = f"{len(answers)} counts by {' and '.join(by)}", answers.answers[0], "all τ's added up"
        most = 1.001 / len(answers)
        report(f"{title}, noise", answer.noise, "records", baseline=before.scale, beside=beside, ratio_at_most=most)
        off, once = answer.accuracy(BETA), float(before.alpha(BETA))
        report("  off by less than, in 95 % of cases", off, "records", baseline=once, beside=beside)


def day(number: int) -> str:
    return (BEGIN + datetime.timedelta(number)).isoformat()


def released(session: bdp.Session, number: int) -> float:
    """Release the count of a day, and return how long that takes."""
    begun = time.perf_counter()
    session.release(bdp.Count("on", equals=1, since=day(number), until=day(number + 1)), epsilon=0.5)
    return time.perf_counter() - begun


def fill(ledger: Ledger, days: range, tau: float) -> None:
    """Charge every day in one transaction, as releases charge them one by one."""
    key, state = bdp.Count("on", equals=1).ledger_key(), ledger.state("days")
    with ledger._store(write=True) as store:
        (total,) = state.totals
        for number in days:
            window = Region("day", day(number), day(number + 1))
            charge = Charge(f"{number:064d}", total.key, key.to_dict(), tau, {"epsilon": 0.5}, region=window)
            entry = store.charge("days", charge)
            store.answer("days", Receipt(entry.number, entry.hash, state), {"value": number, "tau": tau})


def account(windows: int) -> None:
    """Report the time of a release in an account with so many daily windows, beside the first ones."""
    days = [BEGIN + datetime.timedelta(number) for number in range(windows + CHARGES)]
    frame = polars.DataFrame({"day": days, "on": [number % 2 for number in range(len(days))]})
    with tempfile.TemporaryDirectory() as folder:
        ledgers = [Ledger(Path(folder) / name) for name in ("few.db", "many.db")]
        few, many = (bdp.Session(frame, CHAIN, epsilon=2.0, ledger=ledger, dataset="days") for ledger in ledgers)
        for session in (few, many):
            released(session, 0)
        (total,) = ledgers[1].state("days").totals
        assert total.tau is not None
        fill(ledgers[1], range(1, windows), total.tau)
        os.sync()
        released(many, windows)  # the first one sees that the account has changed
        pairs = [(released(few, number), released(many, windows + number)) for number in range(1, CHARGES)]
        first, later = (1000 * median(times) for times in zip(*pairs, strict=True))
        assert many.leaked == few.leaked <= 0.5
        for ledger in ledgers:
            ledger.close()
    title = f"the next release after {windows:,} daily windows"
    report(title, later, "ms", baseline=first, beside="the first ones", ratio_at_most=NEXT_CHARGE)


def year() -> None:
    """Report what has leaked after a year of daily publications of a table that grows, beside the first day."""
    hours = 24 * (DAYS + 1)
    times = [datetime.datetime(2023, 1, 1) + datetime.timedelta(hours=hour) for hour in range(hours)]
    frame = polars.DataFrame({"time": times, "on": [hour % 5 % 2 for hour in range(hours)]})
    chain, leaked = bdp.OddsChain(9.0, column="on", layout=ChainLayout("time")), []
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "budget.db") as ledger:
        for number in range(DAYS):
            since, until = (times[24 * end].isoformat() for end in (number, number + 1))
            account: Any = {"epsilon": 2.0, "ledger": ledger, "dataset": "daily", "growing": True}
            with bdp.Session(frame.head(24 * (number + 1) + 1), chain, **account) as session:
                session.release(bdp.Count("on", equals=1, since=since, until=until), epsilon=0.5)
                leaked.append(session.leaked)
    if leaked[0] != leaked[-1]:
        raise SystemExit(f"ε = {leaked[0]} on the first day, {leaked[-1]} after {DAYS}")
    title = f"leaked after {DAYS} daily publications"
    report(title, leaked[-1], "ε", baseline=leaked[0], beside="after the first one", ratio_at_most=1.0)


def grouped(engine: str, frame: Any, folder: Path) -> Callable[[], list[Any]]:
    """Return a hand-written query of the same counts."""
    if engine == "polars":
        when = polars.col("time").dt
        query = frame.group_by(weekday=when.weekday(), hour=when.hour()).agg(on=(polars.col("state") == 1).sum())
        return lambda: list(query.collect(engine="streaming").rows())
    if engine == "spark":
        frame.createOrReplaceTempView("meters")
        parts = "weekday(time) + 1, hour(time)"
        counted = f"select {parts}, count_if(state = 1) from meters group by {parts}"
        return lambda: [tuple(row) for row in frame.sparkSession.sql(counted).collect()]
    import duckdb

    sql = f"select isodow(time), hour(time), count(*) filter (where state = 1) from '{folder}/*.parquet' group by all"
    return lambda: list(duckdb.execute(sql).fetchall())


def scans(rows: int) -> None:
    """Report the time of the exact counts of 168 windows, beside a hand-written query."""
    layout, question = ChainLayout("time", entity="meter"), bdp.Count("state", equals=1, by=["weekday", "hour"])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_meters(folder, rows)
        for engine in ENGINES:
            with opened(engine, folder) as frame:
                by_hand, ours, theirs = grouped(engine, frame, folder), [], []
                for _ in range(SCANS):
                    begun = time.perf_counter()
                    counted = {(weekday, hour): count for weekday, hour, count in by_hand()}
                    between = time.perf_counter()
                    table = scan(frame)
                    order = Order.of(table, layout)
                    windows = windows_of(table, order, question)
                    tallies = tally_windows(table, order, [window.query for window in windows], rows=rows)
                    ours.append(time.perf_counter() - between)
                    theirs.append(between - begun)
                found = {window.names: tally.counts[0] for window, tally in zip(windows, tallies, strict=True)}
                if {names: count for names, count in found.items() if count} != counted:
                    raise SystemExit(f"{engine}: the counts differ")
            report(
                f"{engine}, {len(windows)} windows of {rows:,} rows",
                median(ours),
                baseline=median(theirs),
                beside="one hand-written query, same counts",
                ratio_at_most=ONE_SCAN if rows > FEW else None,
            )


def main(windows: int = WINDOWS, rows: int = ROWS) -> None:
    print(heading())
    errors()
    year()
    account(windows)
    scans(rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
