"""docs/team.md on a real server: what it says is run, and what each role must not do is tried."""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import psycopg
import pytest

import bayesdp as bdp
from bayesdp.errors import BudgetError, LedgerError
from bayesdp.ledger import Ledger
from shared.postgresql import PostgreSQL

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("faults")]

PAGE = (Path(__file__).parents[2] / "docs" / "team.md").read_text(encoding="utf-8")
FRAME = pl.DataFrame({"ill": [True, False] * 50})
COUNT = bdp.Count("ill", equals=True)


@pytest.fixture(scope="module")
def address(own_server: PostgreSQL) -> Callable[[str], str]:
    """Set the ledger up as the page says; return a function from a person to the ledger's address."""
    roles, grants, people = re.findall(r"```sql\n(.*?)```", PAGE, flags=re.DOTALL)
    (creation,) = re.findall(r"Ledger\(\"postgresql://admin@host/budget\?(.*?)\"\)", PAGE)
    with psycopg.connect(own_server.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE budget")
    url = own_server.url.replace("/postgres?", "/budget?")
    with psycopg.connect(url) as administrator:
        administrator.execute(roles.encode())
    Ledger(f"{url}&{creation}").close()
    with psycopg.connect(url) as administrator:
        administrator.execute(grants.encode())
        administrator.execute(people.encode())

    def of(person: str) -> str:
        return url.replace("postgres@", f"{person}@")

    session(of("carla"), 2.0).open_account()
    return of


def session(url: str, budget: float | None = None) -> bdp.Session:
    return bdp.Session(FRAME, bdp.Independent(), epsilon=budget, ledger=url, dataset="visits")


def test_each_does_its_work(address: Callable[[str], str]) -> None:
    with session(address("ada")) as mine:
        answer = mine.release(COUNT, epsilon=0.25)
        assert mine.release(COUNT, epsilon=0.25).value == answer.value
    with Ledger(address("carla")) as ledger:
        ledger.lower("visits", 1.0)
        ledger.raise_budget("visits", 2.0, reason="decided by the board")
        ledger.allow_checks("visits", 200, reason="decided by the board")
    with session(address("ada")) as mine, pytest.raises(BudgetError):
        mine.release(COUNT, epsilon=5.0)
    with Ledger(address("otto"), create=False) as ledger:
        assert ledger.verify([(answer.entry, answer.head)]).ok
        assert ledger.export()["head"]


@pytest.mark.parametrize("person", ["carla", "ada", "otto"])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE bayesdp_entries SET body = '{}'",
        "DELETE FROM bayesdp_entries",
        "TRUNCATE bayesdp_entries",
        "DROP TABLE bayesdp_entries",
        "DELETE FROM bayesdp_accounts",
        "DELETE FROM bayesdp_totals",
        "DELETE FROM bayesdp_ledger",
        "INSERT INTO bayesdp_ledger VALUES (2, 1, 0, '')",
        "UPDATE bayesdp_ledger SET schema = 3",
        "DELETE FROM bayesdp_decisions",
        "UPDATE bayesdp_accounts SET model = ''",
        "UPDATE bayesdp_totals SET query = '{}'",
        "CREATE TABLE bayesdp.mine (a int)",
        "ALTER TABLE bayesdp_entries DISABLE TRIGGER ALL",
        "SET ROLE bayesdp_owner",
    ],
)
def test_no_role_can_rewrite_entries(person: str, statement: str, address: Callable[[str], str]) -> None:
    with psycopg.connect(address(person)) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement.encode())


@pytest.mark.parametrize(
    ("person", "statement"),
    [
        ("ada", "UPDATE bayesdp_accounts SET budget = 1000"),
        ("ada", "INSERT INTO bayesdp_accounts VALUES ('other', '', '', 1000, 0)"),
        ("ada", "INSERT INTO bayesdp_decisions VALUES (99)"),
        ("carla", "UPDATE bayesdp_accounts SET charges = 0"),
        ("carla", "UPDATE bayesdp_totals SET tau = '0'"),
        ("otto", "INSERT INTO bayesdp_entries VALUES (99, 'visits', 'raise', NULL, NULL, '{}', '', '', '')"),
        ("otto", "UPDATE bayesdp_ledger SET head = ''"),
        ("otto", "SELECT * FROM bayesdp_ledger FOR UPDATE"),
    ],
)
def test_each_role_is_limited_to_its_own_work(person: str, statement: str, address: Callable[[str], str]) -> None:
    with psycopg.connect(address(person)) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement.encode())


def test_the_library_says_so_and_writes_nothing(address: Callable[[str], str]) -> None:
    with Ledger(address("otto"), create=False) as ledger:
        before = ledger.state("visits")
    other = pl.DataFrame({"well": [True, False, True]})
    with (
        bdp.Session(other, bdp.Independent(), epsilon=1.0, ledger=address("ada"), dataset="new") as unopened,
        pytest.raises(LedgerError, match="permission denied for table bayesdp_accounts; nothing was written"),
    ):
        unopened.release(bdp.Count("well", equals=True), epsilon=0.1)
    with session(address("otto")) as looking, pytest.raises(LedgerError, match="permission denied"):
        looking.release(COUNT, epsilon=0.5)
    with session(address("carla")) as curating, pytest.raises(LedgerError, match="permission denied"):
        curating.release(COUNT, epsilon=0.5)
    decisions: list[Callable[[Ledger], object]] = [
        lambda ledger: ledger.raise_budget("visits", 1000.0, reason="more"),
        lambda ledger: ledger.name_public("visits", ["ill"], reason="I want it"),
        lambda ledger: ledger.allow_checks("visits", 1000, reason="more"),
        lambda ledger: ledger.grow(
            ledger.state("visits"), model={}, description={"growing": True}, extents=[], reason="more"
        ),
    ]
    for decide in decisions:
        with Ledger(address("ada")) as ledger, pytest.raises(LedgerError, match="permission denied"):
            decide(ledger)
    with Ledger(address("otto"), create=False) as ledger:
        after = ledger.state("visits")
        assert after.same_account(before)
        assert {entry.kind for entry in ledger.entries()[before.entries :]} == {"check"}
        assert ledger.verify().ok


def test_a_total_falsified_by_an_analyst_is_refused_by_all(address: Callable[[str], str]) -> None:
    with session(address("ada")) as mine:
        mine.release(bdp.Count("ill", equals=False), epsilon=0.25)
        with psycopg.connect(address("ada")) as connection:
            stored = connection.execute("SELECT tau FROM bayesdp_totals").fetchone()
            connection.execute("UPDATE bayesdp_totals SET tau = '1/1024'")
        try:
            with pytest.raises(LedgerError, match="not what its entries add up to"):
                mine.release(COUNT, epsilon=0.5)
            with Ledger(address("otto"), create=False) as ledger:
                assert not ledger.verify().ok
        finally:
            with psycopg.connect(address("ada")) as connection:
                connection.execute("UPDATE bayesdp_totals SET tau = %s", stored)
