"""Chains: their stationary law, their reversal, their odds, and the counts they were estimated from."""

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from fitting_tables import FILES, FOLDER, PEOPLE, activity  # type: ignore[import-not-found]
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import AnyOf, Independent, MarkovChain, Model
from bayesdp.errors import BayesDPError, FrameError, ModelError
from bayesdp.experiments.data import load
from bayesdp.models.layout import ChainLayout
from bayesdp.testing import chain_cases
from bayesdp.testing.cases import Case

NOW: Any = "now"
CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["idle", "active"], length=1000, column="s")


def test_the_chain_helpers() -> None:
    assert CHAIN.stationary == pytest.approx([0.8, 0.2])
    assert CHAIN.gamma == pytest.approx(9)
    assert MarkovChain([[0.5, 0.5], [1, 0]]).gamma == np.inf
    assert MarkovChain([[0, 1], [1, 0]]).is_irreducible
    assert not MarkovChain([[0, 1], [1, 0]]).is_primitive
    assert MarkovChain([[0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]]).is_primitive
    with pytest.raises(ModelError, match="no unique stationary law"):
        _ = MarkovChain([[1, 0], [0, 1]], start="any").stationary


@given(chain_cases(positive=True) | chain_cases())
def test_stationary_laws_and_reversals_are_what_they_say(case: Case) -> None:
    chain = case.model
    assert isinstance(chain, MarkovChain)
    if chain.start == "any":
        return
    weights = chain.stationary
    assert weights.sum() == pytest.approx(1)
    assert weights @ chain.matrix == pytest.approx(weights, abs=1e-12)
    backwards = chain.reversal()
    flow = weights[:, None] * chain.matrix
    assert weights[:, None] * backwards.matrix == pytest.approx(flow.T, abs=1e-12)


@given(st.integers(1, 6), st.integers(0, 10**6))
def test_primitive_means_a_positive_power(size: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    pattern = generator.random((size, size)) < 0.35
    pattern[np.arange(size), generator.integers(0, size, size)] = True
    chain = MarkovChain(pattern / pattern.sum(axis=1, keepdims=True), start="any")
    powers = [np.linalg.matrix_power(pattern.astype(object), k) > 0 for k in range(1, size * size + 2)]
    assert chain.is_primitive == any(power.all() for power in powers)
    assert chain.is_irreducible == bool(np.logical_or.reduce([np.eye(size, dtype=bool), *powers]).all())


def test_estimated_models_keep_their_counts() -> None:
    chain = MarkovChain.from_counts([[8, 2], [3, 1]], smoothing=1)
    assert chain.counts == ((8, 2), (3, 1))
    assert chain.transition[0][0] == 9 / 12
    assert chain.estimated
    assert AnyOf(Independent(), chain).estimated
    assert not CHAIN.estimated
    assert not chain.reversal().estimated


def test_parameters_are_probabilities_and_odds_without_counts() -> None:
    chain = MarkovChain.from_counts([[7001, 2999], [401, 99]], states=["idle", "active"], column="s")
    assert chain.parameters.splitlines() == [
        "s, then:    idle  active",
        "--------  ------  ------",
        "idle      0.7001  0.2999",
        "active    0.8020  0.1980",
        "Odds ratio of neighbouring records: at most 1.736.",
    ]
    assert "7001" in chain.summary()
    assert "at most 13.5." in CHAIN.parameters
    assert "without limit" in MarkovChain([[0, 1], [0.5, 0.5]]).parameters
    never = MarkovChain([[0.5, 0.5, 0], [0.25, 0.75, 0], [0.5, 0.5, 0]], start="any")
    assert "at most 3." in never.parameters  # a state that nothing leads to ties no neighbours
    assert "5e-08" in MarkovChain([[0.5, 0.5], [5e-8, 1 - 5e-8]]).parameters


@given(chain_cases(positive=True) | chain_cases())
def test_the_odds_ratio_is_the_largest(case: Case) -> None:
    assert isinstance(case.model, MarkovChain)
    matrix, states = case.model.matrix, range(len(case.model.states))
    ratios = [
        matrix[x, y] * matrix[u, v] / matrix[x, v] / matrix[u, y]
        for x in states
        for u in states
        for y in states
        for v in states
        if (matrix > 0).all()
    ]
    said = case.model.parameters.splitlines()[-1]
    if ratios:
        shown = float(said.removeprefix("Odds ratio of neighbouring records: at most ").removesuffix("."))
        assert max(ratios) * (1 - 1e-9) <= shown <= max(ratios) * 1.002


def test_activity() -> None:
    chain = activity(record="5-minute interval")
    assert chain.counts == ((9713, 1295), (1295, 2955))
    assert (chain.length, chain.gaps, chain.states) == (15_264, True, (False, True))
    assert chain.gamma == pytest.approx(7.500, abs=5e-4)
    assert (chain.state, chain.column, chain.record) == ("steps > 0", None, "5-minute interval")
    assert chain.layout == ChainLayout(["date", "interval"], step="5m", dropped=True)
    assert chain.dropped
    assert chain.estimated
    found = load("activity", FOLDER).frame.sort("date", "interval")["steps"].to_list()
    pairs = Counter((before > 0, now > 0) for before, now in pairwise(found) if None not in (before, now))
    assert chain.counts == tuple(tuple(pairs[before, now] for now in (False, True)) for before in (False, True))


@pytest.mark.skipif(FOLDER is None, reason=f"the original files are not in {FILES}")
@pytest.mark.slow
def test_activity_from_its_file() -> None:
    for path in (FILES / "activity.csv", str(FILES / "act*.csv")):
        chain = MarkovChain.fit(path, state="steps > 0", order_by=["date", "interval"], missing="drop")
        assert chain.counts == activity().counts
    with pytest.raises(FrameError, match=r"activity\.csv: 2304 records have no 'steps > 0'; .*missing=\"drop\""):
        MarkovChain.fit(FILES / "activity.csv", state="steps > 0", order_by=["date", "interval"])
    with pytest.raises(FrameError, match=r"17280 records .* have the same interval .*breaks the ties .*entity="):
        MarkovChain.fit(FILES / "activity.csv", state="steps > 0", order_by="interval", missing="drop")


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
        (
            {"order_by": ["who", "t"], "step": 1},
            "two columns, a date and a time of day, so step= must be a period .* not 1",
        ),
        (
            {"order_by": ["who", "t"], "step": "5m"},
            "who and t have no spacing: step= needs one order column, or a date",
        ),
        ({"order_by": ["who", "t", "role"], "step": "5m"}, "step= is the spacing of one order column, .* names 3"),
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
        ({"order_by": "t", "entity": ["who", "role"]}, r"row 0 \('x'\) is empty: no record follows this state"),
    ],
)
def test_chains_that_cannot_be_estimated(options: dict[str, Any], message: str) -> None:
    with pytest.raises((FrameError, ModelError, BayesDPError), match=message):
        MarkovChain.fit(PEOPLE, **{"state": "state", **options})


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


def test_probabilities_must_be_those_of_the_counts() -> None:
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


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MarkovChain([[0.5, 0.6], [0.5, 0.5]]), "row 0 must sum to 1, but sums to 1.1"),
        (lambda: MarkovChain([[0.5, 0.5], [-0.1, 1.1]]), "row 1, column 0 must be a probability"),
        (lambda: MarkovChain([[0.5, 0.5]]), "square"),
        (lambda: MarkovChain([]), "transition is empty"),
        (lambda: MarkovChain("ab"), "must be a list"),
        (lambda: MarkovChain([[float("nan"), 1], [0, 1]]), "row 0, column 0 must be a finite number"),
        (lambda: MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=["a"]), "names 1"),
        (lambda: MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=["a", "a"]), "distinct"),
        (lambda: MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=[1, True]), "distinct"),
        (lambda: MarkovChain([[0.5, 0.5], [0.5, 0.5]], length=0), "length must be at least 1"),
        (lambda: MarkovChain([[0.5, 0.5], [0.5, 0.5]], start=NOW), '"stationary" or "any"'),
        (lambda: MarkovChain([[0.5, 0.5], [0, 1]]), "no way from state 1 to state 0"),
        (lambda: MarkovChain([[0.5, 0.5], [0.5, 0.5]], column="a", state="b > 0"), "not both"),
        (lambda: MarkovChain.from_counts([[1, 2], [0, 0]]), "row 1 is empty"),
        (lambda: MarkovChain.from_counts([[1, -2], [1, 1]]), "row 0, column 1 must be a whole number"),
        (lambda: MarkovChain.from_counts([[1e308, 1e308], [1, 1]]), "row 0, column 0 must be a whole number"),
        (lambda: MarkovChain([[0.5, 0.5], [0.4, 0.6]], start="any").reversal(), "read backwards"),
        (lambda: MarkovChain.from_counts([[1.5, 2], [1, 1]]), "row 0, column 0 must be a whole number"),
        (lambda: MarkovChain.from_counts([[1, 2], [1, 1]], smoothing=-1), "smoothing"),
        (lambda: MarkovChain([[1, 0], [0.5, 0.5]], start="any", counts=[[3, 1], [1, 1]]), "disagree: row 0, column 0"),
    ],
)
def test_impossible_chains_are_refused_naming_the_entry(build: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        build()
