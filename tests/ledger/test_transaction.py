"""One transaction, on SQLite: it begins with its first statement, and ends committed or undone."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from bayesdp.ledger.transaction import Statement, Transaction

THINGS = sa.table("things", sa.column("name"), sa.column("number"))
ADD = THINGS.insert().values(name=sa.bindparam("name"), number=sa.bindparam("number"))
NAMES = sa.select(THINGS.c.name).order_by(THINGS.c.number)
NAMED = sa.select(THINGS.c.number).where(THINGS.c.name == "a").where(THINGS.c.number > sa.bindparam("least"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "things.db")) as database:
        database.execute("CREATE TABLE things (name TEXT, number INTEGER)")
    return tmp_path / "things.db"


@pytest.fixture
def transaction(path: Path) -> Iterator[Transaction]:
    engine = sa.create_engine(
        "sqlite://", creator=lambda: sqlite3.connect(path, isolation_level=None), poolclass=sa.NullPool
    )
    transaction = Transaction(engine, ("BEGIN IMMEDIATE",))
    yield transaction
    transaction.close()
    engine.dispose()


def stored(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return [name for (name,) in database.execute("SELECT name FROM things ORDER BY number")]


def added(name: str, number: int) -> Statement:
    return ADD, {"name": name, "number": number}


def test_nothing_begins_before_the_first_statement(transaction: Transaction, path: Path) -> None:
    transaction.commit()
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
        before = datetime.now(UTC)
        assert before <= transaction.moment <= datetime.now(UTC)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
    assert not transaction.server
    assert not transaction.broken


def test_statements_see_earlier_ones_and_count_changed_rows(transaction: Transaction) -> None:
    assert transaction.write(added("b", 2), added("a", 1)) == [1, 1]
    assert transaction.write((THINGS.update().values(number=THINGS.c.number + 1), {})) == [2]
    assert transaction.fetch((NAMES, {}), (NAMED, {"least": 1})) == [[("a",), ("b",)], [(2,)]]
    assert transaction.fetch() == []


def test_what_is_committed_stands_and_what_is_not_is_undone(transaction: Transaction, path: Path) -> None:
    transaction.write(added("kept", 1))
    transaction.commit()
    assert not transaction.committing
    transaction.close()
    transaction.write(added("lost", 2))
    transaction.close()
    transaction.close()
    assert stored(path) == ["kept"]


def test_who_stops_reading_in_the_middle_may_go_on(transaction: Transaction) -> None:
    transaction.write(*(added(f"n{number}", number) for number in range(50)))
    rows = transaction.stream(NAMES)
    assert next(rows) == ("n0",)
    assert transaction.fetch((NAMED, {"least": 0})) == [[]]
    assert next(rows) == ("n1",)
    assert len(list(transaction.stream(NAMES))) == 50


def test_the_driver_s_own_errors_pass_and_nothing_is_written(transaction: Transaction, path: Path) -> None:
    transaction.write(added("a", 1))
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        transaction.run("INSERT INTO nowhere VALUES (1)")
    transaction.close()
    assert stored(path) == []
