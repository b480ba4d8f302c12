"""Completion, asked for as shells do, by an environment variable. What goes wrong must not disturb the line typed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import bayesdp as bdp
from bayesdp.cli import completion, run
from bayesdp.queries import Query
from bayesdp.session.proofs import proof_names


def completed(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what completes the last word of a line."""
    words = line.split(" ")
    monkeypatch.setenv("_BAYESDP_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    with pytest.raises(SystemExit) as stopped:
        run([])
    printed = capsys.readouterr()
    assert stopped.value.code == 0
    assert printed.err == ""
    return printed.out.split()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    place = tmp_path / "budget.db"
    table = pl.DataFrame({"ill": [True, False]})
    for name in ("steps-2012", "steps-2013", "homes"):
        with bdp.Session(
            table.with_columns(pl.lit(name).alias("of")),
            bdp.Independent(),
            epsilon=1.0,
            ledger=place,
            dataset=name,
            separate_because="a test",
        ) as session:
            session.open_account()
    return place


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("bayesdp leak", ["leakage"]),
        ("bayesdp budget ra", ["raise"]),
        ("bayesdp leakage m.json --query ", list(Query.kinds())),
        ("bayesdp release d.csv --query su", ["sum"]),
        ("bayesdp leakage m.json --public", ["--public-filter"]),
        ("bayesdp proof markov-", [name for name in proof_names() if name.startswith("markov-")]),
        ("bayesdp reproduce electricity-7", ["electricity-70"]),
        ("bayesdp fit d.csv --model ma", ["markov"]),
    ],
)
def test_names_are_completed(
    line: str, expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert expected
    assert completed(line, monkeypatch, capsys) == expected


@pytest.mark.parametrize(
    "line",
    [
        "bayesdp leakage m.json --bounds 0 x --size y --query cou",
        "bayesdp calibrate m.json --bounds --size --nonsense --query cou",
    ],
)
def test_a_line_with_mistakes_is_completed_without_complaint(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert completed(line, monkeypatch, capsys) in (["count"], [])


def test_data_sets_of_a_ledger_are_completed(
    ledger: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = ledger.read_bytes()
    for named in (str(ledger), f"sqlite:///{ledger}"):
        line = f"bayesdp budget show --ledger {named} --dataset steps"
        assert completed(line, monkeypatch, capsys) == ["steps-2012", "steps-2013"]
    monkeypatch.setenv("BAYESDP_LEDGER", str(ledger))
    assert completed("bayesdp release d.csv --dataset h", monkeypatch, capsys) == ["homes"]
    assert ledger.read_bytes() == before


def test_a_missing_ledger_completes_nothing_and_is_not_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "damaged.db"
    damaged.write_text("no ledger")
    for place in (tmp_path / "new.db", damaged, tmp_path, "postgresql://nobody@nowhere.invalid/x"):
        line = f"bayesdp budget show --ledger {place} --dataset "
        assert completed(line, monkeypatch, capsys) == []
    assert [path.name for path in tmp_path.iterdir()] == ["damaged.db"]


def test_completion_does_not_query_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object, **__: object) -> None:
        raise AssertionError("the ledger was opened")

    monkeypatch.setattr("bayesdp.ledger.Ledger", opened)
    context = SimpleNamespace(params={"ledger": "postgresql://user@host/database"})
    assert completion.datasets(context, "") == []  # type: ignore[arg-type]


def test_the_script_is_shown_for_the_shell_in_use(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    with pytest.raises(SystemExit) as stopped:
        run(["--show-completion"])
    assert stopped.value.code == 0
    assert "_BAYESDP_COMPLETE=complete_bash" in capsys.readouterr().out


def test_completion_is_installed_in_the_users_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(SystemExit) as stopped:
        run(["--install-completion"])
    assert stopped.value.code == 0
    assert "completion installed" in capsys.readouterr().out
    assert "bayesdp" in (tmp_path / ".bashrc").read_text()


@pytest.mark.parametrize("option", ["--install-completion", "--show-completion"])
def test_another_shell_is_refused_in_one_line(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("tcsh", "/bin/tcsh"))
    assert run([option]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "bash, zsh, fish and PowerShell, not for tcsh" in printed.err


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_itself_completes(tmp_path: Path) -> None:
    program = tmp_path / "bayesdp"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m bayesdp "$@"\n')
    program.chmod(0o755)
    line = (
        'eval "$(_BAYESDP_COMPLETE=source_bash bayesdp)"; COMP_WORDS=(bayesdp proof gen); COMP_CWORD=2; '
        '_bayesdp_completion bayesdp; echo "${COMPREPLY[@]}"'
    )
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "--norc", "-c", line], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "general\n"
    assert done.stderr == ""
