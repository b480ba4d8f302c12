"""Every different check of a table is an entry before it is made, and there is a limit to them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger import Account, Check, Ledger, checks, records

TABLE, OTHER = "a" * 64, "b" * 64
MOST_CHECKS = 6
"""The real limit would take as many commits."""


@pytest.fixture(autouse=True)
def few_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert records.MOST_CHECKS == 100
    monkeypatch.setattr(checks, "MOST_CHECKS", MOST_CHECKS)


def check(subject: int, records: int | None = 100, columns: str = TABLE) -> Check:
    return Check(columns, records, f"subject {subject}")


def kinds(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.entries()]


def test_only_what_is_new_is_entered(ledger: Ledger) -> None:
    for name in ("steps", "steps", "under another name"):
        ledger.check(name, check(1))
    assert kinds(ledger) == ["check"]
    (entry,) = ledger.entries()
    assert (entry.dataset, entry.question) == ("steps", TABLE)
    assert entry.content() == {"records": 100, "subject": "subject 1"}
    assert ledger.verify().ok


def test_checks_of_a_table_are_limited_under_any_name(ledger: Ledger) -> None:
    for number in range(MOST_CHECKS):
        ledger.check(f"name {number % 7}", check(number))
    with pytest.raises(LedgerError, match=f"{MOST_CHECKS} are allowed.*allow-checks"):
        ledger.check("another name", check(MOST_CHECKS))
    ledger.check("another name", check(3))
    ledger.check("steps", check(MOST_CHECKS, records=101))
    ledger.check("steps", check(MOST_CHECKS, columns=OTHER))
    assert kinds(ledger) == ["check"] * (MOST_CHECKS + 2)
    assert ledger.verify().ok


def test_a_growing_table_may_be_any_with_the_same_columns(ledger: Ledger) -> None:
    for number in range(MOST_CHECKS - 1):
        ledger.check("steps", check(number, records=100 + number))
    ledger.check("steps", check(-1, records=None))
    with pytest.raises(LedgerError, match="allow-checks"):
        ledger.check("steps", check(-2, records=None))
    ledger.check("steps", check(-2, records=7))


def test_a_refusal_counts_once_for_what_was_refused(ledger: Ledger) -> None:
    for number in range(MOST_CHECKS):
        ledger.refused("steps", "outside", check(number % 2))
    ledger.check("steps", check(7))
    assert kinds(ledger) == ["refusal"] * MOST_CHECKS + ["check"]


def test_more_checks_are_allowed_for_a_reason(ledger: Ledger) -> None:
    for number in range(MOST_CHECKS):
        ledger.check("steps", check(number))
    assert ledger.allow_checks("steps", MOST_CHECKS + 1, reason="a second study") == (MOST_CHECKS, MOST_CHECKS)
    ledger.check("another name", check(MOST_CHECKS))
    with pytest.raises(LedgerError, match=f"{MOST_CHECKS + 1} are allowed"):
        ledger.check("steps", check(MOST_CHECKS + 1))
    with pytest.raises(InvalidInputError, match="are not more"):
        ledger.allow_checks("steps", MOST_CHECKS, reason="too few")
    for number, reason in ((0, "x"), (500, " ")):
        with pytest.raises(InvalidInputError):
            ledger.allow_checks("steps", number, reason=reason)
    (allowed,) = ledger.entries(kind="allow")
    assert allowed.content() == {"records": 100, "checks": MOST_CHECKS + 1, "reason": "a second study"}
    assert ledger.verify().ok


def test_the_table_is_that_of_the_account(ledger: Ledger) -> None:
    ledger.account("steps", model={}, description={"columns": TABLE, "records": 100}, budget=1.0)
    ledger.allow_checks("steps", 200, reason="agreed")
    assert ledger.entries(kind="allow")[0].question == TABLE
    with pytest.raises(LedgerError, match="has no table of the data set"):
        ledger.allow_checks("unheard of", 200, reason="agreed")


def test_an_old_account_without_columns_is_found_by_its_checks(account: Account, ledger: Ledger) -> None:
    ledger.check(account.dataset, check(1))
    assert ledger.allow_checks(account.dataset, 200, reason="agreed") == (1, MOST_CHECKS)


def test_processes_at_once_do_not_exceed_the_limit(ledger: Ledger) -> None:
    for number in range(MOST_CHECKS - 3):
        ledger.check("steps", check(number))

    def attempt(number: int) -> None:
        with suppress(LedgerError):
            ledger.check("steps", check(1000 + number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(attempt, range(8)))
    assert len(ledger.entries(kind="check")) == MOST_CHECKS


def test_the_table_is_the_one_that_was_checked_last(ledger: Ledger) -> None:
    ledger.refused("steps", "outside", check(1))
    ledger.check("steps", check(2, columns=OTHER))
    ledger.allow_checks("steps", 200, reason="agreed")
    assert ledger.entries(kind="allow")[0].question == OTHER
