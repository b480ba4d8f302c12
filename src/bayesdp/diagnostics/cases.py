"""Several tests of one kind, of each role or of each state, that come to one finding."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bayesdp.diagnostics.power import Power
from bayesdp.diagnostics.report import DOUBTFUL, Outcome, judge, shown_p
from bayesdp.models.diagnosis import Verdict, worst

__all__ = ["SingleTest", "holm", "judged"]

_SHOWN = 3
"""So many cases are printed, those with the smallest p; more would bury the verdict."""


@dataclass(frozen=True)
class SingleTest:
    """One of several tests of a kind: of one role, of one pair of roles, of one state.

    effect: the size of the deviation, in words; large: whether it matters.
    power:  of the test at a given level.
    """

    name: str
    statistic: str
    p_value: float
    effect: str
    large: bool
    values: Mapping[str, float]
    power: Callable[[float], Power]


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number by Holm's method.

    >>> holm([0.04, 0.01, 0.5])
    [0.08, 0.03, 0.5]
    """
    corrected, least = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min((len(p_values) - rank) * p_values[index], 1.0))
        corrected[index] = least
    return corrected


def judged(
    cases: Sequence[SingleTest], fine: str, flagged: str, advice: str, also: str = "", untested: Sequence[str] = ()
) -> Outcome:
    """Correct the p-values for the number of cases; the verdict is the worst, the figure names it.

    Power is that at the level of Bonferroni's correction, which is the most that Holm's asks for.

    untested: the names of what had too few values for a test; then the finding is not fine.
    """
    p_values = holm([case.p_value for case in cases])
    powers = [case.power(DOUBTFUL / len(cases)) for case in cases]
    verdicts = [judge(p, case.large, power.enough) for case, p, power in zip(cases, p_values, powers, strict=True)]
    verdict = worst(*verdicts, Verdict.NOT_TESTED) if untested else worst(*verdicts)
    order = sorted(range(len(cases)), key=p_values.__getitem__)
    texts = [f"{cases[i].name}: {cases[i].statistic}, {shown_p(p_values[i])}, {cases[i].effect}" for i in order]
    hidden = f"; {len(texts) - _SHOWN} more with larger p" if len(texts) > _SHOWN else ""
    left_out = f"; too few or constant: {', '.join(untested)}" if untested else ""
    weakest = min(powers, key=lambda power: power.chance)
    values = {"p_value": min(p_values), "power": weakest.chance}
    for case, p, power in zip(cases, p_values, powers, strict=True):
        values |= {
            f"{case.name}: {key}": value for key, value in {"p_value": p, "power": power.chance, **case.values}.items()
        }
    figure = "; ".join(texts[:_SHOWN]) + hidden + left_out + also + f"; power {weakest.chance:.2f}"
    if verdict == Verdict.FINE:
        return Outcome(verdict, figure, fine, values=values)
    if verdict == Verdict.NOT_TESTED:
        weak = [power for p, power in zip(p_values, powers, strict=True) if p >= DOUBTFUL and not power.enough]
        reason = (
            str(max(weak, key=lambda power: power.needed or math.inf))
            if weak
            else f"Too few values, or all equal: {', '.join(untested)}."
        )
        return Outcome(verdict, figure, reason, values=values)
    if verdict == Verdict.DOUBTFUL:
        flagged += " The deviation is significant, but small or not certain."
    return Outcome(verdict, figure, flagged, advice, values)
