import hashlib
import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger import Charge, Ledger, Verification, fingerprint
from bayesdp.ledger.database import accounts, entries, ledgers, totals

DESCRIPTIONS = {"steps": {"rows": 9}, "höhe": {"rows": 8}}
MARKS = {"model": fingerprint({"type": "independent"}), "description": fingerprint({"rows": 9})}
COUNTED = ["count", '{"query":"count"}', "3602879701896397/36028797018963968", 2]
TWICE = ["count", '{"query":"count"}', "10808639105689191/36028797018963968", 2]
SUMMED = ["sum", "{}", "1/4", 5]
SEALED = {
    1: {**MARKS, "budget": 2.0, "charges": 0, "totals": []},
    2: {**MARKS, "budget": 2.0, "charges": 1, "totals": [COUNTED]},
    4: {**MARKS, "budget": 2.0, "charges": 2, "totals": [TWICE]},
    5: {**MARKS, "budget": 2.0, "charges": 3, "totals": [TWICE, SUMMED]},
    6: {**MARKS, "budget": 1.0, "charges": 3, "totals": [TWICE, SUMMED]},
    7: {**MARKS, "budget": 1.5, "charges": 3, "totals": [TWICE, SUMMED]},
}
TABLES = [ledgers, entries, accounts, totals]


@pytest.fixture
def written(ledger: Ledger) -> Ledger:
    """A ledger with every kind of entry, on two data sets."""
    for name in ("steps", "höhe"):
        account = ledger.account(name, model={"type": "independent"}, description=DESCRIPTIONS[name], budget=2.0)
        (receipt,) = account.charge(
            (), lambda state: (Charge("q", "count", {"query": "count"}, 0.1, {"epsilon": 1.0}),)
        )
        account.answer(receipt, {"value": 41})
        account.charge((), lambda state: (Charge("q", "count", {"query": "count"}, 0.2), Charge("r", "sum", {}, 0.25)))
        ledger.lower(name, 1.0)
        ledger.raise_budget(name, 1.5, reason="agreed")
    return ledger


@pytest.fixture
def raw(written: Ledger, url: str) -> Iterator[sa.Engine]:
    """The ledger's database, for somebody who may write to it."""
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous = OFF"))
    yield engine
    engine.dispose()


def run(raw: sa.Engine, *statements: Any) -> None:
    with raw.begin() as connection:
        for statement in statements:
            if isinstance(statement, str):
                connection.exec_driver_sql(statement)
            else:
                connection.execute(statement)


def found(ledger: Ledger, *heads: tuple[int, str]) -> tuple[str, ...]:
    """Return the problems that verify finds, or the reason why it cannot even read the ledger."""
    try:
        verification = ledger.verify(heads)
    except LedgerError as error:
        return (str(error),)
    assert verification.ok == (not verification.problems)
    return verification.problems


def flipped(value: Any) -> list[Any]:
    """Return values that differ from `value` a little."""
    if value is None:
        return [3, "x"]
    if isinstance(value, str):
        middle = len(value) // 2
        changed = value[:middle] + chr(ord(value[middle]) ^ 1) + value[middle + 1 :]
        return [changed, value + " ", value[:-1]]
    return [value + 1, value * 2 + 1]


def test_what_was_written_is_right(written: Ledger) -> None:
    head = written.state("steps").head
    assert written.verify() == Verification(ok=True, entries=14, problems=(), head=head)
    assert written.verify((entry.number, entry.hash) for entry in written.entries()).ok


def test_an_empty_ledger_is_right(ledger: Ledger) -> None:
    assert ledger.verify() == Verification(ok=True, entries=0, problems=(), head="0" * 64)


def test_the_hash_is_computable_by_anyone(written: Ledger) -> None:
    previous = "0" * 64
    for line in written.entries():
        assert line.previous == previous
        columns = [
            line.number,
            line.dataset,
            line.kind,
            line.question,
            line.charge,
            line.body,
            line.timestamp,
            previous,
        ]
        previous = hashlib.sha256(json.dumps(columns, separators=(",", ":")).encode()).hexdigest()
        assert line.hash == previous


def test_the_seal_is_computable_by_anyone(written: Ledger) -> None:
    """Every change carries the hash of the account after it; ledgers hold them, so this never changes."""
    for line in written.entries("steps"):
        if line.kind == "answer":
            continue
        content = SEALED[line.number]
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert line.content()["account"] == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_any_change_of_any_value_is_found(written: Ledger, raw: sa.Engine, table: sa.Table) -> None:
    with raw.connect() as connection:
        rows = connection.execute(sa.select(table)).mappings().all()
    keys = list(table.primary_key)
    for row in rows if raw.dialect.name == "sqlite" else rows[::4]:
        for column in table.columns:
            for value in flipped(row[column.name]):
                if isinstance(column.type, sa.Integer) and isinstance(value, str):
                    continue
                here = sa.and_(*(key == (value if key is column else row[key.name]) for key in keys))
                there = sa.and_(*(key == row[key.name] for key in keys))
                try:
                    run(raw, table.update().where(there).values({column: value}))
                except sa.exc.IntegrityError:
                    continue
                assert found(written), f"{column} of {dict(row)} was changed to {value!r}"
                run(raw, table.update().where(here).values({column: row[column.name]}))
    assert found(written) == ()


@pytest.mark.parametrize("number", range(1, 15))
def test_a_missing_entry_is_found(written: Ledger, raw: sa.Engine, number: int) -> None:
    run(raw, entries.delete().where(entries.c.number == number))
    assert found(written)


@pytest.mark.parametrize("table", [accounts, totals, ledgers], ids=str)
def test_missing_derived_rows_are_found(written: Ledger, raw: sa.Engine, table: sa.Table) -> None:
    run(raw, table.delete())
    assert found(written)


def test_swapped_entries_are_found(written: Ledger, raw: sa.Engine) -> None:
    swap = "UPDATE bayesdp_entries SET number = {} WHERE number = {}"
    run(raw, swap.format(-1, 2), swap.format(2, 5), swap.format(5, -1))
    assert any("entry 2 was changed" in problem for problem in found(written))


def test_problems_say_what_is_wrong(written: Ledger, raw: sa.Engine) -> None:
    run(
        raw,
        "UPDATE bayesdp_entries SET body = '{\"value\":42}' WHERE number = 3",
        "UPDATE bayesdp_totals SET tau = '1/4' WHERE key = 'count' AND dataset = 'steps'",
        "UPDATE bayesdp_accounts SET budget = 99 WHERE dataset = 'steps'",
    )
    assert found(written) == (
        "entry 3 was changed: its hash does not fit its contents",
        "the account of 'steps' is not what the entries add up to",
        "the total of 'steps', 'count' is not what the entries add up to",
    )


def rewrite(ledger: Ledger, raw: sa.Engine, **changed: Any) -> None:
    """Change the last entry as somebody would who knows how to hash."""
    last = replace(ledger.entries()[-1], **changed).sealed()
    run(
        raw,
        entries.update().where(entries.c.number == last.number).values(**vars(last)),
        ledgers.update().values(head=last.hash),
    )


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"kind": "answer", "charge": 1}, "an answer without an earlier charge"),
        ({"kind": "answer", "charge": 99}, "an answer without an earlier charge"),
        ({"kind": "answer", "charge": 11, "question": "other"}, "an answer without an earlier charge"),
        ({"kind": "present"}, "'present' is an unknown kind of entry"),
        ({"dataset": "nobody"}, "the data set 'nobody' was never opened"),
        ({"kind": "lower"}, "it does not lower the budget"),
        ({"body": '{"before":1.0,"budget":0.5,"reason":"x"}'}, "it does not raise the budget"),
        ({"body": '{"before":9.0,"budget":10.0,"reason":"x"}'}, "it does not raise the budget"),
        ({"body": '{"before":1.0, "budget":1.5,"reason":"x"}'}, "not canonical JSON"),
        ({"body": "{"}, "cannot be read"),
        ({"body": "[]"}, "cannot be read"),
        ({"body": "{}"}, "cannot be read: KeyError"),
        ({"body": '{"account":"00","before":1.0,"budget":1.5,"reason":"x"}'}, "the account that it was sealed with"),
        ({"kind": "refusal"}, "the account of 'höhe' is not what the entries add up to"),
        ({"kind": "refusal", "body": '{"reason":" "}'}, "reason must be a non-empty text"),
        ({"body": '{"before":1.0,"budget":-1.0,"reason":"x"}'}, "budget must be greater than 0"),
        ({"kind": "open", "body": '{"budget":1.0,"description":{},"model":{}}'}, "was opened before"),
        ({"kind": "charge", "body": '{"key":"k","query":{},"tau":-1.0}'}, "tau must be greater than 0"),
        ({"kind": "charge", "body": '{"key":"sum","query":{"a":1},"tau":1.0}'}, "stands for another query already"),
    ],
)
def test_contradictory_entries_are_found_under_right_hashes(
    written: Ledger, raw: sa.Engine, changed: dict[str, Any], problem: str
) -> None:
    rewrite(written, raw, **changed)
    problems = found(written)
    assert any(problem in line for line in problems), problems
    assert not any("hash" in line for line in problems)


def test_a_second_answer_is_found_if_the_database_accepts_it(written: Ledger, raw: sa.Engine) -> None:
    copy = "CREATE TABLE bayesdp_entries AS SELECT * FROM old"  # without its constraints
    run(raw, "ALTER TABLE bayesdp_entries RENAME TO old", copy)
    rewrite(written, raw, kind="answer", charge=9, question="q", body="{}")
    assert "entry 14: a second answer for the charge 9" in found(written)


def cut(ledger: Ledger, raw: sa.Engine) -> tuple[int, str]:
    """Cut the last entry off so that everything fits, and return it as somebody kept it."""
    account = ledger.account("steps", model={"type": "independent"}, description={"rows": 9}, budget=None)
    tables = {table: _rows(raw, table) for table in TABLES}
    (receipt,) = account.charge((), lambda state: (Charge("q", "count", {"query": "count"}, 0.5),))
    for table, rows in tables.items():
        run(raw, table.delete(), table.insert().values(rows))
    return receipt.entry, receipt.head


def _rows(raw: sa.Engine, table: sa.Table) -> list[dict[str, Any]]:
    with raw.connect() as connection:
        return [dict(row) for row in connection.execute(sa.select(table)).mappings()]


def test_an_end_cut_off_is_found_only_with_a_hash_kept_elsewhere(written: Ledger, raw: sa.Engine) -> None:
    kept = cut(written, raw)
    assert found(written) == ()
    assert found(written, kept) == ("entry 15, whose hash was kept elsewhere, is not in the ledger",)


def test_a_rewritten_end_is_found_with_a_hash_kept_elsewhere(written: Ledger, raw: sa.Engine) -> None:
    last = written.entries()[-1]
    before = written.entries()[12]
    rewrite(written, raw, body=last.body.replace("agreed", "denied"))
    assert found(written) == ()
    assert found(written, (13, before.hash)) == ()
    assert found(written, (14, last.hash)) == ("entry 14 is not the one whose hash was kept elsewhere",)


def test_two_hashes_for_one_entry_cannot_both_be_right(written: Ledger) -> None:
    first = written.entries()[0]
    assert found(written, (1, first.hash), (1, first.hash)) == ()
    assert found(written, (1, first.hash), (1, "0" * 64)) == ("entry 1 is not the one whose hash was kept elsewhere",)


@pytest.mark.parametrize("pair", [(0, "x"), ("1", "x"), (1, ""), (1, None), (True, "x")])
def test_what_is_no_hash_is_refused(written: Ledger, pair: Any) -> None:
    with pytest.raises(InvalidInputError):
        written.verify([pair])


def test_damaged_totals_stop_the_account(written: Ledger, raw: sa.Engine) -> None:
    for value in ("", "1/0", "nan", "much", "-1/2", "0"):
        run(raw, totals.update().values(tau=value))
        with pytest.raises(LedgerError, match="damaged"):
            written.state("steps")
    run(raw, totals.update().values(tau="1/2", query="{"))
    with pytest.raises(LedgerError, match="damaged"):
        written.state("steps")


def test_damaged_bodies_are_not_returned(written: Ledger, raw: sa.Engine) -> None:
    account = written.account("steps", model={"type": "independent"}, description={"rows": 9}, budget=None)
    run(raw, entries.update().values(body="{"))
    with pytest.raises(LedgerError, match="damaged"):
        account.answers("q")
    with pytest.raises(LedgerError, match="damaged"):
        written.export()


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_text_that_is_not_utf8_is_found(written: Ledger, raw: sa.Engine) -> None:
    run(raw, "UPDATE bayesdp_entries SET body = CAST(x'7BFF7D' AS TEXT) WHERE number = 2")
    assert "entry 2 was changed: its hash does not fit its contents" in found(written)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_flipped_bits_of_the_file_are_found_or_harmless(written: Ledger, tmp_path: Path) -> None:
    exported, content = written.export(), (tmp_path / "budget.db").read_bytes()
    draw = random.Random(5)
    harmless = 0
    for _ in range(200):
        damaged = bytearray(content)
        damaged[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        folder = tmp_path / "damaged"
        folder.mkdir()
        (folder / "budget.db").write_bytes(damaged)
        try:
            copy = Ledger(folder / "budget.db", create=False)
            if not found(copy):
                assert copy.export() == exported
                harmless += 1
        except LedgerError:
            pass
        shutil.rmtree(folder)
    assert 0 < harmless < 200
