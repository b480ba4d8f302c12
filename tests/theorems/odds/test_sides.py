"""One side of a chain of bounded odds: the matrix power is the contraction, record by record, and no less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bayesdp.theorems.odds.contraction import contraction
from bayesdp.theorems.odds.sides import leakage_of_any_length, side, tau_of_any_length

taus = st.floats(-9, 2.5).map(lambda exponent: 10.0**exponent)
log_odds = st.floats(0, 100) | st.floats(-9, 2).map(lambda exponent: 10.0**exponent)


def one(tau: float) -> np.ndarray:
    return np.array([tau])


@given(tau=taus, d=log_odds, records=st.integers(0, 60))
@example(tau=1.0, d=4.797378886597104e-296, records=1)
def test_is_the_contraction_again_and_again(tau: float, d: float, records: int) -> None:
    stepwise = 0.0
    for _ in range(records):
        stepwise = contraction(tau + stepwise, d)
    (power,) = side(one(tau), d, records)
    below_which_the_contraction_rounds_up_to_d = 1e-290
    assert stepwise * (1 - 1e-11) - below_which_the_contraction_rounds_up_to_d <= power
    assert power <= stepwise * (1 + 1e-11) + 5e-324


@given(tau=taus, d=log_odds)
def test_no_length_adds_more_than_any_length(tau: float, d: float) -> None:
    (limit,) = side(one(tau), d, None)
    assert side(one(tau), d, 10**6)[0] <= limit
    fixed = contraction(tau + limit, d)
    assert fixed <= limit + 1e-12 * (tau + limit)


@given(tau=taus, d=log_odds)
def test_the_inverse_goes_back(tau: float, d: float) -> None:
    (epsilon,) = leakage_of_any_length(one(tau), d)
    assert tau_of_any_length(float(epsilon), d) == pytest.approx(tau, rel=1e-9)


def test_extremes() -> None:
    assert leakage_of_any_length(one(1e-320), 2.0)[0] > 1e-320
    assert leakage_of_any_length(one(1e308), 2.0)[0] >= 1e308
    assert side(one(2000.0), 3.0, 5)[0] == pytest.approx(3.0)
    assert side(one(1.0), 0.0, 5)[0] < 1e-12
    assert side(one(1.0), 1400.0, 3)[0] == pytest.approx(3.0)
