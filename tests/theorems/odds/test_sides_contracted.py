import numpy as np
import pytest

from bayesdp.theorems.odds.contraction import contraction
from bayesdp.theorems.odds.sides import contracted, contracted_forever

TAUS = np.array([1e-9, 1e-3, 0.1, 1.0, 5.0, 50.0, 500.0])


@pytest.mark.parametrize("log_odds", [0.0, 1e-12, 1e-3, 0.5, 2.0, 9.0, 40.0, 700.0, np.inf])
def test_a_side_of_any_length_stays_below_the_bound_for_all(log_odds: float) -> None:
    odds = np.array([log_odds])
    forever = contracted_forever(TAUS, odds)
    longest = contracted(TAUS, odds, 3000)[-1]
    assert np.all(longest <= forever * (1 + 1e-9)), "what is rounded up 3000 times may be a little larger"
    assert np.all(forever <= np.where(np.isinf(log_odds), np.inf, log_odds))


@pytest.mark.parametrize("log_odds", [1e-3, 0.5, 2.0, 9.0])
def test_the_bound_for_all_is_where_the_steps_from_the_odds_lead(log_odds: float) -> None:
    oscillation = np.full_like(TAUS, log_odds)
    for _ in range(3000):
        oscillation = contraction(TAUS + oscillation, log_odds)
    assert contracted_forever(TAUS, np.full_like(TAUS, log_odds)) == pytest.approx(oscillation, rel=1e-9)
