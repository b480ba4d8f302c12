"""Power: by formula, by simulation, and what a test that has too little of it says."""

import math

import numpy as np
import pytest
from scipy import stats

from bayesdp.diagnostics.normality import _kurtosis, _skewed, _skewness, _tails, _whitened
from bayesdp.diagnostics.power import Power, chi_square, fisher, scaled_chi_square
from bayesdp.diagnostics.report import judge
from bayesdp.diagnostics.roles import _least_divergence


@pytest.mark.parametrize("freedom", [1, 2, 46, 810, 120_050])
@pytest.mark.parametrize("size", [10, 1000, 100_000, 10**9])
def test_chi_square_is_that_of_scipy(freedom: int, size: int) -> None:
    expected = stats.ncx2.sf(stats.chi2.isf(0.01, freedom), freedom, size * 0.01) if size < 10**9 else 1.0
    assert chi_square(size, freedom) == pytest.approx(expected, abs=1e-9)


def test_scaled_chi_square_is_that_of_scipy() -> None:
    expected = stats.chi2.sf(stats.chi2.isf(0.005, 700) / 1.21, 700)
    assert scaled_chi_square(700, 1.21, 0.005) == pytest.approx(expected)


def test_fisher_by_simulation() -> None:
    rng = np.random.default_rng(1)
    pairs = rng.multivariate_normal([0, 0], [[1, 0.45], [0.45, 1]], (2000, 500))
    correlations = [np.corrcoef(sample.T)[0, 1] for sample in pairs]
    beyond = (np.arctanh(correlations) - math.atanh(0.35)) * math.sqrt(497) > stats.norm.isf(0.01)
    assert fisher(500, 0.35, 0.45) == pytest.approx(beyond.mean(), abs=0.04)


@pytest.mark.parametrize(("freedom", "needed"), [(1, 1200), (2, 1400), (46, 3900)])
def test_how_many_records_are_needed(freedom: int, needed: int) -> None:
    power = Power(lambda size: chi_square(size, freedom), 500, "transitions", "a small deviation")
    assert power.needed == needed
    assert not power.enough
    assert Power(power.curve, needed, "transitions", "").enough
    assert str(power) == (
        "Nothing was seen, but with 500 transitions the test would see a small deviation with probability "
        f"{power.chance:.2f} only; about {needed:,} transitions would be needed."
    )


def test_no_number_of_records_may_be_enough() -> None:
    power = Power(lambda _: 0.5, 100, "groups", "anything")
    assert power.needed is None
    assert str(power).endswith("with probability 0.50 only.")


def test_power_just_below_the_limit_is_not_shown_as_enough() -> None:
    assert "probability 0.79 only" in str(Power(lambda size: 0.7999 if size < 101 else 1.0, 100, "groups", "it"))


def test_seeing_nothing_without_power_is_no_test() -> None:
    assert judge(0.5, False, powerful=False) == "not tested"
    assert judge(0.5, False, powerful=True) == "fine"
    assert judge(1e-9, True, powerful=False) == "violated"


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


def test_shapiro_sees_heavy_tails_as_often_as_stated() -> None:
    rng = np.random.default_rng(2)
    for size in (500, 1000):
        seen = np.mean([stats.shapiro(rng.standard_t(10, size)).pvalue < 0.01 for _ in range(300)])
        assert _tails(1, size, "values")(0.01).chance == pytest.approx(seen, abs=0.12)


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
    assert _skewed(size, groups)(0.005).chance == pytest.approx(seen[0], abs=0.15)
    assert _tails(size, groups, "groups")(0.005).chance == pytest.approx(seen[1], abs=0.2)
