"""The table of the benchmarks: as many rows as asked, in several files, the same in every engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from shared import meters
from shared.meters import METERS, opened, write_meters


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(meters, "_AT_ONCE", 400)
    write_meters(tmp_path / "made" / "meters", 1000)
    return tmp_path / "made" / "meters"


def test_rows_are_spread_over_files_and_times_go_on(folder: Path) -> None:
    assert [path.name for path in sorted(folder.iterdir())] == ["0000.parquet", "0001.parquet", "0002.parquet"]
    frame = pl.read_parquet(folder / "*.parquet")
    assert frame.height == frame["time"].n_unique() == 1000
    assert frame["time"].is_sorted()
    assert set(frame["state"]) == {0, 1, 2}
    assert frame["meter"].is_between(0, METERS - 1).all()


def test_the_same_table_is_made_every_time(folder: Path, tmp_path: Path) -> None:
    write_meters(tmp_path / "again", 1000)
    assert pl.read_parquet(tmp_path / "again" / "*.parquet").equals(pl.read_parquet(folder / "*.parquet"))


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_an_engine_reads_it_lazily(folder: Path, engine: str) -> None:
    pytest.importorskip(engine)
    with opened(engine, folder) as table:
        counted = table.select(pl.len()).collect() if engine == "polars" else table.aggregate("count(*)").pl()
        assert counted.item() == 1000


@pytest.mark.slow
def test_spark_reads_it_and_stops(folder: Path) -> None:
    pytest.importorskip("pyspark")
    program = (
        "import sys; from pathlib import Path; from shared.meters import opened\n"
        "with opened('spark', Path(sys.argv[1]), sql_shuffle_partitions='3') as table:\n"
        "    session = table.sparkSession\n"
        "    print(table.count(), session.conf.get('spark.sql.shuffle.partitions'))\n"
        "print(session.sparkContext._jsc is None)"
    )
    benchmarks = Path(meters.__file__).parents[1]
    command = [sys.executable, "-c", program, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=benchmarks)
    assert done.stdout.split() == ["1000", "3", "True"], done.stderr
