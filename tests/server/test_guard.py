"""Who comes in, and how much: without a good token nobody learns anything, and nobody may send more than allowed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from served import COUNT, Served, Serving  # type: ignore[import-not-found]

from bayesdp.server.configuration import Analyst, Limits, Listening, _networks
from bayesdp.server.guard import Guard, Rates

DENIED = b'{"kind": "error", "error": "AccessError", "message": "access denied"}'


def test_every_denial_has_the_same_body(served: Served) -> None:
    good = served.token("ada")
    revoked = served.tokens.add("bob").token
    served.tokens.revoke("bob")
    served.tokens.add("bob")
    foreign = served.tokens.add("carla").token  # not in the configuration
    for header, status in [
        (None, 401),
        ("", 401),
        ("Bearer", 401),
        ("Bearer bdp_wrong", 401),
        (f"Basic {good}", 401),
        (f"Bearer {good}x", 401),
        (f"Bearer {revoked}", 401),
        (f"Bearer {'x' * 100_000}", 401),
        ("Bearer a.b.c", 401),
        (f"Bearer {foreign}", 403),
    ]:
        headers = {} if header is None else {"Authorization": header}
        for path in ("/v1/datasets", "/v1/datasets/steps", "/v1/nothing", "/", "/v1/jobs/x"):
            answer = served.client.get(path, headers=headers)
            assert (answer.status_code, answer.content) == (status, DENIED), (header, path)
            assert ("www-authenticate" in answer.headers) == (status == 401)
    asked = {"query": COUNT, "epsilon": 0.1}
    for path, name in (("nothing", "ada"), ("other", "bob")):
        for what in ("release", "preview"):
            answer = served.post(what, asked, name, dataset=path)
            assert (answer.status_code, answer.content) == (403, DENIED)
        for what in ("", "/answers", "/answers/1/statement", f"/heads?entry=1&hash={'0' * 64}"):
            answer = served.get(f"/v1/datasets/{path}{what}", name)
            assert (answer.status_code, answer.content) == (403, DENIED)
    answer = served.release(query={"query": "sum", "column": "s", "bounds": [0, 1]}, name="bob")
    assert (answer.status_code, answer.content) == (403, DENIED)


def test_a_token_is_refused_from_its_revocation_on(served: Served) -> None:
    assert served.get("/v1/datasets").status_code == 200
    served.tokens.revoke("ada")
    assert served.get("/v1/datasets").status_code == 401


def test_large_requests_are_refused_before_they_are_read(serving: Serving) -> None:
    served = serving("\n[limits]\nbody = 1000\n")
    answer = served.post("release", b" " * 1001)
    assert (answer.status_code, answer.json()["error"]) == (413, "RemoteError")
    assert served.post("release", b" " * 1000).status_code == 422


def test_too_many_requests_are_told_when_to_come_back(serving: Serving) -> None:
    served = serving("\n[limits]\nrequests_per_minute = 3\n")
    answers = [served.get("/v1/datasets") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 20
    assert served.get("/v1/datasets", "bob").status_code == 200


def test_requests_come_back_with_time() -> None:
    now = [0.0]
    rates = Rates(60, clock=lambda: now[0])
    assert [rates.wait("ada") for _ in range(61)] == [0.0] * 60 + [1.0]
    now[0] = 2.0
    assert [rates.wait("ada") for _ in range(3)] == [0.0, 0.0, 1.0]


class Someone:
    """An identity that lets everybody in."""

    def is_slow(self, authorization: str | None) -> bool:
        return False

    def analyst(self, authorization: str | None) -> Any:
        return Analyst("ada", {})


async def sent(guard: Guard, messages: list[dict[str, Any]], *, wait: bool = False) -> int:
    """Return the status that a guard answers with; after the messages nothing more arrives."""
    status: list[int] = []

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop(0)
        await asyncio.sleep(60)
        raise AssertionError

    async def send(message: Any) -> None:
        status.append(message.get("status", 0))

    scope = {"type": "http", "path": "/v1/x", "method": "POST", "headers": [], "bayesdp": {}}
    await guard(scope, receive, send)
    return status[0] if status else 0


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.sleep(0.05)
    await send({"type": "http.response.start", "status": 204})


def guard(**limits: Any) -> Guard:
    return Guard(nothing, Someone(), Limits(**limits), Listening())  # type: ignore[arg-type]


def test_a_body_that_does_not_arrive_in_time_is_given_up() -> None:
    part = {"type": "http.request", "body": b"{", "more_body": True}
    assert asyncio.run(sent(guard(read_seconds=0.01), [part])) == 408
    assert asyncio.run(sent(guard(), [part, {"type": "http.disconnect"}])) == 0
    assert asyncio.run(sent(guard(body=1), [part, part])) == 413


def test_only_so_many_requests_are_answered_at_a_time() -> None:
    guarded, whole = guard(concurrency=2), {"type": "http.request", "body": b""}

    async def three() -> list[int]:
        return await asyncio.gather(*(sent(guarded, [whole]) for _ in range(3)))

    assert sorted(asyncio.run(three())) == [204, 204, 429]
    assert guarded.running == 0


@pytest.mark.parametrize(
    ("client", "header", "status"),
    [
        ("127.0.0.1", None, 204),
        ("10.1.2.3", None, 403),
        ("127.0.0.1", b"x-forwarded-for", 403),
        ("127.0.0.1", b"Forwarded", 403),
        ("somewhere", None, 403),
        (None, None, 403),
    ],
)
def test_metrics_are_for_those_who_may_monitor(client: str | None, header: bytes | None, status: int) -> None:
    listening = Listening(monitoring=_networks("monitoring", ["127.0.0.0/8"]))
    guarded = Guard(nothing, Someone(), Limits(), listening)  # type: ignore[arg-type]
    said: list[int] = []

    async def send(message: Any) -> None:
        said.append(message.get("status", 0))

    headers = [] if header is None else [(header, b"1.2.3.4")]
    address = None if client is None else (client, 1)
    scope = {"type": "http", "path": "/metrics", "method": "GET", "headers": headers, "client": address}
    asyncio.run(guarded(scope, nothing, send))  # type: ignore[arg-type]
    assert said[0] == status


def test_a_body_that_was_not_read_ends_its_connection(served: Served) -> None:
    body = {"query": {"query": "count", "column": "s", "equals": 1}, "epsilon": 0.25}
    path = "/v1/datasets/steps/preview"
    assert "connection" not in served.client.post(path, json=body, headers=served.headers()).headers
    assert "connection" not in served.client.get(path).headers, "there is no body to wait for"
    for refused in (served.client.post(path, json=body), served.client.post("/health/live", json=body)):
        assert refused.status_code in (401, 405)
        assert refused.headers["connection"] == "close"
