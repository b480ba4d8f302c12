"""Ledgers that older versions wrote are read, verified, checked, and go on.

`ledger_of_0_1.sql` was written before accounts were sealed, `ledger_of_0_1_sealed.sql` before every document that is
stored had a kind, `ledger_of_schema_2.sql` before charges had keys of their own, losses and regions. Add the ledger of
a version here before its documents change.
"""

import json
import sqlite3
import unicodedata
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import polars
import pytest

import bayesdp as bdp
from bayesdp.cli.releasing import exported, verified
from bayesdp.errors import LedgerError
from bayesdp.ledger import Charge, Ledger
from bayesdp.ledger.database import SCHEMA
from bayesdp.queries import LedgerKey
from bayesdp.session.answer import Answer
from bayesdp.session.history import release_stored
from bayesdp.session.overview import overview

MODEL = {"type": "independent"}
HEIGHT = "höhe"
SPENT = {"bounds": [0.0, 1.0], "column": "s", "query": "sum", "where": "any question"}


TABLE = polars.DataFrame(
    {
        "s": [0, 1, 1, 0, 1] * 8,
        "x": [0.5, 2.0, 3.5, 1.0, 7.25] * 8,
        "day": [1, 2, 3, 4, 5] * 8,
        "n": range(40),
        "meter": [number // 10 for number in range(40)],
        "district": ["north"] * 20 + ["south"] * 20,
    }
)
"""The table that the ledger of schema 2 is about."""

LEDGERS = sorted(Path(__file__).parent.glob("ledger_of_*.sql"))


def restored(script: Path, path: Path) -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script.read_text(encoding="utf-8"))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return restored(Path(__file__).parent / "ledger_of_0_1.sql", tmp_path / "old.db")


def indices(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as database:
        return {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}


@pytest.mark.parametrize("script", LEDGERS, ids=lambda script: script.stem)
def test_every_document_of_every_older_version_is_read(script: Path, tmp_path: Path) -> None:
    path = restored(script, tmp_path / "old.db")
    before = path.read_bytes()
    with Ledger(path, create=False) as ledger:
        assert ledger.verify().ok
        for opening in ledger.entries(kind="open"):
            model = opening.content()["model"]
            assert bdp.Model.from_dict(model).identity == {"schema": 1, **model}
        answers = [entry.content() for entry in ledger.entries(kind="answer")]
    assert answers
    for body in answers:
        written = release_stored(body).to_dict()
        assert (written["kind"], written["schema"]) == (body.get("kind", written["kind"]), 1)
        assert {name: written[name] for name in body if name != "asked"} == {
            name: entry for name, entry in body.items() if name != "asked"
        }
    assert "releases" in overview(path, None).to_dict()["datasets"][0]
    assert json.loads(exported(path, None))["kind"] == "ledger"
    assert path.read_bytes() == before, "reading leaves an old ledger as it is"


def test_what_the_previous_version_stored_goes_on(tmp_path: Path) -> None:
    path = restored(Path(__file__).parent / "ledger_of_0_1_sealed.sql", tmp_path / "old.db")
    table = polars.DataFrame(
        {"s": [0, 1, 1, 0, 1] * 8, "x": [0.5, 2.0, 3.5, 1.0, 7.25] * 8, "day": [1, 2, 3, 4, 5] * 8, "n": range(40)}
    )
    with bdp.Session(table, bdp.Independent(), dataset="steps", ledger=path) as session:
        before = [entry.value for entry in session.history if isinstance(entry, Answer)]
        again = session.release(bdp.Count("s", equals=1), epsilon=0.5)
        assert (again.value, again.reused, again.by) == (before[0], True, None)
        fresh = session.release(bdp.Count("s", equals=0), epsilon=0.5)
        assert fresh in session.history
    with Ledger(path) as ledger:
        assert ledger.entries(kind="answer")[-1].content()["kind"] == "answer"
        assert ledger.verify().ok


def totals_of(path: Path, dataset: str) -> dict[LedgerKey, Fraction]:
    """Return the exact totals that an account holds, each under the key that it means."""
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT query, tau FROM bayesdp_totals WHERE dataset = ?", [dataset]).fetchall()
    assert len({LedgerKey.from_text(query) for query, _ in rows}) == len(rows), "one total for each key"
    return {LedgerKey.from_text(query): Fraction(tau) for query, tau in rows}


def test_old_and_new_charges_that_mean_the_same_have_one_total(tmp_path: Path) -> None:
    path = restored(Path(__file__).parent / "ledger_of_schema_2.sql", tmp_path / "old.db")
    before = totals_of(path, "steps")
    with closing(sqlite3.connect(path)) as database:
        entries = database.execute("SELECT * FROM bayesdp_entries ORDER BY number").fetchall()
    asked: list[bdp.Query] = [
        bdp.Count("s", isin=[0, 1]),
        bdp.Sum("x", bounds=(0, 5), where="district < 'o'", public_filter=True),
        bdp.Count("s", isin=[0, 1], by="district", by_cells=["south"]),
        bdp.Count("x", equals=1),
    ]
    with bdp.Session(TABLE, bdp.Independent(), dataset="steps", ledger=path) as session:
        added = {query.ledger_key(): session.release(query, epsilon=0.125).tau for query in asked}
    after = totals_of(path, "steps")
    assert set(after) - set(before) == {bdp.Count("x", equals=1).ledger_key()}
    assert sum(after.values()) == sum(before.values()) + sum(Fraction(tau) for tau in added.values())
    with closing(sqlite3.connect(path)) as database:
        now = database.execute("SELECT * FROM bayesdp_entries ORDER BY number").fetchall()
    assert now[: len(entries)] == entries, "what was written stays as it is"
    with Ledger(path) as ledger:
        assert ledger.verify().ok
        new = next(entry.content() for entry in ledger.entries(kind="charge") if entry.number == len(entries) + 1)
        assert new["query"] == SPENT, "it is added to the total that the older version began"


def test_an_unanswered_charge_of_an_older_version_is_completed(tmp_path: Path) -> None:
    path = restored(Path(__file__).parent / "ledger_of_schema_2.sql", tmp_path / "old.db")
    with bdp.Session(TABLE, bdp.Independent(), dataset="steps", ledger=path) as session:
        before = session.leaked
        answer = session.release(bdp.Count("s", equals=0), epsilon=0.125)
        assert session.leaked == before == pytest.approx(answer.epsilon_total)
        assert session.release(bdp.Count("s", equals=0), epsilon=0.125).entry == answer.entry


@pytest.mark.parametrize("script", LEDGERS, ids=lambda script: script.stem)
def test_an_upgrade_indexes_the_answers_that_are_there(script: Path, tmp_path: Path) -> None:
    path = restored(script, tmp_path / "old.db")
    with Ledger(path) as ledger:
        every = {
            (entry.dataset, str(entry.question)): ledger.entries(entry.dataset, "answer")
            for entry in ledger.entries(kind="answer")
        }
        ledger.upgrade()
        assert ledger.verify().ok
        assert ledger.export()["schema"] == SCHEMA
        for dataset, question in every:
            with ledger._store() as store:
                best, stored = store.best_answers(dataset, question, 1), store.answers(dataset, question)
            assert best
            assert all(body in stored for body in best)
            assert max(body["tau"] for body in best) == max(body["tau"] for body in stored)
        with closing(sqlite3.connect(path)) as database:
            indexed = {entry for (entry,) in database.execute("SELECT entry FROM bayesdp_answers")}
        assert indexed == {entry.number for entry in ledger.entries(kind="answer")}


def test_a_document_of_a_newer_version_is_refused(path: Path) -> None:
    with Ledger(path) as ledger:
        body = ledger.entries(kind="answer")[0].content()
    for change in ({"schema": 2}, {"kind": "forecast"}):
        with pytest.raises(LedgerError, match=r"schema 2|kind 'forecast'"):
            Answer.stored({**body, **change})
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE bayesdp_ledger SET schema = 4")
    with pytest.raises(LedgerError, match="schema is 4"):
        Ledger(path)


def test_an_old_ledger_is_read_and_verified(path: Path) -> None:
    with Ledger(path, create=False) as ledger:
        assert ledger.verify().ok
        assert {entry.kind for entry in ledger.entries()} == {"open", "charge", "answer", "lower", "raise"}
        assert [(name, ledger.state(name).budget) for name in ledger.datasets()] == [
            *((unicodedata.normalize("NFD", HEIGHT), 2.0), ("steps", 1.75), ("te\u200bam", 2.0)),
        ]
    before = path.read_bytes()
    assert json.loads(exported(path, None))["schema"] == 1
    assert verified(path, ()).entries == 9
    shown = str(overview(path, None))
    assert "raised to 1.75, because: agreed" in shown
    assert "'te\\u200bam'" in shown
    (release,) = overview(path, "steps").datasets[0]["releases"]
    assert (release["value"], release["epsilon"], release["diagnosis"], release["by"]) == (13, 0.5, None, None)
    assert path.read_bytes() == before, "reading leaves an old ledger as it is"


def test_an_old_ledger_goes_on_and_is_sealed_from_then_on(path: Path) -> None:
    with Ledger(path) as ledger:
        account = ledger.account(HEIGHT, model=MODEL, description={"records": 9}, budget=None)
        assert account.dataset == unicodedata.normalize("NFD", HEIGHT)
        assert "bayesdp_entries_changes" not in indices(path)
        account.charge((), lambda state: (Charge("s", "count", SPENT, 0.5),))
        assert "bayesdp_entries_changes" in indices(path)
        assert "account" in ledger.entries(HEIGHT, "charge")[-1].content()
        assert account.state().charges == 3
        assert ledger.verify().ok
        assert ledger.datasets() == (unicodedata.normalize("NFD", HEIGHT), "steps", "te\u200bam")


def test_an_old_answer_is_given_again(path: Path) -> None:
    table = polars.DataFrame({"s": [0, 1, 1, 0, 1] * 4})
    with bdp.Session(table, bdp.Independent(), dataset="steps", ledger=path) as session:
        answer = session.release(bdp.Count("s", equals=1), epsilon=0.5)
        assert (answer.value, answer.reused) == (13, True)
        assert session.release(bdp.Count("s", equals=0), epsilon=0.5).epsilon_total == 1.0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE bayesdp_totals SET tau = '1/4' WHERE dataset != 'steps'",
        "UPDATE bayesdp_accounts SET budget = 20",
        "UPDATE bayesdp_accounts SET charges = 0",
        "DELETE FROM bayesdp_totals",
        "UPDATE bayesdp_entries SET body = replace(body, '0.25', '0.125') WHERE number = 8",
        "DELETE FROM bayesdp_entries WHERE number = 7",
    ],
)
def test_an_old_account_that_was_edited_is_found(path: Path, statement: str) -> None:
    with Ledger(path) as ledger:
        account = ledger.account(HEIGHT, model=MODEL, description={"records": 9}, budget=None)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(statement)
        for use in (account.state, lambda: account.charge((), lambda state: (Charge("s", "count", SPENT, 0.5),))):
            with pytest.raises(LedgerError, match="damaged"):
                use()
        assert len(ledger.entries(kind="open")) == 3
