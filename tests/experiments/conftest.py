"""What tests of the paper share: no folder of originals, and the full report, made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from bayesdp.experiments import Report, reproduce
from bayesdp.experiments.data import FOLDER_VARIABLE
from bayesdp.experiments.studies import Study, study
from bayesdp.models import OddsSeries
from bayesdp.plotting.charts import Chart
from bayesdp.plotting.drawing import draw


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one process make the full report, once."""
    for item in items:
        if "tests/experiments/" in item.nodeid and "full" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("reproduction"))


@pytest.fixture(autouse=True)
def no_folder_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the user's own files."""
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


@pytest.fixture(scope="session")
def twin_of() -> Callable[[str], Study]:
    """Return a function that loads a study of the built-in data, once."""
    return cache(study)


_PICTURES: dict[tuple[str, ...], tuple[bytes, ...]] = {}


def _drawn(chart: Chart, *formats: str) -> tuple[bytes, ...]:
    if formats not in _PICTURES:
        _PICTURES[formats] = draw(chart, *formats)
    return _PICTURES[formats]


@pytest.fixture
def one_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one picture stand for all: drawing them is half of the work."""
    monkeypatch.setattr("bayesdp.experiments.reproduction.draw", _drawn)


def _invent_odds(patch: pytest.MonkeyPatch) -> None:
    for fit in ("_odds_of_days", "_odds_of_intervals"):
        patch.setattr(f"bayesdp.experiments.studies.{fit}", lambda *_: OddsSeries([6.0]))


@pytest.fixture
def invented_odds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the same odds stand for those of every series: fitting them takes seconds."""
    _invent_odds(monkeypatch)


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Everything, on twins, with 50 runs, one picture for all, and odds by distance that are not fitted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(FOLDER_VARIABLE, raising=False)
        patch.setattr("bayesdp.experiments.reproduction.draw", _drawn)
        _invent_odds(patch)
        return reproduce(out=tmp_path_factory.mktemp("full"), runs=50, progress=False)
