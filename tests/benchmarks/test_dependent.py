"""Dependent differential privacy of two records."""

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest

from bayesdp.errors import DoesNotApplyError, InvalidInputError
from bayesdp.models import MarkovChain
from bayesdp.theorems.markov.mixing import mixing_epsilons
from peer_mechanisms.comparison import (
    peer_named,
)
from peer_mechanisms.dependent import dependence_coefficient, dependent_scales

EPSILONS = (0.2, 1.0, 5.0)
SLOW = MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=100)
THREE = MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.25, 0.25, 0.5]], length=5)
RING = MarkovChain([[0, 1, 0], [0.5, 0, 0.5], [0.2, 0.8, 0]], length=30)


def test_dependent_dp_is_the_mixing_bound_of_two_records() -> None:
    for chain in (replace(SLOW, length=2), replace(THREE, length=2), replace(RING, length=2)):
        for tau in (0.1, 1.0, 3.0):
            leaked = tau * (1 + dependence_coefficient(chain, tau))
            assert mixing_epsilons(chain, [tau])[0] == pytest.approx(leaked, rel=1e-9)
        assert dependent_scales(chain, EPSILONS) == pytest.approx(peer_named("markov-mixing").scales(chain, EPSILONS))


def test_the_coefficient_is_that_of_the_best_set_of_values() -> None:
    """By its definition: every two values of one record, every set of the other's values, in both directions."""
    law, matrix, tau = THREE.stationary, THREE.matrix, 0.7
    best = 0.0
    for laws in (matrix, (law[:, None] * matrix).T / law[:, None]):
        for p, q in itertools.permutations(laws, 2):
            for size in (1, 2):
                for chosen in itertools.combinations(range(3), size):
                    shares = [1 + math.expm1(tau) * row[list(chosen)].sum() for row in (p, q)]
                    best = max(best, math.log(shares[0] / shares[1]))
    assert dependence_coefficient(THREE, tau) == pytest.approx(best / tau)


def test_a_copy_counts_in_full_and_an_independent_record_not() -> None:
    copied = MarkovChain([[1 - 1e-12, 1e-12], [1e-12, 1 - 1e-12]], length=2)
    assert dependence_coefficient(copied, 1.0) == pytest.approx(1, abs=1e-6)
    assert dependence_coefficient(MarkovChain([[0.3, 0.7], [0.3, 0.7]]), 1.0) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("change", [{"start": "any"}, {"length": 3}])
def test_other_chains_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(DoesNotApplyError, match="restated for"):
        dependent_scales(replace(replace(SLOW, length=2), **change), [1.0])
    with pytest.raises(InvalidInputError, match="tau"):
        dependence_coefficient(SLOW, 0)
