"""The Markov quilt mechanism, against its definition."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from bayesdp.audit.oracle import chain_joint
from bayesdp.errors import DoesNotApplyError
from bayesdp.models import MarkovChain
from peer_mechanisms.quilts import approximate_quilt_scales, eigengap, end_influences, exact_quilt_scales

SLOW = MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=100)
THREE = MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.25, 0.25, 0.5]], length=5)


def enumerated_quilt(chain: MarkovChain, epsilon: float) -> float:
    """MQMExact by its definition: every target, every quilt, the influence from the joint law of all records."""
    assert chain.length is not None
    law, size = chain_joint(chain, chain.length, None), chain.length

    def influence(target: int, ends: tuple[int, ...]) -> float:
        given = np.moveaxis(law, (target, *ends), range(1 + len(ends))).reshape(
            len(chain.states), len(chain.states) ** len(ends), -1
        )
        conditional = given.sum(axis=2) / given.sum(axis=(1, 2))[:, None]
        return float(max(np.log(one / other).max() for one, other in itertools.permutations(conditional, 2)))

    worst = 0.0
    for target in range(size):
        best = size / epsilon
        for before, after in itertools.product([None, *range(target)], [None, *range(target + 1, size)]):
            ends = tuple(end for end in (before, after) if end is not None)
            inside = (size if after is None else after) - (-1 if before is None else before) - 1
            cost = influence(target, ends) if ends else 0.0
            if cost < epsilon:
                best = min(best, inside / (epsilon - cost))
        worst = max(worst, best)
    return worst


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("chain", [THREE, replace(SLOW, length=6)])
def test_the_exact_quilt_is_the_definition(chain: MarkovChain, epsilon: float) -> None:
    assert exact_quilt_scales(chain, [epsilon]) == [pytest.approx(enumerated_quilt(chain, epsilon), rel=1e-9)]


def test_the_eigengap_of_a_chain_that_cannot_be_reversed() -> None:
    round_about = MarkovChain([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]])
    matrix = round_about.matrix
    assert eigengap(round_about) == pytest.approx(1 - sorted(np.linalg.eigvalsh(matrix @ matrix.T))[-2])


@pytest.mark.parametrize("scales", [exact_quilt_scales, approximate_quilt_scales])
def test_an_endless_chain_is_a_long_one(scales: Callable[[MarkovChain, Sequence[float]], list[float]]) -> None:
    epsilons = (0.2, 1.0, 5.0)
    assert scales(replace(SLOW, length=5000), epsilons) == pytest.approx(scales(replace(SLOW, length=None), epsilons))


def test_the_approximation_needs_no_less_than_the_exact_quilt() -> None:
    for epsilon in (0.2, 1.0, 5.0):
        (exact,), (approximate,) = exact_quilt_scales(SLOW, [epsilon]), approximate_quilt_scales(SLOW, [epsilon])
        assert exact <= approximate <= 100 / epsilon


def test_the_cost_of_an_end_falls_with_its_distance() -> None:
    before, after = end_influences(replace(SLOW, length=None), 1e-3)
    for side in (before, after):
        largest = side.max(axis=1)
        assert (np.diff(largest) < 0).all()
        assert largest[-1] <= 1e-3
    assert end_influences(replace(SLOW, length=6), 1e-9)[0].shape == (5, 4)


def test_a_chain_that_never_settles_is_paid_record_by_record() -> None:
    flipping = MarkovChain([[0, 1], [1, 0]], length=10)
    assert exact_quilt_scales(flipping, [1.0]) == [10.0]
    with pytest.raises(DoesNotApplyError, match="aperiodic"):
        approximate_quilt_scales(flipping, [1.0])


@pytest.mark.parametrize(
    ("chain", "said"),
    [
        (replace(SLOW, start="any"), "stationary law"),
        (replace(SLOW, gaps=True), "is missing"),
        (MarkovChain([[[0.9, 0.1], [0.6, 0.4]], [[0.7, 0.3], [0.2, 0.8]]], memory=2), "remember one record"),
    ],
)
def test_chains_that_are_not_covered_are_refused(chain: MarkovChain, said: str) -> None:
    for scales in (exact_quilt_scales, approximate_quilt_scales):
        with pytest.raises(DoesNotApplyError, match=said):
            scales(chain, [1.0])
