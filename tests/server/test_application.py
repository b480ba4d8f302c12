"""Every path, and what it answers: the documents of the session underneath, and its words of refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars
import pytest
from served import CONFIGURATION, COUNT, Served, Serving  # type: ignore[import-not-found]

import bayesdp as bdp
from bayesdp.ledger import Ledger
from bayesdp.server.application import _api
from bayesdp.server.observation import Metrics
from bayesdp.session.answer import Answer

BY = {"query": "count", "column": "s", "equals": 1, "by": "d", "by_cells": {"d": ["n", "s"]}}


def test_data_sets_are_those_that_one_may_ask(served: Served) -> None:
    both = {"kind": "datasets", "datasets": [{"dataset": "other"}, {"dataset": "steps"}]}
    assert served.get("/v1/datasets").json() == both
    assert served.get("/v1/datasets", "bob").json()["datasets"] == [{"dataset": "steps"}]


def test_a_data_set_is_described_by_what_is_public(served: Served) -> None:
    served.release(0.25)
    said = served.get("/v1/datasets/steps").json()
    assert said["columns"] == [{"name": name, "type": None} for name in "sdt"]  # a CSV file declares no types
    assert said["public"] == {"d": ["n", "s"], "t": None}
    assert said["model"]["type"] == "odds-chain"
    assert said["model"]["protects"].startswith("one record")
    assert (said["budget"], said["delta"]) == (5.0, None)
    assert 0.24 < said["epsilon_total"] <= 0.25
    assert said["epsilon_remaining"] == pytest.approx(5 - said["epsilon_total"])
    allowance = said["allowance"]
    assert (allowance["day"], allowance["total"]) == (1.0, 1.5)
    assert 0.75 <= allowance["day_remaining"] < 0.76
    bob = served.get("/v1/datasets/steps", "bob").json()
    assert (bob["allowance"], bob["queries"]) == (None, ["count", "histogram"])


def test_declared_types_are_public(serving: Serving, folder: Path) -> None:
    frame = polars.DataFrame({"s": [0, 1], "x": [0.5, 1.5], "b": [True, False], "n": ["a", "b"]})
    frame.write_parquet(folder / "other.parquet")
    served = serving(text=CONFIGURATION.replace("other.csv", "other.parquet"))
    columns = served.get("/v1/datasets/other").json()["columns"]
    kinds = {"s": "whole", "x": "number", "b": "truth", "n": "text"}
    assert {entry["name"]: entry["type"] for entry in columns} == kinds


def test_a_preview_is_that_of_the_session(served: Served) -> None:
    said = served.post("preview", {"query": COUNT, "epsilon": 0.5}).json()
    assert said["kind"] == "preview"
    with bdp.Session(
        served.folder / "steps.csv",
        served.service.configuration.datasets["steps"].model,
        dataset="steps",
        epsilon=5.0,
        ledger=served.folder / "same.db",
        public=["d", "t"],
    ) as session:
        preview = session.preview(bdp.Count("s", equals=1), epsilon=0.5).to_dict()
    assert said == {"kind": "preview", **preview}
    assert served.get("/v1/datasets/steps").json()["epsilon_total"] == 0.0


def test_a_release_is_an_answer_charged_in_the_name(served: Served) -> None:
    said = served.release(0.5).json()
    (document,) = said["answers"]
    answer = Answer.from_dict(document)
    assert (answer.by, answer.dataset, answer.epsilon <= 0.5) == ("ada", "steps", True)
    with Ledger(served.folder / "budget.db", create=False) as ledger:
        assert said["head"] == dict(zip(("entry", "hash"), ledger.head(), strict=True))
        (charge,) = ledger.entries("steps", "charge")
        assert ledger.verify([(answer.entry, answer.head)]).ok
    details = charge.content()["details"]
    assert (details["by"], details["posted"]) == ("ada", answer.epsilon)
    assert details["allowance"] == {"day": 1.0, "total": 1.5}


def test_a_stored_answer_costs_nobody_anything(served: Served) -> None:
    first = served.release(0.5).json()["answers"][0]
    again = served.release(0.5, "bob").json()["answers"][0]
    assert (again["value"], again["entry"], again["reused"]) == (first["value"], first["entry"], True)
    assert served.service._datasets["steps"].session.posted("bob") == (0.0, 0.0)


def test_several_questions_share_one_epsilon(served: Served) -> None:
    histogram = {"query": "histogram", "column": "s", "cells": [0, 1]}
    said = served.post("release", {"queries": [COUNT, histogram], "epsilon": 0.5}).json()
    assert len(said["answers"]) == 2
    assert 0.49 < served.service._datasets["steps"].session.posted("ada")[1] <= 0.5


def test_answers_by_parts_come_together(served: Served) -> None:
    said = served.post("release-by", {"query": BY, "epsilon": 0.5}).json()
    assert (said["by"], said["cells"], said["empty"]) == (["d"], [["n"], ["s"]], [])
    assert [Answer.from_dict(answer).records for answer in said["answers"]] == [30, 30]
    assert 0.49 < served.service._datasets["steps"].session.posted("ada")[1] <= 0.5
    refused = served.post("release-by", {"query": {**BY, "by_cells": {"d": ["x"]}}, "epsilon": 0.5})
    assert refused.json()["message"] == "the values of 'd' that questions may name are n, s"
    wrong = served.post("release", {"query": BY, "epsilon": 0.5}).json()
    assert "release_by returns them" in wrong["message"]


def test_answers_so_far_and_their_statements(served: Served) -> None:
    answer = served.release(0.5).json()["answers"][0]
    kept = served.get("/v1/datasets/steps/answers", "bob").json()
    assert kept == {"kind": "answers", "answers": [answer]}
    path = f"/v1/datasets/steps/answers/{answer['entry']}/statement"
    page, text = served.get(path, Accept="text/html"), served.get(path, Accept="text/markdown")
    assert page.text.startswith("<!DOCTYPE html>")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert text.text == Answer.from_dict(answer).statement()
    assert served.get("/v1/datasets/steps/answers/99/statement").status_code == 404


def test_a_head_that_was_seen_must_be_continued(served: Served) -> None:
    head = served.release(0.5).json()["head"]
    served.release(0.1, query={**COUNT, "equals": 0})

    def continues(entry: int, hashed: str) -> Any:
        return served.get(f"/v1/datasets/steps/heads?entry={entry}&hash={hashed}").json()

    said = continues(head["entry"], head["hash"])
    assert (said["kind"], said["continues"]) == ("continues", True)
    assert said["head"]["entry"] > head["entry"]
    assert continues(head["entry"] - 1, head["hash"])["continues"] is False
    assert continues(head["entry"], "0" * 64)["continues"] is False
    assert continues(10**6, head["hash"])["continues"] is False
    assert continues(0, "0" * 64)["continues"] is True


def test_refusals_have_the_words_of_the_session(served: Served) -> None:
    for body, status, error, message in [
        ({"query": COUNT, "epsilon": 6}, 409, "BudgetError", "the budget does not allow it: requested ε = 6"),
        ({"query": COUNT, "epsilon": 1.2}, 409, "AllowanceError", "the allowance of 'ada' today does not allow it"),
        ({"query": {**COUNT, "column": "x"}, "epsilon": 0.1}, 422, "QueryError", "x"),
        ({"query": {"query": "count"}, "epsilon": 0.1}, 422, "", ""),
        ({"query": COUNT}, 422, "InvalidInputError", "give either epsilon= (what the release may cost)"),
        ({"epsilon": 1}, 422, "InvalidInputError", 'give either "query" or "queries"'),
        ({"query": COUNT, "epsilon": "1"}, 422, "InvalidInputError", '"epsilon'),
        ({"query": COUNT, "epsilon": 1, "eps": 1}, 422, "InvalidInputError", '"eps"'),
        ({"query": COUNT, "epsilon": 1, "accept": "why not"}, 422, "InvalidInputError", "the word of the holder"),
        ({"queries": [], "epsilon": 1}, 422, "InvalidInputError", '"queries"'),
        ({"query": {**COUNT, "equals": 7}, "epsilon": 0.1}, 422, "QueryError", "7"),
        ({"query": {"query": "any-mechanism"}, "epsilon": 0.1}, 422, "QueryError", "made elsewhere"),
        ('{"query": 1, "query": 2}', 422, "InvalidInputError", 'gives "query" twice'),
        ('{"epsilon": NaN}', 422, "InvalidInputError", "NaN"),
        ("[]", 422, "InvalidInputError", "must hold one JSON object"),
        (b"\xff", 422, "InvalidInputError", "not UTF-8"),
        (b"[" * 100_000, 422, "InvalidInputError", "nested too deeply"),
    ]:
        answer = served.post("release", body)
        said = answer.json()
        assert (answer.status_code, said["kind"]) == (status, "error"), said
        assert error in said["error"], said
        assert message in said["message"], said
        assert "\n" not in said["message"]
    over = served.post("release", {"query": COUNT, "epsilon": 6}).json()
    assert (over["requested"], over["remaining"], over["difference"]) == (6.0, 5.0, 1.0)
    with Ledger(served.folder / "budget.db", create=False) as ledger:
        assert ledger.datasets() == ()  # nothing was ever charged


def test_what_is_nowhere_is_not_found(served: Served) -> None:
    for path in ("/v1/nothing", "/v1/datasets/steps/nothing", "/v1/datasets/", "/v2/datasets"):
        assert served.get(path).status_code == 404
    assert served.client.post("/v1/datasets", headers=served.headers()).status_code == 405
    assert served.get("/v1/datasets/steps/answers/x/statement").status_code == 422
    assert served.get("/v1/datasets/steps/heads?entry=1&hash=x").json()["message"].startswith('"hash"')


def test_a_failure_says_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(served.service, "names", fail)
    monkeypatch.setattr("bayesdp.session.session.Session.release", fail)
    for answer in (served.get("/v1/datasets"), served.release(0.5)):
        assert answer.status_code == 500
        assert answer.json() == {
            "kind": "error",
            "error": "RemoteError",
            "message": "the server failed; its log says when",
        }
    assert [line["error"] for line in served.lines] == ["ZeroDivisionError", "ZeroDivisionError"]
    assert "secret" not in served.log.getvalue()


def test_health_metrics_and_the_page_need_no_token(served: Served) -> None:
    def text(path: str) -> str:
        answer = served.client.get(path)
        assert answer.status_code == 200
        return str(answer.text)

    assert (text("/health/live"), text("/health/ready")) == ("alive\n", "ready\n")
    assert "POST /v1/datasets/{dataset}/release-by" in text("/v1/docs")
    assert "script" not in text("/v1/docs")
    served.release(0.5)
    lines = text("/metrics").splitlines()
    assert 'bayesdp_requests_total{method="POST",path="/v1/datasets/{dataset}/release",status="200"} 1' in lines, lines
    assert "bayesdp_jobs_running 0" in lines
    paths = served.client.get("/v1/openapi.json").json()["paths"]
    assert set(paths) == {
        "/v1/datasets",
        "/v1/datasets/{dataset}",
        *(f"/v1/datasets/{{dataset}}/{what}" for what in ("answers", "heads", "preview", "release", "release-by")),
        "/v1/datasets/{dataset}/running",
        "/v1/datasets/{dataset}/answers/{entry}/statement",
        "/v1/jobs/{job}",
    }
    body = paths["/v1/datasets/{dataset}/release"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert {"query", "queries", "epsilon", "alpha", "share", "beta", "noise"} == set(body["properties"])


def test_other_origins_are_told_nothing_unless_configured(serving: Serving) -> None:
    asked = {"Origin": "https://lab.example", "Access-Control-Request-Method": "POST"}
    plain = serving()
    assert plain.client.options("/v1/datasets", headers=asked).status_code == 401
    assert "access-control-allow-origin" not in plain.get("/v1/datasets", Origin="https://lab.example").headers
    opened = serving('\n[server]\ncors = ["https://lab.example"]\n')
    allowed = opened.client.options("/v1/datasets", headers=asked)
    assert allowed.headers["access-control-allow-origin"] == "https://lab.example"
    foreign = opened.client.options("/v1/datasets", headers={**asked, "Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in foreign.headers
    assert opened.client.get("/v1/datasets", headers={"Origin": "https://lab.example"}).status_code == 401


def test_nothing_is_told_to_a_collector_of_traces(served: Served) -> None:
    api = _api(served.service, Metrics(), None)
    assert not api._native_telemetry.enabled()
