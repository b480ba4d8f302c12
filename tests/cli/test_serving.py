"""bayesdp serve: checking a configuration, keeping tokens, fitting as the holder of the data."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

from bayesdp.ledger import Ledger

CONFIGURATION = """\
ledger = "budget.db"

[datasets.steps]
data = "data.csv"
model = { type = "odds-chain", odds = 9.0, states = [0, 1], column = "s", layout = { order_by = ["t"] } }
epsilon = 9.0

[analysts.ada]
datasets = ["steps"]
"""

Printed = Callable[..., str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = range(2000)
    polars.DataFrame({"s": [int(row * 7 % 10 < 4) for row in rows], "t": list(rows)}).write_csv("data.csv")
    Path("config.toml").write_text(CONFIGURATION)
    return tmp_path


def test_a_configuration_is_checked(printed: Printed) -> None:
    for line in ("serve config.toml --check", "serve --check config.toml", "serve run config.toml --check"):
        assert printed(*line.split()) == "config.toml can be served: 1 data set, 1 analyst.\n"
    said = json.loads(printed("serve", "config.toml", "--check", "--json"))
    assert (said["kind"], said["accepted"], said["datasets"], said["analysts"]) == ("check", True, ["steps"], ["ada"])
    assert not Path("budget.db").exists()


@pytest.mark.parametrize("line", ["serve config.toml", "serve config.toml --check", "serve token add ada"])
def test_a_mistake_is_one_line_with_its_place(line: str, printed: Printed) -> None:
    Path("config.toml").write_text(CONFIGURATION.replace("epsilon = 9.0", "epsilon = 0"))
    assert printed(*line.split(), status=2) == "bayesdp: config.toml:6: epsilon must be greater than 0, not 0\n"
    assert printed("serve", "other.toml", status=2).startswith("bayesdp: cannot read other.toml: ")


def test_tokens_are_issued_listed_and_revoked(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "There are no tokens" in printed("serve", "token", "list")
    token, whose = printed("serve", "token", "add", "ada", "--days", "90").splitlines()
    assert token.startswith("bdp_")
    assert whose.startswith("This is token 1 of ada; it expires ")
    monkeypatch.setenv("BAYESDP_SERVER_CONFIG", str(Path("config.toml").resolve()))
    monkeypatch.chdir("/")
    issued = json.loads(printed("serve", "token", "add", "ada", "--json"))
    assert (issued["kind"], issued["name"], issued["number"], issued["expires"]) == ("token", "ada", 2, None)
    listed = printed("serve", "token", "list")
    assert [line.split(":")[0] for line in listed.splitlines()] == ["1 ada", "2 ada"]
    assert token not in listed + printed("serve", "token", "list", "--json")
    assert printed("serve", "token", "revoke", "ada", "--number", "1") == "1 token of ada revoked.\n"
    assert json.loads(printed("serve", "token", "revoke", "ada", "--json"))["tokens"] == 1
    assert "no valid token of 'ada'" in printed("serve", "token", "revoke", "ada", status=2)
    assert "has no analyst 'bob'" in printed("serve", "token", "add", "bob", status=2)
    assert "--days must be greater than 0" in printed("serve", "token", "add", "ada", "--days", "0", status=2)


def test_the_holder_fits_the_model_of_a_data_set(printed: Printed) -> None:
    line = ("serve", "fit", "steps", "--private-tau", "0.5", "--by", "carla")
    assert json.loads(printed(*line, "--dry-run", "--json"))["tau"] == 0.5
    assert not Ledger("budget.db", create=False).entries("steps", "charge")
    assert "It cost tau = 0.5" in printed(*line, "--anyway")
    assert "Learnt before; repeating it costs nothing" in printed(*line, "--anyway")
    with Ledger("budget.db", create=False) as ledger:
        (charge,) = ledger.entries("steps", "charge")
    assert charge.content()["details"]["by"] == "carla"
    assert "has no data set 'walks'" in printed("serve", "fit", "walks", *line[3:], status=2)


def test_other_commands_load_no_server() -> None:
    program = (
        "import sys; from bayesdp.cli import run; run(['budget', 'show', '--ledger', 'nothing.db']); "
        "print(sorted({'fastapi', 'starlette', 'uvicorn', 'jwt'} & set(sys.modules)))"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout.splitlines()[-1] == "[]"
