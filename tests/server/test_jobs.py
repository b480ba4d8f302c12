"""Long questions: a job that goes on, tells how far it is, and answers only the analyst who began it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from served import CONFIGURATION, COUNT, Served, Serving  # type: ignore[import-not-found]

from bayesdp._support.progress import progress_bar
from bayesdp.errors import InvalidInputError
from bayesdp.ledger import Ledger
from bayesdp.server.jobs import Jobs, TooManyJobsError
from bayesdp.session.session import Session

ASYNC = {"Prefer": "respond-async"}


class Gate:
    """Makes releases wait until it is opened."""

    def __init__(self) -> None:
        self.reached, self._open = threading.Event(), threading.Event()

    def open(self) -> None:
        self._open.set()

    def wait(self) -> None:
        self.reached.set()
        assert self._open.wait(30)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Return a gate before every release, which says that a quarter is done."""
    gate, release = Gate(), Session.release

    def slow(session: Session, *arguments: Any, **options: Any) -> Any:
        with progress_bar(4, "reading") as done:
            done(1)
            gate.wait()
        return release(session, *arguments, **options)

    monkeypatch.setattr(Session, "release", slow)
    yield gate
    gate.open()


def finished(served: Served, location: str) -> Any:
    """Return the answer of a job once it is there."""
    until = time.monotonic() + 30
    while (answer := served.get(location)).status_code == 202:
        assert time.monotonic() < until
        time.sleep(0.01)
    return answer


def test_a_job_tells_how_far_it_is(served: Served, gate: Gate) -> None:
    begun = served.release(0.5, **ASYNC)
    assert (begun.status_code, begun.json()["kind"], begun.json()["state"]) == (202, "job", "running")
    location = begun.headers["location"]
    assert location == f"/v1/jobs/{begun.json()['job']}"
    assert gate.reached.wait(30)
    assert served.get(location).json()["progress"] == 0.25
    assert served.get(location, "bob").status_code == 404
    assert served.get("/v1/jobs/other").status_code == 404
    gate.open()
    answer = finished(served, location)
    assert (answer.status_code, answer.json()["kind"]) == (200, "release")
    assert served.get(location).content == answer.content


def test_a_slow_release_becomes_a_job(serving: Serving, gate: Gate) -> None:
    served = serving("\n[limits]\nwait = 0.05\n")
    begun = served.release(0.5, Idempotency_Key="k")
    assert begun.status_code == 202
    again = served.release(0.5, Idempotency_Key="k")
    assert again.json()["job"] == begun.json()["job"]
    gate.open()
    answer = finished(served, begun.headers["location"])
    assert served.release(0.5, Idempotency_Key="k").content == answer.content


def test_a_job_that_is_refused_has_its_status(served: Served) -> None:
    begun = served.release(4.0, **ASYNC)
    answer = finished(served, begun.headers["location"])
    assert (answer.status_code, answer.json()["error"]) == (409, "AllowanceError")
    assert served.lines[-1]["error"] == "AllowanceError"


def test_an_analyst_has_so_many_jobs_at_a_time(serving: Serving, gate: Gate) -> None:
    served = serving("\n[limits]\njobs = 1\n")
    begun = served.release(0.25, **ASYNC)
    refused = served.release(0.25, query={**COUNT, "equals": 0}, **ASYNC)
    assert (refused.status_code, refused.json()["error"]) == (429, "RemoteError")
    assert served.release(0.25, "bob", query={**COUNT, "equals": 0}, **ASYNC).status_code == 202
    gate.open()
    assert finished(served, begun.headers["location"]).status_code == 200


def test_a_release_that_takes_too_long_is_not_charged(serving: Serving, gate: Gate) -> None:
    served = serving("\n[limits]\nseconds = 0.05\n")
    begun = served.release(0.5, **ASYNC)
    assert gate.reached.wait(30)
    time.sleep(0.06)
    gate.open()
    answer = finished(served, begun.headers["location"])
    assert (answer.status_code, answer.json()["error"]) == (504, "TimeLimitError")
    with Ledger(served.folder / "budget.db", create=False) as ledger:
        assert ledger.entries("steps", "charge") == ()


def test_a_preview_does_not_wait_for_long(serving: Serving, gate: Gate) -> None:
    text = CONFIGURATION.replace("epsilon = 5.0", "epsilon = 5.0\nworkers = 1")
    served = serving("\n[limits]\nwait = 0.05\n", text=text)
    assert served.release(0.5, **ASYNC).status_code == 202
    assert gate.reached.wait(30)
    answer = served.post("preview", {"query": COUNT, "epsilon": 0.5})
    assert (answer.status_code, answer.json()["error"]) == (504, "TimeLimitError")


def test_jobs_are_forgotten_after_a_while() -> None:
    now, done = [0.0], Future[bytes]()
    done.set_result(b"1")
    jobs = Jobs(2, clock=lambda: now[0])
    first = jobs.begin("ada", "k", "b", lambda job: done)
    assert jobs.begin("ada", "k", "b", lambda job: done) is first
    with pytest.raises(InvalidInputError, match="was used for another request"):
        jobs.begin("ada", "k", "c", lambda job: done)
    now[0] = 901.0
    assert jobs.begin("ada", "k", "b", lambda job: done) is not first
    assert (jobs.find(first.identity, "ada"), jobs.running) == (None, 0)
    waiting: list[Future[bytes]] = [Future(), Future()]
    for future in waiting:
        jobs.begin("ada", None, "b", lambda job, future=future: future)  # type: ignore[misc]
    assert jobs.running == 2
    with pytest.raises(TooManyJobsError):
        jobs.begin("ada", None, "b", lambda job: done)
    waiting[0].cancel()
    assert jobs.running == 1


def test_what_cannot_begin_leaves_no_job() -> None:
    jobs = Jobs(1)

    def fail(job: Any) -> Future[bytes]:
        raise InvalidInputError("no")

    for _ in range(2):
        with pytest.raises(InvalidInputError, match="no"):
            jobs.begin("ada", None, "b", fail)
    assert jobs.running == 0

    def stopped(job: Any) -> Future[bytes]:
        raise RuntimeError("cannot schedule new futures after shutdown")

    outcome = jobs.begin("ada", None, "b", stopped).future.result()
    assert outcome.status == 503
