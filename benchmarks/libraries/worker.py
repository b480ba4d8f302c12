"""What a library's worker does, in that library's own environment: answer, be timed, or answer many small data sets.

    python with_LIBRARY.py measure FILE EPSILON REPEATS SECONDS   # prints JSON
    python with_LIBRARY.py audit EPSILON                          # reads "IN OUT" lines: .npy in, .npy out

Only the standard library, NumPy and Polars: that is what all environments have.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

sys.path.append(str(Path(__file__).parents[1]))

from shared.reporting import peak_megabytes


@dataclass(frozen=True)
class Worker:
    """A library and its private answers.

    package:    its name in the package index.
    neighbours: what its ε is about, "replace" or "add-remove".
    load:       reads a Parquet file into what the library takes, or names it if the library reads it itself.
    answers:    count, sum and mean of the data at an ε.
    small:      the count of a small data set at an ε.
    """

    package: str
    neighbours: str
    load: Callable[[str], Any]
    answers: dict[str, Callable[[Any, float], float]]
    small: Callable[[Any, float], float]

    def main(self) -> None:
        """Do what the command line says."""
        command, *arguments = sys.argv[1:]
        if command == "measure":
            file, epsilon, repeats, seconds = arguments
            print(json.dumps(self.measured(file, float(epsilon), int(repeats), float(seconds))))
        else:
            self.serve(float(arguments[0]))

    def measured(self, file: str, epsilon: float, repeats: int, seconds: float) -> dict[str, Any]:
        """Return every answer with its time: so many times, or until the seconds have passed, but at least once."""
        begun, busy = time.perf_counter(), time.process_time()
        data = self.load(file)
        reading = {"seconds": time.perf_counter() - begun, "processor_seconds": time.process_time() - busy}
        measured = {}
        for name, answer in self.answers.items():
            times: list[float] = []
            worked: list[float] = []
            values: list[float] = []
            while len(times) < repeats and (not times or sum(times) < seconds):
                begun, busy = time.perf_counter(), time.process_time()
                values.append(float(answer(data, epsilon)))
                worked.append(time.process_time() - busy)
                times.append(time.perf_counter() - begun)
            wall, processor = float(np.median(times)), float(np.median(worked))
            measured[name] = {"seconds": wall, "processor_seconds": processor, "values": values}
        return {
            "version": version(self.package),
            "python": platform.python_version(),
            "neighbours": self.neighbours,
            "reading": reading,
            "answers": measured,
            "peak_mb": peak_megabytes(),
        }

    def serve(self, epsilon: float) -> None:
        """Answer tables of small data sets, a row each, until nothing more is asked."""
        for line in sys.stdin:
            given, wanted = line.split()
            table = np.load(given)
            np.save(wanted, np.array([float(self.small(row, epsilon)) for row in table]))
            print("done", flush=True)


def column(file: str) -> Any:
    """Return the records of a Parquet file as a NumPy array."""
    return pl.read_parquet(file)["active"].to_numpy()
