"""Assumptions for a column of numbers: independent, normal groups, normal series, arbitrary groups."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any

from bayesdp.advice.claims import INDEPENDENT, NORMAL, SEPARATE, STEADY, Evidence, memory
from bayesdp.advice.priced_assumption import (
    NoVerdict,
    PricedAssumption,
    diagnosed,
    groups_assumption,
    independent_assumption,
    moments_assumption,
)
from bayesdp.diagnostics.report import DOUBTFUL, judge, shown_p
from bayesdp.errors import BayesDPError, FrameError, ModelError, RecordsError
from bayesdp.frames.clocks import SHOWN
from bayesdp.frames.moments import Comoments, comoments
from bayesdp.frames.series import series_moments
from bayesdp.frames.source import LazyTable, Missing
from bayesdp.frames.view import View
from bayesdp.models import ChainLayout, GaussianGroups, GaussianSeries
from bayesdp.models.diagnosis import Finding, Verdict, worst
from bayesdp.models.moments import AnovaMoments, Moments
from bayesdp.models.series_moments import SeriesMoments

__all__ = ["NumberEvidence", "number_tests", "priced_number_assumptions"]

ORDERS = (1, 3)
"""The orders of series that are always tried; for each, a test of whether one more record matters."""

_LONGEST_ORDER = 12
"""The highest order that is tried if more than the last three records matter; each lag takes a pass over the table."""

_MATTERS = 0.1
"""A correlation this large matters."""

_POWER_AT = 2.576 + 0.842
"""The standard errors at which the test at level 0.01 has a power of 0.8."""

_TOGETHER = 0.2
"""A correlation of entities that changes the variance of their sum by this share matters."""


@dataclass(frozen=True)
class NumberEvidence:
    """The statistics of a table behind the verdicts, computed when they are needed.

    group, role: the columns of groups, if there are any.      layout: the layout of series; None if there are none.
    strata:      what has means of its own; the first clock of the order if nothing is named.
    """

    table: LazyTable
    column: str
    group: tuple[str, ...]
    role: str | None
    layout: ChainLayout | None
    missing: Missing
    record: str
    strata: tuple[str, ...] = ()

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
        """The strata that have means of their own; none if the order has no clock."""
        return self._series[0]

    @cached_property
    def moving(self) -> tuple[Verdict, str, Comoments] | None:
        """Whether entities move together at one moment, given their means; None for a single entity."""
        if self.layout is None or not self.layout.entity:
            return None
        seen = comoments(self.table, self.column, self.layout, self.missing, self.within)
        _, own = self._series
        others = max(seen.largest - 1, 1)
        error = seen.error * math.sqrt(own.moments.product_inflation())
        visible = math.inf if not error else _TOGETHER / others / error
        matters = abs(seen.correlation) * others >= _TOGETHER
        errors = seen.correlation / error if error else 0.0
        judged = _judged("entities at the same moment", seen.correlation, errors, visible, 1, matters)
        return *judged, seen

    @cached_property
    def _series(self) -> tuple[tuple[str, ...], Any]:
        assert self.layout is not None
        if self.strata:
            return self.strata, self._moments(self.strata, max(ORDERS) + 1)
        for name in SHOWN:
            try:
                return (name,), self._moments((name,), max(ORDERS) + 1)
            except RecordsError:
                raise
            except FrameError:
                continue
        return (), self._moments((), max(ORDERS) + 1)

    def _moments(self, within: tuple[str, ...], lags: int) -> Any:
        assert self.layout is not None
        return series_moments(self.table, self.column, self.layout, lags, self.missing, within)

    @cached_property
    def lags(self) -> Any:
        """The moments of the series, of more lags if the last three records do not seem to be all that matters."""
        within, seen = self._series
        if self._partial(seen, max(ORDERS) + 1)[0] not in (Verdict.VIOLATED, Verdict.DOUBTFUL):
            return seen
        try:
            return self._moments(within, _LONGEST_ORDER + 1)
        except RecordsError:  # no so many records in a row
            return seen

    @property
    def orders(self) -> tuple[int, ...]:
        """The orders of series to try: the usual ones, and the least beyond them that leaves nothing that matters."""
        most = len(self.lags.moments.pairs) - 2
        longer = [lag for lag in range(max(ORDERS) + 1, most + 2) if self.partial(lag)[0] == Verdict.VIOLATED]
        return (*ORDERS, *([min(max(longer), most)] if longer and most > max(ORDERS) else []))

    def series(self, order: int) -> GaussianSeries:
        """Return the series of this order; ModelError if no stationary one has these autocovariances."""
        seen = self.lags
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

    def partial(self, lag: int) -> tuple[Verdict, str]:
        """Return whether the record `lag` steps back matters, given those between, as a verdict and a sentence."""
        return self._partial(self.lags, lag)

    @staticmethod
    def _partial(seen: Any, lag: int) -> tuple[Verdict, str]:
        correlation, root = seen.moments.coefficients(lag)[-1], math.sqrt(seen.moments.pairs[lag])
        before = {2: "last one", 4: "last three"}.get(lag, f"last {lag - 1}")
        what = (
            "one record and the next"
            if lag == 1
            else f"the record before the {before} and the next, given those between,"
        )
        large = abs(correlation) >= _MATTERS
        return _judged(what, correlation, correlation * root, _MATTERS * root, 1, large)


def priced_number_assumptions(evidence: NumberEvidence) -> Iterator[PricedAssumption]:
    """Yield the assumptions, from the strongest to the weakest, with their own verdicts only (see `number_tests`)."""
    yield _independent(evidence)
    if evidence.group:
        yield _groups(evidence)
    if evidence.layout is not None:
        for order in evidence.orders:
            yield _series(evidence, order)
    if (moving := evidence.moving) is not None and moving[0] in (Verdict.VIOLATED, Verdict.DOUBTFUL):
        assert evidence.layout is not None
        yield moments_assumption(evidence.layout.order_by, moving[2].largest, evidence.record, *evidence.partial(1))
    yield _arbitrary(evidence)


def number_tests(evidence: NumberEvidence) -> Iterator[Evidence]:
    """Yield the tests of single claims, which every assumption that implies them inherits."""
    if evidence.groups is not None:
        yield Evidence(frozenset({INDEPENDENT}), *_correlated(evidence.groups))
    if evidence.layout is None:
        return
    for lag in range(1, len(evidence.lags.moments.pairs)):
        with suppress(ModelError):  # no stationary series has these autocovariances
            verdict, shown = evidence.partial(lag)
            if lag == 1 or verdict in (Verdict.VIOLATED, Verdict.DOUBTFUL):
                yield Evidence(frozenset({memory(lag - 1)}), verdict, shown)
    if evidence.moving is not None:
        yield Evidence(frozenset({SEPARATE}), *evidence.moving[:2])


def _independent(evidence: NumberEvidence) -> PricedAssumption:
    tests: list[tuple[Verdict, str]] = []
    if evidence.groups is not None:
        tests.append(_correlated(evidence.groups))
    if evidence.layout is not None:
        tests.append(evidence.partial(1))
    shown = " ".join(shown for _, shown in tests) or "Whether records depend on one another was not tested."
    return independent_assumption(worst(*(verdict for verdict, _ in tests)), shown, evidence.column, evidence.record)


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
    claims = frozenset({NORMAL, SEPARATE})
    return PricedAssumption(name, condition, assumes, diagnosis.verdict, diagnosed(diagnosis), model, claims=claims)


def _series(evidence: NumberEvidence, order: int) -> PricedAssumption:
    last = "the last record" if order == 1 else f"the last {order} records"
    name, condition = f"normal series of order {order}", f"what matters is {last} of a normal series"
    assumes = f"Each record is a weighted sum of {last} and something new, all normal; means may change with time."
    try:
        model = evidence.series(order)
        verdict, shown = evidence.partial(order + 1)
    except RecordsError:
        raise
    except BayesDPError as error:
        return PricedAssumption(name, condition, assumes, NoVerdict.NOT_POSSIBLE, str(error), reason=str(error))
    trust = "The table cannot test that it is normal."
    claims = frozenset({memory(order), STEADY, NORMAL, SEPARATE})
    judged = worst(verdict, Verdict.NOT_TESTED)
    return PricedAssumption(name, condition, assumes, judged, f"{shown} {trust}", model, claims=claims)


def _arbitrary(evidence: NumberEvidence) -> PricedAssumption:
    named = evidence.group or (() if evidence.layout is None else tuple(evidence.layout.entity))
    largest = View(evidence.table, evidence.missing).largest_group(named) if named else 0
    return groups_assumption(named, "series", largest, evidence.record, _on_groups(evidence))


def _on_groups(evidence: NumberEvidence) -> Finding | None:
    """Return the finding on the independence of groups or entities; None if there is none."""
    if evidence.moving is not None and not evidence.group:
        verdict, shown, _ = evidence.moving
        return Finding("independent entities", "Are entities independent at one moment?", "", verdict, shown, "")
    diagnosis = None if evidence.groups is None else evidence.groups.diagnosis
    findings = () if diagnosis is None else diagnosis.findings
    return next((finding for finding in findings if finding.name == "independent groups"), None)


def _correlated(model: GaussianGroups) -> tuple[Verdict, str]:
    """Test whether members of groups are correlated: Fisher's z of the intraclass, or of every pair of roles."""
    assert model.moments is not None
    correlation, errors, visible, tests = _fisher(model.moments, model.largest_correlation)
    return _judged("members of a group", correlation, errors, visible, tests, abs(correlation) >= _MATTERS)


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


def _judged(
    what: str, correlation: float, errors: float, visible: float, tests: int, large: bool
) -> tuple[Verdict, str]:
    """Return the verdict on a correlation that is `errors` standard errors from 0, with a sentence.

    large, visible: whether it matters, and one that matters in standard errors.
    """
    p_value = min(1.0, tests * math.erfc(abs(errors) / math.sqrt(2)))
    verdict = judge(p_value, large, visible >= _POWER_AT)
    seen = "are correlated" if p_value < DOUBTFUL else "show no significant correlation"
    return verdict, f"{what[:1].upper()}{what[1:]} {seen}: {correlation:.3g}, {shown_p(p_value)}."
