"""Releases made elsewhere: what they are charged, what is refused, and what the ledger keeps of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp.cli import run
from bayesdp.errors import BudgetError, InvalidInputError, LedgerError, ModelError, QueryError
from bayesdp.ledger import Ledger
from bayesdp.models.diagnosis import Diagnosis, Finding, Verdict
from bayesdp.session.record import Recorded
from bayesdp.session.session import Session

TABLE = polars.DataFrame({"ill": [True, False, False, False] * 50})
CHAIN = bdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], states=[False, True], column="ill", length=200)


@pytest.fixture
def session(tmp_path: Path) -> Any:
    with Session(TABLE, CHAIN, dataset="ill", epsilon=2.0, ledger=tmp_path / "budget.db", by="Ada") as opened:
        yield opened


def test_it_is_converted_together_with_everything_else(session: Session) -> None:
    counted = session.release(bdp.Count("ill", equals=True), epsilon=0.5)
    recorded = session.record(tau=0.1, neighbours="replace", what="a histogram made with OpenDP")
    both = bdp.leakage(CHAIN, [(bdp.Histogram("ill", cells=[False, True]), counted.tau), (bdp.AnyMechanism(), 0.1)])
    assert recorded.epsilon_total == pytest.approx(both.epsilon, rel=1e-12)
    assert session.leaked == recorded.epsilon_total
    assert recorded.epsilon == pytest.approx(recorded.epsilon_total - counted.epsilon_total)
    assert recorded.epsilon_remaining == pytest.approx(2.0 - recorded.epsilon_total)
    assert recorded.theorem == both.theorem


def test_adding_or_removing_a_record_counts_double(session: Session) -> None:
    recorded = session.record(tau=0.1, what="a count by Tumult", neighbours="add-remove")
    assert (recorded.stated_tau, recorded.tau) == (0.1, 0.2)
    assert recorded.epsilon == bdp.leakage(CHAIN, bdp.AnyMechanism(), tau=0.2, neighbours="replace").epsilon
    assert "for it is stated for adding or removing a record" in str(recorded)


@pytest.mark.parametrize(
    ("reported", "message"),
    [
        ({"tau": (1.0, 1e-6)}, r"a tau is pure differential privacy, and tau = .* is not"),
        ({"tau": 0.1, "definition": "zcdp"}, "definition = 'zcdp' is not: .* zCDP and Gaussian noise"),
        ({"tau": 0.1, "neighbours": "swap"}, 'neighbours must be "replace"'),
        ({"tau": 0.0}, "tau must be"),
        ({"tau": float("inf")}, "tau must be"),
        ({"tau": 1e308, "neighbours": "add-remove"}, "too large"),
        ({"tau": 0.1, "published": "yes"}, "published must be True or False"),
        ({"tau": 0.1, "what": "  "}, "what"),
        ({"tau": 0.1, "what": "two\nlines"}, "line breaks"),
        ({"tau": 0.1, "column": "age"}, "the model describes 'ill'"),
    ],
)
def test_what_is_refused_costs_nothing(session: Session, reported: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        session.record(**{"what": "something", "neighbours": "replace", **reported})
    assert (session.leaked, session.history) == (0.0, ())


def test_the_budget_stops_it_unless_it_is_out_already(session: Session) -> None:
    with pytest.raises(BudgetError):
        session.record(tau=5.0, neighbours="replace", what="far too much")
    assert session.leaked == 0
    out = session.record(tau=5.0, neighbours="replace", what="far too much", published=True)
    assert out.epsilon_total > 2.0
    assert (out.epsilon_remaining, session.remaining) == (0.0, 0.0)
    assert "more has leaked than the budget allows" in str(out)
    with pytest.raises(BudgetError):
        session.release(bdp.Count("ill", equals=True), epsilon=0.001)


def test_the_same_words_twice_are_two_releases(session: Session) -> None:
    first, second = (session.record(tau=0.1, neighbours="replace", what="the monthly count") for _ in range(2))
    assert second.epsilon_total == bdp.leakage(CHAIN, bdp.AnyMechanism(), tau=0.2, neighbours="replace").epsilon
    assert session.history == (first, second)


def test_the_ledger_keeps_it(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = session.record(tau=0.1, what="a decision tree", neighbours="add-remove")
    with Ledger(tmp_path / "budget.db") as ledger:
        assert ledger.verify([(recorded.entry, recorded.head)]).ok
        (charge,) = ledger.entries("ill", "charge")
    details = charge.content()["details"]
    assert details["by"] == "Ada"
    assert details["recorded"] == {
        "what": "a decision tree",
        "stated_tau": 0.1,
        "neighbours": "add-remove",
        "published": False,
    }
    assert run(["budget", "show", "--ledger", str(tmp_path / "budget.db")]) == 0
    printed = capsys.readouterr().out
    assert "made elsewhere" in printed
    assert "a decision tree" in printed


def test_what_was_stored_is_read_back_or_refused(session: Session) -> None:
    recorded = session.record(tau=0.1, neighbours="replace", what="a decision tree")
    document = json.loads(recorded.to_json())
    assert Recorded.stored(document) == recorded
    assert Recorded.stored({"kind": "answer"}) is None
    for damaged in ({**document, "schema": 2}, {name: value for name, value in document.items() if name != "tau"}):
        with pytest.raises(LedgerError, match="damaged, or newer"):
            Recorded.stored(damaged)


def test_a_session_does_not_make_it(session: Session) -> None:
    with pytest.raises(QueryError, match=r"made elsewhere; to charge it here, use session\.record\(tau=, what=\)"):
        session.release(bdp.AnyMechanism(), epsilon=0.5)
    with pytest.raises(QueryError, match="session"):
        session.preview(bdp.AnyMechanism(), epsilon=0.5)
    assert session.leaked == 0


def test_a_violated_model_needs_a_reason(tmp_path: Path) -> None:
    order = Finding("order", "Is one record enough?", "G² = 496", Verdict.VIOLATED, "It is not.", "")
    denied = CHAIN.with_diagnosis(Diagnosis("a chain", (order,), 200, "200 records", date="2026-11-16", rows=200))
    with Session(TABLE, denied, dataset="ill", epsilon=2.0, ledger=tmp_path / "budget.db") as session:
        with pytest.raises(ModelError, match="accept="):
            session.record(tau=0.1, neighbours="replace", what="a count")
        assert session.leaked == 0
        assert session.record(tau=0.1, neighbours="replace", what="a count", accept="a demonstration").tau == 0.1


def test_normal_groups_pay_for_every_record(tmp_path: Path) -> None:
    table = polars.DataFrame({"height": [60.0, 65.0, 70.0, 75.0]})
    family = bdp.GaussianGroups(covariance=[[1.0, 0.3], [0.3, 1.0]], column="height")
    with Session(table, family, dataset="heights", epsilon=5.0, ledger=tmp_path / "budget.db") as session:
        total = session.release(bdp.Sum("height", bounds=(0, 100)), epsilon=1.0)
        recorded = session.record(tau=0.25, neighbours="replace", what="a median made with diffprivlib")
    assert recorded.epsilon_total == pytest.approx(total.epsilon_total + 2 * 0.25)


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model, ledger = tmp_path / "ill.parquet", tmp_path / "model.json", tmp_path / "budget.db"
    TABLE.write_parquet(data)
    CHAIN.save(model)
    place = ["--model", str(model), "--dataset", "ill", "--ledger", str(ledger), "--budget", "2"]
    command = ["budget", "record", str(data), *place, "--tau", "0.1", "--what", "a tree"]
    assert run([*command, "--neighbours", "add-remove", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["kind"], printed["tau"], printed["what"]) == ("recorded", 0.2, "a tree")
    assert run([*command, "--neighbours", "swap"]) == 2
    assert "neighbours must be" in capsys.readouterr().err
    assert run(["leakage", str(model), "--query", "any-mechanism", "--tau", "0.2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == printed["epsilon"]
