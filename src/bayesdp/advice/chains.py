"""Assumptions for a column of states: independent, chain, bounded odds, longer memory, arbitrary groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesdp.advice.alternatives import NUMBERS
from bayesdp.advice.priced_assumption import NoVerdict, PricedAssumption, arbitrary_rung, diagnosed, independent_rung
from bayesdp.diagnostics.remembered import Remembered, in_common, one_record_more
from bayesdp.diagnostics.report import UntestableError, judge, shown_p
from bayesdp.errors import BayesDPError, FrameError, ModelError
from bayesdp.frames.clocks import SHOWN
from bayesdp.frames.source import LazyTable, Missing
from bayesdp.frames.spacing import spaced
from bayesdp.frames.transitions import Transitions, transitions
from bayesdp.models import ChainLayout, MarkovChain, OddsChain
from bayesdp.models.diagnosis import Diagnosis, Verdict, worst
from bayesdp.models.memory import tuples
from bayesdp.models.strata import SPARSE, Stratum, largest_log_odds, merged
from bayesdp.rounding import shown_above

__all__ = ["STEPS", "ChainEvidence", "priced_chain_assumptions"]

STEPS = 4
"""The number of scans of the table, for a progress bar."""

LONGEST = 3
"""The longest memory of an assumption."""

_MOST_RUNS = 2**17
"""The most different runs that are counted: longer runs of few states, shorter ones of many."""

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
    """Yield the assumptions, from the strongest to the weakest."""
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
            dependence = {
                Verdict.VIOLATED: "Records depend on the one before",
                Verdict.FINE: "The test found no dependence",
                Verdict.NOT_TESTED: "There are too few records to tell",
            }[verdict]
            shown = f"{dependence}: {finding.figure.partition(';')[0]}."
    return independent_rung(verdict, shown, evidence.subject, evidence.record)


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
        "The next record depends on the last one only; its probabilities may change with time, but the odds ratio "
        "between records has one bound for all times."
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

    return _assumption(name, condition, f"{assumes}{may}.", lambda: evidence.odds(memory, stratified=apart), judged)


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

    return _assumption(name, condition, assumes, built, judged)


def _arbitrary(evidence: ChainEvidence) -> PricedAssumption:
    entity, diagnosis = evidence.layout.entity, evidence.diagnosis
    return arbitrary_rung(entity, "chain", evidence.first.longest, evidence.record, diagnosis, "independent entities")


def _assumption(
    name: str, condition: str, assumes: str, built: Callable[[], Any], judged: Callable[[Any], tuple[Verdict, str]]
) -> PricedAssumption:
    try:
        model = built()
    except BayesDPError as error:
        return PricedAssumption(name, condition, assumes, NoVerdict.NOT_POSSIBLE, str(error), reason=str(error))
    verdict, shown = judged(model)
    return PricedAssumption(name, condition, assumes, verdict, shown, model)


def _memory_verdict(evidence: ChainEvidence, memory: int) -> tuple[Verdict, str]:
    """Return the verdict on one more record of memory, with a sentence."""
    test = evidence.more(memory)
    earlier = f"the record before the last {'one' if memory == 1 else NUMBERS[memory]}"
    if test is None:
        return Verdict.NOT_TESTED, f"Whether {earlier} matters was not tested."
    return _sentence(test, f"But {earlier} also matters", f"an effect of {earlier}")


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
        Verdict.DOUBTFUL: f"There is {effect}, significant but small or not certain",
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
