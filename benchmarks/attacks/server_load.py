"""A server under load: crowds, kills, stops, an outage of its ledger, and a second server on the same ledger."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import bayesdp as bdp
from attacks.common import Finding, verified
from attacks.kills import wrong
from attacks.races import EPSILON, ended, question
from attacks.served import BROKEN_CONNECTION, MANY, release, serving
from bayesdp.errors import BudgetError
from shared.postgresql import PostgreSQL
from shared.serving import Serving
from shared.wire import Sent, Wire

__all__ = ["crowd", "in_parallel", "killed", "outage", "two_servers"]

T = TypeVar("T")


def account(server: Serving, budget: float) -> dict[str, Any]:
    """Return the account of the races on a server, as the options of a session."""
    return {"ledger": server.ledger, "dataset": "race", "epsilon": budget}


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


def crowd(folder: Path, clients: int, releases: int, *, allowance: bool = False) -> Finding:
    """Let clients release on one data set at the same time, of which the budget allows half.

    allowance: not the budget is the limit, but what may be posted in the name of the one analyst that all of them are.
    """
    allowed = clients * releases // 2
    most, limit = (MANY, {"epsilon_total": allowed * EPSILON}) if allowance else (allowed * EPSILON, {})
    with serving(folder, {"race": most}, analysts={"ada": {"datasets": ["race"], **limit}}) as server:
        token = server.token("ada")
        given = together(
            lambda client: released(server, token, "race", range(client * releases, (client + 1) * releases)), clients
        )
    name = f"{clients} clients × {releases} on one {'allowance' if allowance else 'data set'}"
    return ended(account(server, most), list(chain(*given)), allowed, clients * releases, name)


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


def killed(folder: Path, times: int, clients: int = 4, *, gently: bool = False) -> Finding:
    """Kill a server under load again and again; every request is repeated with its key until it is answered.

    gently: stop it with SIGTERM instead, after which every charge must have its answer.
    """
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
                    if not gently:
                        server.kill()
                    elif (stopped := (server.stop(), _unanswered(server))) != (0, 0):
                        broken.append(f"stop {number + 1}: exit status and charges without an answer are {stopped}")
                    broken += [f"end {number + 1}: {text}" for text in wrong(server.ledger, _given(answers))]
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
    name = "stop (SIGTERM) under load" if gently else "kill -9 under load"
    return Finding(name, times, broken, f"{asked_for} releases, each charged once")


def _unanswered(server: Serving) -> int:
    """Return how many charges in the ledger have no answer."""
    kinds = [str(entry.kind) for entry in verified(server.ledger)[1]]
    return kinds.count("charge") - kinds.count("answer")


def _insisted(server: Serving, sent: Sent, broken: list[str]) -> dict[str, Any]:
    """Send a request again and again, until it is answered; return the answer."""
    deadline = time.monotonic() + 600
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


def outage(folder: Path) -> Finding:
    """Stop and start the database of the ledger: meanwhile releases are refused, and nothing is charged."""
    finding = Finding("an outage of the ledger")
    with PostgreSQL() as database, serving(folder, {"race": MANY}, ledger=database.url) as server:
        token = server.token("ada")
        with Wire(server.url) as wire:
            for number in range(3):
                before, asked = (release("race", question(2 * number + place), token) for place in (0, 1))
                statuses = [wire.ask(before).status]
                database.stop()
                statuses.append(wire.ask(asked).status)
                database.start()
                if statuses != [200, 503]:
                    finding.broken.append(f"round {number + 1}: {statuses}")
                finding.tried += 1
        broken, entries = verified(server.ledger)
    charges = sum(entry.kind == "charge" for entry in entries)
    finding.broken += broken
    if charges != finding.tried:
        finding.broken.append(f"{finding.tried} releases were answered, but {charges} were charged")
    return finding
