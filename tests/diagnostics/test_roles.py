"""Do roles vary together as the model says? Variances, correlations and covariances that do not."""

import numpy as np
import pytest

from bayesdp import GaussianGroups
from bayesdp.diagnostics.report import UntestableError
from bayesdp.diagnostics.roles import _least_divergence, bounded, equal_variances, same_covariance, whole_groups
from bayesdp.diagnostics.samples import GroupSample

CORRELATION = np.array([[1, 0.3, 0.3], [0.3, 1, 0.3], [0.3, 0.3, 1]])


def drawn(seed: int, groups: int = 500, covariance: np.ndarray = CORRELATION) -> GroupSample:
    values = np.random.default_rng(seed).multivariate_normal(np.zeros(3), covariance, groups)
    return GroupSample(["father", "mother", "child"], values, groups, False)


def test_the_divergence_of_covariances() -> None:
    """The closed form against matrices that are changed and compared."""
    base = np.array([[1, 0.5, 0.2], [0.5, 1, -0.3], [0.2, -0.3, 1]])

    def divergence(other: np.ndarray) -> float:
        return float(np.trace(np.linalg.solve(base, other)) - 3 - np.linalg.slogdet(np.linalg.solve(base, other))[1])

    found = []
    for i in range(3):
        scale = np.ones(3)
        scale[i] = 1.1
        found.append(divergence(base * np.outer(scale, scale)))
        for change in (0.1, -0.1):
            other = base.copy()
            other[i, (i + 1) % 3] += change
            other[(i + 1) % 3, i] += change
            found.append(divergence(other))
    assert _least_divergence(base) == pytest.approx(min(found))


def test_unequal_variances_are_a_violation() -> None:
    scaled = np.diag([1, 1, 1.5]) @ CORRELATION @ np.diag([1, 1, 1.5])
    found = equal_variances(drawn(3, covariance=scaled))
    assert found.verdict == "violated"
    assert found.values["father and child: deviation_ratio"] == pytest.approx(1.5, rel=0.1)
    assert found.values["father and mother: p_value"] > 0.01
    assert "gaussian-tight" in found.meaning
    assert "Give a covariance" in found.advice


def test_a_correlation_above_the_bound_is_a_violation() -> None:
    found = bounded(drawn(5), 0.1)
    assert found.verdict == "violated"
    assert found.values["father and mother: correlation"] == pytest.approx(0.3, abs=0.1)
    uncorrelated = drawn(6, 2000, np.eye(3))
    assert bounded(uncorrelated, 0.0).shown == "fine"
    assert bounded(uncorrelated, 1.0).shown == "by construction"


def test_a_strong_negative_correlation_is_above_the_bound_too() -> None:
    assert bounded(drawn(5, covariance=1.4 * np.eye(3) - 0.4), 0.1).verdict == "violated"


def test_another_covariance_than_the_model_is_a_violation() -> None:
    model, own = GaussianGroups(covariance=CORRELATION), drawn(7)
    found = same_covariance(drawn(7, covariance=np.eye(3)), model)
    assert found.verdict == "violated"
    assert found.values["500 groups: degrees_of_freedom"] == 6
    estimated = GaussianGroups(covariance=np.cov(own.values, rowvar=False))
    assert same_covariance(own, estimated).shown == "by construction"
    several = GaussianGroups(covariance=np.stack([CORRELATION, np.eye(3)]))
    assert "several kinds" in same_covariance(own, several).meaning
    assert "groups of 2" in same_covariance(own, GaussianGroups(covariance=np.eye(2))).meaning


def test_false_alarms_about_the_covariance_are_as_rare_as_stated() -> None:
    model = GaussianGroups(covariance=CORRELATION)
    p_values = [same_covariance(drawn(seed, 60), model).values["p_value"] for seed in range(300)]
    assert np.mean(np.array(p_values) < 0.1) == pytest.approx(0.1, abs=0.06)


def test_roles_with_gaps_are_dropped_until_groups_are_whole() -> None:
    values = drawn(8, 100).values.copy()
    values[5:, 1] = np.nan
    values[::9, 0] = np.nan
    gaps = GroupSample(["father", "mother", "child"], values, 100, False)
    whole, roles = whole_groups(gaps, 2, 3)
    assert roles == ("father", "child")
    assert whole.shape == (100 - 12, 2)
    with pytest.raises(UntestableError, match="for 3 roles at once"):
        whole_groups(gaps, 3, 3)
    copied = GroupSample(["a", "b"], values[:, [2, 2]], 100, False)
    with pytest.raises(UntestableError, match="determine others exactly"):
        whole_groups(copied, 2, 2)
