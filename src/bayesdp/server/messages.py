"""The messages of ASGI, of which the guard and the log are made: headers in, a JSON document out."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any

__all__ = ["ASGI", "Receive", "Scope", "Send", "header", "send_json", "written"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Any], Awaitable[None]]
ASGI = Callable[[Scope, Receive, Send], Awaitable[None]]


def header(scope: Scope, name: bytes) -> str | None:
    """Return the value of a header that is given exactly once; None otherwise.

    >>> header({"headers": [(b"accept", b"text/html")]}, b"accept"), header({"headers": []}, b"accept")
    ('text/html', None)
    """
    found = [value for key, value in scope["headers"] if key.lower() == name]
    return found[0].decode("latin-1") if len(found) == 1 else None


def written(document: Mapping[str, Any]) -> bytes:
    """Return a JSON document as it is sent."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()


async def send_json(
    send: Send, status: int, document: Mapping[str, Any], headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Send a JSON document as the whole answer."""
    body = written(document)
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
