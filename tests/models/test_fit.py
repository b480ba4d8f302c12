"""Models estimated from tables: the paper's data, by hand and by statsmodels; to JSON and back, edited or not."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import AnyOf, ArbitraryGroups, Count, GaussianGroups, MarkovChain, Model, Sum, leakage
from bayesdp.errors import BayesDPError, FrameError, ModelError
from bayesdp.experiments.data import load
from bayesdp.models.layout import ChainLayout
from bayesdp.models.moments import AnovaMoments, Moments

FILES = Path(__file__).parents[3] / "shared" / "data"
FOLDER = FILES if FILES.is_dir() else None
"""Without the original files beside the repository, their built-in twins will do: they have the same moments."""


def activity(**options: Any) -> MarkovChain:
    frame = load("activity", FOLDER).frame
    return MarkovChain.fit(frame, state="steps > 0", order_by=["date", "interval"], missing="drop", **options)


# --- the paper's data -------------------------------------------------------------------------------------------------


def test_activity() -> None:
    chain = activity(record="5-minute interval")
    assert chain.counts == ((9713, 1295), (1295, 2955))
    assert (chain.length, chain.gaps, chain.states) == (15_264, True, (False, True))
    assert chain.gamma == pytest.approx(7.500, abs=5e-4)
    assert (chain.state, chain.column, chain.record) == ("steps > 0", None, "5-minute interval")
    assert chain.layout == ChainLayout(["date", "interval"], dropped=True)
    assert chain.dropped
    assert chain.estimated
    found = load("activity", FOLDER).frame.sort("date", "interval")["steps"].to_list()
    pairs = Counter((before > 0, now > 0) for before, now in pairwise(found) if None not in (before, now))
    assert chain.counts == tuple(tuple(pairs[before, now] for now in (False, True)) for before in (False, True))


@pytest.mark.skipif(FOLDER is None, reason=f"the original files are not in {FILES}")
def test_activity_from_its_file() -> None:
    for path in (FILES / "activity.csv", str(FILES / "act*.csv")):
        chain = MarkovChain.fit(path, state="steps > 0", order_by=["date", "interval"], missing="drop")
        assert chain.counts == activity().counts
    with pytest.raises(FrameError, match=r"activity\.csv: 2304 records have no 'steps > 0'; .*missing=\"drop\""):
        MarkovChain.fit(FILES / "activity.csv", state="steps > 0", order_by=["date", "interval"])
    with pytest.raises(FrameError, match=r"17280 records .* have the same interval .*breaks the ties .*entity="):
        MarkovChain.fit(FILES / "activity.csv", state="steps > 0", order_by="interval", missing="drop")


def test_galton() -> None:
    family = GaussianGroups.fit(load("galton", FOLDER).frame, value=["height", "father", "mother"])
    correlations = np.corrcoef(load("galton", FOLDER).frame.select("height", "father", "mother").to_numpy().T)
    found = correlation(family)
    assert found[0, 1] == pytest.approx(0.2754, abs=5e-5)
    assert found[0, 2] == pytest.approx(0.2017, abs=5e-5)
    assert found[1, 2] == pytest.approx(0.0737, abs=5e-5)
    assert found == pytest.approx(correlations, abs=1e-6)
    assert family.largest_correlation == pytest.approx(0.2754, abs=5e-5)
    assert isinstance(family.moments, Moments)
    assert (family.moments.groups, family.moments.roles) == (898, ("height", "father", "mother"))
    assert (family.column, family.columns, family.group_size) == (None, ("height", "father", "mother"), 3)


def correlation(model: GaussianGroups) -> Any:
    deviations = np.sqrt(np.diag(model.matrices[0]))
    return model.matrices[0] / deviations[:, None] / deviations[None, :]


def test_family_iq() -> None:
    frame = load("familyiq", FOLDER).frame
    model = GaussianGroups.fit(frame, value=["kid_score", "mom_iq"])
    assert correlation(model)[0, 1] == pytest.approx(0.4483, abs=5e-5)
    assert np.sqrt(np.diag(model.matrices[0])) == pytest.approx([20.41, 15.00], abs=5e-3)
    bound = GaussianGroups(correlation=0.5, size=2).diagnose(frame, value=["kid_score", "mom_iq"])
    variances = next(finding for finding in bound.findings if "variance" in finding.name)
    assert variances.verdict == "violated"
    assert variances.values["p_value"] < 1e-6
    assert not any("variance" in finding.name.replace("covariance", "") for finding in model.diagnose(frame).findings)


# --- exchangeable members ---------------------------------------------------------------------------------------------


def litters(seed: int = 1, groups: int = 40) -> pl.DataFrame:
    """Return whole numbers in groups of one to six: nothing is rounded on the grid."""
    draw = np.random.default_rng(seed)
    rows = [
        (group, round(100 + common + draw.normal(0, 20)))
        for group in range(groups)
        for common in [draw.normal(0, 15)]
        for _ in range(draw.integers(1, 7))
    ]
    return pl.DataFrame(rows, schema=["litter", "weight"], orient="row").sample(fraction=1, shuffle=True, seed=seed)


def mean_squares(frame: pl.DataFrame) -> tuple[float, float, float]:
    """Return what a textbook says: the mean squares between and within groups, and the typical size."""
    groups = [np.array(group["weight"].to_list(), float) for _, group in frame.group_by("litter")]
    values = np.concatenate(groups)
    between = math.fsum(len(group) * (group.mean() - values.mean()) ** 2 for group in groups) / (len(groups) - 1)
    within = math.fsum(((group - group.mean()) ** 2).sum() for group in groups) / (len(values) - len(groups))
    size = (len(values) - sum(len(group) ** 2 for group in groups) / len(values)) / (len(groups) - 1)
    return between, within, size


def test_the_intraclass_correlation_by_hand() -> None:
    frame = litters()
    model = GaussianGroups.fit(frame, value="weight", group="litter")
    between, within, size = mean_squares(frame)
    common = (between - within) / size
    assert model.largest_correlation == pytest.approx(common / (common + within), abs=1e-9)
    assert isinstance(model.moments, AnovaMoments)
    assert model.moments.correlation == pytest.approx(common / (common + within), abs=1e-9)
    assert (model.moments.groups, model.moments.records) == (40, frame.height)
    assert (model.group_size, model.column) == (6, "weight")
    assert model.matrices[0][0, 0] == pytest.approx(common + within, rel=1e-12)


def test_the_analysis_of_variance_of_statsmodels() -> None:
    smf, anova = pytest.importorskip("statsmodels.formula.api"), pytest.importorskip("statsmodels.stats.anova")
    pytest.importorskip("pandas")
    frame = litters(2)
    table = anova.anova_lm(smf.ols("weight ~ C(litter)", frame.to_pandas()).fit())
    moments = GaussianGroups.fit(frame, value="weight", group="litter").moments
    assert isinstance(moments, AnovaMoments)
    assert moments.between == pytest.approx(table["mean_sq"]["C(litter)"], rel=1e-9)
    assert moments.within == pytest.approx(table["mean_sq"]["Residual"], rel=1e-9)


def test_roles_and_wide_tables_are_the_same_covariance() -> None:
    draw = np.random.default_rng(3)
    wide = pl.DataFrame({"child": draw.integers(0, 100, 50), "mother": draw.integers(0, 100, 50), "family": range(50)})
    long = wide.unpivot(["child", "mother"], index="family", variable_name="role").sample(fraction=1, shuffle=True)
    by_role = GaussianGroups.fit(long, value="value", group="family", role="role")
    by_column = GaussianGroups.fit(wide, value=["child", "mother"])
    assert by_role.covariance == by_column.covariance
    assert by_role.matrices[0] == pytest.approx(np.cov(wide.select("child", "mother").to_numpy().T), rel=1e-12)
    assert (by_role.column, by_column.column) == ("value", None)


# --- refusals ---------------------------------------------------------------------------------------------------------

PEOPLE = pl.DataFrame(
    {
        "who": [1, 1, 1, 2, 2, 2],
        "role": ["a", "b", "c", "a", "b", "c"],
        "t": [1, 2, 3, 1, 2, 3],
        "state": ["x", "y", "x", "y", "y", "x"],
        "v": [1.0, 2.0, 4.0, 8.0, 5.0, 7.0],
    }
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"order_by": "t"},
            "3 records of the table have the same t as .*add a column that breaks the ties to order_by, or",
        ),
        ({"order_by": []}, "order_by names no column"),
        ({"order_by": None}, "order_by names no column"),
        ({"order_by": ["t", "t"]}, "order_by names a column twice"),
        ({"order_by": 3}, "order_by must be a non-empty text such as the name of a column, not something of type int"),
        ({"order_by": [""]}, "order_by must be a non-empty text"),
        ({"order_by": "t", "entity": 4}, "entity must be a non-empty text .*of type int; columns .* must be renamed"),
        ({"order_by": "time"}, "has no column 'time'"),
        ({"order_by": "t", "entity": "whom"}, "has no column 'whom'"),
        ({"order_by": ["who", "t"], "step": 1}, "step= is the spacing of one order column, but order_by names 2"),
        ({"order_by": "t", "step": 0}, "step must be greater than 0"),
        ({"order_by": "t", "step": True}, "step must be a number"),
        ({"order_by": "t", "step": math.inf}, "step must be a finite number"),
        ({"order_by": "t", "step": 10**400}, "too large"),
        ({"order_by": "t", "entity": "who", "step": "5m"}, "step must be a number greater than 0, not '5m'"),
        ({"order_by": ["t", "who"], "smoothing": -1}, "smoothing must be at least 0"),
        ({"order_by": ["t", "who"], "smoothing": math.nan}, "smoothing must be a finite number"),
        ({"order_by": ["t", "who"], "start": "now"}, 'start must be "stationary" or "any"'),
        ({"order_by": ["t", "who"], "record": ""}, "record must be a non-empty text"),
        ({"order_by": ["t", "who"], "state": None}, "state must be a non-empty text"),
        ({"order_by": ["t", "who"], "state": "nothing"}, "has no column 'nothing'"),
        ({"order_by": ["t", "who"], "state": "state =="}, "cannot read 'state =='"),
        ({"order_by": ["t", "who"], "state": "t >= 0"}, r"row 0 \(False\) is empty: .*smoothing"),
        ({"order_by": ["who", "t"], "state": "who"}, "there is no way from state 2 to state 1"),
        ({"order_by": "t", "entity": ["who", "role"]}, r"row 0 \('x'\) is empty: the state was never left"),
    ],
)
def test_chains_that_cannot_be_estimated(options: dict[str, Any], message: str) -> None:
    with pytest.raises((FrameError, ModelError, BayesDPError), match=message):
        MarkovChain.fit(PEOPLE, **{"state": "state", **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value": "v", "group": "who"}, None),
        ({"value": "v"}, "one value column needs group="),
        ({"value": "v", "role": "role"}, "one value column needs group="),
        ({"value": []}, "value names no column"),
        ({"value": None}, "value names no column"),
        ({"value": ["v", "v"]}, "value names a column twice"),
        ({"value": ["v", "t"], "group": "who"}, "several value columns mean one row a group"),
        ({"value": "v", "group": "v"}, "every group of the table has one record only; nothing can be said"),
        ({"value": "v", "group": ["who", "role"]}, "every group of the table has one record only"),
        ({"value": "v", "group": "who", "role": "who"}, "more than one record in the role '1'; .*leave role= out"),
        ({"value": "v", "group": "t", "role": "role"}, "more than one record in the role 'a'"),
        ({"value": "v", "group": "who", "role": "t"}, "not positive definite .*ArbitraryGroups"),
        ({"value": "v", "group": "who", "role": "state"}, "more than one record in the role"),
        ({"value": "v", "group": "who", "role": 3}, "role must be a non-empty text"),
        ({"value": "state", "group": "who"}, "column 'state' of the table holds no numbers"),
        ({"value": ["v", "state"]}, "column 'state' of the table holds no numbers"),
        ({"value": "v > 1", "group": "who"}, "has no column 'v > 1'"),
        ({"value": "v", "group": "whom"}, "has no column 'whom'"),
        ({"value": "v", "group": "who", "distance": 0}, "distance must be greater than 0"),
        ({"value": "v", "group": "who", "record": 3}, "record must be a non-empty text"),
        ({"value": "v", "group": "who", "missing": "maybe"}, 'missing must be "error" or "drop"'),
    ],
)
def test_groups_that_cannot_be_estimated(options: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert GaussianGroups.fit(PEOPLE, **options).group_size == 3
        return
    with pytest.raises((FrameError, ModelError), match=message):
        GaussianGroups.fit(PEOPLE, **options)


def test_unseen_transitions_stay_impossible_unless_smoothed() -> None:
    frame = pl.DataFrame({"t": range(9), "s": ["a", "b", "c", "a", "b", "c", "a", "b", "a"]})
    chain = MarkovChain.fit(frame, state="s", order_by="t")
    assert chain.counts == ((0, 3, 0), (1, 0, 2), (2, 0, 0))
    assert chain.transition == ((0, 1, 0), (1 / 3, 0, 2 / 3), (1, 0, 0))
    assert chain.gamma == math.inf
    smooth = MarkovChain.fit(frame, state="s", order_by="t", smoothing=0.5)
    assert smooth.counts == chain.counts
    assert smooth.transition[0] == (0.5 / 4.5, 3.5 / 4.5, 0.5 / 4.5)
    assert not chain.gaps
    assert (chain.column, chain.state, chain.states) == ("s", None, ("a", "b", "c"))


def test_states_keep_their_type() -> None:
    def states(values: list[Any]) -> Any:
        return MarkovChain.fit(pl.DataFrame({"t": range(len(values)), "s": values}), state="s", order_by="t").states

    assert states([2.0, 0.5, 2.0, 2.0]) == (0.5, 2)
    assert states([2**63 - 1, -(2**63), 2**63 - 1]) == (-(2**63), 2**63 - 1)
    assert states([True, False, True]) == (False, True)
    assert states(["é", "e", "é"]) == ("e", "é")
    with pytest.raises(ModelError, match="finite"):
        states([1.0, math.inf, 1.0])


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
            (frame.with_columns(v=pl.col("role")), "holds no numbers"),
            (frame.with_columns(v=pl.col("v") > 0), "holds no numbers"),
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
        with pytest.raises(ModelError, match="does not say which columns it is about"):
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
    with pytest.raises(ModelError, match="does not say which columns"):
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
        (edited(FITTED[0], states=[False, 0]), r"states\[1\] is 0, which stands there already"),
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


# --- counts and moments agree with the parameters, or the model is refused --------------------------------------------


def reads_back(model: Model) -> None:
    assert Model.from_json(model.to_json()) == model


@st.composite
def tallies(draw: st.DrawFn) -> Any:
    """Draw transition counts: empty rows, unseen transitions and counts up to the largest."""
    size = draw(st.integers(1, 4))
    count = st.just(0) | st.integers(0, 20) | st.sampled_from([10**9, 2**53 - 1, 2**53])
    return draw(st.lists(st.lists(count, min_size=size, max_size=size), min_size=size, max_size=size))


@given(tallies(), st.sampled_from([0.0, 5e-324, 1e-310, 1e-12, 0.25, 1, 1000, 1e12, 1e300]) | st.floats(0, 1e6))
def test_chains_estimated_from_counts_agree_with_them(counts: Any, smoothing: float) -> None:
    if smoothing == 0 and not all(map(any, counts)):
        return
    reads_back(MarkovChain.from_counts(counts, smoothing=smoothing, start="any"))


@given(
    st.lists(st.lists(st.integers(1, 1000), min_size=3, max_size=3), min_size=3, max_size=3),
    st.sampled_from([0.0, 0.5, 3.0]),
    st.integers(0, 2),
    st.sampled_from([0.1, 0.2, 0.5]),
)
def test_a_probability_that_was_moved_contradicts_the_counts(
    counts: Any, smoothing: float, row: int, share: float
) -> None:
    counts[(row + 1) % 3] = [1, 2, 3]  # a row that tells the smoothing
    document = MarkovChain.from_counts(counts, smoothing=smoothing).to_dict()
    largest = int(np.argmax(document["transition"][row]))
    moved = share * document["transition"][row][largest]
    document["transition"][row][largest] -= moved
    document["transition"][row][(largest + 1) % 3] += moved
    with pytest.raises(ModelError, match="counts and transition disagree"):
        Model.from_dict(document)


def test_probabilities_must_be_those_of_the_counts_but_for_rounding() -> None:
    counts = [[9713, 1295], [1295, 2955]]
    assert MarkovChain([[0.88, 0.12], [0.3, 0.7]], counts=counts).estimated
    with pytest.raises(ModelError, match=r"row 1, column 0 has the probability 0\.29, but 1295 of 4250 counts"):
        MarkovChain([[0.88, 0.12], [0.29, 0.71]], counts=counts)
    for matrix, seen in (
        ([[1, 0], [0.5, 0.5]], [[996, 4], [500, 500]]),
        ([[0.995, 0.005], [0.1, 0.9]], [[9999, 1], [100, 900]]),
    ):
        with pytest.raises(ModelError, match="disagree: row"):  # ratios are what leaks
            MarkovChain(matrix, counts=seen, start="any")
    with pytest.raises(ModelError, match=r"disagree: row 1, column 0 has the probability 0\.4, but 4 of 11"):
        MarkovChain([[0.9, 0.1], [0.4, 0.6]], counts=[[9, 1], [4, 7]])
    exact = MarkovChain.from_counts(counts)
    assert MarkovChain(exact.transition, counts=counts) == exact
    smoothed = MarkovChain.from_counts([[1, 2], [2, 1]], smoothing=1)
    assert MarkovChain([[0.4, 0.6], [0.6, 0.4]], counts=[[1, 2], [2, 1]]) == smoothed
    with pytest.raises(ModelError, match="disagree"):  # one row would take a smoothing of 1, the other of 0
        MarkovChain([[0.4, 0.6], [2 / 3, 1 / 3]], counts=[[1, 2], [2, 1]])
    with pytest.raises(ModelError, match="disagree: row 1, column 0"):  # never left: any smoothing makes it even
        MarkovChain([[1 / 3, 2 / 3], [0.6, 0.4]], counts=[[1, 2], [0, 0]])


@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1.0, 1e9, -1e15]),
    st.sampled_from([1e-150, 1e-6, 1.0, 1e6, 1e100]),
    st.floats(0, 0.95),
    st.sampled_from([0.0, 0.3]),
)
def test_groups_that_were_fitted_agree_with_their_moments(
    seed: int, centre: float, scale: float, alike: float, lost: float
) -> None:
    draw = np.random.default_rng(seed)
    groups = int(draw.integers(5, 30))
    rows = [
        {"g": group, "role": str(member), "v": scale * (centre + math.sqrt(alike) * common + own)}
        for group in range(groups)
        for common in [draw.normal()]
        for member, own in enumerate(math.sqrt(1 - alike) * draw.normal(size=int(draw.integers(1, 4))))
    ]
    frame = pl.DataFrame(rows).with_columns(
        v=pl.when(pl.Series(draw.random(len(rows)) >= lost)).then(pl.col("v")),
    )
    wide = frame.pivot("role", index="g", values="v")
    columns = [name for name in wide.columns if name != "g"]
    refused = []
    tables: list[tuple[pl.DataFrame, dict[str, Any]]] = [
        (frame, {"value": "v", "group": "g"}),
        (frame, {"value": "v", "group": "g", "role": "role"}),
        (wide, {"value": columns}),
    ]
    for table, options in tables:
        try:
            model = GaussianGroups.fit(table, missing="drop", diagnose=False, **options)
        except BayesDPError as refusal:
            refused.append(str(refusal))
            continue
        reads_back(model)
        reads_back(AnyOf(model, ArbitraryGroups(3)))
    assert "disagree" not in "".join(refused)


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


@st.composite
def mutations(draw: st.DrawFn) -> Any:
    """Draw the JSON of a fitted model with some entries replaced, removed or added."""
    document: Any = deepcopy(draw(st.sampled_from(FITTED)).to_dict())
    for _ in range(draw(st.integers(1, 3))):
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


# --- size -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_hundred_states_from_ten_million_rows() -> None:
    rows, states = 10_000_000, 100
    draw = np.random.default_rng(6)
    chain = draw.integers(0, states, rows)
    order = draw.permutation(rows)
    frame = pl.DataFrame({"t": order, "s": chain[order]})
    model = MarkovChain.fit(frame.lazy(), state="s", order_by="t", step=1)
    counts = np.bincount(chain[:-1] * states + chain[1:], minlength=states**2).reshape(states, states)
    assert np.array_equal(np.array(model.counts), counts)
    assert (model.length, model.gaps, model.states) == (rows, False, tuple(range(states)))
    assert isinstance(model.layout, ChainLayout)
