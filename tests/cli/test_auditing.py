"""`bayesdp audit`: the keys that scripts rely on, the picture, the bar, and bad input in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bayesdp as bdp
from bayesdp._support import progress
from bayesdp.cli import run

CHAIN = {"type": "markov", "states": [0, 1], "transition": [[0.9, 0.1], [0.2, 0.8]], "length": 400}
COUNT = "--query count --states 1 --runs 500"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "chain.json").write_text(json.dumps(CHAIN))
    return tmp_path


def answered(capsys: pytest.CaptureFixture[str], folder: Path, command: str) -> tuple[int, str, str]:
    status = run([part.replace("@", f"{folder}/") for part in f"audit {command}".split()])
    return status, *capsys.readouterr()


def audited(capsys: pytest.CaptureFixture[str], folder: Path, promise: str) -> dict[str, Any]:
    status, out, _ = answered(capsys, folder, f"@chain.json {COUNT} {promise} --json")
    assert status == 0
    reported: dict[str, Any] = json.loads(out)
    return reported


def test_the_keys_that_scripts_rely_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, question = bdp.Model.load(folder / "chain.json"), bdp.Count(equals=1)
    for promise in ("--tau 1", "--epsilon 1"):
        reported = audited(capsys, folder, promise)
        assert {"epsilon", "lower_bound", "confidence", "attacker", "worst_case"} <= reported.keys()
        assert {"prior", "success"} <= reported["attacker"].keys()
        assert isinstance(reported["worst_case"], str)
        assert 0 <= reported["lower_bound"] <= reported["epsilon"]
        assert 0 < reported["attacker"]["prior"] < 1 > reported["attacker"]["success"] > 0
        assert reported["confidence"] == 0.95
        plain = promise == "--tau 1"
        proven = bdp.leakage(model, question, tau=1.0).epsilon if plain else 1
        assert reported["epsilon"] == pytest.approx(proven, rel=1e-6)
        assert reported["epsilon"] <= proven
        assert (reported["tau"] == 1) == plain


def test_plain_dp_beside_the_promise_in_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = answered(capsys, folder, f"@chain.json {COUNT} --epsilon 1")
    assert status == 0
    for said in ("The worst attacker\n", "50 : 50 becomes at most 73.2 : 26.8", "plain DP", "bayesdp, keeping ε = 1"):
        assert said in out
    assert "At least ε = " in out


def test_gaussian_noise_is_audited_with_a_delta(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = audited(capsys, folder, "--rho 0.0078125 --delta 0.01")
    assert (plain["plain"], plain["noise"], plain["rho"], plain["delta"]) == (True, "gaussian", 0.0078125, 0.01)
    assert plain["stated"] < 1e-9 < plain["attained"] <= plain["delta"]
    kept = audited(capsys, folder, "--epsilon 1 --delta 0.001 --noise gaussian")
    assert (kept["plain"], kept["epsilon"], kept["delta"], kept["tau"]) == (False, 1.0, 0.001, None)
    assert 0 <= kept["lower_bound"] <= kept["delta"]
    status, out, _ = answered(capsys, folder, f"@chain.json {COUNT} --rho 0.0078125 --delta 0.01")
    assert status == 0
    assert "The worst known attacker\n" in out
    assert "At that ε, ordinary differential privacy states" in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--rho 0.01", "--rho and --noise need --delta"),
        ("--tau 1 --delta 0.01", "--tau with a delta is about any mechanism, and none can be run; give --rho"),
        ("--delta 0.01", "give either --epsilon or --rho"),
        ("--rho 0.01 --delta 2", "--delta must lie strictly between 0 and 1"),
        ("--epsilon 1 --delta 0.01 --noise uniform", "laplace"),
    ],
)
def test_an_audit_with_a_delta_refuses_in_one_line(
    options: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = answered(capsys, folder, f"@chain.json {COUNT} {options}")
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_what_is_not_one_number_has_no_attacker(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = answered(capsys, folder, "@chain.json --query histogram --tau 0.5 --runs 500 --json")
    assert status == 0
    assert json.loads(out)["attacker"] is None
    status, out, _ = answered(capsys, folder, "@chain.json --query any-mechanism --tau 0.5 --runs 500")
    assert status == 0
    assert "randomized response" in out
    assert "At least" not in out


def test_a_picture_and_nothing_else_changes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = answered(capsys, folder, f"@chain.json {COUNT} --tau 1")[1]
    assert answered(capsys, folder, f"@chain.json {COUNT} --tau 1 --plot @belief.svg")[:2] == (0, alone)
    assert (folder / "belief.svg").read_bytes().startswith(b"<?xml")


def test_a_bar_is_shown_to_those_who_wait(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    real_bar = progress.progress_bar

    def noted(total: int, label: str) -> Any:
        seen.append(label)
        return real_bar(total, label)

    monkeypatch.setattr("bayesdp.audit.lower_bounds.progress_bar", noted)
    audited(capsys, folder, "--tau 1")
    assert seen == ["auditing"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"@chain.json {COUNT}", "--tau or --epsilon"),
        (f"@chain.json {COUNT} --tau 1 --epsilon 1", "--tau or --epsilon"),
        (f"@chain.json {COUNT} --tau 0", "--tau"),
        (f"@chain.json {COUNT} --tau many", "--tau must be a number"),
        (f"@nothing.json {COUNT} --tau 1", "nothing.json"),
        ("@chain.json --query count --states 1 --tau 1 --runs 7", "--runs"),
        (f"@chain.json {COUNT} --tau 1 --confidence 2", "--confidence"),
        (f"@chain.json {COUNT} --tau 1 --plot @chain.json", "chain.json"),
        (f"@chain.json {COUNT} --tau 1 --plot @belief.txt", ".png, .svg or .pdf"),
        ("@chain.json --query count --states 5 --tau 1 --runs 500", "state"),
        ("@chain.json --query nonsense --tau 1", "--query"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, said: str
) -> None:
    status, out, err = answered(capsys, folder, command)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err
    assert {path.name for path in folder.iterdir()} == {"chain.json"}
    assert json.loads((folder / "chain.json").read_text()) == CHAIN
