"""Who asks: JSON web tokens of a provider, with keys made here, and every way to forge one."""

from __future__ import annotations

import base64
import datetime
import hmac
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from served import Served, Serving  # type: ignore[import-not-found]

from bayesdp.errors import InvalidInputError
from bayesdp.server.configuration import OpenIdConnect
from bayesdp.server.identity import WebTokens

OPENID = '\n[openid]\nissuer = "https://id.example"\naudience = "bayesdp"\nkeys = "keys.json"\n'


@cache
def key(name: str) -> Any:
    return ec.generate_private_key(ec.SECP256R1())


def published(*names: str) -> dict[str, Any]:
    algorithm = jwt.algorithms.ECAlgorithm
    keys = [{**json.loads(algorithm.to_jwk(key(name).public_key())), "kid": name, "alg": "ES256"} for name in names]
    return {"keys": keys}


def claims(**changed: Any) -> dict[str, Any]:
    now = datetime.datetime.now(datetime.UTC)
    valid = {"iss": "https://id.example", "aud": "bayesdp", "sub": "ada", "exp": now + datetime.timedelta(minutes=5)}
    return {name: value for name, value in (valid | changed).items() if value is not None}


def token(name: str = "one", algorithm: str = "ES256", secret: Any = None, **changed: Any) -> str:
    signed = secret if secret is not None else key(name)
    return jwt.encode(claims(**changed), signed, algorithm=algorithm, headers={"kid": name})


@pytest.fixture
def openid(folder: Path) -> OpenIdConnect:
    (folder / "keys.json").write_text(json.dumps(published("one", "two")))
    return OpenIdConnect("https://id.example", "bayesdp", str(folder / "keys.json"))


def test_a_valid_token_names_its_subject(openid: OpenIdConnect) -> None:
    web = WebTokens(openid)
    assert web.name_of(token()) == "ada"
    assert web.name_of(token("two", sub="bob")) == "bob"
    named = OpenIdConnect(openid.issuer, openid.audience, openid.keys, claim="email")
    assert WebTokens(named).name_of(token(email="ada@example")) == "ada@example"
    assert WebTokens(named).name_of(token(email=["ada"])) is None


PAST = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


def signed_with_the_public_key() -> str:
    """A token signed by HMAC with the public key as its secret, which a careless check would take for a good one."""
    public = (
        key("one")
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    parts = ({"alg": "HS256", "kid": "one", "typ": "JWT"}, claims(exp=4102444800))
    head, body = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    mark = base64.urlsafe_b64encode(hmac.digest(public, head + b"." + body, "sha256")).rstrip(b"=")
    return b".".join((head, body, mark)).decode()


FORGED: dict[str, Callable[[], str]] = {
    "expired": lambda: token(exp=PAST),
    "not yet valid": lambda: token(nbf=datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)),
    "for another audience": lambda: token(aud="else"),
    "of another issuer": lambda: token(iss="https://id.example.evil"),
    "without an end": lambda: token(exp=None),
    "without an audience": lambda: token(aud=None),
    "without an issuer": lambda: token(iss=None),
    "without a subject": lambda: token(sub=None),
    "of an unknown key": lambda: token("three"),
    "of another key": lambda: token("one", secret=key("three")),
    "unsigned": lambda: jwt.encode(claims(), "", algorithm="none", headers={"kid": "one"}),
    "signed by a secret": signed_with_the_public_key,
    "with a changed body": lambda: token().replace(".", ".e30", 1),
    "no token": lambda: "a.b.c",
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_token_names_nobody(openid: OpenIdConnect, how: str) -> None:
    assert WebTokens(openid).name_of(FORGED[how]()) is None


def test_a_symmetric_key_in_the_set_is_not_used(openid: OpenIdConnect) -> None:
    secret = {"kty": "oct", "kid": "s", "alg": "HS256", "k": base64.urlsafe_b64encode(b"s" * 32).decode().rstrip("=")}
    Path(openid.keys).write_text(json.dumps({"keys": [secret, *published("one")["keys"]]}))
    forged = jwt.encode(claims(), b"s" * 32, algorithm="HS256", headers={"kid": "s"})
    assert WebTokens(openid).name_of(forged) is None
    assert WebTokens(openid).name_of(token()) == "ada"


def test_keys_of_a_provider_are_asked_for_again(openid: OpenIdConnect, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, asked, known = [1000.0], [0], [published("one")]
    monkeypatch.setattr("bayesdp.server.identity.time.monotonic", lambda: clock[0])

    def fetch(url: str) -> bytes:
        assert url == "https://id.example/keys"
        asked[0] += 1
        if not known:
            raise OSError("unreachable")
        return json.dumps(known[0]).encode()

    web = WebTokens(OpenIdConnect(openid.issuer, openid.audience, "https://id.example/keys"), fetch)
    assert [web.name_of(token()) for _ in range(3)] == ["ada"] * 3
    assert asked == [1]
    known[0] = published("one", "two")
    assert web.name_of(token("two")) is None  # asked a moment ago
    clock[0] += 11
    assert web.name_of(token("two")) == "ada"
    assert asked == [2]
    known.clear()
    clock[0] += 301
    assert web.name_of(token("two")) == "ada"  # with the keys that were known
    assert asked == [3]
    clock[0] += 3700
    assert web.name_of(token("two")) is None  # which are too old by now
    known.append(published("two"))
    clock[0] += 11
    assert web.name_of(token("two")) == "ada"


def test_a_file_without_keys_is_refused(openid: OpenIdConnect) -> None:
    Path(openid.keys).write_text("[]")
    with pytest.raises(InvalidInputError, match="holds no JSON web key set"):
        WebTokens(openid)


def test_a_web_token_is_a_way_in(serving: Serving, openid: OpenIdConnect) -> None:
    served: Served = serving(OPENID)

    def status(given: str) -> int:
        return int(served.client.get("/v1/datasets", headers={"Authorization": f"Bearer {given}"}).status_code)

    assert status(token()) == 200
    assert status(token(sub="nobody")) == 403
    assert status(FORGED["unsigned"]()) == 401
    assert served.get("/v1/datasets").status_code == 200, "tokens of the server are a way in as before"
