"""The ladder of a column of numbers: independent, normal groups, normal series, arbitrary groups."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any

from bayesdp.advice.priced_assumption import Judgement, NoVerdict, PricedAssumption, diagnosed
from bayesdp.diagnostics.report import DOUBTFUL, judge, shown_p
from bayesdp.errors import BayesDPError, FrameError, InvalidInputError, RecordsError
from bayesdp.frames.series import series_moments
from bayesdp.frames.source import LazyTable, Missing
from bayesdp.frames.spacing import spaced
from bayesdp.frames.view import View
from bayesdp.models import ArbitraryGroups, ChainLayout, GaussianGroups, GaussianSeries, Independent
from bayesdp.models.diagnosis import Verdict, worst
from bayesdp.models.moments import AnovaMoments, Moments
from bayesdp.models.series_moments import SeriesMoments

__all__ = ["NumberEvidence", "priced_number_assumptions"]

ORDERS = (1, 3)
"""The orders of series for which there are rungs; whether one record more matters is tested for each."""

_CLOCKS = ("hour", "weekday", "month")
"""What may have a mean of its own: the first that the order tells."""

_MATTERS = 0.1
"""A correlation this large matters."""

_POWER_AT = 2.576 + 0.842
"""So many standard errors must it be to be seen with probability 0.8 at the level 0.01."""

_NUMBERS = {2: "last one", 4: "last three"}


@dataclass(frozen=True)
class NumberEvidence:
    """What the rungs need to know of a table, read when it is asked for.

    group, role: where groups are; empty if there are none.      layout: where the series are; None if there are none.
    """

    table: LazyTable
    column: str
    group: tuple[str, ...]
    role: str | None
    layout: ChainLayout | None
    missing: Missing
    record: str

    @classmethod
    def of(
        cls,
        table: LazyTable,
        column: str,
        group: tuple[str, ...],
        role: str | None,
        layout: ChainLayout | None,
        missing: Missing,
        record: str,
    ) -> NumberEvidence:
        """Return what is to be looked at; InvalidInputError if the table says nothing of what belongs together."""
        if not group and layout is None:
            raise InvalidInputError(
                "say which records may belong together: group= (--group), or order_by= (--order-by) for a series"
            )
        shown = None if layout is None else spaced(table, column, layout, numeric=True)
        return cls(table, column, group, role, shown, missing, record)

    @property
    def groups(self) -> GaussianGroups | None:
        """Normal groups with their diagnosis; None if none were named, or could be fitted (`no_groups` says why)."""
        return self._groups[0]

    @property
    def no_groups(self) -> str:
        """Why no normal groups could be fitted; empty if they could, or if no groups were named."""
        return self._groups[1]

    @cached_property
    def _groups(self) -> tuple[GaussianGroups | None, str]:
        if not self.group:
            return None, ""
        try:
            groups = GaussianGroups.fit(
                self.table,
                value=self.column,
                group=self.group,
                role=self.role,
                missing=self.missing,
                record=self.record,
            )
        except RecordsError:
            raise
        except BayesDPError as error:
            return None, str(error)
        return groups, ""

    @cached_property
    def within(self) -> tuple[str, ...]:
        """The clock of which each value has a mean of its own; none if the order tells none."""
        return self._series[0]

    @cached_property
    def _series(self) -> tuple[tuple[str, ...], Any]:
        assert self.layout is not None
        for name in _CLOCKS:
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
        """Return the series of this order. ModelError if no stationary one has these autocovariances."""
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
        """Return the partial autocorrelation of a lag, and how many pairs it is from."""
        _, seen = self._series
        return seen.moments.coefficients(lag)[-1], seen.moments.pairs[lag]


def priced_number_assumptions(evidence: NumberEvidence) -> Iterator[PricedAssumption]:
    """Yield the rungs, from the strongest assumption to the weakest."""
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
    verdict = worst(*(verdict for verdict, _ in tests))
    return PricedAssumption(
        "independent",
        "records are independent",
        "No record says anything about another.",
        verdict,
        " ".join(shown for _, shown in tests) or "Whether records depend on one another was not tested.",
        Independent(column=evidence.column, record=evidence.record),
    )


def _groups(evidence: NumberEvidence) -> PricedAssumption:
    group = " and ".join(evidence.group)
    name, condition = "normal groups", f"the records of one {group} are normal"
    assumes = (
        f"The records of one {group} are jointly normal, with the correlations of this table; others are independent."
    )
    model = evidence.groups
    if model is None:
        return PricedAssumption(
            name, condition, assumes, NoVerdict.NOT_POSSIBLE, evidence.no_groups, reason=evidence.no_groups
        )
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
    trust = "That it is normal is taken on trust."
    return PricedAssumption(name, condition, assumes, worst(verdict, Verdict.NOT_TESTED), f"{shown} {trust}", model)


def _arbitrary(evidence: NumberEvidence) -> PricedAssumption:
    named = evidence.group or (() if evidence.layout is None else tuple(evidence.layout.entity))
    together = " and ".join(named)
    name, condition = "arbitrary groups", f"anything may happen within one {together or 'entity'}"
    if not named:
        reason = "All records are one series: then no useful answer can be protected against everything. Name entities."
        assumes = "Entities are independent of one another; inside one anything may happen."
        return PricedAssumption(name, condition, assumes, NoVerdict.NOT_POSSIBLE, reason, reason=reason)
    largest = View(evidence.table, evidence.missing).largest_group(named)
    verdict: Judgement = NoVerdict.NOT_DENIED
    shown = f"No {together} has more than {largest:,} records."
    if evidence.groups is not None and evidence.groups.diagnosis is not None:
        for finding in evidence.groups.diagnosis.findings:
            if finding.name == "independent groups" and finding.verdict in (Verdict.VIOLATED, Verdict.DOUBTFUL):
                verdict, shown = finding.verdict, f"{finding.meaning} {finding.figure}."
    assumes = f"One {together} is independent of another; inside one anything may happen."
    model = ArbitraryGroups(largest, group=named, record=evidence.record)
    return PricedAssumption(name, condition, assumes, verdict, shown, model)


def _correlated(model: GaussianGroups) -> tuple[Verdict, str]:
    """Test whether members of groups are correlated: Fisher's z of the intraclass, or of every pair of roles."""
    assert model.moments is not None
    correlation, errors, visible, tests = _fisher(model.moments, model.largest_correlation)
    return _judged("members of a group", correlation, errors, visible, tests)


@singledispatch
def _fisher(moments: Moments | AnovaMoments, largest: float) -> tuple[float, float, float, int]:
    """Return the largest correlation, itself and what matters in standard errors, and of how many it is the largest."""
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
    """Test whether the record `lag` steps back matters, given those in between."""
    correlation, pairs = evidence.partial(lag)
    what = (
        "one record and the next"
        if lag == 1
        else f"the record before the {_NUMBERS[lag]} and the next, given those between,"
    )
    return _judged(what, correlation, correlation * math.sqrt(pairs), _MATTERS * math.sqrt(pairs), 1)


def _judged(what: str, correlation: float, errors: float, visible: float, tests: int) -> tuple[Verdict, str]:
    """Return the verdict on a correlation that is so many standard errors from 0, with that in words."""
    p_value = min(1.0, tests * math.erfc(abs(errors) / math.sqrt(2)))
    verdict = judge(p_value, abs(correlation) >= _MATTERS, visible >= _POWER_AT)
    seen = "are correlated" if p_value < DOUBTFUL else "are not seen to be correlated"
    return verdict, f"{what[:1].upper()}{what[1:]} {seen}: {correlation:.3g}, {shown_p(p_value)}."
