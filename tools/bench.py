"""Run the benchmarks, print one table of measurements and targets, and store it in build/bench.json.

    python tools/bench.py                    all of them, in full (`make bench`)
    python tools/bench.py --short            the short form, a few minutes (`make bench-short`, and CI)
    python tools/bench.py --page             and write "The last run" in docs/performance.md (`make bench`)
    python tools/bench.py frames release     some of them

A program that fails is an error. A missed target is reported but is no error, because machines differ and are busy.
The page marks what is worse than its last recorded ratio by more than a fifth.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

from shared.reporting import ROWS, Row, amount, heading, read, table  # noqa: E402 - the reporting of the programs there

__all__ = ["ROOT", "SHORT", "Row", "last_run", "main", "programs", "recorded", "with_last_run", "worse"]

PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- tools/bench.py writes from here -->", "<!-- tools/bench.py writes to here -->"
HEADER = "| program | what | measured | ratio | to | target | verdict | |"
TOLERATED = 1.2
"""How many times the last recorded ratio is not marked."""

Recorded = Mapping[tuple[str, str], float]
"""Ratios, by program and row."""

SHORT: Mapping[str, Sequence[str]] = {
    "accuracy": (),
    "advise": ("200000",),
    "calls": (),
    "coverage": ("20", "odds"),
    "explorer": ("short",),
    "frames": ("1000000",),
    "leakage": ("short",),
    "ledger": ("--short",),
    "peers": ("--short",),
    "release": ("2000",),
    "running": (),
    "scale": ("1000000",),
    "serve": ("--short",),
    "size": (),
    "startup": (),
}
"""The arguments of the programs in the short form; the others take too long for it."""

PACKAGES = ("bayesdp", "polars", "duckdb", "pyspark", "narwhals", "numpy", "scipy", "opendp")


def programs(folder: Path = ROOT / "benchmarks") -> dict[str, Path]:
    """Return the benchmarks, by name."""
    return {path.stem: path for path in sorted(folder.glob("*.py"))}


def run(program: Path, arguments: Sequence[str]) -> tuple[list[Row], bool]:
    """Run a benchmark, showing its output; return its rows, and whether it failed."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows"
        done = subprocess.run([sys.executable, str(program), *arguments], env={**os.environ, ROWS: str(rows)})
        return read(rows), done.returncode != 0


def machine() -> dict[str, Any]:
    """Return what the measurements depend on: processors, memory, load, and versions."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes"),
        "processors": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load": [round(load, 1) for load in os.getloadavg()],
        "platform": platform.platform(terse=True),
        "versions": versions,
    }


def summary(measured: Mapping[str, Sequence[Row]]) -> str:
    """Return one table of all rows, and the number of targets met."""
    judged = [row.met for rows in measured.values() for row in rows if row.met is not None]
    blocks = [f"\n{name}\n{table(rows).removeprefix(heading()).lstrip()}" for name, rows in measured.items() if rows]
    return "\n".join([heading(), *blocks, "", f"{sum(judged)} of {len(judged)} targets met"])


def ratio_of(row: Row) -> float | None:
    """Return the ratio that a row measures, to a baseline or by itself; None if it has none."""
    return row.value if row.unit == "×" else row.ratio


def worse(row: Row, before: float | None) -> bool:
    """Return whether a row's ratio is worse than one before by more than a fifth; a target says which way is better.

    >>> worse(Row("sum", 1.3, ratio=1.3), 1.0), worse(Row("gain", 2.7, "×", at_least=3), 3.0)
    (True, False)
    """
    now = ratio_of(row)
    if now is None or before is None:
        return False
    return now * TOLERATED < before if row.at_least is not None else now > TOLERATED * before


def recorded(page: str) -> Recorded:
    """Return the ratios that the last run wrote to the page."""
    inside = page.partition(BEGIN)[2].partition(END)[0]
    rows = [[cell.strip() for cell in line.split("|")] for line in inside.splitlines() if line.startswith("| ")]
    found = {(cells[1], cells[2]): cells[4].removesuffix("×") for cells in rows if len(cells) > 4}
    return {key: float(ratio.replace(",", "")) for key, ratio in found.items() if ratio and ratio[0].isdigit()}


def last_run(measured: Mapping[str, Sequence[Row]], described: Mapping[str, Any], before: Recorded) -> str:
    """Return the section of one run: the machine, and a row for each measurement, marked if it is worse than before."""
    versions = ", ".join(f"{name} {number}" for name, number in described["versions"].items())
    lines = [
        f"Run on {described['date']} on {described['platform']}, {described['processors']} processors, "
        f"{described['memory_gb']} GB of memory, load {described['load'][0]} when it began; {versions}.",
        "",
        HEADER,
        "|" + " --- |" * HEADER.count(" |"),
    ]
    for program, rows in measured.items():
        for row in rows:
            ratio = ratio_of(row)
            cells = [
                program,
                _cell(row.name),
                amount(row.value, row.unit),
                "" if ratio is None else amount(ratio, "×"),
                _cell(row.baseline),
                row.target,
                {True: "met", False: "not met", None: ""}[row.met],
                f"**worse**, was {amount(before[key], '×')}"
                if worse(row, before.get(key := (program, _cell(row.name))))
                else "",
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def with_last_run(page: str, section: str) -> str:
    """Return the page with another section of the last run; ValueError if the page has no place for it."""
    above, begin, rest = page.partition(BEGIN)
    _, end, below = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} … {END}")
    return f"{above}{BEGIN}\n\n{section}\n\n{END}{below}"


def _cell(text: str) -> str:
    return text.replace("|", "/").strip()


def main(
    arguments: Sequence[str] | None = None,
    folder: Path = ROOT / "benchmarks",
    kept: Path | None = None,
    page: Path = PAGE,
) -> int:
    """Run the chosen benchmarks; return the exit status: 1 if a program failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = programs(folder)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--page", action="store_true", help="write the last run to docs/performance.md")
    options = parser.parse_args(arguments)
    if options.page and (options.short or options.names):
        parser.error("--page is for a run of all benchmarks, in full")
    if unknown := set(options.names) - known.keys():
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    chosen = {name: path for name, path in known.items() if not options.names or name in options.names}
    left_out = [name for name in chosen if options.short and name not in SHORT]
    begun, described = time.monotonic(), machine()
    measured, failed = {}, []
    for name, path in chosen.items():
        if name in left_out:
            continue
        print(f"\n== {name}", flush=True)
        measured[name], broken = run(path, SHORT[name] if options.short else ())
        failed += [name] * broken
    print(f"\n{'=' * 100}\n{summary(measured)}, {time.monotonic() - begun:.0f} s in total")
    print(
        f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; above 1 per processor, times "
        "are too long"
    )
    if left_out:
        print(f"not in the short form: {', '.join(left_out)}")
    kept = kept or ROOT / "build" / "bench.json"
    kept.parent.mkdir(exist_ok=True)
    rows = [{"benchmark": name, **asdict(row), "met": row.met} for name, listed in measured.items() for row in listed]
    kept.write_text(json.dumps({"short": options.short, **described, "failed": failed, "rows": rows}, indent=1) + "\n")
    print(f"stored in {kept}")
    if options.page and not failed:
        text = page.read_text(encoding="utf-8")
        page.write_text(with_last_run(text, last_run(measured, described, recorded(text))), encoding="utf-8")
        print(f"written to {page}")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
