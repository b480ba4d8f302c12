"""A server under load, under fire and under lies: what it charges, what it answers, and what its refusals tell.

cd benchmarks && python -m attacks.server           # everything in full, on SQLite and PostgreSQL: a quarter of an hour
cd benchmarks && python -m attacks.server --short   # less of everything

Servers are processes of their own on ports of loopback, and are killed at the end. Whatever follows from what a record
holds is compared between two servers, whose tables differ in one private value.
"""

from __future__ import annotations

import http.client
import random
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from hypothesis import HealthCheck, Phase, given, seed, settings

import bayesdp as bdp
from attacks.common import Finding, main, sample, verified
from attacks.kills import wrong
from attacks.malformed import malformed
from attacks.neighbours import compared
from attacks.races import EPSILON, ended, question
from attacks.served_neighbours import over_http, without_noise
from bayesdp.errors import BudgetError
from shared.postgresql import PostgreSQL
from shared.serving import Serving
from shared.wire import Said, Sent, Wire, bearer

__all__ = [
    "attack",
    "crowd",
    "denied",
    "fuzzed",
    "held_up",
    "in_parallel",
    "killed",
    "serving",
    "two_servers",
    "unseemly",
]

T = TypeVar("T")

BROKEN_CONNECTION = (OSError, http.client.HTTPException)
"""What a client sees of a server that is killed."""

CLOSED = ("ConnectionResetError", "BrokenPipeError")
"""How a connection ends that the server closes while a body is still being sent."""

MANY = 1e6
"""A budget that is not the limit."""


def attack(short: bool) -> Iterator[Finding]:
    """Run every attack, each on servers of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield crowd(folder / "crowd", *((8, 10) if short else (16, 50)))
        yield in_parallel(folder / "parallel", 8, 5 if short else 50)
        yield killed(folder / "kills", 2 if short else 100)
        yield fuzzed(folder / "fuzz", 200 if short else 5000)
        yield compared("neighbouring tables", 4 if short else 400, over_http)
        yield denied(folder / "denied")
        yield held_up(folder / "slow", 20 if short else 200)
        try:
            database = PostgreSQL()
        except FileNotFoundError:
            yield Finding("two servers on PostgreSQL", note="PostgreSQL is not installed")
            return
        with database:
            yield two_servers(folder / "two", database.url, *((4, 5) if short else (16, 50)))


def serving(folder: Path, budgets: Mapping[str, float], private: int = 0, **options: Any) -> Serving:
    """Return a server of samples, each with a budget.

    private: what is added to the private value of one record.
    """
    folder.mkdir(parents=True)
    bdp.Independent().save(folder / "model.json")
    for place, name in enumerate(budgets):
        rows = sample(200 + place)
        rows = rows.with_columns(s=pl.when(pl.col("t") == 7).then(pl.col("s") + private).otherwise(pl.col("s")))
        rows.write_parquet(folder / f"{name}.parquet")
    datasets = {
        name: {"data": f"{name}.parquet", "model": "model.json", "epsilon": budget, "public": ["t"]}
        for name, budget in budgets.items()
    }
    return Serving(folder, datasets, **options)


def account(server: Serving, budget: float) -> dict[str, Any]:
    """Return the account of the races on a server, as the options of a session."""
    return {"ledger": server.ledger, "dataset": "race", "epsilon": budget}


def release(dataset: str, query: bdp.Query, token: str, key: str | None = None, epsilon: float = EPSILON) -> Sent:
    """Return a request for a release."""
    headers = (bearer(token), *([(b"Idempotency-Key", key.encode())] if key else []))
    return Sent.post(f"/v1/datasets/{dataset}/release", {"query": query.to_dict(), "epsilon": epsilon}, *headers)


def together(work: Callable[[int], T], workers: int) -> list[T]:
    """Do something in several threads at the same time; return what each returns."""
    start = threading.Barrier(workers)

    def begin(worker: int) -> T:
        start.wait()
        return work(worker)

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(begin, range(workers)))


def released(server: Serving, token: str, dataset: str, questions: Sequence[int]) -> list[int]:
    """Release answers to questions with the library's client until the budget is used up; return their entries."""
    answered = []
    with bdp.connect(server.url, token) as remote:
        for number in questions:
            try:
                answered.append(remote[dataset].release(question(number), epsilon=EPSILON).entry)
            except BudgetError:
                continue
    return answered


def crowd(folder: Path, clients: int, releases: int) -> Finding:
    """Let clients release on one data set at the same time, of which the budget allows half."""
    allowed = clients * releases // 2
    with serving(folder, {"race": allowed * EPSILON}) as server:
        token = server.token("ada")
        given = together(
            lambda client: released(server, token, "race", range(client * releases, (client + 1) * releases)), clients
        )
    name = f"{clients} clients × {releases} on one data set"
    return ended(account(server, allowed * EPSILON), list(chain(*given)), allowed, clients * releases, name)


def in_parallel(folder: Path, datasets: int, releases: int) -> Finding:
    """Let a client release on each of several data sets at the same time."""
    names = [f"d{number}" for number in range(datasets)]
    with serving(folder, dict.fromkeys(names, MANY)) as server:
        token = server.token("ada")
        given = together(lambda place: released(server, token, names[place], range(releases)), datasets)
    broken, entries = verified(server.ledger)
    for name, answered in zip(names, given, strict=True):
        charges = [entry.number for entry in entries if entry.kind == "charge" and entry.dataset == name]
        if sorted(answered) != charges or len(charges) != releases:
            broken.append(f"{name}: {len(answered)} answers for {len(charges)} charges of {releases}")
    return Finding(f"{datasets} data sets in parallel", datasets * releases, broken)


def killed(folder: Path, times: int, clients: int = 4) -> Finding:
    """Kill a server under load again and again; every request is repeated with its key until it is answered."""
    draw = random.Random(times)
    answers: list[tuple[Sent, dict[str, Any]]] = []
    broken: list[str] = []
    over = threading.Event()
    with serving(folder, {"race": MANY}) as server:
        token = server.token("ada")

        def load(client: int) -> int:
            """Release different questions until it is over; return how many were begun."""
            number = 0
            while not over.is_set():
                number += 1
                sent = release("race", question(client + clients * number), token, f"{client}-{number}")
                answers.append((sent, _insisted(server, sent, broken)))
            return number

        with ThreadPoolExecutor(clients) as pool:
            begun = [pool.submit(load, client) for client in range(clients)]
            try:
                for number in range(times):
                    before = len(answers)
                    while len(answers) == before and not broken:
                        time.sleep(0.005)
                    time.sleep(draw.uniform(0, 0.3))
                    server.kill()
                    broken += [f"kill {number + 1}: {text}" for text in wrong(server.ledger, _given(answers))]
                    server.start()
            finally:
                over.set()
        asked_for = sum(each.result() for each in begun)
        for sent, first in answers[-200:]:
            if (again := _insisted(server, sent, broken)) != first:
                broken.append(f"the same key was answered by {first} and by {again}")
    charges = [entry for entry in verified(server.ledger)[1] if entry.kind == "charge"]
    if len(charges) != asked_for:
        broken.append(f"{asked_for} requests were charged {len(charges)} times")
    return Finding("kill -9 under load", times, broken, f"{asked_for} releases, each charged once")


def _insisted(server: Serving, sent: Sent, broken: list[str]) -> dict[str, Any]:
    """Send a request again and again, until it is answered; return the answer."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            with Wire(server.url) as wire:
                said = wire.ask(sent)
        except BROKEN_CONNECTION:
            time.sleep(0.05)
            continue
        if said.status == 200:
            [answer] = said.document["answers"]
            return {"entry": answer["entry"], "value": answer["value"]}
        if said.status != 503:
            broken.append(f"status {said.status}: {said.body[:200]!r}")
            break
    broken.append("a request was not answered")
    return {}


def _given(answers: Sequence[tuple[Sent, dict[str, Any]]]) -> list[dict[str, object]]:
    return [answer for _, answer in list(answers) if answer]


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
    with serving(folder, {"race": MANY, "other": MANY}, analysts={"ada": ["race"], "bob": ["other"]}) as server:
        revoked = server.token("ada")
        server.revoke("ada")
        ada, bob, old = server.token("ada"), server.token("bob"), server.token("ada", days=1e-6)
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
        begins = (
            b"GET /v1/datasets HTTP/1.1\r\nHost: x\r\nX-Slow: ",
            b"POST /v1/datasets/race/release HTTP/1.1\r\n"
            b"Host: x\r\nAuthorization: Bearer " + token.encode() + b"\r\nContent-Length: 1000\r\n\r\n{",
        )
        slow = [socket.create_connection(place, 5) for _ in range(connections)]
        for number, each in enumerate(slow):
            each.sendall(begins[number % 2])
        begun, answered = time.monotonic(), 0
        with Wire(server.url) as wire:
            while slow and time.monotonic() < begun + 6 * read_seconds:
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


def two_servers(folder: Path, url: str, clients: int, releases: int) -> Finding:
    """Let clients of two servers release on one data set, whose ledger is in one PostgreSQL."""
    allowed = clients * releases // 2
    with (
        serving(folder / "one", {"race": allowed * EPSILON}, ledger=url) as one,
        serving(folder / "two", {"race": allowed * EPSILON}, ledger=url) as two,
    ):
        servers = [(server, server.token("ada")) for server in (one, two)]
        given = together(
            lambda client: released(*servers[client % 2], "race", range(client * releases, (client + 1) * releases)),
            clients,
        )
    name = f"{clients} clients × {releases} of two servers on one PostgreSQL"
    return ended(account(one, allowed * EPSILON), list(chain(*given)), allowed, clients * releases, name)


if __name__ == "__main__":
    sys.exit(main(attack))
