"""Diagnosis of Gaussian groups: one finding for each assumption, from a sample of groups."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.diagnostics.exchangeable import one_correlation, one_covariance, trend
from bayesdp.diagnostics.normality import normal_groups, normal_members
from bayesdp.diagnostics.power import EFFECT, Power, chi_square
from bayesdp.diagnostics.report import Outcome, SingleTest, UntestableError, check, judged
from bayesdp.diagnostics.roles import bounded, equal_variances, same_covariance
from bayesdp.diagnostics.samples import CONSTANT, LEAST, GroupSample
from bayesdp.models import GaussianGroups
from bayesdp.models.diagnosis import Diagnosis, Finding, Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["diagnose_groups"]

_LAGS = 10
"""Each group is compared with the next ten: dependence over longer distances also shows over shorter ones."""

_MOST_POSITIONS = 20
"""At most this many positions have their variances compared, pair by pair."""


def diagnose_groups(sample: GroupSample, model: GaussianGroups) -> Diagnosis:
    """Test what the Gaussian theorems assume: normality, equal variances, independent groups, the correlations.

    Never fails on small or degenerate samples: a finding that is not tested has the reason.

    >>> few = GroupSample(["mother", "child"], [[63.0, 64.5], [66.0, 65.0]], 2, False)
    >>> print(diagnose_groups(few, GaussianGroups(correlation=0.5, size=2)).findings[0])  # doctest: +ELLIPSIS
    – normal members: not tested. ... No role has 8 values that are not all equal.
    """
    rows, total = len(sample.values), sample.groups_total
    return Diagnosis(
        model.assumption,
        tuple(_findings(sample, model)),
        sample.records,
        f"{sample.records:,} records in " + (f"{rows:,} of {total:,} groups" if rows < total else f"{rows:,} groups"),
        tuple(_trusted(sample)),
    )


def _findings(sample: GroupSample, model: GaussianGroups) -> Iterator[Finding]:
    yield normal_members(sample)
    yield normal_groups(sample)
    if sample.exchangeable:
        yield trend(sample, model)
        placed = sample.by_position(_MOST_POSITIONS)
        if placed is not None:
            yield equal_variances(placed)
    elif model.correlation is not None:
        yield equal_variances(sample)
    if sample.groups_total > 1:
        yield _independent_groups(sample)
    yield _group_size(sample, model)
    if model.correlation is not None:
        yield one_correlation(sample, model) if sample.exchangeable else bounded(sample, model.correlation)
    else:
        yield one_covariance(sample, model) if sample.exchangeable else same_covariance(sample, model)


def _trusted(sample: GroupSample) -> Iterator[str]:
    if sample.groups_total > 1:
        yield (
            "Groups are assumed to be independent of each other; the test covers only groups next to each other in the "
            "table."
        )
    if len(sample.values) < sample.groups_total:
        yield "The groups outside the sample are like those in it."


@check(
    "independent groups",
    "Are groups independent of the groups before them? (Ljung and Box's test on the means of the groups; it finds only "
    "dependence in the order of the data.)",
)
def _independent_groups(sample: GroupSample) -> Outcome:
    from scipy.stats import chi2

    values = sample.centred[~np.isnan(sample.centred).all(axis=1)]
    if len(values) < LEAST:
        raise UntestableError(f"There are fewer than {LEAST} groups.")
    means = np.nanmean(values, axis=1)
    if np.ptp(means) <= CONSTANT:
        raise UntestableError("The means of the groups are all equal.")
    lags = min(_LAGS, len(means) // 5)
    correlations = _autocorrelations(means, lags)
    weights = len(means) * (len(means) + 2) / (len(means) - np.arange(1, lags + 1))
    statistic, largest = float(weights @ correlations**2), float(np.abs(correlations).max())
    decaying = math.sqrt(sum(EFFECT ** (2 * lag) for lag in range(1, lags + 1)))

    def curve(groups: float, level: float) -> float:
        return chi_square(groups, lags, decaying, level)

    test = SingleTest(
        "means",
        f"Q = {statistic:.4g} at {lags} lags",
        float(chi2.sf(statistic, lags)),
        f"the largest autocorrelation is {largest:.2g}",
        largest >= EFFECT,
        {"statistic": statistic, "lags": lags, "largest_autocorrelation": largest},
        Power(curve, len(means), "groups", f"a correlation of {EFFECT:g} between neighbours"),
    )
    return judged(
        [test],
        "Groups that follow one another look independent, as the Gaussian theorems assume.",
        "Neighbouring groups resemble each other. The theorems assume independent groups: records of other groups then "
        "reveal something that the stated ε does not count.",
        "If the data are sorted by value, give them in another order: sorting alone has this effect. Otherwise join "
        "groups that belong together into larger ones.",
    )


def _autocorrelations(values: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
    centred = values - values.mean()
    products = np.array([centred[lag:] @ centred[:-lag] for lag in range(1, lags + 1)])
    correlations: NDArray[np.float64] = products / (centred @ centred)
    return correlations


@check("group size", "Is no group larger than the model allows? (A count.)")
def _group_size(sample: GroupSample, model: GaussianGroups) -> Outcome:
    largest = sample.largest or 0
    figure = f"the largest group has {largest} records, at most {model.group_size} allowed"
    values = {"largest_group": largest, "allowed": model.group_size}
    if largest <= model.group_size:
        return Outcome(Verdict.FINE, figure, "The groups are as small as the model assumes.", values=values)
    meaning = "Some group is larger than the model allows, so the stated ε does not cover it."
    advice = "Raise the size, or give a covariance for the largest group."
    return Outcome(Verdict.VIOLATED, figure, meaning, advice, values)
