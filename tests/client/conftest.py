"""A holder of data behind the contract of a server, and a client that asks him."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import bayesdp as bdp
from bayesdp.client import Remote, RemoteDataset

sys.path.insert(0, str(Path(__file__).parent))

from holding import URL, Holder, held  # type: ignore[import-not-found]


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Holder]:
    with held(tmp_path) as opened:
        yield opened


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Do not wait, but list how long would have been waited."""
    waited: list[float] = []
    monkeypatch.setattr("bayesdp.client.connection.sleep", waited.append)
    return waited


@pytest.fixture
def remote(holder: Holder) -> Iterator[Remote]:
    with bdp.connect(URL, "secret", transport=httpx.MockTransport(holder)) as connected:
        yield connected


@pytest.fixture
def switch(remote: Remote) -> RemoteDataset:
    return remote["my/switch"]
