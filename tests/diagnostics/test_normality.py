"""Are members normal, by themselves and together? What is seen, and how often."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bayesdp.diagnostics.normality import (
    _kurtosis,
    _skewed,
    _skewness,
    _tails,
    _whitened,
    normal_groups,
    normal_members,
)
from bayesdp.diagnostics.samples import GroupSample

CORRELATION = np.array([[1, 0.3, 0.3], [0.3, 1, 0.3], [0.3, 0.3, 1]])


def sample(values: np.ndarray, exchangeable: bool = False) -> GroupSample:
    return GroupSample(["father", "mother", "child"][: values.shape[1]], values, len(values), exchangeable)


def drawn(seed: int, groups: int) -> np.ndarray:
    return np.random.default_rng(seed).multivariate_normal(np.zeros(3), CORRELATION, groups)


def test_shapiro_sees_heavy_tails_as_often_as_stated() -> None:
    rng = np.random.default_rng(2)
    for size in (500, 1000):
        seen = np.mean([stats.shapiro(rng.standard_t(10, size)).pvalue < 0.01 for _ in range(300)])
        assert _tails(1, size, "values").chance == pytest.approx(seen, abs=0.12)


@pytest.mark.parametrize(("size", "groups"), [(2, 250), (2, 400), (3, 200)])
def test_mardia_sees_what_matters_as_often_as_stated(size: int, groups: int) -> None:
    rng = np.random.default_rng(3)

    def drawn(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        white = _whitened(tuple(np.moveaxis(samples, -1, 0)))
        return _skewness(white), _kurtosis(white)

    shape = (400, groups, size)
    skewness, kurtosis = drawn(rng.standard_normal((1600, groups, size)))
    usual = size * (size + 1) * (size + 2) / groups, size * (size + 2)
    limits = [
        np.quantile(np.abs(values - mean), 0.995) for values, mean in zip((skewness, kurtosis), usual, strict=True)
    ]
    skewed, _ = drawn(rng.gamma(16, size=shape))
    _, heavy = drawn(rng.standard_normal(shape) / np.sqrt(rng.chisquare(10, (400, groups, 1)) / 10))
    seen = (np.abs(skewed - usual[0]) >= limits[0]).mean(), (np.abs(heavy - usual[1]) >= limits[1]).mean()
    assert replace(_skewed(size, groups), level=0.005).chance == pytest.approx(seen[0], abs=0.15)
    assert replace(_tails(size, groups, "groups"), level=0.005).chance == pytest.approx(seen[1], abs=0.2)


@pytest.mark.parametrize("groups", [400, 6000])
def test_heavy_tails_are_a_violation(groups: int) -> None:
    rng = np.random.default_rng(1)
    heavy = sample(drawn(1, groups) / np.sqrt(rng.chisquare(4, groups) / 4)[:, None])
    assert normal_members(heavy).verdict == "violated"
    assert normal_groups(heavy).verdict == "violated"
    assert ("K² =" in normal_members(heavy).figure) == (groups > 5000)


def test_a_bent_relation_of_normal_members_is_seen() -> None:
    rng = np.random.default_rng(2)
    left = rng.standard_normal(1500)
    right = np.where(left < 0, left, np.abs(rng.standard_normal(1500)))
    bent = sample(np.column_stack([left, right]))
    assert normal_members(bent).verdict == "fine"
    assert normal_groups(bent).verdict == "violated"


def test_of_members_without_roles_one_of_each_group_is_tested() -> None:
    values = drawn(3, 2000)
    values[:, 1:] = np.exp(values[:, 1:])
    assert normal_members(sample(values)).verdict == "violated"
    found = normal_members(sample(values, exchangeable=True))
    assert found.verdict == "fine"
    assert found.figure.startswith("one member of each group: ")


def test_what_is_too_little_or_constant_is_not_tested() -> None:
    assert "No role has 8 values" in normal_members(sample(np.zeros((50, 3)))).meaning
    assert normal_groups(sample(drawn(4, 5))).verdict == "not tested"
    partly = drawn(5, 2000)
    partly[:, 2] = 7.0
    found = normal_members(sample(partly))
    assert found.verdict == "not tested"
    assert "child" in found.meaning
    assert "father, mother, 2,999 simulations" in normal_groups(sample(partly)).figure
