import json
from fractions import Fraction
from pathlib import Path

import polars
import pytest

import bayesdp as bdp
from bayesdp import Count, Proportion
from bayesdp.cli import run
from bayesdp.errors import QueryError
from bayesdp.queries import query_from_dict

TABLE = polars.DataFrame({"ill": [True, False, False, False] * 50, "age": [10, 30, 50, 70] * 50})
CHAIN = bdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], states=[False, True], length=200)
HUGE = 1e6
"""An ε at which there is hardly any noise."""


def test_a_proportion_is_a_count_over_its_public_size() -> None:
    query = Proportion("s", equals=1, size=50)
    assert (query.sensitivity, query.whole) == (0.02, False)
    assert query.possible(50) == (Fraction(0), Fraction(1))
    assert query.assembled([20], None, 50) == 0.4
    assert query.worth(Fraction(1), 50) == Fraction(1, 50)
    with pytest.raises(QueryError, match="the noise on a proportion depends on the public number of records"):
        _ = Proportion("s", equals=1).sensitivity


def test_it_leaks_what_the_count_leaks_under_every_theorem() -> None:
    for model in (CHAIN, bdp.ArbitraryGroups(4), bdp.Independent()):
        share, count = (bdp.leakage(model, query(equals=True), tau=1.0) for query in (Proportion, Count))
        assert [row.epsilon for row in share.assessments] == [row.epsilon for row in count.assessments]
    share_of = bdp.calibrate(CHAIN, Proportion(equals=True, size=200), epsilon=1.0)
    count_of = bdp.calibrate(CHAIN, Count(equals=True), epsilon=1.0)
    assert share_of.tau == count_of.tau
    assert 200 * share_of.scale == pytest.approx(count_of.scale)


def test_equal_questions_have_one_key_unlike_the_count() -> None:
    same = [Proportion("s", equals=1), Proportion("s", isin=[1.0], size=7), Proportion("s", equals=True)]
    assert len({str(query.identity()) for query in same}) == 1
    assert Proportion("s", equals=1).identity() != Count("s", equals=1).identity()
    for query in same:
        assert query_from_dict(json.loads(query.to_json())) == query


def test_it_is_released_with_its_size_from_the_table(tmp_path: Path) -> None:
    with bdp.Session(TABLE, bdp.ArbitraryGroups(4), epsilon=4 * HUGE, dataset="people", public=["age"]) as session:
        answer = session.release(Proportion("ill", equals=True), epsilon=HUGE)
        assert (answer.value, answer.unit) == (0.25, 0.005)
        assert session.release(Proportion("ill", isin=[True], size=200), epsilon=HUGE) == answer
        adults = session.release(Proportion("ill", equals=True, where="age > 20", public_filter=True), epsilon=HUGE)
        assert adults.value == 0
        noisy = session.release(Proportion("ill", equals=False), alpha=0.1)
        assert isinstance(noisy.rounded, float)
        assert 0 <= noisy.rounded <= 1
        with pytest.raises(QueryError, match="the proportion is over 200 records, not over size = 100"):
            session.release(Proportion("ill", equals=True, size=100), epsilon=1.0)


def test_the_command_line_knows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = tmp_path / "people.parquet", tmp_path / "model.json"
    TABLE.write_parquet(data)
    model.write_text('{"type": "arbitrary", "size": 4}')
    asked = ["--query", "proportion", "--column", "ill", "--states", "true", "--epsilon", str(HUGE), "--json"]
    given = ["--model", str(model), "--ledger", str(tmp_path / "l.db"), "--dataset", "people", "--budget", str(HUGE)]
    assert run(["release", str(data), *asked, *given]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == 0.25
    assert run(["calibrate", str(model), *asked, "--size", "200"]) == 0
    assert json.loads(capsys.readouterr().out)["scale"] == pytest.approx(4 / HUGE / 200)
