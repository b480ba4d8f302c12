"""The records of a ledger are checked when they are made, and identified by their hash."""

import math
from dataclasses import replace
from typing import Any

import pytest

from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger.records import GENESIS, Charge, Entry, Opening, Pending, State, Total, label

NOT_A_NUMBER: Any = "much"


@pytest.mark.parametrize("tau", [0, -0.5, math.nan, math.inf, NOT_A_NUMBER, None, True, 10**400])
def test_a_tau_is_positive_and_finite(tau: Any) -> None:
    with pytest.raises(InvalidInputError, match="tau"):
        Charge("q", "count", {"query": "count"}, tau)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"question": ""}, "question"),
        ({"key": "a\0b"}, "key"),
        ({"query": {"x": math.nan}}, "query"),
        ({"details": []}, "details"),
    ],
)
def test_a_charge_is_of_what_every_database_can_hold(change: dict[str, Any], named: str) -> None:
    whole: dict[str, Any] = {"question": "q", "key": "count", "query": {"query": "count"}, "tau": 0.5, "details": {}}
    assert Charge(**whole).tau == 0.5
    with pytest.raises(InvalidInputError, match=named):
        Charge(**whole | change)


@pytest.mark.parametrize("name", ["", " ", "x" * 201, "a\0b", "\ud800", 5, None])
def test_a_label_is_a_text_that_can_be_stored(name: object) -> None:
    assert label("dataset", "x" * 200) == "x" * 200
    with pytest.raises(InvalidInputError, match="dataset"):
        label("dataset", name)


ENTRY = Entry(3, "steps", "charge", "q", None, '{"tau":0.5}', "2026-01-01T00:00:00+00:00", GENESIS).sealed()


@pytest.mark.parametrize("place", range(8))
def test_an_entry_that_was_changed_anywhere_is_not_intact(place: int) -> None:
    row = list(vars(ENTRY).values())
    assert Entry.intact([row]) == [ENTRY]
    for other in (f"{row[place]}x", None, 7, True):
        if other != row[place]:
            with pytest.raises(LedgerError, match=r"entry .* was changed"):
                Entry.intact([[*row[:place], other, *row[place + 1 :]]])


def test_a_number_written_as_another_type_is_not_the_same_entry() -> None:
    """In Python True is 1 and 3.0 is 3; in what was written they are not."""
    for other in (3.0, "3"):
        with pytest.raises(LedgerError):
            Entry.intact([[other, *list(vars(ENTRY).values())[1:]]])


@pytest.mark.parametrize("body", ["", "{", "[1]", "7", "[" * 100_000, "null"])
def test_a_body_that_is_no_object_is_damage(body: str) -> None:
    assert ENTRY.content() == {"tau": 0.5}
    with pytest.raises(LedgerError, match="the ledger is damaged"):
        replace(ENTRY, body=body).content()


def test_a_state_is_of_one_account_whatever_happens_to_others() -> None:
    total = Total("count", '{"query":"count"}', 0.5)
    pending = {"r": Pending(4, "ab", "now", 0.5, {})}
    state = State("steps", 2.0, (total,), 1, 4, "ab", answered={"q": ({"value": 1},)}, pending=pending)
    assert state.same_account(replace(state, entries=9, head="cd", moment="later"))
    changes: list[dict[str, Any]] = [
        {"totals": ()},
        {"charges": 2},
        {"pending": {}},
        {"answered": {}},
        {"dataset": "other"},
    ]
    for change in changes:
        assert not state.same_account(replace(state, **change))
    assert state.answers("q") == ({"value": 1},)
    with pytest.raises(InvalidInputError, match="'r' was not among those looked up"):
        state.unanswered("r")
    with pytest.raises(TypeError):
        state.answered["q"] = ()  # type: ignore[index]


def test_the_former_name_of_the_text_of_a_total_works() -> None:
    total = Total("count", '{"query":"count"}', 0.5)
    with pytest.warns(DeprecationWarning, match="Total.asked is now Total.query_text"):
        assert total.asked == total.query_text


def test_an_opening_says_why_it_is_separate_only_if_it_is() -> None:
    assert "separate_because" not in Opening({}, {}, 1.0).to_dict()
    assert Opening({}, {}, 1.0, "another year").to_dict()["separate_because"] == "another year"
