"""A repeated request is answered from the ledger and charged once, whatever happened in between."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from served import CONFIGURATION, COUNT, Served, Serving, opened  # type: ignore[import-not-found]

from bayesdp.ledger import Account, Ledger

KEY = {"Idempotency_Key": "a key, once"}


def charged(folder: Path) -> int:
    with Ledger(folder / "budget.db", create=False) as ledger:
        return len(ledger.entries("steps", "charge"))


def test_a_repeated_request_has_the_same_answer(served: Served) -> None:
    answers = [served.release(0.5, **KEY) for _ in range(3)]
    assert {answer.content for answer in answers} == {answers[0].content}
    assert charged(served.folder) == 1


def test_a_key_is_for_one_request(served: Served) -> None:
    assert served.release(0.5, **KEY).status_code == 200
    for other in (served.release(0.4, **KEY), served.release(0.5, query={**COUNT, "equals": 0}, **KEY)):
        assert (other.status_code, other.json()["error"]) == (422, "InvalidInputError")
        assert "was used for another request" in other.json()["message"]
    assert served.release(0.5, "bob", **KEY).status_code == 200, "a key belongs to one analyst"
    body = '{"epsilon": 0.5, "query": {"equals": 1, "column": "s", "query": "count"}}'
    assert served.post("release", body, **KEY).status_code == 200, "the order of entries does not count"
    assert charged(served.folder) == 1


def test_a_restart_forgets_no_request(folder: Path) -> None:
    with opened(folder, CONFIGURATION) as before:
        first = before.release(0.5, **KEY).json()
    with opened(folder, CONFIGURATION) as after:
        assert after.release(0.5, **KEY).json()["answers"] == first["answers"]
        assert after.release(0.6, **KEY).status_code == 422
    assert charged(folder) == 1


def test_an_answer_that_was_lost_is_given_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with opened(folder, CONFIGURATION) as before:
        monkeypatch.setattr(Account, "answer", crash)
        assert before.release(0.5, **KEY).status_code == 500
        monkeypatch.undo()
    assert charged(folder) == 1
    with opened(folder, CONFIGURATION) as after:
        monkeypatch.setattr("bayesdp.session.retries.PATIENCE", 0.0)
        answer = after.release(0.5, **KEY)
        assert answer.status_code == 200
        assert answer.content == after.release(0.5, **KEY).content
    assert charged(folder) == 1


def test_a_table_that_changed_is_not_charged_again(folder: Path) -> None:
    text = CONFIGURATION.replace("epsilon = 5.0", "epsilon = 5.0\ngrowing = true")
    text = text.replace('column = "s" }', 'column = "s", layout = { order_by = ["t"] } }', 1)
    with opened(folder, text) as before:
        first = before.release(0.5, **KEY)
        assert first.status_code == 200, first.json()
    with (folder / "steps.csv").open("a") as file:
        file.write("1,n,60\n")
    with opened(folder, text) as after:
        again = after.release(0.5, **KEY)
        assert (again.status_code, again.json()["error"]) == (422, "LedgerError")
        assert "this request was charged before" in again.json()["message"]
        assert charged(folder) == 1
        assert after.release(0.25, Idempotency_Key="another").status_code == 200
    assert charged(folder) == 2


@pytest.mark.slow
def test_two_servers_charge_a_request_once(serving: Serving) -> None:
    servers = [serving(), serving()]
    for served in servers:
        served.token("ada")
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda place: servers[place % 2].release(0.5, **KEY), range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["answers"][0]["value"] for answer in answers}) == 1
    assert charged(servers[0].folder) == 1


def test_a_refusal_may_be_asked_again(served: Served) -> None:
    assert served.release(1.25, **KEY).status_code == 409
    assert served.release(0.25, **KEY).status_code == 200


@pytest.mark.parametrize("key", ["", "x" * 201, "a\tb"], ids=["empty", "long", "tab"])
def test_a_key_is_a_short_line(served: Served, key: str) -> None:
    assert served.release(0.5, Idempotency_Key=key).status_code == 422
