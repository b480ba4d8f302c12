"""Scenes of normal records: what leaks, compared with quadrature, and the moments of points that stand for them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import (
    GaussianGroups,
    Sum,
    leakage,
)
from bayesdp.audit.group_attack_models import conditional, group_attack_model
from bayesdp.experiments.gaussian_pair import gaussian_pair


@given(st.floats(-0.9, 0.9), st.floats(0.5, 3), st.floats(0.2, 4))
def test_a_pair_of_normal_records_leaks_what_quadrature_says(correlation: float, deviation: float, tau: float) -> None:
    covariance = deviation**2 * np.array([[1, correlation], [correlation, 1]])
    group = group_attack_model(covariance, 0, (), (2.0, 8.0), (0.0, 10.0), mean=np.array([5.0, 5.0]))
    truth = gaussian_pair(covariance, mean=[5, 5], bounds=(0, 10), tau=tau, values=(2.0, 8.0))
    alone_leaks = 0.6 * tau
    assert max(group.attack_model.betrayal(tau).epsilon, alone_leaks) == pytest.approx(truth, rel=1e-4)
    assert group.direction == pytest.approx((correlation,))
    model = GaussianGroups(covariance=covariance.tolist(), distance=6.0)
    assert group.attack_model.betrayal(tau).epsilon <= leakage(model, Sum(bounds=(0, 10)), tau=tau).epsilon * (1 + 1e-9)


@pytest.mark.parametrize("size", [3, 4, 6])
def test_points_for_unknown_records_have_their_moments(size: int) -> None:
    covariance = 0.6 * np.eye(size) + 0.4
    group = group_attack_model(covariance, 0, (), (-0.5, 0.5), (-50.0, 50.0), mean=np.zeros(size))
    for law, value in zip(group.attack_model.laws, (-0.5, 0.5), strict=True):
        answers = group.attack_model.answers - 50.0 * size
        mean = law @ answers
        spread = (
            np.ones(size - 1)
            @ (covariance[1:, 1:] - np.outer(covariance[1:, 0], covariance[0, 1:]))
            @ np.ones(size - 1)
        )
        assert mean == pytest.approx(value * (1 + 0.4 * (size - 1)), abs=2e-3)
        assert law @ (answers - mean) ** 2 == pytest.approx(spread, rel=2e-3)


def test_known_records_shift_the_unknown_ones_only() -> None:
    covariance = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
    unknown, slopes, left = conditional(covariance, 0, [2])
    assert unknown == [1]
    weights = np.linalg.solve(covariance[np.ix_([2, 0], [2, 0])], covariance[[2, 0], 1])
    assert slopes[0] == pytest.approx(weights)
    assert left[0, 0] == pytest.approx(1 - weights @ covariance[[2, 0], 1])
    group = group_attack_model(
        covariance, 0, [2], (-1.0, 1.0), (-50.0, 50.0), mean=np.zeros(3), known_values=np.array([3.0]), spread=0.0
    )
    expected = [50 + value + 50 + weights @ [3.0, value] for value in (-1.0, 1.0)]
    assert group.attack_model.answers == pytest.approx(expected)
    assert group.unknown == (1,)


def test_records_that_are_copies_leave_nothing_unknown() -> None:
    """A covariance of rank one: the target tells every other record, and a group leaks as many copies do."""
    group = group_attack_model(np.ones((4, 4)), 0, (), (0.0, 1.0), (0.0, 1.0), mean=np.full(4, 0.5))
    assert group.direction == pytest.approx((1, 1, 1))
    assert group.attack_model.betrayal(1.0).epsilon == pytest.approx(4.0, rel=1e-6)
