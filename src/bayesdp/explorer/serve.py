"""The server of the page: it answers only on this machine, and only requests with the token and from this page.

The token in the path keeps out other users of the machine. Checking the host and the origin of a request keeps out web
sites that point a domain to 127.0.0.1 (DNS rebinding). A content security policy forbids the browser to load anything
from elsewhere.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bayesdp.errors import InvalidInputError, MissingDependencyError
from bayesdp.explorer.explored_file import ExploredFile

__all__ = ["HOST", "Guard", "explore", "guarded", "listening"]

HOST = "127.0.0.1"

_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)

_TURN = 0.0005
"""The switch interval of threads in seconds, so that the page answers while a slow theorem runs."""

_REFUSED = b"Open the full address that bayesdp explore printed.\n"


class Guard:
    """An ASGI application that admits requests with this host, this page as origin, and the token.

    It refuses all others with status 403, and web sockets before they open.
    """

    def __init__(self, inside: Any, token: str, port: int) -> None:
        self._inside = inside
        self._prefix = f"/{token}/"
        self._hosts = {f"{name}:{port}".encode() for name in (HOST, "localhost")}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer one connection."""
        if scope["type"] == "lifespan":
            await self._inside(scope, receive, send)
        elif self._allowed(scope):
            await self._inside({**scope, "root_path": self._prefix[:-1]}, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 4403})
        else:
            head = [(b"content-type", b"text/plain; charset=utf-8"), *_HEADERS]
            await send({"type": "http.response.start", "status": 403, "headers": head})
            await send({"type": "http.response.body", "body": _REFUSED})

    def _allowed(self, scope: dict[str, Any]) -> bool:
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        from_here = set(origins) <= self._origins and (bool(origins) or scope["type"] == "http")
        return len(hosts) == 1 and hosts[0] in self._hosts and from_here and self._knows_token(scope["path"])

    def _knows_token(self, path: str) -> bool:
        begun = path.encode()[: len(self._prefix)]
        return secrets.compare_digest(begun, self._prefix.encode())


def _values(scope: dict[str, Any], name: bytes) -> list[bytes]:
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return [value for key, value in headers if key.lower() == name]


def _with_headers(send: Callable[[Any], Any]) -> Callable[[Any], Any]:
    async def sending(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            ours = {name for name, _ in _HEADERS}
            kept = [pair for pair in message.get("headers", ()) if pair[0].lower() not in ours]
            message = {**message, "headers": [*kept, *_HEADERS]}
        await send(message)

    return sending


def guarded(explored: ExploredFile, token: str, port: int) -> Guard:
    """Return the guarded page.

    Raises MissingDependencyError without Shiny.
    """
    os.environ["SHINY_OTEL_COLLECT"] = "none"  # no telemetry, even where the machine collects some
    try:
        from bayesdp.explorer.page import application
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "bayesdp":
            raise
        raise MissingDependencyError(
            "the explorer needs Shiny, which is not installed; install it with: pip install 'bayesdp[explorer]'"
        ) from None
    return Guard(application(explored), token, port)


def listening(port: int = 0) -> socket.socket:
    """Return a socket on the loopback address; port 0 takes a free one.

    Raises InvalidInputError for a port that is in use or invalid.
    """
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((HOST, port))
    except (OSError, OverflowError) as error:
        opened.close()
        why = getattr(error, "strerror", None) or "a port is a number from 0 to 65535"
        raise InvalidInputError(f"cannot listen on port {port}: {why}") from None
    return opened


def explore(path: str | Path | None = None, *, port: int = 0, announce: Callable[[str], None] = print) -> None:
    """Serve the page about a model, a table or neither, until interrupted.

    announce: is called with the address as soon as the server is ready.
    """
    sys.setswitchinterval(_TURN)
    explored = ExploredFile.of(path)
    token = secrets.token_urlsafe(24)
    with listening(port) as opened:
        number = opened.getsockname()[1]
        guard = guarded(explored, token, number)
        import uvicorn

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                announce(f"http://{HOST}:{number}/{token}/")

        config = uvicorn.Config(guard, log_level="error", access_log=False, server_header=False, ws="websockets-sansio")
        Server(config).run([opened])
