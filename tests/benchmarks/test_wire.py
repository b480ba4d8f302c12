"""A connection under control: it sends what it is given, and is opened again when the server has closed it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from shared.wire import Sent, Wire, bearer

ANSWER = b"HTTP/1.1 422 Unprocessable\r\nContent-Length: 2\r\nDate: now\r\nX-Kind: a\r\n\r\n{}"


@contextmanager
def answering(connections: list[int]) -> Iterator[tuple[str, list[bytes]]]:
    """Answer so many requests on each connection, one after the other, and close it."""
    received: list[bytes] = []

    def answer(listening: socket.socket) -> None:
        for requests in connections:
            connection, _ = listening.accept()
            with connection:
                for _ in range(requests):
                    received.append(connection.recv(1 << 16))
                    connection.sendall(ANSWER)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=answer, args=(listening,))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", received
        thread.join()


def test_a_request_is_sent_as_it_is() -> None:
    with answering([1]) as (url, received), Wire(url) as wire:
        said = wire.ask(Sent(b"NONSENSE", b"/a%00b", (bearer("t"), (b"X", b"\xff")), b"body"))
    assert received[0].startswith(b"NONSENSE /a%00b HTTP/1.1\r\nHost: 127.0.0.1:")
    assert received[0].endswith(b"Content-Length: 4\r\nAuthorization: Bearer t\r\nX: \xff\r\n\r\nbody")
    assert (said.status, said.document, said.headers) == (422, {}, (("content-length", "2"), ("x-kind", "a")))


def test_a_connection_that_was_closed_is_opened_again() -> None:
    with answering([1, 2]) as (url, received), Wire(url) as wire:
        assert [said.status for said in wire.all([Sent(b"GET", b"/")] * 3)] == [422, 422, 422]
    assert len(received) == 3


def test_a_server_that_never_answers_is_an_error() -> None:
    with answering([0]) as (url, _), Wire(url) as wire, pytest.raises(ConnectionError):
        wire.ask(Sent(b"GET", b"/"))
