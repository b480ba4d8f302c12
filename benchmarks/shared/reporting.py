"""Rows of benchmarks: a measured value, its ratio to a baseline of the same run, its target and the verdict.

Programs in benchmarks/ call `report`, which prints a row. tools/bench.py, which runs them all, also collects the rows:
the environment variable BAYESDP_BENCH_ROWS names the file.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Row", "amount", "heading", "peak_megabytes", "processor_seconds", "read", "report", "table"]

ROWS = "BAYESDP_BENCH_ROWS"
"""The environment variable that names the file for rows."""


@dataclass(frozen=True)
class Row:
    """One measurement.

    ratio:         the value divided by that of a baseline, measured in the same run.
    baseline:      the name of the baseline.
    at_most:       the largest value that meets the target; at_least: the smallest.
    ratio_at_most: the largest ratio that meets it.

    >>> Row("sum", 1.2, "s", 1.2, "a plain query", ratio_at_most=1.15).met
    False
    >>> str(Row("import", 0.25, at_most=0.3)).split()
    ['import', '0.25', 's', '≤', '0.3', 's', 'met']
    """

    name: str
    value: float
    unit: str = "s"
    ratio: float | None = None
    baseline: str = ""
    at_most: float | None = None
    at_least: float | None = None
    ratio_at_most: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None if there is none."""
        if self.ratio_at_most is not None and self.ratio is None:
            return False
        judged = [
            None if self.at_most is None else self.value <= self.at_most,
            None if self.at_least is None else self.value >= self.at_least,
            None if self.ratio_at_most is None or self.ratio is None else self.ratio <= self.ratio_at_most,
        ]
        verdicts = [verdict for verdict in judged if verdict is not None]
        return all(verdicts) if verdicts else None

    @property
    def target(self) -> str:
        """The target as a short text; empty if there is none."""
        limits = [
            "" if self.at_most is None else f"≤ {amount(self.at_most, self.unit)}",
            "" if self.at_least is None else f"≥ {amount(self.at_least, self.unit)}",
            "" if self.ratio_at_most is None else f"≤ {amount(self.ratio_at_most, '×')}",
        ]
        return ", ".join(filter(None, limits))

    def __str__(self) -> str:
        ratio = "" if self.ratio is None else amount(self.ratio, "×")
        verdict = {True: "met", False: "not met", None: ""}[self.met]
        line = f"{self.name:52} {amount(self.value, self.unit):>11} {ratio:>10} {self.target:>12} {verdict:>8}"
        return f"{line}  {self.baseline}".rstrip()


def heading() -> str:
    """Return the header line.

    >>> heading().split()
    ['what', 'measured', 'ratio', 'target', 'verdict', 'ratio', 'to']
    """
    return f"{'what':52} {'measured':>11} {'ratio':>10} {'target':>12} {'verdict':>8}  ratio to"


def amount(value: float, unit: str) -> str:
    """Return a number with its unit, to three digits."""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{text}{unit}" if unit == "×" else f"{text} {unit}"


def report(
    name: str,
    value: float,
    unit: str = "s",
    *,
    baseline: float | None = None,
    beside: str = "",
    at_most: float | None = None,
    at_least: float | None = None,
    ratio_at_most: float | None = None,
) -> Row:
    """Print a measurement, write it to the file for rows if there is one, and return it.

    baseline: the same measurement of the baseline that `beside` names, in the same unit.

    >>> row = report("count", 1.0, baseline=0.8, beside="a plain query", ratio_at_most=1.15)  # doctest: +ELLIPSIS
    count ... not met  a plain query
    >>> row.ratio
    1.25
    """
    ratio = None if baseline is None else value / baseline
    row = Row(name, value, unit, ratio, beside, at_most, at_least, ratio_at_most)
    print(row, flush=True)
    if path := os.environ.get(ROWS):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(row)) + "\n")
    return row


def peak_megabytes() -> float:
    """Return the peak memory of this process; on Linux without that of its parent process.

    >>> peak_megabytes() > 1
    True
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text("utf-8").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def processor_seconds() -> float:
    """Return the processor time of this process and, on Linux, of those that it started and that still run, as Java.

    >>> processor_seconds() > 0
    True
    """
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        number = int(status.parent.name)
        parents[number], used[number] = int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    ours = {os.getpid()}
    while more := {number for number, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return time.process_time() + sum(used.get(number, 0.0) for number in ours - {os.getpid()})


def read(path: Path) -> list[Row]:
    """Return the rows in a file."""
    return [Row(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def table(rows: Iterable[Row]) -> str:
    """Return rows below the header line.

    >>> len(table([Row("import", 0.25)]).splitlines())
    2
    """
    return "\n".join([heading(), *map(str, rows)])
