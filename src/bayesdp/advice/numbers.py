"""Assumptions for a column of numbers: independent, normal groups, normal series, arbitrary groups."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any

from bayesdp.advice.priced_assumption import NoVerdict, PricedAssumption, arbitrary_rung, diagnosed, independent_rung
from bayesdp.diagnostics.report import DOUBTFUL, judge, shown_p
from bayesdp.errors import BayesDPError, FrameError, RecordsError
from bayesdp.frames.clocks import SHOWN
from bayesdp.frames.series import series_moments
from bayesdp.frames.source import LazyTable, Missing
from bayesdp.frames.view import View
from bayesdp.models import ChainLayout, GaussianGroups, GaussianSeries
from bayesdp.models.diagnosis import Verdict, worst
from bayesdp.models.moments import AnovaMoments, Moments
from bayesdp.models.series_moments import SeriesMoments

__all__ = ["NumberEvidence", "priced_number_assumptions"]

ORDERS = (1, 3)
"""The orders of series; for each, a test of whether one more record matters."""

_MATTERS = 0.1
"""A correlation this large matters."""

_POWER_AT = 2.576 + 0.842
"""The standard errors at which the test at level 0.01 has a power of 0.8."""

_NUMBERS = {2: "last one", 4: "last three"}


@dataclass(frozen=True)
class NumberEvidence:
    """The statistics of a table behind the verdicts, computed when they are needed.

    group, role: the columns of groups, if there are any.      layout: the layout of series; None if there are none.
    """

    table: LazyTable
    column: str
    group: tuple[str, ...]
    role: str | None
    layout: ChainLayout | None
    missing: Missing
    record: str

    @property
    def groups(self) -> GaussianGroups | None:
        """Normal groups with their diagnosis; None if no groups were named, or they cannot be fitted."""
        return self.fitted_groups[0]

    @cached_property
    def fitted_groups(self) -> tuple[GaussianGroups | None, str]:
        """The `groups`, and the reason why they cannot be fitted."""
        if not self.group:
            return None, ""
        column, missing, record = self.column, self.missing, self.record
        try:
            return GaussianGroups.fit(
                self.table, value=column, group=self.group, role=self.role, missing=missing, record=record
            ), ""
        except RecordsError:
            raise
        except BayesDPError as error:
            return None, str(error)

    @cached_property
    def within(self) -> tuple[str, ...]:
        """The clock whose every reading has its own mean; none if the order has no clock."""
        return self._series[0]

    @cached_property
    def _series(self) -> tuple[tuple[str, ...], Any]:
        assert self.layout is not None
        for name in SHOWN:
            try:
                return (name,), self._moments((name,))
            except RecordsError:
                raise
            except FrameError:
                continue
        return (), self._moments(())

    def _moments(self, within: tuple[str, ...]) -> Any:
        assert self.layout is not None
        return series_moments(self.table, self.column, self.layout, max(ORDERS) + 1, self.missing, within)

    def series(self, order: int) -> GaussianSeries:
        """Return the series of this order; ModelError if no stationary one has these autocovariances."""
        _, seen = self._series
        moments = SeriesMoments(seen.moments.autocovariances[: order + 1], seen.moments.pairs[: order + 1])
        return GaussianSeries(
            moments.coefficients(),
            moments=moments,
            length=seen.longest,
            gaps=seen.gaps,
            column=self.column,
            record=self.record,
            layout=self.layout,
        )

    def partial(self, lag: int) -> tuple[float, int]:
        """Return the partial autocorrelation of a lag, and the number of pairs behind it."""
        _, seen = self._series
        return seen.moments.coefficients(lag)[-1], seen.moments.pairs[lag]


def priced_number_assumptions(evidence: NumberEvidence) -> Iterator[PricedAssumption]:
    """Yield the assumptions, from the strongest to the weakest."""
    yield _independent(evidence)
    if evidence.group:
        yield _groups(evidence)
    if evidence.layout is not None:
        for order in ORDERS:
            yield _series(evidence, order)
    yield _arbitrary(evidence)


def _independent(evidence: NumberEvidence) -> PricedAssumption:
    tests: list[tuple[Verdict, str]] = []
    if evidence.groups is not None:
        tests.append(_correlated(evidence.groups))
    if evidence.layout is not None:
        tests.append(_lagged(evidence, 1))
    shown = " ".join(shown for _, shown in tests) or "Whether records depend on one another was not tested."
    return independent_rung(worst(*(verdict for verdict, _ in tests)), shown, evidence.column, evidence.record)


def _groups(evidence: NumberEvidence) -> PricedAssumption:
    group = " and ".join(evidence.group)
    name, condition = "normal groups", f"the records of one {group} are normal"
    assumes = (
        f"The records of one {group} are jointly normal, with the correlations of this table; others are independent."
    )
    model = evidence.groups
    if model is None:
        reason = evidence.fitted_groups[1]
        return PricedAssumption(name, condition, assumes, NoVerdict.NOT_POSSIBLE, reason, reason=reason)
    diagnosis = model.diagnosis
    assert diagnosis is not None
    return PricedAssumption(name, condition, assumes, diagnosis.verdict, diagnosed(diagnosis), model)


def _series(evidence: NumberEvidence, order: int) -> PricedAssumption:
    last = "the last record" if order == 1 else f"the last {order} records"
    name, condition = f"normal series of order {order}", f"what matters is {last} of a normal series"
    assumes = f"Each record is a weighted sum of {last} and something new, all normal; means may change with time."
    try:
        model = evidence.series(order)
        verdict, shown = _lagged(evidence, order + 1)
    except RecordsError:
        raise
    except BayesDPError as error:
        return PricedAssumption(name, condition, assumes, NoVerdict.NOT_POSSIBLE, str(error), reason=str(error))
    trust = "The table cannot test that it is normal."
    return PricedAssumption(name, condition, assumes, worst(verdict, Verdict.NOT_TESTED), f"{shown} {trust}", model)


def _arbitrary(evidence: NumberEvidence) -> PricedAssumption:
    named = evidence.group or (() if evidence.layout is None else tuple(evidence.layout.entity))
    largest = View(evidence.table, evidence.missing).largest_group(named) if named else 0
    diagnosis = None if evidence.groups is None else evidence.groups.diagnosis
    return arbitrary_rung(named, "series", largest, evidence.record, diagnosis, "independent groups")


def _correlated(model: GaussianGroups) -> tuple[Verdict, str]:
    """Test whether members of groups are correlated: Fisher's z of the intraclass, or of every pair of roles."""
    assert model.moments is not None
    correlation, errors, visible, tests = _fisher(model.moments, model.largest_correlation)
    return _judged("members of a group", correlation, errors, visible, tests)


@singledispatch
def _fisher(moments: Moments | AnovaMoments, largest: float) -> tuple[float, float, float, int]:
    """Return the largest correlation, it and one that matters in standard errors, and the number of correlations."""
    error = 1 / math.sqrt(max(moments.groups - 3, 1))
    pairs = moments.members * (moments.members - 1) // 2
    return largest, math.atanh(largest) / error, math.atanh(_MATTERS) / error, pairs


@_fisher.register(AnovaMoments)
def _fisher_intraclass(moments: AnovaMoments, largest: float) -> tuple[float, float, float, int]:
    size = max(moments.size, 1 + 1e-9)
    z = 0.5 * math.log1p(size * moments.correlation / (1 - moments.correlation))
    error = math.sqrt(size / (2 * (size - 1) * max(moments.groups - 2, 1)))
    matters = 0.5 * math.log1p(size * _MATTERS / (1 - _MATTERS))
    return moments.correlation, z / error, matters / error, 1


def _lagged(evidence: NumberEvidence, lag: int) -> tuple[Verdict, str]:
    """Test whether the record `lag` steps back matters, given those between."""
    correlation, pairs = evidence.partial(lag)
    what = (
        "one record and the next"
        if lag == 1
        else f"the record before the {_NUMBERS[lag]} and the next, given those between,"
    )
    return _judged(what, correlation, correlation * math.sqrt(pairs), _MATTERS * math.sqrt(pairs), 1)


def _judged(what: str, correlation: float, errors: float, visible: float, tests: int) -> tuple[Verdict, str]:
    """Return the verdict on a correlation that is `errors` standard errors from 0, with a sentence."""
    p_value = min(1.0, tests * math.erfc(abs(errors) / math.sqrt(2)))
    verdict = judge(p_value, abs(correlation) >= _MATTERS, visible >= _POWER_AT)
    seen = "are correlated" if p_value < DOUBTFUL else "show no significant correlation"
    return verdict, f"{what[:1].upper()}{what[1:]} {seen}: {correlation:.3g}, {shown_p(p_value)}."
