"""Every refusal tells something, so it is kept: also of a data set that has no account."""

import pytest

from bayesdp.errors import InvalidInputError
from bayesdp.ledger import Account, Charge, Check, Ledger

OUTSIDE = "the table is outside the model"


def test_a_refusal_is_an_entry_that_changes_no_account(account: Account, ledger: Ledger) -> None:
    before = account.state()
    ledger.refused(account.dataset, OUTSIDE, Check("9f2c", 100, "ab12"))
    ledger.refused(account.dataset, OUTSIDE)
    after = account.state()
    assert (after.budget, after.totals, after.charges) == (before.budget, before.totals, before.charges)
    assert after.entries == before.entries + 2
    first, second = ledger.entries("steps", "refusal")
    kept = {"reason": OUTSIDE, "records": 100, "subject": "ab12"}
    assert (first.content(), first.question, first.charge) == (kept, "9f2c", None)
    assert (second.content(), second.question) == ({"reason": OUTSIDE}, None)
    assert account.charge((), lambda state: (Charge("9f2c", "count", {}, 0.5),))[0].entry == 4
    assert account.state("9f2c").unanswered("9f2c") is not None
    assert ledger.verify().ok


def test_a_refusal_needs_no_account(ledger: Ledger) -> None:
    pending = ledger.account("steps", model={}, description={}, budget=1.0, at_once=False)
    ledger.refused(pending.dataset, OUTSIDE)
    ledger.refused(" others ", OUTSIDE)
    assert ledger.datasets() == ()
    assert [(entry.dataset, entry.kind) for entry in ledger.entries()] == [("steps", "refusal"), ("others", "refusal")]
    assert pending.state().charges == 0
    assert ledger.verify().ok
    assert pending.charge((), lambda state: (Charge("q", "count", {}, 0.5),))[0].entry == 4
    ledger.refused(pending.dataset, OUTSIDE)
    assert ledger.state("steps").charges == 1
    assert ledger.verify().ok


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines", "x" * 201, None])
def test_a_reason_is_one_line(ledger: Ledger, reason: str) -> None:
    with pytest.raises(InvalidInputError, match="reason"):
        ledger.refused("steps", reason)
    assert ledger.entries() == ()


def test_a_refusal_belongs_to_no_account_that_it_could_seal(account: Account, ledger: Ledger) -> None:
    """Hundreds of refusals after the last charge: the account is found, and is right, all the same."""
    account.charge((), lambda state: (Charge("q", "count", {}, 0.5),))
    for _ in range(40):
        ledger.refused(account.dataset, OUTSIDE)
    assert account.state().charges == 1
    assert ledger.verify().ok
