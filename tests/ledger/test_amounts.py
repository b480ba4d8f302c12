"""Losses, regions and promises: written, added up, verified and exported, and refused if a later version made them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger import Account, Charge, Entry, Ledger
from bayesdp.ledger.amounts import Amounts, checked_promise
from bayesdp.queries.region import Region

ZCDP = {"definition": "concentrated", "rho": 0.125}
PROMISE = {"definition": "approximate", "delta": 1e-6}
WEEK = Region.from_dict({"order": {"column": "day", "since": 1, "until": 8}, "cells": {"hour": [7, "8"]}})
QUERY = {"column": "s"}


def spend(account: Account, *charges: Charge) -> tuple[int, ...]:
    return tuple(receipt.entry for receipt in account.charge((), lambda state: charges))


def charge(key: str, **cost: Any) -> Charge:
    return Charge("q", key, QUERY, **cost)


@pytest.mark.parametrize(
    "region",
    [
        {"order": {"column": "date", "since": "2012-10-01", "until": "2012-11-01"}},
        {"order": {"column": "n", "until": 0}},
        {"cells": {"district": ["A"], "hour": ["7", "8"]}},
        {"order": {"column": "n", "since": 1.5}, "cells": {"hour": ["7"]}},
    ],
)
def test_a_region_is_read_as_it_was_written(region: dict[str, Any]) -> None:
    read = Region.from_dict(region)
    assert read.to_dict() == region
    assert Region.from_dict(read.to_dict()) == read


@pytest.mark.parametrize(
    ("region", "refused"),
    [
        ({}, "a region has an order"),
        ({"cells": {}}, "a region has an order"),
        ({"cells": ["hour"]}, "a region has an order"),
        ({"order": {"column": "day"}}, "a region has an order"),
        ({"order": {"since": 1}}, "a region has an order"),
        ({"order": 7}, "JSON object"),
        ({"cells": {"hour": []}}, "hour has no values"),
        ({"cells": {"hour": [1, 1]}}, "cannot be read"),
        ({"entities": ["a"]}, "does not know the field 'entities' of a region; update bayesdp"),
        ({"order": {"column": "day", "rank": 3}}, "does not know the field 'rank' of the order of a region"),
        (None, "JSON object"),
    ],
)
def test_a_region_that_is_not_known_is_refused(region: Any, refused: str) -> None:
    with pytest.raises(LedgerError, match=refused):
        Region.from_dict(region)


@pytest.mark.parametrize(
    ("loss", "refused"),
    [
        ({"definition": "renyi", "alpha": 2.0}, "does not know losses of the definition 'renyi'; update bayesdp"),
        ({"rho": 1.0}, "losses of the definition None"),
        ({"definition": "concentrated"}, "has \\['rho'\\]"),
        ({"definition": "concentrated", "rho": 1.0, "omega": 2.0}, "has \\['rho'\\]"),
        ({"definition": "approximate", "tau": 1.0}, "has \\['delta', 'tau'\\]"),
        ("concentrated", "JSON object"),
    ],
)
def test_a_loss_that_is_not_known_is_refused(loss: Any, refused: str) -> None:
    with pytest.raises(LedgerError, match=refused):
        charge("k", loss=loss)


@pytest.mark.parametrize("amount", [0.0, -1.0, float("nan"), float("inf"), True, "1", None])
def test_an_amount_is_a_positive_number(amount: Any) -> None:
    for cost in ({"tau": amount}, {"loss": {"definition": "concentrated", "rho": amount}}):
        with pytest.raises(InvalidInputError, match=r"tau|rho"):
            Amounts.of(cost)


def test_a_charge_has_either_a_tau_or_a_loss() -> None:
    with pytest.raises(LedgerError, match="either a tau or a loss"):
        charge("k", tau=0.5, loss=ZCDP)
    with pytest.raises(InvalidInputError, match="tau"):
        charge("k")


@pytest.mark.parametrize("promise", [{}, {"definition": "concentrated", "rho": 1.0}, {**PROMISE, "omega": 1}, None, 7])
def test_a_promise_that_is_not_known_is_refused(promise: Any, tmp_path: Path) -> None:
    with pytest.raises(LedgerError):
        checked_promise(promise)
    if promise is not None:
        with Ledger(tmp_path / "b.db") as ledger, pytest.raises(LedgerError):
            ledger.account("d", model={}, description={}, budget=1.0, loss=promise)


def test_losses_and_regions_are_added_up_verified_and_exported(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    with Ledger(path) as ledger:
        account = ledger.account("d", model={}, description={}, budget=2.0, loss=PROMISE, public=["day", "hour"])
        spend(account, charge("pure", tau=0.5), charge("pure", tau=0.25))
        spend(account, charge("zcdp", loss=ZCDP), charge("zcdp", loss={**ZCDP, "delta": 1e-9}))
        spend(account, charge("week", tau=0.5, region=WEEK, public=("hour", "day")))
        head = spend(account, charge("week", tau=0.5, region=WEEK))
        assert account.state().promise == PROMISE
    with Ledger(path) as ledger:
        pure, zcdp, week = ledger.state("d").totals
        assert (pure.tau, pure.loss, pure.region) == (0.75, None, None)
        assert (zcdp.tau, zcdp.loss) == (None, {"definition": "concentrated", "delta": 1e-9, "rho": 0.25})
        assert (week.tau, week.region) == (1.0, WEEK)
        assert ledger.verify([(head[0], ledger.state("d").head)]).ok
        exported = ledger.export()
        (described,) = exported["datasets"]
        assert (described["loss"], described["public"]) == (PROMISE, ["day", "hour"])
        assert described["totals"][2] == {"key": "week", "query": QUERY, "tau": 1.0, "region": WEEK.to_dict()}
        bodies = [entry["body"] for entry in exported["entries"] if entry["kind"] == "charge"]
        assert "tau" not in bodies[2]
        assert (bodies[2]["loss"], bodies[4]["region"], bodies[4]["public"]) == (ZCDP, WEEK.to_dict(), ["day", "hour"])
        for other in (None, PROMISE):
            assert ledger.account("d", model={}, description={}, budget=None, loss=other).state().promise == PROMISE
        with pytest.raises(LedgerError, match="fixed for the life of an account"):
            ledger.account("d", model={}, description={}, budget=None, loss={**PROMISE, "delta": 1e-5})


def test_pure_losses_with_a_rho_add_up_by_both(tmp_path: Path) -> None:
    """Ten times τ = 1/2 are ρ = 10/8 together, which does not follow from the sum of the τ's."""
    loss = {"definition": "pure", "rho": 0.125, "tau": 0.5}
    with Ledger(tmp_path / "b.db") as ledger:
        account = ledger.account("d", model={}, description={}, budget=2.0, loss=PROMISE)
        for _ in range(10):
            spend(account, charge("k", loss=loss))
        (total,) = account.state().totals
        assert (total.tau, total.loss) == (5.0, {"definition": "pure", "rho": 1.25, "tau": 5.0})
        with pytest.raises(LedgerError, match="do not add up"):
            spend(account, charge("k", tau=0.5))
        assert ledger.verify().ok


@pytest.mark.parametrize(("first", "second"), [(PROMISE, None), (None, PROMISE), (PROMISE, {**PROMISE, "delta": 1e-5})])
def test_a_process_that_opens_with_another_promise_loses(
    tmp_path: Path, first: dict[str, Any] | None, second: dict[str, Any] | None
) -> None:
    with Ledger(tmp_path / "b.db") as ledger:
        waiting = ledger.account("d", model={}, description={}, budget=2.0, loss=second, at_once=False)
        ledger.account("d", model={}, description={}, budget=2.0, loss=first)
        with pytest.raises(LedgerError, match="fixed for the life of an account"):
            spend(waiting, charge("k", tau=0.5))
        assert ledger.state("d").charges == 0


@pytest.mark.parametrize("other", [{"loss": ZCDP}, {"tau": 0.5, "region": WEEK}])
def test_what_does_not_add_up_needs_another_key(tmp_path: Path, other: dict[str, Any]) -> None:
    with Ledger(tmp_path / "b.db") as ledger:
        account = ledger.account("d", model={}, description={}, budget=2.0)
        spend(account, charge("k", tau=0.5))
        with pytest.raises(LedgerError, match="do not add up"):
            spend(account, charge("k", **other))
        assert account.state().charges == 1


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE bayesdp_totals SET tau = '3/4' WHERE key = 'week'",
        "UPDATE bayesdp_totals SET tau = replace(tau, '\"8\"', '\"9\"') WHERE key = 'week'",
        "UPDATE bayesdp_totals SET tau = replace(tau, 'concentrated', 'renyi') WHERE key = 'zcdp'",
        "UPDATE bayesdp_entries SET body = replace(body, '1e-06', '1e-05') WHERE kind = 'open'",
    ],
)
def test_losses_regions_and_promises_are_sealed(tmp_path: Path, edit: str) -> None:
    path = tmp_path / "b.db"
    with Ledger(path) as ledger:
        account = ledger.account("d", model={}, description={}, budget=2.0, loss=PROMISE)
        spend(account, charge("zcdp", loss=ZCDP), charge("week", tau=0.5, region=WEEK))
        with closing(sqlite3.connect(path)) as database, database:
            assert database.execute(edit).rowcount == 1
        with pytest.raises(LedgerError, match="damaged"):
            account.state()
        assert not ledger.verify().ok


def later(path: Path, kind: str, **change: Any) -> None:
    """Let an entry say what only a later version would write, with right hashes and seals beside it."""
    from bayesdp._support.documents import canonical
    from bayesdp.ledger.records import parsed

    with closing(sqlite3.connect(path)) as database, database:
        rows = database.execute("SELECT * FROM bayesdp_entries ORDER BY number").fetchall()
        last = "0" * 64
        for row in rows:
            entry = Entry(*row)
            body = parsed(entry.body) | (change if entry.kind == kind else {})
            sealed = Entry(*[*row[:5], canonical("body", body), row[6], last]).sealed()
            database.execute(
                "UPDATE bayesdp_entries SET body = ?, previous = ?, hash = ? WHERE number = ?",
                (sealed.body, sealed.previous, sealed.hash, entry.number),
            )
            last = sealed.hash
        database.execute("UPDATE bayesdp_ledger SET head = ?", (last,))


def test_a_promise_of_a_later_version_is_refused_uncharged(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    with Ledger(path) as ledger:
        spend(ledger.account("d", model={}, description={}, budget=2.0), charge("k", tau=0.5))
    later(path, "open", loss={"definition": "renyi", "order": 2})
    with Ledger(path) as ledger:
        for use in (
            lambda: ledger.state("d"),
            lambda: ledger.lower("d", 1.0),
            lambda: ledger.account("d", model={}, description={}, budget=None),
            ledger.export,
        ):
            with pytest.raises(LedgerError, match="does not know promises of the definition 'renyi'; update bayesdp"):
                use()
        assert any("update bayesdp" in problem for problem in ledger.verify().problems)
        assert len(ledger.entries()) == 2


def test_a_session_refuses_what_it_cannot_account_for(tmp_path: Path) -> None:
    table = polars.DataFrame({"s": [0, 1] * 20})
    path, independent = tmp_path / "b.db", bdp.Independent()
    with bdp.Session(table, independent, dataset="d", epsilon=9.0, ledger=path) as session:
        session.release(bdp.Count("s", equals=1), epsilon=0.5)
    with Ledger(path) as ledger:
        described = ledger.description("d") or {}
        account = ledger.account("d", description=described, budget=9.0, model=independent.identity)
        spend(account, charge("later", loss=ZCDP))
        entries = ledger.entries()
    with bdp.Session(table, independent, dataset="d", ledger=path) as session:
        for use in (
            lambda: session.release(bdp.Count("s", equals=0), epsilon=0.5),
            lambda: session.preview(bdp.Count("s", equals=0), epsilon=0.5),
            lambda: session.record(tau=0.1, neighbours="replace", what="a table"),
            lambda: session.leaked,
        ):
            with pytest.raises(LedgerError, match=r"has a loss .*concentrated"):
                use()
    with Ledger(path) as ledger:
        assert [entry for entry in ledger.entries() if entry.kind != "check"] == [
            entry for entry in entries if entry.kind != "check"
        ]
