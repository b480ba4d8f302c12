"""Models estimated from tables, of every kind: diagnosed on another, to JSON and back; and the options of `fit`."""

import json
import math
from collections.abc import Iterator
from copy import deepcopy
from inspect import signature
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from fitting_tables import PEOPLE, activity, litters  # type: ignore[import-not-found]
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import AnyOf, ArbitraryGroups, Count, GaussianGroups, MarkovChain, Model, Sum, leakage
from bayesdp.errors import BayesDPError, FrameError, ModelError
from bayesdp.experiments.data import load
from bayesdp.models.fit_option import FitOption

# --- diagnoses of another table ---------------------------------------------------------------------------------------


def test_diagnoses_refuse_what_the_fit_would_refuse() -> None:
    draw = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "family": [i // 3 for i in range(60)],
            "role": ["a", "b", "c"] * 20,
            "v": draw.normal(size=60),
            "w": draw.normal(size=60),
        }
    )
    roles = GaussianGroups.fit(frame, value="v", group="family", role="role")
    members = GaussianGroups.fit(frame, value="v", group="family")
    wide = GaussianGroups.fit(frame, value=["v", "w"])
    holes = pl.when(pl.col("w") > 0).then(pl.col("v"))
    for model in (roles, members, wide):
        for odd, message in (
            (frame.clear(), "is empty"),
            (frame.drop("v"), "has no column 'v'"),
            (frame.with_columns(v=holes), "values are missing"),
            (frame.with_columns(v=holes.otherwise(math.inf)), "infinite"),
            (frame.with_columns(v=pl.col("role")), "it is not numeric"),
            (frame.with_columns(v=pl.col("v") > 0), "it is not numeric"),
        ):
            with pytest.raises(FrameError, match=message):
                model.diagnose(odd)
    lost = pl.when(pl.col("w") > 0).then(pl.col("family"))
    for model in (roles, members):
        with pytest.raises(FrameError, match="belong to no group"):
            model.diagnose(frame.with_columns(family=lost))
    for odd in (frame.filter(pl.col("role") != "c"), frame.with_columns(role=pl.col("role") + "x")):
        with pytest.raises(
            FrameError, match=r"the roles in the table are not those of the model, a, b, c; fit it again$"
        ):
            roles.diagnose(odd)
    with pytest.raises(FrameError, match="20 groups of the table have more than one record in the role 'a'"):
        roles.diagnose(pl.concat([frame, frame]))
    for bare in (GaussianGroups(correlation=0.1, size=3), MarkovChain([[1.0]])):
        with pytest.raises(ModelError, match="does not name its columns"):
            bare.diagnose(frame)


def test_a_model_built_by_hand_is_diagnosed_in_the_columns_named() -> None:
    steps = load("activity").frame
    fitted = activity()
    by_hand = MarkovChain(fitted.transition, states=[False, True], length=15_264, gaps=True)
    options: dict[str, Any] = {"state": "steps > 0", "order_by": ["date", "interval"], "missing": "drop"}
    found, expected = by_hand.diagnose(steps, **options), fitted.diagnose(steps)
    assert [each.name for each in found.findings] == [each.name for each in expected.findings]
    assert found.findings[:-1] == expected.findings[:-1]
    assert fitted.diagnose(steps, **options) == expected
    assert fitted.diagnose(steps.drop_nulls(), missing="error").records == 15_264
    with pytest.raises(ModelError, match="describes 'steps > 0', not 'steps > 1'"):
        fitted.diagnose(steps, state="steps > 1", order_by="date")
    with pytest.raises(ModelError, match="does not name its columns"):
        by_hand.diagnose(steps, state="steps > 0")
    with pytest.raises(FrameError, match="2304 records have no"):
        by_hand.diagnose(steps, state="steps > 0", order_by=["date", "interval"])
    bound = GaussianGroups(correlation=0.2, size=2)
    scores = load("familyiq").frame
    verdicts = {each.name: each.verdict for each in bound.diagnose(scores, value=["kid_score", "mom_iq"]).findings}
    assert verdicts["correlations"] == "violated"
    weights = GaussianGroups(correlation=0.9, size=6, column="weight")
    assert weights.diagnose(litters(), group="litter").records == litters().height
    with pytest.raises(ModelError, match="describes 'weight', not litter"):
        weights.diagnose(litters(), value="litter", group="litter")
    with pytest.raises(ModelError, match="one value column needs group="):
        weights.diagnose(litters())


# --- JSON -------------------------------------------------------------------------------------------------------------


def fitted() -> list[Model]:
    steps = PEOPLE.with_columns(day=pl.date(2024, 2, 27) + pl.duration(days=pl.col("t")))
    families = litters().with_columns(role=pl.int_range(pl.len()).over("litter").cast(pl.String))
    twins = families.filter(pl.col("role").is_in(["0", "1"]))
    return [
        activity(record="interval"),
        MarkovChain.fit(steps, state="state", order_by="day", entity=["who"], step="1d"),
        MarkovChain.fit(steps, state="v > 2", order_by="t", entity="who", step=1, smoothing=0.25, start="any"),
        GaussianGroups.fit(families, value="weight", group="litter", distance=3),
        GaussianGroups.fit(twins, value="weight", group="litter", role="role"),
        GaussianGroups.fit(load("familyiq").frame, value=["kid_score", "mom_iq"], missing="drop"),
    ]


FITTED = fitted()
FITTED.append(AnyOf(FITTED[1], ArbitraryGroups(7)))


@pytest.mark.parametrize("model", FITTED, ids=lambda model: model.kind)
def test_fitted_models_survive_json(model: Model, tmp_path: Path) -> None:
    again = Model.from_json(model.to_json())
    assert again == model
    assert hash(again) == hash(model)
    assert again.to_json() == model.to_json()
    (tmp_path / "model.json").write_text(model.to_json(indent=2), encoding="utf-8")
    assert Model.load(tmp_path / "model.json") == model
    if not isinstance(model, AnyOf):
        assert getattr(again, "layout", None) == getattr(model, "layout", None) is not None


def edited(model: Model, **entries: Any) -> dict[str, Any]:
    return model.to_dict() | entries


def inside(model: Model, **entries: Any) -> dict[str, Any]:
    return edited(model, moments=model.to_dict()["moments"] | entries)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (edited(FITTED[0], counts=[[1, 2]]), "counts must be square"),
        (edited(FITTED[0], counts=[[1, -2], [3, 4]]), "counts, row 0, column 1 must be a whole number"),
        (edited(FITTED[0], counts=[[1, 2.5], [3, 4]]), "counts, row 0, column 1 must be a whole number"),
        (
            edited(FITTED[0], transition=[[1, 0], [0.5, 0.5]]),
            "disagree: row 0, column 0 has the probability 1, but 9713",
        ),
        (edited(FITTED[0], transition=[[0.9, 0.2], [0.5, 0.5]]), "row 0 must sum to 1"),
        (edited(FITTED[0], states=[False, 0]), r"states\[1\] is 0, a duplicate"),
        (edited(FITTED[0], length=0), "length must be at least 1"),
        (edited(FITTED[0], gaps="yes"), "gaps must be true or false"),
        (edited(FITTED[0], layout=[]), '"layout" must be an object'),
        (edited(FITTED[0], layout={"order_by": []}), "order_by names no column"),
        (edited(FITTED[0], layout={}), '"layout" is incomplete'),
        (edited(FITTED[0], layout={"order_by": "t", "by": 3}), '"layout" must be an object with some of'),
        (edited(FITTED[0], layout={"order_by": ["t"], "dropped": 1}), "dropped must be true or false"),
        (edited(FITTED[0], layout={"order_by": ["t"], "step": -1}), "step must be greater than 0"),
        (edited(FITTED[0], layout={"value": ["v"]}), '"layout" must be an object with some of'),
        (edited(FITTED[0], counts=[[1, 2], [3, 4]]), "counts and transition disagree: row 0, column 0"),
        (edited(FITTED[0], counts=[[9713, 1295], [1495, 2955]]), "counts and transition disagree: row 1, column 0"),
        (edited(FITTED[2], counts=[[0, 0], [0, 0]]), "counts and transition disagree"),
        (inside(FITTED[3], between=10.0), "the moments disagree: between is 10, but"),
        (inside(FITTED[3], mean=0.0), "the moments disagree: mean is 0, but"),
        (inside(FITTED[3], size=4.0), "the moments disagree: size is 4, but"),
        (inside(FITTED[3], within=1000.0), "covariance and moments disagree: row 0, column 0"),
        (
            edited(FITTED[3], covariance=np.eye(6).tolist()),
            "covariance and moments disagree: row 0, column 0 is 1, but",
        ),
        (edited(FITTED[5], covariance=[[400, 0], [0, 225]]), "covariance and moments disagree: row 0, column 0"),
        (edited(FITTED[6], models=[edited(FITTED[1], counts=[[9, 1], [1, 9]])]), "counts and transition disagree"),
        (edited(FITTED[3], moments={}), '"moments" must be an object'),
        (edited(FITTED[3], moments=None, layout={"value": ["v"]}), "needs group="),
        (edited(FITTED[4], moments={"groups": 1, "mean": [0], "covariance": [[1]]}), "groups must be at least 2"),
        (edited(FITTED[4], covariance=[[1, 2], [2, 1]]), "more than the two variances allow"),
        (edited(FITTED[4], covariance=[[1, 0.5], [0.4, 1]]), "must be symmetric"),
        (edited(FITTED[4], surprise=1), 'has no "surprise"'),
    ],
)
def test_models_edited_into_nonsense_are_refused_with_the_reason(document: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Model.from_json(json.dumps(document))


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        [0, 1, -1, 2, 3, 10**18, 10**400, -(10**400), 0.5, 1e308, -1e308, 5e-324, 1e-320, "", " ", "a", "1d"]
    ),
    st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=3),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inside = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, each in inside:
        yield from places(each, (*path, key))


OPTIONAL = ["counts", "moments", "diagnosis", "column", "record", "length"]
"""Models without these are models, too: without such edits hardly any is."""


@st.composite
def mutations(draw: st.DrawFn) -> Any:
    """Draw the JSON of a fitted model with some entries replaced, removed or added."""
    document: Any = deepcopy(draw(st.sampled_from(FITTED)).to_dict())
    for key in draw(st.sets(st.sampled_from(OPTIONAL))):
        document.pop(key, None)
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from([path for path in places(document) if path]))
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        change = draw(st.sampled_from(["replace", "remove", "add", "scale"]))
        if change == "remove":
            del parent[path[-1]]
        elif change == "add" and isinstance(parent, list):
            parent.append(draw(VALUES))
        elif change == "scale" and isinstance(parent[path[-1]], int | float) and abs(parent[path[-1]]) <= 1e308:
            parent[path[-1]] = parent[path[-1]] * draw(st.sampled_from([-1, 2, 1e-300, 1e300, 0.999999, 0]))
        else:
            parent[path[-1]] = draw(VALUES)
    return document


@given(mutations())
def test_an_edited_model_is_a_model_or_refused(document: Any) -> None:
    try:
        model = Model.from_json(json.dumps(document))
    except BayesDPError:
        return
    assert Model.from_json(model.to_json()) == model
    assert hash(model) == hash(Model.from_json(model.to_json()))
    assert model.assumption
    with np.errstate(all="ignore"):
        try:
            drawn = list(islice(model.draws(np.random.default_rng(1)), 2))
            assert len(drawn) == 2
        except BayesDPError:
            pass
        try:
            column = model.columns[0] if model.columns else "x"
            query = (
                Count(column, equals=model.states[0]) if isinstance(model, MarkovChain) else Sum(column, bounds=(0, 1))
            )
            assert leakage(model, query, tau=0.1).epsilon >= 0.1 * (1 - 1e-9)
        except BayesDPError:
            pass


DECLARED = [model for model in Model.types().values() if model.fit_options and model.__module__.startswith("bayesdp.")]
DECLARED_AND_DIAGNOSED = [model for model in DECLARED if model.diagnose is not Model.diagnose]


def test_the_flag_is_the_keyword_with_hyphens() -> None:
    assert FitOption("order_by", "the order.").flag == "--order-by"
    assert FitOption("value", "the value.").flag == "--value"


@pytest.mark.parametrize("model", DECLARED, ids=lambda model: model.kind)
def test_names_stand_once_and_what_is_required_has_an_example(model: type[Model]) -> None:
    names = [option.name for option in model.fit_options]
    assert sorted(set(names)) == sorted(names)
    for option in model.fit_options:
        assert option.name in signature(model.fit).parameters
        assert option.help.endswith(".")
        assert not (option.required and option.default is not None)
        assert option.example is not None or not option.required


@pytest.mark.parametrize("model", DECLARED_AND_DIAGNOSED, ids=lambda model: model.kind)
def test_what_locates_records_is_a_keyword_of_diagnose(model: type[Model]) -> None:
    keywords = signature(model.diagnose).parameters
    assert {option.name for option in model.fit_options if option.locates} <= set(keywords)
