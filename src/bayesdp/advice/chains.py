"""The ladder of a column of states in an order: independent, chain, bounded odds, longer memory, arbitrary groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesdp.advice.priced_assumption import Judgement, NoVerdict, PricedAssumption, diagnosed
from bayesdp.diagnostics.remembered import Remembered, in_common, one_record_more
from bayesdp.diagnostics.report import UntestableError, judge, shown_p
from bayesdp.errors import BayesDPError, FrameError, ModelError
from bayesdp.frames.source import LazyTable, Missing
from bayesdp.frames.spacing import spaced
from bayesdp.frames.transitions import Transitions, transitions
from bayesdp.models import ArbitraryGroups, ChainLayout, Independent, MarkovChain, OddsChain
from bayesdp.models.diagnosis import Diagnosis, Verdict, worst
from bayesdp.models.memory import tuples
from bayesdp.models.strata import SPARSE, Stratum, largest_log_odds, merged
from bayesdp.rounding import shown_above

__all__ = ["STEPS", "ChainEvidence", "priced_chain_assumptions"]

STEPS = 4
"""How many times the table is read, for a progress bar."""

LONGEST = 3
"""The longest memory for which there are rungs."""

_CLOCKS = ("hour", "weekday", "month")
"""By what transitions may differ, if nothing else is said: the first that the order tells."""

_MOST_RUNS = 2**17
"""So many kinds of runs are counted: longer runs of few states, shorter ones of many."""

_DRAWN = 1000
"""Draws that tell how certain the odds ratios of strata are."""

_SEED = 13

_NUMBERS = {2: "two", 3: "three"}


@dataclass(frozen=True)
class ChainEvidence:
    """What the rungs need to know of a table.

    counted: transitions by how many records they remember, with strata if there are any.
    runs:    for each stratum, how often records followed one another, as far back as was counted.
    within:  what makes the strata.
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
        """Count what is needed, in a few scans of the table; the step is the one that the table shows."""
        layout = spaced(table, subject, layout)
        strata, first = _stratified(table, subject, layout, missing, within)
        done(1)
        states = len(first.states)
        kinds = max(len(first.strata), 1)
        longest = max((k for k in (2, 3, 4) if kinds * float(states) ** (k + 1) <= _MOST_RUNS), default=1)
        counted = {1: first}
        for memory in {2, longest} & set(range(2, longest + 1)):
            counted[memory] = transitions(table, subject, layout, missing, memory=memory, within=strata)
            done(1)
        runs = tuple(stratum.counts for stratum in _strata(counted[longest]))
        if longest == LONGEST + 1:  # what starts a run of four is dropped: no more than the first record of a chain
            counted[LONGEST] = _shortened(counted[longest])
            del counted[longest]
        chain, broken = _chain(first, subject, layout, record, 1)
        diagnosis = None if chain is None else chain.diagnose(table)
        done(STEPS)
        return cls(subject, layout, record, strata, counted, runs, chain, broken, diagnosis, credibility)

    @property
    def first(self) -> Transitions:
        """The transitions from one record to the next."""
        return self.counted[1]

    def more(self, memory: int) -> Remembered | None:
        """Whether the record before the last `memory` ones matters; None if that was not counted."""
        try:
            return one_record_more(self.runs, memory)
        except UntestableError:
            return None

    @property
    def memory(self) -> tuple[int, bool]:
        """How many records matter at least, and whether that is all that the table shows."""
        shown = 1
        while (one_more := self.more(shown)) is not None:
            if one_more.verdict != Verdict.VIOLATED:
                return shown, True
            shown += 1
        return shown, False

    def described(self) -> dict[str, Any]:
        """Return what every model of these chains says of its place."""
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
    """Yield the rungs, from the strongest assumption to the weakest."""
    yield _independent(evidence)
    yield _homogeneous(evidence)
    yield _odds(evidence)
    if evidence.several(1):
        yield _odds_within(evidence, 1)
    for memory in range(2, LONGEST + 1):
        shown, _ = evidence.memory
        if memory in evidence.counted and (memory == 2 or shown >= memory):
            yield _remembering(evidence, memory)
            yield _odds_within(evidence, memory)
    yield _arbitrary(evidence)


def _independent(evidence: ChainEvidence) -> PricedAssumption:
    verdict = Verdict.NOT_TESTED
    shown = "Whether records depend on one another was not tested."
    for finding in () if evidence.diagnosis is None else evidence.diagnosis.findings:
        if finding.name == "dependence":
            verdict = {"present": Verdict.VIOLATED, "not seen": Verdict.FINE}.get(finding.word, Verdict.NOT_TESTED)
            said = {
                Verdict.VIOLATED: "One record says something about the next",
                Verdict.FINE: "No dependence was seen",
                Verdict.NOT_TESTED: "There are too few records to tell",
            }[verdict]
            shown = f"{said}: {finding.figure.partition(';')[0]}."
    return PricedAssumption(
        "independent", "records are independent", "No record says anything about another.", verdict, shown,
        Independent(column=evidence.subject, record=evidence.record),
    )  # fmt: skip


def _homogeneous(evidence: ChainEvidence) -> PricedAssumption:
    assumes = "The next record depends on the last one only, with the same probabilities at all times."
    name, condition = "chain", "records follow a chain"
    if evidence.chain is None or evidence.diagnosis is None:
        return PricedAssumption(
            name, condition, assumes, NoVerdict.NOT_POSSIBLE, evidence.broken, reason=evidence.broken
        )
    diagnosis = evidence.diagnosis
    model = evidence.chain.with_diagnosis(diagnosis)
    return PricedAssumption(name, condition, assumes, diagnosis.verdict, diagnosed(diagnosis), model)


def _odds(evidence: ChainEvidence) -> PricedAssumption:
    name, condition = "bounded odds", "the probabilities change with time"
    assumes = (
        "The next record depends on the last one only; how likely it is may change with time, but how much one record "
        "says about the next has one limit for all times."
    )

    def judged(model: OddsChain) -> tuple[Verdict, str]:
        verdict, shown = _memory_verdict(evidence, 1)
        if evidence.several(1):
            over, more = _exceeded(evidence, model)
            verdict, shown = worst(verdict, over), f"{shown} {more}".strip()
        return verdict, f"An odds ratio of at most {shown_above(model.odds, 3)}. {shown}"

    return _assumption(name, condition, assumes, lambda: evidence.odds(1, stratified=False), judged)


def _odds_within(evidence: ChainEvidence, memory: int) -> PricedAssumption:
    stratum = " and ".join(evidence.within)
    apart = evidence.several(memory)
    where = f" within each {stratum}" if apart else ""
    may = f", and may differ from {stratum} to {stratum}" if apart else ""
    if memory == 1:
        name, condition = f"bounded odds{where}", f"the odds ratio changes with the {stratum}"
        assumes = "The next record depends on the last one only; how much one record says about the next has a limit"
    else:
        name = f"bounded odds, memory of {_NUMBERS[memory]}{where}"
        condition = f"what matters is the last {_NUMBERS[memory]} records, whose probabilities change with time"
        assumes = f"Only the last {_NUMBERS[memory]} records matter for the next ones; how much they say has a limit"

    def judged(model: OddsChain) -> tuple[Verdict, str]:
        verdict, shown = _memory_verdict(evidence, memory)
        strata = evidence.counted[memory].strata
        sparse = sum(stratum.least < SPARSE for stratum in strata)
        joined = f" Sparse strata were merged, {sparse} of {len(strata)}." if sparse else ""
        return verdict, f"An odds ratio of at most {shown_above(model.odds, 3)}. {shown}{joined}"

    return _assumption(name, condition, f"{assumes}{may}.", lambda: evidence.odds(memory, stratified=apart), judged)


def _remembering(evidence: ChainEvidence, memory: int) -> PricedAssumption:
    name = f"chain with a memory of {_NUMBERS[memory]}"
    condition = f"what matters is the last {_NUMBERS[memory]} records"
    assumes = f"The next record depends on the last {_NUMBERS[memory]} only, with the same probabilities at all times."

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

    return _assumption(name, condition, assumes, built, judged)


def _arbitrary(evidence: ChainEvidence) -> PricedAssumption:
    entity = " and ".join(evidence.layout.entity)
    name, condition = "arbitrary groups", f"anything may happen within one {entity or 'entity'}"
    if not evidence.layout.entity:
        reason = "All records are one chain: then no useful answer can be protected against everything. Name entities."
        assumes = "Entities are independent of one another; inside one anything may happen."
        return PricedAssumption(name, condition, assumes, NoVerdict.NOT_POSSIBLE, reason, reason=reason)
    assumes = f"One {entity} is independent of another; inside one anything may happen."
    verdict: Judgement = NoVerdict.NOT_DENIED
    shown = f"No {entity} has more than {evidence.first.longest:,} records."
    for finding in () if evidence.diagnosis is None else evidence.diagnosis.findings:
        if finding.name == "independent entities" and finding.verdict in (Verdict.VIOLATED, Verdict.DOUBTFUL):
            verdict, shown = finding.verdict, f"{finding.meaning} {finding.figure}."
    model = ArbitraryGroups(evidence.first.longest, group=evidence.layout.entity, record=evidence.record)
    return PricedAssumption(name, condition, assumes, verdict, shown, model)


def _assumption(
    name: str,
    condition: str,
    assumes: str,
    built: Callable[[], Any],
    judged: Callable[[Any], tuple[Verdict, str]],
) -> PricedAssumption:
    try:
        model = built()
    except BayesDPError as error:
        return PricedAssumption(name, condition, assumes, NoVerdict.NOT_POSSIBLE, str(error), reason=str(error))
    verdict, shown = judged(model)
    return PricedAssumption(name, condition, assumes, verdict, shown, model)


def _memory_verdict(evidence: ChainEvidence, memory: int) -> tuple[Verdict, str]:
    """Return whether one record more matters, and that as a sentence."""
    test = evidence.more(memory)
    earlier = f"the record before the last {'one' if memory == 1 else _NUMBERS[memory]}"
    if test is None:
        return Verdict.NOT_TESTED, f"Whether {earlier} matters was not tested."
    matters = {
        Verdict.VIOLATED: f"But {earlier} matters, too",
        Verdict.DOUBTFUL: f"That {earlier} matters is significant, but small or not certain",
        Verdict.FINE: f"That {earlier} matters was not seen",
        Verdict.NOT_TESTED: f"There are too few records to tell whether {earlier} matters",
    }[test.verdict]
    return test.verdict, f"{matters}: {test.figure}."


def _exceeded(evidence: ChainEvidence, model: OddsChain) -> tuple[Verdict, str]:
    """Return whether the odds ratio of some stratum is certainly larger than one for all of them.

    The largest of many estimates is large by chance, so each stratum is looked at by itself, and the smallest of the
    probabilities counts as often as there are strata.
    """
    tables = tuple(stratum.counts for stratum in merged(evidence.first.strata))
    drawn = np.concatenate([alone for _, alone in largest_log_odds(tables, _DRAWN, np.random.default_rng(_SEED))])
    above = (drawn.mean(axis=0) - model.log_odds) / drawn.std(axis=0)
    p_value = min(1.0, len(tables) * math.erfc(float(above.max()) / math.sqrt(2)) / 2)
    stratum = " and ".join(evidence.within)
    verdict = judge(p_value, True)
    if verdict == Verdict.FINE:
        return verdict, f"That some {stratum} has a larger one was not seen."
    return verdict, f"Some {stratum} has a larger one: {shown_p(p_value)}."


def _by_strata(evidence: ChainEvidence, memory: int) -> tuple[Verdict, str]:
    """Return whether the probabilities after the same last records differ between strata."""
    counts = np.array([stratum.counts for stratum in evidence.counted[memory].strata])
    tables = counts.reshape(len(counts), -1, counts.shape[-1]).swapaxes(0, 1)
    stratum, test = " and ".join(evidence.within), in_common(tables)
    matters = {
        Verdict.VIOLATED: f"The probabilities depend on the {stratum}",
        Verdict.DOUBTFUL: f"That the probabilities depend on the {stratum} is significant, but small or not certain",
        Verdict.FINE: f"That the probabilities depend on the {stratum} was not seen",
        Verdict.NOT_TESTED: f"There are too few records to tell whether the {stratum} matters",
    }[test.verdict]
    return test.verdict, f"{matters}: {test.figure}."


def _stratified(
    table: LazyTable, subject: str, layout: ChainLayout, missing: Missing, within: Sequence[str] | None
) -> tuple[tuple[str, ...], Transitions]:
    """Count transitions by the strata asked for, or by the first clock that the order tells, or by none."""
    for name in _CLOCKS if within is None else ():
        try:
            counted = transitions(table, subject, layout, missing, within=(name,))
        except FrameError as error:
            if type(error) is not FrameError:
                raise  # something is wrong with the records, not with the clock
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
    counted: Transitions,
    subject: str,
    layout: ChainLayout,
    record: str,
    memory: int,
    first: Transitions | None = None,
) -> tuple[MarkovChain | None, str]:
    """Return the chain of these counts, or why there is none; half a transition is added where some were never seen."""
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
