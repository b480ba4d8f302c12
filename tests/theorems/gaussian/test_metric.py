"""What the Gaussian theorems share: the distance that is covered, and what a grid adds."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import Count, GaussianGroups, GaussianSeries, Mean, Sum, leakage
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.theorems.gaussian.metric import covered_distance, on_grid, reach_of, variance_kinds
from bayesdp.theorems.gaussian.paper import GaussianPaper, paper_factor
from bayesdp.theorems.gaussian.walk import GaussianWalk
from bayesdp.theorems.spend import as_spend

SUM = Sum(bounds=(0, 100))
FAMILY = GaussianGroups(correlation=0.275, size=3)
SERIES = GaussianSeries([0.5])


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(1, 100))
def test_sums_of_different_widths_share_one_distance(tau: float, other: float, width: float) -> None:
    spend = [(Sum(bounds=(0, 100)), tau), (Sum(bounds=(0, width)), other)]
    found = next(each for each in leakage(FAMILY, spend).assessments if each.theorem == "gaussian-paper")
    expected = paper_factor(3, Fraction(0.275)) * (Fraction(tau) + Fraction(other) * 100 / Fraction(width))
    assert found.epsilon == pytest.approx(float(expected), rel=1e-12)
    assert Fraction(found.epsilon or 0) >= expected


def test_the_scope_names_the_distance() -> None:
    assert "at most 100 apart" in leakage(FAMILY, SUM, tau=1).scope
    near = GaussianGroups(correlation=0.275, size=3, distance=10)
    assert "at most 10 apart" in leakage(near, SUM, tau=1).scope
    assert GaussianPaper().epsilon(near, as_spend(SUM, 1.0)) == pytest.approx(0.18534, abs=1e-5)
    assert largest_taus(GaussianPaper(), near, SUM, [1.0]) == [pytest.approx(10 / 1.85345, rel=1e-4)]


def test_several_sums_widths_and_other_releases() -> None:
    model = GaussianSeries([0.5], length=50)
    mixed = as_spend([(SUM, 1.0), (Sum(bounds=(0, 50)), 0.5), (Count(equals=1), 0.1)])
    narrow = 1 + 2 * sum(min(2 * 0.5**lag, 1.0) for lag in range(1, 40))
    assert GaussianWalk().epsilon(model, mixed) == pytest.approx(3 + 0.5 * narrow + 0.1 * 50, rel=1e-6)
    assert "unlimited" in str(GaussianWalk().refusal(SERIES, (SUM, Count(equals=1))))


def walked(model: GaussianSeries, query: Sum) -> float:
    return GaussianWalk().epsilon(model, as_spend(query, 1.0))


def test_the_grid_adds_a_step_for_every_record_there_may_be() -> None:
    """Of a series of any length a sum on a grid of 2^k steps has fewer than 2^(62−k) records."""
    step = 100 / 2**35
    assert walked(SERIES, Sum(bounds=(0, 100), step=step)) == pytest.approx(3 + 513 / 512 * 2**-8)
    assert walked(GaussianSeries([0.5], length=1000), Sum(bounds=(0, 100), step=step)) == pytest.approx(3, rel=1e-7)
    assert leakage(SERIES, Mean(bounds=(0, 100)), tau=1.0).epsilon == pytest.approx(3)


def test_a_step_for_every_record_but_never_more_than_all_of_them() -> None:
    query = Sum(bounds=(0, 100), step=25.0)
    assert query.rounding > Fraction(1, 4)
    assert on_grid(Fraction(1), 2, query) == 1 + 2 * query.rounding
    assert on_grid(Fraction(5, 2), 3, query) == 3
    assert on_grid(Fraction(4), 3, query) == 4, "what is larger already is not lowered"
    assert on_grid(Fraction(2), 3, SUM) == 2


def test_the_distance_is_the_models_or_the_widest_clipping_width() -> None:
    narrow, filtered = Sum(bounds=(0, 40)), Sum(bounds=(0, 900), where="x > 1")
    assert covered_distance(FAMILY, (narrow, SUM, filtered)) == 100
    assert reach_of(narrow, FAMILY, (narrow, SUM)) == Fraction(5, 2)
    assert reach_of(filtered, FAMILY, (narrow, SUM, filtered)) is None, "records may leave that sum"
    near = GaussianGroups(correlation=0.275, size=3, distance=10)
    assert covered_distance(near, (SUM,)) == 10


def test_variances_and_covariances_are_taken_exactly() -> None:
    assert variance_kinds(FAMILY) == [(3, Fraction(0.275), Fraction(0))]
    kinds = GaussianGroups(covariance=[[[4, -1], [-1, 5]], [[2.0]]])
    assert variance_kinds(kinds) == [(2, Fraction(1, 4), Fraction(1, 4)), (1, Fraction(0), Fraction(0))]
