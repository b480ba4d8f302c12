"""A real PostgreSQL that fails at every moment: nothing is lost or charged twice, and no answer is without its charge.

Clients connect through a proxy on loopback, which cuts connections between any two messages; the server is stopped, its
backends are terminated, and its clients have clocks of their own.
"""

import contextlib
import gc
import itertools
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pytest

import bayesdp as bdp
from bayesdp.errors import LedgerError
from bayesdp.ledger import Account, Charge, Ledger, State, database, transaction
from shared.postgresql import PostgreSQL

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("faults")]

LONG = 600.0
"""Longer than anything takes, however slow the machine is."""

NUMBERS = itertools.count()
TERMINATE = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()"""


class Proxy:
    """A proxy on loopback that cuts connections.

    cut: is given what a client sends, and decides; "before" it is passed on, or "after" the server has answered.
    up:  whether new connections are let through.
    """

    def __init__(self, server: Path) -> None:
        self.cut: Callable[[bytes], str | None] = lambda sent: None
        self.up = True
        self._server = str(server / ".s.PGSQL.5432")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if not self.up:
                client.close()
                continue
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            try:
                server.connect(self._server)
                self._pump(client, server)
            except OSError:
                return

    def _pump(self, client: socket.socket, server: socket.socket) -> None:
        while True:
            readable, _, _ = select.select([client, server], [], [])
            if server in readable:
                answered = server.recv(1 << 20)
                client.sendall(answered)
                if not answered:
                    return
            if client in readable:
                sent = client.recv(1 << 20)
                when = self.cut(sent) if sent else "before"
                if when == "before":
                    return
                server.sendall(sent)
                if when == "after":
                    select.select([server], [], [], 1.0)  # some messages have no answer
                    return


def once(when: str, condition: Callable[[bytes], bool]) -> Callable[[bytes], str | None]:
    """Return a cut at the first message that fulfils a condition."""
    waiting = [when]
    return lambda sent: waiting.pop() if waiting and condition(sent) else None


def committing(sent: bytes) -> bool:
    return b"COMMIT\0" in sent


@pytest.fixture
def proxy(own_server: PostgreSQL) -> Iterator[Proxy]:
    proxy = Proxy(own_server.folder)
    yield proxy
    proxy.close()


@pytest.fixture
def direct(own_server: PostgreSQL) -> str:
    """Return the address of an empty database, past the proxy."""
    name = f"faults{next(NUMBERS)}"
    with psycopg.connect(own_server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return own_server.url.replace("/postgres?", f"/{name}?")


@pytest.fixture
def address(direct: str, proxy: Proxy) -> str:
    """Return the address of the same database, through the proxy."""
    name = direct.partition("?")[0].rpartition("/")[2]
    return f"postgresql://postgres@127.0.0.1:{proxy.port}/{name}?sslmode=disable"


def open_account(address: str) -> Account:
    return Ledger(address).account("steps", model={}, description={}, budget=100.0)


def spending(question: str) -> Callable[[State], tuple[Charge, ...]]:
    return lambda state: (Charge(question, "count", {}, 0.5),)


def release(account: Account, question: str) -> str:
    """Do what a session does: look, charge, draw, answer."""
    account.state(question)
    (receipt,) = account.charge([question], spending(question))
    return account.answer(receipt, {"value": 41})


def check(direct: str, charges: int, answers: int) -> None:
    """Check with a connection of its own what the ledger holds, and that it is sound."""
    with Ledger(direct, create=False) as ledger:
        assert ledger.verify().problems == ()
        assert len(ledger.entries("steps", "charge")) == charges == ledger.state("steps").charges
        assert len(ledger.entries("steps", "answer")) == answers
        assert [total.tau for total in ledger.state("steps").totals] == [0.5 * charges] * bool(charges)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_cut_anywhere_loses_and_doubles_nothing(
    when: str, address: str, direct: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "RECOVERY", LONG)
    account = open_account(address)
    released = refused = 0
    for position in range(200):
        seen = itertools.count()
        proxy.cut = once(when, lambda sent, seen=seen, position=position: next(seen) == position)  # type: ignore[misc]
        try:
            release(account, f"q{position}")
        except LedgerError:
            refused += 1
            assert account.answers(f"q{position}") == ()
        else:
            released += 1
        check(direct, released, released)
        if next(seen) <= position:
            break
    else:
        pytest.fail("a release takes 200 messages")
    # Where it is refused depends on which messages arrive joined: there may be no cut inside a transaction at all.
    assert released > refused, "most of a release can be repeated or settled"


def test_a_commit_that_never_arrived_charged_nothing(address: str, direct: str, proxy: Proxy) -> None:
    account = open_account(address)
    proxy.cut = once("before", committing)
    with pytest.raises(LedgerError, match="nothing was charged and nothing was released"):
        account.charge([], spending("q"))
    check(direct, 0, 0)
    release(account, "q")
    check(direct, 1, 1)


def test_a_commit_without_confirmation_is_found_not_repeated(address: str, direct: str, proxy: Proxy) -> None:
    account = open_account(address)
    proxy.cut = once("after", committing)
    (receipt,) = account.charge([], spending("q"))
    check(direct, 1, 0)
    proxy.cut = once("after", committing)
    account.answer(receipt, {"value": 41})
    check(direct, 1, 1)


def test_what_cannot_be_found_out_is_said(
    address: str, direct: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "RECOVERY", 0.3)
    account = open_account(address)

    def vanish(sent: bytes) -> str | None:
        if not committing(sent):
            return None
        proxy.up = False
        return "after"

    proxy.cut = vanish
    with pytest.raises(LedgerError, match=r"lost during the commit.*may be charged or not.*Nothing was released"):
        account.charge([], spending("q"))
    proxy.cut, proxy.up = lambda sent: None, True
    check(direct, 1, 0)
    with monkeypatch.context() as patient:
        patient.setattr(database, "RECOVERY", LONG)
        (receipt,) = account.charge([], spending("q"))
    proxy.cut = vanish
    with pytest.raises(LedgerError, match=rf"charged before, in entry {receipt.entry}.*stands.*not given"):
        account.answer(receipt, {"value": 41})
    proxy.cut, proxy.up = lambda sent: None, True
    check(direct, 2, 1)


def test_idle_connections_that_were_terminated_are_replaced(address: str, direct: str) -> None:
    account = open_account(address)
    for charges in (1, 2):
        with psycopg.connect(direct) as connection:
            connection.execute(TERMINATE)
        release(account, f"q{charges}")
        check(direct, charges, charges)


def test_a_backend_terminated_before_the_answer_charges_once(address: str, direct: str) -> None:
    account = open_account(address)
    (receipt,) = account.charge([], spending("q"))
    with psycopg.connect(direct) as connection:
        connection.execute(TERMINATE)
    account.answer(receipt, {"value": 41})
    check(direct, 1, 1)


def test_a_statement_timeout_charges_nothing(direct: str) -> None:
    open_account(direct)
    account = open_account(direct + "&options=-cstatement_timeout%3D3000")  # enough for all but waiting
    with psycopg.connect(direct) as connection:
        connection.execute("SELECT * FROM bayesdp_ledger FOR UPDATE")
        with pytest.raises(LedgerError, match=r"statement timeout; nothing was written"):
            account.charge([], spending("q"))
    check(direct, 0, 0)
    release(account, "q")
    check(direct, 1, 1)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["shut down", "crashed"])
def test_a_server_that_restarts_between_releases_is_not_noticed(
    how: signal.Signals, direct: str, own_server: PostgreSQL
) -> None:
    account = open_account(direct)
    release(account, "before")
    own_server.stop(how)
    with pytest.raises(LedgerError, match=r"cannot be used.*nothing was written"):
        account.charge([], spending("between"))
    own_server.start()
    release(account, "after")
    check(direct, 2, 2)


def test_an_answer_waits_for_a_server_that_restarts(
    direct: str, own_server: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "RECOVERY", LONG)
    account = open_account(direct)
    (receipt,) = account.charge([], spending("q"))
    own_server.stop(signal.SIGQUIT)
    starting = threading.Timer(1.0, own_server.start)
    starting.start()
    account.answer(receipt, {"value": 41})
    starting.join()
    check(direct, 1, 1)


@contextlib.contextmanager
def configured(server: PostgreSQL, setting: str, value: str) -> Iterator[None]:
    """Set something for the whole server."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET {setting} = '{value}'".encode())
        connection.execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM RESET {setting}".encode())
            connection.execute("SELECT pg_reload_conf()")


@pytest.mark.parametrize("may_flush", [True, False])
def test_what_was_charged_survives_a_crash(may_flush: bool, direct: str, own_server: PostgreSQL) -> None:
    open_account(direct)
    with psycopg.connect(direct, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS writer")
        connection.execute("CREATE ROLE writer LOGIN")
        connection.execute("ALTER ROLE writer SET synchronous_commit = off")
        connection.execute("GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO writer")
        if not may_flush:
            connection.execute("REVOKE EXECUTE ON FUNCTION pg_logical_emit_message(boolean, text, text) FROM PUBLIC")
    account = open_account(direct.replace("postgres@", "writer@"))
    with configured(own_server, "wal_writer_delay", "10s"):  # nobody else writes to disk meanwhile
        for done in range(3):
            release(account, f"q{done}")
            (receipt,) = account.charge([], spending(f"unanswered {done}"))
            own_server.stop(signal.SIGQUIT)
            own_server.start()
            check(direct, 2 * done + 2, done + 1)
            with Ledger(direct, create=False) as ledger:
                assert ledger.verify([(receipt.entry, receipt.head)]).ok
    with psycopg.connect(direct, autocommit=True) as connection:
        connection.execute("DROP OWNED BY writer")
        connection.execute("DROP ROLE writer")


def test_waiting_for_the_disk_blocks_no_one_and_confirms_nothing(direct: str, own_server: PostgreSQL) -> None:
    account, other = open_account(direct), open_account(direct)
    (receipt,) = account.charge([], spending("q"))
    done: list[str] = []

    def answer() -> None:
        account.answer(receipt, {"value": 41})
        done.append("answered")

    def look() -> None:
        assert other.answers("q") == ({"value": 41},)
        done.append("looked")

    with configured(own_server, "synchronous_standby_names", "nobody"):  # who never confirms anything
        answering, looking = threading.Thread(target=answer, daemon=True), threading.Thread(target=look, daemon=True)
        answering.start()
        with psycopg.connect(direct, autocommit=True) as connection:
            connection.execute("SET synchronous_commit = local")
            stored = "SELECT count(*) FROM bayesdp_entries WHERE kind = 'answer'"
            _wait_until(lambda: connection.execute(stored.encode()).fetchone() == (1,))
            connection.execute("SELECT * FROM bayesdp_ledger FOR UPDATE NOWAIT")
            looking.start()
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            _wait_until(lambda: connection.execute(waiting.encode()).fetchone() == (2,))
        assert done == []
    answering.join()
    looking.join()
    assert sorted(done) == ["answered", "looked"]
    check(direct, 1, 1)


def test_a_server_that_confirms_before_the_disk_is_refused(direct: str, monkeypatch: pytest.MonkeyPatch) -> None:
    account = open_account(direct)
    lying = tuple(text.replace("pg_current_wal_flush_lsn()", "'0/1'::pg_lsn") for text in transaction._FLUSH)
    monkeypatch.setattr(transaction, "_FLUSH", lying)
    with pytest.raises(LedgerError, match=r"confirms what is not on its disk.*Nothing was released"):
        account.charge([], spending("q"))


def test_no_connection_is_left_open(direct: str) -> None:
    account = open_account(direct)
    inside, go_on = threading.Event(), threading.Event()

    def slowly(state: State) -> tuple[Charge, ...]:
        inside.set()
        go_on.wait()
        return (Charge("q", "count", {}, 0.5),)

    charging = threading.Thread(target=account.charge, args=([], slowly))
    charging.start()
    inside.wait()
    account.state()
    with psycopg.connect(direct) as connection:
        connection.execute(f"{TERMINATE} AND state = 'idle'".encode())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        account.state()  # connects again, and forgets the connections that were kept
        go_on.set()
        charging.join()
        gc.collect()
        account._ledger.close()
        gc.collect()
    assert [str(each.message) for each in said if each.category is ResourceWarning] == []
    check(direct, 1, 0)


WORK = """
import os, sys
from bayesdp.errors import LedgerError
from bayesdp.ledger import Charge, Ledger
address, log, name = sys.argv[1:]
account = Ledger(address).account("steps", model={}, description={}, budget=1e6)
out = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
for number in range(10**6):
    question = f"{name}-{number}"
    try:
        (receipt,) = account.charge([question], lambda state: (Charge(question, "count", {}, 0.5),))
        os.write(out, f"released {receipt.entry} {receipt.head}\\n".encode())
        account.answer(receipt, {"value": 41})
        os.write(out, f"answered {receipt.entry} {receipt.head}\\n".encode())
    except LedgerError as error:
        os.write(out, f"refused {error}\\n".encode())
"""


def test_two_processes_through_terminations_and_crashes(
    address: str, direct: str, own_server: PostgreSQL, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    open_account(direct)
    workers = [subprocess.Popen([sys.executable, "-c", WORK, address, str(log), name]) for name in ("a", "b")]
    try:
        for fault in range(8):
            _wait_for_lines(log, 20 * (fault + 1))
            if fault % 4 == 3:
                own_server.stop(signal.SIGQUIT if fault == 3 else signal.SIGINT)
                own_server.start()
            else:
                with psycopg.connect(direct) as connection:
                    connection.execute(TERMINATE)
        _wait_for_lines(log, 200)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    lines = [line.split(maxsplit=2) for line in log.read_text().splitlines()]
    released = {(int(entry), head) for kind, entry, head in lines if kind == "released"}
    answered = {int(entry) for kind, entry, _ in lines if kind == "answered"}
    uncertain = sum(kind == "refused" and "may be charged or not" in rest for kind, _, rest in lines)
    with Ledger(direct, create=False) as ledger:
        assert ledger.verify(released).problems == (), "a release whose charge is not in the ledger"
        charges = {entry.number for entry in ledger.entries("steps", "charge")}
        stored = [entry.charge for entry in ledger.entries("steps", "answer")]
    assert {number for number, _ in released} <= charges
    assert len(charges) - len(released) <= 2 + uncertain, "killed with a charge in hand, or reported as unknown"
    assert answered <= set(stored)
    assert len(stored) == len(set(stored))


def _wait_for_lines(log: Path, lines: int) -> None:
    _wait_until(lambda: log.exists() and log.read_bytes().count(b"\n") >= lines)


def _wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG
    while not reached():
        assert time.monotonic() < deadline, "the others are stuck"
        time.sleep(0.05)


OFF = """
import datetime, sys, time
address, hours = sys.argv[1], float(sys.argv[2])
right = datetime.datetime
class Wrong(right):
    @classmethod
    def now(cls, zone=None):
        return right.now(zone) + datetime.timedelta(hours=hours)
datetime.datetime = Wrong
import polars as pl
import bayesdp as bdp
from bayesdp.mechanisms import DiscreteLaplaceMechanism
draw = DiscreteLaplaceMechanism.release
def slowly(self, values):
    print("charged", flush=True)
    time.sleep(1.0)
    return draw(self, values)
DiscreteLaplaceMechanism.release = slowly
frame = pl.DataFrame({"ill": [True, False] * 50})
with bdp.Session(frame, bdp.Independent(), epsilon=5.0, ledger=address, dataset="steps") as session:
    print(session.release(bdp.Count("ill", equals=True), epsilon=0.5).value, flush=True)
"""


@pytest.mark.parametrize("hours", [-1.0, 1.0])
def test_a_clock_that_is_an_hour_off_charges_nothing_twice(hours: float, direct: str) -> None:
    begun = datetime.now(UTC)
    frame = pl.DataFrame({"ill": [True, False] * 50})
    with (
        subprocess.Popen([sys.executable, "-c", OFF, direct, str(hours)], stdout=subprocess.PIPE, text=True) as other,
        bdp.Session(frame, bdp.Independent(), epsilon=5.0, ledger=direct, dataset="steps") as session,
    ):
        assert other.stdout is not None
        assert other.stdout.readline() == "charged\n"
        answer = session.release(bdp.Count("ill", equals=True), epsilon=0.5)
        assert float(other.stdout.readline()) == answer.value
    with Ledger(direct, create=False) as ledger:
        kinds = [entry.kind for entry in ledger.entries() if entry.kind != "check"]
        assert kinds == ["open", "charge", "answer"]
        assert ledger.verify().ok
        moments = [datetime.fromisoformat(entry.timestamp) for entry in ledger.entries()]
    assert moments == sorted(moments)
    assert all(begun - timedelta(minutes=1) < moment < datetime.now(UTC) + timedelta(minutes=1) for moment in moments)


def test_a_fork_leaves_its_parents_connection_alone(direct: str) -> None:
    account = open_account(direct)
    release(account, "before")

    def backend() -> Any:
        with account._ledger._open_database().transaction(write=False) as transaction:
            transaction.fetch()
            return transaction._driver.info.backend_pid

    parents = backend()
    child = os.fork()
    if not child:
        status = 1
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                release(account, "child")
                gc.collect()
            status = int(backend() == parents or bool(said))
            account._ledger.close()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert backend() == parents
    release(account, "after")
    check(direct, 3, 3)
