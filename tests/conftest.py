"""Hypothesis profiles: the same examples on every run, more in `make test-all`, new in `explore`. No real ledger.

PostgreSQL is started once, for those who ask for it.

A test that needs more or fewer examples than others asks for a multiple, so that profiles scale it, too:
`@settings(max_examples=3 * settings().max_examples)`. Hypothesis marks its tests `hypothesis`; `make test-all` runs
those and the slow ones, because nothing else would do more there than in `make test`.
"""

import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from bayesdp.mechanisms.base import IntegerNoise
from bayesdp.models import diagnosis
from shared.postgresql import PostgreSQL

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]

_NUMBERS = itertools.count()

settings.register_profile(
    "default",
    max_examples=12,
    deadline=None,
    derandomize=True,
    phases=set(Phase) - {Phase.explain},  # it takes seconds, also where a test wants a property to fail
    suppress_health_check=_SLOW_IS_FINE,
)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=200)
settings.register_profile(
    "explore", parent=settings.get_profile("default"), max_examples=3000, derandomize=False, phases=set(Phase)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

if settings().derandomize:  # else examples hold constants of the modules that happen to be loaded, in whatever order
    mock.patch.object(providers, "_get_local_constants", return_value=Constants(), create=True).start()

mock.patch.object(diagnosis, "_now", return_value=datetime.now(UTC)).start()  # no midnight in the middle of a test


@pytest.fixture(autouse=True)
def ledger_of_nobody(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the user's own ledger: the default one is a new file."""
    monkeypatch.setenv("BAYESDP_LEDGER", str(tmp_path_factory.getbasetemp() / f"ledger-{next(_NUMBERS)}.db"))


@pytest.fixture
def seeded_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the same noise on every run: for a test that rare noise would make fail, and that is not about its law."""
    generator = np.random.default_rng(0)

    def release(self: IntegerNoise, values: Sequence[int]) -> tuple[int, ...]:
        drawn = generator.laplace(size=self.dimension) if self.norm == "l1" else generator.normal(size=self.dimension)
        return tuple(int(value) + round(self.scale * noise) for value, noise in zip(values, drawn, strict=True))

    monkeypatch.setattr(IntegerNoise, "release", release)


def _server() -> Iterator[PostgreSQL]:
    try:
        server = PostgreSQL()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    with server:
        yield server


@pytest.fixture(scope="session")
def server() -> Iterator[Path]:
    """Run PostgreSQL as an ordinary user, on a Unix socket only; return the socket's directory."""
    for running in _server():
        yield running.folder


BACKENDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]


@pytest.fixture(scope="session")
def new_database(server: Path) -> Callable[[], str]:
    """Return a function that makes an empty schema, all of a database that a ledger sees, and returns its URL."""
    import psycopg

    numbers = itertools.count()

    def create() -> str:
        name = f"ledger{next(numbers)}"
        with psycopg.connect(host=str(server), user="postgres", dbname="postgres", autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"postgresql://postgres@/postgres?host={server}&options=-csearch_path%3D{name}"

    return create


@pytest.fixture(params=BACKENDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where a new ledger can be created."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/budget.db"
    create: Callable[[], str] = request.getfixturevalue("new_database")
    return create()


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgreSQL]:
    """Run a PostgreSQL that a test may stop and start again."""
    yield from _server()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Run the system's Chromium, driven by Playwright; a visible skip where one of them is not there."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"], timeout=600_000)
        yield running
        running.close()
