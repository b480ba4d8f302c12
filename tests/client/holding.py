"""A holder of data behind the contract of a server: a session, requests that are charged once, failures on demand."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import polars

import bayesdp as bdp
from bayesdp.errors import BayesDPError, BudgetError
from bayesdp.ledger import Ledger
from bayesdp.queries import query_from_dict

__all__ = ["URL", "Holder", "held"]

URL = "https://data.example.org"
MOMENTS = [dt.datetime(2024, 1, 1) + dt.timedelta(hours=hour) for hour in range(24 * 4 + 1)]

Failure = httpx.Response | Exception


class Holder:
    """Answers requests as the contract says. `failures` come first; `lost` answers are carried out, not delivered."""

    def __init__(self, opened: Callable[[], tuple[bdp.Session, Ledger]]) -> None:
        self._open = opened
        self.requests: list[httpx.Request] = []
        self.failures: list[Failure] = []
        self.lost = 0
        self.jobs: dict[str, list[httpx.Response]] = {}
        self.altered: Callable[[dict[str, Any]], None] = lambda document: None
        self._outcomes: dict[str, httpx.Response] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, Exception):
                raise failure
            return failure
        key = request.headers.get("Idempotency-Key")
        answer = self._outcomes.get(key) if key else None
        if answer is None:
            answer = self._answered(request)
            if key:
                self._outcomes[key] = answer
        if self.lost:
            self.lost -= 1
            raise httpx.ReadError("connection reset")
        return answer

    @cached_property
    def _opened(self) -> tuple[bdp.Session, Ledger]:
        return self._open()

    @property
    def session(self) -> bdp.Session:
        """The holder's session, opened when something is first asked of it."""
        return self._opened[0]

    @property
    def ledger(self) -> Ledger:
        return self._opened[1]

    @property
    def keys(self) -> list[str]:
        """The keys of the releases that were asked for, one for each request."""
        return [request.headers["Idempotency-Key"] for request in self.requests if request.method == "POST"]

    @property
    def head(self) -> dict[str, Any]:
        last = self.ledger.entries()[-1]
        return {"entry": last.number, "hash": last.hash}

    def _answered(self, request: httpx.Request) -> httpx.Response:
        try:
            document = self._document(request)
        except BayesDPError as error:
            document = {"kind": "error", "error": type(error).__name__, "message": str(error)} | vars(error)
            return httpx.Response(409 if isinstance(error, BudgetError) else 422, json=document)
        if isinstance(document, httpx.Response):
            return document
        document = json.loads(json.dumps(document))
        self.altered(document)
        return httpx.Response(200, json=document)

    def _document(self, request: httpx.Request) -> Any:
        if request.headers["Authorization"] != "Bearer secret":
            denied = {"kind": "error", "error": "AccessError", "message": "access denied"}
            return httpx.Response(403, json=denied)
        parts = [unquote(part) for part in request.url.raw_path.decode().partition("?")[0].split("/")[1:]]
        match parts[1:]:
            case ["jobs", job]:
                return self.jobs[job].pop(0)
            case ["datasets"]:
                return {"kind": "datasets", "datasets": [{"dataset": "my/switch"}]}
            case ["datasets", "my/switch", *rest]:
                return self._about(rest, request)
        return httpx.Response(404, json={"kind": "error", "error": "RemoteError", "message": "there is no such path"})

    def _about(self, rest: list[str], request: httpx.Request) -> Any:
        asked = json.loads(request.content or b"{}")
        queries = [query_from_dict(query) for query in asked.pop("queries", [])]
        queries += [query_from_dict(asked.pop("query"))] if "query" in asked else []
        match rest:
            case []:
                return self._description()
            case ["preview"]:
                return {"kind": "preview", **self.session.preview(*queries, **asked).to_dict()}
            case ["release"]:
                answers = self.session.release_all(queries, **asked)
                return {"kind": "release", "answers": [one.to_dict() for one in answers], "head": self.head}
            case ["release-by"]:
                given = self.session.release_by(*queries, **asked)
                cells = [one.to_dict() for one in given]
                named = {"by": list(given.columns), "cells": given.cells or None, "empty": given.empty}
                return {"kind": "release", **named, "answers": cells, "head": self.head}
            case ["running"]:
                totals = self.session.running(*queries, **asked)
                return {**totals.to_dict(), "kind": "running", "head": self.head}
            case ["answers"]:
                stored = [one.to_dict() for one in self.session.history]
                return {"kind": "answers", "answers": stored}
            case ["answers", entry, "statement"]:
                return httpx.Response(200, text=f"The statement on entry {entry} as {request.headers['Accept']}")
            case ["heads"]:
                seen = int(request.url.params["entry"]), request.url.params["hash"]
                continues = seen in {(entry.number, entry.hash) for entry in self.ledger.entries()}
                return {"kind": "continues", "continues": continues, "head": self.head}
        return httpx.Response(404, json={})

    def _description(self) -> dict[str, Any]:
        model = self.session.model
        return {
            "kind": "dataset",
            "dataset": "my/switch",
            "columns": [{"name": "time", "type": "Datetime"}, {"name": "on", "type": "Int64"}],
            "public": {"hour": [7, 8], "time": None},
            "model": {"type": model.kind, "assumption": model.assumption, "protects": model.protects},
            "queries": ["count", "histogram"],
            "budget": self.session.budget,
            "delta": None,
            "epsilon_total": self.session.leaked,
            "epsilon_remaining": self.session.remaining,
            "allowance": {"day": 2.0, "total": None, "day_remaining": 1.5, "total_remaining": None},
        }


@contextmanager
def held(folder: Path) -> Iterator[Holder]:
    """Hold data about a switch, which is on or off every hour for four days, with their ledger in a folder."""
    with ExitStack() as stack:

        def opened() -> tuple[bdp.Session, Ledger]:
            frame = polars.DataFrame({"time": MOMENTS, "on": [hour % 5 % 2 for hour in range(len(MOMENTS))]})
            ledger = stack.enter_context(Ledger(folder / "holder.db"))
            model = bdp.Independent(order_by="time")
            session = bdp.Session(frame, model, epsilon=9.0, ledger=ledger, dataset="my/switch")
            return stack.enter_context(session), ledger

        yield Holder(opened)
