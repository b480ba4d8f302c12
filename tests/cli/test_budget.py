"""What an account allows, and what was released: public columns, more checks, and `budget show`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest

from bayesdp.ledger import Ledger
from bayesdp.session.overview import overview

Printed = Callable[..., str]
Released = Callable[..., dict[str, Any]]

LEDGER = ("--ledger", "sqlite:///budget.db", "--dataset", "people")
FILTERED = ("--query", "mean", "--column", "age", "--bounds", "0", "100", "--where", "district = 1", "--public-filter")


@pytest.fixture
def release(given: list[str]) -> tuple[str, ...]:
    polars.DataFrame({"age": [20, 30, 40, 50], "district": [1, 1, 2, 2], "ill": [0, 1, 0, 1]}).write_csv("data.csv")
    Path("model.json").write_text(json.dumps({"type": "independent"}))
    return ("release", "data.csv", "--model", "model.json", *LEDGER, "--epsilon", "1")


def test_columns_are_named_as_public_once(release: tuple[str, ...], printed: Printed, released: Released) -> None:
    assert "does not name as public" in printed(*release, *FILTERED, "--budget", "5", status=2)
    count = ("--query", "count", "--column", "ill", "--states", "1")
    released(*release, *count, "--budget", "5")
    public = ("budget", "public", *LEDGER, "--columns", "district")
    assert "--reason" in printed(*public, status=2)
    assert printed(*public, "--reason", "it is on the map") == "Public in people: district (entry 6).\n"
    assert released(*release, *FILTERED)["records"] == 4
    assert "already" in printed(*public, "--reason", "again", status=2)
    wrong = ("budget", "public", *LEDGER, "--columns", "ill", "--reason", "no")
    assert "'ill' cannot be public" in printed(*wrong, status=2)
    assert "Public columns: district" in printed("budget", "show", "--ledger", "budget.db")
    named = json.loads(printed("budget", "show", "--ledger", "budget.db", "--json"))["datasets"][0]
    assert (named["public"], named["checks"]) == (["district"], 3)


def test_an_account_is_opened_with_public_columns(release: tuple[str, ...], printed: Printed) -> None:
    opening = ("budget", "open", "data.csv", "--model", "model.json", *LEDGER, "--budget", "5", "--public", "district")
    printed(*opening)
    assert "off by less than" in printed(*release, *FILTERED, "--dry-run")
    assert "does not name 'age' as public" in printed(*release, *FILTERED, "--public", "age", status=2)


def test_a_forgotten_growing_is_no_dead_end(given: list[str], printed: Printed, released: Released) -> None:
    rows = {"hour": range(40), "on": [hour % 3 % 2 for hour in range(40)]}
    polars.DataFrame(rows).head(30).write_csv("data.csv")
    layout = {"order_by": ["hour"]}
    Path("model.json").write_text(json.dumps({"type": "odds-chain", "odds": 9, "column": "on", "layout": layout}))
    table = ("data.csv", "--model", "model.json", *LEDGER)
    count = ("--query", "count", "--column", "on", "--states", "1", "--epsilon", "1")
    released("release", *table, *count, "--budget", "5")
    polars.DataFrame(rows).write_csv("data.csv")
    said = printed("release", *table, *count, status=2)
    assert "(30 rows then, 40 now)" in said
    assert "bayesdp budget grow DATA" in said
    assert "bayesdp budget grow DATA" in printed("release", *table, *count, "--growing", status=2)
    assert "--reason" in printed("budget", "grow", *table, status=2)
    grown = printed("budget", "grow", *table, "--reason", "rows come in every day")
    assert grown.startswith("The table of people grows from its 30 rows on (entry ")
    assert "; give --growing from now on. For chains of any length, ε = 1 has leaked so far." in grown
    assert "grows already" in printed("budget", "grow", *table, "--reason", "again", status=2)
    assert "--growing" in printed("release", *table, *count, status=2)
    assert released("release", *table, *count, "--growing")["records"] == 40
    shown = printed("budget", "show", "--ledger", "budget.db")
    assert "the table grows from 30 rows on, because: rows come in every day" in shown
    printed("budget", "verify", "--ledger", "budget.db")


def test_more_checks_are_allowed_with_a_reason(release: tuple[str, ...], printed: Printed, released: Released) -> None:
    allow = ("budget", "allow-checks", *LEDGER, "--to")
    assert "there is no ledger" in printed(*allow, "200", "--reason", "a second study", status=2)
    printed(*release, "--query", "count", "--column", "ill", "--states", "1", "--budget", "5", "--dry-run")
    assert printed(*allow, "200", "--reason", "a second study") == (
        "The table of people was checked in 1 way; 200 are allowed now.\n"
    )
    allowed = released(*allow, "300", "--reason", "a third")
    assert allowed == {"dataset": "people", "made": 1, "allowed": 300}
    for wrong in ("100", "0", "many"):
        printed(*allow, wrong, "--reason", "x", status=2)


def test_what_was_released_refused_and_changed_is_shown(given: list[str], printed: Printed, released: Released) -> None:
    with Ledger("budget.db") as ledger:
        ledger.refused("steps", "the table is outside the model")
    released(*given, "--epsilon", "0.5", "--budget", "2")
    change = ("--ledger", "budget.db", "--dataset", "steps", "--to")
    printed("budget", "lower", *change, "1.5")
    printed("budget", "raise", *change, "1.75", "--reason", "the board agreed")
    shown = ("budget", "show", "--ledger", "budget.db")
    assert printed(*shown) == f"{overview('budget.db', None)}\n"
    assert released(*shown, "--dataset", " steps") == overview("budget.db", "steps").to_dict()
    assert len(json.loads(printed("budget", "export", "--ledger", "budget.db"))["entries"]) == 7
    assert "no data set 'no'" in printed(*shown, "--dataset", "no", status=2)
