"""HTTP with every byte under control: requests that no client library would send, and what comes back."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

__all__ = ["Said", "Sent", "Wire", "bearer"]

CLOSED = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)
"""How a connection ends that the server closes while it is idle."""

CHANGING = frozenset({"date", "x-request-id"})
"""Headers that differ from answer to answer."""


@dataclass(frozen=True)
class Sent:
    """A request, as it goes over the wire. `Host` is added to its headers, and `Content-Length` if none is told."""

    method: bytes
    path: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""

    @staticmethod
    def post(path: str, body: object, *headers: tuple[bytes, bytes]) -> Sent:
        """Return a request with a JSON body."""
        return Sent(
            b"POST", path.encode(), (*headers, (b"Content-Type", b"application/json")), json.dumps(body).encode()
        )

    def written(self, host: str) -> bytes:
        """Return the bytes of it."""
        told = any(name in (b"Content-Length", b"Transfer-Encoding") for name, _ in self.headers)
        length = [] if told else [(b"Content-Length", b"%d" % len(self.body))]
        headers = [(b"Host", host.encode()), *length, *self.headers]
        lines = [b"%s %s HTTP/1.1" % (self.method, self.path), *(b"%s: %s" % header for header in headers)]
        return b"\r\n".join([*lines, b"", self.body])


@dataclass(frozen=True)
class Said:
    """An answer: its status, the headers that do not change from answer to answer, and its body."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def document(self) -> Any:
        """The body as JSON; None if it is something else."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


def bearer(token: str) -> tuple[bytes, bytes]:
    """Return the header that shows a token."""
    return b"Authorization", b"Bearer " + token.encode()


class Wire:
    """A connection to a server; it is opened again when the server has closed it, also while a request was on its way.

    Raises OSError and http.client.HTTPException as the connection does.
    """

    def __init__(self, url: str, seconds: float = 60) -> None:
        self._host = urlsplit(url).netloc
        self._seconds = seconds
        self._socket: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def ask(self, sent: Sent) -> Said:
        """Send a request and return the answer."""
        idle = self._socket is not None
        try:
            return self._ask(sent)
        except CLOSED:
            self.close()
            if not idle:
                raise
            return self.ask(sent)
        except BaseException:
            self.close()
            raise

    def all(self, several: Iterable[Sent]) -> list[Said]:
        """Send requests one after the other."""
        return [self.ask(sent) for sent in several]

    def _ask(self, sent: Sent) -> Said:
        if self._socket is None:
            host, port = self._host.rsplit(":", 1)
            self._socket = socket.create_connection((host, int(port)), self._seconds)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(sent.written(self._host))
        answer = http.client.HTTPResponse(self._socket, method=sent.method.decode("latin-1"))
        answer.begin()
        body = answer.read()
        if answer.will_close:
            self.close()
        kept = sorted((name.lower(), value) for name, value in answer.getheaders() if name.lower() not in CHANGING)
        return Said(answer.status, tuple(kept), body)
