"""Ledgers to test with: SQLite files, and schemas of the PostgreSQL that the tests start and stop."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from bayesdp.ledger import Account, Ledger

MODEL = {"type": "independent"}
DESCRIPTION = {"rows": 100, "columns": ["s"]}
BACKENDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]


@pytest.fixture(scope="session")
def new_database(server: Path) -> Callable[[], str]:
    """Return a function that makes an empty schema, all of a database that a ledger sees, and returns its URL."""
    numbers = itertools.count()

    def create() -> str:
        name = f"ledger{next(numbers)}"
        with psycopg.connect(host=str(server), user="postgres", dbname="postgres", autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"postgresql://postgres@/postgres?host={server}&options=-csearch_path%3D{name}"

    return create


@pytest.fixture(params=BACKENDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where a new ledger can be created."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/budget.db"
    create: Callable[[], str] = request.getfixturevalue("new_database")
    return create()


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    with Ledger(url) as ledger:
        yield ledger


@pytest.fixture
def account(ledger: Ledger) -> Account:
    return ledger.account("steps", model=MODEL, description=DESCRIPTION, budget=2.0)
