import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bayesdp.accuracy import DiscreteLaplace, Laplace, RandomizedResponse
from bayesdp.errors import InvalidInputError
from bayesdp.mechanisms import (
    LARGEST_SCALE,
    Noise,
    SimulatedDiscreteLaplace,
    SimulatedLaplace,
    SimulatedRandomizedResponse,
)

DRAWS = 100_000


def generator() -> np.random.Generator:
    return np.random.default_rng(20120101)


@pytest.mark.parametrize("scale", [0.3, 1.0, 50.0])
@pytest.mark.parametrize(("kind", "law"), [(SimulatedLaplace, Laplace), (SimulatedDiscreteLaplace, DiscreteLaplace)])
def test_simulated_noise_has_the_tails_of_its_law(kind: Any, law: Any, scale: float) -> None:
    simulated = kind(scale, generator())
    noise = simulated.draw(DRAWS)
    assert simulated.law == law(scale)
    for alpha in (1, 2, scale, 3 * scale):
        beyond = int((np.abs(noise) >= alpha).sum())
        assert stats.binomtest(beyond, DRAWS, law(scale).tail(alpha)).pvalue > 1e-9
    assert abs(noise.mean()) < 7 * noise.std() / math.sqrt(DRAWS)


def test_simulated_randomized_response_has_the_tails_of_its_law() -> None:
    law = RandomizedResponse(0.25, 200, 50)
    reported = SimulatedRandomizedResponse(0.25, generator()).draw(records=200, ones=50, size=DRAWS)
    estimates = (reported - 200 * 0.25) / (1 - 2 * 0.25)
    for alpha in (5.0, 20.0, 30.0):
        beyond = int((np.abs(estimates - 50) >= alpha).sum())
        assert stats.binomtest(beyond, DRAWS, law.tail(alpha)).pvalue > 1e-9


@pytest.mark.parametrize("kind", [SimulatedLaplace, SimulatedDiscreteLaplace])
def test_a_seed_gives_the_same_noise_again(kind: Any) -> None:
    assert isinstance(kind(1.0, generator()), Noise)
    assert kind(1.0, generator()).release([1, 2, 3]) == kind(1.0, generator()).release([1, 2, 3])
    assert kind(1.0, generator()).draw((4, 5)).shape == (4, 5)
    assert not kind.private


def test_discrete_noise_is_added_in_integers() -> None:
    released = SimulatedDiscreteLaplace(2.0, generator()).release([2**60, 0])
    assert all(type(value) is int for value in released)
    assert abs(released[0] - 2**60) < 200


@pytest.mark.parametrize("kind", [SimulatedLaplace, SimulatedDiscreteLaplace])
@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf, True])
def test_scales_that_are_none_are_refused(kind: Any, scale: Any) -> None:
    with pytest.raises(InvalidInputError, match="scale"):
        kind(scale, generator())


def test_scales_beyond_integers_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="at most 2\\^56"):
        SimulatedDiscreteLaplace(2.0 * LARGEST_SCALE, generator())


@pytest.mark.parametrize("kind", [SimulatedLaplace, SimulatedDiscreteLaplace, SimulatedRandomizedResponse])
def test_a_bare_seed_is_refused(kind: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"default_rng\(7\)"):
        kind(0.25, 7)


@pytest.mark.parametrize("flip", [0.5, 0.7, -0.1, math.nan])
def test_flips_that_are_none_are_refused(flip: float) -> None:
    with pytest.raises(InvalidInputError, match="flip"):
        SimulatedRandomizedResponse(flip, generator())
