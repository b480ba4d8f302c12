"""Tokens: shown once, kept as hashes, refused once they are revoked or expired."""

from __future__ import annotations

import datetime
import json
import stat
from pathlib import Path

import pytest

from bayesdp.errors import InvalidInputError
from bayesdp.server import tokens
from bayesdp.server.tokens import TokenFile


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


def test_a_token_is_256_random_bits_and_kept_as_a_hash(place: Path) -> None:
    issued = TokenFile(place).add("ada")
    assert len(issued.token.removeprefix("bdp_")) == 43  # 256 bits in base 64
    assert issued.token != TokenFile(place).add("ada").token
    assert issued.token not in place.read_text()
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert issued.token in str(issued)
    assert "sha256" not in issued.to_json()
    assert issued.to_dict()["token"] == issued.token


def test_another_process_sees_a_revocation_at_once(place: Path) -> None:
    here, there = TokenFile(place), TokenFile(place)
    first, second, other = here.add("ada").token, here.add("ada").token, here.add("bob").token
    assert [there.name_of(token) for token in (first, second, other)] == ["ada", "ada", "bob"]
    assert here.revoke("ada", number=2) == 1
    assert [there.name_of(token) for token in (first, second)] == ["ada", None]
    assert here.revoke("ada") == 1
    assert [there.name_of(token) for token in (first, second, other)] == [None, None, "bob"]
    with pytest.raises(InvalidInputError, match="there is no valid token of 'ada'"):
        here.revoke("ada")


def test_a_token_expires(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = TokenFile(place)
    token, now = file.add("ada", days=1).token, tokens._now()
    assert file.name_of(token) == "ada"
    monkeypatch.setattr(tokens, "_now", lambda: now + datetime.timedelta(days=1, seconds=1))
    assert file.name_of(token) is None
    assert "expired" in str(file.listed())


def test_tokens_are_listed_without_what_opens_a_door(place: Path) -> None:
    file = TokenFile(place)
    assert str(file.listed()).startswith("There are no tokens")
    file.add("ada")
    (stored,) = file.tokens
    assert stored.sha256 not in file.listed().to_json()
    assert "1 ada: issued" in str(file.listed())
    file.revoke("ada")
    assert "revoked" in str(file.listed())


@pytest.mark.parametrize("content", ["", "{}", '{"tokens": [{"name": "ada"}]}', '{"kind": "model"}', '{"schema": 2}'])
def test_a_file_of_something_else_lets_nobody_in(place: Path, content: str) -> None:
    place.write_text(content)
    with pytest.raises(InvalidInputError):
        TokenFile(place).name_of("bdp_x")


def test_two_changes_at_once_are_refused(place: Path) -> None:
    file = TokenFile(place)
    with file._changing(), pytest.raises(InvalidInputError, match="another process is changing the tokens"):
        file.add("ada")
    file.add("ada")
    assert [entry["name"] for entry in json.loads(place.read_text())["tokens"]] == ["ada"]
