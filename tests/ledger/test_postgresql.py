import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from bayesdp.errors import LedgerError
from bayesdp.ledger import Account, Charge, Ledger, State, database
from bayesdp.ledger.transaction import Transaction

TERMINATE = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()"""


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://someone:s3cret@127.0.0.1:1/db",
        "postgresql+psycopg://someone:s3cret@127.0.0.1:1/db?sslmode=disable",
        "postgresql://someone@127.0.0.1:1/db?password=s3cret",
        "postgresql://someone:s3cret@127.0.0.1:1/db?s3cret=1",
        "postgres://someone:s3cret@/db?host=/nowhere",
    ],
)
def test_an_unreachable_server_is_an_error_without_the_password(address: str) -> None:
    with pytest.raises(LedgerError, match="cannot be used") as caught:
        Ledger(address)
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


@pytest.fixture
def address(new_database: Callable[[], str]) -> str:
    return new_database()


def open_account(address: str) -> Account:
    return Ledger(address).account("steps", model={}, description={}, budget=100.0)


def count(state: State) -> tuple[Charge, ...]:
    return (Charge("q", "count", {}, 0.5),)


def shown(transaction: Transaction, name: str) -> str:
    (((value,),),) = transaction.fetch((sa.text(f"SHOW {name}"), {}))
    return str(value)


@pytest.mark.slow
def test_a_missing_ledger_is_not_created_unasked(address: str) -> None:
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(address, create=False)
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT to_regclass('bayesdp_ledger')").fetchone() == (None,)


@pytest.mark.slow
def test_a_ledger_lives_beside_other_tables(address: str) -> None:
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE entries (a int)")
    assert open_account(address).charge((), count)[0].entry == 2
    assert Ledger(address.replace("postgresql:", "postgresql+psycopg:")).state("steps").charges == 1


@pytest.mark.slow
def test_another_schema_is_refused(address: str) -> None:
    open_account(address)
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE bayesdp_ledger SET schema = 4")
    with pytest.raises(LedgerError, match="schema is 4"):
        Ledger(address)


@pytest.mark.slow
def test_a_connection_lost_while_deciding_charges_nothing(address: str) -> None:
    account = open_account(address)

    def decide(state: State) -> tuple[Charge, ...]:
        with psycopg.connect(address) as connection:
            connection.execute(TERMINATE)
        return count(state)

    with pytest.raises(LedgerError, match=r"terminat|closed|lost"):
        account.charge((), decide)
    assert account.state().entries == 1
    assert account.charge((), count)[0].entry == 2


@pytest.mark.slow
def test_a_ledger_locked_for_too_long_is_an_error(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    account = open_account(address)
    monkeypatch.setattr(database, "PATIENCE", 1)
    with psycopg.connect(address) as connection:
        connection.execute("SELECT * FROM bayesdp_ledger FOR UPDATE")
        with pytest.raises(LedgerError, match=r"lock timeout \(waited 1 seconds"):
            account.charge((), count)
        assert account.state().charges == 0
    assert account.charge((), count)[0].entry == 2


@pytest.mark.slow
def test_a_ledger_without_the_right_to_write_is_an_error(address: str) -> None:
    open_account(address)
    with psycopg.connect(address) as connection:
        name = str(connection.info.options).rpartition("=")[2]
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {name} TO reader".encode())
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO reader".encode())
    reader = open_account(address.replace("postgres@", "reader@"))
    assert reader.state().charges == 0
    with pytest.raises(LedgerError, match="permission denied"):
        reader.charge((), count)


@pytest.mark.slow
def test_an_old_account_is_charged_without_the_right_to_index(address: str) -> None:
    (opened,) = open_account(address)._ledger.entries()
    body = '{"budget":100.0,"description":{},"model":{}}'  # without a seal, as version 0.1 wrote it
    old = replace(opened, body=body).sealed()
    with psycopg.connect(address) as connection:
        name = str(connection.info.options).rpartition("=")[2]
        connection.execute("DROP INDEX bayesdp_entries_changes")
        connection.execute("CREATE ROLE writer LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {name} TO writer".encode())
        connection.execute(f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA {name} TO writer".encode())
        connection.execute("UPDATE bayesdp_entries SET body = %s, hash = %s", (old.body, old.hash))
        connection.execute("UPDATE bayesdp_ledger SET head = %s", (old.hash,))
    writer = open_account(address.replace("postgres@", "writer@"))
    assert writer.charge((), count)[0].entry == 2
    assert writer.charge((), count)[0].state.charges == 2
    ledger = Ledger(address)
    assert ledger.verify().ok
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE bayesdp_accounts SET budget = 1000")
    with pytest.raises(LedgerError, match="not what its entries add up to"):
        writer.charge((), count)


@pytest.mark.slow
def test_writers_see_what_was_committed_and_readers_a_snapshot(address: str) -> None:
    store = Ledger(address)._open_database()
    with store.transaction(write=True) as transaction:
        assert shown(transaction, "transaction_isolation") == "read committed"
    with store.transaction(write=False) as transaction:
        assert shown(transaction, "transaction_isolation") == "repeatable read"
        assert shown(transaction, "transaction_read_only") == "on"


@pytest.mark.slow
def test_the_server_stopped_is_an_error(address: str, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger(address.replace("host=", f"host={tmp_path}"))
