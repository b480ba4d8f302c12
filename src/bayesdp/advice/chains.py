"""Assumptions for a column of states: independent, chain, bounded odds, longer memory, arbitrary groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayesdp._support.words import listed, plural
from bayesdp.advice.alternatives import NUMBERS
from bayesdp.advice.claims import (
    ADDITIVE,
    BY_CLOCK,
    BY_DISTANCE,
    INDEPENDENT,
    ONE_ODDS,
    SEPARATE,
    STEADY,
    Claim,
    Evidence,
)
from bayesdp.advice.claims import memory as remembers
from bayesdp.advice.priced_assumption import (
    NoVerdict,
    PricedAssumption,
    diagnosed,
    evidence_of,
    groups_assumption,
    independent_assumption,
    moments_assumption,
)
from bayesdp.diagnostics.entities import independent_entities_within
from bayesdp.diagnostics.markov import CLOCKS
from bayesdp.diagnostics.odds_series import MOST_DIFFERING, beyond
from bayesdp.diagnostics.remembered import Remembered, in_common, one_record_more
from bayesdp.diagnostics.report import VIOLATED, UntestableError, judge, shown_p
from bayesdp.errors import BayesDPError, FrameError, ModelError, RecordsError
from bayesdp.frames.checks import shared_times_within
from bayesdp.frames.clocks import SHOWN
from bayesdp.frames.source import LazyTable, Missing
from bayesdp.frames.spacing import spaced
from bayesdp.frames.transitions import Transitions, transitions
from bayesdp.frames.view import View
from bayesdp.models import ChainLayout, MarkovChain, OddsChain, OddsSeries
from bayesdp.models.diagnosis import Diagnosis, Finding, Verdict, worst
from bayesdp.models.memory import tuples
from bayesdp.models.pair_effects import credible_odds
from bayesdp.models.states import check_varied
from bayesdp.models.strata import SPARSE, Stratum, largest_log_odds, merged
from bayesdp.queries import Count, Query
from bayesdp.rounding import shown_above

__all__ = ["STEPS", "ChainEvidence", "chain_tests", "priced_chain_assumptions"]

STEPS = 4
"""The number of scans of the table, for a progress bar."""

LONGEST = 3
"""The longest memory of an assumption."""

_MOST_RUNS = 2**17
"""The most different runs that are counted: longer runs of few states, shorter ones of many."""

_MOST_COMPARED = 20
"""The most states whose dependence is tested within strata; of more, too many pairs are rare."""

_MOST_BY_DISTANCE = 3
"""The most states whose odds by distance are fitted; the fit has parameters for every pair of states."""

_DRAWN = 1000
"""Draws from the posterior of the odds ratios of strata."""

_SEED = 13


@dataclass(frozen=True)
class ChainEvidence:
    """The statistics of a table behind the verdicts.

    counted: transitions by their memory, with strata if there are any.
    runs:    for each stratum, the counts of the longest runs of records.
    within:  the names of the strata.
    """

    subject: str
    layout: ChainLayout
    record: str
    within: tuple[str, ...]
    counted: dict[int, Transitions]
    runs: tuple[Any, ...]
    chain: MarkovChain | None
    broken: str
    diagnosis: Diagnosis | None
    credibility: float
    table: LazyTable
    missing: Missing

    @classmethod
    def of(
        cls,
        table: LazyTable,
        subject: str,
        layout: ChainLayout,
        *,
        within: Sequence[str] | None,
        missing: Missing,
        record: str,
        credibility: float,
        done: Callable[[int], None],
    ) -> ChainEvidence:
        """Count transitions in a few scans of the table, with the step that the table shows."""
        layout = spaced(table, subject, layout)
        strata, first = _stratified(table, subject, layout, missing, within)
        check_varied(first.states, subject)
        done(1)
        states = len(first.states)
        kinds = max(len(first.strata), 1)
        longest = max((k for k in (2, 3, 4) if kinds * float(states) ** (k + 1) <= _MOST_RUNS), default=1)
        counted = {1: first}
        for memory in {2, longest} & set(range(2, longest + 1)):
            counted[memory] = transitions(table, subject, layout, missing, memory=memory, within=strata)
            done(1)
        runs = tuple(stratum.counts for stratum in _strata(counted[longest]))
        if longest == LONGEST + 1:  # drops the first record of each run, and so no more than that of each chain
            counted[LONGEST] = _shortened(counted[longest])
            del counted[longest]
        chain, broken = _chain(first, subject, layout, record, 1)
        diagnosis = None if chain is None else chain.diagnose(table)
        done(STEPS)
        return cls(
            subject, layout, record, strata, counted, runs, chain, broken, diagnosis, credibility, table, missing
        )

    @property
    def first(self) -> Transitions:
        """The transitions from one record to the next."""
        return self.counted[1]

    @property
    def few_states(self) -> bool:
        """Whether few enough for a test of independence that adds up the deviations of strata."""
        return len(self.first.states) <= _MOST_COMPARED

    @cached_property
    def together(self) -> Finding | None:
        """The finding on whether entities move together, within strata; None for a single entity."""
        findings = () if self.diagnosis is None else self.diagnosis.findings
        found = next((finding for finding in findings if finding.name == "independent entities"), None)
        moving = found is not None and found.verdict in (Verdict.VIOLATED, Verdict.DOUBTFUL)
        if not moving or not self.within:
            return found
        kinds = shared_times_within(self.table, self.subject, self.layout, self.first.states, self.within)
        return independent_entities_within(self.first.states, kinds)

    @cached_property
    def by_distance(self) -> tuple[OddsSeries, Diagnosis] | str:
        """Odds by distance with their diagnosis, if they reach farther than the last record; otherwise why not.

        The effects of two states add up; `replace` takes that away.
        """
        if len(self.first.states) > _MOST_BY_DISTANCE or _dependence(self)[0] == Verdict.FINE:
            return "there are too many states, or records do not depend on one another"
        try:
            series = self._fitted(additive=len(self.first.states) == 2)
            if series.fitted is None or series.fitted.reach == 1:
                return "only neighbours depend on one another, given all other records"
            return series, series.diagnose(self.table)
        except RecordsError:
            raise
        except BayesDPError as error:
            return str(error)

    @cached_property
    def differing(self) -> tuple[OddsSeries, Diagnosis, str] | None:
        """Odds by distance where the effects of the nearest records differ by a clock, their diagnosis, and the clock.

        If the table contradicts effects that are the same at all its readings, but those of farther records are; else
        None.
        """
        if isinstance(self.by_distance, str):
            return None
        series, diagnosis = self.by_distance
        denied = (each for each in diagnosis.findings if each.name in SHOWN and each.verdict == Verdict.VIOLATED)
        clock, reach = next(denied, None), len(series.odds)
        for nearest in range(1, min(MOST_DIFFERING, reach) + 1) if clock is not None else ():
            assert clock is not None
            if nearest < reach and clock.values.get(beyond(nearest), 0.0) < VIOLATED:
                continue
            try:
                fitted = self._fitted(
                    additive=series.additive, reach=reach, effects_within=clock.name, effects_up_to=nearest
                )
                return fitted, fitted.diagnose(self.table), clock.name
            except RecordsError:
                raise
            except BayesDPError:
                return None
        return None

    def _fitted(self, **chosen: Any) -> OddsSeries:
        """Return odds by distance fitted to the table, without a diagnosis."""
        layout = self.layout
        return OddsSeries.fit(
            self.table,
            state=self.subject,
            order_by=layout.order_by,
            entity=layout.entity or None,
            step=layout.step,
            order_by_text=layout.order_by_text,
            within=self.within or None,
            credibility=self.credibility,
            missing=self.missing,
            record=self.record,
            diagnose=False,
            **chosen,
        )

    def more(self, memory: int) -> Remembered | None:
        """Whether the record before the last `memory` ones matters; None if that was not counted."""
        try:
            return one_record_more(self.runs, memory)
        except UntestableError:
            return None

    @property
    def memory(self) -> tuple[int, bool]:
        """The memory of the table, and whether it is known to be no longer."""
        shown = 1
        while (one_more := self.more(shown)) is not None:
            if one_more.verdict != Verdict.VIOLATED:
                return shown, True
            shown += 1
        return shown, False

    def described(self) -> dict[str, Any]:
        """Return the arguments that all models of these chains share."""
        place = {"state": self.subject} if self.first.condition else {"column": self.subject}
        return place | {
            "states": self.first.states,
            "length": self.first.longest,
            "gaps": self.first.gaps,
            "record": self.record,
            "layout": self.layout,
        }

    def several(self, memory: int) -> bool:
        """Whether there are several strata even after sparse ones are merged."""
        strata = self.counted[memory].strata
        return bool(strata) and len(merged(strata)) > 1

    def odds(self, memory: int, *, stratified: bool) -> OddsChain:
        """Return the chain of bounded odds; sparse strata are merged. ModelError if the odds have no limit."""
        counted = self.counted[memory]
        strata = counted.strata if stratified else (Stratum(((),), counted.counts),)
        return OddsChain.from_strata(
            strata,
            within=self.within if stratified else (),
            memory=memory,
            credibility=self.credibility,
            merge=SPARSE if stratified else 0,
            **self.described(),
        )


def priced_chain_assumptions(evidence: ChainEvidence) -> Iterator[PricedAssumption]:
    """Yield the assumptions, from the strongest to the weakest, with their own verdicts only (see `chain_tests`)."""
    yield _independent(evidence)
    yield from _independent_within(evidence)
    yield _homogeneous(evidence)
    yield _odds(evidence)
    if evidence.several(1):
        yield _odds_within(evidence, 1)
    yield from _by_distance(evidence)
    for memory in range(2, LONGEST + 1):
        shown, _ = evidence.memory
        if memory in evidence.counted and (memory == 2 or shown >= memory):
            yield _remembering(evidence, memory)
            yield _odds_within(evidence, memory)
    yield from _moments(evidence)
    yield _arbitrary(evidence)


def chain_tests(evidence: ChainEvidence) -> Iterator[Evidence]:
    """Yield the tests of single claims, which every assumption that implies them inherits."""
    yield Evidence(frozenset({INDEPENDENT, STEADY}), *_dependence(evidence))
    for memory in range(LONGEST + 1):
        if memory or evidence.few_states:
            yield Evidence(frozenset({remembers(memory)}), *_memory_verdict(evidence, memory))
    for finding in () if evidence.diagnosis is None else evidence.diagnosis.findings:
        claims = _TESTED.get(finding.name)
        if claims is not None and finding.verdict in (Verdict.VIOLATED, Verdict.DOUBTFUL):
            yield Evidence(claims, finding.verdict, evidence_of(finding))
    yield from _tests_by_distance(evidence)
    if evidence.together is not None:
        yield Evidence(frozenset({SEPARATE}), evidence.together.verdict, evidence_of(evidence.together))


_ENTITIES, _SIGNS = "independent entities", "signs"
"""Findings about a series: the first is tested within strata here, the second is about effects that add up."""

_TESTED = {
    "order": frozenset({remembers(1), STEADY}),
    "same over time": frozenset({STEADY}),
    "same for all entities": frozenset({STEADY}),
    "start": frozenset({STEADY}),
    **{clock: frozenset({STEADY}) for clock in CLOCKS},
}
"""The claims that findings of a diagnosis test."""


def _dependence(evidence: ChainEvidence) -> tuple[Verdict, str]:
    for finding in () if evidence.diagnosis is None else evidence.diagnosis.findings:
        if finding.name == "dependence":
            verdict = {"present": Verdict.VIOLATED, "not seen": Verdict.FINE}.get(finding.word, Verdict.NOT_TESTED)
            dependence = {
                Verdict.VIOLATED: "Records depend on the one before",
                Verdict.FINE: "The test found no dependence",
                Verdict.NOT_TESTED: "There are too few records to tell",
            }[verdict]
            return verdict, f"{dependence}: {finding.figure.partition(';')[0]}."
    return Verdict.NOT_TESTED, "Whether records depend on one another was not tested."


def _independent(evidence: ChainEvidence) -> PricedAssumption:
    return independent_assumption(*_dependence(evidence), evidence.subject, evidence.record)


def _independent_within(evidence: ChainEvidence) -> Iterator[PricedAssumption]:
    """Yield the assumption that strata are all that makes records seem to depend on one another, if it may hold."""
    if evidence.several(1) and evidence.few_states and _dependence(evidence)[0] == Verdict.VIOLATED:
        verdict, shown = _memory_verdict(evidence, 0)
        if verdict != Verdict.VIOLATED:
            yield independent_assumption(
                verdict, shown, evidence.subject, evidence.record, " and ".join(evidence.within)
            )


def _homogeneous(evidence: ChainEvidence) -> PricedAssumption:
    assumes = "The next record depends on the last one only, with the same probabilities at all times."
    name, condition = "chain", "records follow a chain"
    if evidence.chain is None or evidence.diagnosis is None:
        return PricedAssumption(
            name, condition, assumes, NoVerdict.NOT_POSSIBLE, evidence.broken, reason=evidence.broken
        )
    diagnosis = evidence.diagnosis
    model = evidence.chain.with_diagnosis(diagnosis)
    claims = frozenset({remembers(1), STEADY, SEPARATE})
    return PricedAssumption(name, condition, assumes, diagnosis.verdict, diagnosed(diagnosis), model, claims=claims)


def _odds(evidence: ChainEvidence) -> PricedAssumption:
    name, condition = "bounded odds", "the probabilities change with time"
    assumes = (
        "The next record depends on the last one only; its probabilities may change with time, but the odds ratio "
        "between records has one bound for all times."
    )

    def judged(model: OddsChain) -> tuple[Verdict, str]:
        verdict, shown = _memory_verdict(evidence, 1)
        if evidence.several(1):
            over, more = _exceeded(evidence, model)
            verdict, shown = worst(verdict, over), f"{shown} {more}".strip()
        return verdict, f"An odds ratio of at most {shown_above(model.odds, 3)}. {shown}"

    claims = frozenset({remembers(1), ONE_ODDS, SEPARATE})
    return _assumption(name, condition, assumes, lambda: evidence.odds(1, stratified=False), judged, claims)


def _odds_within(evidence: ChainEvidence, memory: int) -> PricedAssumption:
    stratum = " and ".join(evidence.within)
    apart = evidence.several(memory)
    where = f" within each {stratum}" if apart else ""
    may = f", which may differ by {stratum}" if apart else ""
    if memory == 1:
        name, condition = f"bounded odds{where}", f"the odds ratio changes with the {stratum}"
        assumes = "The next record depends on the last one only; the odds ratio between records has a bound"
    else:
        name = f"bounded odds, memory of {NUMBERS[memory]}{where}"
        condition = f"what matters is the last {NUMBERS[memory]} records, whose probabilities change with time"
        assumes = f"The next records depend on the last {NUMBERS[memory]} only; the odds ratio has a bound"

    def judged(model: OddsChain) -> tuple[Verdict, str]:
        verdict, shown = _memory_verdict(evidence, memory)
        strata = evidence.counted[memory].strata
        sparse = sum(stratum.least < SPARSE for stratum in strata)
        joined = f" Sparse strata were merged, {sparse} of {len(strata)}." if sparse else ""
        return verdict, f"An odds ratio of at most {shown_above(model.odds, 3)}. {shown}{joined}"

    claims = frozenset({remembers(memory), SEPARATE})
    return _assumption(
        name, condition, f"{assumes}{may}.", lambda: evidence.odds(memory, stratified=apart), judged, claims
    )


def _by_distance(evidence: ChainEvidence) -> Iterator[PricedAssumption]:
    """Yield odds by distance: with effects that add up, if there are two states, and without."""
    found = evidence.by_distance
    if isinstance(found, str):
        return
    series, diagnosis = found
    assert series.fitted is not None
    reach = series.fitted.reach
    limits = f"the odds given all others have limits up to {reach} {plural(evidence.record)} apart"
    assumes = (
        f"Given all other records, those up to {reach} places apart depend on one another, with a limit of the odds "
        "ratio for each distance, at all times; the probabilities may change with time."
    )
    claims = frozenset({remembers(reach), BY_DISTANCE, SEPARATE})
    tested = [finding for finding in diagnosis.findings if finding.name != _ENTITIES]
    if series.additive:
        name, adds_up = f"additive odds up to {reach} apart", "What several records say about one adds up."
        yield PricedAssumption(
            name,
            f"{limits}, and effects add up",
            f"{assumes} {adds_up}",
            *_on_series(series, tested),
            series,
            claims=claims | {ADDITIVE},
        )
    if evidence.differing is not None:
        yield _differing(*evidence.differing, evidence.record)
    plain = _without_adding(series)
    tested = [finding for finding in tested if finding.name != _SIGNS]
    yield PricedAssumption(
        f"odds up to {reach} apart", limits, assumes, *_on_series(plain, tested), plain, claims=claims
    )


def _differing(series: OddsSeries, diagnosis: Diagnosis, clock: str, record: str) -> PricedAssumption:
    """Return odds by distance where the effects of the nearest records differ by a clock."""
    assert series.fitted is not None
    assert series.fitted.by_stratum is not None
    reach, apart = series.fitted.reach, series.fitted.by_stratum.apart
    near = "neighbours" if apart == 1 else f"those up to {apart} places apart"
    adds_up = " What several records say about one adds up." if series.additive else ""
    name = f"{'additive ' if series.additive else ''}odds up to {reach} apart, differing by {clock}"
    return PricedAssumption(
        name,
        f"the odds given all others have limits up to {reach} {plural(record)} apart, which differ by {clock}",
        f"Given all other records, those up to {reach} places apart depend on one another, with a limit of the odds "
        f"ratio for each distance. That of {near} differs by {clock}; the largest counts.{adds_up}",
        *_on_series(series, [finding for finding in diagnosis.findings if finding.name != _ENTITIES]),
        series,
        claims=frozenset({remembers(reach), BY_CLOCK, SEPARATE, *([ADDITIVE] if series.additive else [])}),
    )


def _without_adding(series: OddsSeries) -> OddsSeries:
    """Return the series without the assumption that effects add up, with the odds that have its credibility."""
    assert series.fitted is not None
    assert series.credibility is not None
    odds = credible_odds(series.fitted, series.credibility, additive=False)
    return replace(series, odds=odds, additive=False, diagnosis=None)


def _on_series(series: OddsSeries, tested: Sequence[Finding]) -> tuple[Verdict, str]:
    """Return the verdict of findings on a series, with the odds and what the data still allow."""
    verdict = worst(*(finding.verdict for finding in tested))
    odds = listed([shown_above(each, 3) for each in series.odds])
    named = [finding.name for finding in tested if finding.verdict == verdict]
    judged = "" if verdict == Verdict.FINE else f" {str(verdict).capitalize()}: {listed(named)}."
    allowed = [finding.values.get("epsilon_allowed", 0.0) for finding in tested]
    most = max(allowed, default=0.0)
    within = f" As far as the tests can tell, ε may be {shown_above(most, 3)} instead of 1." if most > 1 else ""
    return verdict, f"Odds ratios of at most {odds} by distance.{judged}{within}"


def _tests_by_distance(evidence: ChainEvidence) -> Iterator[Evidence]:
    """Yield the findings about odds by distance that test claims of other assumptions."""
    if isinstance(evidence.by_distance, str):
        return
    series, diagnosis = evidence.by_distance
    claims = {"reach": remembers(len(series.odds)), "three together": ADDITIVE, _SIGNS: ADDITIVE}
    claims |= dict.fromkeys(SHOWN, BY_DISTANCE)
    for finding in diagnosis.findings:
        if finding.name in claims and finding.verdict in (Verdict.VIOLATED, Verdict.DOUBTFUL):
            yield Evidence(frozenset({claims[finding.name]}), finding.verdict, evidence_of(finding))


def _remembering(evidence: ChainEvidence, memory: int) -> PricedAssumption:
    name = f"chain with a memory of {NUMBERS[memory]}"
    condition = f"what matters is the last {NUMBERS[memory]} records"
    assumes = f"The next record depends on the last {NUMBERS[memory]} only, with the same probabilities at all times."

    def built() -> MarkovChain:
        chain, broken = _chain(
            evidence.counted[memory], evidence.subject, evidence.layout, evidence.record, memory, evidence.first
        )
        if chain is None:
            raise ModelError(broken)
        return chain

    def judged(model: MarkovChain) -> tuple[Verdict, str]:
        verdict, shown = _memory_verdict(evidence, memory)
        if evidence.within:
            timed, more = _by_strata(evidence, memory)
            verdict, shown = worst(verdict, timed), f"{shown} {more}".strip()
        return verdict, shown

    return _assumption(name, condition, assumes, built, judged, frozenset({remembers(memory), STEADY, SEPARATE}))


def of_two_states(evidence: ChainEvidence, query: Query) -> tuple[PricedAssumption, Query] | None:
    """Return the assumption of a chain of the states that a count is about and of all others, and the count.

    None if the question is no count, or if there are only two states.
    """
    states, counted = evidence.first.states, query.values
    if len(states) < 3 or not isinstance(query, Count) or not set(counted) < set(states):
        return None
    places = [state not in counted for state in states]
    counts = np.array(evidence.first.counts)
    kinds = [[[not place for place in places], places][kind] for kind in (0, 1)]
    joined = [[int(counts[np.ix_(before, after)].sum()) for after in kinds] for before in kinds]
    first = evidence.first
    try:
        model = MarkovChain.from_counts(
            joined, states=("counted", "other"), length=first.longest, gaps=first.gaps, smoothing=0.5
        )
    except ModelError:
        return None
    joined_states = PricedAssumption("two states", "they form a chain", "", Verdict.NOT_TESTED, "", model)
    return joined_states, replace(query, column=None, equals="counted", isin=None)


def _moments(evidence: ChainEvidence) -> Iterator[PricedAssumption]:
    """Yield the assumption about the records of one moment, if entities may move together."""
    moving = evidence.together is not None and evidence.together.verdict in (Verdict.VIOLATED, Verdict.DOUBTFUL)
    if moving:
        largest = View(evidence.table, evidence.missing).largest_group(evidence.layout.order_by)
        judged = _memory_verdict(evidence, 0) if evidence.few_states else _dependence(evidence)
        yield moments_assumption(evidence.layout.order_by, largest, evidence.record, *judged)


def _arbitrary(evidence: ChainEvidence) -> PricedAssumption:
    return groups_assumption(
        evidence.layout.entity, "chain", evidence.first.longest, evidence.record, evidence.together
    )


def _assumption(
    name: str,
    condition: str,
    assumes: str,
    built: Callable[[], Any],
    judged: Callable[[Any], tuple[Verdict, str]],
    claims: frozenset[Claim],
) -> PricedAssumption:
    try:
        model = built()
    except BayesDPError as error:
        return PricedAssumption(name, condition, assumes, NoVerdict.NOT_POSSIBLE, str(error), reason=str(error))
    verdict, shown = judged(model)
    return PricedAssumption(name, condition, assumes, verdict, shown, model, claims=claims)


def _memory_verdict(evidence: ChainEvidence, memory: int) -> tuple[Verdict, str]:
    """Return the verdict on one more record of memory, with a sentence."""
    test = evidence.more(memory)
    earlier = f"the record before the last {'one' if memory == 1 else NUMBERS[memory]}" if memory else "the last record"
    if test is None:
        return Verdict.NOT_TESTED, f"Whether {earlier} matters was not tested."
    matters = f"But {earlier} also matters" if memory else "Records depend on the one before"
    return _sentence(test, matters, f"an effect of {earlier}")


def _exceeded(evidence: ChainEvidence, model: OddsChain) -> tuple[Verdict, str]:
    """Test whether the odds ratio of some stratum is larger than the bound for all of them.

    The largest of many estimates is large by chance, so each stratum is tested, with Bonferroni's correction.
    """
    tables = tuple(stratum.counts for stratum in merged(evidence.first.strata))
    drawn = np.concatenate([alone for _, alone in largest_log_odds(tables, _DRAWN, np.random.default_rng(_SEED))])
    above = (drawn.mean(axis=0) - model.log_odds) / drawn.std(axis=0)
    p_value = min(1.0, len(tables) * math.erfc(float(above.max()) / math.sqrt(2)) / 2)
    stratum = " and ".join(evidence.within)
    verdict = judge(p_value, True)
    if verdict == Verdict.FINE:
        return verdict, f"No {stratum} was found to have a larger one."
    return verdict, f"Some {stratum} has a larger one: {shown_p(p_value)}."


def _by_strata(evidence: ChainEvidence, memory: int) -> tuple[Verdict, str]:
    """Test whether the probabilities after the same last records differ between strata."""
    counts = np.array([stratum.counts for stratum in evidence.counted[memory].strata])
    tables = counts.reshape(len(counts), -1, counts.shape[-1]).swapaxes(0, 1)
    stratum, test = " and ".join(evidence.within), in_common(tables)
    return _sentence(test, f"The probabilities depend on the {stratum}", f"an effect of the {stratum}")


def _sentence(test: Remembered, violated: str, effect: str) -> tuple[Verdict, str]:
    shown = {
        Verdict.VIOLATED: violated,
        Verdict.DOUBTFUL: f"There is {effect}, significant but {test.uncertain}",
        Verdict.FINE: f"The test did not find {effect}",
        Verdict.NOT_TESTED: f"There are too few records to find {effect}",
    }[test.verdict]
    return test.verdict, f"{shown}: {test.figure}."


def _stratified(
    table: LazyTable, subject: str, layout: ChainLayout, missing: Missing, within: Sequence[str] | None
) -> tuple[tuple[str, ...], Transitions]:
    """Count transitions by the given strata, or by the first clock of the order, or without strata."""
    for name in SHOWN if within is None else ():
        try:
            counted = transitions(table, subject, layout, missing, within=(name,))
        except FrameError as error:
            if type(error) is not FrameError:
                raise  # the records are wrong, not the clock
            continue
        if len(counted.strata) > 1:
            return (name,), counted
    chosen = tuple(within or ())
    return chosen, transitions(table, subject, layout, missing, within=chosen)


def _strata(counted: Transitions) -> tuple[Stratum, ...]:
    return counted.strata or (Stratum(((),), counted.counts),)


def _shortened(counted: Transitions) -> Transitions:
    """Return runs of records without their oldest one."""

    def sums(counts: Any) -> Any:
        return tuples(np.array(counts).sum(axis=0).tolist())

    strata = tuple(replace(stratum, counts=sums(stratum.counts)) for stratum in counted.strata)
    return replace(counted, counts=sums(counted.counts), strata=strata)


def _chain(
    counted: Transitions, subject: str, layout: ChainLayout, record: str, memory: int, first: Transitions | None = None
) -> tuple[MarkovChain | None, str]:
    """Return the chain of these counts, or the reason for none; if some count is 0, half a transition is added."""
    whole = counted if first is None else first
    try:
        return MarkovChain.from_counts(
            counted.counts,
            memory=memory,
            states=counted.states,
            length=whole.longest,
            gaps=whole.gaps,
            smoothing=0.0 if np.min(counted.counts) > 0 else 0.5,
            record=record,
            layout=layout,
            column=None if counted.condition else subject,
            state=subject if counted.condition else None,
        ), ""
    except ModelError as error:
        return None, str(error)
