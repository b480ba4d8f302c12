"""What a ledger says of its data sets: what was released, refused and changed, and what remains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp.errors import LedgerError
from bayesdp.ledger import Charge, Ledger
from bayesdp.session.overview import Overview, overview, overview_of
from bayesdp.session.session import Session

TABLE = polars.DataFrame({"s": [0, 0, 1, 0, 1] * 100})
CHAIN = bdp.MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=(0, 1), length=500, column="s")
ONES = bdp.Count("s", equals=1)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


def opened(place: Path, budget: float | None = None) -> Session:
    return Session(TABLE, CHAIN, epsilon=budget, ledger=place, dataset="steps")


def test_it_says_what_was_answered_spent_and_changed(place: Path) -> None:
    with opened(place, 2.0) as session, Ledger(place) as ledger:
        first = session.release(ONES, epsilon=0.5)
        ledger.lower("steps", 1.5)
        ledger.raise_budget("steps", 1.75, reason="the board agreed")
    shown = overview(place, None)
    assert shown.to_dict() == {"kind": "budget-overview", "schema": 1, "datasets": shown.datasets}
    (account,) = shown.datasets
    (release,) = account["releases"]
    assert (release["value"], release["answer"]) == (first.value, str(first.value))
    assert release["epsilon"] == first.epsilon == pytest.approx(0.5)
    assert [(each["change"], each["budget"], each["reason"]) for each in account["changes"]] == [
        *(("open", 2.0, None), ("lower", 1.5, None), ("raise", 1.75, "the board agreed"))
    ]
    assert account["refusals"] == []
    text = str(shown)
    assert "steps: ε = 0.5 of 1.75 leaked, 1.25 remaining; 1 release, 1 check of the table, no refusals\n" in text
    line = next(line for line in text.splitlines() if line.startswith("3 "))
    assert line.split()[3:6] == ["0.5", f"{first.tau:.6g}", str(first.value)]
    assert "lowered to 1.5, no reason given" in text
    assert "raised to 1.75, because: the board agreed" in text
    with opened(place) as session:
        second = session.release(bdp.Histogram("s", cells=(0, 1)), epsilon=0.5)
    text = str(overview(place, None))
    assert "2 releases" in text
    assert isinstance(second.value, tuple)
    assert "0: {}, 1: {}".format(*second.value) in text


def test_it_says_why_windows_cost_as_little_as_they_do(place: Path) -> None:
    hours = polars.DataFrame({"hour": range(60), "s": [number % 2 for number in range(60)]})
    chain = bdp.OddsChain(9.0, column="s", layout=bdp.models.ChainLayout("hour"))

    def count(since: int, until: int) -> bdp.Count:
        return bdp.Count("s", equals=1, since=since, until=until)

    def said() -> tuple[str, int]:
        shown = overview(place, None)
        return str(shown), shown.datasets[0]["releases_of_a_record"]

    with Session(hours, chain, epsilon=9.0, ledger=place, dataset="hours", growing=True) as session:
        session.release(count(0, 20), epsilon=0.5)
        assert "releases:" not in said()[0]
        session.release(count(20, 40), epsilon=0.5)
        assert session.leaked == pytest.approx(0.5)
        text, most = said()
        assert (most, "No record is in more than one of these 2 releases" in text) == (1, True)
        assert "The table grows: a row that is added later pays only for releases that read it." in text
        session.release(count(10, 30), epsilon=0.5)
        text, most = said()
        assert (most, "A record is in at most 2 of these 3 releases" in text) == (2, True)
        for question in (bdp.Count("s", equals=1), bdp.Count("s", equals=0)):
            session.release(question, epsilon=0.5)
        assert said()[1] == 4


def test_without_windows_nothing_need_be_said(place: Path) -> None:
    with opened(place, 2.0) as session:
        session.release(ONES, epsilon=0.5)
        session.release(bdp.Count("s", equals=0), epsilon=0.5)
    shown = overview(place, None)
    assert (shown.datasets[0]["releases_of_a_record"], shown.datasets[0]["growing"]) == (2, False)
    assert "of these" not in str(shown)
    assert "grows" not in str(shown)


def test_it_prints_no_dust(place: Path) -> None:
    with opened(place, 0.3000000000000001) as session:
        session.release(ONES, epsilon=0.3)
    shown = overview(place, "steps")
    assert 0 < shown.datasets[0]["epsilon_remaining"] < 1e-10  # the precision of a search for τ
    assert ", 0 remaining; 1 release" in str(shown)


def test_it_says_who_answers_for_what(place: Path) -> None:
    count = {"query": "count", "column": "s", "equals": 1}
    details = {"epsilon": 0.25, "epsilon_total": 0.25, "theorem": "independent", "query": count}
    more = {"diagnosis": {"verdict": "violated", "p": 0.01}, "accepted": "a pilot study", "by": "Ada"}
    with Ledger(place) as ledger:
        account = ledger.account("steps", model={"type": "independent"}, description={}, budget=1.0)
        charges = Charge("q", "count", count, 0.25, details | more), Charge("r", "count", count, 0.25, details)
        account.charge((), lambda state: charges)
        shown = overview_of(ledger, "steps")
    first, second = shown.datasets[0]["releases"]
    assert (first["diagnosis"], first["accepted"], first["by"]) == ("violated", "a pilot study", "Ada")
    assert (second["diagnosis"], second["accepted"], second["by"], second["value"]) == (None, None, None, None)
    assert "entry 2: diagnosis of the model: violated; accepted because: a pilot study; by: Ada\n" in str(shown)
    assert "entry 3:" not in str(shown)
    assert "none stored" in str(shown)


def test_it_counts_refusals_also_without_an_account(place: Path) -> None:
    with Ledger(place) as ledger:
        ledger.refused("steps", "the table is outside the model")
        ledger.refused("steps", "the question cannot be asked of this table")
        shown = overview_of(ledger, " steps")
        (account,) = shown.datasets
        assert (account["budget"], account["epsilon_total"], account["releases"]) == (None, 0, [])
        assert [each["reason"] for each in account["refusals"]] == [
            *("the table is outside the model", "the question cannot be asked of this table")
        ]
        moment = account["refusals"][1]["timestamp"][:19].replace("T", " ")
        assert str(shown) == (
            f"steps: no account; no checks of the table, 2 refusals, the last on {moment}: the question cannot be "
            "asked of this table"
        )
        with opened(place, 2.0) as session:
            session.release(ONES, epsilon=0.5)
        assert "1 release, 1 check of the table, 2 refusals, the last on" in str(overview_of(ledger, None))
        with pytest.raises(LedgerError, match="no data set 'no'"):
            overview_of(ledger, "no")


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
