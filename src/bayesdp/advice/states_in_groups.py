"""Assumptions for a column of states in groups without an order, such as an illness in households."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bayesdp.advice.priced_assumption import PricedAssumption, groups_assumption, independent_assumption
from bayesdp.diagnostics.report import DOUBTFUL, judge, shown_p
from bayesdp.frames.group_pairs import GroupPairs
from bayesdp.models.diagnosis import Verdict

__all__ = ["alike", "priced_group_assumptions"]

_MATTERS = 0.1
"""A correlation this large matters."""

_POWER_AT = 2.576 + 0.842
"""The standard errors at which the test at level 0.01 has a power of 0.8."""

_MOST_STATES = 20
"""The test covers at most this many states, the most frequent ones."""


def priced_group_assumptions(
    pairs: GroupPairs, subject: str, group: Sequence[str], record: str
) -> Iterator[PricedAssumption]:
    """Yield the assumptions, from the strongest to the weakest."""
    verdict, shown = alike(pairs)
    yield independent_assumption(verdict, shown, subject, record)
    yield groups_assumption(group, "group", max(pairs.sizes), record, None)


def alike(pairs: GroupPairs) -> tuple[Verdict, str]:
    """Test whether two records of one group have the same state more often, or less, than two of any groups.

    The number of such pairs is compared with its mean and variance if the states were shuffled between all records.

    >>> alike(GroupPairs({2: 400}, {"ill": (200, 100), "well": (600, 500)}))
    ('violated', 'Two records of one group are alike: a correlation of 0.335, p = 4.4e-11.')
    """
    frequent = sorted(pairs.states.values(), reverse=True)[:_MOST_STATES]
    tests = [test for records, together in frequent if (test := _shuffled(pairs, records, together)) is not None]
    if not tests:
        return Verdict.NOT_TESTED, "There are too few groups of several records, or only one state."
    correlation, errors, visible = max(tests, key=lambda test: abs(test[1]))
    p_value = min(1.0, len(tests) * math.erfc(abs(errors) / math.sqrt(2)))
    verdict = judge(p_value, abs(correlation) >= _MATTERS, visible >= _POWER_AT)
    seen = ("are alike" if correlation > 0 else "differ") if p_value < DOUBTFUL else "were not found to be alike"
    return verdict, f"Two records of one group {seen}: a correlation of {correlation:.3g}, {shown_p(p_value)}."


def _shuffled(pairs: GroupPairs, records: int, together: int) -> tuple[float, float, float] | None:
    """Return the correlation of a state within groups, and it and one that matters in standard errors.

    Of all ordered pairs of pairs of one group, 2·P are the same pair, 4·T share one record, and the others share none.
    """
    number, paired, shared = pairs.tuples(1), pairs.tuples(2), pairs.tuples(3)
    if not paired or records == number or number < 4:
        return None

    def chance(size: int) -> float:
        """Return the probability that `size` different records have the state."""
        return math.prod((records - i) / (number - i) for i in range(size))

    mean = paired * chance(2)
    apart = paired**2 - 2 * paired - 4 * shared
    variance = 2 * paired * chance(2) + 4 * shared * chance(3) + apart * chance(4) - mean**2
    if variance <= 0:
        return None
    share = records / number
    single, error = share * (1 - share), math.sqrt(variance)
    return (together - mean) / paired / single, (together - mean) / error, _MATTERS * paired * single / error
