"""Do records come in independent, jointly normal groups? One finding for each assumption, from a sample of groups."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.diagnostics.cases import SingleTest, judged
from bayesdp.diagnostics.exchangeable import one_correlation, one_covariance, trend
from bayesdp.diagnostics.normality import normal_groups, normal_members
from bayesdp.diagnostics.power import EFFECT, Power, chi_square
from bayesdp.diagnostics.report import Outcome, UntestableError, check
from bayesdp.diagnostics.roles import bounded, equal_variances, same_covariance
from bayesdp.diagnostics.samples import CONSTANT, LEAST, GroupSample
from bayesdp.models import GaussianGroups
from bayesdp.models.diagnosis import Diagnosis, Finding, Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["diagnose_groups"]

_LAGS = 10
"""Groups are compared with the next ten: what depends over a longer distance shows over a shorter one, too."""

_MOST_POSITIONS = 20
"""The variances of so many positions are compared, pair by pair."""


def diagnose_groups(sample: GroupSample, model: GaussianGroups) -> Diagnosis:
    """Test what the Gaussian theorems assume: normality, equal variances, independent groups, the correlations.

    Never fails on small or degenerate samples: what cannot be tested says why.

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
    """Yield a finding for each assumption that this model makes about these data."""
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
    """Yield what the model assumes and no test of this table can see."""
    if sample.groups_total > 1:
        yield (
            "Groups are taken to be independent of each other; tested is whether those that follow one another in the "
            "table are."
        )
    if len(sample.values) < sample.groups_total:
        yield "The groups that were not looked at are like the others."


@check(
    "independent groups",
    "Are groups independent of the groups before them? (Ljung and Box's test on the means of the groups; it sees only "
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
    values_of = {"statistic": statistic, "lags": lags, "largest_autocorrelation": largest}
    effect = f"the largest autocorrelation is {largest:.2g}"
    decaying = math.sqrt(sum(EFFECT ** (2 * lag) for lag in range(1, lags + 1)))

    def power(level: float) -> Power:
        return Power(
            lambda groups: chi_square(groups, lags, decaying, level),
            len(means),
            "groups",
            f"a correlation of {EFFECT:g} between neighbours",
        )

    case = SingleTest(
        "means",
        f"Q = {statistic:.4g} at {lags} lags",
        float(chi2.sf(statistic, lags)),
        effect,
        largest >= EFFECT,
        values_of,
        power,
    )
    return judged(
        [case],
        "Groups that follow one another look independent, as the Gaussian theorems assume.",
        "Neighbouring groups resemble each other. The theorems take groups for independent: records of other groups "
        "then tell about a record, too, and the ε that is stated does not count this.",
        "If the data were sorted by their values, give them in another order, for that alone shows here. Otherwise "
        "join groups that belong together into larger ones.",
    )


def _autocorrelations(values: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
    """Return the autocorrelations at 1, …, `lags`."""
    centred = values - values.mean()
    products = np.array([centred[lag:] @ centred[:-lag] for lag in range(1, lags + 1)])
    correlations: NDArray[np.float64] = products / (centred @ centred)
    return correlations


@check("group size", "Has no group more members than the model says? (A count.)")
def _group_size(sample: GroupSample, model: GaussianGroups) -> Outcome:
    largest = sample.largest or 0
    figure = f"the largest group has {largest} records, at most {model.group_size} allowed"
    values = {"largest_group": largest, "allowed": model.group_size}
    if largest <= model.group_size:
        return Outcome(Verdict.FINE, figure, "The groups are as small as the model says.", values=values)
    meaning = "Some group is larger than the model allows, so the ε that is stated does not cover it."
    return Outcome(
        Verdict.VIOLATED, figure, meaning, "Raise size=, or give a covariance for the largest group.", values
    )
