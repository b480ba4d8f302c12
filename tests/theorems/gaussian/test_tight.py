import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesdp import ArbitraryGroups, Count, GaussianGroups, Histogram, Sum, calibrate, leakage
from bayesdp.audit.oracle import gaussian_lemma
from bayesdp.testing import TheoremContract, gaussian_cases
from bayesdp.theorems.gaussian.paper import paper_factor
from bayesdp.theorems.gaussian.tight import GaussianTight, tight_factor
from bayesdp.theorems.spend import as_spend

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


def every_number_known(size: int, correlation: Fraction, releases: list[tuple[Fraction, Fraction]]) -> float:
    """The leakage as it is stated: the largest over how many records the adversary knows, of (reach, τ) together."""

    def learned(known: int, reach: Fraction) -> float:
        deviations = math.sqrt(1 / (1 - known * correlation**2 / (1 - (known - 1) * correlation)))
        slope = min(float(correlation / (1 - known * correlation)), deviations)
        return min(float(reach), 1.0) + (size - 1 - known) * min(float(reach) * slope, 1.0)

    return max(sum(float(tau) * learned(known, reach) for reach, tau in releases) for known in range(max(size - 1, 1)))


REACHES = st.fractions(Fraction(1, 50), 70, max_denominator=50)


@settings(max_examples=5 * settings().max_examples)
@given(st.integers(1, 60), st.fractions(0, 1, max_denominator=1000), REACHES, REACHES, st.fractions(0, 9))
@pytest.mark.slow
def test_few_numbers_known_are_enough(
    size: int, share: Fraction, reach: Fraction, other: Fraction, tau: Fraction
) -> None:
    """Over every correlation with ρ(m−2) < 1, and reaches at which the cap acts never, sometimes and always."""
    correlation = min(share / max(size - 2, 1) * Fraction(1001, 1000), Fraction(1))
    if correlation * (size - 2) < 1:
        alone = every_number_known(size, correlation, [(reach, Fraction(1))])
        assert float(tight_factor(size, correlation, reach)) == pytest.approx(alone, rel=1e-12)
        group = GaussianGroups(correlation=float(correlation), size=size)
        rounded = Fraction(float(correlation))
        if rounded * (size - 2) < 1:
            learned = GaussianTight().factors(group, (reach, other))
            together = max(float(first + tau * second) for first, second in learned)
            expected = every_number_known(size, rounded, [(reach, Fraction(1)), (other, tau)])
            assert together == pytest.approx(expected, rel=1e-9)


def test_close_target_values_move_the_last_unknown_record_little() -> None:
    """Reference: m = 3, ρ = 0.9, D/M = 0.1 gives 0.329, where diagonal dominance alone gives 1."""
    factor = tight_factor(3, Fraction(9, 10), Fraction(1, 10))
    assert float(factor) == pytest.approx(0.1 + 0.1 / math.sqrt(1 - 0.81))
    signs = np.array([[1, 0.9, 0.9], [0.9, 1, 0.9], [0.9, 0.9, 1]])
    assert gaussian_lemma(signs, reach=0.1).factor <= factor


@pytest.mark.parametrize("size", [10**6, 10**9])
def test_large_groups_have_a_closed_form(size: int) -> None:
    """Every number known, one by one, would take minutes for a million records and days for a billion."""
    model = GaussianGroups(correlation=0.1 / size, size=size)
    assert leakage(model, SUM, tau=1.0).epsilon == pytest.approx(1.1, rel=1e-5)
    assert calibrate(model, SUM, epsilon=1.0).tau == pytest.approx(1 / 1.1, rel=1e-5)
    assert tight_factor(size, Fraction(1, size - 1), Fraction(1, 2)) == 1
    assert tight_factor(size, Fraction(1, size - 1), Fraction(3)) == 1 + 3
    assert tight_factor(size, Fraction(1, size - 1), Fraction(size)) == size


@given(st.integers(2, 6), st.floats(0.01, 0.99))
def test_equicorrelation_attains_it(size: int, share: float) -> None:
    correlation = share / (size - 1)
    matrix = np.full((size, size), correlation) + (1 - correlation) * np.eye(size)
    assert gaussian_lemma(matrix).factor == pytest.approx(float(tight_factor(size, Fraction(correlation))), rel=1e-9)


def test_the_cap_helps_where_correlations_are_large() -> None:
    assert tight_factor(3, Fraction(9, 10)) == Fraction(28, 10)
    assert tight_factor(3, Fraction(6, 10)) == Fraction(22, 10)


def test_a_release_that_jumps_adds_the_whole_group() -> None:
    spend = as_spend([(SUM, 1.0), (Count(equals=3), 0.5)])
    assert GaussianTight().epsilon(FAMILY, spend) == pytest.approx(1.55 + 3 * 0.5)
    assert leakage(FAMILY, spend).theorem == "gaussian-tight"


def test_longer_distances_cost_more_up_to_the_whole_group() -> None:
    factors = [
        tight_factor(3, Fraction(1, 4), reach) for reach in (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(100))
    ]
    assert [float(factor) for factor in factors] == [0.75, 1.5, 2.0, 3.0]
