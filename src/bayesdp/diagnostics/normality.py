"""Tests of normality: of each role, and of the members of a group together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.diagnostics.power import Power, chi_square, normal
from bayesdp.diagnostics.report import Outcome, SingleTest, UntestableError, check, judged
from bayesdp.diagnostics.roles import whole_groups
from bayesdp.diagnostics.samples import LEAST, GroupSample

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["normal_groups", "normal_members"]

_SHAPIRO_MOST = 5000
"""The largest sample for which SciPy's p-values of Shapiro and Wilk hold; larger ones get another test."""

_SIMULATIONS = 2999
"""How many statistics are simulated: the smallest p-value is then 1/3000, below that of a violation."""

_TOGETHER = (1000, 5)
"""The most groups and roles in the test of joint normality, because of its simulations."""

_SKEWNESS, _EXCESS_KURTOSIS = 0.5, 1.0
"""Deviations of at least this are large: docs/diagnostics.md."""

_TAILS, _SKEWED = 86.0, 27.0
"""Constants in the power of the tests against heavy tails and skewness, fitted to simulations: see _tails."""

_NOT_NORMAL = (
    "The Gaussian theorems are proven for normal groups. For others more may leak than the stated ε: with heavy tails "
    "or nonlinear relations a record reveals more about the others than its correlation does."
)
_NORMAL_ADVICE = (
    "Model and release transformed values, such as their logarithm, if these are normal, or use arbitrary groups, "
    "which assume nothing about values."
)


def _tails(size: int, groups: int, unit: str) -> Power:
    """Return the power of a test of normality of groups of `size` against tails of an excess kurtosis of 1.

    By simulation, Shapiro and Wilk's test detects Student's t with 10 degrees of freedom about as often as a normal
    variable with mean √(n/86) exceeds its limit, and Mardia's kurtosis about as often as one with √(n·d(d + 2)/3/86).
    """
    per_group = size * (size + 2) / 3 / _TAILS

    def curve(number: float, level: float) -> float:
        return normal(math.sqrt(number * per_group), level / 2)

    return Power(curve, groups, unit, "an excess kurtosis of 1")


@check(
    "normal members",
    "Is each role normal by itself? (scipy.stats.shapiro, beyond 5,000 values normaltest; Holm's correction. Without "
    "roles: one member of each group.)",
)
def normal_members(sample: GroupSample) -> Outcome:
    """Test every role, or one member of each group."""
    from scipy import stats

    columns = dict(zip(sample.roles, sample.centred.T, strict=True))
    if sample.exchangeable and columns:
        columns = {"one member of each group": next(iter(columns.values()))}
    tests, left_out = [], []
    for role, column in columns.items():
        present = column[~np.isnan(column)]
        if len(present) < LEAST or not present.any():
            left_out.append(role)
            continue
        small = len(present) <= _SHAPIRO_MOST
        found = stats.shapiro(present) if small else stats.normaltest(present)
        skewness, excess = float(stats.skew(present)), float(stats.kurtosis(present))
        statistic = f"{'W' if small else 'K²'} = {found.statistic:.4g}"
        effect = f"skewness {skewness:.2f}, excess kurtosis {excess:.2f}"
        large = abs(skewness) >= _SKEWNESS or abs(excess) >= _EXCESS_KURTOSIS
        values = {"statistic": float(found.statistic), "skewness": skewness, "excess_kurtosis": excess}
        power = _tails(1, len(present), "values")
        tests.append(SingleTest(role, statistic, float(found.pvalue), effect, large, values, power))
    if not tests:
        raise UntestableError(f"No role has {LEAST} values that are not all equal.")
    fine = "Each role looks normal by itself, as the Gaussian theorems assume."
    return judged(tests, fine, _NOT_NORMAL, _NORMAL_ADVICE, untested=left_out)


@check(
    "normal groups",
    "Are the members of a group normal together? (Mardia's skewness and kurtosis, p-values simulated by "
    "scipy.stats.monte_carlo_test, which is exact because neither depends on mean and covariance; Holm's correction.)",
)
def normal_groups(sample: GroupSample) -> Outcome:
    """Test the members of complete groups together."""
    from scipy.stats import monte_carlo_test

    whole, roles = whole_groups(sample, 2, _TOGETHER[1])
    some = whole[np.linspace(0, len(whole) - 1, min(len(whole), _TOGETHER[0])).astype(int)]
    groups, size = some.shape
    skewed, tails = _skewed(size, groups), _tails(size, groups, "groups")
    tests = []
    for name, statistic, usual, limit, power in (
        ("skewness", _skewness, size * (size + 1) * (size + 2) / groups, size * _SKEWNESS**2, skewed),
        ("kurtosis", _kurtosis, size * (size + 2.0), size * (size + 2) * _EXCESS_KURTOSIS / 3, tails),
    ):
        found = monte_carlo_test(
            tuple(some.T),
            (np.random.default_rng(0).standard_normal,) * size,
            lambda *columns, axis, statistic=statistic, usual=usual: np.abs(statistic(_whitened(columns)) - usual),
            n_resamples=_SIMULATIONS,
            batch=100,
            vectorized=True,
            alternative="greater",
        )
        seen = float(statistic(_whitened(tuple(some.T))))
        effect = f"normal groups have about {usual:.3g}"
        large = abs(seen - usual) >= limit
        tests.append(SingleTest(name, f"{seen:.3g}", float(found.pvalue), effect, large, {"statistic": seen}, power))
    fine = "The members of a group look jointly normal, as the Gaussian theorems assume."
    also = f"; {groups:,} groups, {', '.join(roles)}, {_SIMULATIONS:,} simulations"
    return judged(tests, fine, _NOT_NORMAL, _NORMAL_ADVICE, also)


def _skewed(size: int, groups: int) -> Power:
    """Return the power of Mardia's skewness against members that each have a skewness of 0.5.

    The statistic n·b/6 is then about noncentral chi-square, by simulation with n·d/27 (a little less than n·d/24).
    """
    freedom, effect = size * (size + 1) * (size + 2) // 6, math.sqrt(size / _SKEWED)

    def curve(number: float, level: float) -> float:
        return chi_square(number, freedom, effect, level)

    return Power(curve, groups, "groups", "a skewness of 0.5")


def _whitened(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return samples (…, groups, members) transformed to mean 0 and covariance 1."""
    values = np.stack(columns, axis=-1)
    values = values - values.mean(axis=-2, keepdims=True)
    root = np.linalg.cholesky(values.swapaxes(-1, -2) @ values / values.shape[-2])
    white: NDArray[np.float64] = values @ np.linalg.inv(root).swapaxes(-1, -2)
    return white


def _skewness(white: NDArray[np.float64]) -> Any:
    squares = (white[..., :, None] * white[..., None, :]).reshape(*white.shape[:-1], -1)
    return ((squares.swapaxes(-1, -2) @ white / white.shape[-2]) ** 2).sum(axis=(-1, -2))


def _kurtosis(white: NDArray[np.float64]) -> Any:
    return ((white**2).sum(axis=-1) ** 2).mean(axis=-1)
