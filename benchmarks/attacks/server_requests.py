"""Requests that a server must withstand: malformed ones, those of nobody, those that never end, those without end."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

import bayesdp as bdp
from attacks.common import Finding, verified
from attacks.malformed import malformed
from attacks.races import EPSILON, question
from attacks.served import BROKEN_CONNECTION, MANY, release, serving
from attacks.served_neighbours import without_noise
from shared.serving import Serving
from shared.wire import Said, Sent, Wire, bearer

__all__ = ["denied", "fuzzed", "held_up", "unseemly"]

_LONGEST = 120.0
"""Slow requests are held open for so many seconds at most."""

CLOSED = ("ConnectionResetError", "BrokenPipeError")
"""How a connection ends that the server closes while a body is still being sent."""


def fuzzed(folder: Path, number: int) -> Finding:
    """Send the same malformed requests to two servers, whose tables differ in one record, and compare the answers."""
    finding = Finding("malformed requests")
    with serving(folder / "first", {"d": MANY}) as first, serving(folder / "second", {"d": MANY}, private=1) as second:
        tokens = [server.token("ada") for server in (first, second)]
        with Wire(first.url) as one, Wire(second.url) as other:
            pair = [(one, tokens[0], first), (other, tokens[1], second)]
            document = one.ask(Sent(b"GET", b"/v1/openapi.json")).document
            statuses: dict[int, int] = {}

            @seed(number)
            @settings(
                max_examples=number,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(malformed(document, good_requests(), ["d"]))
            def ask(sent: Sent) -> None:
                said = []
                for wire, token, server in pair:
                    shown = Sent(sent.method, sent.path, (bearer(token), *sent.headers), sent.body)
                    said.append(without_noise(wire.ask(shown)))
                    finding.broken += [f"{sent}: {text}" for text in unseemly(said[-1], server)]
                if said[0] != said[1]:
                    finding.broken.append(f"{sent}\n--- first\n{said[0]}\n--- second\n{said[1]}")
                finding.tried += 1
                statuses[said[0].status] = statuses.get(said[0].status, 0) + 1

            ask()
    finding.broken += [text for server in (first, second) for text in verified(server.ledger)[0]]
    finding.note = ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))
    return finding


def good_requests() -> list[Sent]:
    """Return requests that are answered, one for each call."""
    count = bdp.Count("s", equals=1).to_dict()
    cost = {"epsilon": EPSILON, "beta": 0.1}
    parts = {**bdp.Count("s", equals=1).to_dict(), "by": "t", "by_cells": [1, 2, 3]}
    bodies = {
        "preview": {"query": count, **cost},
        "release": {"queries": [count, bdp.Sum("s", bounds=(0, 2)).to_dict()], **cost},
        "release-by": {"query": parts, **cost},
        "running": {"query": count, **cost, "every": 50, "horizon": 1000},
    }
    posts = [Sent.post(f"/v1/datasets/d/{name}", body, (b"Idempotency-Key", b"key")) for name, body in bodies.items()]
    paths = ("", "/d", "/d/answers", "/d/answers/4/statement", "/d/heads?entry=1&hash=" + "0" * 64)
    gets = [Sent(b"GET", f"/v1/datasets{path}".encode()) for path in paths]
    return [*posts, *gets, Sent(b"GET", b"/v1/jobs/unknown")]


def unseemly(said: Said, server: Serving) -> Iterator[str]:
    """Yield what an answer must never be or contain."""
    text = said.body.decode("utf-8", "replace")
    if said.status >= 500:
        yield f"status {said.status}: {text[:500]}"
    if "Traceback" in text or ".py" in text or str(server.folder) in text:
        yield f"the answer tells of the program: {text[:500]}"
    if said.status >= 400 and said.body and said.status != 400 and (said.document or {}).get("kind") != "error":
        yield f"status {said.status} without an error of the contract: {text[:500]}"


def denied(folder: Path) -> Finding:
    """Ask with wrong, expired, revoked and foreign tokens: 401 or 403, and always the same body."""
    finding = Finding("tokens")
    with serving(
        folder, {"race": MANY, "other": MANY}, analysts={"ada": {"datasets": ["race"]}, "bob": {"datasets": ["other"]}}
    ) as server:
        revoked = server.token("ada")
        server.revoke("ada")
        ada, bob, old = server.token("ada"), server.token("bob"), server.token("ada", days=1e-6)
        time.sleep(0.2)  # a millionth of a day is over
        changed = ada[:-1] + ("A" if ada[-1] != "A" else "B")
        shown = [b"Bearer " + token.encode() for token in (old, revoked, changed, ada[:20], "", "x" * 5000)]
        shown += [b"Basic " + ada.encode(), ada.encode(), b"Bearer \xff\xfe", b"bearer"]
        with Wire(server.url) as wire:
            first = wire.ask(Sent(b"GET", b"/v1/datasets"))
            requests = [release("race", question(0), bob), release("nothing", question(0), ada)]
            requests += [Sent(b"GET", f"/v1/datasets/{name}".encode(), (bearer(bob),)) for name in ("race", "nothing")]
            for path in (b"/v1/datasets", b"/v1/datasets/race", b"/v1/datasets/race/answers"):
                requests += [Sent(b"GET", path, ((b"Authorization", value),)) for value in shown]
            for sent in requests:
                said = wire.ask(sent)
                finding.tried += 1
                if said.status not in (401, 403) or said.body != first.body:
                    finding.broken.append(f"{sent}: {said}")
            if wire.ask(release("race", question(0), ada)).status != 200:
                finding.broken.append("the right token is refused")
    return finding


def held_up(folder: Path, connections: int, read_seconds: float = 10.0) -> Finding:
    """Hold connections open with requests that never end, and send large bodies: others are answered all the while.

    read_seconds: how long the server may wait for a request.
    """
    finding = Finding("slow and large requests", connections)
    with serving(folder, {"race": MANY}, limits={"read_seconds": read_seconds}) as server:
        token = server.token("ada")
        memory = server.megabytes()
        place = ("127.0.0.1", server.port)
        begins = [
            b"GET /v1/datasets HTTP/1.1\r\nHost: x\r\nX-Slow: ",
            *(
                b"POST %s HTTP/1.1\r\nHost: x\r\n%bContent-Length: 100000\r\n\r\n{" % (path, shown)
                for path, shown in (
                    (b"/v1/datasets/race/release", b"Authorization: Bearer %s\r\n" % token.encode()),
                    (b"/v1/datasets/race/release", b""),
                    (b"/health/live", b""),
                )
            ),
        ]
        slow = [socket.create_connection(place, 5) for _ in range(connections)]
        for number, each in enumerate(slow):
            each.sendall(begins[number % len(begins)])
        begun, answered = time.monotonic(), 0
        with Wire(server.url) as wire:
            while slow and time.monotonic() < begun + _LONGEST:
                answered += wire.ask(release("race", question(answered), token)).status == 200
                slow = [each for each in slow if _dripped(each)]
                time.sleep(0.2)
            lasted = time.monotonic() - begun
            for each in slow:
                each.close()
            if slow:
                finding.broken.append(f"{len(slow)} slow requests are still held open after {lasted:.0f} s")
            for sent in _large(token):
                if (said := _answered(server, sent)) not in (413, *CLOSED):
                    finding.broken.append(f"a body of 10 MB is answered by {said}")
            if wire.ask(release("race", question(0), token)).status != 200:
                finding.broken.append("after all this a release is refused")
        grown = server.megabytes() - memory
    finding.note = f"{answered} answers while slow requests were held for {lasted:.0f} s; memory grew by {grown:.0f} MB"
    if grown > 100:
        finding.broken.append(finding.note)
    return finding


def _dripped(slow: socket.socket) -> bool:
    """Send one more byte on a connection; return whether it is still open, and close it if not."""
    try:
        slow.sendall(b" ")
        slow.setblocking(False)
        still = bool(slow.recv(1 << 16))
        slow.setblocking(True)
    except BlockingIOError:
        slow.setblocking(True)
        return True
    except OSError:
        still = False
    if not still:
        slow.close()
    return still


def _large(token: str) -> Iterator[Sent]:
    """Yield requests with a body of 10 MB: announced, sent, and sent in chunks without its length."""
    path, body = b"/v1/datasets/race/release", b'{"query": "' + b"x" * 10_000_000 + b'"}'
    json_body = (b"Content-Type", b"application/json")
    yield Sent(b"POST", path, (bearer(token), json_body, (b"Content-Length", b"10000000")))
    yield Sent(b"POST", path, (bearer(token), json_body), body)
    chunk = b"%x\r\n%b\r\n" % (len(body), body)
    yield Sent(b"POST", path, (bearer(token), json_body, (b"Transfer-Encoding", b"chunked")), chunk + b"0\r\n\r\n")


def _answered(server: Serving, sent: Sent) -> int | str:
    """Return the status of the answer to a request, or how the connection ended."""
    try:
        with Wire(server.url) as wire:
            return wire.ask(sent).status
    except BROKEN_CONNECTION as error:
        return type(error).__name__
