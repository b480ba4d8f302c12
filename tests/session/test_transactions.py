"""How often a release asks the ledger, and that what it remembers is never more than a guess."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp import Count
from bayesdp.errors import BudgetError
from bayesdp.ledger import Entry, Ledger
from bayesdp.ledger.database import Database
from bayesdp.session.session import Session

TABLE = polars.DataFrame({"s": [0, 1, 2, 3] * 25})


def opened(ledger: Path | Ledger, epsilon: float | None = 50.0) -> Session:
    return Session(TABLE, bdp.Independent(), dataset="d", epsilon=epsilon, ledger=ledger)


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], list[bool]]:
    """Return what counts the transactions of an action: True for each that writes, False for each that only reads."""
    real = Database.transaction
    seen: list[bool] = []

    def counting(self: Database, *, write: bool) -> Any:
        seen.append(write)
        return real(self, write=write)

    monkeypatch.setattr(Database, "transaction", counting)

    def counted(action: Callable[[], Any]) -> list[bool]:
        seen.clear()
        action()
        return seen.copy()

    return counted


def test_a_fresh_release_takes_two_transactions(
    tmp_path: Path, transactions: Callable[[Callable[[], Any]], list[bool]]
) -> None:
    with opened(tmp_path / "b.db") as session:
        session.release(Count("s", equals=0), epsilon=0.5)  # also enters that the column is looked up
        fresh = transactions(lambda: session.release(Count("s", equals=1), epsilon=0.5))
        several = transactions(lambda: session.release_all([Count("s", equals=2), Count("s", equals=3)], epsilon=0.5))
        stored = transactions(lambda: session.release(Count("s", equals=1), epsilon=0.5))
    assert fresh == [True, True], "the charge and the answer"
    assert several == [True, True, True], "one charge, two answers"
    assert stored == [False]
    with opened(tmp_path / "b.db") as again:
        again.release(Count("s", isin=[0, 1]), epsilon=0.5)
        assert transactions(lambda: again.release(Count("s", isin=[1, 2]), epsilon=0.5)) == [True, True]
        assert transactions(lambda: again.release(Count("s", equals=1), epsilon=0.5)) == [False]


def test_an_answer_of_a_concurrent_session_is_returned_uncharged(tmp_path: Path) -> None:
    with opened(tmp_path / "b.db") as slow, opened(tmp_path / "b.db") as quick:
        slow.release(Count("s", equals=0), epsilon=0.5)
        first = quick.release(Count("s", equals=1), epsilon=0.5)
        again = slow.release(Count("s", equals=1), epsilon=0.5)
        assert (again.value, again.entry, again.reused) == (first.value, first.entry, True)
        assert slow._account.state().charges == 2


def test_a_budget_that_was_raised_meanwhile_can_be_spent(tmp_path: Path) -> None:
    with Ledger(tmp_path / "b.db") as ledger, opened(tmp_path / "b.db", 1.0) as session:
        session.release(Count("s", equals=0), epsilon=1.0)
        with pytest.raises(BudgetError):
            session.release(Count("s", equals=1), epsilon=1.0)
        ledger.raise_budget("d", 2.0, reason="agreed")
        assert session.release(Count("s", equals=1), epsilon=1.0).epsilon_total == 2.0


def test_a_budget_that_was_spent_meanwhile_is_not_spent_again(tmp_path: Path) -> None:
    with opened(tmp_path / "b.db", 1.0) as one, opened(tmp_path / "b.db") as other:
        one.release(Count("s", equals=0), epsilon=0.25)
        other.release(Count("s", equals=1), epsilon=0.75)
        with pytest.raises(BudgetError):
            one.release(Count("s", equals=2), epsilon=0.5)
        assert one._account.state().charges == 2


def read_by(action: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many answers an action reads."""
    real, read = Entry.content, list[Entry]()

    def content(entry: Entry) -> dict[str, Any]:
        read.append(entry)
        return real(entry)

    with monkeypatch.context() as patched:
        patched.setattr(Entry, "content", content)
        action()
    return sum(entry.kind == "answer" for entry in read)


def test_however_many_answers_a_question_has_one_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    once, often = Count("s", equals=0), Count("s", equals=1)
    with opened(tmp_path / "b.db") as session:
        session.release(once, epsilon=0.01)
        for number in range(1, 66):
            last = session.release(often, epsilon=0.01 * number)
            assert not last.reused
        assert len(session._account.answers(last.query_fingerprint)) == 65
        for asked in ((once, 0.01), (often, 0.65), (often, 0.2)):
            assert read_by(partial(session.release, asked[0], epsilon=asked[1]), monkeypatch) == 1
        assert session.release(often, epsilon=0.2).entry == last.entry
        assert session._account.state().charges == 66
