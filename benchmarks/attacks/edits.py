"""A ledger is edited in thirty ways: each is found by `verify`, or is one that SECURITY.md says only a kept hash shows.

cd benchmarks && python -m attacks.edits           # --short does the same: it takes seconds
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import bayesdp as bdp
from attacks.common import Finding, main, opened, sample
from bayesdp.errors import BayesDPError
from bayesdp.ledger import Ledger
from bayesdp.ledger.records import Entry

__all__ = ["EDITS", "REWRITTEN", "attack"]

_FIRST, _LAST = (f"(SELECT {end}(number) FROM bayesdp_entries WHERE kind = '{{}}')" for end in ("min", "max"))
FIRST_CHARGE, LAST_CHARGE, LAST_ANSWER = _FIRST.format("charge"), _LAST.format("charge"), _LAST.format("answer")
OPENING, RAISED = _FIRST.format("open"), _LAST.format("raise")
ENTRIES, TOTALS, ACCOUNTS, HEAD = (f"bayesdp_{name}" for name in ("entries", "totals", "accounts", "ledger"))

EDITS: dict[str, str] = {
    "a charge's body": f"UPDATE {ENTRIES} SET body = replace(body, '0.25', '0.125') WHERE number = {FIRST_CHARGE}",
    "a charge's question": f"UPDATE {ENTRIES} SET question = 'x' WHERE number = {FIRST_CHARGE}",
    "a charge's data set": f"UPDATE {ENTRIES} SET dataset = 'other' WHERE number = {FIRST_CHARGE}",
    "a charge's kind": f"UPDATE {ENTRIES} SET kind = 'refusal' WHERE number = {FIRST_CHARGE}",
    "a charge's time": f"UPDATE {ENTRIES} SET timestamp = '2020-01-01' WHERE number = {FIRST_CHARGE}",
    "a charge's hash": f"UPDATE {ENTRIES} SET hash = previous WHERE number = {FIRST_CHARGE}",
    "a charge's predecessor": f"UPDATE {ENTRIES} SET previous = hash WHERE number = {FIRST_CHARGE}",
    "a charge removed": f"DELETE FROM {ENTRIES} WHERE number = {FIRST_CHARGE}",
    "the last charge removed": f"DELETE FROM {ENTRIES} WHERE number = {LAST_CHARGE}",
    "a charge renumbered": f"UPDATE {ENTRIES} SET number = number + 1000 WHERE number = {FIRST_CHARGE}",
    "an answer's value": f"UPDATE {ENTRIES} SET body = replace(body, 'value', 'Value') WHERE number = {LAST_ANSWER}",
    "an answer's charge": f"UPDATE {ENTRIES} SET charge = 1000 WHERE number = {LAST_ANSWER}",
    "an answer without a charge": f"UPDATE {ENTRIES} SET charge = NULL WHERE number = {LAST_ANSWER}",
    "an answer removed": f"DELETE FROM {ENTRIES} WHERE number = {LAST_ANSWER}",
    "the opening's budget": f"UPDATE {ENTRIES} SET body = replace(body, '8', '9') WHERE number = {OPENING}",
    "the opening removed": f"DELETE FROM {ENTRIES} WHERE number = {OPENING}",
    "a raised budget": f"UPDATE {ENTRIES} SET body = replace(body, '16', '99') WHERE number = {RAISED}",
    "an entry that is no text": f"UPDATE {ENTRIES} SET body = x'7BFF7D' WHERE number = {FIRST_CHARGE}",
    "an entry that is no JSON": f"UPDATE {ENTRIES} SET body = '{{' WHERE number = {FIRST_CHARGE}",
    "all entries": f"DELETE FROM {ENTRIES}",
    "a total": f"UPDATE {TOTALS} SET tau = '1/1000'",
    "a total's query": f"UPDATE {TOTALS} SET query = '{{}}'",
    "a total's age": f"UPDATE {TOTALS} SET since = since + 1000",
    "totals removed": f"DELETE FROM {TOTALS}",
    "the account's budget": f"UPDATE {ACCOUNTS} SET budget = 1000",
    "the account's charges": f"UPDATE {ACCOUNTS} SET charges = 0",
    "the account's model": f"UPDATE {ACCOUNTS} SET model = description",
    "the account removed": f"DELETE FROM {ACCOUNTS}",
    "the head": f"UPDATE {HEAD} SET head = 'x'",
    "where it ends": f"UPDATE {HEAD} SET entries = entries - 1",
}
"""Statements that change a ledger without recomputing what depends on the change."""


def attack(short: bool) -> Iterator[Finding]:
    """Edit a copy of a ledger in each way, and verify it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, older, kept = _made(folder)
        edits, rewrites = Finding("edits"), Finding("rewrites, with all hashes")
        for what, statement in EDITS.items():
            copied = Path(shutil.copy(path, folder / "edited.db"))
            with closing(sqlite3.connect(copied)) as database, database:
                changed = database.execute(statement).rowcount
            edits.tried += 1
            if not changed:
                edits.broken.append(f"{what}: the statement changed nothing, so that nothing was tried")
            elif not _found(copied):
                edits.broken.append(f"{what}: verify found nothing")
        unseen = 0
        for what, rewrite in REWRITTEN.items():
            copied = Path(shutil.copy(path, folder / "rewritten.db"))
            rewrite(copied, older)
            rewrites.tried += 1
            unseen += not _found(copied)
            if not _found(copied, kept):
                rewrites.broken.append(f"{what}: not found, although the hash of an answer was kept elsewhere")
        edits.note = "all found by verify" if not edits.broken else ""
        rewrites.note = f"{unseen} found by a kept hash only, as SECURITY.md says"
        yield edits
        yield rewrites


def _made(folder: Path) -> tuple[Path, Path, list[tuple[int, str]]]:
    """Make a ledger; return it, an older copy of it, and the head that its last answer carries."""
    path, older = folder / "budget.db", folder / "older.db"
    with opened(sample(), bdp.Independent(), ["t"], ledger=path, dataset="edits", epsilon=8.0) as session:
        for state in (0, 1):
            session.release(bdp.Count("s", equals=state), epsilon=0.25)
        shutil.copy(path, older)
        with Ledger(path) as ledger:
            ledger.raise_budget("edits", 16.0, reason="agreed")
        last = session.release(bdp.Count("s", equals=2), epsilon=0.25)
    return path, older, [(last.entry, last.head)]


def _found(path: Path, kept: list[tuple[int, str]] | None = None) -> bool:
    """Return whether verifying a ledger reports a problem."""
    try:
        with Ledger(path, create=False) as ledger:
            return not ledger.verify(kept or ()).ok
    except BayesDPError:
        return True


def _replaced(path: Path, older: Path) -> None:
    shutil.copy(older, path)


def _cut(path: Path, older: Path) -> None:
    """Cut off everything after the older copy, including the tables derived from the entries."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("ATTACH ? AS older", [str(older)])
        for name in (ENTRIES, TOTALS, ACCOUNTS, HEAD):
            database.execute(f"DELETE FROM main.{name}")
            database.execute(f"INSERT INTO main.{name} SELECT * FROM older.{name}")


def _resealed(path: Path, older: Path) -> None:
    """Change the first answer, and recompute the hashes of all entries from there on."""
    with closing(sqlite3.connect(path)) as database, database:
        rows = [Entry(*row) for row in database.execute(f"SELECT * FROM {ENTRIES} ORDER BY number")]
        changed = next(row.number for row in rows if row.kind == "answer")
        previous = rows[0].previous
        for row in rows:
            body = row.body.replace('"value":', '"value":1') if row.number == changed else row.body
            sealed = replace(row, body=body, previous=previous).sealed()
            previous = sealed.hash
            database.execute(
                f"UPDATE {ENTRIES} SET body = ?, previous = ?, hash = ? WHERE number = ?",
                [sealed.body, sealed.previous, sealed.hash, sealed.number],
            )
        database.execute(f"UPDATE {HEAD} SET head = ?", [previous])


REWRITTEN: dict[str, Callable[[Path, Path], None]] = {
    "an older copy in its place": _replaced,
    "its end cut off": _cut,
    "an answer changed and all hashes recomputed": _resealed,
}
"""Edits that verify cannot detect without a hash stored elsewhere, as SECURITY.md explains."""


if __name__ == "__main__":
    sys.exit(main(attack))
