import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from bayesdp import (
    AnyOf,
    ArbitraryGroups,
    Count,
    GaussianGroups,
    HiddenMarkov,
    Independent,
    MarkovChain,
    Model,
    Network,
)
from bayesdp.errors import InvalidInputError, ModelError, QueryError
from bayesdp.models.layout import ChainLayout, GroupLayout
from bayesdp.models.moments import read_moments
from bayesdp.models.series_moments import SeriesMoments
from bayesdp.testing import every_case
from bayesdp.testing.cases import Case

CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["idle", "active"], length=1000, column="s")

EXAMPLES: list[Model] = [
    Independent(),
    Independent(column="x", record="visit"),
    ArbitraryGroups(3),
    GaussianGroups(correlation=0.275, size=3, column="height", distance=12.5),
    GaussianGroups(covariance=[[1, 0.1], [0.1, 2]]),
    GaussianGroups(covariance=[[[1, 0.1], [0.1, 2]], [[3]]]),
    GaussianGroups.from_moments([69.0, 64.0], [[6, 1], [1, 5]], groups=197),
    CHAIN,
    MarkovChain([[1.0]]),
    MarkovChain([[0, 1], [1, 0]], start="any", gaps=True, state="steps > 0", states=(False, True)),
    MarkovChain.from_counts([[8, 2], [3, 1]], states=[1, "1"]),
    AnyOf(CHAIN, MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=["idle", "active"], column="s")),
    HiddenMarkov([[0.9, 0.1], [0.4, 0.6]], [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], states=list("abc"), length=9),
    HiddenMarkov(transition_odds=81, emission_odds=9, state="steps > 0", states=(False, True)),
    Network(odds=1.5, degree=4),
    Network(odds=2, degree=3, forest=True, records=100, group="school", column="grade"),
    Network(edges=[(2, 1, 9), (0, 1, 1.5)], records=4, hidden=[3, 0], position="seat"),
    AnyOf(Independent(), ArbitraryGroups(2), column="x"),
    AnyOf(Independent(record="visit"), ArbitraryGroups(2)),
]


@pytest.mark.parametrize("model", EXAMPLES, ids=repr)
def test_models_survive_json_and_hashing(model: Model) -> None:
    assert Model.from_json(model.to_json()) == model
    assert hash(Model.from_json(model.to_json())) == hash(model)
    assert model.to_dict()["schema"] == 1
    assert model.assumption
    assert "not the person" in model.protects


@given(every_case())
def test_random_models_survive_json(case: Case) -> None:
    assert Model.from_json(case.model.to_json()) == case.model


def test_models_are_the_same_whatever_holds_their_numbers() -> None:
    assert MarkovChain(np.array([[0.9, 0.1], [0.4, 0.6]])) == MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    assert GaussianGroups(covariance=np.eye(2)) == GaussianGroups(covariance=[[1, 0], [0, 1]])
    assert GaussianGroups(covariance=np.array([np.eye(2)])) == GaussianGroups(covariance=np.eye(2).tolist())


def test_models_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        CHAIN.length = 5  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        CHAIN.matrix[0, 0] = 0.5
    with pytest.raises(ValueError, match="read-only"):
        GaussianGroups(covariance=[[1.0]]).matrices[0][0, 0] = 2


def test_documented_json_forms_are_read() -> None:
    documents: list[dict[str, Any]] = [
        {"type": "independent"},
        {"type": "arbitrary", "size": 3},
        {"type": "gaussian", "correlation": 0.275, "size": 3},
        {"type": "gaussian", "covariance": [[1, 0.2], [0.2, 1]]},
        {
            "type": "markov",
            "states": ["idle", "active"],
            "transition": [[0.9, 0.1], [0.4, 0.6]],
            "length": 15264,
            "start": "stationary",
        },
        {"type": "markov", "transition": [[0.9, 0.1], [0.4, 0.6]], "length": None, "start": "any"},
        {"type": "any-of", "models": [{"type": "independent"}, {"type": "arbitrary", "size": 2}]},
        {"type": "hidden-markov", "transition": [[0.9, 0.1], [0.4, 0.6]], "emission": [[1, 0], [0, 1]], "length": None},
        {"type": "hidden-markov", "transition_odds": 81, "emission_odds": 9},
        {"type": "network", "odds": 1.5, "degree": 4},
        {"type": "network", "records": 9, "edges": [[0, 1, 1.5], [1, 2, 2]]},
    ]
    for document in documents:
        assert Model.from_dict(document).kind == document["type"]
        assert Model.from_dict({"schema": 1, "column": "x"} | document).subject == "x"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("", "the model is empty"),
        ("[1]", "one JSON object"),
        ("{", "not valid JSON: .* line 1"),
        ('{"type": "arbitrary", "size": NaN}', "contains NaN"),
        ('{"type": "arbitrary", "size": Infinity}', "contains Infinity"),
        ('{"type": "arbitrary", "size": 2, "size": 3}', '"size" twice'),
        ("[" * 100000, "nested too deeply"),
        ('{"size": 3}', 'needs a "type"'),
        ('{"type": "magic"}', '"type" must be one of'),
        ('{"type": ["markov"]}', '"type" must be one of'),
        ('{"type": "arbitrary"}', 'needs "size"'),
        ('{"type": "arbitrary", "size": 3, "m": 4}', 'has no "m"'),
        ('{"type": "independent", "kind": "x"}', 'has no "kind"; it has "column", "diagnosis", "order_by", "record"$'),
        ('{"type": "independent", "about_values": false}', 'has no "about_values"'),
        (
            '{"type": "markov", "transition": [[1]], "_types": {}}',
            'has no "_types"; it has "column", "counts", "diagnosis", "gaps"',
        ),
        ('{"type": "gaussian", "correlation": 0.1, "size": 2, "kind": "gaussian"}', 'has no "kind"'),
        ('{"type": "any-of", "models": [{"type": "independent"}], "kind": 1}', 'has no "kind"'),
        ('{"type": "arbitrary", "size": 2.5}', "size must be a whole number"),
        ('{"type": "arbitrary", "size": true}', "size must be a whole number"),
        ('{"type": "arbitrary", "size": 3, "schema": 2}', "of schema 2, and this version of bayesdp reads schema 1"),
        ('{"type": "arbitrary", "size": 3, "column": 4}', "column must be a non-empty text"),
        ('{"type": "markov"}', 'needs "transition"'),
        ('{"type": "markov", "transition": 1e999}', "transition must be a list"),
        ('{"type": "markov", "transition": [[1e999]]}', "row 0, column 0 must be a finite number"),
        ('{"type": "gaussian"}', "correlation= and size="),
        ('{"type": "gaussian", "correlation": 0.2}', "needs size="),
        ('{"type": "gaussian", "covariance": [[1]], "moments": 3}', '"moments" must be an object'),
        ('{"type": "any-of", "models": []}', "at least one model"),
        ('{"type": "any-of", "models": {}}', "must be a list of models"),
        ('{"type": "any-of", "models": [{"type": "any-of", "models": []}]}', "list its models here"),
        ('{"type": "any-of", "models": [3]}', "must be a JSON object"),
    ],
)
def test_nonsense_json_is_refused_with_the_reason(document: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Model.from_json(document)


def test_a_model_is_saved_and_loaded_again(tmp_path: Path) -> None:
    path, first, second = tmp_path / "model.json", ArbitraryGroups(2), ArbitraryGroups(3)
    first.save(path)
    assert Model.load(path) == first
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidInputError, match=r"model\.json exists; write to another file, or say overwrite=True"):
        second.save(str(path))
    assert Model.load(path) == first
    second.save(path, overwrite=True)
    assert Model.load(path) == second
    with pytest.raises(InvalidInputError, match=r"cannot write .*/nowhere/model"):
        first.save(tmp_path / "nowhere" / "model.json")
    assert [each.name for each in tmp_path.iterdir()] == ["model.json"]


def test_load_names_the_file(tmp_path: Any) -> None:
    path = tmp_path / "model.json"
    path.write_text('{"type": "arbitrary", "size": 0}')
    with pytest.raises(ModelError, match=r"model\.json: size must be at least 1"):
        Model.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInputError, match=r"model\.json is not UTF-8"):
        Model.load(path)
    with pytest.raises(InvalidInputError, match="cannot read"):
        Model.load(tmp_path)
    path.write_text('\ufeff{"type": "arbitrary", "size": 2}', encoding="utf-8")
    assert Model.load(path) == ArbitraryGroups(2)


def test_queries_about_something_else_are_refused() -> None:
    with pytest.raises(QueryError, match="describes 's', but the query is about 'weight'"):
        CHAIN.check_query(Count("weight", equals="idle"))
    with pytest.raises(QueryError, match="'gone' is not a state of the chain; its states are 'idle', 'active'"):
        CHAIN.check_query(Count("s", equals="gone"))
    with pytest.raises(QueryError, match="not a state"):
        AnyOf(CHAIN).check_queries((Count(equals=3),))
    CHAIN.check_query(Count(equals="idle"))
    CHAIN.check_query(Count("s", isin=["idle", "active"]))


def documented() -> list[dict[str, Any]]:
    """Return every JSON object of docs/models.md, in the text, in the table and in the examples."""
    text = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    decoder, found, place = json.JSONDecoder(), [], 0
    while (place := text.find('{"', place)) >= 0:
        document, place = decoder.raw_decode(text, place)
        found.append(document)
    return found


def test_every_json_object_of_the_documentation_is_read() -> None:
    documents = documented()
    ours = {kind for kind, model in Model._types.items() if model.__module__.startswith("bayesdp.")}
    assert {each["type"] for each in documents if "type" in each} == ours
    for each in documents:
        if "type" in each:
            assert Model.from_dict(each).kind == each["type"]
        elif "autocovariances" in each:
            assert SeriesMoments.from_dict(each).to_dict() == each
        elif "groups" in each:
            moments = read_moments(each)
            model = GaussianGroups(covariance=moments.covariance, moments=moments)
            assert Model.from_json(model.to_json()) == model
            assert model.to_dict()["moments"] == each
        else:
            layout: type[ChainLayout | GroupLayout] = ChainLayout if "order_by" in each else GroupLayout
            assert layout.from_dict(each).to_dict() == each
    assert len(documents) > len(ours)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Independent(), '"independent"; fit a chain or groups to see whether records depend on one another'),
        (ArbitraryGroups(3), '"arbitrary": it assumes only the size of groups'),
        (AnyOf(CHAIN, Independent()), '"any-of"; diagnose its models one by one'),
    ],
)
def test_models_without_a_diagnosis_say_so(model: Model, message: str) -> None:
    with pytest.raises(ModelError, match=f"^there is no diagnosis for a model of type {message}"):
        model.diagnose("no.csv", missing=None, state="s")


def test_the_independence_of_groups_and_entities_is_stated() -> None:
    chains = MarkovChain([[0.9, 0.1], [0.4, 0.6]], layout=ChainLayout("time", ["house", "meter"]))
    assert chains.assumption.endswith(
        "one chain for each house, meter, and these chains are independent of one another"
    )
    assert "independent of" not in CHAIN.assumption
    for groups in (
        ArbitraryGroups(4),
        GaussianGroups(correlation=0.2, size=4),
        GaussianGroups(covariance=[[1, 0], [0, 1]]),
    ):
        assert f"groups of at most {groups.group_size} that are independent of one another" in groups.assumption


def test_the_parameters_of_large_models_are_summarised() -> None:
    size = 15
    many = MarkovChain([[(1 + (i == j)) / (size + 1) for j in range(size)] for i in range(size)])
    assert many.parameters == (
        "Transition probabilities between 15 states: from 0.0625 to 0.125; 0 of 225 are 0.\n"
        "Odds ratio of neighbouring records: at most 4."
    )
    large = GaussianGroups(covariance=np.eye(20) * 4 + 0.4)
    assert large.parameters == (
        "Standard deviations from 2.098 to 2.098; every correlation is at most 0.09091 in absolute value."
    )


def test_a_record_that_is_a_person_hides_no_person_behind_it() -> None:
    assert Independent(record="person").protects == "one person"
    assert ArbitraryGroups(4, record="person", unit="group").protects == "a whole group of at most 4 persons"
    assert ArbitraryGroups(4, record="visit", unit="group").protects.endswith("who is the group is protected")
