"""What goes wrong: the ledger is gone, the table changes, the server is stopped in the middle."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from served import CONFIGURATION, COUNT, Served, opened  # type: ignore[import-not-found]

from bayesdp.errors import InvalidInputError
from bayesdp.ledger import Account, Ledger
from bayesdp.session.public import name_public


def test_a_ledger_that_is_gone_charges_nothing(served: Served) -> None:
    assert served.release(0.25, "bob").status_code == 200
    place, away = served.folder / "budget.db", served.folder / "away.db"
    place.rename(away)
    zero = {**COUNT, "equals": 0}
    for answer in (
        served.release(0.25, query=zero),
        served.release(0.25, query=zero, Idempotency_Key="k"),
        served.get("/v1/datasets/steps"),
        served.get("/v1/datasets/steps/answers"),
        served.get(f"/v1/datasets/steps/heads?entry=1&hash={'0' * 64}"),
    ):
        assert (answer.status_code, answer.json()["error"]) == (503, "UnavailableError"), answer.json()
        assert answer.headers["retry-after"] == "5"
    assert served.client.get("/health/ready").status_code == 503
    assert served.client.get("/health/live").status_code == 200
    away.rename(place)
    assert served.client.get("/health/ready").status_code == 200
    with Ledger(place, create=False) as ledger:
        assert len(ledger.entries("steps", "charge")) == 1
    assert served.release(0.25, query=zero, Idempotency_Key="k").status_code == 200


def test_a_table_that_grows_is_opened_again(folder: Path) -> None:
    text = CONFIGURATION.replace("epsilon = 5.0", "epsilon = 5.0\ngrowing = true")
    text = text.replace('column = "s" }', 'column = "s", layout = { order_by = ["t"] } }', 1)
    with opened(folder, text) as served:
        assert served.release(0.25).status_code == 200
        with (folder / "steps.csv").open("a") as file:
            file.write("1,n,60\n")
        assert served.release(0.25).json()["answers"][0]["records"] == 61


def test_a_table_that_changes_is_refused_until_it_is_as_before(served: Served) -> None:
    place = served.folder / "steps.csv"
    content = place.read_text()
    assert served.release(0.25).status_code == 200
    place.write_text(content + "1,n,60\n")
    asked = {"query": {**COUNT, "equals": 0}, "epsilon": 0.25}
    changed, more = served.post("release", asked), served.post("release", asked)
    assert (changed.status_code, changed.json()["error"]) == (503, "ChangedError")
    assert more.json()["error"] == "LedgerError"
    assert "60 rows then, 61 now" in more.json()["message"]
    place.write_text(content)
    assert served.post("release", asked).status_code == 200


def test_a_decision_of_the_holder_is_taken_at_once(served: Served) -> None:
    assert served.release(0.25).status_code == 200
    asked = {"query": {**COUNT, "by": "u", "by_cells": {"u": [1]}}, "epsilon": 0.25}
    with Ledger(served.folder / "budget.db", create=False) as ledger:
        with pytest.raises(InvalidInputError):
            ledger.raise_budget("steps", 4.0, reason="less")
        name_public(ledger, "steps", ["u"], reason="it is on the web site")
    assert served.post("release-by", asked).status_code == 422, "there is no such column"
    other = served.release(0.25, query={**COUNT, "equals": 0})
    assert other.status_code == 200, other.json()


def test_what_is_charged_is_stored_before_the_server_stops(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charged, go_on, store = threading.Event(), threading.Event(), Account.answer

    def late(account: Account, *arguments: Any) -> str:
        charged.set()
        assert go_on.wait(30)
        return store(account, *arguments)

    monkeypatch.setattr(Account, "answer", late)
    with opened(folder, CONFIGURATION.replace("epsilon = 5.0", "epsilon = 5.0\nworkers = 1")) as served:
        assert served.release(0.25, Prefer="respond-async").status_code == 202
        waiting = served.release(0.25, query={**COUNT, "equals": 0}, Prefer="respond-async")
        assert waiting.status_code == 202
        assert charged.wait(30)
        threading.Timer(0.2, go_on.set).start()
        # leaving the block stops the server, while the first release is charged and the second has not begun
    with Ledger(folder / "budget.db", create=False) as ledger:
        assert len(ledger.entries("steps", "charge")) == len(ledger.entries("steps", "answer")) == 1
        assert ledger.verify().ok
    waiting_job = served.service.jobs.find(waiting.json()["job"], "ada")
    assert waiting_job is not None
    assert waiting_job.future.result().status == 503


def test_a_server_that_is_stopping_takes_no_request(served: Served) -> None:
    served.service.stopping = True
    answer = served.release(0.25)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert served.client.get("/health/ready").status_code == 503


def test_a_data_set_that_cannot_be_opened_is_named_by_line(folder: Path) -> None:
    text = CONFIGURATION.replace("states = [0, 1]", "states = [0, 2]")
    with pytest.raises(InvalidInputError) as refused, opened(folder, text):
        pass
    assert str(refused.value).startswith(f"{folder}/config.toml:3: the table is refused")
    missing = CONFIGURATION.replace("epsilon = 1.0", "growing = false", 1)
    with (
        pytest.raises(InvalidInputError, match=r"config.toml:9: 'other' is new to the ledger"),
        opened(folder, missing),
    ):
        pass
