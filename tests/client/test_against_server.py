"""The client and the real server: what one sends the other understands, in process and over a socket."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any

import pytest

import bayesdp as bdp
from bayesdp._support.progress import listening_to_progress
from bayesdp.client import RemoteDataset
from bayesdp.errors import AccessError, AllowanceError, BudgetError, LedgerError, QueryError

sys.path.insert(0, str(Path(__file__).parents[1] / "server"))

from served import CONFIGURATION, Served, opened, write_tables  # type: ignore[import-not-found]

URL = "http://localhost"
ON = bdp.Count("s", equals=1)
CONFIGURED = CONFIGURATION.replace('column = "s" }', 'column = "s", layout = { order_by = ["t"] } }', 1)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    write_tables(tmp_path)
    with opened(tmp_path, CONFIGURED) as serving:
        yield serving


def asking(served: Served, name: str = "ada", **more: Any) -> Any:
    return bdp.connect(URL, served.token(name), transport=served.client._transport, **more)


@pytest.fixture
def steps(served: Served) -> RemoteDataset:
    data: RemoteDataset = asking(served)["steps"]
    return data


def test_an_analyst_asks_and_is_answered(served: Served, steps: RemoteDataset) -> None:
    assert list(asking(served)) == ["other", "steps"]
    about = steps.describe()
    assert (about.dataset, about.budget, about.delta) == ("steps", 5.0, None)
    assert about.public["d"] == ("n", "s")
    assert "your ε today" in str(steps)
    foreseen = steps.preview(ON, epsilon=0.25)
    answer = steps.release(ON, epsilon=0.25)
    assert (answer.by, answer.epsilon) == ("ada", foreseen.epsilon)
    assert answer.scale == foreseen.scale
    assert steps.release(ON, epsilon=0.25).reused
    assert list(steps.answers) == [answer]
    assert steps.statement(answer).startswith("# Statement on a privacy-protected release")
    assert steps.statement(answer, "html").startswith("<!DOCTYPE html>")
    assert steps.describe().epsilon_total == answer.epsilon_total


def test_parts_several_questions_and_totals(served: Served, steps: RemoteDataset) -> None:
    by_district = steps.release_by(bdp.Count("s", equals=1, by="d", by_cells=["n", "s"]), epsilon=0.25)
    assert by_district.parts == ("n", "s")
    both = steps.release_all([ON, bdp.Histogram("s", cells=[0, 1])], epsilon=0.25)
    assert [answer.query.kind for answer in both] == ["count", "histogram"]
    totals = steps.running(ON, every=7, horizon=8, epsilon=0.25)
    assert len(totals) == 8
    assert totals.latest.interval(0.9)
    assert dict(steps.running(ON, every=7, horizon=8, epsilon=0.25).values) == dict(totals.values)


def test_refusals_have_their_classes(served: Served, steps: RemoteDataset) -> None:
    with pytest.raises(QueryError):
        steps.release(bdp.Count("s", equals=7), epsilon=0.25)
    with pytest.raises(AllowanceError) as refused:
        steps.release(ON, epsilon=1.25)
    assert refused.value.remaining == 1.0
    with pytest.raises(BudgetError):
        asking(served, "bob")["steps"].release(ON, epsilon=50.0)
    with pytest.raises(AccessError, match=r"^access denied$"):
        asking(served, "bob")["other"].describe()
    with (
        bdp.connect(URL, "wrong", transport=served.client._transport) as stranger,
        pytest.raises(AccessError, match=r"^access denied$"),
    ):
        stranger["steps"].describe()


def test_a_ledger_restored_from_a_back_up_is_noticed(tmp_path: Path) -> None:
    write_tables(tmp_path)
    heads = tmp_path / "heads.json"
    with opened(tmp_path, CONFIGURED) as serving:
        asking(serving, heads=heads)["steps"].release(ON, epsilon=0.125)
    shutil.copy(tmp_path / "budget.db", tmp_path / "back-up.db")
    with opened(tmp_path, CONFIGURED) as serving:
        asking(serving, heads=heads)["steps"].release(ON, epsilon=0.25)
    shutil.copy(tmp_path / "back-up.db", tmp_path / "budget.db")
    with (
        opened(tmp_path, CONFIGURED) as serving,
        pytest.raises(LedgerError, match="restored from an older back-up"),
    ):
        asking(serving, heads=heads)["steps"].release(ON, epsilon=0.375)


def test_a_slow_release_becomes_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayesdp.client.connection.sleep", lambda seconds: sleep(min(seconds, 0.05)))
    write_tables(tmp_path)
    shares: list[float] = []
    with (
        opened(tmp_path, CONFIGURED + "\n[limits]\nwait = 0.001\n") as serving,
        listening_to_progress(lambda label, share: shares.append(share)),
    ):
        answer = asking(serving)["steps"].release(ON, epsilon=0.25)
        assert list(asking(serving)["steps"].answers) == [answer]
    assert shares, "it was a job"


@pytest.mark.slow
def test_the_command_line_asks_over_a_socket(tmp_path: Path) -> None:
    write_tables(tmp_path)
    (tmp_path / "config.toml").write_text(CONFIGURED + "\n[server]\nport = 0\n")
    quiet = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "PYTHONWARNINGS": "ignore"}

    def bayesdp(*words: str) -> str:
        command = [sys.executable, "-m", "bayesdp", *words]
        return subprocess.run(command, cwd=tmp_path, env=quiet, check=True, capture_output=True, text=True).stdout

    token = json.loads(bayesdp("serve", "token", "add", "ada", "--json"))["token"]
    (tmp_path / "token").write_text(token)
    serving = [sys.executable, "-m", "bayesdp", "serve", "config.toml", "--json"]
    with subprocess.Popen(serving, cwd=tmp_path, env=quiet, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["address"]
            place = ("--server", url, "--token-file", "token")
            question = ("--dataset", "steps", "--query", "count", "--column", "s", "--states", "1")
            answer = json.loads(bayesdp("release", *place, *question, "--epsilon", "0.25", "--json"))
            assert bdp.Answer.from_dict(answer).query == ON
            again = json.loads(bayesdp("release", *place, *question, "--epsilon", "0.25", "--json"))
            assert (again["value"], again["reused"]) == (answer["value"], True)
            assert "steps" in bayesdp("datasets", *place)
        finally:
            server.terminate()
