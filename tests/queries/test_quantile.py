"""Quantiles: what is selected, that the interval covers the quantile of the records, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp import Median, Quantile
from bayesdp.cli import run
from bayesdp.errors import InvalidInputError, QueryError, RefusedError
from bayesdp.frames.aggregates import tally
from bayesdp.queries import query_from_dict
from bayesdp.session.answer import Answer

AGES = range(121)
HUGE = 1e6


@given(st.lists(st.integers(-3, 13), min_size=1, max_size=25), st.sampled_from([0.1, 0.25, 0.5, 0.9]), st.data())
def test_distances_are_zero_at_the_quantile_and_move_by_one(
    values: list[int], share: float, data: st.DataObject
) -> None:
    query = Quantile("x", at=share, candidates=[0, 2, 3, 7, 10])

    def distances(records: list[int]) -> list[int]:
        (found,) = tally(polars.DataFrame({"x": records}), [query])
        return query.distances(found.counts, query.ranks(len(records))[0], len(records))

    quantile = sorted(values)[math.ceil(round(share * len(values), 9)) - 1]
    place = next((i for i, candidate in enumerate(query.offered) if quantile <= candidate), 4)
    before = distances(values)
    assert [i for i, distance in enumerate(before) if distance == 0] == [place]
    other = [*values]
    other[data.draw(st.integers(0, len(values) - 1))] = data.draw(st.integers(-3, 13))
    assert all(abs(a - b) <= 1 for a, b in zip(before, distances(other), strict=True))


def test_it_is_released_with_its_interval(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    table = polars.DataFrame({"age": generator.integers(0, 100, 2000), "kwh": generator.gamma(2, 3, 2000)})
    with bdp.Session(table, bdp.Independent(), dataset="x", epsilon=9 * HUGE, ledger=tmp_path / "l.db") as session:
        median = session.release(Median("age", candidates=AGES), epsilon=HUGE)
        assert median.value == table["age"].sort()[999]
        assert median.rounded == median.value
        quartiles = session.release(
            Quantile("kwh", at=[0.25, 0.75], candidates=[x / 2 for x in range(60)]), epsilon=HUGE
        )
        exact = [math.ceil(table["kwh"].sort()[rank - 1] * 2) / 2 for rank in (500, 1500)]
        assert quartiles.value == tuple(exact)
        assert quartiles.shown() == f"0.25: {exact[0]:g}, 0.75: {exact[1]:g}"
        assert "noisy max" in quartiles.statement()
        assert session.history == (median, quartiles)
        assert session.release(Median("age", candidates="0:120"), epsilon=HUGE).reused
        noisy = session.release(Median("kwh", candidates=range(31)), epsilon=0.2, beta=0.1)
    low, high = noisy.interval()
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert isinstance(noisy.value, float)
    assert noisy.interval(0.5) == (low, high)
    assert noisy.interval(0.99) == (0.0, 30.0)
    assert noisy.accuracy() > max(high - noisy.value, noisy.value - low)
    assert noisy.reach() == max(high - noisy.value, noisy.value - low)


def test_an_answer_is_written_and_read_and_cannot_be_altered(tmp_path: Path) -> None:
    table = polars.DataFrame({"age": range(100)})
    with bdp.Session(table, bdp.Independent(), dataset="x", epsilon=2.0, ledger=tmp_path / "l.db") as session:
        answer = session.release(Quantile("age", at=[0.2, 0.8], candidates=AGES), epsilon=1.0)
        count = session.release(bdp.Count(where="age > 3"), epsilon=0.5)
    document = json.loads(answer.to_json())
    assert Answer.from_dict(document) == answer
    assert document["interval"] == document["ends"]
    assert "ends" not in count.to_dict()
    widened = [[-1.0, 200.0], document["ends"][1]]
    wrong: list[dict[str, Any]] = [{"ends": None}, {"ends": [[3.0, 1.0], [1.0, 2.0]]}, {"ends": [[1.0, 2.0]]}]
    for change in (*wrong, {"ends": widened}, {"ends_beta": 2.0}, {"ends": [[1.0], [2.0]]}, {"ends": "both"}):
        with pytest.raises(InvalidInputError):
            Answer.from_dict({**document, **change})
    with pytest.raises(InvalidInputError, match="a selected answer, and no other, has ends"):
        Answer.from_dict({**count.to_dict(), "ends": [[1.0, 2.0]], "ends_beta": 0.05})


def test_what_it_leaks_is_what_any_mechanism_leaks() -> None:
    chain = bdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], length=50)
    family = bdp.GaussianGroups(covariance=[[1.0, 0.3], [0.3, 1.0]])
    for model in (chain, family):
        for query in (Median(candidates=[0, 1]), Quantile(at=[0.2, 0.4], candidates=[0, 1])):
            assert (
                bdp.leakage(model, query, tau=0.7).epsilon
                == bdp.leakage(model, bdp.AnyMechanism(), tau=0.7, neighbours="replace").epsilon
            )
            assert json.loads(bdp.calibrate(model, query, epsilon=1.0).to_json())["alpha"] is None
    assert Median("age", candidates=AGES).ledger_key() == bdp.Count("age", equals=1).ledger_key()


@pytest.mark.parametrize(
    ("reported", "message"),
    [
        ({"at": 0.5}, "needs candidates="),
        ({"at": 0.5, "candidates": [1]}, "from 2 to 1000 public numbers in ascending order"),
        ({"at": 0.5, "candidates": [1, 1]}, "in ascending order"),
        ({"at": 0.5, "candidates": [2, 1]}, "in ascending order"),
        ({"at": 0.5, "candidates": range(2000)}, "from 2 to 1000"),
        ({"at": 0.5, "candidates": [0, math.inf]}, r"candidates\[1\]"),
        ({"at": 0.5, "candidates": "0:9:x"}, "such as 0,10,20 or 0:120:5"),
        ({"at": 0.5, "candidates": "9:0:0"}, "such as 0,10,20 or 0:120:5"),
        ({"at": 0.5, "candidates": "0:10:2:7"}, "such as 0,10,20 or 0:120:5"),
        ({"at": 0.5, "candidates": f"0:{10**18}"}, "from 2 to 1000"),
        ({"at": 1.0, "candidates": [0, 1]}, "at must lie strictly between 0 and 1"),
        ({"at": [], "candidates": [0, 1]}, "needs at=, at least one share"),
        ({"at": [0.5, 0.5], "candidates": [0, 1]}, "none twice"),
        ({"at": 0.5, "candidates": [0, 1], "where": "x > 0"}, "needs a public number of records"),
    ],
)
def test_mistakes_are_refused(reported: dict[str, Any], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        Quantile("x", **reported)


def test_what_a_session_refuses_costs_nothing(tmp_path: Path) -> None:
    table = polars.DataFrame({"age": [1, 2], "name": ["a", "b"], "district": [1, 1]})
    with pytest.raises(QueryError, match=r"a median is the quantile at 0\.5"):
        Median("age", 0.3, candidates=[0, 1])
    reported: dict[str, Any] = {"dataset": "x", "ledger": tmp_path / "l.db", "public": ["district"]}
    with bdp.Session(table, bdp.Independent(), epsilon=1.0, **reported) as session:
        with pytest.raises(QueryError, match="is known only after the release; give epsilon instead"):
            session.release(Median("age", candidates=[0, 1]), alpha=3.0)
        with pytest.raises(QueryError, match="cannot compute a median of 'name': it is not numeric"):
            session.release(Median("name", candidates=[0, 1]), epsilon=0.5)
        nobody = Median("age", candidates=[0, 1], where="district = 7", public_filter=True)
        with pytest.raises(RefusedError):
            session.release(nobody, epsilon=0.5)
        assert session.leaked == 0
        preview = session.preview(Median("age", candidates=[0, 5]), epsilon=0.5)
        assert (preview.alpha, preview.interval) == (5.0, (-5.0, 5.0))


def test_it_is_read_from_json_and_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for query in (Median("age", candidates=[0, 5]), Quantile("age", at=[0.2, 0.3], candidates=[0.5, 1])):
        assert query_from_dict(json.loads(query.to_json())) == query
    data, model = tmp_path / "people.parquet", tmp_path / "model.json"
    polars.DataFrame({"age": [10, 30, 50, 70] * 50}).write_parquet(data)
    model.write_text('{"type": "independent"}')
    given_ = [
        "--model",
        str(model),
        "--ledger",
        str(tmp_path / "l.db"),
        "--dataset",
        "people",
        "--budget",
        str(3 * HUGE),
    ]
    asked = ["--column", "age", "--candidates", "0:120:5", "--epsilon", str(HUGE), "--json"]
    assert run(["release", str(data), "--query", "quantile", "--at", "0.25,0.6", *asked, *given_]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == [10.0, 50.0]
    assert run(["release", str(data), "--query", "median", *asked, *given_]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == 30.0
