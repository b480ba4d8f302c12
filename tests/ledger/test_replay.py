"""Accounts computed again from entries alone: what adds up, and every contradiction between entries."""

import json
from typing import Any

import pytest

from bayesdp.ledger.account_totals import SEAL
from bayesdp.ledger.records import GENESIS, Entry
from bayesdp.ledger.replay import Replay

OPENED = {"budget": 2.0, "description": {"records": 9}, "model": {"type": "independent"}}
CHARGED = {"details": {}, "key": "count", "query": {"query": "count"}, "tau": 0.5}


def entry(number: int, kind: str, body: Any, question: str | None = None, charge: int | None = None) -> Entry:
    text = body if isinstance(body, str) else json.dumps(body, sort_keys=True, separators=(",", ":"))
    return Entry(number, "steps", kind, question, charge, text, "2026-01-01T00:00:00+00:00", GENESIS)


BEGUN = [
    entry(1, "open", OPENED),
    entry(2, "charge", CHARGED, "q"),
    entry(3, "answer", {"value": 41}, "q", 2),
    entry(4, "charge", CHARGED, "r"),
    entry(5, "lower", {"before": 2.0, "budget": 1.0, "reason": None}),
    entry(6, "refusal", {"reason": "too much"}),
    entry(7, "window", {"charge": 4, "window": [0, 1]}, "r"),
]


def problems(*entries: Entry) -> list[str]:
    replay = Replay()
    return [problem for each in entries for problem in replay.apply(each)]


def test_entries_that_go_together_add_up() -> None:
    replay = Replay()
    assert [problem for each in BEGUN for problem in replay.apply(each)] == []
    (account,) = replay.accounts.values()
    assert (account.budget, account.charges, [row.tau for row in account.subtotals]) == (1.0, 2, ["1"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (entry(7, "open", OPENED), "entry 7: the data set 'steps' was opened before"),
        (entry(7, "charge", CHARGED | {"query": {}}, "q"), "the key 'count' stands for another query"),
        (entry(7, "charge", CHARGED | {"tau": -1}, "q"), "it cannot be read: InvalidInputError"),
        (entry(7, "charge", {"key": "count"}, "q"), "it cannot be read: KeyError"),
        (entry(7, "answer", {"value": 1}, "q", 2), "a second answer for the charge 2"),
        (entry(7, "answer", {"value": 1}, "q", 4), "an answer without an earlier charge for its question"),
        (entry(7, "answer", {"value": 1}, "q"), "an answer without an earlier charge"),
        (entry(7, "lower", {"before": 2.0, "budget": 0.5, "reason": None}), "does not lower the budget of 1"),
        (entry(7, "lower", {"before": 1.0, "budget": 1.5, "reason": None}), "does not lower the budget of 1"),
        (entry(7, "raise", {"before": 1.0, "budget": 1.0, "reason": "so"}), "does not raise the budget of 1"),
        (entry(7, "refusal", {"reason": ""}), "it cannot be read"),
        (entry(7, "window", {"charge": 4, "window": [0, 1]}, "r"), "a second answer about the window 0 to 1"),
        (entry(7, "window", {"charge": 4, "window": [2, 2]}, "r"), "or one about no period"),
        (entry(7, "window", {"charge": 2, "window": [0, 1]}, "r"), "without an earlier charge for its stream"),
        (entry(7, "window", {"charge": 4, "window": [0]}, "r"), "it cannot be read: ValueError"),
        (entry(7, "gift", {}), "'gift' is an unknown kind of entry"),
        (entry(7, "refusal", '{"reason": "spaced"}'), "its body is not canonical JSON"),
        (entry(7, "refusal", "{"), "it cannot be read: JSONDecodeError"),
        (entry(7, "charge", CHARGED | {SEAL: "0" * 64}, "q"), "sealed with is not what the entries add up to"),
    ],
)
def test_an_entry_that_contradicts_the_others_is_named(wrong: Entry, message: str) -> None:
    (problem,) = problems(*BEGUN, wrong)
    assert problem.startswith("entry 7: ")
    assert message in problem


def test_a_data_set_never_opened_has_only_refusals() -> None:
    assert problems(BEGUN[5]) == []
    for orphan in BEGUN[1:5]:
        (problem,) = problems(orphan)
        assert "was never opened" in problem
