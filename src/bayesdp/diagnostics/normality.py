"""Are members normal, by themselves and together?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.diagnostics.cases import SingleTest, judged
from bayesdp.diagnostics.power import Power, chi_square, normal
from bayesdp.diagnostics.report import Outcome, UntestableError, check
from bayesdp.diagnostics.roles import whole_groups
from bayesdp.diagnostics.samples import LEAST, GroupSample

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["normal_groups", "normal_members"]

_SHAPIRO_MOST = 5000
"""SciPy's p-values of Shapiro and Wilk hold up to this sample size; beyond it, skewness and kurtosis are tested."""

_SIMULATIONS = 2999
"""Simulated statistics: the smallest p-value is then 1/3000, below what counts as a violation."""

_TOGETHER = (1000, 5)
"""At most so many groups and roles enter the test of joint normality, for its simulations."""

_SKEWNESS, _EXCESS_KURTOSIS = 0.5, 1.0
"""Deviations from here on are large: docs/diagnostics.md."""

_TAILS, _SKEWED = 86.0, 27.0
"""What heavy tails and skewness count for in the power of the tests of normality; fitted to simulations, see _tails."""

_NOT_NORMAL = (
    "The Gaussian theorems are proven for normal groups. For others more may leak than the ε that is stated: with "
    "heavy tails or bent relations a record says more about its relatives than its correlation does."
)
_NORMAL_ADVICE = (
    "Model and release transformed values (their logarithm, say) if these are normal, or use ArbitraryGroups, which "
    "assumes nothing about values."
)


def _tails(size: int, groups: int, unit: str) -> Callable[[float], Power]:
    """Return the power of a test of normality of groups of `size` against tails of an excess kurtosis of 1.

    By simulation, Shapiro and Wilk's test sees Student's t with 10 degrees of freedom about as often as a normal
    variable with mean √(n/86) is beyond its limit, and Mardia's kurtosis about as often as one with √(n·d(d + 2)/3/86).
    """
    per_group = size * (size + 2) / 3 / _TAILS
    return lambda level: Power(
        lambda number: normal(math.sqrt(number * per_group), level / 2), groups, unit, "an excess kurtosis of 1"
    )


@check(
    "normal members",
    "Is each role normal by itself? (scipy.stats.shapiro, beyond 5,000 values normaltest; Holm's correction. Without "
    "roles: one member of each group.)",
)
def normal_members(sample: GroupSample) -> Outcome:
    """Test every role, or one member of each group, by itself."""
    from scipy import stats

    columns = dict(zip(sample.roles, sample.centred.T, strict=True))
    if sample.exchangeable and columns:
        columns = {"one member of each group": next(iter(columns.values()))}
    cases, left_out = [], []
    for role, column in columns.items():
        present = column[~np.isnan(column)]
        if len(present) < LEAST or not present.any():
            left_out.append(role)
            continue
        small = len(present) <= _SHAPIRO_MOST
        test = stats.shapiro(present) if small else stats.normaltest(present)
        skewness, excess = float(stats.skew(present)), float(stats.kurtosis(present))
        cases.append(
            SingleTest(
                role,
                f"{'W' if small else 'K²'} = {test.statistic:.4g}",
                float(test.pvalue),
                f"skewness {skewness:.2f}, excess kurtosis {excess:.2f}",
                abs(skewness) >= _SKEWNESS or abs(excess) >= _EXCESS_KURTOSIS,
                {"statistic": float(test.statistic), "skewness": skewness, "excess_kurtosis": excess},
                _tails(1, len(present), "values"),
            )
        )
    if not cases:
        raise UntestableError(f"No role has {LEAST} values that are not all equal.")
    fine = "Each role looks normal by itself, as the Gaussian theorems assume."
    return judged(cases, fine, _NOT_NORMAL, _NORMAL_ADVICE, untested=left_out)


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
    cases = []
    for name, statistic, usual, limit, power in (
        (
            "skewness",
            _skewness,
            size * (size + 1) * (size + 2) / groups,
            size * _SKEWNESS**2,
            _skewed(size, groups),
        ),
        (
            "kurtosis",
            _kurtosis,
            size * (size + 2.0),
            size * (size + 2) * _EXCESS_KURTOSIS / 3,
            _tails(size, groups, "groups"),
        ),
    ):
        test = monte_carlo_test(
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
        cases.append(SingleTest(name, f"{seen:.3g}", float(test.pvalue), effect, large, {"statistic": seen}, power))
    fine = "The members of a group look jointly normal, as the Gaussian theorems assume."
    also = f"; {groups:,} groups, {', '.join(roles)}, {_SIMULATIONS:,} simulations"
    return judged(cases, fine, _NOT_NORMAL, _NORMAL_ADVICE, also)


def _skewed(size: int, groups: int) -> Callable[[float], Power]:
    """Return the power of Mardia's skewness against members that are each skewed by 0.5.

    The statistic n·b/6 is then about noncentral chi-square; by simulation with n·d/27, a little less than n·d/24.
    """
    freedom, effect = size * (size + 1) * (size + 2) // 6, math.sqrt(size / _SKEWED)
    return lambda level: Power(
        lambda number: chi_square(number, freedom, effect, level), groups, "groups", "a skewness of 0.5"
    )


def _whitened(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return samples (…, groups, members) moved and turned to mean 0 and covariance 1."""
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
