"""The server: only this machine, only with the token, only from its own page; and nothing from elsewhere in it."""

import asyncio
import builtins
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from bayesdp import MarkovChain
from bayesdp.cli import run
from bayesdp.errors import InvalidInputError, MissingDependencyError
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.serve import HOST, Guard, guarded, listening

TOKEN, PORT = "secret-token", 8123
HERE = f"{HOST}:{PORT}"


class Inside:
    """An application that remembers what reached it."""

    def __init__(self) -> None:
        self.reached: list[str] = []

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        self.reached.append(scope["type"])
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"Cache-Control", b"public")]})
            await send({"type": "http.response.body", "body": b"inside"})


def asked(
    app: Any, path: str, kind: str = "http", query: str = "", **headers: str
) -> tuple[int | None, dict[str, str], bytes]:
    """Ask an application and return the status (of a refused web socket its code), the headers and the body."""
    sent: list[dict[str, Any]] = []

    received = 0

    async def receive() -> dict[str, Any]:
        nonlocal received
        received += 1
        if received > 1:
            await asyncio.Event().wait()  # nothing more is said
        return {"type": "websocket.connect" if kind == "websocket" else "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": kind, "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": (HOST, 1), "server": (HOST, PORT), "state": {},
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    status = next((each.get("status", each.get("code")) for each in sent if {"status", "code"} & set(each)), None)
    pairs = [pair for each in sent for pair in each.get("headers", ())]
    body = b"".join(each.get("body", b"") for each in sent)
    return status, {name.decode().lower(): value.decode() for name, value in pairs}, body


def test_who_knows_the_token_gets_in() -> None:
    inside = Inside()
    guard = Guard(inside, TOKEN, PORT)
    assert asked(guard, f"/{TOKEN}/", host=HERE)[::2] == (200, b"inside")
    assert asked(guard, f"/{TOKEN}/x", host=f"localhost:{PORT}", origin=f"http://localhost:{PORT}")[0] == 200
    assert asked(guard, f"/{TOKEN}/websocket/", "websocket", host=HERE, origin=f"http://{HERE}")[0] is None
    assert inside.reached == ["http", "http", "websocket"]


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {"host": HERE}),
        (f"/{TOKEN}", {"host": HERE}),
        (f"/{TOKEN[:-1]}/", {"host": HERE}),
        (f"/{TOKEN.upper()}/", {"host": HERE}),
        (f"//{TOKEN}/", {"host": HERE}),
        ("/é/", {"host": HERE}),
        (f"/{TOKEN}/", {}),
        (f"/{TOKEN}/", {"host": "evil.example"}),
        (f"/{TOKEN}/", {"host": f"evil.example:{PORT}"}),
        (f"/{TOKEN}/", {"host": f"{HOST}:{PORT + 1}"}),
        (f"/{TOKEN}/", {"host": HOST}),
        (f"/{TOKEN}/", {"host": HERE, "origin": "http://evil.example"}),
        (f"/{TOKEN}/", {"host": HERE, "origin": "null"}),
        (f"/{TOKEN}/", {"host": HERE, "origin": f"https://{HERE}"}),
    ],
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_everybody_else_is_refused(path: str, headers: dict[str, str], kind: str) -> None:
    inside = Inside()
    status, _, body = asked(Guard(inside, TOKEN, PORT), path, kind, **headers)
    assert status in (403, 4403)
    assert TOKEN.encode() not in body
    assert inside.reached == []


def test_a_web_socket_must_say_where_it_comes_from() -> None:
    inside = Inside()
    assert asked(Guard(inside, TOKEN, PORT), f"/{TOKEN}/websocket/", "websocket", host=HERE)[0] == 4403
    assert inside.reached == []


def test_two_hosts_are_refused() -> None:
    inside = Inside()
    guard = Guard(inside, TOKEN, PORT)
    headers = [(b"host", HERE.encode()), (b"host", b"evil.example")]
    assert not guard._allowed({"type": "http", "path": f"/{TOKEN}/", "headers": headers})


def test_every_answer_forbids_what_comes_from_elsewhere() -> None:
    for path in ("/", f"/{TOKEN}/"):
        _, headers, _ = asked(Guard(Inside(), TOKEN, PORT), path, host=HERE)
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert not re.search(r"https?:|\*|unsafe-eval", headers["content-security-policy"])
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


def test_only_this_machine_is_listened_to() -> None:
    with listening() as opened:
        assert opened.getsockname()[0] == HOST
        opened.listen()
        with pytest.raises(InvalidInputError, match="cannot listen"):
            listening(opened.getsockname()[1])
    with pytest.raises(InvalidInputError, match="cannot listen"):
        listening(70000)


FOREIGN = re.compile(
    r"""(?:src|href|action)\s*=\s*["']?\s*(?:[a-z]+:)?//|@import|url\(\s*["']?(?:[a-z]+:)?//""", re.IGNORECASE
)


@pytest.fixture(scope="module")
def page() -> Guard:
    return guarded(ExploredFile.of(None), TOKEN, PORT)


def test_the_page_and_all_it_loads_come_from_here(page: Guard) -> None:
    status, _, body = asked(page, f"/{TOKEN}/", host=HERE)
    text = body.decode()
    assert status == 200
    assert not FOREIGN.search(text)
    parts = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert {"style.css", "page.js"} <= set(parts)
    for part in parts:
        if part.startswith("data:"):
            continue
        loaded, _, content = asked(page, f"/{TOKEN}/{part}", host=HERE)
        assert loaded == 200
        if part.endswith(".css") or part == "page.js":
            assert not FOREIGN.search(content.decode())


def test_the_address_brings_the_choices_back(page: Guard) -> None:
    _, _, body = asked(page, f"/{TOKEN}/", host=HERE, query="kind=sum&high=77&epsilon=2&assumed=normal")
    text = body.decode()
    assert 'value="77"' in text
    assert '<option value="sum" selected' in text
    assert 'id="epsilon-value" class="value">2<' in text


def test_what_is_typed_stays_text(page: Guard) -> None:
    typed = "\"'><img src=x onerror=alert(1)>"
    query = urlencode(dict.fromkeys(("values", "epsilon", "kind", "assumed", "low", "assumption"), typed))
    _, _, body = asked(page, f"/{TOKEN}/", host=HERE, query=query)
    assert b"<img" not in body
    assert b"&lt;img" in body


def test_the_form_of_a_fitted_model_shows_none_of_its_states() -> None:
    fitted = MarkovChain.from_counts([[9876543, 7], [9, 40]], states=["SENTINELattic", "SENTINELhall"], length=20)
    _, _, body = asked(guarded(ExploredFile("model", "m.json", fitted), TOKEN, PORT), f"/{TOKEN}/", host=HERE)
    assert b"SENTINEL" not in body
    assert b"9876543" not in body


def test_without_shiny_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] in ("shiny", "htmltools", "starlette"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "bayesdp.explorer.page", raising=False)
    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingDependencyError, match=re.escape("pip install 'bayesdp[explorer]'")):
        guarded(ExploredFile.of(None), TOKEN, PORT)
    assert run(["explore", "--no-browser"]) == 2
    assert "bayesdp[explorer]" in capsys.readouterr().err


def test_what_cannot_be_explored_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["missing.json"], ["missing.csv"], ["--port", "x"], ["--port", "99999"]):
        assert run(["explore", "--no-browser", *arguments]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_telemetry_is_off(page: Guard) -> None:
    import os

    assert os.environ["SHINY_OTEL_COLLECT"] == "none"
