"""What analysts can ask of the data sets: each answer is what a session returns, as a JSON document."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

from bayesdp._support import validation
from bayesdp._support.documents import fingerprint
from bayesdp._support.progress import listening_to_progress
from bayesdp.errors import InvalidInputError
from bayesdp.frames.databases import DatabaseAddress, database_file, is_database
from bayesdp.ledger import Ledger, Requester
from bayesdp.queries import Query
from bayesdp.server.configuration import Analyst, Configuration
from bayesdp.server.datasets import Dataset
from bayesdp.server.identity import DeniedError
from bayesdp.server.jobs import Job, Jobs
from bayesdp.server.messages import written
from bayesdp.server.questions import Asked, OneQuestion, Questions, RunningQuestion
from bayesdp.session.accounting import remaining
from bayesdp.session.answer import Answer
from bayesdp.session.session import Session
from bayesdp.session.statement import statement

__all__ = ["Service"]

_LEDGER = "that of the server"
_LONGEST_KEY = 200


class Service:
    """The data sets of a configuration, for analysts who are known by name.

    Raises DeniedError for what an analyst may not ask, else what a session raises.
    """

    def __init__(self, configuration: Configuration, ledger: Ledger, datasets: Mapping[str, Dataset]) -> None:
        self.configuration = configuration
        self.jobs = Jobs(configuration.limits.jobs, _places(configuration, ledger))
        self.stopping = False
        self._ledger, self._datasets = ledger, datasets

    def names(self, analyst: Analyst) -> dict[str, Any]:
        """Return the data sets that an analyst may ask."""
        return {"kind": "datasets", "datasets": [{"dataset": name} for name in sorted(analyst.datasets)]}

    def description(self, analyst: Analyst, name: str) -> dict[str, Any]:
        """Return what is public about a data set, and what may still be spent on it."""
        dataset = self._dataset(analyst, name)
        session = dataset.session
        budget, model, public = session.budget, session.model, dataset.entry.public
        leaked = session.leaked
        kinds = (kind for kind, query in Query.kinds().items() if not query.made_elsewhere and analyst.may_ask(kind))
        return {
            "kind": "dataset",
            "dataset": name,
            "columns": [{"name": column, "type": kind} for column, kind in session.columns.items()],
            "public": {column: _listed(public.get(column)) for column in session.public},
            "model": {"type": model.kind, "assumption": model.assumption, "protects": model.protects},
            "queries": sorted(kinds),
            "budget": budget,
            "delta": session.delta,
            "epsilon_total": leaked,
            "epsilon_remaining": remaining(budget, leaked),
            "allowance": self._allowance(analyst, name, session),
        }

    def _allowance(self, analyst: Analyst, name: str, session: Session) -> dict[str, Any] | None:
        permission = analyst.datasets[name]
        if permission.day is None and permission.total is None:
            return None
        today, total = session.posted(analyst.name)
        return {
            "day": permission.day,
            "total": permission.total,
            "day_remaining": None if permission.day is None else remaining(permission.day, today),
            "total_remaining": None if permission.total is None else remaining(permission.total, total),
        }

    def preview(self, analyst: Analyst, name: str, asked: OneQuestion) -> Future[bytes]:
        """Return what a release would cost."""
        dataset = self._dataset(analyst, name)
        (query,) = self._allowed(analyst, dataset, asked)

        def previewed(session: Session) -> bytes:
            return written({"kind": "preview", **session.preview(query, **asked.target).to_dict()})

        return dataset.submit(previewed)

    def release(self, analyst: Analyst, name: str, asked: Questions, key: str | None) -> Job:
        """Begin a release."""
        single = asked.query is not None
        queries = self._allowed(analyst, self._dataset(analyst, name), asked)

        def released(session: Session) -> dict[str, Any]:
            target = asked.target
            answers = [session.release(queries[0], **target)] if single else session.release_all(queries, **target)
            return {"kind": "release", "answers": _documents(session, answers)}

        return self._begin(analyst, name, "release", asked, key, released)

    def release_by(self, analyst: Analyst, name: str, asked: OneQuestion, key: str | None) -> Job:
        """Begin a release by parts or windows."""
        (query,) = self._allowed(analyst, self._dataset(analyst, name), asked)

        def released(session: Session) -> dict[str, Any]:
            answers = session.release_by(query, **asked.target)
            return {
                "kind": "release",
                "by": list(answers.columns),
                "cells": [list(cell) for cell in answers.cells] or None,
                "empty": [list(cell) for cell in answers.empty],
                "answers": _documents(session, answers.answers),
            }

        return self._begin(analyst, name, "release-by", asked, key, released)

    def running(self, analyst: Analyst, name: str, asked: RunningQuestion, key: str | None) -> Job:
        """Begin a stream of running totals, or go on with it."""
        (query,) = self._allowed(analyst, self._dataset(analyst, name), asked)

        def released(session: Session) -> dict[str, Any]:
            session.answered_before()  # refuses a key of another request
            return {**session.running(query, **asked.target).to_dict(), "kind": "running"}

        return self._begin(analyst, name, "running", asked, key, released)

    def answers(self, analyst: Analyst, name: str) -> dict[str, Any]:
        """Return the stored answers, oldest first."""
        history = self._dataset(analyst, name).session.history
        return {"kind": "answers", "answers": [_shown(kept).to_dict() for kept in history if isinstance(kept, Answer)]}

    def statement(self, analyst: Analyst, name: str, entry: int, *, html: bool) -> str | None:
        """Return the statement about a stored answer; None if there is no such answer."""
        history = self._dataset(analyst, name).session.history
        found = next((kept for kept in history if isinstance(kept, Answer) and kept.entry == entry), None)
        if found is None:
            return None
        page = statement(_shown(found))
        return page.html() if html else page.markdown()

    def continues(self, analyst: Analyst, name: str, entry: int, head: str) -> dict[str, Any]:
        """Return whether today's ledger has an entry with a hash, and where it ends."""
        self._dataset(analyst, name)
        return {"kind": "continues", "continues": self._ledger.continues(entry, head), "head": self._head()}

    def check_ready(self) -> None:
        """Raise LedgerError if the ledger cannot be read."""
        self._ledger.head()

    def _dataset(self, analyst: Analyst, name: str) -> Dataset:
        if name not in analyst.datasets:
            raise DeniedError(403)
        return self._datasets[name]

    def _allowed(self, analyst: Analyst, dataset: Dataset, asked: Asked) -> tuple[Query, ...]:
        """Return the questions of a request; refuses those that the analyst may not ask."""
        most = self.configuration.limits.values
        if asked.listed > most:
            raise InvalidInputError(
                f"a request may list {most} values in all, not {asked.listed}; ask for fewer at a time"
            )
        queries = asked.questions
        for query in queries:
            if not analyst.may_ask(query.kind):
                raise DeniedError(403)
            dataset.check_question(query)
        _ = asked.target
        return queries

    def _begin(
        self,
        analyst: Analyst,
        name: str,
        kind: str,
        asked: Asked,
        key: str | None,
        released: Callable[[Session], dict[str, Any]],
    ) -> Job:
        """Begin a job that charges in the analyst's name."""
        dataset, permission = self._dataset(analyst, name), analyst.datasets[name]
        body = asked.fingerprint(kind, name)
        requester = Requester(
            analyst.name,
            permission.day,
            permission.total,
            request=None if key is None else fingerprint({"by": analyst.name, "key": _key(key)}),
            body=body,
            deadline=time.monotonic() + self.configuration.limits.seconds,
        )

        def work(job: Job, session: Session) -> bytes:
            requester.check_time()
            with listening_to_progress(job.told):
                document = released(session.in_name_of(requester, checks=dataset.entry.checks))
            return written({**document, "head": self._head()})

        return self.jobs.begin(analyst.name, key, body, lambda job: dataset.submit(partial(work, job)))

    def _head(self) -> dict[str, Any]:
        entry, head = self._ledger.head()
        return {"entry": entry, "hash": head}


def _documents(session: Session, answers: Any) -> list[dict[str, Any]]:
    """Return answers as documents; those that the same request was charged for before are as they were given then."""
    before = session.answered_before() if any(answer.reused for answer in answers) else {}
    return [_shown(before.get(answer.entry, answer)).to_dict() for answer in answers]


def _places(configuration: Configuration, ledger: Ledger) -> dict[str, str]:
    """Return the addresses of ledger and tables, each with the words that messages to analysts have instead."""
    places = {ledger.name: "of the server"}
    for name, entry in configuration.datasets.items():
        for address in (entry.data,) if isinstance(entry.data, str) else entry.data:
            known = {address, database_file(address) or address}
            known |= {str(DatabaseAddress.of(address)) if is_database(address) else address.rpartition(os.sep)[0]}
            places |= dict.fromkeys(known - {"", os.sep}, name)
    return places


def _shown(answer: Answer) -> Answer:
    """Return an answer that does not tell where the ledger is on the holder's side."""
    return replace(answer, posting=replace(answer.posting, ledger=_LEDGER))


def _listed(values: Any) -> list[Any] | None:
    return None if values is None else list(values)


def _key(key: str) -> str:
    """Return a checked idempotency key."""
    if not (0 < len(key) <= _LONGEST_KEY and key.isprintable()):
        raise InvalidInputError(f"an idempotency key has 1 to {_LONGEST_KEY} printable characters")
    return validation.line("Idempotency-Key", key)
