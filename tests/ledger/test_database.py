"""Where a ledger lives, if that is a SQLite file: named, created, locked, refused. test_postgresql.py: a server."""

import errno
import os
import resource
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger import Account, Charge, Ledger, database
from bayesdp.ledger.database import SCHEMA
from bayesdp.ledger.transaction import Transaction

NOBODY = 65534


def open_account(path: str | Path, **options: Any) -> Account:
    return Ledger(path, **options).account("steps", model={}, description={}, budget=100.0)


def charge(account: Account, tau: float = 0.5, padding: int = 0) -> int:
    (receipt,) = account.charge((), lambda state: (Charge("q", "count", {}, tau, {"padding": "x" * padding}),))
    return receipt.entry


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def public_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_ledger_is_named_by_path_text_or_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    charge(open_account("sqlite:///budget.db"))
    monkeypatch.chdir("/")
    for name in (tmp_path / "budget.db", str(tmp_path / "budget.db"), f"sqlite+pysqlite:///{tmp_path}/budget.db"):
        assert Ledger(name, create=False).state("steps").charges == 1


def test_a_ledger_stays_where_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    account = open_account("budget.db")
    monkeypatch.chdir("/")
    assert charge(account) == 2
    assert [file.name for file in tmp_path.iterdir()] == ["budget.db"]


@pytest.mark.parametrize("name", ["a?mode=memory", "a#b%20c", "ü 数.db", "'; --", "a" * 200, "sqlite.db", "C:x"])
def test_file_names_may_contain_anything(tmp_path: Path, name: str) -> None:
    charge(open_account(tmp_path / name))
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert Ledger(tmp_path / name, create=False).state("steps").charges == 1


@pytest.mark.usefixtures("open_umask")
def test_only_the_owner_can_read_it_and_its_journal(path: Path) -> None:
    charge(open_account(path))
    assert mode(path) == 0o600
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    raw.execute("UPDATE bayesdp_ledger SET head = 'x'")
    assert {file.name: mode(file) for file in path.parent.iterdir()} == {"budget.db": 0o600, "budget.db-journal": 0o600}
    raw.close()


def test_a_strict_umask_does_not_lock_the_owner_out(path: Path) -> None:
    before = os.umask(0o777)
    try:
        open_account(path)
    finally:
        os.umask(before)
    assert mode(path) == 0o600


def pragma(transaction: Transaction, name: str) -> Any:
    (((value,),),) = transaction.fetch((sa.text(f"PRAGMA {name}"), {}))
    return value


def test_committed_charges_are_synced_to_disk_with_the_directory(path: Path) -> None:
    account = open_account(path)
    database_ = account._ledger._open_database()
    with database_.transaction(write=True) as transaction:
        assert pragma(transaction, "synchronous") == 3  # EXTRA
        assert pragma(transaction, "journal_mode") == "delete"
        assert pragma(transaction, "busy_timeout") == 60_000


@pytest.mark.parametrize(
    "address",
    [
        ":memory:",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///file::memory:",
        "sqlite:///file:x?mode=memory&uri=true",
        "file:budget.db",
        "sqlite:budget.db",
        "sqlite://budget.db",
        "sqlite:///budget.db?mode=memory",
        "mysql://host/db",
        "sqlite+aiosqlite:///budget.db",
        "postgresql+asyncpg://host/db",
        "postgresql:/host/db",
        "postgresql://host:port/db",
        "://",
        "",
        "  ",
        None,
        5,
        b"budget.db",
    ],
)
def test_addresses_of_no_known_form_are_refused(address: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match=r"expected|must be|a file"):
        Ledger(address)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_ledger_is_not_created_unasked(path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger at"):
        Ledger(path, create=False)
    assert list(path.parent.iterdir()) == []


def test_the_directory_must_exist(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"there is no directory .*/nowhere"):
        Ledger(tmp_path / "nowhere" / "budget.db")


@pytest.mark.parametrize("address", ["/dev/null", "/dev/zero", "/", "a\0b", "x" * 300, "/etc/hostname/budget.db"])
def test_places_that_cannot_hold_a_ledger_are_refused(address: str) -> None:
    with pytest.raises(LedgerError):
        Ledger(address)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="it is not a file"):
        Ledger(tmp_path)


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LedgerError, match="it is not a file"):
        Ledger(tmp_path / "pipe")


def foreign_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE patients (name TEXT)")
    connection.close()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a ledger: it has no table"),
        (b"garbage" * 1000, "file is not a database"),
        (b"SQLite format 3\0" + b"\xff" * 4096, "cannot be used"),
        (None, "not a ledger: it has no table"),
    ],
    ids=["empty", "garbage", "half a header", "another database"],
)
def test_what_is_no_ledger_is_refused_and_left_alone(path: Path, content: bytes | None, reason: str) -> None:
    if content is None:
        foreign_database(path)
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    for create in (True, False):
        with pytest.raises(LedgerError, match=reason):
            Ledger(path, create=create)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("schema", [0, SCHEMA + 1, 999])
def test_another_schema_is_refused(path: Path, schema: int) -> None:
    account = open_account(path)
    raw = sqlite3.connect(path)
    raw.execute("UPDATE bayesdp_ledger SET schema = ?", [schema])
    raw.commit()
    raw.close()
    with pytest.raises(LedgerError, match=f"schema is {schema}, and this version of bayesdp reads 1 to {SCHEMA} only"):
        Ledger(path)
    with pytest.raises(LedgerError, match="schema"):
        charge(account)


def test_a_ledger_that_vanishes_is_not_begun_anew(path: Path) -> None:
    account = open_account(path)
    path.unlink()
    with pytest.raises(LedgerError, match="unable to open"):
        charge(account)
    assert not path.exists()


def test_a_ledger_emptied_behind_our_back_is_not_begun_anew(path: Path) -> None:
    account = open_account(path)
    os.truncate(path, 0)
    with pytest.raises(LedgerError):
        charge(account)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(path)


def test_a_link_leads_to_the_ledger(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    charge(open_account(tmp_path / "link.db"))
    assert (tmp_path / "link.db").is_symlink()
    assert Ledger(tmp_path / "real.db", create=False).state("steps").charges == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_file_of_somebody_else_is_refused(public_folder: Path) -> None:
    open_account(public_folder / "budget.db")
    foreign = public_folder / "readable.db"
    charge(open_account(foreign))
    foreign.chmod(0o644)
    os.seteuid(NOBODY)
    try:
        with pytest.raises(LedgerError, match="unable to open database file"):
            Ledger(public_folder / "budget.db")
        with pytest.raises(LedgerError, match="Permission denied"):
            Ledger(public_folder / "new.db")
        readable = open_account(foreign)
        assert readable.state().charges == 1
        with pytest.raises(LedgerError, match="readonly"):
            charge(readable)
    finally:
        os.seteuid(0)


def test_a_ledger_locked_for_too_long_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = open_account(path)
    monkeypatch.setattr(database, "PATIENCE", 0.2)
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match=r"database is locked \(waited 0.2 seconds"):
        charge(account)
    assert account.state().charges == 0
    raw.execute("COMMIT")
    raw.close()
    assert charge(account) == 2


def test_charging_inside_a_decision_fails_instead_of_hanging(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = open_account(path)
    monkeypatch.setattr(database, "PATIENCE", 0.2)
    with pytest.raises(LedgerError, match="locked"):
        account.charge((), lambda state: (Charge("q", "count", {}, charge(account)),))
    assert account.state().entries == 1


def test_a_reader_at_commit_time_is_waited_for(path: Path) -> None:
    account = open_account(path)
    raw = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    raw.execute("BEGIN")
    raw.execute("SELECT * FROM bayesdp_entries").fetchall()
    timer = threading.Timer(0.3, raw.close)
    start = time.monotonic()
    timer.start()
    assert charge(account) == 2
    assert time.monotonic() - start > 0.2
    timer.join()


def test_a_full_disk_is_an_error_and_nothing_is_charged(path: Path) -> None:
    account = open_account(path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20_000, limits[1]))
    charged: list[int] = []
    try:
        with pytest.raises(LedgerError, match=r"disk|full|I/O"):
            charged.extend(charge(account, padding=5000) for _ in range(100))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert account.state().charges == len(charged) > 0
    assert account._ledger.verify().ok
    charge(account)


def test_a_file_system_without_hard_links_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    with pytest.raises(LedgerError, match="Operation not permitted"):
        Ledger(path)
    assert list(path.parent.iterdir()) == []


def test_a_ledger_serves_several_threads(path: Path) -> None:
    account = open_account(path)
    threads = [threading.Thread(target=lambda: [charge(account) for _ in range(5)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert account.state().charges == 20
    assert account._ledger.verify().ok


def test_no_file_is_left_behind(path: Path) -> None:
    account = open_account(path)
    charge(account)
    assert list(path.parent.iterdir()) == [path]
