"""Columns of numbers as states between public edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp.errors import FrameError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.bins import bin_names, binned

FrameOf = Callable[[str, Any], Any]
ENGINES = ("pandas", "pandas-arrow", "polars", "lazy", "pyarrow", "duckdb", "ibis", "postgresql", "dask-arrow", "spark")
EDGES = [-1, 0.5, 3]
FLOATS = [-5.0, -1.0, 0.0, 0.5, 2.9, 3.0, None, math.nan, 1e300]
WHOLE = [-2, -1, 0, 1, 2, 3, None, 7, 2**60]
COLUMNS: dict[str, tuple[str, list[Any]]] = {"f": ("double", FLOATS), "n": ("int64", WHOLE)}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("column", COLUMNS)
def test_every_engine_finds_the_same_states(engine: str, column: str, frame_of: FrameOf) -> None:
    table = binned(frame_of(engine, COLUMNS), column, EDGES)
    (found,) = tally(table, [bdp.Histogram(f"{column} bin", cells=bin_names(EDGES))], missing="drop")
    values = [value for value in COLUMNS[column][1] if value is not None and not math.isnan(value)]
    ends = [-math.inf, *EDGES, math.inf]
    expected = tuple(sum(low <= value < high for value in values) for low, high in pairwise(ends))
    assert (found.counts, found.records) == (expected, len(values))


def test_states_are_fitted_and_asked_about(tmp_path: Path) -> None:
    readings = polars.DataFrame({"kwh": [(i * i % 13) / 2 for i in range(600)], "t": range(600)})
    states = binned(readings, "kwh", [1, 5], name="use")
    chain = bdp.MarkovChain.fit(states, state="use", order_by="t", step=1, diagnose=False)
    assert set(chain.states) == {"below 1", "1 to 5", "5 and above"}
    with bdp.Session(states, chain, dataset="kwh", epsilon=1e6, ledger=tmp_path / "l.db") as session:
        answer = session.release(bdp.Count("use", equals="5 and above"), epsilon=1e5)
    assert answer.value == (readings["kwh"] >= 5).sum()


@pytest.mark.parametrize(
    ("reported", "message"),
    [
        ({"edges": [1, 1]}, "in ascending order"),
        ({"edges": []}, "at least one"),
        ({"edges": [2, 1]}, "in ascending order"),
        ({"edges": ["a"]}, r"edges\[0\]"),
        ({"edges": [0.1, 0.1 + 1e-17 + 2e-17]}, "in ascending order"),
        ({"column": "room"}, "cannot bin 'room'"),
        ({"column": "nothing"}, "has no column 'nothing'"),
        ({"name": "room"}, "already has a column 'room'"),
    ],
)
def test_mistakes_are_refused(reported: dict[str, Any], message: str) -> None:
    table = polars.DataFrame({"kwh": [1.0, 2.0], "room": ["hall", "attic"]})
    with pytest.raises(FrameError, match=message):
        binned(table, **{"column": "kwh", "edges": [1, 5], **reported})


def test_a_file_without_types_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kwh.csv").write_text("kwh\n1\n2.5\n")
    with pytest.raises(FrameError, match="guessed from its values; convert it to Parquet"):
        binned(tmp_path / "kwh.csv", "kwh", [1])
    polars.DataFrame({"kwh": [1.0, 2.5]}).write_parquet(tmp_path / "kwh.parquet")
    assert binned(tmp_path / "kwh.parquet", "kwh", [2]).collect()["kwh bin"].to_list() == ["below 2", "2 and above"]
