"""Who asks: the name behind a bearer token, or behind a JSON web token of an OpenID provider."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError, MissingDependencyError
from bayesdp.server.configuration import Analyst, Configuration, OpenIdConnect
from bayesdp.server.tokens import TokenFile

__all__ = ["DeniedError", "Identity", "WebTokens"]

_LONGEST = 8192
_KEYS_FRESH = 300.0
"""Seconds for which the keys of a provider are used before they are asked for again."""

_KEYS_PAUSE = 10.0
"""Seconds between two questions for keys, so that unknown tokens do not make the server ask all the time."""

_KEYS_KEPT = 3600.0
"""Seconds for which keys are used while the provider cannot be reached."""

_TIMEOUT = 5.0
_LARGEST_KEYS = 1_000_000


class DeniedError(Exception):
    """Nobody is let in by this request; `status` is 401 if it has no valid token, else 403. All have one body."""

    def __init__(self, status: int) -> None:
        super().__init__("access denied")
        self.status = status


class Identity:
    """Tells which analyst of a configuration an authorization header is of."""

    def __init__(self, configuration: Configuration) -> None:
        self._analysts = configuration.analysts
        self._tokens = TokenFile(configuration.tokens)
        self._web = None if configuration.openid is None else WebTokens(configuration.openid)

    def is_slow(self, authorization: str | None) -> bool:
        """Tell whether a provider may have to be asked for its keys."""
        return self._web is not None and self._web.remote and (authorization or "").count(".") == 2

    def analyst(self, authorization: str | None) -> Analyst:
        """Return the analyst; DeniedError without a valid token of one."""
        scheme, _, token = (authorization or "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or len(token) > _LONGEST:
            raise DeniedError(401)
        web = self._web is not None and token.count(".") == 2
        name = self._web.name_of(token) if web and self._web is not None else self._tokens.name_of(token)
        if name is None:
            raise DeniedError(401)
        if name not in self._analysts:
            raise DeniedError(403)
        return self._analysts[name]


class _Key(Protocol):
    key_type: str
    key_id: str | None


class WebTokens:
    """Checks JSON web tokens: signature, issuer, audience and times; with asymmetric algorithms only.

    fetch: reads the key set at a URL.

    Raises InvalidInputError for a file that holds no keys, MissingDependencyError without PyJWT.
    """

    def __init__(self, openid: OpenIdConnect, fetch: Callable[[str], bytes] | None = None) -> None:
        self._openid = openid
        self.remote = openid.keys.startswith("https://")
        self._fetch = partial(_fetched if fetch is None else fetch, openid.keys)
        self._keys: tuple[_Key, ...] = () if self.remote else _keys_in(Path(openid.keys).read_bytes(), openid.keys)
        self._asked = self._got = float("-inf")
        self._lock = threading.Lock()

    def name_of(self, token: str) -> str | None:
        """Return the name in a token; None if the token is not valid here."""
        jwt = _library()
        openid = self._openid
        try:
            wanted = jwt.get_unverified_header(token).get("kid")
            key = self._key(wanted)
            if key is None:
                return None
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(openid.algorithms),
                audience=openid.audience,
                issuer=openid.issuer,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError:
            return None
        name = claims.get(openid.claim)
        return name if isinstance(name, str) else None

    def _key(self, wanted: object) -> Any:
        """Return the key of a token; the only one if the token names none."""
        for keys in (self._known, partial(self._known, anew=True)):
            found = [key for key in keys() if wanted in (None, key.key_id)]
            if len(found) == 1:
                return found[0]
            if not self.remote:
                break
        return None

    def _known(self, *, anew: bool = False) -> tuple[_Key, ...]:
        """Return the keys, asked for again if they are old, or `anew` for a key that is not among them."""
        with self._lock:
            age = time.monotonic() - self._asked
            if self.remote and age > (_KEYS_PAUSE if anew else _KEYS_FRESH):
                self._asked = time.monotonic()
                try:
                    self._keys = _keys_in(self._fetch(), self._openid.keys)
                    self._got = self._asked
                except (OSError, InvalidInputError, ValueError):
                    if self._asked - self._got > _KEYS_KEPT:
                        self._keys = ()
            return self._keys


def _fetched(url: str) -> bytes:
    from urllib.request import urlopen

    with urlopen(url, timeout=_TIMEOUT) as answer:  # noqa: S310 - https alone, as the configuration demands
        if not answer.url.startswith("https://"):
            raise InvalidInputError("the keys were redirected to an address that is not encrypted")
        content: bytes = answer.read(_LARGEST_KEYS)
    return content


def _keys_in(content: bytes, place: str) -> tuple[_Key, ...]:
    """Return the asymmetric keys of a JSON web key set."""
    jwt = _library()
    try:
        keys = jwt.PyJWKSet.from_json(content.decode()).keys
    except (jwt.PyJWTError, ValueError, AttributeError, TypeError, KeyError) as error:
        raise InvalidInputError(f"{brief(place)} holds no JSON web key set: {type(error).__name__}") from None
    return tuple(key for key in keys if key.key_type in ("RSA", "EC", "OKP"))


def _library() -> Any:
    try:
        import jwt
    except ImportError:
        raise MissingDependencyError("the server needs PyJWT; install it with: pip install 'bayesdp[server]'") from None
    return jwt
