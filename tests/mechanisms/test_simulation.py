import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bayesdp.accuracy import Laplace
from bayesdp.errors import InvalidInputError
from bayesdp.mechanisms import SimulatedLaplace

DRAWS = 100_000


def generator() -> np.random.Generator:
    return np.random.default_rng(20120101)


@pytest.mark.parametrize("scale", [0.3, 1.0, 50.0])
def test_simulated_noise_has_the_tails_of_its_law(scale: float) -> None:
    simulated = SimulatedLaplace(scale, generator())
    noise = simulated.draw(DRAWS)
    assert simulated.law == Laplace(scale)
    for alpha in (1, 2, scale, 3 * scale):
        beyond = int((np.abs(noise) >= alpha).sum())
        assert stats.binomtest(beyond, DRAWS, Laplace(scale).tail(alpha)).pvalue > 1e-9
    assert abs(noise.mean()) < 7 * noise.std() / math.sqrt(DRAWS)


def test_a_seed_gives_the_same_noise_again() -> None:
    released = [SimulatedLaplace(1.0, generator()).release([1, 2, 3]) for _ in range(2)]
    assert released[0] == released[1] != (1, 2, 3)
    assert SimulatedLaplace(1.0, generator()).draw((4, 5)).shape == (4, 5)


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf, True])
def test_scales_that_are_none_are_refused(scale: Any) -> None:
    with pytest.raises(InvalidInputError, match="scale"):
        SimulatedLaplace(scale, generator())


def test_a_bare_seed_is_refused() -> None:
    seed: Any = 7
    with pytest.raises(InvalidInputError, match=r"default_rng\(7\)"):
        SimulatedLaplace(0.25, seed)
