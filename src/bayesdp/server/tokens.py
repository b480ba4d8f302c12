"""Bearer tokens: 256 random bits, shown once. The file keeps their hashes only, from which no token can be computed.

The file is read again whenever it changes, so a token that was revoked is refused without a restart.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bayesdp._support import documents, validation
from bayesdp._support.documents import Document
from bayesdp._support.files import write_private
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError

__all__ = ["IssuedToken", "ListedTokens", "StoredToken", "TokenFile"]

KIND, SCHEMA = "tokens", 1
PREFIX = "bdp_"
"""So that programs which look for leaked secrets recognise a token."""


@dataclass(frozen=True)
class StoredToken:
    """What is kept of a token: whose it is, its number, its hash, and how long it is valid, in UTC."""

    name: str
    number: int
    sha256: str
    created: str
    expires: str | None = None
    revoked: str | None = None

    def is_valid(self, moment: datetime.datetime) -> bool:
        """Tell whether the token is neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or moment < datetime.datetime.fromisoformat(self.expires))

    def state(self, moment: datetime.datetime) -> str:
        """Return until when the token is valid, or since when it is not."""
        if self.revoked is not None:
            return f"revoked {self.revoked}"
        if self.expires is None:
            return "does not expire"
        return f"expire{'s' if self.is_valid(moment) else 'd'} {self.expires}"


@dataclass(frozen=True)
class IssuedToken(Document):
    """A new token, the only time that it is shown."""

    token: str
    stored: StoredToken

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        known = {name: value for name, value in asdict(self.stored).items() if name not in ("sha256", "revoked")}
        return {"kind": "token", "schema": 1, **known, "token": self.token}

    def __str__(self) -> str:
        until = self.stored.state(_now())
        whose = f"This is token {self.stored.number} of {self.stored.name}; it {until}."
        return f"{self.token}\n{whose} It is not shown again."


@dataclass(frozen=True)
class ListedTokens(Document):
    """All tokens, without their hashes."""

    tokens: tuple[StoredToken, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        shown = [{name: value for name, value in vars(token).items() if name != "sha256"} for token in self.tokens]
        return {"kind": "tokens", "schema": 1, "tokens": shown}

    def __str__(self) -> str:
        moment = _now()
        lines = [f"{token.number} {token.name}: issued {token.created}, {token.state(moment)}" for token in self.tokens]
        return "\n".join(lines) or "There are no tokens; bayesdp serve token add NAME issues one."


class TokenFile:
    """The tokens of a server in a file that only its owner can read.

    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> tokens = TokenFile(f"{folder.name}/tokens.json")
    >>> issued = tokens.add("ada", days=90)
    >>> tokens.name_of(issued.token), tokens.name_of("bdp_other"), tokens.revoke("ada"), tokens.name_of(issued.token)
    ('ada', None, 1, None)
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._read: tuple[object, tuple[StoredToken, ...]] = (None, ())
        self._lock = threading.Lock()

    @property
    def tokens(self) -> tuple[StoredToken, ...]:
        """All tokens, oldest first; none if there is no file."""
        with self._lock:
            try:
                known = self._path.stat()
            except FileNotFoundError:
                return ()
            except OSError as error:
                raise self._fault(error.strerror) from None
            state = (known.st_mtime_ns, known.st_ctime_ns, known.st_size, known.st_ino)
            if self._read[0] != state:
                self._read = (state, self._parsed())
            return self._read[1]

    def listed(self) -> ListedTokens:
        """Return all tokens, to be shown."""
        return ListedTokens(self.tokens)

    def name_of(self, token: str) -> str | None:
        """Return whose token this is; None if it is unknown, expired or revoked.

        It is compared with every stored hash, so how long that takes does not tell which of them is alike.
        """
        digest, moment = _digest(token), _now()
        found = None
        for stored in self.tokens:
            if hmac.compare_digest(stored.sha256, digest) and stored.is_valid(moment):
                found = stored.name
        return found

    def add(self, name: str, *, days: float | None = None) -> IssuedToken:
        """Issue a token; it expires after some days, if that is said."""
        whose, created = validation.line("name", name), _now()
        expires = None if days is None else created + datetime.timedelta(days=validation.positive("days", days))
        token = PREFIX + secrets.token_urlsafe(32)
        with self._changing() as known:
            number = max((stored.number for stored in known), default=0) + 1
            until = None if expires is None else _written(expires)
            stored = StoredToken(whose, number, _digest(token), _written(created), until)
            self._write((*known, stored))
        return IssuedToken(token, stored)

    def revoke(self, name: str, *, number: int | None = None) -> int:
        """Revoke the tokens of a name, or one of them; return how many. InvalidInputError if there is none."""
        moment = _now()
        with self._changing() as known:
            wanted = {
                stored
                for stored in known
                if stored.name == name and number in (None, stored.number) and stored.is_valid(moment)
            }
            if not wanted:
                raise InvalidInputError(f"there is no valid token of {brief(name)} to revoke")
            self._write(tuple(replace(one, revoked=_written(moment)) if one in wanted else one for one in known))
        return len(wanted)

    @contextmanager
    def _changing(self) -> Iterator[tuple[StoredToken, ...]]:
        """Yield the tokens while no other process changes them."""
        lock = self._path.with_name(self._path.name + ".lock")
        try:
            handle = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            raise InvalidInputError(
                f"another process is changing the tokens; if there is none, remove {lock} and try again"
            ) from None
        except OSError as error:
            raise self._fault(error.strerror) from None
        try:
            yield self.tokens
        finally:
            os.close(handle)
            lock.unlink()

    def _write(self, tokens: tuple[StoredToken, ...]) -> None:
        document = {"kind": KIND, "schema": SCHEMA, "tokens": [asdict(token) for token in tokens]}
        try:
            write_private(self._path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        except OSError as error:
            raise self._fault(error.strerror) from None

    def _parsed(self) -> tuple[StoredToken, ...]:
        document = documents.checked(documents.read(self._path), KIND, SCHEMA)
        try:
            tokens = tuple(StoredToken(**entry) for entry in document["tokens"])
            for token in tokens:
                token.is_valid(_now())
                if not (len(token.sha256) == 64 and token.sha256.isascii() and isinstance(token.name, str)):
                    raise ValueError  # noqa: TRY301
        except (TypeError, ValueError, KeyError):
            raise self._fault("it holds something else than tokens") from None
        return tokens

    def _fault(self, why: object) -> InvalidInputError:
        return InvalidInputError(f"the file of tokens {self._path} cannot be used: {why}")


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _written(moment: datetime.datetime) -> str:
    return moment.isoformat(timespec="seconds")
