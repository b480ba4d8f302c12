"""The index of answers finds what reading all of them would find, and is never believed beyond the entries it names."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.errors import LedgerError
from bayesdp.ledger import Account, Charge, Ledger
from bayesdp.ledger.answer_index import answer_row
from bayesdp.session.plan import Target

OTHERS = ["a", "b", "c"]
REQUESTS = st.one_of(
    st.fixed_dictionaries({"epsilon": st.sampled_from([0.1, 0.2, 0.5])}, optional={"questions": st.none()}),
    st.sets(st.sampled_from(OTHERS), min_size=1).flatmap(
        lambda others: st.fixed_dictionaries(
            {"epsilon": st.sampled_from([0.1, 0.2, 0.5]), "questions": st.just(["q", *sorted(others)])}
        )
    ),
    st.fixed_dictionaries({"alpha": st.sampled_from([1.0, 2.0, 4.0]), "beta": st.sampled_from([0.05, 0.1])}),
)
BODIES = st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3]), st.none() | REQUESTS), min_size=1, max_size=12)
TARGETS = st.one_of(
    st.builds(Target, st.sampled_from([0.1, 0.2, 0.5]), st.none(), st.just(0.05)),
    st.builds(Target, st.none(), st.sampled_from([1.0, 2.0, 4.0]), st.sampled_from([0.05, 0.1])),
)


def release(account: Account, question: str, body: dict[str, Any]) -> int:
    (receipt,) = account.charge((), lambda state: (Charge(question, "count", {"query": "count"}, 0.5),))
    account.answer(receipt, body)
    return receipt.entry


def filled(ledger: Ledger) -> Account:
    account = ledger.account("steps", model={}, description={}, budget=9.0)
    for question in ("q", "else"):
        for tau in (0.25, 0.5):
            release(account, question, {"tau": tau, "asked": {"epsilon": tau}, "question": question})
    return account


@given(BODIES, st.lists(TARGETS, min_size=1, max_size=4), st.sets(st.sampled_from(OTHERS)), st.floats(0.05, 0.4))
@pytest.mark.slow
def test_a_good_answer_is_found_whenever_there_is_one(
    bodies: list[tuple[float, Any]], targets: list[Target], others: set[str], tau: float
) -> None:
    asked = ["q", *sorted(others)]
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "b.db") as ledger:
        account = ledger.account("steps", model={}, description={}, budget=9.0)
        for number, (own, request) in enumerate(bodies):
            request = None if request is None else {name: given for name, given in request.items() if given}
            release(account, "q", {"tau": own, "asked": request, "number": number})
        best, every = account.state(*asked).answers("q"), account.answers("q")
        assert ledger.verify().ok
    for target in targets:

        def good(answers: Any, target: Target = target) -> list[float]:
            return [body["tau"] for body in answers if body["tau"] >= tau or target.covered_by(body["asked"], asked)]

        assert bool(good(best)) == bool(good(every)), "one is found whenever there is one"


@pytest.mark.parametrize(
    "asked",
    [None, 7, {}, {"epsilon": "x"}, {"epsilon": True}, {"alpha": None}, {"questions": "q"}, {"epsilon": 10**400}],
)
def test_whatever_an_answer_holds_it_is_stored_and_found(tmp_path: Path, asked: object) -> None:
    assert answer_row("d", "q", {"asked": asked, "tau": asked}).tau == (7.0 if asked == 7 else 0.0)
    with Ledger(tmp_path / "b.db") as ledger:
        account = ledger.account("steps", model={}, description={}, budget=9.0)
        release(account, "q", {"asked": asked})
        assert account.state("q").answers("q") == ({"asked": asked},)
        assert ledger.verify().ok


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        ("DELETE FROM bayesdp_answers", False),
        ("UPDATE bayesdp_answers SET question = 'q' WHERE question = 'else'", True),
        ("UPDATE bayesdp_answers SET entry = 2 WHERE entry = 5", True),
        ("UPDATE bayesdp_answers SET entry = 99 WHERE entry = 5", False),
        ("UPDATE bayesdp_answers SET tau = 9, demand = 9 WHERE entry = 3", False),
        ("INSERT INTO bayesdp_answers VALUES (90, 'steps', 'q', 9, 'terms', 9, 1)", False),
    ],
)
def test_an_edited_index_returns_no_answer_that_is_not_stored(tmp_path: Path, statement: str, refused: bool) -> None:
    path = tmp_path / "b.db"
    with Ledger(path) as ledger:
        account = filled(ledger)
        assert [body["tau"] for body in account.state("q").answers("q")] == [0.5]
        with closing(sqlite3.connect(path)) as database, database:
            assert database.execute(statement).rowcount
        if refused:
            with pytest.raises(LedgerError, match="damaged"):
                account.state("q")
        else:
            assert {body["tau"] for body in account.state("q").answers("q")} <= {0.25, 0.5}
        assert any("place in the index of the answer" in problem for problem in ledger.verify().problems)


def test_an_edited_answer_is_refused_whatever_the_index_holds(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    with Ledger(path) as ledger:
        account = filled(ledger)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE bayesdp_entries SET body = replace(body, '0.5', '0.75') WHERE number = 5")
        with pytest.raises(LedgerError, match="was changed"):
            account.state("q")
