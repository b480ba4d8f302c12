"""The stationary law of a transition matrix."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import MarkovChain
from bayesdp.models.memory import stationary_of


def test_the_stationary_law_is_accurate_when_states_are_rare() -> None:
    tiny = 1e-12
    weights = MarkovChain([[1 - tiny, tiny], [0.5, 0.5]]).stationary
    assert weights[1] == pytest.approx(tiny / (tiny + 0.5), rel=1e-12)


@given(st.integers(2, 5), st.integers(0, 10**6), st.integers(0, 60))
def test_every_entry_is_as_accurate_as_promised(size: int, seed: int, spread: int) -> None:
    """By exact elimination, also where entries differ by many orders of magnitude."""
    matrix = np.exp2(-np.random.default_rng(seed).integers(0, spread + 1, (size, size)).astype(float))
    matrix /= matrix.sum(axis=1, keepdims=True)
    work = [[Fraction(entry) for entry in row] for row in matrix]
    for last in range(size - 1, 0, -1):
        total = sum(work[last][:last])
        for i in range(last):
            work[i][last] /= total
            for j in range(last):
                work[i][j] += work[i][last] * work[last][j]
    weights = [Fraction(1)]
    for index in range(1, size):
        weights.append(sum((weights[i] * work[i][index] for i in range(index)), Fraction(0)))
    exact = [weight / sum(weights) for weight in weights]
    for found, expected in zip(stationary_of(matrix), exact, strict=True):
        assert abs(Fraction(float(found)) / expected - 1) <= 9 * size**3 * Fraction(1, 2**53)


def test_the_matrix_given_is_left_as_it_is() -> None:
    matrix = np.array([[0.9, 0.1], [0.4, 0.6]])
    stationary_of(matrix)
    assert matrix.tolist() == [[0.9, 0.1], [0.4, 0.6]]
