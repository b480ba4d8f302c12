"""Attack models: likelihoods of outputs, the attacker's belief afterwards, and the most telling output."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from bayesdp.audit.attack_models import AttackModel, copies


@given(st.floats(0.1, 5), st.integers(0, 2**32 - 1))
def test_likelihoods_are_mixtures_of_laplace_densities(tau: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    answers = np.sort(generator.uniform(-3, 3, 6))
    laws = generator.dirichlet(np.ones(6), size=2)
    attack_model = AttackModel((0, 1), np.array([0.3, 0.7]), answers, laws, 2.0)
    outputs = generator.uniform(-9, 9, 20)
    density = laws @ np.exp(-tau / 2 * np.abs(outputs - answers[:, None]))
    assert attack_model.log_likelihood(outputs, tau) == pytest.approx(np.log(density))
    weighted = np.array([0.3, 0.7])[:, None] * density
    assert attack_model.posterior(outputs, tau) == pytest.approx(weighted / weighted.sum(axis=0))
    best = attack_model.betrayal(tau)
    gaps = np.abs(np.log(density[0] / density[1]))
    assert best.epsilon >= gaps.max() - 1e-12
    assert not np.isnan(best.epsilon)


def test_large_exponents_neither_overflow_nor_vanish() -> None:
    attack_model = copies(300)
    assert attack_model.betrayal(50.0).epsilon == pytest.approx(15_000)


def test_who_knows_all_but_one_record_learns_tau() -> None:
    assert copies(1).betrayal(0.7).epsilon == pytest.approx(0.7)


def test_a_value_that_cannot_be_is_not_told_apart_from_others() -> None:
    laws = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    certain = AttackModel(("a", "b", "c"), np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0]), laws, 1.0)
    assert certain.betrayal(2.0).epsilon == 0
    open_ended = AttackModel(("a", "b", "c"), np.array([0.5, 0.0, 0.5]), np.array([0.0, 1.0]), laws, 1.0)
    assert set(open_ended.betrayal(2.0).values) == {0, 2}
    assert open_ended.betrayal(2.0).epsilon == pytest.approx(2.0)


def test_only_outputs_of_the_query_are_compared() -> None:
    laws = np.array([[0.1, 0.8, 0.1], [0.45, 0.1, 0.45]])
    every = AttackModel((0, 1), np.full(2, 0.5), np.array([0.0, 50.0, 100.0]), laws, 1.0)
    ends = AttackModel((0, 1), np.full(2, 0.5), every.answers, laws, 1.0, extremes=True)
    assert every.betrayal(1.0).epsilon == pytest.approx(np.log(8))
    assert every.betrayal(1.0).direction == 0
    assert ends.betrayal(1.0).epsilon == pytest.approx(np.log(4.5))
    assert ends.betrayal(1.0).direction != 0


def _of_gaussian(shift: float, scale: float, epsilon: float) -> float:
    """Return δ(ε) of Gaussian noise whose centre moves by `shift` (Balle and Wang 2018)."""
    ratio = shift / scale
    return float(norm.cdf(ratio / 2 - epsilon / ratio) - math.exp(epsilon) * norm.cdf(-ratio / 2 - epsilon / ratio))


@pytest.mark.parametrize(("records", "scale", "epsilon"), [(1, 2.0, 0.5), (3, 2.0, 1.0), (4, 8.0, 1.0), (1, 0.7, 3.0)])
def test_the_excess_of_a_single_shift_is_that_of_the_formula(records: int, scale: float, epsilon: float) -> None:
    found = copies(records).excess(epsilon, scale).delta
    formula = _of_gaussian(records, scale, epsilon)
    assert formula * (1 - 1e-4) < found <= formula * (1 + 1e-9)


def test_the_excess_of_mixtures_is_that_of_quadrature() -> None:
    generator = np.random.default_rng(5)
    for _ in range(20):
        answers, laws = np.sort(generator.uniform(0, 9, 6)), generator.dirichlet(np.ones(6) / 3, size=3)
        attack_model = AttackModel((0, 1, 2), np.full(3, 1 / 3), answers, laws, 1.0)
        scale, epsilon = generator.uniform(0.5, 3), generator.uniform(0.1, 2)
        outputs, step = np.linspace(-40, 50, 40_001, retstep=True)
        density = laws @ norm.pdf(outputs, answers[:, None], scale)
        pairs = [(more, less) for more in range(3) for less in range(3) if more != less]
        best = max(
            float(np.maximum(density[more] - math.exp(epsilon) * density[less], 0).sum() * step) for more, less in pairs
        )
        found = attack_model.excess(epsilon, scale)
        assert best * (1 - 1e-3) - 1e-12 <= found.delta <= best * (1 + 1e-6) + 1e-12


def test_the_excess_of_many_answers_needs_little_memory() -> None:
    spread = np.arange(2_001.0)
    laws = np.zeros((2, 2_001))
    laws[0, :2], laws[1, -2:] = 0.5, 0.5
    found = AttackModel((0, 1), np.full(2, 0.5), spread, laws, 1.0).excess(1.0, 100.0)
    assert found.delta == pytest.approx(1.0)
    assert AttackModel((0, 1), np.full(2, 0.5), spread, laws, 1.0).excess(1e4, 100.0).delta == 0


def test_nothing_exceeds_where_only_one_value_is_possible() -> None:
    certain = AttackModel(("a", "b"), np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.eye(2), 1.0)
    assert certain.excess(1.0, 1.0).delta == 0
