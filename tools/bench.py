"""Run the benchmarks, print one table of measurements and targets, and store it in build/bench.json.

    python tools/bench.py                    all of them, in full (`make bench`)
    python tools/bench.py --short            the short form, a few minutes (`make bench-short`, and CI)
    python tools/bench.py frames release     some of them

A program that fails is an error. A missed target is reported but is no error, because machines differ and are busy.
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

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

from shared.reporting import ROWS, Row, heading, read, table  # noqa: E402 - the reporting of the programs there

__all__ = ["ROOT", "SHORT", "Row", "main", "programs"]

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
    "scale": ("1000000",),
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


def machine() -> dict[str, object]:
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


def main(arguments: Sequence[str] | None = None, folder: Path = ROOT / "benchmarks", kept: Path | None = None) -> int:
    """Run the chosen benchmarks; return the exit status: 1 if a program failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = programs(folder)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--short", action="store_true")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.names) - known.keys():
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    chosen = {name: path for name, path in known.items() if not asked.names or name in asked.names}
    left_out = [name for name in chosen if asked.short and name not in SHORT]
    begun, described = time.monotonic(), machine()
    measured, failed = {}, []
    for name, path in chosen.items():
        if name in left_out:
            continue
        print(f"\n== {name}", flush=True)
        measured[name], broken = run(path, SHORT[name] if asked.short else ())
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
    kept.write_text(json.dumps({"short": asked.short, **described, "failed": failed, "rows": rows}, indent=1) + "\n")
    print(f"stored in {kept}")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
