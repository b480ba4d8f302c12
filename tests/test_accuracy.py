import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bayesdp import Count, Histogram, Sum
from bayesdp.accuracy import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    NoiseLaw,
    RandomizedResponse,
    gaussian_scale,
    impossible,
    laplace_scale,
    least_failure,
    rho_for_accuracy,
    tau_for_accuracy,
)
from bayesdp.errors import InvalidInputError

scales = st.floats(1e-3, 1e6)
betas = st.floats(1e-6, 0.999)
laws = st.one_of(
    scales.map(Laplace),
    scales.map(DiscreteLaplace),
    st.tuples(st.floats(0.001, 0.45), st.integers(1, 60)).flatmap(
        lambda pair: st.integers(0, pair[1]).map(lambda ones: RandomizedResponse(pair[0], pair[1], ones))
    ),
)


@given(laws, betas, st.integers(1, 50))
def test_alpha_keeps_its_beta(law: NoiseLaw, beta: float, cells: int) -> None:
    alpha = law.alpha(beta, cells)
    if alpha > 0:
        assert law.beta(alpha, cells) <= beta * (1 + 1e-9)


@given(scales, betas)
def test_alpha_is_the_smallest(scale: float, beta: float) -> None:
    alpha = Laplace(scale).alpha(beta)
    assert Laplace(scale).tail(alpha * (1 - 1e-9)) > beta * (1 - 1e-12)
    steps = DiscreteLaplace(scale).alpha(beta)
    assert steps == int(steps)
    if steps > 1:
        assert DiscreteLaplace(scale).tail(steps - 1) > beta


@given(st.floats(0.01, 20), st.integers(1, 40))
def test_the_discrete_tail_is_the_sum_of_its_terms(scale: float, steps: int) -> None:
    p = math.exp(-1 / scale)
    terms = math.fsum(
        (1 - p) / (1 + p) * p ** abs(k) for k in itertools.chain(range(-4000, 1 - steps), range(steps, 4001))
    )
    assert DiscreteLaplace(scale).tail(steps) == pytest.approx(terms, rel=1e-9, abs=1e-300)


def test_reference_tails() -> None:
    assert DiscreteLaplace(1).tail(3) == pytest.approx(0.0728, abs=5e-5)
    assert Laplace(1).tail(3) == pytest.approx(0.0498, abs=5e-5)
    assert DiscreteLaplace(1).tail(2.5) == DiscreteLaplace(1).tail(3)
    assert DiscreteLaplace(1).tail(0.0) == 1


@given(st.integers(1, 80), st.just(0.0) | st.floats(1e-4, 0.49), st.floats(0.01, 40), st.data())
def test_randomized_response_is_the_two_binomial_convolution(
    records: int, flip: float, alpha: float, data: st.DataObject
) -> None:
    ones = data.draw(st.integers(0, records))
    law = RandomizedResponse(flip, records, ones)
    kept = stats.binom.pmf(np.arange(ones + 1), ones, 1 - flip)
    wrong = stats.binom.pmf(np.arange(records - ones + 1), records - ones, flip)
    keep = 1 - 2 * Fraction(flip)
    off = {
        (a, b): abs((a + b - records * Fraction(flip)) / keep - ones)
        for a, b in itertools.product(range(ones + 1), range(records - ones + 1))
    }
    expected = sum(kept[a] * wrong[b] for (a, b), error in off.items() if error >= Fraction(alpha))
    assert law.tail(alpha) == pytest.approx(expected, rel=1e-9, abs=1e-25)
    assert law.tail(alpha) >= expected * (1 - 1e-10)


def test_an_error_of_exactly_alpha_counts() -> None:
    """flip 1/4, ones 2 of 10: a report of 5 ones is an estimate of exactly 5, off by exactly 3."""
    law = RandomizedResponse(0.25, 10, 2)
    assert (5 - law.records * law.flip) / (1 - 2 * law.flip) == 5
    assert law.tail(3.0) > law.tail(math.nextafter(3.0, 4)) + 0.05
    assert law.alpha(law.tail(math.nextafter(3.0, 4))) <= math.nextafter(3.0, 4)
    assert law.beta(law.alpha(0.05)) <= 0.05


@pytest.mark.parametrize("flip", [1e-12, 1e-6, 1e-3])
def test_rare_flips_keep_their_digits(flip: float) -> None:
    law = RandomizedResponse(flip, 40, 40)
    exact = 1 - (1 - Fraction(flip)) ** 40
    assert law.tail(0.5) == pytest.approx(float(exact), rel=1e-10)


def test_randomized_response_of_many_records_is_nearly_normal() -> None:
    law = RandomizedResponse(0.25, 10_000, 5_000)
    spread = math.sqrt(10_000 * 0.25 * 0.75) / 0.5
    assert law.alpha(0.05) == pytest.approx(1.96 * spread, rel=0.02)
    assert law.beta(law.alpha(0.01)) <= 0.01


def test_a_histogram_read_as_a_whole_has_a_wider_error() -> None:
    law = Laplace(2.0)
    assert law.alpha(0.05, cells=10) > law.alpha(0.05)
    assert law.beta(law.alpha(0.05, cells=10), cells=10) == pytest.approx(0.05)
    assert law.beta(3.0, cells=4) == pytest.approx(1 - (1 - law.tail(3.0)) ** 4)
    generator = np.random.default_rng(7)
    noise = np.abs(generator.laplace(scale=2.0, size=(40_000, 10))).max(axis=1)
    assert (noise >= law.alpha(0.05, cells=10)).mean() == pytest.approx(0.05, abs=0.006)


@given(st.floats(1e-3, 1e3), st.floats(0.01, 1e4), betas)
def test_tau_for_accuracy_is_enough_and_no_more(width: float, alpha: float, beta: float) -> None:
    query = Sum(bounds=(0, width))
    tau = tau_for_accuracy(query, alpha, beta)
    assert Laplace(laplace_scale(query, tau)).alpha(beta) <= alpha
    assert Laplace(laplace_scale(query, tau * (1 - 1e-12))).alpha(beta) > alpha * (1 - 1e-11)


def test_tau_for_accuracy_of_a_histogram_is_for_all_cells() -> None:
    query = Histogram(cells=["a", "b", "c"])
    tau = tau_for_accuracy(query, 10, 0.05)
    assert Laplace(laplace_scale(query, tau)).alpha(0.05, cells=3) <= 10


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_scales_are_rounded_up(width: float, tau: float) -> None:
    query = Sum(bounds=(0, width))
    assert Fraction(laplace_scale(query, tau)) * Fraction(tau) >= Fraction(query.sensitivity)


def test_the_impossibility_result() -> None:
    assert least_failure(1.0) == pytest.approx(1 / (math.e + 1))
    assert 0 <= least_failure(800.0) < 1e-300
    assert impossible(1.0, alpha=50, beta=0.05, spread=100)
    assert not impossible(1.0, alpha=51, beta=0.05, spread=100)
    assert not impossible(1.0, alpha=50, beta=0.3, spread=100)


def test_the_impossibility_result_holds_for_laplace_noise() -> None:
    """Free-lunch privacy of a count over n records needs scale n/ε; its β at α = n/2 is e^(−ε/2), above 1/(e^ε + 1)."""
    for epsilon in (0.1, 1.0, 4.0):
        n = 100
        assert Laplace(n / epsilon).tail(n / 2) >= least_failure(epsilon)


@pytest.mark.parametrize("beta", [0, 1, -0.1, 2, float("nan"), "0.05"])
def test_bad_betas_are_refused(beta: float) -> None:
    with pytest.raises(InvalidInputError, match="beta must"):
        Laplace(1).alpha(beta)


@pytest.mark.parametrize("scale", [0, -1, float("inf"), float("nan")])
def test_bad_scales_are_refused(scale: float) -> None:
    with pytest.raises(InvalidInputError, match="scale must"):
        Laplace(scale)
    with pytest.raises(InvalidInputError, match="scale must"):
        DiscreteLaplace(scale)


def test_other_bad_values_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"\[0, 0.5\)"):
        RandomizedResponse(0.5, 10, 5)
    with pytest.raises(InvalidInputError, match="ones must be at most records"):
        RandomizedResponse(0.2, 10, 11)
    with pytest.raises(InvalidInputError, match="alpha must be greater than 0"):
        Laplace(1).beta(0)
    with pytest.raises(InvalidInputError, match="cells must be at least 1"):
        Laplace(1).alpha(0.05, cells=0)
    with pytest.raises(InvalidInputError, match="too large"):
        Laplace(1.7e308).alpha(1e-6)
    with pytest.raises(InvalidInputError, match="too large"):
        laplace_scale(Sum(bounds=(0, 1e300)), 1e-300)
    with pytest.raises(InvalidInputError, match="alpha"):
        tau_for_accuracy(Count(equals=1), -1, 0.05)
    with pytest.raises(InvalidInputError, match="epsilon"):
        least_failure(0)
    with pytest.raises(InvalidInputError, match="beta must lie"):
        impossible(1, alpha=1, beta=2, spread=1)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 700))
def test_tails_are_never_below_the_exact_ones(scale: float, ratio: float) -> None:
    alpha = scale * ratio
    with localcontext(prec=60):
        exact = (-Decimal(alpha) / Decimal(scale)).exp()
        assert Decimal(Laplace(scale).tail(alpha)) >= exact
        steps = max(1, math.ceil(alpha))
        p = (-1 / Decimal(scale)).exp()
        discrete = 2 * (-Decimal(steps) / Decimal(scale)).exp() / (1 + p)
        if discrete > Decimal("1e-300"):
            assert Decimal(DiscreteLaplace(scale).tail(steps)) >= min(discrete, Decimal(1))


def exact_gaussian_tail(scale: float, steps: int) -> float:
    """Add the law up term by term, in numbers with fifty digits."""
    from decimal import Decimal, getcontext

    getcontext().prec = 50
    reach = int(45 * scale) + steps + 10
    terms = [(-Decimal(j * j) / (2 * Decimal(scale) ** 2)).exp() for j in range(reach)]
    return float(2 * sum(terms[steps:]) / (2 * sum(terms) - 1))


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 3.7, 40.0])
def test_discrete_gaussian_tails_are_exact_and_rounded_up(scale: float) -> None:
    law = DiscreteGaussian(scale)
    for steps in {1, 2, max(1, round(scale)), max(1, round(3 * scale)), max(1, round(12 * scale))}:
        exact = exact_gaussian_tail(scale, steps)
        assert exact <= law.tail(steps) <= exact * (1 + 1e-9) + 1e-290
        assert law.tail(steps - 0.5) == law.tail(steps)
    assert law.tail(0.0 + 1e-300) == law.tail(1)


@pytest.mark.parametrize("scale", [600.0, 1024.0])
def test_both_ways_to_bound_a_discrete_gaussian_tail_agree(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    law = DiscreteGaussian(scale)
    steps = [round(scale * ratio) for ratio in (0.1, 0.9, 1.1, 2.0, 6.0, 20.0)]
    summed = [law.tail(step) for step in steps]
    monkeypatch.setattr("bayesdp.accuracy._SUMMED", 0.0)
    bounded = [law.tail(step) for step in steps]
    for step, one, other in zip(steps, summed, bounded, strict=True):
        assert one * (1 - 1e-9) <= other <= one * (1 + (2e-3 if step < scale else 2e-4))


@given(st.floats(1e-3, 1e12), st.floats(1e-12, 0.9), st.integers(1, 50))
def test_discrete_gaussian_alpha_is_the_smallest(scale: float, beta: float, cells: int) -> None:
    law = DiscreteGaussian(scale)
    alpha = law.alpha(beta, cells)
    assert law.beta(alpha, cells) <= beta * (1 + 1e-9)
    if 1 < alpha < 2**50:
        assert law.beta(alpha - 1, cells) > beta * (1 - 1e-9)


def test_discrete_gaussian_extremes_are_probabilities() -> None:
    assert DiscreteGaussian(1e-200).alpha(1e-12) == 1
    assert 0 < DiscreteGaussian(1e-200).tail(1) < 1e-280
    assert 0 < DiscreteGaussian(1.0).tail(1e6) < 1e-280
    assert DiscreteGaussian(2.0**56).tail(1) == 1
    assert DiscreteGaussian(2.0**56).alpha(0.05) == pytest.approx(1.959963984540054 * 2.0**56)


@given(st.floats(1e-6, 1e6), st.floats(1e-12, 0.9))
def test_gaussian_alpha_is_tight_and_rounded_up(scale: float, beta: float) -> None:
    law = Gaussian(scale)
    alpha = law.alpha(beta)
    assert law.tail(alpha) <= beta < law.tail(alpha * (1 - 1e-8))
    assert alpha == pytest.approx(scale * stats.norm.isf(beta / 2), rel=1e-8)


@pytest.mark.parametrize(
    ("query", "square"),
    [
        (Count(equals=1), 1),
        (Histogram("s", cells=["a"]), 1),
        (Histogram("s", cells=["a", "b", "c"]), 2),
        (Sum("h", bounds=(0, 100)), 10_000),
    ],
)
def test_gaussian_scales_follow_the_sensitivity_in_l2(query: Count | Histogram | Sum, square: int) -> None:
    scale = gaussian_scale(query, 0.1)
    assert Fraction(square) <= 2 * Fraction(0.1) * Fraction(scale) ** 2
    assert scale == pytest.approx(math.sqrt(square / 0.2))
    rho = rho_for_accuracy(query, 30.0, 0.05)
    assert Gaussian(gaussian_scale(query, rho)).alpha(0.05, cells=query.dimension) <= 30.0
    assert Gaussian(gaussian_scale(query, rho * (1 - 1e-6))).alpha(0.05, cells=query.dimension) > 30.0


def test_accuracies_beyond_floating_point_are_refused() -> None:
    for alpha in (1e-200, 1e200):
        with pytest.raises(InvalidInputError, match="no rho that floating-point numbers can hold"):
            rho_for_accuracy(Count(equals=1), alpha, 0.05)
