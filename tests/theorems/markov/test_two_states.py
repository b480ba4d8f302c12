"""Two states in closed form: the same as following the side record by record."""

from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import MarkovChain
from bayesdp.theorems.adversary import Stretch
from bayesdp.theorems.markov.following import followed
from bayesdp.theorems.markov.sides import sides
from bayesdp.theorems.markov.two_states import two_state_levels

SHARES = st.floats(0.01, 0.99)
STARTS: list[Literal["stationary", "any"]] = ["stationary", "any"]


@given(SHARES, SHARES, st.sampled_from(STARTS), st.floats(0.01, 5))
def test_the_closed_form_is_the_step_by_step_bound(
    stay: float, leave: float, start: Literal["stationary", "any"], tau: float
) -> None:
    chain = MarkovChain([[stay, 1 - stay], [leave, 1 - leave]], start=start)
    taus, depth = np.array([tau, tau / 7]), 9
    for side in sides(chain):
        closed, stepped = two_state_levels(side, taus, depth), followed(side, taus, depth, 0.0, 0.0, relaxed=False)
        last = min(len(closed.best), len(stepped.best)) - 1
        assert closed.best[last] == pytest.approx(stepped.best[last], abs=1e-9)
        for records in range(min(4, last)):
            for known in (True, False):
                stretch = Stretch(records, known=known)
                assert closed.of(stretch) == pytest.approx(stepped.of(stretch), abs=1e-9)
        assert (closed.forever >= stepped.best[-1] - 1e-9).all()


@pytest.mark.parametrize("rows", [[[0.9, 0.1], [0.4, 0.6]], [[0.1, 0.9], [0.6, 0.4]]], ids=["lazy", "alternating"])
def test_one_unknown_record_is_the_formula_of_the_theory(rows: list[list[float]]) -> None:
    """Nothing is known but the next record, of which h is 1 at one value and e^τ at the other."""
    tau = 1.3
    levels = two_state_levels(sides(MarkovChain(rows))[1], np.array([tau]), 4)
    for x, other in ((0, 1), (1, 0)):
        quotients = [
            (1 + np.expm1(tau) * rows[x][value]) / (1 + np.expm1(tau) * rows[other][value]) for value in (0, 1)
        ]
        assert levels.of(Stretch(1, known=False))[0, x, other] == pytest.approx(np.log(max(quotients)), rel=1e-12)
    assert (levels.best[:, :, [0, 1], [0, 1]] == 0).all()
