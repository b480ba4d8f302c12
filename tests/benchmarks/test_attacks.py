"""The attacks, with tiny numbers: each runs, finds nothing wrong, and would say so if it did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bayesdp as bdp
from attacks import edits, kills, neighbours, races
from attacks.common import Finding, main, opened
from bayesdp.errors import InvalidInputError


@pytest.mark.slow
def test_neighbouring_tables_are_told_apart_by_nothing() -> None:
    sessions, lines = neighbours.attack(short=True, pairs=4, lines=1)
    assert (sessions.tried, lines.tried) == (4, 1)
    assert not sessions.broken + lines.broken


def test_a_message_about_a_private_value_is_found() -> None:
    def reported(pair: neighbours.Pair, table: Mapping[str, Sequence[Any]], folder: Path) -> neighbours.Said:
        return [("open", f"the values are {table['x']}")]

    assert neighbours.compared("telling", 3, reported).broken


def test_a_reason_in_the_context_of_a_refusal_is_found() -> None:
    """As from a session that is left by an exception: what was being handled is still there to be read."""

    def refuse(value: str) -> None:
        try:
            int(value)
        except ValueError:
            raise InvalidInputError("the table is refused") from None

    def reported(value: str) -> str:
        with pytest.raises(InvalidInputError) as caught:
            refuse(value)
        return neighbours._exception(caught.value)

    assert reported("seven") != reported("eight")
    assert reported("seven").replace("seven", "eight") == reported("eight")


@pytest.mark.slow
def test_a_race_ends_at_the_budget(tmp_path: Path) -> None:
    found = races.race(str(tmp_path / "budget.db"), workers=2, releases=2)
    assert (found.tried, found.broken) == (4, [])


def test_a_kill_leaves_no_answer_without_its_charge(tmp_path: Path) -> None:
    found = kills.killed(str(tmp_path / "budget.db"), tmp_path / "logs", 1, "SQLite")
    assert (found.tried, found.broken) == (1, [])


def test_an_answer_that_the_ledger_does_not_know_is_found(tmp_path: Path) -> None:
    ledger = str(tmp_path / "budget.db")
    with bdp.Session(
        pl.DataFrame({"x": [0, 1]}), bdp.Independent(), dataset="d", epsilon=1.0, ledger=ledger
    ) as session:
        answer = session.release(bdp.Count("x", equals=1), epsilon=0.5)
    assert not list(kills.wrong(ledger, [{"entry": answer.entry, "value": answer.value}]))
    assert list(kills.wrong(ledger, [{"entry": answer.entry, "value": "another"}]))
    assert list(kills.wrong(ledger, [{"entry": answer.entry + 100, "value": answer.value}]))


def test_thirty_edits_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(edits.EDITS) == 30
    assert main(edits.attack, ["--short"]) == 0
    assert "all found by verify" in capsys.readouterr().out


def test_a_violation_is_printed_and_is_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    def attack(short: bool) -> Iterator[Finding]:
        yield Finding("harmless", 3)
        yield Finding("harmful", 1, ["the budget was passed"])

    assert main(attack, []) == 1
    assert "VIOLATION (harmful): the budget was passed" in capsys.readouterr().out


def test_public_columns_are_passed_to_sessions_that_take_them(monkeypatch: pytest.MonkeyPatch) -> None:
    class WithPublic:
        def __init__(self, frame: object, model: object, public: object = None) -> None:
            self.public = public

    class WithoutPublic:
        def __init__(self, frame: object, model: object) -> None:
            self.public = "no parameter"

    for session, public in ((WithPublic, ["t"]), (WithoutPublic, "no parameter")):
        monkeypatch.setattr(bdp, "Session", session)
        given: Any = opened(None, bdp.Independent(), ["t"])
        assert given.public == public
