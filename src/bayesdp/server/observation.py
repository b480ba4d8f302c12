"""Logs and metrics: what was asked, by whom, with which status and how long it took; nothing else.

A line of the log is one JSON object. It holds the path of the route and not the address that was asked for, the type of
an exception and not its message: so neither a token nor a value, nor anything that a client wrote, is in it.
"""

from __future__ import annotations

import datetime
import json
import logging
import re
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TextIO

from bayesdp.server.messages import ASGI, Receive, Scope, Send, header, send_json
from bayesdp.server.refusals import FAILED

__all__ = ["Journal", "Metrics", "Observed", "quiet_logging"]

_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"})
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BUCKETS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)


@dataclass
class Journal:
    """Writes one JSON object for each request, and for what happens to the server."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, **entries: object) -> None:
        """Write a line with the time; entries that are None are left out."""
        moment = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        line = {"time": moment, **{name: value for name, value in entries.items() if value is not None}}
        with self._lock:
            print(json.dumps(line, ensure_ascii=True), file=self.stream, flush=True)


class Metrics:
    """Counts requests and their durations by path, method and status, in the text format of Prometheus.

    >>> metrics = Metrics()
    >>> metrics.requested("/v1/datasets", "GET", 200, 0.02)
    >>> "bayesdp_requests_total{method=\\"GET\\",path=\\"/v1/datasets\\",status=\\"200\\"} 1" in metrics.text({})
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._durations: dict[str, list[float]] = {}

    def requested(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self._requests[path, method, status] += 1
            found = self._durations.setdefault(path, [0.0] * (len(_BUCKETS) + 2))
            for place, most in enumerate(_BUCKETS):
                found[place] += seconds <= most
            found[-2] += 1
            found[-1] += seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return all counts, and these gauges."""
        with self._lock:
            lines = ["# TYPE bayesdp_requests_total counter"]
            lines += [
                f'bayesdp_requests_total{{method="{method}",path="{path}",status="{status}"}} {number}'
                for (path, method, status), number in sorted(self._requests.items())
            ]
            lines.append("# TYPE bayesdp_request_seconds histogram")
            for path, found in sorted(self._durations.items()):
                for most, number in zip((*_BUCKETS, "+Inf"), found[:-1], strict=True):
                    lines.append(f'bayesdp_request_seconds_bucket{{path="{path}",le="{most}"}} {number:g}')
                lines.append(f'bayesdp_request_seconds_count{{path="{path}"}} {found[-2]:g}')
                lines.append(f'bayesdp_request_seconds_sum{{path="{path}"}} {found[-1]:.6f}')
        for name, value in gauges.items():
            lines += [f"# TYPE bayesdp_{name} gauge", f"bayesdp_{name} {value:g}"]
        return "\n".join(lines) + "\n"


class Observed:
    """An ASGI application that logs and counts every request, gives it an id, and lets no exception out.

    datasets: the names that the log may hold.
    """

    def __init__(self, inside: ASGI, journal: Journal, metrics: Metrics, datasets: Iterable[str]) -> None:
        self._inside, self._journal, self._metrics = inside, journal, metrics
        self._datasets = frozenset(datasets)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection."""
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 4404})
            return
        if scope["type"] != "http":
            await self._inside(scope, receive, send)
            return
        given = header(scope, b"x-request-id") or ""
        request = given if _ID.fullmatch(given) else secrets.token_hex(8)
        status = 0

        async def sending(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                ours = {name for name, _ in _HEADERS}
                kept = [pair for pair in message.get("headers", ()) if pair[0].lower() not in ours]
                message = {**message, "headers": [*kept, *_HEADERS, (b"x-request-id", request.encode())]}
            await send(message)

        begun = time.monotonic()
        scope["bayesdp"] = noted = {}  # what those inside know: the analyst, the exception
        try:
            await self._inside(scope, receive, sending)
        except Exception as error:
            noted["error"] = type(error).__name__
            if not status:
                await send_json(sending, 500, FAILED)
        finally:
            self._note(scope, noted, status, time.monotonic() - begun, request)

    def _note(self, scope: Scope, noted: Mapping[str, str], status: int, seconds: float, request: str) -> None:
        path = getattr(scope.get("route"), "path", "unmatched")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        dataset = scope.get("path_params", {}).get("dataset")
        self._metrics.requested(path, method, status, seconds)
        self._journal.write(
            analyst=noted.get("analyst"),
            dataset=dataset if dataset in self._datasets else None,
            method=method,
            path=path,
            status=status,
            seconds=round(seconds, 3),
            request=request,
            error=noted.get("error"),
        )


class _InJournal(logging.Handler):
    """Writes that another library logged something: where and how severe, not what, which may quote a request."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(logging.WARNING)
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line about a record."""
        error = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        self._journal.write(logger=record.name, level=record.levelname, error=error)


def quiet_logging(journal: Journal) -> None:
    """Send what uvicorn and asyncio log into the journal, without its text."""
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers = [_InJournal(journal)] if name in ("uvicorn", "asyncio") else []
        logger.propagate = name not in ("uvicorn", "asyncio")
        logger.setLevel(logging.WARNING)
