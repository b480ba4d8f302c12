import math
from fractions import Fraction

import pytest

from bayesdp import Count, Independent, MarkovChain, calibrate, leakage
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.testing import TheoremContract, chain_cases
from bayesdp.theorems.markov.paper import MarkovPaper
from bayesdp.theorems.spend import as_spend

COUNT = Count(equals=1)


class TestMarkovPaper(TheoremContract):
    theorem = MarkovPaper()
    cases = chain_cases(positive=True)
    refused = (
        (Independent(), COUNT),
        (MarkovChain([[0.5, 0.5], [1, 0]]), COUNT),
        (MarkovChain([[0.5, 0.5], [0.4, 0.6]], start="any"), COUNT),
    )


def epsilon(chain: MarkovChain, tau: float) -> float:
    return MarkovPaper().epsilon(chain, as_spend(COUNT, tau))


@pytest.mark.parametrize(
    ("transition", "offset"),
    [
        ([[0.882, 0.118], [0.305, 0.695]], 8.046),
        ([[0.818, 0.182], [0.371, 0.629]], 6.011),
        ([[0.894, 0.106], [0.478, 0.522]], 8.529),
    ],
)
def test_reference_values(transition: list[list[float]], offset: float) -> None:
    chain = MarkovChain(transition)
    assert epsilon(chain, 1.5) == pytest.approx(1.5 + offset, abs=6e-4)
    assert largest_taus(MarkovPaper(), chain, COUNT, [10.0, offset - 0.001]) == [
        pytest.approx(10 - offset, abs=6e-4),
        None,
    ]
    row = {option.theorem: option for option in calibrate(chain, COUNT, epsilon=offset - 0.001).options}["markov-paper"]
    assert row.tau is None
    assert "proves no ε below" in (row.reason or "")


def test_the_offset_is_paid_once() -> None:
    chain = MarkovChain([[0.8, 0.2], [0.2, 0.8]])
    spend = as_spend([(COUNT, 1.0), (COUNT, 2.0)])
    assert MarkovPaper().epsilon(chain, spend) == pytest.approx(3 + 4 * math.log(4))


def test_reasons_name_the_transition_and_the_start() -> None:
    theorem = MarkovPaper()
    zero = theorem.refusal(MarkovChain([[0.5, 0.5], [1, 0]], states=["a", "b"]), (COUNT,))
    assert zero is not None
    assert "from 'b' to 'b' is 0" in zero
    start = theorem.refusal(MarkovChain([[0.5, 0.5], [0.4, 0.6]], start="any"), (COUNT,))
    assert start is not None
    assert "stationary start" in start


def test_equal_probabilities_cost_nothing() -> None:
    assert epsilon(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 0.7) == 0.7


def test_rows_are_scaled_to_sum_to_one_before_gamma_is_taken() -> None:
    slack = 9e-10
    rows = [[0.8, 0.1, 0.1 - slack], [0.05, 0.475, 0.475 + slack], [0.3, 0.3, 0.4]]
    exact = [[entry / sum(map(Fraction, row)) for entry in map(Fraction, row)] for row in rows]
    gamma = max(map(max, exact)) / min(map(min, exact))
    found = epsilon(MarkovChain(rows), 1.0)
    assert found >= 1 + 4 * math.log(gamma)
    assert found == pytest.approx(1 + 4 * math.log(gamma), rel=1e-14)


def test_a_vanishing_probability_costs_much_and_breaks_nothing() -> None:
    chain = MarkovChain([[1 - 5e-324, 5e-324], [0.5, 0.5]], length=10)
    found = leakage(chain, Count(equals=0), tau=1.0)
    assert found.epsilon <= 10
    assert next(each.epsilon for each in found.assessments if each.theorem == "markov-paper") == pytest.approx(
        2978.8, abs=1
    )
