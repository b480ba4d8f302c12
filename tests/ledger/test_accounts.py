"""The accounts during one transaction: reads are remembered, and writes are sent together or not at all."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bayesdp.errors import LedgerError
from bayesdp.ledger.accounts import RECENT, AccountStore
from bayesdp.ledger.database import SCHEMA, Database, entries, ledgers
from bayesdp.ledger.records import GENESIS, Charge, Opening, Receipt
from bayesdp.ledger.transaction import Statement, Transaction

OPENING = Opening({"type": "independent"}, {"records": 9}, 2.0)
COUNT = Charge("q", "count", {"query": "count"}, 0.5)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "budget.db", create=True)
    with opened(database) as store:
        store.open("steps", OPENING)
    yield database
    database.close()


@contextmanager
def opened(database: Database, **foreseen: Any) -> Iterator[AccountStore]:
    """Open the accounts to write, and send what was written."""
    with database.transaction(write=True) as transaction:
        store = AccountStore(transaction, write=True, **foreseen)
        yield store
        store.flush()


def numbers(database: Database) -> list[int]:
    with database.transaction(write=False) as transaction:
        return [entry.number for entry in AccountStore(transaction, write=False).read()]


def test_a_charge_is_in_the_accounts_before_it_is_flushed(database: Database) -> None:
    with opened(database) as store:
        assert (store.entries, store.head) != (0, GENESIS)
        entry = store.charge("steps", COUNT)
        assert numbers(database) == [1], "nothing is sent yet"
        assert store.state("steps").totals[0].tau == 0.5
        assert store.state("steps").head == entry.hash == store.head
        assert store.contains(entry)
    assert numbers(database) == [1, 2]


def test_what_is_refused_half_way_is_not_written(database: Database) -> None:
    def charge_twice() -> None:
        with opened(database) as store:
            store.charge("steps", COUNT)
            store.charge("steps", Charge("q", "count", {"query": "sum"}, 0.5))

    with pytest.raises(LedgerError, match="another query already"):
        charge_twice()
    assert numbers(database) == [1]


def test_what_is_foreseen_is_fetched_in_one_round(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(database) as store:
        store.charge("steps", COUNT)
    rounds: list[int] = []
    fetch = Transaction.fetch

    def counting(self: Transaction, *statements: Statement) -> Any:
        rounds.append(len(statements))
        return fetch(self, *statements)

    monkeypatch.setattr(Transaction, "fetch", counting)
    with database.transaction(write=False) as transaction:
        state = AccountStore(transaction, write=False, dataset="steps", questions=["q"], schema=SCHEMA).state(
            "steps", ["q"]
        )
    assert state.unanswered("q") is not None
    assert sum(number > 0 for number in rounds) == 1


def test_an_end_that_another_process_moved_is_not_overwritten(database: Database) -> None:
    def charge_where_it_ended() -> None:
        with opened(database) as store:
            store.charge("steps", COUNT)
            store._transaction.write((sa.update(ledgers).values(head="f" * 64), {}))

    with pytest.raises(LedgerError, match="another process wrote to the ledger at the same time; nothing was charged"):
        charge_where_it_ended()
    assert numbers(database) == [1]


@pytest.mark.parametrize("change", [{"entry": 1}, {"entry": 9}, {"head": "0" * 64}])
def test_an_answer_belongs_to_the_charge_of_its_receipt_only(database: Database, change: dict[str, Any]) -> None:
    with opened(database) as store:
        entry = store.charge("steps", COUNT)
        receipt: dict[str, Any] = {"entry": entry.number, "head": entry.hash, "state": store.state("steps")}
        with pytest.raises(LedgerError, match="is not the charge on 'steps' that this receipt is for"):
            store.answer("steps", Receipt(**receipt | change), {"value": 1})
        store.answer("steps", Receipt(**receipt), {"value": 1})
        with pytest.raises(LedgerError, match="has its answer already"):
            store.answer("steps", Receipt(**receipt), {"value": 2})
        assert store.answers("steps", "q") == ({"value": 1},)


def test_a_similar_account_is_not_opened_by_accident(database: Database) -> None:
    with opened(database) as store:
        assert store.opened_with("steps", OPENING)
        with pytest.raises(LedgerError):
            store.opened_with("steps", Opening({"type": "arbitrary", "size": 2}, {"records": 9}, 2.0))
        with pytest.raises(LedgerError):
            store.opened_with("steps again", OPENING)
        assert not store.opened_with("steps again", Opening(OPENING.model, OPENING.description, 2.0, "another year"))


def test_an_edited_end_is_found_by_every_reader(database: Database) -> None:
    with opened(database) as store:
        for _ in range(RECENT + 2):
            store.charge("steps", COUNT)
    edited = sa.update(entries).where(entries.c.number == RECENT).values(timestamp="yesterday")
    with database.transaction(write=True) as transaction:
        transaction.write((edited, {}))
    asks: list[Callable[[AccountStore], object]] = [
        lambda store: store.account("steps"),
        lambda store: store.charge("steps", COUNT),
    ]
    for ask in asks:
        with pytest.raises(LedgerError, match="was changed"), opened(database) as store:
            ask(store)
