import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bayesdp.accuracy import DiscreteGaussian, least_gaussian_scale
from bayesdp.errors import InvalidInputError, NoiseError
from bayesdp.losses import ApproximateLoss, ConcentratedLoss, PureLoss
from bayesdp.mechanisms import (
    LARGEST_SCALE,
    LARGEST_VALUE,
    DiscreteGaussianMechanism,
    discrete_gaussian,
    noise_for,
    require_private,
)
from bayesdp.rounding import up

squares = st.one_of(st.integers(1, 100), st.integers(1, 2**80), st.just(2**80))
rhos = st.one_of(st.floats(1e-6, 50), st.sampled_from([0.5, 1 / 128, 1 / 3]))


@given(squares, rhos)
def test_the_scale_is_enough_in_exact_numbers_and_for_opendp(squared: int, rho: float) -> None:
    mechanism = DiscreteGaussianMechanism(squared, rho)
    assert Fraction(squared) <= 2 * Fraction(rho) * Fraction(mechanism.scale) ** 2
    assert mechanism._confirmed(mechanism.scale) <= rho
    smallest = least_gaussian_scale(Fraction(squared), rho)
    assert Fraction(math.nextafter(smallest, 0)) ** 2 < Fraction(squared) / (2 * Fraction(rho))
    assert mechanism.scale <= up(smallest, 8)


class LooseMap:
    """OpenDP's mechanism if its map could not be satisfied."""

    def map(self, distance: float) -> float:
        return math.inf


def test_a_map_that_is_not_satisfied_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrete_gaussian, "_measurement", lambda scale, _: LooseMap())
    with pytest.raises(InvalidInputError, match="OpenDP does not confirm"):
        DiscreteGaussianMechanism(1, 0.7)


def test_noise_cannot_overflow_before_the_limits_are_passed() -> None:
    assert DiscreteGaussian(LARGEST_SCALE).tail(2**63 - 1 - LARGEST_VALUE) < 1e-300
    largest = DiscreteGaussianMechanism(1, 0.5 / LARGEST_SCALE**2 * (1 + 1e-9))
    assert largest.scale == pytest.approx(LARGEST_SCALE)
    released = largest.release([LARGEST_VALUE])
    assert abs(released[0] - LARGEST_VALUE) < 64 * LARGEST_SCALE
    for squared, rho in ((1, 0.49 / LARGEST_SCALE**2), (2**80, 2.0**-40)):
        with pytest.raises(InvalidInputError, match="beyond 2\\^56, which overflows 64-bit integers"):
            DiscreteGaussianMechanism(squared, rho)
        assert not DiscreteGaussianMechanism.fits(ConcentratedLoss(rho), squared)
    assert DiscreteGaussianMechanism.fits(ConcentratedLoss(0.5), LARGEST_SCALE**2)


def test_the_noise_has_the_law_that_is_stated() -> None:
    mechanism = DiscreteGaussianMechanism(1, 1 / 18, dimension=20_000)
    drawn = np.array(mechanism.release([5] * 20_000)) - 5
    weights = np.exp(-(np.arange(-30, 31) ** 2) / (2 * mechanism.scale**2))
    law = weights / weights.sum()
    kept = law * len(drawn) > 10
    seen = np.array([(drawn == value).sum() for value in np.arange(-30, 31)[kept]])
    expected = law[kept] * len(drawn)
    rest, rest_expected = len(drawn) - seen.sum(), len(drawn) - expected.sum()
    statistic = ((seen - expected) ** 2 / expected).sum() + (rest - rest_expected) ** 2 / rest_expected
    assert stats.chi2.sf(statistic, len(seen)) > 1e-9
    assert len(set(drawn.tolist())) > 10


def test_cells_get_independent_noise() -> None:
    mechanism = DiscreteGaussianMechanism(2, 0.001, dimension=3)
    assert len(set(mechanism.release([0, 0, 0]))) > 1 or len(set(mechanism.release([0, 0, 0]))) > 1


@given(units=st.integers(1, 10**6), beta=st.floats(1e-6, 0.5), squared=st.sampled_from([1, 2, 10**6]))
def test_the_smallest_loss_for_an_accuracy(units: int, beta: float, squared: int) -> None:
    loss = DiscreteGaussianMechanism.for_accuracy(units, beta, squared, dimension=2)
    assert (
        DiscreteGaussianMechanism.law_of(least_gaussian_scale(Fraction(squared), loss.rho)).alpha(beta, cells=2)
        <= units
    )
    less = least_gaussian_scale(Fraction(squared), loss.rho * (1 - 1e-3))
    assert DiscreteGaussianMechanism.law_of(less).alpha(beta, cells=2) > units


def test_it_is_private_and_costs_a_rho_only() -> None:
    require_private(DiscreteGaussianMechanism(1, 0.5))
    assert noise_for(ConcentratedLoss) is DiscreteGaussianMechanism
    assert noise_for(ConcentratedLoss).for_loss(ConcentratedLoss(0.5), 2, 3) == DiscreteGaussianMechanism(2, 0.5, 3)
    for loss in (PureLoss(0.5), ApproximateLoss(0.5, 1e-6), ConcentratedLoss(0.5, 1e-6)):
        with pytest.raises(InvalidInputError, match="discrete Gaussian noise costs"):
            DiscreteGaussianMechanism.for_loss(loss, 1, 1)
    with pytest.raises(InvalidInputError, match="no noise mechanism for approximate"):
        noise_for(ApproximateLoss)


def test_a_redirected_generator_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = DiscreteGaussianMechanism(1, 0.5)
    monkeypatch.setenv("OPENSSL_CONF", "/tmp/other.cnf")
    with pytest.raises(NoiseError):
        mechanism.release([1])


@pytest.mark.parametrize(
    "wrong", [(0, 0.5), (1.5, 0.5), (True, 0.5), (1, 0.0), (1, math.nan), (1, -1.0), (2**125, 0.5)]
)
def test_bad_parameters_are_refused(wrong: tuple[int, float]) -> None:
    with pytest.raises(InvalidInputError):
        DiscreteGaussianMechanism(*wrong)
