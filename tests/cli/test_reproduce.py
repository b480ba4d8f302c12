"""`bayesdp reproduce` from the command line; what it computes is tested in tests/experiments."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayesdp.cli import run


def test_one_figure_and_its_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "tightness", "--out", str(tmp_path / "out"), "--runs", "10"]) == 0
    assert "report.html" in capsys.readouterr().out
    for name in ("report.html", "report.md", "figures/tightness.svg", "figures/tightness.png", "numbers/tightness.csv"):
        assert (tmp_path / "out" / name).stat().st_size > 200


def test_the_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"galton", "activity", "activity-day", "electricity-90", "impossibility", "errata"} <= set(listed)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "nothing called 'nonsense'"),
        (["tightness", "--runs", "many"], "--runs must be a whole number"),
        (["tightness", "--runs", "0"], "runs"),
        (["activity", "--data", "/no/such/folder"], "/no/such/folder"),
    ],
)
def test_mistakes(arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", *arguments, "--out", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1
