import json
from pathlib import Path

import polars
import pytest

import bayesdp as bdp
from bayesdp import Count, Proportion
from bayesdp.cli import run
from bayesdp.errors import QueryError
from bayesdp.queries import query_from_dict


def test_counts_have_sensitivity_one() -> None:
    assert Count("s", equals=1).sensitivity == 1
    assert Count("s", isin=[1, 2]).sensitivity == 1
    assert Count("s", equals=False, where="t > 3").sensitivity == 1


def test_a_count_is_the_same_question_in_whatever_words() -> None:
    same = [Count("s", equals=1), Count("s", isin=[1]), Count("s", equals=True), Count("s", isin=[1.0])]
    assert len({str(query.identity()) for query in same}) == 1
    assert Count("s", isin=["b", "a"]).identity() == Count("s", isin=["a", "b"]).identity()
    assert Count("s", equals=2).identity() != Count("s", equals=1).identity()


def test_a_condition_alone_is_what_is_counted() -> None:
    plain = Count(where="steps > 0")
    assert plain == Count("steps > 0", equals=True)
    assert (plain.where, plain.privately_filtered) == (None, False)
    assert query_from_dict(json.loads(plain.to_json())) == plain
    assert plain.description == "the number of records with (steps > 0) = True"
    assert Proportion(where="steps > 0", size=4).sensitivity == 0.25
    chain = bdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], states=[False, True], state="steps > 0", length=9)
    assert bdp.leakage(chain, plain, tau=1.0).epsilon == bdp.leakage(chain, Count(equals=True), tau=1.0).epsilon
    with pytest.raises(QueryError, match="the model describes 'steps > 0', but the query is about 'steps > 9'"):
        bdp.leakage(chain, Count(where="steps > 9"), tau=1.0)
    with pytest.raises(QueryError, match="the number of records that pass a public filter is public"):
        Count(where="district = 3", public_filter=True)
    for column, condition in (("steps", "steps > 0"), ("steps", None), (None, None)):
        with pytest.raises(QueryError, match=r'a condition alone: Count\(where="steps > 0"\)'):
            Count(column, where=condition)


def test_a_condition_alone_is_released_and_asked_again_for_free(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = polars.DataFrame({"age": [10, 30, 50, 70] * 50, "ill": [True, False] * 100})
    with bdp.Session(table, bdp.ArbitraryGroups(4), epsilon=1e7, dataset="people") as session:
        answer = session.release(Count(where="age > 20 and ill"), epsilon=1e6)
        assert answer.value == 50
        assert session.release(Count("ill and 20 < age", equals=True), epsilon=1e6).reused
    data, model = tmp_path / "people.parquet", tmp_path / "model.json"
    table.write_parquet(data)
    model.write_text('{"type": "arbitrary", "size": 4}')
    asked = ["--query", "count", "--where", "age > 20", "--epsilon", "1e6", "--budget", "1e7", "--json"]
    given = ["--model", str(model), "--ledger", str(tmp_path / "l.db"), "--dataset", "people"]
    assert run(["release", str(data), *asked, *given]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == 150
