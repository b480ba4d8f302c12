"""One table, one account: names that are one name, names that could be, and tables that look the same."""

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger import Account, Charge, Ledger, State
from bayesdp.ledger.accounts import AccountStore
from bayesdp.ledger.dataset_names import dataset_name, likeness, normalised
from bayesdp.ledger.records import Opening

MODEL = {"type": "independent"}
CAFE = "caf\u00e9"


def open_account(ledger: Ledger, name: str, records: int = 9, **options: object) -> Account:
    given: dict[str, object] = {"model": MODEL, "description": {"records": records}, "budget": 2.0, **options}
    return ledger.account(name, **given)  # type: ignore[arg-type]


def count(state: State) -> tuple[Charge, ...]:
    return (Charge("q", "count", {"query": "count"}, 0.5),)


@pytest.mark.parametrize("name", [CAFE, "cafe\u0301", f"  {CAFE}\t", f"{CAFE}\n", f"\u00a0{CAFE}\u3000"])
def test_a_name_is_normalised_and_trimmed_wherever_it_enters(ledger: Ledger, name: str) -> None:
    account = open_account(ledger, CAFE)
    account.charge((), count)
    again = open_account(ledger, name)
    assert again.dataset == CAFE
    again.charge((), count)
    assert ledger.state(name) == account.state()
    assert ledger.lower(name, 1.0).dataset == CAFE
    assert ledger.raise_budget(name, 1.5, reason="agreed").dataset == CAFE
    assert len(ledger.entries(name)) == 5
    ledger.refused(name, "the table is outside the model")
    ledger.check_model(name, MODEL, budget=2.0)
    assert ledger.datasets() == (CAFE,)
    assert ledger.verify().ok


def test_an_account_is_opened_under_the_normalised_name(ledger: Ledger) -> None:
    for at_once in (True, False):
        account = open_account(ledger, " cafe\u0301 ", at_once=at_once)
        assert account.dataset == CAFE
        account.charge((), count)
    assert {entry.dataset for entry in ledger.entries()} == {CAFE}


@pytest.mark.parametrize(
    "character", ["\u200b", "\u200d", "\ufeff", "\u00ad", "\u2060", "\u115f", "\u3164", "\ufe0f", "\U000e0041"]
)
def test_what_cannot_be_seen_is_refused(ledger: Ledger, character: str) -> None:
    attempts: list[Callable[[str], object]] = [
        lambda name: open_account(ledger, name),
        ledger.state,
        lambda name: ledger.refused(name, "reason"),
        ledger.entries,
        lambda name: ledger.check_model(name, MODEL, budget=2.0),
    ]
    for attempt in attempts:
        with pytest.raises(InvalidInputError, match=f"cannot be seen, U\\+{ord(character):04X}"):
            attempt(f"st{character}eps")
    assert ledger.entries() == ()


@pytest.mark.parametrize(
    "name", ["Steps 2012", "STEPS 2012", "steps  2012", "ｓteps 2012", "steps\u00a02012", "ſteps 2012"]
)
def test_a_name_that_could_be_taken_for_another_needs_a_reason(ledger: Ledger, name: str) -> None:
    open_account(ledger, "steps 2012")
    for at_once in (True, False):
        with pytest.raises(LedgerError, match=r"but it has 'steps 2012'\. Use that name"):
            open_account(ledger, name, records=7, at_once=at_once)
    open_account(ledger, name, records=7, separate_because="the sensor of the other arm")
    assert len(ledger.datasets()) == 2
    opened = ledger.entries(name, "open")[0].content()
    assert opened["separate_because"] == "the sensor of the other arm"
    assert ledger.state(name).dataset == name, "each has its own account"
    assert ledger.verify().ok


@given(st.text(max_size=12))
def test_normalising_is_done_once_and_for_all(name: str) -> None:
    assert normalised(normalised(name)) == normalised(name)
    assert likeness(likeness(name)) == likeness(name)
    assert likeness(normalised(name)) == likeness(name)
    try:
        kept = dataset_name(name)
    except InvalidInputError:
        return
    assert dataset_name(kept) == kept
    assert dataset_name(unicodedata.normalize("NFD", name)) == kept


@pytest.mark.parametrize("at_once", [True, False])
def test_a_table_gets_no_second_account_by_accident(ledger: Ledger, at_once: bool) -> None:
    open_account(ledger, "steps")
    with pytest.raises(LedgerError) as refused:
        open_account(ledger, "other", at_once=at_once)
    message = str(refused.value)
    assert "'other' looks like 'steps'" in message
    assert "Use that name" in message
    assert "separate_because" in message
    assert "another data set" not in message
    assert ledger.datasets() == ("steps",)
    for differs in ({"records": 10}, {"model": {"type": "arbitrary", "size": 2}}):
        open_account(ledger, f"other {differs}", **differs)
    account = open_account(ledger, "other", separate_because="of another year", at_once=at_once)
    account.charge((), count)
    assert ledger.entries("other", "open")[0].content()["separate_because"] == "of another year"
    assert open_account(ledger, "other").state().charges == 1, "what is open needs no reason again"
    assert ledger.verify().ok


@pytest.mark.parametrize("reason", ["", "  ", 5])
def test_a_reason_is_a_text(ledger: Ledger, reason: object) -> None:
    with pytest.raises(InvalidInputError, match="separate_because must be a non-empty text"):
        open_account(ledger, "steps", separate_because=reason)


def test_two_names_of_one_table_open_one_account(ledger: Ledger) -> None:
    first, second = (open_account(ledger, name, at_once=False) for name in ("steps", "other"))
    first.charge((), count)
    for use in (second.state, lambda: second.charge((), count), second.open):
        with pytest.raises(LedgerError, match="looks like 'steps'"):
            use()
    assert ledger.datasets() == ("steps",)


def test_no_message_sends_anybody_to_another_data_set(ledger: Ledger) -> None:
    open_account(ledger, "steps")
    for options in ({"model": {"type": "arbitrary", "size": 2}}, {"records": 10}):
        with pytest.raises(LedgerError, match="was opened with another") as refused:
            open_account(ledger, "steps", **options)
        assert "another data set" not in str(refused.value)
        assert "Use the one it was opened with" in str(refused.value)


def test_an_account_is_opened_on_purpose_once(ledger: Ledger) -> None:
    account = open_account(ledger, "steps", at_once=False)
    state = account.open()
    assert (state.budget, state.charges, state.entries) == (2.0, 0, 1)
    for again in (account, open_account(ledger, "steps"), open_account(ledger, "steps", at_once=False)):
        with pytest.raises(LedgerError, match="has an account already"):
            again.open()
    assert account.charge((), count)[0].entry == 2


def test_a_model_is_checked_before_anything_else_is_known(ledger: Ledger) -> None:
    other = {"type": "arbitrary", "size": 2}
    ledger.check_model("steps", MODEL, budget=2.0)
    with pytest.raises(InvalidInputError, match="give the budget"):
        ledger.check_model("steps", MODEL, budget=None)
    open_account(ledger, "steps", at_once=False)
    ledger.check_model("steps", other, budget=2.0)
    open_account(ledger, "steps")
    ledger.check_model("steps", MODEL, budget=None)
    for name in ("steps", " steps"):
        with pytest.raises(LedgerError, match="was opened with another model"):
            ledger.check_model(name, other, budget=None)


def test_entries_about_the_data_are_compared_after_reading_it(ledger: Ledger) -> None:
    def several(**more: object) -> dict[str, object]:
        return {"type": "any-of", "models": [{"type": "markov", **more}, {"type": "independent"}]}

    ledger.account("steps", model=several(gaps=True), description={}, budget=2.0)
    ledger.check_model("steps", several(), budget=None, apart_from=["gaps"])
    for model, apart_from in ((several(), ()), (several(length=3), ("gaps",))):
        with pytest.raises(LedgerError, match="another model"):
            ledger.check_model("steps", model, budget=None, apart_from=apart_from)


def old_account(ledger: Ledger, name: str, records: int) -> None:
    """Open an account as version 0.1 did, under any name."""
    with ledger._store(write=True) as store:
        AccountStore.open(store, name, Opening(MODEL, {"records": records}, 2.0))


def test_names_of_older_ledgers_are_found(ledger: Ledger) -> None:
    old = "cafe\u0301 "
    old_account(ledger, old, 9)
    for name in (old, CAFE, f" {CAFE}"):
        account = open_account(ledger, name)
        assert account.dataset == old
        account.charge((), count)
        assert ledger.state(name).charges == len(ledger.entries(name, "charge"))
    assert ledger.datasets() == (old,)
    hidden = "te\u200bam"
    old_account(ledger, hidden, 8)
    assert open_account(ledger, hidden, records=8).charge((), count)[0].state.dataset == hidden
    with pytest.raises(LedgerError, match="but it has 'te\\\\u200bam'"):
        open_account(ledger, "team", records=7)


def test_two_old_accounts_of_one_name_are_refused(ledger: Ledger) -> None:
    old_account(ledger, CAFE, 9)
    old_account(ledger, "cafe\u0301", 9)
    for name in (CAFE, "cafe\u0301", f" {CAFE}"):
        for use in (lambda name=name: open_account(ledger, name), lambda name=name: ledger.state(name)):
            with pytest.raises(LedgerError, match="2 accounts whose names are the same text"):
                use()
    assert len(ledger.datasets()) == 2


def test_one_table_and_model_are_one_account_in_any_spelling(ledger: Ledger) -> None:
    chain = {"type": "markov", "transition": [[0.5, 0.5], [0.5, 0.5]], "states": [0, 1], "length": 9, "column": "x"}
    ledger.account("steps", model=chain, description={"records": 9, "columns": "c", "missing": "error"}, budget=1.0)
    for other, description in (
        (chain, {"records": 9, "columns": "c", "missing": "drop"}),
        ({**chain, "states": ["0", "1"]}, {"records": 9, "columns": "c", "missing": "error"}),
        ({**chain, "states": [0.0, 1.0], "record": "day"}, {"records": 9, "columns": "c", "missing": "error"}),
        ({**chain, "gaps": True, "length": None}, {"records": 9, "columns": "c", "missing": "error"}),
    ):
        with pytest.raises(LedgerError, match="looks like 'steps'"):
            ledger.account("again", model=other, description=description, budget=1.0)
    for other, description in (
        ({**chain, "transition": [[0.6, 0.4], [0.5, 0.5]]}, {"records": 9, "columns": "c", "missing": "error"}),
        (chain, {"records": 8, "columns": "c", "missing": "error"}),
    ):
        ledger.account("other", model=other, description=description, budget=1.0, at_once=False)
