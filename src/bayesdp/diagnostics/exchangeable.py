"""Members without roles: one correlation for all pairs, and what remains if every position has its own mean."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.diagnostics.power import EFFECT, Power, chi_square, normal, scaled_chi_square
from bayesdp.diagnostics.report import Outcome, SingleTest, UntestableError, by_construction, check, judged, on_degrees
from bayesdp.diagnostics.samples import CONSTANT, DEVIATIONS, ESTIMATED, LEAST, SEVERAL_KINDS, GroupSample
from bayesdp.models import GaussianGroups

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["one_correlation", "one_covariance", "trend"]

_MOST_POSITIONS = 100
"""At most this many members of a group are tested for a trend, the first ones."""

_SAME = 1e-9
"""Covariances within this relative distance are equal up to rounding."""

_FEW_GROUPS = f"There are fewer than {LEAST} groups of several members."


@dataclass(frozen=True)
class _Variances:
    """An analysis of variance of groups: mean squares, the typical group size n₀, degrees of freedom."""

    groups: int
    size: float
    between: float
    within: float
    degrees: float

    @classmethod
    def of(cls, values: NDArray[np.float64], spent: int = 0) -> _Variances:
        """Analyse values (groups, members), NaN where there is none; `spent` degrees were used to centre them."""
        values = values[~np.isnan(values).all(axis=1)]
        sizes = (~np.isnan(values)).sum(axis=1)
        groups, records = len(values), int(sizes.sum())
        degrees = records - groups - spent
        if groups < LEAST or degrees < LEAST:
            raise UntestableError(_FEW_GROUPS)
        means = np.nanmean(values, axis=1)
        mean = float((means @ sizes) / records)
        between = float((sizes @ (means - mean) ** 2) / (groups - 1))
        within = float(np.nansum((values - means[:, None]) ** 2) / degrees)
        if max(between, within) <= CONSTANT**2:
            raise UntestableError("The values are all equal.")
        size = float((records - (sizes @ sizes) / records) / (groups - 1))
        return cls(groups, size, between, max(within, between * CONSTANT), degrees)

    @property
    def ratio(self) -> float:
        return self.between / self.within

    @property
    def correlation(self) -> float:
        """The intraclass correlation."""
        return (self.ratio - 1) / (self.ratio - 1 + self.size)

    def expected(self, correlation: float) -> float:
        """Return the expected ratio under a correlation."""
        return max(1 + (self.size - 1) * correlation, 0.0) / (1 - correlation)

    def larger(self, bound: float) -> SingleTest:
        """Test whether the correlation is beyond the bound on either side, by the law of variance ratios."""
        from scipy.special import fdtr, fdtrc, fdtri

        actual = min(bound + EFFECT, (1 + bound) / 2)
        upper = float(fdtrc(self.groups - 1, self.degrees, self.ratio / self.expected(bound)))
        least = self.expected(-bound)
        lower = float(fdtr(self.groups - 1, self.degrees, self.ratio / least)) if least > 0 else 1.0

        def curve(groups: float, level: float) -> float:
            if groups <= 2:
                return 0.0
            degrees = groups - 1, groups * self.degrees / self.groups
            limit = fdtri(*degrees, 1 - level / 2) * self.expected(bound) / self.expected(actual)
            return float(fdtrc(*degrees, limit))

        return SingleTest(
            "all members",
            f"intraclass correlation {self.correlation:.3f}",
            min(2 * min(upper, lower), 1.0),
            f"at most {bound:.3g} is allowed",
            abs(self.correlation) >= actual,
            {"statistic": self.ratio, "correlation": self.correlation, "bound": bound},
            Power(curve, self.groups, "groups", f"a correlation of {actual:.3g}"),
        )


@check(
    "correlations",
    "Is the correlation between members larger than the model's bound? (Analysis of variance, the intraclass "
    "correlation.)",
)
def one_correlation(sample: GroupSample, model: GaussianGroups) -> Outcome:
    """Compare the intraclass correlation with the bound of the model."""
    bound = model.largest_correlation
    if bound >= 1:
        return by_construction("The bound allows every correlation.")
    return judged(
        [_Variances.of(sample.values / sample.scale).larger(bound)],
        "The correlation is not significantly larger than the bound.",
        "Members are more strongly correlated than the model allows, so more leaks than the stated ε.",
        "Raise the correlation, or fit the model to these data.",
    )


@check(
    "covariance",
    "Do the data have the model's variance and correlation? (Analysis of variance, within and between groups; Holm's "
    "correction.)",
)
def one_covariance(sample: GroupSample, model: GaussianGroups) -> Outcome:
    """Compare the variances within and between groups with those of the model's one variance and one correlation."""
    if sample.moments is not None and sample.moments == model.moments:
        return by_construction(ESTIMATED)
    variance, correlation = _one(model)
    variance = variance / sample.scale / sample.scale
    values = sample.values / sample.scale
    _Variances.of(values)
    values = values[~np.isnan(values).all(axis=1)]
    sizes = (~np.isnan(values)).sum(axis=1)
    means = np.nanmean(values, axis=1)
    weights = 1 / (variance * ((1 - correlation) / sizes + correlation))
    mean = float((weights @ means) / weights.sum())
    within = float(np.nansum((values - means[:, None]) ** 2) / (variance * (1 - correlation)))
    degrees = {"within groups": int(sizes.sum()) - len(values), "between groups": len(values) - 1}
    statistics = {"within groups": within, "between groups": float(weights @ (means - mean) ** 2)}
    return judged(
        [_variance(name, statistics[name], degrees[name], len(values)) for name in degrees],
        "The data agree with the model's covariance.",
        "The data have another covariance than the model, so the stated ε does not hold for them.",
        "Fit the model to these data, or combine both in an any-of model.",
    )


def _one(model: GaussianGroups) -> tuple[float, float]:
    """Return the variance and the correlation of all members; raises UntestableError if members differ."""
    if len(model.matrices) > 1:
        raise UntestableError(SEVERAL_KINDS)
    matrix = model.matrices[0]
    variance = float(matrix[0, 0])
    covariance = float(matrix[0, 1]) if len(matrix) > 1 else 0.0
    shared = np.full_like(matrix, covariance) + (variance - covariance) * np.eye(len(matrix))
    if not np.allclose(matrix, shared, rtol=_SAME, atol=0):
        raise UntestableError(
            "Members differ in the model, and the table does not show which record is which.", "Name the role column."
        )
    return variance, covariance / variance


def _variance(name: str, statistic: float, degrees: int, groups: int) -> SingleTest:
    """Test a sum of squares that has a chi-square law if the model holds."""
    from scipy.stats import chi2

    ratio = math.sqrt(statistic / degrees)

    def curve(number: float, level: float) -> float:
        return scaled_chi_square(degrees * number / groups, DEVIATIONS**2, level / 2)

    return SingleTest(
        name,
        f"χ² = {statistic:.4g} {on_degrees(degrees)}",
        min(2 * float(min(chi2.sf(statistic, degrees), chi2.cdf(statistic, degrees))), 1.0),
        f"a standard deviation {ratio:.3g} times the model's",
        not 1 / DEVIATIONS < ratio < DEVIATIONS,
        {"statistic": statistic, "degrees_of_freedom": degrees, "deviation_ratio": ratio},
        Power(curve, groups, "groups", f"a standard deviation off by a factor of {DEVIATIONS:g}"),
    )


@check(
    "position",
    "How much do members depend on each other when every position in the table has its own mean? (Analysis of variance "
    "of the residuals, the correlation of neighbours in the order of the rows, and whether the means differ; Holm's "
    "correction.)",
)
def trend(sample: GroupSample, model: GaussianGroups) -> Outcome:
    """Compare the dependence that remains when each position has its own mean with the model's.

    The assumption is violated if it is significantly larger, or if a significant trend hides that it is.
    """
    bound = model.largest_correlation
    if bound >= 1:
        return by_construction("The model allows every correlation.")
    placed = sample.by_position(_MOST_POSITIONS)
    if placed is None:
        raise UntestableError(
            "The rows of this table have no order, so it cannot show a trend within groups.",
            "Give a file or a frame of pandas, Polars or PyArrow whose rows are in order, or name a role column.",
        )
    values = placed.values / placed.scale
    values = values[~np.isnan(values).all(axis=1)]
    if values.shape[1] < 2:
        raise UntestableError("Fewer than two positions occur in at least half of the groups.")
    left, means = _detrended(values)
    variances = _Variances.of(left, int(means.values["degrees_of_freedom"]))
    dependence = [variances.larger(bound), _neighbours(left, bound)]
    means = replace(means, large=any(test.large for test in dependence))  # the trend hides that much dependence
    return judged(
        [*dependence, means],
        "Members depend on each other no more than the model allows, also when every position has its own mean.",
        "The order of members matters: positions have different means, or members depend more on each other than the "
        "model allows once each position has its own mean. An attacker who knows the positions of records may then "
        "learn more than the stated ε.",
        "Subtract the known mean of every position, or name a role column. If the rows of a group are sorted "
        "by value, give them in another order: sorting alone has this effect.",
    )


def _detrended(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], SingleTest]:
    """Return the values minus the effects of their positions, and a test of these effects."""
    from scipy.special import fdtrc

    present = ~np.isnan(values)
    sizes = present.sum(axis=1)
    centred = np.where(present, values - np.nanmean(values, axis=1)[:, None], 0.0)
    normal_equations = np.diag(present.sum(axis=0)) - (present / sizes[:, None]).T @ present
    effects, _, rank, _ = np.linalg.lstsq(normal_equations, centred.sum(axis=0), rcond=1e-10)
    degrees = int(sizes.sum()) - len(values) - int(rank)
    if degrees < LEAST or len(values) < LEAST:
        raise UntestableError(_FEW_GROUPS)
    explained = float(effects @ centred.sum(axis=0))
    unexplained = float((centred**2).sum()) - explained
    unexplained = max(unexplained, float((centred**2).sum()) * CONSTANT)
    if unexplained <= CONSTANT**2:
        raise UntestableError("The members of each group are all equal.")
    ratio = max(explained, 0.0) / int(rank) / (unexplained / degrees)
    records = int(sizes.sum())
    spread = math.sqrt(max(explained, 0.0) / records / (unexplained / degrees))

    def curve(groups: float, level: float) -> float:
        return chi_square(groups * records / len(values), int(rank), EFFECT, level)

    return values - effects, SingleTest(
        "means",
        f"F = {ratio:.4g}",
        float(fdtrc(int(rank), degrees, ratio)),
        f"the means of positions vary by {spread:.2g} standard deviations",
        False,
        {"statistic": ratio, "degrees_of_freedom": int(rank), "spread": spread},
        Power(curve, len(values), "groups", f"means that vary by {EFFECT:g} standard deviations"),
    )


def _neighbours(left: NDArray[np.float64], bound: float) -> SingleTest:
    """Test whether neighbouring members are more correlated than the bound, given independent groups."""
    from scipy.special import stdtr

    left = left - np.nanmean(left)
    variance = float(np.nanvar(left))
    products = left[:, 1:] * left[:, :-1] / variance
    products = products[~np.isnan(products).all(axis=1)]
    if len(products) < LEAST:
        raise UntestableError(_FEW_GROUPS)
    means = np.nanmean(products, axis=1)
    correlation, error = float(means.mean()), max(float(means.std(ddof=1)), CONSTANT)
    actual = min(bound + EFFECT, (1 + bound) / 2)
    distance = (correlation - bound) / error * math.sqrt(len(means))

    def curve(groups: float, level: float) -> float:
        return normal((actual - bound) / error * math.sqrt(groups), level)

    return SingleTest(
        "neighbours",
        f"correlation {correlation:.3f}",
        float(stdtr(len(means) - 1, -distance)),
        f"at most {bound:.3g} is allowed",
        correlation >= actual,
        {"statistic": distance, "correlation": correlation, "bound": bound},
        Power(curve, len(means), "groups", f"a correlation of {actual:.3g} between neighbours"),
    )
