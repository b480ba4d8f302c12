"""A ledger edited by hand: no account is believed, nothing is charged; damaged rows raise a LedgerError."""

import json
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesdp.cli.releasing import exported, verified
from bayesdp.errors import BayesDPError, LedgerError
from bayesdp.ledger import Account, Charge, Check, Entry, Ledger, Receipt, State
from bayesdp.ledger.accounts import RECENT
from bayesdp.session.overview import overview

MODEL = {"type": "independent"}
COUNT = {"query": "count", "column": "s", "equals": 1}
SPENT = {"query": "sum", "column": "s", "bounds": [0.0, 1.0], "where": "any question"}
DETAILS = {"epsilon": 0.25, "epsilon_total": 0.25, "theorem": "independent", "query": COUNT}


def charge(account: Account, question: str = "q", tau: float = 0.25) -> int:
    return charged(account, Charge(question, "count", SPENT, tau, DETAILS)).entry


def charged(account: Account, charge: Charge) -> Receipt:
    (receipt,) = account.charge((), lambda state: (charge,))
    return receipt


def edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            assert database.execute(statement).rowcount != 0, f"{statement} changed nothing"


def content(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return list(database.iterdump())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


@pytest.fixture
def steps(path: Path) -> Account:
    ledger = Ledger(path)
    account = ledger.account("steps", model=MODEL, description={"records": 9}, budget=2.0)
    for _ in range(3):
        charge(account)
    account.answer(charged(account, Charge("asked", "sum", {"query": "sum"}, 0.5)), {"value": 4})
    ledger.raise_budget("steps", 3.0, reason="agreed")
    return account


EDITS = {
    "a total": ["UPDATE bayesdp_totals SET tau = '1/4' WHERE key = 'count'"],
    "a total's query": ["UPDATE bayesdp_totals SET query = '{}' WHERE key = 'sum'"],
    "a total's age": ["UPDATE bayesdp_totals SET since = 1 WHERE key = 'sum'"],
    "a total that is gone": ["DELETE FROM bayesdp_totals WHERE key = 'sum'"],
    "a total too many": ["INSERT INTO bayesdp_totals VALUES ('steps', 'x', '{}', '1', 9)"],
    "the budget": ["UPDATE bayesdp_accounts SET budget = 30"],
    "the number of charges": ["UPDATE bayesdp_accounts SET charges = 1"],
    "the model": ["UPDATE bayesdp_accounts SET model = description"],
    "an account that is gone": ["DELETE FROM bayesdp_accounts"],
    "an account and its totals": ["DELETE FROM bayesdp_accounts", "DELETE FROM bayesdp_totals"],
    "an old charge": ["UPDATE bayesdp_entries SET body = replace(body, '0.25', '0.125') WHERE number = 2"],
    "the charges' data set": ["UPDATE bayesdp_entries SET dataset = 'other'"],
    "a time": ["UPDATE bayesdp_entries SET timestamp = '2020-01-01T00:00:00+00:00' WHERE number = 3"],
    "a hash": ["UPDATE bayesdp_entries SET hash = previous WHERE number = 5"],
    "the head": ["UPDATE bayesdp_ledger SET head = replace(head, substr(head, 1, 1), 'x')"],
    "the head of another time": [
        "UPDATE bayesdp_ledger SET head = (SELECT hash FROM bayesdp_entries WHERE number = 3)",
    ],
    "where it ends": ["UPDATE bayesdp_ledger SET entries = entries - 1"],
    "the last entry": ["DELETE FROM bayesdp_entries WHERE number = 7"],
    "the last entry and the head": [
        "DELETE FROM bayesdp_entries WHERE number = 7",
        "UPDATE bayesdp_ledger SET entries = 6, head = (SELECT hash FROM bayesdp_entries WHERE number = 6)",
    ],
    "an entry between": ["DELETE FROM bayesdp_entries WHERE number = 3"],
    "all entries": ["DELETE FROM bayesdp_entries"],
}


@pytest.mark.parametrize("name", EDITS)
def test_a_release_finds_what_was_edited_and_charges_nothing(steps: Account, path: Path, name: str) -> None:
    edit(path, *EDITS[name])
    before = content(path)
    attempts: list[Callable[[], object]] = [
        lambda: charge(steps),
        lambda: steps.charge((), lambda state: pytest.fail("no release is decided on a ledger that was tampered with")),
        steps.state,
        lambda: Ledger(path).account("steps", model=MODEL, description={"records": 9}, budget=2.0),
        lambda: Ledger(path).check_model("steps", MODEL, budget=None),
        lambda: Ledger(path).lower("steps", 1.0),
    ]
    for attempt in attempts:
        with pytest.raises(LedgerError, match="damaged"):
            attempt()
    assert content(path) == before
    assert not Ledger(path).verify().ok


def test_what_was_edited_long_ago_is_found_where_it_matters(steps: Account, path: Path) -> None:
    """The account's last change is looked up wherever it stands, with the entry that follows it."""
    other = Ledger(path).account("other", model=MODEL, description={"records": 8}, budget=99.0)
    for _ in range(RECENT + 2):
        charge(other)
    assert steps.state().charges == 4
    ledger = Ledger(path)
    raised = ledger.entries("steps", "raise")[0]
    rewritten = Entry(**{**vars(raised), "timestamp": "2020-01-01T00:00:00+00:00"}).sealed()
    edit(path, f"UPDATE bayesdp_entries SET timestamp = '{rewritten.timestamp}' WHERE number = 7")
    with pytest.raises(LedgerError, match="entry 7 was changed"):
        steps.state()
    edit(path, f"UPDATE bayesdp_entries SET hash = '{rewritten.hash}' WHERE number = 7")
    with pytest.raises(LedgerError, match="not what its entries add up to"):
        steps.state()
    assert charge(other) == 7 + 1 + RECENT + 3, "the other account is as it was"


def test_an_answer_that_was_edited_is_not_given_again(steps: Account, path: Path) -> None:
    other = Ledger(path).account("other", model=MODEL, description={"records": 8}, budget=99.0)
    for _ in range(RECENT):
        charge(other)
    edit(path, "UPDATE bayesdp_entries SET body = '{\"value\":5}' WHERE kind = 'answer'")
    with pytest.raises(LedgerError, match="entry 6 was changed"):
        steps.answers("asked")
    with pytest.raises(LedgerError, match="entry 6 was changed"):
        steps.state("asked")
    with Ledger(path)._store() as store:
        (stored,) = (entry for entry in store.stored() if entry.number == 6)
    edit(path, f"UPDATE bayesdp_entries SET hash = '{stored.sealed().hash}' WHERE number = 6")
    with pytest.raises(LedgerError, match="not the one that was stored"):
        steps.answers("asked")


def test_a_charge_reads_no_more_of_a_long_ledger(steps: Account, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Constant time: how many entries a charge reads does not depend on how many there are."""
    read: list[Entry] = []
    intact = Entry.intact

    def counting(rows: Any) -> list[Entry]:
        entries = intact(rows)
        read.extend(entries)
        return entries

    monkeypatch.setattr(Entry, "intact", counting)
    charge(steps)
    few = len(read)
    for _ in range(3 * RECENT):
        charge(steps)
    read.clear()
    charge(steps)
    assert len(read) <= RECENT + 1
    assert few <= RECENT + 1
    with closing(sqlite3.connect(path)) as database:
        last = "SELECT * FROM bayesdp_entries WHERE dataset = 'steps' AND kind IN ('open', 'charge', 'lower', 'raise')"
        plan = database.execute(f"EXPLAIN QUERY PLAN {last} ORDER BY number DESC LIMIT 1").fetchall()
    assert "bayesdp_entries_changes" in plan[0][-1]
    assert not any("TEMP B-TREE" in line[-1] for line in plan)


GARBAGE = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=8),
    st.sampled_from(["{}", "[]", "7", '"x"', "null", '{"tau":', "NaN", "1/0", "1e999999999", "[" * 5000, "steps"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["model", "budget"]), inner),
        max_leaves=4,
    ).map(json.dumps),
)
COLUMNS = {
    "bayesdp_ledger": ["schema", "entries", "head"],
    "bayesdp_entries": ["number", "dataset", "kind", "question", "charge", "body", "timestamp", "previous", "hash"],
    "bayesdp_accounts": ["dataset", "model", "description", "budget", "charges"],
    "bayesdp_totals": ["dataset", "key", "query", "tau", "since"],
    "bayesdp_answers": ["entry", "dataset", "question", "tau", "terms", "demand", "shared"],
}
PLACES = [(table, column) for table, columns in COLUMNS.items() for column in columns]


def fill(path: Path) -> None:
    with Ledger(path) as ledger:
        for name, records in (("steps", 9), ("other", 8)):
            account = ledger.account(name, model=MODEL, description={"records": records}, budget=2.0)
            charge(account, "q")
            answered = charged(account, Charge("r", "count", SPENT, 0.25, DETAILS))
            account.answer(answered, {"value": 4, "tau": 0.25, "asked": {"epsilon": 0.5}})
            ledger.lower(name, 1.5)
            ledger.raise_budget(name, 1.75, reason="agreed")
            ledger.refused(account.dataset, "the table is outside the model")
        ledger.refused("never opened", "the table is outside the model")


def without_constraints(path: Path) -> None:
    """Let every column hold anything, as a file that was edited with other tools may."""
    with closing(sqlite3.connect(path)) as database, database:
        for table, columns in COLUMNS.items():
            kept = ", ".join((["id"] if table == "bayesdp_ledger" else []) + [f'"{column}"' for column in columns])
            database.execute(f"ALTER TABLE {table} RENAME TO old")
            database.execute(f"CREATE TABLE {table} ({kept})")
            database.execute(f"INSERT INTO {table} SELECT {kept} FROM old")
            database.execute("DROP TABLE old")


def operations(path: Path) -> list[Callable[[], object]]:
    ledger = Ledger(path, create=False)
    account = Account(ledger, State("steps", 2.0, (), 0, 1, "as it was before the damage"))
    return [
        lambda: Ledger(path),
        lambda: ledger.account("steps", model=MODEL, description={"records": 9}, budget=2.0).state(),
        lambda: ledger.account("new", model=MODEL, description={"records": 7}, budget=2.0),
        lambda: ledger.check_model("steps", MODEL, budget=None),
        lambda: account.state("q", "r"),
        lambda: account.state("q").unanswered("q"),
        lambda: account.answers("q"),
        lambda: charge(account),
        lambda: account.answer(charged(account, Charge("a", "count", SPENT, 0.25, DETAILS)), {"value": 1}),
        lambda: ledger.refused(account.dataset, "the table is outside the model", Check("q", 9, "s")),
        lambda: ledger.check(account.dataset, Check("q", 9, "t")),
        lambda: ledger.allow_checks("steps", 200, reason="agreed"),
        lambda: ledger.name_public("steps", ["district"], reason="agreed"),
        lambda: account.note_parts("district", account.parts("district"), {"members": "m"}),
        lambda: ledger.state("other"),
        lambda: ledger.lower("other", 1.0),
        lambda: ledger.raise_budget("other", 9.0, reason="agreed"),
        ledger.datasets,
        ledger.entries,
        ledger.export,
        ledger.verify,
        lambda: str(overview(path, None)),
        lambda: overview(path, "steps").to_json(),
        lambda: exported(path, "steps"),
        lambda: verified(path, ()),
    ]


@settings(max_examples=2 * settings().max_examples)
@given(st.sampled_from(PLACES), st.integers(0, 20), GARBAGE, st.booleans())
def test_damaged_rows_are_an_error_of_ours(place: tuple[str, str], row: int, garbage: Any, rehash: bool) -> None:
    """Every operation works or raises BayesDPError, whatever stands in whatever column; and with right hashes, too."""
    table, column = place
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budget.db"
        path.write_bytes(filled())
        with closing(sqlite3.connect(path)) as database, database:
            (rows,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
            chosen = f"SELECT rowid FROM {table} ORDER BY rowid LIMIT 1 OFFSET {row % rows}"
            with suppress(OverflowError, UnicodeEncodeError):
                database.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = ({chosen})', (garbage,))
            if rehash:
                chain_again(database)
        try:
            attempts = operations(path)
        except BayesDPError:
            return
        for attempt in attempts:
            with suppress(BayesDPError):
                attempt()


def chain_again(database: sqlite3.Connection) -> None:
    """Do what somebody does who knows how the hashes are made."""
    rows = database.execute("SELECT rowid, * FROM bayesdp_entries ORDER BY rowid").fetchall()
    last = "0" * 64
    for rowid, *columns, _, _ in rows:
        entry = Entry(*[*columns, last]).sealed()
        last = entry.hash
        hashes = (entry.previous, entry.hash, rowid)
        database.execute("UPDATE bayesdp_entries SET previous = ?, hash = ? WHERE rowid = ?", hashes)
    database.execute("UPDATE bayesdp_ledger SET head = ?", (last,))


_FILLED: list[bytes] = []


def filled() -> bytes:
    """Return a ledger whose columns may hold anything, made once."""
    if not _FILLED:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "budget.db"
            fill(path)
            without_constraints(path)
            _FILLED.append(path.read_bytes())
    return _FILLED[0]
