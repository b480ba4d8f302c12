"""Environments for other packages: made once, by the constraints that do not contradict what is asked for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from shared.environments import environment


class Pip:
    """In place of subprocesses: it keeps what pip is given, and fails if told to."""

    def __init__(self) -> None:
        self.installed: list[list[str]] = []
        self.constraints = ""
        self.fails = False

    def __call__(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        if "venv" in command:
            Path(command[-1]).mkdir(exist_ok=True)
            return subprocess.CompletedProcess(command, 0)
        self.installed.append(command[command.index("--disable-pip-version-check") + 1 :])
        self.constraints = Path(options["env"]["PIP_CONSTRAINT"]).read_text()
        return subprocess.CompletedProcess(command, int(self.fails), "", "noise\nERROR: no such version\n")


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> Pip:
    fake = Pip()
    monkeypatch.setattr(subprocess, "run", fake)
    return fake


@pytest.fixture
def limits(tmp_path: Path) -> Path:
    path = tmp_path / "constraints.txt"
    path.write_text("attrs==26.1.0\nPy_Spark==3.5.9\npyspark-client==1\n")
    return path


def test_what_is_asked_for_is_not_constrained(pip: Pip, limits: Path, tmp_path: Path) -> None:
    environment((".[spark]", "py-spark>=4,<5"), tmp_path, constraints=limits)
    assert pip.installed == [["--editable=.[spark]", "py-spark>=4,<5"]]
    assert pip.constraints == "attrs==26.1.0\npyspark-client==1\n"


def test_an_environment_is_made_once_for_what_pip_reads(pip: Pip, limits: Path, tmp_path: Path) -> None:
    first = environment(("numpy",), tmp_path, constraints=limits)
    assert environment(("numpy",), tmp_path, constraints=limits) == first
    assert len(pip.installed) == 1
    limits.write_text("numpy==3\n")
    assert environment(("numpy",), tmp_path, constraints=limits) != first
    assert environment(("numpy", "scipy"), tmp_path, constraints=limits) != first
    assert len(pip.installed) == 3


def test_a_failure_gives_pips_reason_and_is_tried_again(pip: Pip, tmp_path: Path) -> None:
    pip.fails = True
    with pytest.raises(RuntimeError, match=r"^ERROR: no such version$"):
        environment(("numpy",), tmp_path)
    pip.fails = False
    environment(("numpy",), tmp_path)
    assert len(pip.installed) == 2
