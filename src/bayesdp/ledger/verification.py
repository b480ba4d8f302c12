"""Everything in the ledger recomputed from its entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import select

from bayesdp.ledger.accounts import WITH_ANSWER_INDEX, AccountStore
from bayesdp.ledger.database import accounts, answers, decisions, totals
from bayesdp.ledger.records import GENESIS
from bayesdp.ledger.replay import Replay

__all__ = ["problems"]

Row = tuple[Any, ...]


def problems(store: AccountStore, heads: dict[int, set[str]]) -> Iterator[str]:
    """Yield the problems of a ledger; `heads` are hashes that were kept elsewhere, by entry number."""
    replay = Replay()
    last, number = GENESIS, 0
    for entry in store.stored():
        number += 1
        if entry.number != number:
            yield f"entry {number} is missing: the next is entry {entry.number}"
            number = entry.number if isinstance(entry.number, int) else number
        elif entry.previous != last:
            yield f"entry {number} does not follow the entry before it: the chain is broken"
        if entry.hash != entry.digest():
            yield f"entry {number} was changed: its hash does not fit its contents"
        yield from replay.apply(entry)
        if heads.pop(number, {entry.hash}) != {entry.hash}:
            yield f"entry {number} is not the one whose hash was kept elsewhere"
        last = entry.hash
    yield from (f"entry {missing}, whose hash was kept elsewhere, is not in the ledger" for missing in sorted(heads))
    if (store.entries, store.head) != (number, last):
        yield f"the last entry should be {store.entries}, but the entries end at {number}, or with another hash"
    rows: dict[Row, Row] = {
        (name,): (account.model, account.description, account.budget, account.charges)
        for name, account in replay.accounts.items()
    }
    yield from _differences("account", rows, store.rows(select(accounts)), 1)
    rows = {
        (name, subtotal.key): (subtotal.query, subtotal.tau, subtotal.since)
        for name, account in replay.accounts.items()
        for subtotal in account.subtotals
    }
    yield from _differences("total", rows, store.rows(select(totals)), 2)
    if store.schema > 1:
        rows = {(number,): () for number in replay.decisions}
        yield from _differences("decision", rows, store.rows(select(decisions)), 1)
    if store.schema >= WITH_ANSWER_INDEX:
        rows = {(number,): tuple(row) for number, row in replay.answers.items()}
        yield from _differences("place in the index of the answer", rows, store.rows(select(answers)), 1)


def _differences(kind: str, computed: Mapping[Any, Row], rows: Any, keys: int) -> Iterator[str]:
    """Yield the rows of a derived table that differ from what the entries give."""
    stored = {tuple(row[:keys]): tuple(row[keys:]) for row in rows}
    for key in sorted(computed.keys() | stored.keys(), key=repr):
        if computed.get(key) != stored.get(key):
            yield f"the {kind} of {', '.join(map(repr, key))} is not what the entries add up to"
