"""`bayesdp budget show`: what was released, refused and changed, and what remains."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bayesdp.cli.overview import Overview, overview, overview_of
from bayesdp.errors import LedgerError
from bayesdp.ledger import Charge, Ledger

Printed = Callable[..., str]
Released = Callable[..., dict[str, Any]]


def test_budget_show_says_what_was_answered_spent_and_changed(
    given: list[str],
    printed: Printed,
    released: Released,
    shown: Released,
) -> None:
    first = released(*given, "--epsilon", "0.5", "--budget", "2")
    change = ("--ledger", "budget.db", "--dataset", "steps", "--to")
    printed("budget", "lower", *change, "1.5")
    printed("budget", "raise", *change, "1.75", "--reason", "the board agreed")
    account = shown()
    (release,) = account["releases"]
    assert (release["value"], release["answer"]) == (first["value"], str(first["value"]))
    assert release["epsilon"] == first["epsilon"] == pytest.approx(0.5)
    assert [(each["change"], each["budget"], each["reason"]) for each in account["changes"]] == [
        *(("open", 2.0, None), ("lower", 1.5, None), ("raise", 1.75, "the board agreed"))
    ]
    assert account["refusals"] == []
    text = printed("budget", "show", "--ledger", "budget.db")
    assert "steps: ε = 0.5 of 1.75 leaked, 1.25 remaining; 1 release, 1 check of the table, no refusals\n" in text
    line = next(line for line in text.splitlines() if line.startswith("3 "))
    assert line.split()[3:6] == ["0.5", f"{first['tau']:.6g}", str(first["value"])]
    assert "lowered to 1.5, no reason given" in text
    assert "raised to 1.75, because: the board agreed" in text
    second = released(*given, "--query", "histogram", "--states", "0,1", "--epsilon", "0.5")
    text = printed("budget", "show", "--ledger", "budget.db")
    assert "2 releases" in text
    assert "0: {}, 1: {}".format(*second["value"]) in text


def test_budget_show_prints_no_dust(
    given: list[str],
    printed: Printed,
    released: Released,
    shown: Released,
) -> None:
    released(*given, "--epsilon", "0.3", "--budget", "0.3000000000000001")
    account = shown()
    assert 0 < account["epsilon_remaining"] < 1e-11
    assert ", 0 remaining; 1 release" in printed("budget", "show", "--ledger", "budget.db")


def test_budget_show_says_who_answers_for_what(given: list[str], printed: Printed, shown: Released) -> None:
    count = {"query": "count", "column": "s", "equals": 1}
    details = {"epsilon": 0.25, "epsilon_total": 0.25, "theorem": "independent", "query": count}
    more = {"diagnosis": {"verdict": "violated", "p": 0.01}, "accepted": "a pilot study", "by": "Ada"}
    with Ledger("budget.db") as ledger:
        account = ledger.account("steps", model={"type": "independent"}, description={}, budget=1.0)
        charges = Charge("q", "count", count, 0.25, details | more), Charge("r", "count", count, 0.25, details)
        account.charge((), lambda state: charges)
    first, second = shown()["releases"]
    assert (first["diagnosis"], first["accepted"], first["by"]) == ("violated", "a pilot study", "Ada")
    assert (second["diagnosis"], second["accepted"], second["by"], second["value"]) == (None, None, None, None)
    text = printed("budget", "show", "--ledger", "budget.db")
    assert "entry 2: diagnosis of the model: violated; accepted because: a pilot study; by: Ada\n" in text
    assert "entry 3:" not in text
    assert "none stored" in text


def test_budget_show_counts_refusals_also_without_an_account(
    given: list[str],
    printed: Printed,
    released: Released,
    shown: Released,
) -> None:
    with Ledger("budget.db") as ledger:
        ledger.refused("steps", "the table is outside the model")
        ledger.refused("steps", "the question cannot be asked of this table")
    account = shown("--dataset", " steps")
    assert (account["budget"], account["epsilon_total"], account["releases"]) == (None, 0, [])
    assert [each["reason"] for each in account["refusals"]] == [
        *("the table is outside the model", "the question cannot be asked of this table")
    ]
    text = printed("budget", "show", "--ledger", "budget.db")
    moment = account["refusals"][1]["timestamp"][:19].replace("T", " ")
    assert text == (
        f"steps: no account; no checks of the table, 2 refusals, the last on {moment}: the question cannot be asked "
        "of this table\n"
    )
    released(*given, "--epsilon", "0.5", "--budget", "2")
    assert "1 release, 1 check of the table, 2 refusals, the last on" in printed(
        "budget", "show", "--ledger", "budget.db"
    )
    assert len(json.loads(printed("budget", "export", "--ledger", "budget.db"))["entries"]) == 6
    assert "no data set 'no'" in printed("budget", "show", "--ledger", "budget.db", "--dataset", "no", status=2)


def test_a_name_that_cannot_be_printed_is_written_out() -> None:
    """Names are checked when an account is opened; those of an edited ledger are not."""
    nothing: dict[str, Any] = {"budget": None, "refusals": [], "checks": 0}
    assert (
        str(Overview([{"dataset": "a\x1b[2Jb", **nothing}]))
        == "'a\\x1b[2Jb': no account; no checks of the table, no refusals"
    )


def test_an_empty_ledger_says_so_and_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        overview(tmp_path / "none.db", None)
    assert not list(tmp_path.iterdir())
    with Ledger(tmp_path / "empty.db") as ledger:
        assert str(overview_of(ledger, None)) == "The ledger is empty: no data set has been opened in it."
        assert overview_of(ledger, None).to_dict()["datasets"] == []
