"""Accounts that promise (ε, δ) from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayesdp.cli import run
from bayesdp.ledger import Ledger

BUDGET = ["--budget", "2", "--budget-delta", "1e-6"]


def test_a_share_is_released_shown_and_stated(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command = [*given, *BUDGET, "--share", "0.01", "--json"]
    assert run([*command, "--dry-run"]) == 0
    preview = json.loads(capsys.readouterr().out)
    assert run(command) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["noise_kind"], answer["delta"], answer["further_answers"]) == ("gaussian", 1e-6, 99)
    assert "tau" not in answer
    assert {name: preview[name] for name in ("rho", "noise_kind", "delta", "scale", "alpha")} == {
        name: answer[name] for name in ("rho", "noise_kind", "delta", "scale", "alpha")
    }
    Path("answer.json").write_text(json.dumps(answer))
    ledger = given[given.index("--ledger") + 1]
    assert run(["statement", "answer.json"]) == 0
    assert "ε = 2 with δ = 1e-06" in capsys.readouterr().out
    assert run(["budget", "show", "--ledger", ledger]) == 0
    shown = capsys.readouterr().out
    assert "At least 99 more answers of this size fit." in shown
    assert "of 2 leaked at δ = 1e-06" in shown
    assert "opened with 2 at δ = 1e-06" in shown
    assert "δ is not the probability that the promise fails" in shown
    assert run(["budget", "show", "--ledger", ledger, "--json", "--plot", "budget.svg"]) == 0
    (account,) = json.loads(capsys.readouterr().out)["datasets"]
    assert (account["delta"], account["releases"][0]["tau"]) == (1e-6, None)
    assert account["releases"][0]["rho"] == answer["rho"]


def test_noise_can_be_insisted_on(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for noise, key in (("laplace", "tau"), ("gaussian", "loss")):
        assert run([*given, *BUDGET, "--epsilon", "0.5", "--noise", noise, "--json", "--dry-run"]) == 0
        preview = json.loads(capsys.readouterr().out)
        assert (preview["noise_kind"], preview["tau"] is None) == (noise, key == "loss")


def test_an_account_that_is_opened_names_its_delta(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    kept = [word for option in ("--model", "--dataset", "--ledger") for word in _with(given, option)]
    assert run(["budget", "open", "data.csv", *kept, *BUDGET]) == 0
    assert "with a budget of 2 at delta = 1e-06" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--share", "0.01", "--epsilon", "0.1"], "give one of --epsilon, --alpha and --share"),
        (["--share", "2"], "must be at most 1"),
        (["--share", "0"], "--share"),
        (["--epsilon", "0.1", "--noise", "cauchy"], '"laplace" or "gaussian"'),
        (["--epsilon", "0.1", "--budget-delta", "nan"], "--budget-delta"),
        (["--epsilon", "0.1", "--budget-delta", "1.5"], "--budget-delta"),
        ([], "--epsilon"),
    ],
)
def test_wrong_options_are_refused_in_one_line(
    given: list[str], capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    assert run([*given, *BUDGET, *more]) == 2
    error = capsys.readouterr().err.strip()
    assert said in error
    assert len(error.splitlines()) == 1
    ledger = given[given.index("--ledger") + 1]
    with Ledger(ledger) as opened:
        assert opened.entries(kind="charge") == ()


def _with(given: list[str], option: str) -> list[str]:
    """Return an option with its value."""
    return [option, given[given.index(option) + 1]]


def recording(given: list[str], *more: str) -> list[str]:
    """Return the words that record a release instead of making one."""
    named = [word for option in ("--model", "--dataset", "--ledger") for word in _with(given, option)]
    return ["budget", "record", "data.csv", *named, "--what", "an average", *more]


def test_losses_made_elsewhere_are_recorded(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = ["--neighbours", "add-remove", "--json"]
    assert run(recording(given, *BUDGET, "--tau", "0.05", "--delta", "1e-9", *elsewhere)) == 0
    approximate = json.loads(capsys.readouterr().out)
    assert approximate["stated"] == {"definition": "approximate", "tau": 0.05, "delta": 1e-9}
    assert approximate["loss"]["delta"] == pytest.approx(2.0513e-9, rel=1e-4)
    assert run(recording(given, "--rho", "0.0001", *elsewhere)) == 0
    assert json.loads(capsys.readouterr().out)["loss"] == {"definition": "concentrated", "rho": 0.0004}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--rho", "0.1"], "--neighbours is needed"),
        (["--tau", "0.1", "--delta", "1e-9"], "--neighbours is needed"),
        (["--tau", "0.1", "--rho", "0.1"], "either --tau or --rho"),
        ([], "either --tau or --rho"),
        (["--rho", "0.1", "--delta", "1e-9", "--neighbours", "replace"], "--delta goes with --tau"),
        (["--rho", "0.1", "--neighbours", "replace"], "promises epsilon alone"),
        (["--tau", "0.1", "--delta", "1e-9", "--neighbours", "replace"], "promises epsilon alone"),
        (["--rho", "-1", "--neighbours", "replace"], "rho must"),
        (["--tau", "0.1", "--delta", "2", "--neighbours", "replace"], "delta must"),
    ],
)
def test_what_a_pure_account_cannot_record_is_refused(
    given: list[str], capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    assert run(recording(given, "--budget", "2", *more)) == 2
    error = capsys.readouterr().err.strip()
    assert said in error
    assert len(error.splitlines()) == 1


def test_a_tau_alone_is_for_replacing_with_a_note(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(recording(given, "--budget", "2", "--tau", "0.1")) == 0
    printed = capsys.readouterr()
    assert "made elsewhere with tau = 0.1" in printed.out
    assert "--neighbours add-remove" in printed.err
