import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesdp.accuracy import DiscreteGaussian, DiscreteLaplace
from bayesdp.errors import InvalidInputError
from bayesdp.noise_sums import NoiseSum

KINDS: tuple[Any, ...] = (DiscreteLaplace, DiscreteGaussian)
LAWS = st.sampled_from(KINDS)
TERMS = st.lists(
    st.tuples(st.sampled_from((0.4, 1.0, 3.0, 9.5)), st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=3
)


def exact_law(law: DiscreteLaplace | DiscreteGaussian, factor: int, number: int) -> Any:
    """Return the probabilities of `factor` times the sum of so many noises, around 0."""
    k = np.arange(-400, 401)
    one = np.exp(-np.abs(k) / law.scale) if isinstance(law, DiscreteLaplace) else np.exp(-((k / law.scale) ** 2) / 2)
    spread = np.zeros(800 * factor + 1)
    spread[::factor] = one / one.sum()
    total = spread
    for _ in range(number - 1):
        total = np.convolve(total, spread)
    return total


def exact_tail(sums: Any, alpha: float) -> float:
    middle = (len(sums) - 1) // 2
    least = math.ceil(alpha)
    return float(2 * sums[middle + least :].sum()) if least > 0 else 1.0


@settings(max_examples=30)
@given(kind=LAWS, terms=TERMS, share=st.floats(0.2, 6))
def test_the_tail_is_bounded_closely(kind: Any, terms: list[tuple[float, int, int]], share: float) -> None:
    law = NoiseSum(tuple((kind(scale), float(factor), number) for scale, factor, number in terms))
    sums = np.ones(1)
    for scale, factor, number in terms:
        sums = np.convolve(sums, exact_law(kind(scale), factor, number))
    alpha = share * law.deviation
    assert exact_tail(sums, alpha) <= law.tail(alpha)
    if law.deviation > 1:
        assert law.tail(alpha) <= 1.01 * exact_tail(sums, alpha - 0.09 * law.deviation) + 1e-8


@settings(max_examples=30)
@given(kind=LAWS, terms=TERMS, beta=st.floats(1e-6, 0.5))
def test_an_accuracy_keeps_its_promise(kind: Any, terms: list[tuple[float, int, int]], beta: float) -> None:
    law = NoiseSum(tuple((kind(scale), float(factor), number) for scale, factor, number in terms))
    assert law.tail(law.alpha(beta)) <= beta
    assert law.beta(law.alpha(beta)) <= beta


def test_a_tail_that_ignored_the_smoothing_would_fail() -> None:
    """The bound above is not idle: without the shift, the series is below the tail at a place of the lattice."""
    law, alpha = NoiseSum(((DiscreteLaplace(3.0), 5.0, 1),)), 15.0
    frequencies, coefficients = law._series
    half = 16 * law.deviation
    unshifted = 1 - alpha / half - float(np.sum(coefficients * np.sin(frequencies * alpha)))
    assert unshifted < DiscreteLaplace(3.0).tail(3) <= law.tail(alpha)


def test_a_sum_of_many_is_nearly_normal() -> None:
    for kind, factors in product(KINDS, ((1.0, 0.25), (0.9, 0.03))):
        law = NoiseSum(tuple((kind(50.0), factor, 30) for factor in factors))
        assert 1.95 < law.alpha(0.05) / law.deviation < 2.02


def test_the_variance_is_that_of_the_terms() -> None:
    law = NoiseSum(((DiscreteLaplace(2.0), 3.0, 2),))
    sums = exact_law(DiscreteLaplace(2.0), 3, 2)
    places = np.arange(len(sums)) - (len(sums) - 1) // 2
    assert law.variance == pytest.approx(float((sums * places**2).sum()), rel=1e-9)


def test_very_small_and_very_large_noise_has_an_accuracy() -> None:
    for scale in (1e-4, 1e-2, 1e15):
        for kind in KINDS:
            assert NoiseSum(((kind(scale), 1.0, 3),)).alpha(0.05) > 0


@pytest.mark.parametrize("terms", [(), ((DiscreteLaplace(1.0), 0.0, 1),), ((DiscreteLaplace(1.0), math.inf, 1),)])
def test_what_is_no_sum_is_refused(terms: Any) -> None:
    with pytest.raises(InvalidInputError, match="terms"):
        NoiseSum(terms)
