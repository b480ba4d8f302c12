"""Every kind of table that a session reads can be served, by several workers at a time."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import polars
import pytest
from served import CONFIGURATION, COUNT, Served, Serving, opened  # type: ignore[import-not-found]

from bayesdp.errors import InvalidInputError
from bayesdp.server.configuration import read_configuration
from bayesdp.server.datasets import opened_session

SOURCES = {
    "several files": '["one.csv", "two.csv"]',
    "a pattern": '"*.csv"',
    "Parquet": '"rows.parquet"',
    "SQLite": '"sqlite:///rows.db#rows"',
    "DuckDB": '"duckdb:///rows.duckdb#rows"',
}


def write_rows(folder: Path) -> None:
    """Write the same rows in every form."""
    frame = polars.DataFrame({"s": [0, 1, 1, 0, 1, 0], "x": list(range(6))})
    (folder / "steps.csv").unlink()
    (folder / "other.csv").unlink()
    for name, part in (("one", frame.head(3)), ("two", frame.tail(3))):
        part.write_csv(folder / f"{name}.csv")
    frame.write_parquet(folder / "rows.parquet")
    with closing(sqlite3.connect(folder / "rows.db")) as connection:
        connection.execute("CREATE TABLE rows (s INTEGER, x INTEGER)")
        connection.executemany("INSERT INTO rows VALUES (?, ?)", frame.rows())
        connection.commit()
    duckdb = pytest.importorskip("duckdb")
    with closing(duckdb.connect(str(folder / "rows.duckdb"))) as connection:
        connection.execute(f"CREATE TABLE rows AS SELECT * FROM '{folder}/rows.parquet'")


def served_from(folder: Path, source: str) -> str:
    """Return a configuration with one data set."""
    return f"""\
ledger = "budget.db"
[datasets.steps]
data = {source}
model = {{ type = "independent" }}
epsilon = 9.0
[analysts.ada]
datasets = ["steps"]
"""


@pytest.mark.parametrize("kind", SOURCES)
def test_a_source_is_read_relative_to_the_configuration(folder: Path, kind: str) -> None:
    write_rows(folder)
    with opened(folder, served_from(folder, SOURCES[kind])) as served:
        questions = [{"query": "sum", "column": "x", "bounds": [0, most]} for most in range(1, 7)]
        served.token("ada")
        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(lambda query: served.release(0.5, query=query), questions))
    assert [answer.status_code for answer in answers] == [200] * 6
    assert {answer.json()["answers"][0]["records"] for answer in answers} == {6}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # of Py4J
def test_a_table_of_spark_is_served(folder: Path) -> None:
    pytest.importorskip("pyspark")
    write_rows(folder)
    text = served_from(folder, '"rows.parquet"\nengine = "spark"\nmaster = "local[1]"')
    with opened(folder, text) as served:
        first = served.release(0.5, query={**COUNT, "column": "s"})
        assert (first.status_code, first.json()["answers"][0]["records"]) == (200, 6)


def test_values_that_are_not_listed_are_refused_alike(served: Served) -> None:
    by = {**COUNT, "by": "d", "by_cells": {"d": ["n", "elsewhere"]}}
    for what in ("preview", "release-by"):
        answer = served.post(what, {"query": by, "epsilon": 0.1})
        assert (answer.status_code, answer.json()["error"]) == (422, "QueryError")
    of_t = {**COUNT, "by": "t", "by_cells": {"t": [1, 2]}}
    assert served.post("preview", {"query": of_t, "epsilon": 0.1}).status_code == 200, "any value of t is public"


def test_a_session_for_the_holder_needs_a_known_data_set(folder: Path) -> None:
    configuration = read_configuration(folder / "config.toml")
    with pytest.raises(InvalidInputError, match="has no data set 'walks'"), opened_session(configuration, "walks", "c"):
        pass
    with opened_session(configuration, "steps", "carla") as session:
        assert session.posted("carla") == (0.0, 0.0)


def test_a_budget_that_differs_is_the_ledger_s(serving: Serving) -> None:
    assert serving().release(0.25).status_code == 200
    with pytest.warns(UserWarning, match="the budget of steps is 5, not 6"):
        again = serving(text=CONFIGURATION.replace("epsilon = 5.0", "epsilon = 6.0"))
    assert again.get("/v1/datasets/steps").json()["budget"] == 5.0
