"""The two-value step: against a fine grid, and the lemma that two values suffice."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.theorems.markov.two_values import Gains, averaged, largest_quotient, steepest

SEEDS = st.integers(0, 10**6)


def _array(*values: float) -> list[np.ndarray]:
    return [np.array([value]) for value in values]


@given(SEEDS)
def test_no_weight_exceeds_the_bound(seed: int) -> None:
    generator = np.random.default_rng(seed)
    middle = 2 * np.cosh(generator.uniform(0, 12))
    e0, e1, e2 = generator.normal(size=3) * np.exp(generator.uniform(-20, 3)) * [1, middle, 1]
    scale = max(abs(e0), abs(e1) / middle, abs(e2))
    (bound,), _ = largest_quotient(*_array(e0, e1, e2, middle, scale))
    weights = np.concatenate([[0.0], np.exp(np.linspace(-40, 40, 20_001))])
    reached = ((e0 + e1 * weights + e2 * weights**2) / (1 + middle * weights + weights**2)).max()
    reached = max(reached, e2)
    assert reached <= bound
    assert bound - reached <= 1e-5 * scale


@given(SEEDS, st.sampled_from([1e-9, 0.1, 1.0, 10.0]))
def test_the_average_is_that_of_a_fine_grid(seed: int, size: float) -> None:
    generator = np.random.default_rng(seed)
    gains = generator.uniform(0, size, size=4)
    low, high = np.sort(generator.normal(size=2) * 3)
    found = averaged(Gains(*_array(*gains)), np.array([low]), np.array([high])).value[0]
    c00, c01, c10, c11 = gains
    y = np.linspace(-2 * size, 2 * size, 161)[:, None, None]
    y = np.append(y, [[[c00 - c01]], [[c10 - c11]]], axis=0)
    odds = np.linspace(low, high, 9)[None, :, None]
    weight = np.exp(np.linspace(-15, 15, 601))[None, None, :]
    h1, h2 = np.minimum(c00, c01 + y), np.minimum(c10, c11 + y)
    share = weight / (1 + weight)
    tilted = np.exp(odds) * weight / (1 + np.exp(odds) * weight)
    more, less = (1 - share) * np.expm1(h1) + share * np.expm1(h2), tilted * np.expm1(y)
    reached = (np.log1p(more) - np.log1p(less)).max()
    assert reached <= found * (1 + 1e-12)
    assert found - max(reached, 0.0) <= 3e-3 * size


def test_an_interaction_without_limits_costs_the_largest_gain() -> None:
    step = averaged(Gains(*_array(0.1, 0.7, 0.3, 0.2)), np.array([-np.inf]), np.array([np.inf]))
    assert step.value[0] == 0.7


@pytest.mark.parametrize("size", [700.0, 1e5])
def test_gains_too_large_to_be_exponents(size: float) -> None:
    assert averaged(Gains(*_array(size, 1, 2, 3)), np.array([-1.0]), np.array([1.0])).value[0] == size


@given(SEEDS)
def test_slopes_are_derivatives(seed: int) -> None:
    generator = np.random.default_rng(seed)
    gains, odds = generator.uniform(0.1, 2, size=4), generator.uniform(0.5, 3, size=1)
    here = averaged(Gains(*_array(*gains)), odds, odds, slopes=True)
    for at in range(4):
        moved = [gains + step * 1e-6 * (np.arange(4) == at) for step in (-1, 1)]
        less, more = (averaged(Gains(*_array(*each)), odds, odds).value[0] for each in moved)
        sides = [(here.value[0] - less) / 1e-6, (more - here.value[0]) / 1e-6]
        assert min(sides) - 1e-4 <= here.slopes[at][0] <= max(sides) + 1e-4


@given(SEEDS)
def test_two_values_suffice(seed: int) -> None:
    """Random weights on many values never exceed the best weights on two of them."""
    generator = np.random.default_rng(seed)
    values = int(generator.integers(2, 6))
    a, b, c, d = np.exp(generator.normal(size=(4, values)) * 2)
    logs = np.log([a, b, c, d])[:, None]
    pairs = itertools.combinations(range(values), 2)
    twos = [logs[..., list(pair)] for pair in pairs]
    best = max(float(steepest((two[0], two[1]), (two[2], two[3]), np.zeros(1))[0]) for two in twos)
    weights = np.exp(generator.normal(size=(2000, values)) * generator.choice([0.5, 2.0, 5.0]))
    reached = np.log((weights @ a) * (weights @ b) / ((weights @ c) * (weights @ d))).max()
    assert reached <= best
