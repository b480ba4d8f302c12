"""Tests of roles: equal variances, bounded correlations, the covariance of the model."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.diagnostics.power import EFFECT, Power, chi_square, fisher
from bayesdp.diagnostics.report import (
    Outcome,
    SingleTest,
    UntestableError,
    by_construction,
    check,
    judged,
    on_degrees,
    shown_p,
)
from bayesdp.diagnostics.samples import CONSTANT, DEVIATIONS, ESTIMATED, LEAST, SEVERAL_KINDS, GroupSample
from bayesdp.models import GaussianGroups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pair = tuple[str, NDArray[np.float64], NDArray[np.float64]]

__all__ = ["bounded", "equal_variances", "same_covariance", "whole_groups"]


@check(
    "equal variances",
    "Do all roles, or all positions in the table, have the same variance? (Pitman and Morgan's test for members of one "
    "group, the correlation of sums and differences by scipy.stats.pearsonr; Holm's correction; scipy.stats.levene and "
    "bartlett for comparison.)",
)
def equal_variances(sample: GroupSample) -> Outcome:
    """Compare the variances of every two roles."""
    from scipy import stats

    tests = []
    pairs, left_out = _pairs(sample)
    for name, left, right in pairs:
        found = stats.pearsonr(left + right, left - right)
        ratio = float(np.sqrt(max(left.var() / right.var(), right.var() / left.var())))
        p_value = float(found.pvalue) if ratio > 1 else 1.0
        effect = f"one standard deviation is {ratio:.3g} times the other"
        values = {"statistic": float(found.statistic) if ratio > 1 else 0.0, "deviation_ratio": ratio}
        power = _unequal(len(left), float(stats.pearsonr(left, right).statistic))
        statistic = f"r = {values['statistic']:.3g}"
        tests.append(SingleTest(name, statistic, p_value, effect, ratio >= DEVIATIONS, values, power))
    columns = [present for column in sample.centred.T if (present := column[~np.isnan(column)]).any()]
    levene, bartlett = stats.levene(*columns, center="median"), stats.bartlett(*columns)
    also = (
        f"; for independent samples: Brown–Forsythe {levene.statistic:.4g}, {shown_p(levene.pvalue)}, "
        f"Bartlett {bartlett.statistic:.4g}, {shown_p(bartlett.pvalue)}"
    )
    return judged(
        tests,
        "All members have about the same variance, as the model assumes.",
        "gaussian-paper and gaussian-tight assume equal variances if the model is given by a correlation and a size, "
        "or if members have no roles. The member with the smaller variance moves the others by more than its "
        "correlation, so more leaks.",
        "Give a covariance instead of a correlation, or roles; gaussian-covariance needs no equal variances.",
        also,
        left_out,
    )


def _unequal(groups: int, correlation: float) -> Power:
    """Return the power of Pitman and Morgan's test against one standard deviation 1.1 times the other."""
    square = DEVIATIONS**2
    of_sums = (square - 1) / math.sqrt((square + 1) ** 2 - 4 * min(abs(correlation), 0.99) ** 2 * square)

    def curve(number: float, level: float) -> float:
        return fisher(number, 0.0, of_sums, level / 2)

    return Power(curve, groups, "groups", f"one standard deviation {DEVIATIONS:g} times the other")


@check(
    "correlations",
    "Is any correlation larger than the model's bound? (Fisher's z of scipy.stats.pearsonr, Holm's correction.)",
)
def bounded(sample: GroupSample, bound: float) -> Outcome:
    """Compare the correlation of every two roles with the bound of the model."""
    from scipy import stats

    if bound >= 1:
        return by_construction("The bound allows every correlation.")
    tests = []
    pairs, left_out = _pairs(sample)
    for name, left, right in pairs:
        correlation = float(stats.pearsonr(left, right).statistic)
        spread = np.sqrt(len(left) - 3)
        seen, allowed = np.arctanh(np.minimum([abs(correlation), bound], 1 - 1e-15))
        p_value = stats.norm.sf((seen - allowed) * spread) + stats.norm.sf((seen + allowed) * spread)
        statistic, effect = f"correlation {correlation:.3f}", f"at most {bound:g} is allowed"
        values = {"correlation": correlation, "bound": bound}
        power = _larger(len(left), bound)
        tests.append(SingleTest(name, statistic, min(float(p_value), 1.0), effect, True, values, power))
    return judged(
        tests,
        "No correlation is significantly larger than the bound.",
        "Members are more strongly correlated than the model allows, so more leaks than the stated ε.",
        "Raise the correlation, or give the covariance.",
        untested=left_out,
    )


def _larger(groups: int, bound: float) -> Power:
    """Return the power of Fisher's z against a correlation that is 0.1 larger, or half as far from 1."""
    actual = min(bound + EFFECT, (1 + bound) / 2)

    def curve(number: float, level: float) -> float:
        return fisher(number, bound, actual, level / 2)

    return Power(curve, groups, "groups", f"a correlation of {actual:.3g}")


@check(
    "covariance",
    "Do the data have the model's covariance? (Likelihood ratio with Bartlett's correction, on the complete groups.)",
)
def same_covariance(sample: GroupSample, model: GaussianGroups) -> Outcome:
    """Compare the covariance of the roles with the model's."""
    from scipy.stats import chi2

    if sample.moments is not None and sample.moments == model.moments:
        return by_construction(ESTIMATED)
    if len(model.matrices) > 1:
        raise UntestableError(SEVERAL_KINDS)
    assumed = model.matrices[0] / sample.scale / sample.scale
    if len(assumed) != len(sample.roles):
        raise UntestableError(f"The model has groups of {len(assumed)}, the sample {len(sample.roles)} columns.")
    whole, _ = whole_groups(sample, len(assumed), len(assumed))
    seen = np.atleast_2d(np.cov(whole, rowvar=False))
    if np.allclose(seen, assumed, rtol=1e-6, atol=0):
        return by_construction(ESTIMATED)
    statistic, freedom = _covariance_ratio(seen, len(whole), assumed)
    deviations = np.sqrt(np.diag(seen)), np.sqrt(np.diag(assumed))
    correlations = [cov / np.outer(off, off) for cov, off in zip((seen, assumed), deviations, strict=True)]
    change = float(np.abs(correlations[0] - correlations[1]).max())
    ratio = float(np.exp(np.abs(np.log(deviations[0] / deviations[1])).max()))
    effect = f"correlations differ by at most {change:.2g}, standard deviations by a factor of {ratio:.3g}"
    values = {"statistic": statistic, "degrees_of_freedom": freedom, "largest_change": change, "deviation_ratio": ratio}
    divergence = math.sqrt(_least_divergence(correlations[1]))

    def curve(groups: float, level: float) -> float:
        return chi_square(groups, freedom, divergence, level)

    deviation = f"a correlation off by {EFFECT:g} or a standard deviation by a factor of {DEVIATIONS:g}"
    test = SingleTest(
        f"{len(whole):,} groups",
        f"χ² = {statistic:.4g} {on_degrees(freedom)}",
        float(chi2.sf(statistic, freedom)),
        effect,
        change >= EFFECT or ratio >= DEVIATIONS,
        values,
        Power(curve, len(whole), "complete groups", deviation),
    )
    return judged(
        [test],
        "The data agree with the model's covariance.",
        "The data have another covariance than the model, so the stated ε does not hold for them.",
        "Fit the model to these data, or combine both in an any-of model.",
    )


def _covariance_ratio(seen: NDArray[np.float64], groups: int, assumed: NDArray[np.float64]) -> tuple[float, int]:
    """Return the likelihood ratio of this covariance against any, with Bartlett's correction, and its degrees."""
    size = len(seen)
    correction = 1 - (2 * size + 1 - 2 / (size + 1)) / (6 * (groups - 1) - 1)
    logarithms = np.linalg.slogdet(assumed)[1] - np.linalg.slogdet(seen)[1]
    distance = logarithms + np.trace(np.linalg.solve(assumed, seen)) - size
    return float((groups - 1) * correction * distance), size * (size + 1) // 2


def _least_divergence(correlations: NDArray[np.float64]) -> float:
    """Return twice the least divergence, per group, of normal groups with one deviation that matters.

    That is a correlation off by 0.1, up or down, or a standard deviation off by the factor 1.1. The noncentrality of
    the likelihood ratio is about this times the number of groups.
    """
    precision = np.linalg.inv(correlations)
    single = np.diag(precision)
    scaled = (DEVIATIONS**2 - 1) * single + 2 * (DEVIATIONS - 1) * (1 - single) - 2 * math.log(DEVIATIONS)
    least = float(scaled.min())
    rows, columns = np.triu_indices(len(correlations), 1)
    for change in (EFFECT, -EFFECT):
        pair = precision[rows, columns]
        determinant = (1 + change * pair) ** 2 - change**2 * single[rows] * single[columns]
        possible = determinant > 0
        if possible.any():
            moved = 2 * change * pair[possible] - np.log(determinant[possible])
            least = min(least, float(moved.min()))
    return max(least, 0.0)


def _pairs(sample: GroupSample) -> tuple[list[Pair], list[str]]:
    """Return the values of every two roles in the groups that have both, and the pairs that cannot be compared."""
    pairs: list[Pair] = []
    left_out = []
    for i, j in combinations(range(len(sample.roles)), 2):
        both = sample.centred[:, [i, j]]
        both = both[~np.isnan(both).any(axis=1)]
        name = f"{sample.roles[i]} and {sample.roles[j]}"
        if len(both) >= LEAST and (np.ptp(both, axis=0) > CONSTANT).all():
            pairs.append((name, both[:, 0], both[:, 1]))
        else:
            left_out.append(name)
    if not pairs:
        raise UntestableError(f"No two roles have {LEAST} groups in common with values that are not all equal.")
    return pairs, left_out


def whole_groups(sample: GroupSample, least: int, most: int) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return complete groups of `least` to `most` roles, without the roles with most gaps if there are too few."""
    missing = np.isnan(sample.centred).sum(axis=0)
    kept = [i for i in np.argsort(missing, kind="stable") if np.nanmax(np.abs(sample.centred[:, i]), initial=0) > 0]
    for size in range(min(len(kept), most), max(least, 1) - 1, -1):
        roles = sorted(kept[:size])
        whole = sample.centred[:, roles]
        whole = whole[~np.isnan(whole).any(axis=1)]
        if len(whole) < max(LEAST, 3 * size) or (np.ptp(whole, axis=0) <= CONSTANT).any():
            continue
        if size > 1 and np.linalg.eigvalsh(np.corrcoef(whole, rowvar=False))[0] < CONSTANT * size:
            raise UntestableError("Some members of a group determine others exactly.", "Use arbitrary groups.")
        return whole, tuple(sample.roles[i] for i in roles)
    raise UntestableError(f"Too few groups have values, not all equal, for {max(least, 1)} roles at once.")
