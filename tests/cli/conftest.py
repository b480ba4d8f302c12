"""A table, a model and a ledger to release into, and what a command prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars
import pytest
import typer

from bayesdp.cli import fitting, run

MODEL = {"type": "markov", "states": [0, 1], "transition": [[0.9, 0.1], [0.4, 0.6]], "length": 500, "column": "s"}


@pytest.fixture(autouse=True)
def built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build the commands once for each that is named: these tests register nothing that would change them."""
    monkeypatch.setattr("typer.main.get_command", lambda app: _built(app, fitting._first_word.get()))


_build = typer.main.get_command


@cache
def _built(app: typer.Typer, named: str | None) -> Any:
    return _build(app)


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the words of a release, but for its ε and its budget, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    polars.DataFrame({"s": [0, 0, 1, 0, 1] * 100}).write_csv("data.csv")
    Path("model.json").write_text(json.dumps(MODEL))
    return [
        "release",
        "data.csv",
        *("--model", "model.json", "--query", "count", "--column", "s", "--states", "1"),
        *("--ledger", "sqlite:///budget.db", "--dataset", "steps"),
    ]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that runs a command and returns what it prints; its errors, where they are expected."""

    def what_is_printed(*arguments: str, status: int = 0) -> str:
        assert run(list(arguments)) == status
        shown = capsys.readouterr()
        return shown.out if status == 0 else shown.err

    return what_is_printed


@pytest.fixture
def released(printed: Callable[..., str]) -> Callable[..., dict[str, Any]]:
    """Return a function that runs a command and returns its JSON."""
    return lambda *arguments: dict(json.loads(printed(*arguments, "--json")))


@pytest.fixture
def shown(released: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return a function that returns what is shown of the one data set of a ledger."""

    def account(*arguments: str) -> dict[str, Any]:
        found = released("budget", "show", "--ledger", "budget.db", *arguments)
        assert (found["kind"], found["schema"]) == ("budget-overview", 1)
        (one,) = found["datasets"]
        return dict(one)

    return account
