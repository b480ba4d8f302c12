"""What is public, and who is in which part, is kept beside the account, and an old ledger takes it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from bayesdp._support.documents import canonical
from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger import Account, Charge, Check, Entry, Ledger
from bayesdp.ledger.accounts import _APPEND, _MOVE
from bayesdp.ledger.database import SCHEMA


def charge(account: Account) -> int:
    return account.charge((), lambda state: (Charge("q", "count", {}, 0.25),))[0].entry


def opened(ledger: Ledger, *public: str) -> Account:
    reported = {"model": {}, "description": {}, "budget": 2.0}
    return ledger.account("meters", **reported, public=public)  # type: ignore[arg-type]


def test_public_columns_are_named_when_an_account_is_opened(ledger: Ledger) -> None:
    account = opened(ledger, "district", "date", "district")
    assert account.public == account.state().public == ledger.public("meters") == ("date", "district")
    assert [entry.kind for entry in ledger.entries()] == ["open", "public"]
    assert opened(ledger).public == ("date", "district")
    assert opened(ledger, "date").public == ("date", "district")
    with pytest.raises(LedgerError, match=r"does not name 'tariff' as public.*bayesdp budget public"):
        opened(ledger, "tariff")
    assert ledger.verify().ok


def test_an_account_that_its_first_charge_opens_names_them_too(ledger: Ledger) -> None:
    pending = ledger.account("m", model={}, description={}, budget=1.0, at_once=False, public=["district"])
    assert pending.state().public == ("district",)
    assert ledger.entries() == ()
    assert charge(pending) == 3
    assert [entry.kind for entry in ledger.entries()] == ["open", "public", "charge"]


def test_others_are_named_once_with_a_reason(ledger: Ledger) -> None:
    account = opened(ledger, "district")
    state = ledger.name_public("meters", ["tariff", "district"], reason="it is printed on the bill")
    assert state.public == ("district", "tariff")
    assert ledger.entries(kind="public")[1].content() == {"columns": ["tariff"], "reason": "it is printed on the bill"}
    with pytest.raises(InvalidInputError, match="already"):
        ledger.name_public("meters", ["tariff"], reason="again")
    with pytest.raises(LedgerError, match="no data set"):
        ledger.name_public("unheard of", ["tariff"], reason="x")
    for wrong in ([""], "tariff", [3]):
        with pytest.raises(InvalidInputError):
            ledger.name_public("meters", wrong, reason="x")  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match=r"other columns of 'meters' are public now.*open it again"):
        charge(account)
    assert charge(opened(ledger)) == 4
    assert ledger.verify().ok


def test_a_check_of_columns_sees_all_entries_and_may_refuse(ledger: Ledger) -> None:
    account = opened(ledger)
    charge(account)

    def check(entries: Sequence[Entry]) -> None:
        assert [entry.kind for entry in entries] == ["open", "charge"]
        raise InvalidInputError("no")

    with pytest.raises(InvalidInputError, match="no"):
        ledger.name_public("meters", ["district"], reason="x", check=check)
    assert ledger.public("meters") == ()


def test_parts_are_noted_and_compared(ledger: Ledger) -> None:
    account = opened(ledger)
    assert account.parts("district") is None
    account.note_parts("district", None, {"members": "m1"})
    account.note_parts("district", None, {"members": "m1"})
    before = account.parts("district")
    assert before == {"by": "district", "members": "m1"}
    assert account.parts("tariff") is None
    with pytest.raises(LedgerError, match="another process recorded"):
        account.note_parts("district", None, {"members": "m2"})
    account.note_parts("district", before, {"members": "m2", "end": ["hour", 9]})
    assert account.parts("district") == {"by": "district", "members": "m2", "end": ["hour", 9]}
    assert len(ledger.entries(kind="parts")) == 2
    assert ledger.verify().ok


def test_what_somebody_else_than_the_holder_enters_is_refused(ledger: Ledger) -> None:
    """An analyst of a team may add entries, but not to the table of decisions."""
    account = opened(ledger, "district")
    ledger.check("meters", Check("a" * 64, 9, "s"))
    with ledger._store(write=True) as store:
        body = {"columns": ["ill"], "reason": "I want it"}
        written = Entry(store.entries + 1, "meters", "public", None, None, canonical("body", body), "now", store.head)
        store._later(_APPEND, **vars(written.sealed()))
        store._later(_MOVE, previous=store.head, number=written.number, hash=written.sealed().hash)
    for use in (account.state, lambda: charge(account), lambda: ledger.public("meters")):
        with pytest.raises(LedgerError, match="not what was entered"):
            use()
    assert any("decision" in problem for problem in ledger.verify().problems)


def test_a_ledger_is_upgraded_on_purpose(tmp_path: Path) -> None:
    place = tmp_path / "budget.db"
    with closing(sqlite3.connect(place)) as database:
        database.executescript(OLD.read_text(encoding="utf-8"))
    with Ledger(place, create=False) as ledger:
        for _ in range(2):
            ledger.upgrade()
        assert ledger.export()["schema"] == SCHEMA
        assert ledger.verify().ok


OLD = Path(__file__).with_name("ledger_of_0_1_sealed.sql")


def test_the_first_new_entry_upgrades_a_ledger_of_schema_1(tmp_path: Path) -> None:
    """Older versions then refuse it: they would not know what is public."""
    place = tmp_path / "budget.db"
    with closing(sqlite3.connect(place)) as database:
        database.executescript(OLD.read_text(encoding="utf-8"))

    def schema() -> int:
        with closing(sqlite3.connect(place)) as database:
            return int(database.execute("SELECT schema FROM bayesdp_ledger").fetchone()[0])

    with Ledger(place, create=False) as ledger:
        name = ledger.datasets()[0]
        assert ledger.public(name) == ()
        ledger.lower(name, ledger.state(name).budget / 2)
        assert schema() == 1
        ledger.check(name, Check("a" * 64, 9, "s"))
        assert schema() == SCHEMA
        assert ledger.verify().ok
        assert ledger.export()["schema"] == SCHEMA
        ledger.name_public(name, ["district"], reason="agreed")
    with closing(sqlite3.connect(place)) as database:
        assert database.execute("SELECT 1 FROM sqlite_master WHERE name = 'bayesdp_entries_checks'").fetchone()
    with Ledger(place, create=False) as ledger:
        assert ledger.public(name) == ("district",)


def test_an_older_copy_under_an_open_ledger_is_noticed(tmp_path: Path) -> None:
    place = tmp_path / "budget.db"
    with Ledger(place) as ledger:
        account = opened(ledger)
        older = place.read_bytes()
        charge(account)
        newer = place.read_bytes()
        place.write_bytes(older)
        for use in (lambda: charge(account), account.state, lambda: ledger.check("d", Check("a" * 64, 9, "s"))):
            with pytest.raises(LedgerError, match="older copy may have been put in its place"):
                use()
        assert place.read_bytes() == older
        place.write_bytes(newer)
        assert charge(account) == 3
    with Ledger(place) as fresh:
        assert fresh.verify().ok
