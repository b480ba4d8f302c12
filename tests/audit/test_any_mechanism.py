"""The linear program over all mechanisms, against an enumeration of the mechanisms that can be worst."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.audit import any_mechanism
from bayesdp.audit.any_mechanism import log_ratio, most_telling
from bayesdp.errors import BayesDPError

SHAPES = [(2,), (3,), (2, 2), (2, 3), (2, 2, 2)]


def is_private(log_likelihood: np.ndarray, tau: float) -> bool:
    points = list(itertools.product(*map(range, log_likelihood.shape)))
    return all(
        log_likelihood[first] - log_likelihood[second]
        <= tau * sum(a != b for a, b in zip(first, second, strict=True)) * (1 + 1e-12)
        for first, second in itertools.permutations(points, 2)
    )


@cache
def whole_steps(shape: tuple[int, ...]) -> np.ndarray:
    """All functions of the data set that change by a whole number, at most 1 for each record that changes."""
    heights = itertools.product(range(len(shape) + 1), repeat=math.prod(shape))
    functions = np.array(list(heights), dtype=float).reshape(-1, *shape)
    kept = [functions.reshape(len(functions), -1).min(axis=1) == 0]
    for axis in range(1, functions.ndim):
        steps = np.ptp(functions, axis=axis).reshape(len(functions), -1)
        kept.append(steps.max(axis=1) <= 1)
    return np.asarray(functions[np.all(kept, axis=0)])


def laws(seed: int, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    more, less = generator.dirichlet(np.full(math.prod(shape), 0.5), size=2)
    return more.reshape(shape), less.reshape(shape)


@given(st.sampled_from(SHAPES), st.integers(0, 10**6), st.floats(0.01, 6))
def test_no_function_of_whole_steps_tells_more(shape: tuple[int, ...], seed: int, tau: float) -> None:
    more, less = laws(seed, shape)
    likelihoods = np.exp(tau * whole_steps(shape)).reshape(-1, more.size)
    best = math.log(np.max(likelihoods @ more.ravel() / (likelihoods @ less.ravel())))
    output = most_telling(more, less, tau)
    assert is_private(output, tau)
    assert log_ratio(more, less, output) == pytest.approx(best, rel=1e-11, abs=1e-13)


@given(st.sampled_from([*SHAPES, (2, 2, 2, 2, 2), (3, 3, 3)]), st.integers(0, 10**6), st.floats(0.01, 3))
def test_no_random_private_function_tells_more(shape: tuple[int, ...], seed: int, tau: float) -> None:
    more, less = laws(seed, shape)
    output = most_telling(more, less, tau)
    assert is_private(output, tau)
    heights = np.random.default_rng(seed + 1).uniform(0, len(shape), size=shape)
    assert log_ratio(more, less, output) >= log_ratio(more, less, tau * any_mechanism._private(heights)) - 1e-12


def test_one_data_set_tells_nothing() -> None:
    assert most_telling(np.ones(()), np.ones(()), 1.0).shape == ()
    assert log_ratio(np.ones((1, 1)), np.ones((1, 1)), most_telling(np.ones((1, 1)), np.ones((1, 1)), 1.0)) == 0.0


def test_a_solver_that_gives_up_is_not_believed() -> None:
    with pytest.raises(BayesDPError, match="not solved"):
        most_telling(np.array([0.5, 0.5]), np.zeros(2), 1.0)
