"""Answers about the windows of a stream: each is stored once, all belong to one charge, and no change goes unseen."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bayesdp.errors import LedgerError
from bayesdp.ledger import Account, Charge, Ledger, Receipt
from bayesdp.ledger.accounts import RECENT

STREAM = "a stream"


@pytest.fixture
def receipt(account: Account) -> Receipt:
    (receipt,) = account.charge((), lambda state: (Charge(STREAM, "count", {"query": "count"}, 0.5),))
    return receipt


def about(start: int, stop: int, count: int) -> dict[str, Any]:
    return {"window": [start, stop], "counts": [count]}


def counts(stored: Any) -> dict[tuple[int, ...], int]:
    return {tuple(body["window"]): body["counts"][0] for body in stored}


def test_windows_are_stored_together_and_found_again(account: Account, receipt: Receipt, ledger: Ledger) -> None:
    assert account.windows(STREAM) == ()
    first = account.store_windows(receipt, [about(0, 1, 5), about(1, 2, 7)])
    assert counts(first) == {(0, 1): 5, (1, 2): 7}
    assert counts(account.windows(STREAM)) == counts(first)
    assert account.windows("another stream") == ()
    assert {body["charge"] for body in account.windows(STREAM)} == {receipt.entry}
    assert ledger.verify().ok


def test_what_is_stored_first_counts(account: Account, receipt: Receipt, ledger: Ledger) -> None:
    account.store_windows(receipt, [about(0, 1, 5)])
    assert counts(account.store_windows(receipt, [about(0, 1, 6), about(1, 2, 7)])) == {(0, 1): 5, (1, 2): 7}
    assert len(ledger.entries(kind="window")) == 2
    assert account.store_windows(receipt, [about(0, 1, 8)]) == account.windows(STREAM)


def test_many_writers_store_one_answer_about_each_window(account: Account, receipt: Receipt, ledger: Ledger) -> None:
    def store(number: int) -> dict[tuple[int, ...], int]:
        return counts(account.store_windows(receipt, [about(day, day + 1, number) for day in range(3)]))

    with ThreadPoolExecutor(4) as pool:
        stored = list(pool.map(store, range(8)))
    assert all(each == stored[0] for each in stored)
    assert len(set(stored[0].values())) == 1, "the answers of one writer are stored together"
    assert ledger.verify().ok


def test_the_receipt_must_be_of_this_account(account: Account, receipt: Receipt) -> None:
    other = Receipt(receipt.entry, "0" * 64, receipt.state)
    with pytest.raises(LedgerError, match="is not the charge"):
        account.store_windows(other, [about(0, 1, 5)])
    assert account.windows(STREAM) == ()


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE bayesdp_entries SET body = replace(body, '[5]', '[6]') WHERE number = 3",
        "DELETE FROM bayesdp_entries WHERE number = 4",
        "UPDATE bayesdp_entries SET previous = 'x' WHERE number = 4",
    ],
)
@pytest.mark.parametrize("others", [0, 2 * RECENT])
def test_a_changed_window_is_noticed(
    account: Account, receipt: Receipt, ledger: Ledger, tmp_path: Path, change: str, others: int
) -> None:
    assert receipt.entry == 2
    account.store_windows(receipt, [about(day, day + 1, 5) for day in range(3 + others)])
    with closing(sqlite3.connect(tmp_path / "budget.db")) as database, database:
        assert database.execute(change).rowcount == 1
    with pytest.raises(LedgerError, match="damaged"):
        account.windows(STREAM)
    with pytest.raises(LedgerError, match="damaged"):
        account.store_windows(receipt, [about(90, 91, 5)])
    assert not ledger.verify().ok
