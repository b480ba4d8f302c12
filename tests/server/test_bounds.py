"""What an answer must not name, and how much a request may ask for at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import polars
import pytest
from served import CONFIGURATION, COUNT, Served, Serving  # type: ignore[import-not-found]

from bayesdp.errors import BayesDPError, FrameError
from bayesdp.ledger import Ledger
from bayesdp.server.configuration import read_configuration
from bayesdp.server.refusals import document_of
from bayesdp.server.service import _places


def test_an_answer_does_not_tell_where_the_ledger_is(served: Served) -> None:
    said = served.release(0.25).json()
    (answer,) = said["answers"]
    assert answer["ledger"] == "that of the server"
    path = f"/v1/datasets/steps/answers/{answer['entry']}/statement"
    pages = [served.get("/v1/datasets/steps/answers").text, served.get(path).text]
    for text in (str(said), *pages):
        assert str(served.folder) not in text
        assert "that of the server" in text


@pytest.mark.parametrize("query", [{**COUNT, "equals": "x"}, {**COUNT, "column": "absent"}])
def test_a_refusal_names_the_data_set_and_no_file(serving: Serving, folder: Path, query: dict[str, Any]) -> None:
    polars.DataFrame({"s": [0, 1]}).write_parquet(folder / "table.parquet")
    served = serving(text=CONFIGURATION.replace("other.csv", "table.parquet"))
    said = served.post("preview", {"query": query, "epsilon": 0.5}, dataset="other")
    assert said.status_code == 422
    assert "table.parquet" not in said.text
    assert "other" in said.json()["message"]


def test_files_that_are_gone_are_not_named(served: Served) -> None:
    os.utime(served.folder / "steps.csv", (1, 1))
    first = served.release(0.25)
    (served.folder / "steps.csv").unlink()
    for said in (first, served.release(0.25)):
        assert said.status_code in (422, 503)
        assert str(served.folder) not in said.text


def test_addresses_of_databases_are_not_named(tmp_path: Path) -> None:
    place = tmp_path / "serve.toml"
    place.write_text(
        'ledger = "sqlite:///budget.db"\n[datasets.d]\nmodel = {type = "independent"}\n'
        'data = "postgresql://holder@host.example/clinic#visits"\npassword = {env = "PATH"}\n'
    )
    configuration = read_configuration(place)
    with Ledger(tmp_path / "other.db") as ledger:
        places = _places(configuration, ledger)
        assert ledger.name in places
    told = document_of(FrameError("cannot open postgresql://holder:***@host.example/clinic#visits: it is gone"), places)
    assert told["message"] == "cannot open d: it is gone"
    assert not any(address and os.environ["PATH"] in told["message"] for address in places)


def test_what_names_no_place_stays_as_it_is() -> None:
    assert document_of(BayesDPError("no"), {"/srv/steps.csv": "steps"})["message"] == "no"


@pytest.mark.parametrize(
    "query",
    [
        {"query": "histogram", "column": "s", "cells": list(range(1001))},
        {"query": "count", "column": "s", "isin": list(range(1001))},
        {**COUNT, "by": ["d", "t"], "by_cells": {"d": list(range(40)), "t": list(range(40))}},
    ],
)
def test_a_request_lists_so_many_values(served: Served, query: dict[str, Any]) -> None:
    said = served.post("preview", {"query": query, "epsilon": 0.5})
    assert said.status_code == 422
    assert "a request may list 1000 values in all" in said.json()["message"]
    fewer = {"query": "histogram", "column": "s", "cells": [0, 1]}
    assert served.post("preview", {"query": fewer, "epsilon": 0.5}).status_code == 200


def test_many_questions_are_too_many_values_as_well(served: Served) -> None:
    body = {"queries": [{**COUNT, "isin": [0, 1]} | {"equals": None}] * 400, "epsilon": 0.5}
    assert "not 1200" in served.post("release", body).json()["message"]


def test_two_keys_are_refused(served: Served) -> None:
    headers = [
        ("Idempotency-Key", "one"),
        ("Idempotency-Key", "two"),
        ("Authorization", f"Bearer {served.token('ada')}"),
    ]
    said = served.client.post("/v1/datasets/steps/release", json={"query": COUNT, "epsilon": 0.25}, headers=headers)
    assert (said.status_code, "one Idempotency-Key" in said.text) == (422, True)
    assert served.get("/v1/datasets/steps").json()["epsilon_total"] == 0
