"""`bayesdp reproduce` from the command line; what it computes is tested in tests/experiments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayesdp.cli import run
from bayesdp.experiments.studies import study


def test_one_figure_and_its_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "tightness", "--out", str(tmp_path / "out"), "--runs", "10"]) == 0
    assert "report.html" in capsys.readouterr().out
    for name in ("report.html", "report.md", "figures/tightness.svg", "figures/tightness.png", "numbers/tightness.csv"):
        assert (tmp_path / "out" / name).stat().st_size > 200


@pytest.mark.slow
def test_the_summary_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["reproduce", "electricity-80", "--out", str(out), "--runs", "10", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert set(map(Path, summary["files"])) == {path for path in out.rglob("*") if path.is_file()}
    assert Path(summary["html"]) == out / "report.html"
    assert "twin" in summary["sources"]["electricity-80"]
    rows = {(row["mechanism"], row["epsilon"]): row for row in summary["results"]["electricity-80"]}
    assert rows["markov-mixing", 1]["factor"] == pytest.approx(2.727, abs=1e-3)
    assert rows["markov-paper", 5]["factor"] is None
    assert {row["data set"] for row in summary["tables"]["least-epsilon"]} == {"Electricity, days above 80 kWh (twin)"}
    assert summary["verdicts"] == {"electricity-80": study("electricity-80").diagnosis.verdict}
    assert summary["failures"] == {}
    assert run(["reproduce", "--list", "--json"]) == 0
    assert "galton" in json.loads(capsys.readouterr().out)["names"]


def test_the_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"galton", "activity", "activity-day", "electricity-90", "impossibility", "errata"} <= set(listed)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "cannot reproduce 'nonsense'"),
        (["tightness", "--runs", "many"], "--runs must be a whole number"),
        (["tightness", "--runs", "0"], "bayesdp: --runs must be "),
        (["tightness", "--seed", "-1"], "bayesdp: --seed must be "),
        (
            ["activity", "--data", "/no/such/folder"],
            "--data must be a folder that can be read, not '/no/such/folder' (No such file or directory)",
        ),
        (["activity", "--data", __file__], "test_reproduce.py' (Not a directory)"),
    ],
)
def test_mistakes(arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", *arguments, "--out", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1


@pytest.mark.slow
def test_a_failing_data_set_is_told_and_the_others_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "galton.csv").write_text("family,father\n1,70\n")
    out = tmp_path / "out"
    arguments = ["galton", "electricity-80", "--data", str(tmp_path), "--out", str(out), "--runs", "5"]
    assert run(["reproduce", *arguments, "--json"]) == 2
    reported = capsys.readouterr()
    summary = json.loads(reported.out)
    assert list(summary["results"]) == ["electricity-80"]
    assert "galton.csv has no column 'mother'" in summary["failures"]["galton"]
    note, error = reported.err.splitlines()
    assert note == "note: The folder of data lacks Electricity_P.csv: built-in twins replace electricity-80."
    assert "1 failed" in error
    assert "galton.csv has no column 'mother'" in reported.err
    assert (out / "figures/electricity-80-error.svg").is_file()
    assert run(["reproduce", *arguments]) == 2
    assert "galton: failed: " in capsys.readouterr().out
