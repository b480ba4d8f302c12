"""Who comes in, and how much: tokens, rates, concurrency, the size of a request and the time to read it.

All of this is decided before a request reaches the application, and before its body is read without a valid token.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import time
from collections.abc import Callable
from typing import Any

from bayesdp.server.configuration import Analyst, Limits, Listening
from bayesdp.server.identity import DeniedError, Identity
from bayesdp.server.messages import ASGI, Message, Receive, Scope, Send, header, send_json
from bayesdp.server.refusals import DENIED, RETRY_AFTER, error_document

__all__ = ["OPEN", "Guard", "Rates", "deny", "ending_unread"]

OPEN = frozenset({"/health/live", "/v1/openapi.json", "/v1/docs"})
"""What anybody may read: nothing in it depends on the data sets."""

_MONITORING = frozenset({"/health/ready", "/metrics"})
_TOO_MANY = error_document("RemoteError", "too many requests; ask again later")
_TOO_LARGE = error_document("RemoteError", "the request is larger than this server allows")
_TOO_SLOW = error_document("RemoteError", "the request did not arrive in time")
_STOPPING = error_document("RemoteError", "the server is stopping; ask again later")

_FORWARDED = frozenset({b"forwarded", b"x-forwarded-for", b"x-real-ip"})


_UNREAD = "bayesdp.unread"


def ending_unread(inside: ASGI) -> ASGI:
    """Return an application that closes the connection after an answer to a request whose body was not read.

    Such a body might never end, and nothing would limit how long the server waits for it.
    """

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and scope[_UNREAD]:
                message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
            await send(message)

        headers = [(name.lower(), value) for name, value in scope.get("headers", ())]
        scope[_UNREAD] = any(
            name == b"transfer-encoding" or (name == b"content-length" and value.strip() != b"0")
            for name, value in headers
        )
        await inside(scope, receive, sending)

    return application


class Rates:
    """How often each analyst may ask: so many times a minute, also at once.

    >>> rates = Rates(2, clock=lambda: 0.0)
    >>> rates.wait("ada"), rates.wait("ada"), rates.wait("ada"), rates.wait("bob")
    (0.0, 0.0, 30.0, 0.0)
    """

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = float(per_minute), clock
        self._left: dict[str, tuple[float, float]] = {}

    def wait(self, name: str) -> float:
        """Count a request, and return 0; or return after how many seconds there may be one."""
        now = self._clock()
        left, since = self._left.get(name, (self._most, now))
        left = min(self._most, left + (now - since) * self._most / 60)
        if left < 1:
            return (1 - left) * 60 / self._most
        self._left[name] = (left - 1, now)
        return 0.0


async def deny(send: Send, status: int) -> None:
    """Send the one answer to everybody who may not ask."""
    challenge = [(b"www-authenticate", b"Bearer")] if status == 401 else []
    await send_json(send, status, DENIED, challenge)


class Guard:
    """An ASGI application that admits requests of analysts, within the limits, and gives them to another one.

    The analyst is in `scope["state"]["analyst"]`.
    """

    def __init__(
        self,
        inside: ASGI,
        identity: Identity,
        limits: Limits,
        listening: Listening,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._inside, self._identity, self._limits, self._listening = inside, identity, limits, listening
        self._stopping = stopping
        self._rates = Rates(limits.requests_per_minute)
        self._running = 0

    @property
    def running(self) -> int:
        """How many requests are being answered."""
        return self._running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection."""
        if scope["type"] != "http":
            await self._inside(scope, receive, send)
            return
        path = scope["path"]
        if path in OPEN:
            await self._inside(scope, _without_body, send)
        elif path in _MONITORING:
            if self._may_monitor(scope):
                await self._inside(scope, _without_body, send)
            else:
                await deny(send, 403)
        else:
            await self._admit(scope, receive, send)

    def _may_monitor(self, scope: Scope) -> bool:
        """Tell whether a request comes directly from a network that may monitor: a proxy forwards none."""
        try:
            address = ipaddress.ip_address((scope.get("client") or ("",))[0])
        except ValueError:
            return False
        direct = all(name.lower() not in _FORWARDED for name, _ in scope["headers"])
        return direct and any(address in network for network in self._listening.monitoring)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            given = header(scope, b"authorization")
            slow = self._identity.is_slow(given)
            find = self._identity.analyst
            analyst: Analyst = await asyncio.to_thread(find, given) if slow else find(given)
        except DeniedError as denied:
            await deny(send, denied.status)
            return
        scope["bayesdp"]["analyst"] = analyst.name
        scope.setdefault("state", {})["analyst"] = analyst
        wait = self._rates.wait(analyst.name)
        if wait:
            await send_json(send, 429, _TOO_MANY, _retry_after(wait))
        elif self._stopping():
            await send_json(send, 503, _STOPPING, _retry_after(RETRY_AFTER))
        elif self._running >= self._limits.concurrency:
            await send_json(send, 429, _TOO_MANY, _retry_after(1))
        else:
            self._running += 1
            try:
                await self._with_body(scope, receive, send)
            finally:
                self._running -= 1

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self._limits.read_seconds):
                body = await _read(receive, self._limits.body, header(scope, b"content-length"))
        except TimeoutError:
            await send_json(send, 408, _TOO_SLOW)
            return
        except _TooLargeError:
            await send_json(send, 413, _TOO_LARGE)
            return
        except ConnectionResetError:
            return
        scope[_UNREAD] = False
        given = False

        async def receiving() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._inside(scope, receiving, send)


class _TooLargeError(Exception):
    """A body is larger than it may be."""


async def _read(receive: Receive, most: int, stated: str | None) -> bytes:
    """Return the body of a request."""
    if stated is not None and stated.isdecimal() and int(stated[:20]) > most:
        raise _TooLargeError
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError
        body += message.get("body", b"")
        if len(body) > most:
            raise _TooLargeError
        if not message.get("more_body", False):
            return bytes(body)


async def _without_body() -> Any:
    return {"type": "http.request", "body": b"", "more_body": False}


def _retry_after(seconds: float) -> list[tuple[bytes, bytes]]:
    return [(b"retry-after", str(max(1, math.ceil(seconds))).encode())]
