"""A whole column by randomized response: in the caller's engine, charged once, and refused where it is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.errors import FrameError, LedgerError, QueryError, RefusedError
from bayesdp.session.randomize import Randomized
from bayesdp.session.session import Session


def test_randomized_response_on_a_table_that_grew_is_refused(tmp_path: Path) -> None:
    frame = polars.DataFrame({"x": [0, 1] * 200}).to_pandas()
    chain = bdp.MarkovChain([[0.5, 0.5], [0.5, 0.5]], column="x", length=400)
    with Session(frame, chain, epsilon=5.0, ledger=tmp_path / "b.db", dataset="d") as session:
        frame.loc[0, "x"] = 7
        with pytest.raises(RefusedError):
            session.randomize(epsilon=0.5)
        frame.loc[0, "x"] = 0
        for i in range(400, 420):
            frame.loc[i] = [1]
        with pytest.raises(FrameError, match="420 rows now"):
            session.randomize(epsilon=0.5)
        assert session.leaked == 0


def test_randomized_response_returns_a_column_of_the_same_engine(tmp_path: Path) -> None:
    bits = np.random.default_rng(0).random(2000) < 0.3
    model = bdp.MarkovChain([[0.7, 0.3], [0.7, 0.3]], states=[False, True], column="on", length=2000)
    for name, table in {
        "polars": polars.DataFrame({"on": bits}),
        "pandas": polars.DataFrame({"on": bits}).to_pandas(),
        "pandas objects": polars.DataFrame({"on": bits}).to_pandas().astype(object),
        "arrow": polars.DataFrame({"on": bits}).to_arrow(),
    }.items():
        with Session(table, model, epsilon=5.0, ledger=tmp_path / f"{name}.db", dataset=name) as session:
            found = session.randomize(epsilon=2.0)
            assert len(found.column) == 2000
            flipped = sum(bool(a) != bool(b) for a, b in zip(found.column.to_numpy(), bits, strict=True))
            assert stats.binomtest(flipped, 2000, found.flip_probability).pvalue > 1e-9
            assert session.leaked <= 2.0
            session.randomize(epsilon=2.0)
            assert session.leaked > 2.0
            assert session.history[0] == found
            assert [each.epsilon for each in session.history] == [found.epsilon, session.leaked - found.epsilon]
    with Session(
        polars.LazyFrame({"on": bits}), model, epsilon=5.0, ledger=tmp_path / "b.db", dataset="lazy"
    ) as session:
        with pytest.raises(FrameError, match="collect"):
            session.randomize(epsilon=2.0)
        assert session.leaked == 0


def test_objects_that_are_not_boolean_are_refused_undescribed(tmp_path: Path) -> None:
    """What pandas's objects are is read off the values, so a session says only that it refuses."""
    table = polars.DataFrame({"on": [False, True] * 10}).to_pandas().astype(object)
    model = bdp.MarkovChain([[0.7, 0.3], [0.7, 0.3]], states=[False, True], column="on", length=20)
    with Session(table, model, epsilon=5.0, ledger=tmp_path / "b.db", dataset="d") as session:
        table.loc[3, "on"] = "secret"
        with pytest.raises(RefusedError) as refused:
            session.randomize(epsilon=2.0)
        assert "secret" not in str(refused.value)
        assert session.leaked == 0


@pytest.mark.parametrize(
    "model",
    [
        bdp.MarkovChain([[0.5, 0.3, 0.2]] * 3, states=[0, 1, 2], column="x", length=400),
        bdp.MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=[0, 1], length=400),
        bdp.Independent(column="x"),
    ],
    ids=["three states", "no column", "no chain"],
)
def test_only_a_located_chain_of_two_states_is_flipped(model: bdp.Model, tmp_path: Path) -> None:
    table = polars.DataFrame({"x": [0, 1] * 5})
    with Session(table, model, epsilon=5.0, ledger=tmp_path / "b.db", dataset="d") as session:
        with pytest.raises(QueryError, match="a chain of two states that names its column or condition"):
            session.randomize(epsilon=1.0)
        assert session.leaked == 0


def test_the_ledger_keeps_all_but_the_column() -> None:
    released = Randomized("x", 0.5, 0.25, 1.0, 1.0, 1.0, "markov-mixing", 2, "ab", column=[True])
    document = released.to_dict()
    assert "column" not in document
    again = Randomized.stored(document)
    assert again == released
    assert again.column is None
    assert "The ledger does not keep the column." in str(again)
    old = {name: value for name, value in document.items() if name not in ("kind", "schema")}
    assert Randomized.stored(old) == released, "the first version did not write its kind"
    with pytest.raises(LedgerError, match="what is randomized cannot be read"):
        Randomized.stored({"kind": "randomized", "schema": 1})
