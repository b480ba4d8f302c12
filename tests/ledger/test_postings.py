"""What was posted in whose name: the sums, the limits on them, and what a ledger says that does not add up."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from bayesdp.errors import AllowanceError, BudgetError, InvalidInputError, LedgerError, TimeLimitError
from bayesdp.ledger import Account, Charge, Ledger, Requester, State
from bayesdp.ledger.postings import Postings

DESCRIPTION = {"rows": 100, "columns": ["s"]}

NUMBERS = iter(range(10**6))


@pytest.fixture
def ledger(tmp_path: Any) -> Ledger:
    return Ledger(tmp_path / "budget.db")


def charges(epsilon: float, by: str | None = "ada", number: int = 1, **details: Any) -> tuple[Charge, ...]:
    named = {} if by is None else {"by": by}
    said = {"epsilon": epsilon, **named, **details}
    return tuple(Charge(f"q{next(NUMBERS)}", "count", {"query": "count"}, 0.01, said) for _ in range(number))


def charge(account: Account, made: Sequence[Charge]) -> None:
    account.charge((), lambda state: made)


def opened_again(account: Account) -> Account:
    """Return the same account, as another process opens it."""
    ledger = Ledger(account._ledger.name)
    return ledger.account("steps", model={"type": "independent"}, description=DESCRIPTION, budget=2.0)


def test_ten_tenths_are_one(account: Account) -> None:
    ada = account.in_name_of(Requester("ada", total=1.0))
    for _ in range(10):
        charge(ada, charges(0.1))
    assert account.posted("ada") == (Fraction(1), Fraction(1))
    with pytest.raises(AllowanceError) as refused:
        charge(ada, charges(1e-9))
    assert isinstance(refused.value, BudgetError)
    assert (refused.value.remaining, refused.value.by, refused.value.when) == (0.0, "ada", "in all")
    assert account.state().charges == 10


def test_charges_made_together_post_once(account: Account) -> None:
    ada = account.in_name_of(Requester("ada", day=0.5))
    charge(ada, charges(0.5, number=24))
    assert account.posted("ada") == (Fraction(1, 2), Fraction(1, 2))
    assert account._ledger.verify().ok
    with pytest.raises(AllowanceError, match="the allowance of 'ada' today does not allow it"):
        charge(ada, charges(0.1, number=2))


def test_names_and_data_sets_have_sums_of_their_own(account: Account, ledger: Ledger) -> None:
    other = ledger.account("walks", model={"type": "any"}, description={"rows": 1}, budget=2.0)
    for one in (account, other):
        for name in ("ada", "bob"):
            charge(one.in_name_of(Requester(name, total=0.5)), charges(0.5, name))
    assert {one.posted("ada")[1] for one in (account, other)} == {Fraction(1, 2)}
    assert sum(account.posted("carla")) == 0


def test_charges_without_the_field_post_all_of_their_epsilon(account: Account) -> None:
    charge(account, charges(0.25, number=2))  # as from the command line with --by
    charge(account, charges(0.25, None))
    assert account.posted("ada")[1] == Fraction(1, 2)
    with pytest.raises(AllowanceError):
        charge(account.in_name_of(Requester("ada", total=0.7)), charges(0.25))
    assert account._ledger.verify().ok


def test_a_day_ends_at_midnight() -> None:
    postings, requester = Postings(), Requester("ada", day=0.5, total=0.8)
    (made,) = postings.posted(charges(0.5), requester, "2026-01-31")
    postings._days["ada", "2026-01-31"] = postings._totals["ada"] = Fraction(1, 2)
    with pytest.raises(AllowanceError, match="today"):
        postings.posted(charges(0.1), requester, "2026-01-31")
    postings.posted(charges(0.3), requester, "2026-02-01")
    with pytest.raises(AllowanceError, match="in all"):
        postings.posted(charges(0.4), requester, "2026-02-01")
    assert made.details["allowance"] == {"day": 0.5, "total": 0.8}


def test_a_request_is_charged_once(account: Account, ledger: Ledger) -> None:
    asked = Requester("ada", request="r" * 64, body="b" * 64)
    assert account.requested(asked) is None
    charge(account.in_name_of(asked), charges(0.1, number=2))
    again = opened_again(account)
    known = again.requested(asked)
    assert known is not None
    assert len(known.entries) == 2
    with pytest.raises(LedgerError, match="this request was charged before"):
        charge(again.in_name_of(asked), charges(0.1))
    for account_again in (account, again):
        with pytest.raises(InvalidInputError, match="this idempotency key was used for another request"):
            account_again.requested(Requester("ada", request="r" * 64, body="c" * 64))
    assert account.state().charges == 2
    assert ledger.verify().ok


def test_nothing_is_charged_after_the_deadline(account: Account) -> None:
    with pytest.raises(TimeLimitError, match="nothing was charged"):
        charge(account.in_name_of(Requester("ada", deadline=0.0)), charges(0.1))
    assert account.state().charges == 0


def test_charges_in_other_names_are_refused(account: Account) -> None:
    for wrong in (charges(0.1, "bob"), charges(0.1, None), (*charges(0.1), *charges(0.2))):
        with pytest.raises(LedgerError, match="are not one release in the name of 'ada'"):
            charge(account.in_name_of(Requester("ada")), wrong)
    for epsilon in (None, "1", float("-0.5"), True):
        with pytest.raises(LedgerError):
            charge(account.in_name_of(Requester("ada")), charges(epsilon))  # type: ignore[arg-type]
    assert account.state().charges == 0


@pytest.mark.parametrize(
    ("details", "problem"),
    [
        ({"posted": 0.0}, "it posts another ε than that of its release"),
        ({"posted": 0.25}, "it posts another ε than that of its release"),
        ({"posted": 0.5, "allowance": {"day": 0.4}}, "it exceeds the allowance of 'ada' that it states"),
        ({"posted": 0.5, "allowance": {"total": 0.4}}, "it exceeds the allowance of 'ada' that it states"),
        ({"posted": 0.5, "by": None}, "it posts something, but in no name"),
        ({"posted": -1}, "a charge does not say what it posts"),
        ({"posted": 0.5, "request": {"key": "k", "body": "b"}}, "its request was charged before"),
    ],
)
def test_verification_finds_what_does_not_add_up(account: Account, details: dict[str, Any], problem: str) -> None:
    charge(account, charges(0.125, "bob", posted=0.125, request={"key": "k", "body": "b"}))
    assert account._ledger.verify().ok
    charge(account, charges(0.5, **details))
    (found,) = account._ledger.verify().problems
    assert problem in found


@pytest.mark.parametrize("details", [{"request": 1}, {"request": {}}, {"posted": "1"}])
def test_charges_that_cannot_be_read_stop_a_session(account: Account, details: dict[str, Any]) -> None:
    charge(account, charges(0.5, **details))
    for _ in range(2):
        with pytest.raises(LedgerError, match="the ledger is damaged"):
            charge(account.in_name_of(Requester("ada")), charges(0.1))
    assert not account._ledger.verify().ok


def test_a_missing_charge_is_noticed(account: Account) -> None:
    ada = account.in_name_of(Requester("ada", total=1.0))
    for _ in range(20):
        charge(ada, charges(0.01))
    database = account._ledger._database
    assert database is not None
    with database.transaction(write=True) as transaction:
        transaction.run("DELETE FROM bayesdp_entries WHERE number = 3")
    fresh = Ledger(account._ledger.name).account(
        "steps", model={"type": "independent"}, description=DESCRIPTION, budget=2.0
    )
    with pytest.raises(LedgerError, match="the ledger is damaged or was changed"):
        charge(fresh.in_name_of(Requester("ada", total=1.0)), charges(0.01))


def test_threads_post_no_more_than_allowed(account: Account) -> None:
    """Threads with ledgers of their own race for the last of an allowance; the sum never exceeds it."""
    outcomes: list[bool] = []

    def spend() -> None:
        mine = opened_again(account)
        for _ in range(4):
            try:
                charge(mine.in_name_of(Requester("ada", day=1.0)), charges(0.125))
                outcomes.append(True)
            except AllowanceError:
                outcomes.append(False)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (outcomes.count(True), len(outcomes)) == (8, 16)
    assert account.posted("ada")[0] == 1
    assert account._ledger.verify().ok


def spend_in_a_process(url: str) -> int:
    """Spend as much as possible; return how many charges were made."""
    with Ledger(url) as ledger:
        mine = ledger.account("steps", model={"type": "independent"}, description=DESCRIPTION, budget=2.0)
        made = 0
        for _ in range(20):
            try:
                mine.in_name_of(Requester("ada", day=1.0, total=2.0)).charge((), _tenth)
            except AllowanceError:
                break
            made += 1
        return made


def _tenth(state: State) -> tuple[Charge, ...]:
    return charges(0.0625)


@pytest.mark.slow
def test_processes_post_no_more_than_allowed(url: str) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        made = list(pool.map(spend_in_a_process, [url] * 4))
    assert sum(made) == 16
    with Ledger(url) as ledger:
        assert ledger.verify().ok
