"""What assumptions claim, which claim implies which, and what that does to the verdicts of a table.

An assumption is a set of claims. It implies another one if its claims, with all that follows from them, include those
of the other. A test contradicts every assumption that implies what it tested.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bayesdp.models.diagnosis import Verdict, worst

if TYPE_CHECKING:
    from bayesdp.advice.priced_assumption import PricedAssumption

__all__ = [
    "ADDITIVE",
    "BY_CLOCK",
    "BY_DISTANCE",
    "IMPLIES",
    "INDEPENDENT",
    "MOMENTS",
    "MOST_REMEMBERED",
    "NORMAL",
    "ONE_ODDS",
    "SEPARATE",
    "STEADY",
    "Claim",
    "Evidence",
    "closure",
    "consistent",
    "implies",
    "memory",
]

Claim = str
"""A statement about the law of a table."""

MOST_REMEMBERED = 64
"""The longest memory that is claimed."""

INDEPENDENT = "no record reveals anything about another"
SEPARATE = "entities are independent of one another"
MOMENTS = "the records of one moment are independent of those of every other"
STEADY = "the probabilities are the same at all times and for all entities"
ONE_ODDS = "the odds ratio of neighbours has one limit for all times"
BY_DISTANCE = "given all other records, the odds ratio at each distance has one limit for all times"
BY_CLOCK = "given all other records, the odds ratio at each distance has a limit that may differ by a clock"
ADDITIVE = "the effects of earlier records on the log odds add up"
NORMAL = "the records are jointly normal"


def memory(records: int) -> Claim:
    """Return the claim that a record depends on this many earlier ones of its entity only.

    >>> memory(2)
    'a record depends on the last 2 of its entity only'
    """
    return f"a record depends on the last {records} of its entity only"


IMPLIES: Mapping[Claim, tuple[Claim, ...]] = {
    INDEPENDENT: (SEPARATE, MOMENTS, ADDITIVE, BY_DISTANCE),
    MOMENTS: (memory(0),),
    STEADY: (ONE_ODDS, BY_DISTANCE),
    BY_DISTANCE: (BY_CLOCK,),
    **{memory(records): (memory(records + 1),) for records in range(MOST_REMEMBERED)},
}
"""What follows from a claim directly; `closure` adds what follows from that."""


def closure(claims: Iterable[Claim]) -> frozenset[Claim]:
    """Return claims with everything that follows from them.

    >>> memory(3) in closure([INDEPENDENT]), STEADY in closure([INDEPENDENT])
    (True, False)
    """
    reached: set[Claim] = set()
    left = list(claims)
    while left:
        claim = left.pop()
        if claim not in reached:
            reached.add(claim)
            left += IMPLIES.get(claim, ())
    return frozenset(reached)


def implies(stronger: Collection[Claim], weaker: Collection[Claim]) -> bool:
    """Return whether claims imply all others; no claims imply nothing, and nothing implies them.

    >>> implies([memory(1), STEADY], [memory(2)]), implies([memory(2)], [memory(1)]), implies([memory(1)], [])
    (True, False, False)
    """
    return bool(weaker) and closure(stronger) >= frozenset(weaker)


@dataclass(frozen=True)
class Evidence:
    """The verdict of a table on claims that were tested together, and the evidence as a sentence."""

    claims: frozenset[Claim]
    verdict: Verdict
    shown: str


def consistent(assumptions: Sequence[PricedAssumption], tests: Sequence[Evidence]) -> tuple[PricedAssumption, ...]:
    """Return assumptions that are violated, or doubtful, if anything that follows from them is.

    Each inherits the tests of what it claims, and the verdicts on the assumptions that it implies.
    """
    tested = [
        _with(assumption, [test for test in tests if implies(assumption.claims, test.claims)])
        for assumption in assumptions
    ]
    return tuple(_with(assumption, _implied(assumption, tested)) for assumption in tested)


def _implied(assumption: PricedAssumption, others: Iterable[PricedAssumption]) -> Iterator[Evidence]:
    """Yield what is known of the assumptions that follow from one."""
    for other in others:
        if isinstance(other.verdict, Verdict) and implies(assumption.claims, other.claims):
            shown = f"What follows from it is {other.verdict}, too: {other.name}."
            yield Evidence(other.claims, other.verdict, shown)


def _with(assumption: PricedAssumption, tests: Iterable[Evidence]) -> PricedAssumption:
    """Return the assumption with the worst verdict of tests that contradict it or leave doubts, and what shows it."""
    for test in tests:
        own = assumption.verdict if isinstance(assumption.verdict, Verdict) else Verdict.FINE
        bad = test.verdict in (Verdict.VIOLATED, Verdict.DOUBTFUL)
        if assumption.model is not None and bad and worst(own, test.verdict) != own:
            shown = assumption.shown if test.shown in assumption.shown else f"{assumption.shown} {test.shown}"
            assumption = replace(assumption, verdict=test.verdict, shown=shown)
    return assumption
