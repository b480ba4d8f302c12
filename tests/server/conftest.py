"""Configurations in a folder of their own, and what serves them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from served import CONFIGURATION, Served, Serving, opened, write_tables  # type: ignore[import-not-found]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tables(tmp_path)
    (tmp_path / "config.toml").write_text(CONFIGURATION)
    return tmp_path


@pytest.fixture
def serving(folder: Path) -> Iterator[Serving]:
    """Return a function that serves the configuration of a folder, with more at its end."""
    with ExitStack() as stack:
        yield lambda more="", place=folder, text=CONFIGURATION: stack.enter_context(opened(place, text + more))


@pytest.fixture
def served(serving: Serving) -> Served:
    return serving()
