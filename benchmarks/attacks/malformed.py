"""Requests that are almost right: drawn by Hypothesis from a server's OpenAPI document, or changed from good ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from shared.wire import Sent

__all__ = ["malformed"]

METHODS = (b"GET", b"POST", b"PUT", b"PATCH", b"DELETE", b"HEAD", b"OPTIONS", b"TRACE", b"NONSENSE")
NAMES = (
    "..",
    "../../etc/passwd",
    "\x00",
    "a" * 3000,
    "ﬁ",
    "d ",
    "'; DROP TABLE bayesdp_entries;--",
    "%2e%2e",
    "\u202e",
    "",
)
HEADERS = (
    (b"Idempotency-Key", b""),
    (b"Idempotency-Key", b"k" * 201),
    (b"Idempotency-Key", b"\xff\xfe"),
    (b"Idempotency-Key", b"a\tb"),
    (b"Content-Type", b"text/plain"),
    (b"Content-Type", b"application/json; charset=utf-16"),
    (b"Content-Encoding", b"gzip"),
    (b"Accept", b"image/png"),
    (b"Accept", b"*/*;q=nan"),
    (b"Prefer", b"respond-async, wait=-1"),
    (b"Prefer", b"wait=1e309"),
    (b"Expect", b"100-continue; nonsense"),
    (b"Range", b"bytes=9-1"),
    (b"X-Forwarded-For", b"127.0.0.1"),
    (b"Authorization", b"Bearer"),
)
BODIES = (
    b"",
    b"\xff\xfe\xfd",
    b"\xef\xbb\xbf{}",
    b"null",
    b"NaN",
    b'{"query": NaN}',
    b'{"epsilon": 1e999, "query": {}}',
    b'{"epsilon": 0.1, "epsilon": 1000}',
    b'"' + b"a" * 5000,
    b"[" * 5000,
    b'{"query":' * 2000 + b"1" + b"}" * 2000,
    b'{"epsilon": ' + b"9" * 5000 + b"}",
    b'{"query": {"query": "count", "column": "\\ud800"}, "epsilon": 1}',
)

_TEXTS = st.one_of(st.text(max_size=12), st.sampled_from(("x", "t", "g", "count", "sum", "x > 0", "x >", "x" * 3000)))
_NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(min_value=-(10**40), max_value=10**40),
    st.floats(),
    st.sampled_from((-0.0, 1e-320, 1e308, 0.125, 2**63)),
)
_SMALL = st.one_of(st.none(), st.booleans(), _NUMBERS, _TEXTS)
_ANYTHING = st.recursive(
    _SMALL,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)


def malformed(document: Mapping[str, Any], good: Sequence[Sent], datasets: Sequence[str]) -> st.SearchStrategy[Sent]:
    """Return requests that a server must withstand.

    document: its OpenAPI document.    good: requests that it answers, which are changed.    datasets: names that exist.
    """
    return st.one_of(
        _by_document(document, datasets),
        st.sampled_from(good).flatmap(_changed),
        st.sampled_from(good).flatmap(_damaged),
    )


def _by_document(document: Mapping[str, Any], datasets: Sequence[str]) -> st.SearchStrategy[Sent]:
    """Return calls of the document's operations, with bodies by their schemas in which anything may stand anywhere."""
    calls = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            values = _by_schema(content.get("schema", {}), document) if content else st.none()
            calls.append(st.builds(_called, st.just(method), _path(path, operation, datasets), values))
    return st.one_of(calls)


def _called(method: str, path: bytes, body: object) -> Sent:
    headers = ((b"Content-Type", b"application/json"),) if body is not None else ()
    return Sent(method.upper().encode(), path, headers, _json(body) if body is not None else b"")


def _path(path: str, operation: Mapping[str, Any], datasets: Sequence[str]) -> st.SearchStrategy[bytes]:
    names = st.one_of(st.sampled_from(datasets), st.sampled_from(NAMES), st.text(max_size=8), st.integers().map(str))
    places = [part for part in path.split("/") if part.startswith("{")]
    asked = [each["name"] for each in operation.get("parameters", []) if each.get("in") == "query"]
    parameters = st.lists(st.tuples(st.sampled_from([*asked, "unknown"]), _SMALL.map(str)), max_size=3)

    def filled(given: tuple[list[str], list[tuple[str, str]]]) -> bytes:
        text = path
        for place, name in zip(places, given[0], strict=True):
            text = text.replace(place, _quoted(name), 1)
        query = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in given[1])
        return f"{text}?{query}".encode() if query else text.encode()

    return st.tuples(st.lists(names, min_size=len(places), max_size=len(places)), parameters).map(filled)


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")


def _by_schema(schema: Mapping[str, Any], document: Mapping[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Return values of a JSON schema; at any place, anything may stand instead."""
    if reference := schema.get("$ref"):
        return _by_schema(document["components"]["schemas"][reference.rsplit("/", 1)[1]], document, depth)
    if depth > 4:
        return _ANYTHING
    choices: list[st.SearchStrategy[Any]] = [
        _by_schema(each, document, depth + 1) for name in ("anyOf", "oneOf", "allOf") for each in schema.get(name, ())
    ]
    if "enum" in schema or "const" in schema:
        choices.append(st.sampled_from(schema.get("enum", [schema.get("const")])))
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        known = {name: _by_schema(each, document, depth + 1) for name, each in schema.get("properties", {}).items()}
        choices.append(st.fixed_dictionaries({}, optional={**known, "unknown": _SMALL}))
    elif kind == "array":
        choices.append(st.lists(_by_schema(schema.get("items", {}), document, depth + 1), max_size=3))
    elif kind in ("number", "integer"):
        choices.append(_NUMBERS)
    elif kind == "string":
        choices.append(_TEXTS)
    return st.one_of([*choices, *choices, *choices, _ANYTHING])


def _changed(sent: Sent) -> st.SearchStrategy[Sent]:
    """Return a good request with another method, path, header or value."""
    headers = st.sampled_from(HEADERS).map(lambda header: (*sent.headers, header))
    changes = [
        st.builds(Sent, st.sampled_from(METHODS), st.just(sent.path), st.just(sent.headers), st.just(sent.body)),
        st.builds(Sent, st.just(sent.method), st.just(sent.path), headers, st.just(sent.body)),
        st.builds(
            Sent,
            st.just(sent.method),
            st.sampled_from(NAMES).map(lambda name: _other(sent.path, name)),
            st.just(sent.headers),
        ),
    ]
    if sent.body:
        document = json.loads(sent.body)
        bodies = st.sampled_from(_places(document)).flatmap(lambda place: _replaced(document, place)).map(_json)
        changes += 5 * [st.builds(Sent, st.just(sent.method), st.just(sent.path), st.just(sent.headers), bodies)]
    return st.one_of(changes)


def _damaged(sent: Sent) -> st.SearchStrategy[Sent]:
    """Return a good request with a body that is no JSON document of the right form."""
    cut = st.integers(0, len(sent.body)).map(lambda end: sent.body[:end])
    bodies = st.one_of(st.sampled_from(BODIES), cut, st.binary(max_size=40), _ANYTHING.map(_json))
    return st.builds(Sent, st.just(sent.method), st.just(sent.path), st.just(sent.headers), bodies)


def _other(path: bytes, name: str) -> bytes:
    """Return a path with another name in its place of the data set."""
    parts = path.split(b"/")
    parts[3 if len(parts) > 3 else -1] = _quoted(name).encode()
    return b"/".join(parts)


Place = tuple[str | int, ...]


def _places(document: Any, above: Place = ()) -> list[Place]:
    """Return where values stand in a document."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(document, dict):
        inner = list(document.items())
    elif isinstance(document, list):
        inner = list(enumerate(document))
    return [above, *(place for key, value in inner for place in _places(value, (*above, key)))]


def _replaced(document: Any, place: Place) -> st.SearchStrategy[Any]:
    """Return a document in which something else stands at a place, or more, or nothing."""

    def changed(value: Any, add: str | None, leave_out: bool) -> Any:
        copy = json.loads(json.dumps(document))
        if not place:
            return {**copy, add: value} if add is not None else value
        inside = copy
        for key in place[:-1]:
            inside = inside[key]
        if leave_out:
            del inside[place[-1]]
        elif add is not None and isinstance(inside[place[-1]], dict):
            inside[place[-1]][add] = value
        else:
            inside[place[-1]] = value
        return copy

    return st.builds(changed, _ANYTHING, st.none() | _TEXTS, st.booleans())


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()
