"""What is being answered: each release is a job, which goes on when the client is gone and is answered later.

A repeated request with the same idempotency key finds its job. After a restart, it finds its charges in the ledger.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from typing import Any

from bayesdp.errors import InvalidInputError, UnavailableError
from bayesdp.ledger.postings import OTHER_REQUEST
from bayesdp.server.messages import written
from bayesdp.server.refusals import document_of, status_of

__all__ = ["Job", "Jobs", "Outcome", "TooManyJobsError"]

_KEPT = 900.0
"""Seconds for which a finished job can be asked for."""

_MOST_KEPT = 10_000


class TooManyJobsError(Exception):
    """An analyst waits for as many releases as he may."""


@dataclass(frozen=True)
class Outcome:
    """The answer to a request: its status and its body, as they are sent; and the type of an exception, for the log."""

    status: int
    body: bytes
    error: str | None = None

    @classmethod
    def failed(cls, error: BaseException) -> Outcome:
        """Return what is sent of an exception."""
        if isinstance(error, CancelledError):
            error = UnavailableError("the server is stopping; nothing was charged. Ask again later")
        return cls(status_of(error), written(document_of(error)), type(error).__name__)


@dataclass(eq=False)
class Job:
    """A request that is being answered.

    key:      the idempotency key; None if the client gave none.
    body:     the fingerprint of the request.
    progress: the share that is done; None if it is not known.
    """

    analyst: str
    key: str | None
    body: str
    identity: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    progress: float | None = None
    finished: float | None = None
    future: Future[Outcome] = field(default_factory=Future)

    def told(self, label: str, share: float) -> None:
        """Take the progress of the work."""
        self.progress = share

    def to_dict(self) -> dict[str, Any]:
        """Return the document of a job that is running."""
        return {"kind": "job", "job": self.identity, "state": "running", "progress": self.progress}


class Jobs:
    """All jobs that are running, and those that have finished a while ago.

    most: how many jobs of one analyst may be running.
    """

    def __init__(self, most: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._jobs: dict[str, Job] = {}
        self._keys: dict[tuple[str, str], Job] = {}
        self._running: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def running(self) -> int:
        """How many jobs are running."""
        with self._lock:
            return self._running.total()

    def find(self, identity: str, analyst: str) -> Job | None:
        """Return a job of an analyst; None if there is none."""
        with self._lock:
            job = self._jobs.get(identity)
        return job if job is not None and job.analyst == analyst else None

    def begin(self, analyst: str, key: str | None, body: str, submit: Callable[[Job], Future[bytes]]) -> Job:
        """Return the job of this request, begun now unless the same request is being or was answered.

        submit: begins the work, whose result is the body of the answer.

        Raises InvalidInputError if the key was used for another request, TooManyJobsError if too many are running.
        """
        with self._lock:
            self._clean()
            known = None if key is None else self._keys.get((analyst, key))
            if known is not None and known.body != body:
                raise InvalidInputError(OTHER_REQUEST)
            if known is not None:
                return known
            if self._running[analyst] >= self._most:
                raise TooManyJobsError
            self._running[analyst] += 1
            job = Job(analyst, key, body)
            self._jobs[job.identity] = job
            if key is not None:
                self._keys[analyst, key] = job
        try:
            submit(job).add_done_callback(lambda done: self._finish(job, done))
        except RuntimeError:  # the worker was shut down
            self._end(job, Outcome.failed(CancelledError()))
        except BaseException as error:
            self._end(job, Outcome.failed(error))
            raise
        return job

    def _finish(self, job: Job, done: Future[bytes]) -> None:
        error = CancelledError() if done.cancelled() else done.exception()
        self._end(job, Outcome(200, done.result()) if error is None else Outcome.failed(error))

    def _end(self, job: Job, outcome: Outcome) -> None:
        """Keep what came out; a refusal leaves no trace, and the same request is asked again."""
        with self._lock:
            job.finished = self._clock()
            self._running[job.analyst] -= 1
            if outcome.status != 200 and job.key is not None:
                self._keys.pop((job.analyst, job.key), None)
        job.future.set_result(outcome)

    def _clean(self) -> None:
        """Forget jobs that finished long ago, and the oldest of too many."""
        latest = self._clock() - _KEPT
        old: list[Job] = []
        for job in self._jobs.values():
            if job.finished is None:
                continue
            if job.finished >= latest and len(self._jobs) - len(old) <= _MOST_KEPT:
                break
            old.append(job)
        for job in old:
            del self._jobs[job.identity]
            if job.key is not None:
                self._keys.pop((job.analyst, job.key), None)
