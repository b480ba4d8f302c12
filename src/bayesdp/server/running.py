"""The server as a process: it opens everything, answers until it is told to stop, and finishes what it has begun."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from bayesdp.errors import InvalidInputError, MissingDependencyError
from bayesdp.ledger import Ledger
from bayesdp.server.configuration import Configuration, Listening
from bayesdp.server.datasets import opened_datasets
from bayesdp.server.service import Service

__all__ = ["open_service", "serve"]

_MORE_CONNECTIONS = 4
"""How many connections there may be for each request that is answered at a time."""


@contextmanager
def open_service(configuration: Configuration) -> Iterator[tuple[Service, ExitStack]]:
    """Open the ledger and all data sets; yield the service, and what finishes its jobs when it is closed.

    Raises what a session raises when it is opened, by file and line.
    """
    with Ledger(configuration.ledger) as ledger, ExitStack() as jobs:
        datasets = jobs.enter_context(opened_datasets(configuration, ledger))
        yield Service(configuration, ledger, datasets), jobs


def serve(configuration: Configuration, *, announce: Callable[[str], None] = print) -> None:
    """Serve a configuration until the process is told to stop (SIGTERM, SIGINT).

    announce: is called with the address once the server listens.

    Raises InvalidInputError for an address that cannot be listened on, MissingDependencyError without FastAPI and
    uvicorn, and what `open_service` raises.
    """
    warnings.filterwarnings("ignore", "the budget of ", UserWarning)
    uvicorn, application, quiet_logging, journal = _libraries()
    listening, limits = configuration.listening, configuration.limits
    with open_service(configuration) as (service, jobs), _listening(listening) as opened:
        scheme = "http" if listening.tls_certificate is None else "https"
        host = f"[{listening.host}]" if ":" in listening.host else listening.host
        address = f"{scheme}://{host}:{opened.getsockname()[1]}"

        class Server(uvicorn.Server):  # type: ignore[misc,name-defined]
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                announce(address)

            def handle_exit(self, sig: int, frame: Any) -> None:
                service.stopping = True
                super().handle_exit(sig, frame)
                self._captured_signals.clear()  # stopping when told to is a success

        settings = uvicorn.Config(
            application(service, journal=journal, until_stopped=jobs),
            http=_protocol(limits.read_seconds),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_MORE_CONNECTIONS * limits.concurrency,
            timeout_graceful_shutdown=round(limits.wait + limits.read_seconds) + 5,
            ssl_certfile=listening.tls_certificate,
            ssl_keyfile=listening.tls_key,
        )
        quiet_logging(journal)
        Server(settings).run([opened])


def _libraries() -> tuple[Any, Any, Any, Any]:
    try:
        import uvicorn

        from bayesdp.server.application import application
        from bayesdp.server.observation import Journal, quiet_logging
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "bayesdp":
            raise
        raise MissingDependencyError(
            f"the server needs {error.name}, which is not installed; install it with: pip install 'bayesdp[server]'"
        ) from None
    return uvicorn, application, quiet_logging, Journal()


def _protocol(seconds: float) -> Any:
    """Return uvicorn's protocol with a limit on the time that the head of a request takes to arrive."""
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        _waiting: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            if self.conn.their_state is h11.IDLE:
                self._wait()
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._waited()

        def connection_lost(self, exc: Exception | None) -> None:
            self._waited()
            super().connection_lost(exc)

        def _wait(self) -> None:
            if self._waiting is None:
                self._waiting = self.loop.call_later(seconds, self.transport.close)

        def _waited(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

    return Protocol


@contextmanager
def _listening(listening: Listening) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    try:
        opened = socket.create_server((listening.host, listening.port), family=family)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInputError(f"cannot listen on {listening.host}, port {listening.port}: {why}") from None
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else each answer waits 40 ms for an acknowledgement
    with opened:
        yield opened
