"""Odds ratios of tables of probabilities."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.models.odds import log_odds_ratio, odds_above
from bayesdp.testing import transition_matrices


@given(data=st.data(), states=st.integers(1, 4))
def test_is_the_largest_of_all_ratios_rounded_up(data: st.DataObject, states: int) -> None:
    matrix = data.draw(transition_matrices(states, zeros=False))
    exact = [[Fraction(float(entry)) for entry in row] for row in matrix]
    pairs = list(itertools.product(range(states), repeat=2))
    largest = max(exact[x][y] * exact[z][w] / (exact[x][w] * exact[z][y]) for x, z in pairs for y, w in pairs)
    odds = odds_above([log_odds_ratio(matrix)])
    assert largest <= Fraction(odds) <= largest * (1 + Fraction(1, 10**12))


def test_values_that_some_rows_exclude_have_no_limit() -> None:
    assert log_odds_ratio([[0.5, 0.5], [1.0, 0.0]]) == math.inf
    assert log_odds_ratio([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]]) < math.inf


def test_equal_rows_are_independent() -> None:
    assert log_odds_ratio([[0.3, 0.7], [0.3, 0.7]]) == 0.0
    assert log_odds_ratio(np.full((5, 3), 1 / 3)) == 0.0


def test_beyond_the_largest_float_odds_are_infinite() -> None:
    assert odds_above([710.0]) == math.inf


def test_weights_with_the_same_logarithm_are_not_the_same() -> None:
    tiny = 1e-300
    more = tiny * (1 + 2e-14)
    assert math.log(tiny) == math.log(more)
    assert log_odds_ratio([[1.0, tiny], [1.0, more]]) >= 1.9e-14
