from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import ArbitraryGroups, Count, GaussianGroups, Histogram, Sum, leakage
from bayesdp.audit.oracle import gaussian_lemma
from bayesdp.leakage.gaussian_paper import paper_factor
from bayesdp.leakage.gaussian_tight import GaussianTight, tight_factor
from bayesdp.spending import as_spend
from bayesdp.testing import TheoremContract, gaussian_cases

SUM = Sum(bounds=(0, 100))
FAMILY = GaussianGroups(correlation=0.275, size=3)


class TestGaussianTight(TheoremContract):
    theorem = GaussianTight()
    cases = gaussian_cases(equal_variances=True)
    refused = (
        (ArbitraryGroups(2), SUM),
        (FAMILY, Count(equals=1)),
        (FAMILY, Histogram(cells=[1, 2])),
        (GaussianGroups(correlation=0.5, size=4), SUM),
        (GaussianGroups(covariance=[[416.6, 137], [137, 225]]), SUM),
    )


@pytest.mark.parametrize(
    ("size", "correlation", "factor"), [(10, 0.1, 1.9), (3, 0.275, 1.55), (2, 1.0, 2.0), (1, 0.9, 1)]
)
def test_reference_values(size: int, correlation: float, factor: float) -> None:
    model = GaussianGroups(correlation=correlation, size=size)
    assert GaussianTight().epsilon(model, as_spend(SUM, 1.0)) == pytest.approx(factor)


@given(st.integers(1, 40), st.fractions(0, 1, max_denominator=1000))
def test_never_above_the_paper_nor_the_general_bound(size: int, correlation: Fraction) -> None:
    if correlation * (size - 2) < 1:
        factor = tight_factor(size, correlation)
        assert 1 <= factor <= size
        assert factor <= paper_factor(size, correlation)
        if correlation * (size - 1) <= 1:
            assert factor == 1 + (size - 1) * correlation


@given(st.integers(2, 6), st.floats(0.01, 0.99))
def test_equicorrelation_attains_it(size: int, share: float) -> None:
    correlation = share / (size - 1)
    matrix = np.full((size, size), correlation) + (1 - correlation) * np.eye(size)
    assert gaussian_lemma(matrix).factor == pytest.approx(float(tight_factor(size, Fraction(correlation))), rel=1e-9)


def test_where_correlations_are_too_large_for_the_first_branch_the_cap_helps() -> None:
    assert tight_factor(3, Fraction(9, 10)) == Fraction(28, 10)
    assert tight_factor(3, Fraction(6, 10)) == Fraction(22, 10)


def test_a_release_that_jumps_adds_the_whole_group() -> None:
    spend = as_spend([(SUM, 1.0), (Count(equals=3), 0.5)])
    assert GaussianTight().epsilon(FAMILY, spend) == pytest.approx(1.55 + 3 * 0.5)
    assert leakage(FAMILY, spend).theorem == "gaussian-tight"


def test_distances_beyond_the_width_cost_more_and_never_more_than_the_group() -> None:
    factors = [
        tight_factor(3, Fraction(1, 4), reach) for reach in (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(100))
    ]
    assert [float(factor) for factor in factors] == [0.75, 1.5, 2.0, 3.0]
