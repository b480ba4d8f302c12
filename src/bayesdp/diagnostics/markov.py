"""Diagnosis of Markov chains: likelihood ratios of the chain against richer models."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bayesdp._support.validation import brief
from bayesdp._support.words import listed
from bayesdp.diagnostics.entities import begin_stationary, between_entities, independent_entities
from bayesdp.diagnostics.power import ENOUGH_POWER
from bayesdp.diagnostics.ratio import ENOUGH, LikelihoodRatio, Part, homogeneity
from bayesdp.diagnostics.report import DOUBTFUL, Outcome, UntestableError, by_construction, check
from bayesdp.diagnostics.samples import ChainStatistics
from bayesdp.errors import InvalidInputError
from bayesdp.models import MarkovChain
from bayesdp.models.diagnosis import Diagnosis, Finding, Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CLOCKS", "diagnose_chain"]

MOST_STATES = 50
"""The most states for which triples are counted."""

_RARE = 0.01
"""The probability at which a transition that the model calls impossible should have occurred in the data."""

_SAME = 1e-9
"""Counts within this distance of the expected ones are those the model was estimated from."""

CLOCKS = ("time of day", "weekday", "season")
"""The findings on clocks."""


def diagnose_chain(statistics: ChainStatistics, model: MarkovChain) -> Diagnosis:
    """Test what the Markov theorems assume: order, homogeneity, independent entities, gaps, the probabilities.

    An assumption that does not arise has no finding, such as equal entities where there is only one.

    The statistics must be in the order of the model's states; raises InvalidInputError for other states.

    >>> pairs = [[600, 200], [200, 200]]
    >>> statistics = ChainStatistics([0, 1], pairs, None, [pairs, pairs], None, 1, 1201)
    >>> diagnosis = diagnose_chain(statistics, MarkovChain([[0.75, 0.25], [0.5, 0.5]]))
    >>> diagnosis.verdict, diagnosis.findings[2].figure.partition(',')[0]
    ('not tested', 'G² = 0.0 (Pearson 0.0) on 2 degrees of freedom')
    """
    if tuple(statistics.states) != tuple(model.states):
        raise InvalidInputError(
            f"the statistics have the states {brief(list(statistics.states))}, the model has "
            f"{brief(list(model.states))}; give statistics with the states of the model, in its order"
        )
    entities = statistics.entities_total
    findings = tuple(_findings(statistics, model))
    return Diagnosis(
        model.assumption,
        findings,
        statistics.records,
        f"{statistics.records:,} records of {entities:,} {'entity' if entities == 1 else 'entities'}",
        tuple(_trusted(statistics, model, findings)),
    )


def _findings(statistics: ChainStatistics, model: MarkovChain) -> Iterator[Finding]:
    yield _dependence(statistics)
    yield _order(statistics)
    yield _over_time(statistics)
    for clock, counts in statistics.clocks.items():
        if counts.any(axis=(1, 2)).sum() > 1:
            yield _by_clock(clock, counts)
    if statistics.entities_total > 1:
        yield between_entities(statistics)
        yield independent_entities(statistics)
        if model.start == "stationary":
            yield from _tested(begin_stationary(statistics, model))
    yield _small_counts(statistics, model)
    yield _gaps(statistics, model)
    if statistics.before_gaps is not None and statistics.before_gaps.any():
        yield from _tested(_missing_at_random(statistics.before_gaps, statistics.counts.sum(axis=1)))
    if model.length is not None and statistics.longest is not None:
        yield _length(statistics.longest, model.length)
    yield _fit(statistics, model)


def _tested(finding: Finding) -> Iterator[Finding]:
    """Yield a finding that was tested; `_trusted` has a sentence for one that was not."""
    if finding.verdict != Verdict.NOT_TESTED:
        yield finding


def _trusted(statistics: ChainStatistics, model: MarkovChain, findings: Collection[Finding]) -> Iterator[str]:
    """Yield what the model assumes and this table cannot test."""
    entities, named = statistics.entities_total, {finding.name: finding for finding in findings}
    if entities > 1:
        yield "Entities are assumed to be independent of each other; the test covers only records at the same time."
        compared = int(named["same for all entities"].values.get("entities_compared", entities))
        if compared < entities:
            yield f"The {entities - compared:,} of {entities:,} entities that were not compared are like the others."
    if model.start == "stationary" and "start" not in named:
        yield (
            "The first record follows the stationary law: a single path cannot test its start."
            if entities == 1
            else "The first records follow the stationary law: there are too few entities to test it."
        )
    unread = [clock for clock in CLOCKS if clock not in statistics.clocks]
    if unread:
        yield f"The probabilities do not depend on the {listed(unread, 'or')}: {statistics.clockless}."
    if statistics.before_gaps is not None and statistics.before_gaps.any() and "missing at random" not in named:
        yield "Records are missing independently of their states: there are too few gaps to test it."
    if not model.gaps and not statistics.spaced:
        yield "No rows are absent: without a step, absent rows do not show."


@check(
    "dependence",
    "Does the next record depend on the last at all? (Order 0 against order 1: likelihood ratio of "
    "scipy.stats.chi2_contingency.)",
)
def _dependence(statistics: ChainStatistics) -> Outcome:
    ratio = homogeneity([statistics.counts], int(statistics.counts.sum()))
    if ratio.p_value < DOUBTFUL:
        meaning = "It does, so do not assume independent records. The chain accounts for this."
        return Outcome(Verdict.FINE, ratio.figure, meaning, values=ratio.values, word="present")
    if ratio.power.enough:
        meaning = (
            "A test with enough power found no dependence: a model of independent records may describe these data as "
            "well. The chain is safe."
        )
        return Outcome(Verdict.FINE, ratio.figure, meaning, values=ratio.values, word="not seen")
    advice = "Join states that are rare or similar. Do not assume independent records."
    return Outcome(Verdict.NOT_TESTED, ratio.figure, str(ratio.power), advice, ratio.values, "too sparse to tell")


@check(
    "order",
    "Does the next record also depend on the one before the last? (Order 1 against order 2: likelihood ratio of "
    "scipy.stats.chi2_contingency for each state in the middle, and BIC.)",
)
def _order(statistics: ChainStatistics) -> Outcome:
    if statistics.triples is None:
        raise UntestableError(
            f"Triples of consecutive records were not counted: the chain has more than {MOST_STATES} states.",
            "Join states that are rare or similar.",
        )
    size = int(statistics.triples.sum())
    second = homogeneity(statistics.triples.swapaxes(0, 1), size)
    orders = {0: 0.0, 1: 0.0, 2: second.bic}
    try:
        orders[0] = -homogeneity([statistics.triples.sum(axis=0)], size).bic
    except UntestableError:
        del orders[0]
    least = min(orders, key=orders.__getitem__)
    shown = ", ".join(f"{bic:+.1f} for order {order}" for order, bic in orders.items() if order != 1)
    outcome = second.outcome(
        "The next record depends on the last one only, as the Markov theorems assume.",
        "The next record depends on more than the last one. This model does not cover the leakage of an order-2 chain: "
        "an attacker who knows how records depend on the last two may learn more than the stated ε.",
        "Make states of two consecutive records (an order-2 chain is an order-1 chain of such pairs; the guarantee is "
        "then about a pair), or use arbitrary groups, which hold for every order.",
        f"; BIC against order 1: {shown}; order {least} has the least",
    )
    bics = {f"bic_order_{order}": bic for order, bic in orders.items()}
    return replace(outcome, values={**outcome.values, **bics, "least_bic_order": least})


@check(
    "same over time",
    "Are the transition probabilities the same in the first and second half of the time? (Likelihood ratio of "
    "scipy.stats.chi2_contingency for each current state.)",
)
def _over_time(statistics: ChainStatistics) -> Outcome:
    return homogeneity(statistics.halves.swapaxes(0, 1), int(statistics.halves.sum())).outcome(
        "The transition probabilities are the same at all times, as the Markov theorems assume.",
        "The transition probabilities change over time. The guarantee is computed for an average that may hold at no "
        "time; where records depend more strongly on each other, more leaks.",
        "Fit each period separately and combine them in an any-of model; this does not cover records close to a "
        "change.",
    )


def _by_clock(clock: str, counts: NDArray[np.int64]) -> Finding:
    """Test whether transition probabilities depend on the reading of a clock at the earlier record."""

    @check(
        clock,
        f"Are the transition probabilities the same whatever the {clock}? (Likelihood ratio of "
        "scipy.stats.chi2_contingency for each current state.)",
    )
    def examined() -> Outcome:
        return homogeneity(counts.swapaxes(0, 1), int(counts.sum())).outcome(
            f"The {clock} does not matter, as the Markov theorems assume.",
            f"The transition probabilities depend on the {clock}. The guarantee is computed for an average over it; "
            "an attacker who knows the times of records may learn more than the stated ε.",
            "Make the time a part of the state, or fit the records of each kind of time separately and combine the "
            "models in an any-of model; this does not cover records close to a change.",
            f"; {int(counts.any(axis=(1, 2)).sum())} strata",
        )

    return examined()


@check(
    "enough data",
    f"Is every possible transition expected at least {ENOUGH} times (Cochran's rule), and would an impossible one have "
    f"occurred if its probability were {_RARE:g}? (A count.)",
)
def _small_counts(statistics: ChainStatistics, model: MarkovChain) -> Outcome:
    left = statistics.counts.sum(axis=1)
    if not left.any():
        raise UntestableError("No transitions were counted.")
    possible = model.matrix > 0
    expected = left[:, None] * model.matrix
    few = possible & (expected < ENOUGH)
    visits = math.ceil(math.log(1 - ENOUGH_POWER) / math.log1p(-_RARE))
    unsure = ~possible & (left < visits)[:, None]
    rare = [state for state, times in zip(model.states, left, strict=True) if times < ENOUGH]
    values = {
        "expected_below_5": int(few.sum()),
        "possible_transitions": int(possible.sum()),
        "perhaps_possible": int(unsure.sum()),
        "never_seen": int((statistics.counts == 0).sum()),
        "rare_states": len(rare),
        "smallest_expected": float(expected[possible].min()),
    }
    figure = (
        f"{values['expected_below_5']} of {values['possible_transitions']} possible transitions are expected fewer "
        f"than {ENOUGH} times; {values['never_seen']} never occurred; {values['perhaps_possible']} that the model "
        "calls impossible have too few visits to tell" + (f"; rarely left: {brief(rare)}" if rare else "")
    )
    if not few.any() and not unsure.any():
        meaning = "The p-values here and the estimated probabilities rest on enough transitions."
        return Outcome(Verdict.FINE, figure, meaning, values=values)
    missing = max(
        ENOUGH / float(expected[few].min(initial=ENOUGH) or math.inf),
        visits / float(np.broadcast_to(left[:, None], unsure.shape)[unsure].min(initial=visits) or math.inf),
    )
    needed = f" About {math.ceil(missing * left.sum()):,} transitions are needed." if missing > 1 and left.all() else ""
    return Outcome(
        Verdict.NOT_TESTED,
        figure,
        "The p-values of the other findings are approximate, and probabilities estimated from so few transitions are "
        "uncertain: γ and how fast the chain forgets, hence ε, depend most on the smallest. A transition that never "
        f"occurred is impossible in a model estimated without smoothing, but may only be rare.{needed}",
        "Fit with a credibility or smoothing, or join rare states.",
        values,
    )


@check("gaps", "Are records missing inside the chains? (A count.)")
def _gaps(statistics: ChainStatistics, model: MarkovChain) -> Outcome:
    pairs = int(statistics.counts.sum())
    missing = max(statistics.records - statistics.entities_total - pairs, 0)
    values = {"transitions": pairs, "missing_transitions": missing}
    figure = f"{missing:,} of {missing + pairs:,} transitions between consecutive records are missing"
    if model.gaps:
        meaning = "The model has gaps: the theorems allow for any number of missing records in each."
    elif not missing:
        meaning = "Every record follows the one before directly, as the model assumes."
    else:
        return Outcome(
            Verdict.VIOLATED,
            figure,
            "The model assumes that no records are missing, so distances along the chain are counted too short: no "
            "theorem that depends on distances holds.",
            "Set gaps to true in the model.",
            values,
        )
    return Outcome(Verdict.FINE, figure, meaning, values=values)


@check(
    "missing at random",
    "Are records missing after some states more often than after others? (States before a gap against states before a "
    "record: likelihood ratio of scipy.stats.chi2_contingency.)",
)
def _missing_at_random(before_gaps: NDArray[np.int64], before_records: NDArray[np.int64]) -> Outcome:
    gaps, records = int(before_gaps.sum()), int(before_records.sum())
    size = max(gaps * records // (gaps + records), 1)  # the size of one sample that is as informative as the two
    return homogeneity([np.array([before_gaps, before_records])], size, "gaps").outcome(
        "Gaps do not depend on the state before them, so these gaps, which count as public, do not reveal it.",
        "Records are missing more often after some states than after others. The pattern of missing records counts as "
        "public, so the gaps reveal something about the records around them that no ε covers.",
        "Make missing a state of its own, or fill in these records: then the guarantee covers them.",
    )


@check("length", "Is no chain longer than the model allows? (A count.)")
def _length(longest: int, allowed: int) -> Outcome:
    figure = f"the longest chain has {longest:,} records, at most {allowed:,} allowed"
    values = {"longest": longest, "allowed": allowed}
    if longest <= allowed:
        return Outcome(Verdict.FINE, figure, "Chains are as short as the model assumes.", values=values)
    meaning = "Some chain is longer than the model allows, so the stated ε does not cover it."
    return Outcome(Verdict.VIOLATED, figure, meaning, "Raise the length, or leave it out to allow any length.", values)


@check(
    "probabilities",
    "Are the transitions those of the model's transition probabilities? (Goodness of fit by "
    "scipy.stats.power_divergence for each current state.)",
)
def _fit(statistics: ChainStatistics, model: MarkovChain) -> Outcome:
    counts = statistics.counts
    impossible = np.where(model.matrix > 0, 0, counts)
    if impossible.any():
        source, target = divmod(int(impossible.argmax()), len(impossible))
        seen = int(impossible.sum())
        return Outcome(
            Verdict.VIOLATED,
            f"{seen:,} transitions have probability 0 under the model, most often {model.states[source]!r} → "
            f"{model.states[target]!r} ({int(impossible.max()):,} times)",
            "Transitions occur that the model calls impossible: it is not the law of these data, so nothing is proven.",
            "Fit the model to these data, or give it smoothing.",
            {"impossible_transitions": seen},
        )
    left = counts.sum(axis=1, keepdims=True)
    if not left.any():
        raise UntestableError("No transitions were counted.")
    own = np.allclose(counts, left * model.matrix, rtol=_SAME, atol=_SAME)
    if own or (model.counts is not None and np.array_equal(model.counts, counts)):
        return by_construction("The probabilities were estimated from these transitions, so they agree.")

    def parts() -> Iterable[Part]:
        for row, law in zip(counts, model.matrix, strict=True):
            support = law > 0
            if row.any() and support.sum() > 1:
                observed = row[support][None]
                yield observed, observed.sum() * law[support][None], int(support.sum()) - 1

    return LikelihoodRatio.of(parts(), int(counts.sum())).outcome(
        "The transitions agree with the model's probabilities.",
        "The data have other transition probabilities than the model, so the stated ε does not hold for them.",
        "Fit the model to these data, or combine both in an any-of model.",
    )
