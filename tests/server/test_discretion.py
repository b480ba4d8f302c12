"""What no answer, refusal or log may depend on: the value of a record. Neighbouring tables cannot be told apart."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from served import CONFIGURATION, COUNT, Served, opened  # type: ignore[import-not-found]

from bayesdp.server.observation import Journal, quiet_logging

TEXT = CONFIGURATION.replace('{ type = "independent", column = "s" }', '{ type = "independent" }')
SENTINEL = "SENTINEL-7316"

QUESTIONS = [
    ("preview", {"query": COUNT, "epsilon": 0.5}),
    ("preview", {"query": COUNT, "alpha": 5}),
    ("preview", {"query": {**COUNT, "where": "t >= 5", "public_filter": True}, "epsilon": 0.1}),
    ("preview", {"query": {"query": "sum", "column": "s", "bounds": [0, 1]}, "epsilon": 0.1}),
    ("release", {"query": COUNT, "epsilon": 9}),
    ("release", {"query": COUNT, "epsilon": 1.25}),
    ("release", {"query": {**COUNT, "where": "s > 0", "public_filter": True}, "epsilon": 0.1}),
    ("release", {"query": {**COUNT, "column": "nothing"}, "epsilon": 0.1}),
    ("release-by", {"query": {**COUNT, "by": "s", "by_cells": [0, 1]}, "epsilon": 0.1}),
]
OTHERS = [
    ("release", {"query": {"query": "sum", "column": "v", "bounds": [0, 1]}, "epsilon": 0.1}),
    ("release", {"query": {"query": "mean", "column": "v", "bounds": [0, 1]}, "epsilon": 0.1}),
    ("release", {"query": {"query": "count", "column": "v", "where": "v > 0"}, "epsilon": 0.1}),
    ("preview", {"query": {"query": "sum", "column": "v", "bounds": [0, 1]}, "epsilon": 0.1}),
]


def said(folder: Path, values: Sequence[object], others: Sequence[object]) -> list[Any]:
    """Return everything that a server says about tables with these values."""
    folder.mkdir()
    steps = "".join(f"{value},{'ns'[row % 2]},{row}\n" for row, value in enumerate(values))
    (folder / "steps.csv").write_text("s,d,t\n" + steps)
    (folder / "other.csv").write_text("v\n" + "".join(f"{value}\n" for value in others))
    with opened(folder, TEXT) as served:
        answers = [served.post(what, body) for what, body in QUESTIONS]
        answers += [served.post(what, body, dataset="other") for what, body in OTHERS]
        answers += [served.get(f"/v1/datasets/{name}") for name in ("steps", "other")]
        log = [{**line, "time": 0, "seconds": 0, "request": ""} for line in served.lines]
    for path in sorted(folder.iterdir()):
        path.unlink()
    folder.rmdir()
    passing = {"date", "x-request-id"}
    shown = [(a.status_code, a.content, [h for h in a.headers.items() if h[0] not in passing]) for a in answers]
    return [*shown, log]


def test_neighbouring_tables_get_the_same_bytes(tmp_path: Path) -> None:
    values = [0, 1, 0, 0, 1, 1, 0, 1]
    of = tmp_path / "here"
    near = [1, *values[1:]]
    here = said(of, values, ['""', "1", "0.5"])
    statuses = [one[0] for one in here[:-1]]
    assert statuses == [200] * 4 + [409, 409, 422, 422, 422] + [422] * 3 + [200] + [200, 200]
    there = said(of, near, [SENTINEL, "1", "0.5"])
    for place, (one, same) in enumerate(zip(here, there, strict=True)):
        assert one == same, place


def test_the_log_holds_no_token_and_no_value(served: Served) -> None:
    token = served.token("ada")
    hidden = {**COUNT, "where": f"d == '{SENTINEL}'", "public_filter": True}
    assert served.release(0.25, query=hidden, Idempotency_Key=SENTINEL).status_code == 200
    served.release(0.25, query={**COUNT, "equals": SENTINEL})
    served.release(9, query={**COUNT, "column": SENTINEL})
    served.get(f"/v1/{SENTINEL}")
    served.get(f"/v1/datasets/{SENTINEL}?x={SENTINEL}")
    served.get(f"/v1/jobs/{SENTINEL}")
    served.get("/v1/datasets", X_Request_Id=f"{SENTINEL} {SENTINEL}")
    served.client.get("/v1/datasets", headers={"Authorization": f"Bearer {SENTINEL}"})
    served.client.request(SENTINEL, "/v1/datasets", headers=served.headers())
    served.post("release", SENTINEL)
    metrics = served.client.get("/metrics").text
    for written in (served.log.getvalue(), metrics):
        assert SENTINEL not in written
        assert token not in written
        assert token.removeprefix("bdp_") not in written
    for line in served.lines:
        assert set(line) <= {
            *("time", "analyst", "dataset", "method", "path", "status", "seconds", "request", "error"),
        }
    assert {line["path"] for line in served.lines} <= {
        *("unmatched", "/v1/datasets", "/v1/datasets/{dataset}", "/v1/jobs/{job}", "/metrics"),
        "/v1/datasets/{dataset}/release",
    }
    assert served.lines[0]["analyst"] == "ada"
    assert (served.lines[0]["dataset"], served.lines[0]["status"]) == ("steps", 200)


def test_answers_carry_their_request_and_are_not_kept(served: Served) -> None:
    given = served.get("/v1/datasets", X_Request_Id="abc-1")
    assert given.headers["x-request-id"] == "abc-1"
    assert given.headers["cache-control"] == "no-store"
    assert given.headers["x-content-type-options"] == "nosniff"
    assert "server" not in given.headers
    assert len(served.get("/v1/datasets", X_Request_Id="a b").headers["x-request-id"]) == 16
    assert json.loads(served.log.getvalue().splitlines()[0])["request"] == "abc-1"


@pytest.mark.parametrize("logger", ["uvicorn.error", "asyncio", "uvicorn"])
def test_other_logs_keep_their_words_to_themselves(logger: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "asyncio")
    loggers = [logging.getLogger(name) for name in names]
    before = [(each, each.handlers, each.propagate, each.level) for each in loggers]
    stream = io.StringIO()
    try:
        quiet_logging(Journal(stream))
        logging.getLogger(logger).error(SENTINEL, exc_info=ValueError(SENTINEL))
    finally:
        for each, handlers, propagate, level in before:
            each.handlers, each.propagate = handlers, propagate
            each.setLevel(level)
    (line,) = map(json.loads, stream.getvalue().splitlines())
    assert (line["logger"], line["level"], line["error"]) == (logger, "ERROR", "ValueError")
    assert SENTINEL not in stream.getvalue()
