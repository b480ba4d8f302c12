"""Attack models: likelihoods of outputs, the attacker's belief afterwards, and the most telling output."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
