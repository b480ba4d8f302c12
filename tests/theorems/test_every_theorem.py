"""The promise of the library: on random models of every kind, no applicable theorem is ever below the oracle."""

import math
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bayesdp import (
    AnyOf,
    ArbitraryGroups,
    Count,
    GaussianGroups,
    HiddenMarkov,
    Histogram,
    Independent,
    MarkovChain,
    Model,
    Network,
    OddsSeries,
    Query,
    Sum,
    Theorem,
    calibrate,
    leakage,
)
from bayesdp.errors import CalibrationError, NoTheoremAppliesError, TooLargeError
from bayesdp.testing import every_case
from bayesdp.testing.cases import Case
from bayesdp.testing.contract import ROUNDING
from bayesdp.theorems import theorems


@settings(max_examples=4 * settings().max_examples)
@given(every_case(), st.floats(0.01, 6))
def test_oracle_is_below_every_theorem(case: Case, tau: float) -> None:
    try:
        found = leakage(case.model, case.query, tau=tau)
    except NoTheoremAppliesError:
        assume(False)
    measured = case.measure([tau])
    for each in found.assessments:
        if each.epsilon is not None and (case.laplace or each.theorem != "markov-count"):
            assert measured <= each.epsilon * (1 + ROUNDING) + ROUNDING, each.theorem
    assert found.epsilon == min(each.epsilon for each in found.assessments if each.epsilon is not None)


@given(every_case(), st.floats(0.05, 12))
def test_calibrated_then_measured(case: Case, epsilon: float) -> None:
    try:
        chosen = calibrate(case.model, case.query, epsilon=epsilon)
    except (CalibrationError, NoTheoremAppliesError):
        assume(False)
    assert chosen.leakage.epsilon <= epsilon
    assume(case.laplace or chosen.theorem != "markov-count")
    assert case.measure([chosen.tau]) <= epsilon * (1 + ROUNDING) + ROUNDING


@given(every_case(), st.floats(0.05, 6), st.floats(0.05, 6))
def test_what_was_spent_counts(case: Case, before: float, more: float) -> None:
    try:
        chosen = calibrate(case.model, case.query, epsilon=before + more, spent=[(case.query, before / 4)])
    except (CalibrationError, NoTheoremAppliesError):
        assume(False)
    assert chosen.leakage.epsilon <= before + more
    assert case.measure([before / 4, chosen.tau]) <= (before + more) * (1 + ROUNDING) + ROUNDING


ROWS = [[0.7, 0.3], [0.3, 0.7]]
SUM, COUNT = Sum(bounds=(0, 1)), Count(equals=1)
EXTREMES: list[tuple[Model, Query]] = [
    (Independent(), COUNT),
    (ArbitraryGroups(3), COUNT),
    (GaussianGroups(correlation=0.3, size=3), SUM),
    (GaussianGroups(covariance=[[2, 0.5], [0.5, 1]]), SUM),
    (MarkovChain(ROWS), SUM),
    (MarkovChain(ROWS, length=50), COUNT),
    (MarkovChain(ROWS, start="any"), COUNT),
    (MarkovChain([[0, 1], [1, 0]], length=50), COUNT),
    (MarkovChain([ROWS, ROWS[::-1]], memory=2), COUNT),
    (MarkovChain([ROWS, ROWS[::-1]], memory=2, start="any", length=50), COUNT),
    (MarkovChain([[0.9, 0.1, 0], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]]), Histogram(cells=[0, 1, 2])),
    (AnyOf(MarkovChain(ROWS, length=9), ArbitraryGroups(3)), COUNT),
    (HiddenMarkov(ROWS, ROWS, length=50), COUNT),
    (HiddenMarkov(transition_odds=81, emission_odds=9), COUNT),
    (Network(edges=[(0, 1, 1.5), (1, 2, 1.5), (0, 2, 1.5)], records=4, hidden=[2]), COUNT),
    (Network(edges=[(0, 1, 1e6), (1, 2, 1.5), (1, 3, 9)], records=4, hidden=[1]), COUNT),
    (Network(odds=1.5, degree=4), COUNT),
    (OddsSeries([5, 1.5]), COUNT),
    (OddsSeries([5, 1.5], length=4), COUNT),
    (OddsSeries([300, 40], unit=2, gaps=True), COUNT),
    (OddsSeries([5, 1.5], additive=True, states=(0, 1)), COUNT),
    (OddsSeries([300, 40], additive=True, ordered=True, unit=2), COUNT),
    (Network(edges=[(0, 1, 1e6), (1, 2, 1.5), (0, 2, 9)], additive=True), COUNT),
    (Network(odds=1.5, degree=4, forest=True), COUNT),
]
SIZES = [
    *(1e-310, 1e4, 1e307, sys.float_info.max),
    *(pytest.param(size, marks=pytest.mark.slow) for size in (5e-324, 1e-320, 1e-16, 1e16, 1e308, 1.7e308)),
]


def test_extremes_are_tried_on_every_theorem() -> None:
    found = [each for model, query in EXTREMES for each in leakage(model, query, tau=1.0).assessments]
    assert {each.theorem for each in found if each.applies} >= {theorem.name for theorem in theorems()}


def _covered(model: Model, query: Query, tau: float) -> bool:
    try:
        leakage(model, query, tau=tau)
    except NoTheoremAppliesError as error:
        return "floating-point" not in str(error)
    return True


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("model", "query"), EXTREMES)
def test_extreme_sizes_are_bounded_or_refused(model: Model, query: Query, size: float) -> None:
    if size < 1e306 or _covered(model, query, size):
        found = leakage(model, query, tau=size)
        assert all(size <= each.epsilon < math.inf for each in found.assessments if each.epsilon is not None)
    try:
        chosen = calibrate(model, query, epsilon=size)
    except (CalibrationError, TooLargeError):
        assert size < 1e-15
    else:
        assert 0 < chosen.tau <= chosen.leakage.epsilon <= size


@pytest.mark.parametrize("theorem", theorems(), ids=lambda theorem: theorem.name)
def test_every_theorem_points_to_a_proof_that_exists(theorem: Theorem) -> None:
    page = Path(__file__).parents[2] / theorem.proof
    headings = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("## ")]
    assert headings[:3] == ["## Statement", "## Hypotheses", "## Proof"]
