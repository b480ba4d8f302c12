import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.audit.oracle import bdpl, randomized_response
from bayesdp.errors import InvalidInputError
from shared.chain_attack import chain_attack, chain_leakage

LAZY = [[0.75, 0.25], [0.25, 0.75]]


def proven(odds: float, tau: float) -> float:
    """The closed form, for chains of any length."""
    return 4 * math.asinh(math.sqrt(odds) * math.sinh(tau / 4))


def test_the_bound_is_attained() -> None:
    """THEORY: θ = 9, τ = 1, 801 records attain 2.797619808."""
    attack = chain_attack(LAZY, 1.0, records=801)
    assert attack.epsilon == pytest.approx(2.797619808, abs=5e-10)
    assert attack.epsilon == pytest.approx(proven(9.0, 1.0), rel=1e-12)
    assert attack.target == 400


@pytest.mark.parametrize(("records", "leaked"), [(1, 1.0), (2, 1.492308), (3, 1.984616), (5, 2.442142), (10, 2.751341)])
def test_short_chains_attain_theirs(records: int, leaked: float) -> None:
    assert chain_attack(LAZY, 1.0, records).epsilon == pytest.approx(leaked, abs=5e-7)


@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98), st.floats(0.05, 4))
def test_every_chain_of_two_states_attains_it(stay: float, leave: float, tau: float) -> None:
    """Whatever the matrix, values that attract or repel one another: its odds ratio alone decides."""
    matrix = [[stay, 1 - stay], [leave, 1 - leave]]
    odds = stay * (1 - leave) / ((1 - stay) * leave)
    odds = max(odds, 1 / odds)
    attack = chain_attack(matrix, tau, records=2001)
    assert attack.epsilon <= proven(odds, tau) * (1 + 1e-12)
    short_of_it = 1 - attack.epsilon / proven(odds, tau)
    assert short_of_it <= 1e-3


@given(st.floats(0.1, 0.9), st.floats(0.1, 0.9), st.floats(0.05, 3), st.integers(1, 6))
def test_the_recursion_is_the_oracle(stay: float, leave: float, tau: float, records: int) -> None:
    matrix = np.array([[stay, 1 - stay], [leave, 1 - leave]])
    attack = chain_attack(matrix, tau, records)
    joint = attack.evidence[0] * 0.5
    for likelihood in attack.evidence[1:]:
        joint = joint[..., None] * matrix * likelihood
    kernel = randomized_response(1 / (1 + math.exp(tau)), records)
    output = int("".join(map(str, attack.reports)), 2)
    chosen = kernel[..., output : output + 1]
    truth = bdpl(joint / joint.sum(), chosen, adversary=(attack.target, ())).epsilon
    assert attack.epsilon == pytest.approx(truth, rel=1e-9)
    again = chain_leakage(matrix, tau, attack.evidence, attack.reports, attack.target)
    assert again == attack.epsilon


def test_without_side_information_a_lopsided_chain_leaks_less() -> None:
    """What the bound covers beyond Bayesian differential privacy: the same odds, and nothing known about any record."""
    matrix = np.array([[0.99, 0.01], [0.9, 0.1]])
    reports = np.ones(801, dtype=np.intp)
    attack = chain_attack(matrix, 1.0, 801)
    nothing = chain_leakage(matrix, 1.0, np.ones((801, 2)), reports, 400)
    assert nothing < 0.6 * attack.epsilon


def test_wrong_matrices_are_refused() -> None:
    for matrix in ([[1.0, 0.0], [0.5, 0.5]], [[1.0]], [[0.5, math.nan], [0.5, 0.5]]):
        with pytest.raises(InvalidInputError, match="2 × 2 and positive"):
            chain_attack(matrix, 1.0, 3)
