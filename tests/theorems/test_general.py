import math

import numpy as np
import pytest

from bayesdp import ArbitraryGroups, Count, MarkovChain, leakage
from bayesdp.audit.oracle import bdpl, randomized_response
from bayesdp.testing import TheoremContract, every_case
from bayesdp.theorems.general import GeneralBound

COUNT = Count(equals=1)


class TestGeneralBound(TheoremContract):
    theorem = GeneralBound()
    cases = every_case()
    refused = ((MarkovChain([[0.5, 0.5], [0.5, 0.5]]), COUNT),)


def test_reference_value() -> None:
    assert leakage(ArbitraryGroups(3), COUNT, tau=1.0).epsilon == 3.0
    assert leakage(ArbitraryGroups(3), COUNT, tau=0.1).epsilon >= 0.3


def tightness_example(r: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The paper's table: rows are X1, columns X2; its Pearson correlation vanishes as r grows."""
    return np.array([[1 / r**2, 1 / r**3], [(r - 1) / r**2, (r**3 - r**2 - 1) / r**3]])


@pytest.mark.parametrize("tau", [0.5, 1.0, 3.0])
def test_the_papers_tightness_example_approaches_twice_tau_with_vanishing_correlation(tau: float) -> None:
    kernel = randomized_response(1 / (1 + math.exp(tau)), records=2)
    leaks, correlations = [], []
    for r in (10.0, 1e2, 1e3, 1e4):
        joint = tightness_example(r)
        assert joint.sum() == pytest.approx(1)
        leaks.append(bdpl(joint, kernel).epsilon)
        first, second = joint[1].sum(), joint[:, 1].sum()
        spread = math.sqrt(first * (1 - first) * second * (1 - second))
        correlations.append((joint[1, 1] - first * second) / spread)
    assert leaks == sorted(leaks)
    assert leaks[-1] <= 2 * tau + 1e-12
    assert leaks[-1] == pytest.approx(2 * tau, rel=2e-2 * math.exp(tau) / tau)
    assert correlations == sorted(correlations, reverse=True)
    assert 0 < correlations[-1] < 0.02
