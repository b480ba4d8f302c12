"""Ledgers and accounts to test with, on each backend (`url`)."""

from collections.abc import Iterator

import pytest

from bayesdp.ledger import Account, Ledger

MODEL = {"type": "independent"}
DESCRIPTION = {"rows": 100, "columns": ["s"]}


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    with Ledger(url) as ledger:
        yield ledger


@pytest.fixture
def account(ledger: Ledger) -> Account:
    return ledger.account("steps", model=MODEL, description=DESCRIPTION, budget=2.0)
