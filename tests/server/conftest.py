"""Configurations in a folder of their own, and what serves them."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bayesdp.server.application import application
from bayesdp.server.configuration import read_configuration
from bayesdp.server.observation import Journal
from bayesdp.server.running import open_service
from bayesdp.server.tokens import TokenFile

sys.path.insert(0, str(Path(__file__).parent))

from served import CONFIGURATION, Served, Serving, TestClient, write_tables  # type: ignore[import-not-found]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tables(tmp_path)
    (tmp_path / "config.toml").write_text(CONFIGURATION)
    return tmp_path


@pytest.fixture
def serving(folder: Path) -> Iterator[Serving]:
    """Return a function that serves the configuration of a folder; `more` is written before it."""
    with ExitStack() as stack:

        def serve(more: str = "", place: Path = folder, text: str = CONFIGURATION) -> Served:
            (place / "config.toml").write_text(text + more)
            configuration = read_configuration(place / "config.toml")
            service, jobs = stack.enter_context(open_service(configuration))
            log = io.StringIO()
            app = application(service, journal=Journal(log), until_stopped=jobs)
            client = stack.enter_context(TestClient(app, client=("127.0.0.1", 50000)))
            return Served(place, client, service, TokenFile(configuration.tokens), log)

        yield serve


@pytest.fixture
def served(serving: Serving) -> Served:
    return serving()
