import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import ArbitraryGroups, Count, MarkovChain
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.testing import TheoremContract, chain_cases
from bayesdp.testing.cases import Case
from bayesdp.theorems.general import GeneralBound
from bayesdp.theorems.markov.paper import MarkovPaper
from bayesdp.theorems.markov.quilt import MarkovQuilt, best_window
from bayesdp.theorems.spend import as_spend

COUNT = Count(equals=1)
ACTIVITY = MarkovChain.from_counts([[9713, 1295], [1295, 2955]], length=15264)


class TestMarkovQuilt(TheoremContract):
    theorem = MarkovQuilt()
    cases = chain_cases()
    refused = (
        (ArbitraryGroups(2), COUNT),
        (MarkovChain([[0, 1], [1, 0]], length=5), COUNT),
        (MarkovChain([[0.5, 0.5], [0, 1]], length=5, start="any"), COUNT),
        (MarkovChain([[1 - 1e-250, 1e-250], [0.5, 0.5]]), COUNT),
    )


def test_reference_values() -> None:
    taus = largest_taus(MarkovQuilt(), ACTIVITY, COUNT, [1.0, 5.0, 10.0, 20.0])
    assert taus == [pytest.approx(tau, abs=6e-7) for tau in (0.062609, 0.790156, 5.392278, 15.392278)]


@given(chain_cases(), st.floats(0.01, 6))
def test_at_most_general_and_the_paper(case: Case, tau: float) -> None:
    spend = as_spend(case.query, tau)
    if MarkovQuilt().refusal(case.model, (case.query,)) is None:
        proven = MarkovQuilt().epsilon(case.model, spend)
        for other in (GeneralBound(), MarkovPaper()):
            if other.refusal(case.model, (case.query,)) is None:
                assert proven <= other.epsilon(case.model, spend)


@given(st.integers(0, 10**6), st.floats(0.001, 3))
def test_no_other_window_is_better(seed: int, tau: float) -> None:
    generator = np.random.default_rng(seed)
    size = int(generator.integers(2, 5))
    chain = MarkovChain(generator.dirichlet(np.ones(size), size))
    powers = [np.linalg.matrix_power(chain.matrix, k) for k in range(22)]

    def cost(left: int, right: int) -> float:
        before = [np.log(p[:, :, None] / p[:, None, :]).max(axis=0) for p in (powers[left], powers[left + 1])]
        after = [np.log(p[:, None, :] / p[None, :, :]).max(axis=2) for p in (powers[right], powers[right + 1])]
        total = before[0] + before[1].T + after[0] + after[1].T
        return float(total[~np.eye(size, dtype=bool)].max())

    best = best_window(chain, tau)
    found = best.records * tau + best.cost
    assert found == pytest.approx(
        min((a + b - 1) * tau + cost(a, b) for a in range(1, 21) for b in range(1, 21)), rel=1e-9
    ) or (best.left > 20 or best.right > 20)


def test_the_window_is_reported() -> None:
    text = MarkovQuilt().worst_case(ACTIVITY, as_spend(COUNT, 0.0626))
    assert text is not None
    assert "a window from 7 records before the target to 7 after it" in text


def test_a_slow_chain_is_no_trouble() -> None:
    slow = MarkovChain([[0.999, 0.001], [0.001, 0.999]])
    (tau,) = largest_taus(MarkovQuilt(), slow, COUNT, [1.0])
    assert tau is not None
    assert 0 < tau < 1e-3


def test_one_state_has_nothing_to_hide() -> None:
    assert MarkovQuilt().epsilon(MarkovChain([[1.0]], length=5), as_spend(Count(equals=0), 1.0)) <= 1


@pytest.mark.parametrize(("size", "tried"), [(30, 512), (300, 93)])
def test_a_chain_that_forgets_too_late_is_refused(size: int, tried: int) -> None:
    """It forgets after 842 steps, or after 89,402: nobody waits for that."""
    matrix = np.zeros((size, size))
    matrix[np.arange(size - 1), np.arange(1, size)] = 1
    matrix[-1, :2] = 0.5
    reason = MarkovQuilt().refusal(MarkovChain(matrix), (COUNT,))
    assert reason is not None
    assert f"after {tried} steps, the most that are tried" in reason
