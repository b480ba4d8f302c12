import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import ArbitraryGroups, Count, MarkovChain
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.testing import TheoremContract, chain_cases
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


@given(st.integers(2, 4), st.integers(0, 10**6), st.floats(0.01, 6))
def test_the_best_window_proves_less_than_the_paper(size: int, seed: int, tau: float) -> None:
    chain = MarkovChain(np.random.default_rng(seed).dirichlet(np.ones(size), size))
    window = best_window(chain, tau)
    assert window.records * tau + window.cost < MarkovPaper().epsilon(chain, as_spend(COUNT, tau))


def test_group_privacy_is_taken_where_it_is_smaller() -> None:
    """Two records of a chain that hardly moves: a window pays for both and for its ends."""
    pair, tau = MarkovChain([[0.999, 0.001], [0.001, 0.999]], length=2, start="any"), 0.5
    assert best_window(pair, tau).cost > 0
    assert MarkovQuilt().epsilon(pair, as_spend(COUNT, tau)) == pytest.approx(2 * tau, rel=1e-12)


@given(st.integers(0, 10**6), st.floats(0.001, 3))
def test_no_other_window_is_better(seed: int, tau: float) -> None:
    generator = np.random.default_rng(seed)
    size = int(generator.integers(2, 5))
    chain = MarkovChain(generator.dirichlet(np.ones(size), size))
    best = best_window(chain, tau)
    powers = [np.linalg.matrix_power(chain.matrix, k) for k in range(max(20, best.left, best.right) + 2)]

    def cost(left: int, right: int) -> float:
        before = [np.log(p[:, :, None] / p[:, None, :]).max(axis=0) for p in (powers[left], powers[left + 1])]
        after = [np.log(p[:, None, :] / p[None, :, :]).max(axis=2) for p in (powers[right], powers[right + 1])]
        total = before[0] + before[1].T + after[0] + after[1].T
        return float(total[~np.eye(size, dtype=bool)].max())

    assert best.cost == pytest.approx(cost(best.left, best.right), rel=1e-9)
    tried = min((a + b - 1) * tau + cost(a, b) for a in range(1, 21) for b in range(1, 21))
    assert best.records * tau + best.cost <= tried * (1 + 1e-9)


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
    """It forgets after 842 steps, or after 89,402, which is too many."""
    matrix = np.zeros((size, size))
    matrix[np.arange(size - 1), np.arange(1, size)] = 1
    matrix[-1, :2] = 0.5
    reason = MarkovQuilt().refusal(MarkovChain(matrix), (COUNT,))
    assert reason is not None
    assert f"after {tried} steps, the most that are tried" in reason
