"""`--server URL` in place of DATA: the same output, the same exit status, and no model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

import bayesdp as bdp
from bayesdp.cli import run
from bayesdp.client import connect

sys.path.insert(0, str(Path(__file__).parents[1] / "client"))

from holding import URL, Holder, held  # type: ignore[import-not-found]

Run = Callable[..., tuple[int, str, str]]

QUESTION = ("--dataset", "my/switch", "--query", "count", "--column", "on", "--states", "1")


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Holder]:
    with held(tmp_path) as opened:
        yield opened


@pytest.fixture
def asked(holder: Holder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command on a server, and returns its status and what it printed."""
    monkeypatch.setattr("bayesdp.client.connect", partial(connect, transport=httpx.MockTransport(holder)))
    monkeypatch.setenv("BAYESDP_TOKEN", "secret")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    def command(*words: str) -> tuple[int, str, str]:
        status = run([words[0], "--server", URL, *words[1:]])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return command


def test_a_release_prints_what_a_session_releases(asked: Run, holder: Holder, tmp_path: Path) -> None:
    status, printed, _ = asked("release", *QUESTION, "--epsilon", "0.5", "--json")
    (answer,) = holder.session.history
    assert status == 0
    assert json.loads(printed) == json.loads(answer.to_json())
    assert asked("release", *QUESTION, "--epsilon", "0.5")[1].startswith("The number of records with on = 1: ")
    seen = json.loads((tmp_path / "bayesdp" / "heads.json").read_text())
    assert seen["heads"][URL]["my/switch"] == holder.head
    assert "Nothing was charged" in asked("release", *QUESTION, "--alpha", "1", "--dry-run")[1]
    by_day = asked("release", *QUESTION, "--by-column", "hour", "--epsilon", "0.5", "--json")[1]
    assert len(json.loads(by_day)["answers"]) == 24


def test_another_ledger_is_noticed_by_the_next_command(asked: Run, holder: Holder) -> None:
    asked("release", *QUESTION, "--epsilon", "0.5")
    holder.altered = lambda document: document.update(continues=False)
    status, _, said = asked("release", *QUESTION, "--epsilon", "0.7")
    assert status == 2
    assert "does not continue the one that was seen last" in said
    assert said.rstrip().endswith("heads.json keeps what was seen")


def test_running_totals(asked: Run, holder: Holder) -> None:
    stream = ("running", *QUESTION, "--every", "day", "--horizon", "4", "--epsilon", "2")
    totals = json.loads(asked(*stream, "--json")[1])
    ours = holder.session.running(bdp.Count("on", equals=1), every="day", horizon=4, epsilon=2.0).to_dict()
    assert totals["totals"] == json.loads(json.dumps(ours["totals"]))
    assert "so far, every day" in asked(*stream)[1]
    assert asked(*stream, "--dry-run")[0] == 2


def test_the_budget_has_its_own_status(asked: Run) -> None:
    status, _, said = asked("release", *QUESTION, "--epsilon", "50")
    assert status == 3
    assert "requested ε = 50" in said


def test_data_sets_are_listed_and_described(asked: Run, holder: Holder) -> None:
    assert "my/switch" in asked("datasets")[1]
    assert json.loads(asked("datasets", "--json")[1])["datasets"] == [{"dataset": "my/switch"}]
    assert "your ε today" in asked("datasets", "--dataset", "my/switch")[1]
    assert json.loads(asked("datasets", "--dataset", "my/switch", "--json")[1])["budget"] == 9.0
    assert "Nothing has been released." in asked("datasets", "--dataset", "my/switch", "--answers")[1]
    answer = holder.session.release(bdp.Count("on", equals=1), epsilon=0.5)
    listed = json.loads(asked("datasets", "--dataset", "my/switch", "--answers", "--json")[1])
    assert listed["answers"] == [json.loads(answer.to_json())]
    assert asked("datasets", "--answers")[0] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("data.csv",), "DATA cannot be given with --server"),
        (("--model", "m.json"), "--model cannot be given with --server"),
        (("--budget", "2", "--growing", "--public", "on"), "--budget, --growing, --public cannot be given"),
        (("--accept-violated", "because"), "--accept-violated cannot be given with --server"),
        (("--engine", "polars"), "--engine cannot be given with --server"),
        (("--token-file", "missing"), "cannot read the token in missing"),
        (("--plot", "token", "--token-file", "token"), "token is an input and would be overwritten"),
    ],
)
def test_what_is_the_holders_is_refused(
    asked: Run, holder: Holder, words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("token").write_text("secret\n")
    status, _, said = asked("release", *words, *QUESTION, "--epsilon", "0.5")
    assert status == 2
    assert message in said
    assert not holder.requests


def test_the_token_may_be_in_a_file(asked: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BAYESDP_TOKEN")
    status, _, said = asked("datasets")
    assert (status, "set BAYESDP_TOKEN, or give it as --token-file" in said) == (2, True)
    (tmp_path / "token").write_text("secret\n")
    assert "my/switch" in asked("datasets", "--token-file", str(tmp_path / "token"))[1]


def test_without_a_server_there_are_data_and_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in (
        ((), "DATA is missing, or --server URL"),
        (("data.csv",), "--model MODEL.json is missing"),
        (("data.csv", "--heads", "h.json"), "--heads goes with --server"),
    ):
        assert run(["release", *words, *QUESTION, "--epsilon", "0.5"]) == 2
        assert message in capsys.readouterr().err
