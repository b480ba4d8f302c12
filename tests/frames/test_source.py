"""Things that are tables and things that are none; values that are the same in whatever type they are written."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesdp import Count, GaussianGroups, Histogram, MarkovChain, Session, Sum
from bayesdp.errors import BayesDPError, FrameError, QueryError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.source import scan
from bayesdp.models.layout import ChainLayout

SUM = Sum("a", bounds=(0, 1000))


def test_duplicate_columns() -> None:
    pandas = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    names = ["a", "b", "c", "b", "c"]
    for frame in (pandas.DataFrame([[1, 2, 3, 4, 5]], columns=names), pa.table([[1], [2], [3], [4], [5]], names=names)):
        for column in "ab":
            with pytest.raises(FrameError, match=r"^the table has several columns called 'b', 'c'; rename them"):
                tally(frame, [Sum(column, bounds=(0, 1000))])


def test_names_that_are_no_texts() -> None:
    pandas = pytest.importorskip("pandas")
    pairs = pandas.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    odd = (
        (pandas.DataFrame({0: [1], "a": [2]}), "has 0;"),
        (pandas.DataFrame([[1, 2]], columns=pairs), r"has \('a', 'x'\), \('a', 'y'\);"),
        (pandas.DataFrame([range(20)]), "has 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …;"),
    )
    for frame, message in odd:
        for state in ("a", "0", "0 > 1"):
            with pytest.raises(
                FrameError, match=f"^the names of columns must be texts, but the table {message} rename"
            ):
                MarkovChain.fit(frame, state=state, order_by="a")
    frame = pandas.DataFrame([[1, 2], [2, 3]])
    frame.columns = frame.columns.map(str)
    assert tally(frame, [Sum("0", bounds=(0, 1000))])[0].counts == (3,)


def test_refusals_do_not_quote_records() -> None:
    """What an engine says when it stops may hold values; they are private."""
    secret = pl.LazyFrame({"a": ["secret-4711"]}).select(pl.col("a").cast(pl.Int64))
    with pytest.raises(
        FrameError, match="cannot be read: polars stopped with InvalidOperationError; its message is withheld"
    ) as refused:
        tally(secret, [SUM])
    assert "4711" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_refusals_do_not_quote_values_given_in_place_of_names() -> None:
    pandas = pytest.importorskip("pandas")
    records = pandas.DataFrame({"a": ["secret-4711", "b", "b"], "k": [4711, 2, 3]})
    for frame in (records, pl.from_pandas(records)):
        for ask in (
            lambda f: MarkovChain.fit(f["a"], state="a", order_by="k"),
            lambda f: MarkovChain.fit(f["a"].to_numpy(), state="a", order_by="k"),
            lambda f: MarkovChain.fit(f["a"].to_list(), state="a", order_by="k"),
            lambda f: MarkovChain.fit({"a": f["a"].to_list()}, state="a", order_by="k"),
            lambda f: MarkovChain.fit(f, state=f["a"], order_by="k"),
            lambda f: MarkovChain.fit(f, state=f["k"], order_by="k"),
            lambda f: MarkovChain.fit(f, state="a", order_by=f["a"]),
            lambda f: MarkovChain.fit(f, state="a", order_by=f["k"]),
            lambda f: MarkovChain.fit(f, state="a", order_by=f["k"].to_list()),
            lambda f: MarkovChain.fit(f, state="a", order_by="k", entity=f["a"]),
            lambda f: GaussianGroups.fit(f, value=f["k"], group="a"),
            lambda f: GaussianGroups.fit(f, value="k", group=f["a"]),
            lambda f: GaussianGroups.fit(f, value="k", group="a", role=f["a"]),
        ):
            with pytest.raises(BayesDPError, match=r"something of type (Series|ndarray|list|dict|int)") as refused:
                ask(frame)
            assert "4711" not in str(refused.value)


# --- things that are no tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        42,
        None,
        {"a": [1]},
        [1],
        b"x.csv",
        object(),
        dict,
        float("nan"),
        np.ones((2, 2)),
        pl.Series("a", [1]),
        open,
        "x",
    ],
    ids=lambda source: type(source).__name__,
)
def test_what_is_no_table(source: Any) -> None:
    for ask in (
        lambda: tally(source, [Sum("a", bounds=(0, 1))]),
        lambda: MarkovChain.fit(source, state="a", order_by="b"),
        lambda: scan(source),
    ):
        with pytest.raises(FrameError, match=r"expected a (table|\.parquet)"):
            ask()


def test_tables_that_fail_when_they_are_opened_or_read() -> None:
    class Unwilling:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("no")

    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    relation = connection.sql("select 1 as a")
    connection.close()
    broken = pl.LazyFrame({"a": ["x"]}).select(pl.col("a").cast(pl.Int64))
    nowhere = pl.LazyFrame({"a": [1]}).select(pl.col("zz"))
    gone = pl.scan_csv("gone.csv")
    for source in (Unwilling(), relation, broken, nowhere, gone):
        with pytest.raises(FrameError):
            tally(source, [SUM])


def test_tables_without_columns() -> None:
    pandas = pytest.importorskip("pandas")
    for source in (pl.DataFrame(), pandas.DataFrame(index=[1, 2])):
        with pytest.raises(FrameError, match=r"is empty|has no column 'a'"):
            tally(source, [SUM])


def test_a_table_that_was_opened_is_not_opened_again(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = scan(pandas.DataFrame({"a": [1, 2]}))
    assert scan(table) is table
    (tmp_path / "x.csv").write_text("a\n1\n2\n")
    assert tally(scan(tmp_path / "x.csv"), [SUM])[0].counts == (3,)


# --- states match by value, in whatever type they are written ---------------------------------------------------------

COLUMNS: dict[str, list[Any]] = {
    "whole": [0, 1, 1, 0, 1, 1, 1, 0],
    "number": [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0],
    "text": list("01101110"),
    "truth": [False, True, True, False, True, True, True, False],
}
WRITTEN: list[list[Any]] = [[0, 1], ["0", "1"], [0.0, 1.0], ["0.0", "1e0"], [False, True], ["false", "True"]]


def matches(kind: str, states: list[Any]) -> bool:
    """Whether these states are values of a column; booleans match no text."""
    if kind == "text":
        return states in ([0, 1], ["0", "1"]) and not isinstance(states[0], bool)
    return kind == "truth" or states != ["false", "True"]


@pytest.mark.parametrize("engine", ["polars", "pandas", "duckdb"])
@pytest.mark.parametrize("states", WRITTEN, ids=str)
@pytest.mark.parametrize("kind", COLUMNS)
def test_states_match_by_value(kind: str, states: list[Any], engine: str, tmp_path: Path) -> None:
    records = pl.DataFrame({"s": COLUMNS[kind], "t": range(8)})
    frame: Any = records.to_pandas() if engine == "pandas" else records
    if engine == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        frame = duckdb.connect().from_arrow(records.to_arrow())
    chain = MarkovChain([[0.4, 0.6], [0.5, 0.5]], states=states, column="s", length=8, layout=ChainLayout("t"))
    question = Count("s", equals=states[1])

    def released() -> None:
        with Session(frame, chain, epsilon=9.0, ledger=tmp_path / "ledger.db", dataset="d") as session:
            assert session.release(question, epsilon=8.0).records == 8

    if matches(kind, states):
        found = tally(frame, [question, Histogram("s", cells=states)])
        assert [each.counts for each in found] == [(5,), (3, 5)]
        assert chain.diagnose(frame).records == 8
        released()
    else:
        with pytest.raises(FrameError, match="not a state of the model"):
            chain.diagnose(frame)
        with pytest.raises(BayesDPError):
            released()


@pytest.mark.parametrize("states", [[1, "1"], ["1", "1.0"], [True, "1"], ["true", "True"]], ids=str)
def test_states_that_are_the_same_value_are_refused(states: list[Any], tmp_path: Path) -> None:
    frame = pl.DataFrame({"s": [True, True, False], "t": [1, 2, 3]})
    for subject in ("s", "t > 1"):
        chain = MarkovChain([[0.4, 0.6], [0.5, 0.5]], states=states, column=subject, layout=ChainLayout("t"))
        for ask in (
            lambda subject=subject: tally(frame, [Histogram(subject, cells=states)]),
            lambda chain=chain: chain.diagnose(frame),
            lambda chain=chain: Session(frame, chain, epsilon=1.0, ledger=tmp_path / "ledger.db", dataset="d"),
        ):
            with pytest.raises(QueryError, match=r"are the same value of '.*'; name it once"):
                ask()


def test_conditions_mean_the_types_they_write() -> None:
    frame = pl.DataFrame({"t": ["1", "2"], "k": [1, 2]})
    for text in ("t > 1", "t == 1", "t in [1]", "k == '1'", "k in ['1']"):
        with pytest.raises(QueryError, match=r"holds .*, which .* is not"):
            tally(frame, [Count(text, equals=True)])
