"""A session about steps, and families, for tests of many kinds; the answers that tests share are imported by name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import polars
import pytest

import bayesdp as bdp
from bayesdp.experiments.data import load
from bayesdp.session.session import Session

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def activity() -> polars.DataFrame:
    return load("activity").frame


@pytest.fixture(scope="session")
def chain(activity: polars.DataFrame) -> bdp.MarkovChain:
    return bdp.MarkovChain.fit(activity, state="steps > 0", order_by=["date", "interval"], missing="drop")


@pytest.fixture
def session(activity: polars.DataFrame, chain: bdp.MarkovChain, tmp_path: Path) -> Iterator[Session]:
    with Session(activity, chain, epsilon=2.0, ledger=tmp_path / "budget.db", dataset="steps") as opened:
        yield opened


@pytest.fixture
def families() -> polars.DataFrame:
    return load("galton").frame
