"""Power: by formula, by simulation, and what a test that has too little of it says."""

import math

import numpy as np
import pytest
from scipy import stats

from bayesdp.diagnostics.power import Power, chi_square, fisher, scaled_chi_square


@pytest.mark.parametrize("freedom", [1, 2, 46, 810, 120_050])
@pytest.mark.parametrize("size", [10, 1000, 100_000, 10**9])
def test_chi_square_is_that_of_scipy(freedom: int, size: int) -> None:
    expected = stats.ncx2.sf(stats.chi2.isf(0.01, freedom), freedom, size * 0.01) if size < 10**9 else 1.0
    assert chi_square(size, freedom) == pytest.approx(expected, abs=1e-9)


def test_scaled_chi_square_is_that_of_scipy() -> None:
    expected = stats.chi2.sf(stats.chi2.isf(0.005, 700) / 1.21, 700)
    assert scaled_chi_square(700, 1.21, 0.005) == pytest.approx(expected)


def test_fisher_by_simulation() -> None:
    rng = np.random.default_rng(1)
    pairs = rng.multivariate_normal([0, 0], [[1, 0.45], [0.45, 1]], (2000, 500))
    correlations = [np.corrcoef(sample.T)[0, 1] for sample in pairs]
    beyond = (np.arctanh(correlations) - math.atanh(0.35)) * math.sqrt(497) > stats.norm.isf(0.01)
    assert fisher(500, 0.35, 0.45) == pytest.approx(beyond.mean(), abs=0.04)


@pytest.mark.parametrize(("freedom", "needed"), [(1, 1200), (2, 1400), (46, 3900)])
def test_how_many_records_are_needed(freedom: int, needed: int) -> None:
    power = Power(lambda size, level: chi_square(size, freedom, level=level), 500, "transitions", "a small deviation")
    assert power.needed == needed
    assert not power.enough
    assert Power(power.curve, needed, "transitions", "").enough
    assert str(power) == (
        "The test found nothing, but with 500 transitions it would find a small deviation with a probability of only "
        f"{power.chance:.2f}; about {needed:,} transitions are needed."
    )


def test_no_number_of_records_may_be_enough() -> None:
    power = Power(lambda size, level: 0.5, 100, "groups", "anything")
    assert power.needed is None
    assert str(power).endswith("with a probability of only 0.50.")


def test_power_just_below_the_limit_is_not_shown_as_enough() -> None:
    assert "probability of only 0.79" in str(
        Power(lambda size, level: 0.7999 if size < 101 else 1.0, 100, "groups", "it")
    )
