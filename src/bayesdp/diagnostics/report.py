"""From tests to findings: one rule turns figures into verdicts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

import numpy as np

from bayesdp.models.diagnosis import Finding, Verdict, worst

if TYPE_CHECKING:
    from bayesdp.diagnostics.power import Power

__all__ = [
    "DOUBTFUL",
    "VIOLATED",
    "Outcome",
    "SingleTest",
    "UntestableError",
    "by_construction",
    "check",
    "holm",
    "judge",
    "judged",
    "on_degrees",
    "shown_p",
]

DOUBTFUL = 0.01
"""A p-value below this is doubtful."""

VIOLATED = 0.001
"""A p-value below this is a violation if the deviation is also large enough to matter."""

_SMALLEST_SHOWN = 1e-16
"""Below this, the digits of a p-value are rounding errors."""

_PRINTED = 3
"""How many tests of a kind are printed, those with the smallest p first."""

_SMALL = " The deviation is significant, but small or not certain."

P = ParamSpec("P")


def judge(p_value: float, large: bool, powerful: bool = True) -> Verdict:
    """Return the verdict on a p-value.

    large:    whether the deviation is large enough to matter.
    powerful: whether the test would have found such a deviation; if not, finding none means nothing.

    >>> judge(0.2, True), judge(0.005, True), judge(1e-9, False), judge(1e-9, True), judge(0.2, False, False)
    ('fine', 'doubtful', 'doubtful', 'violated', 'not tested')
    """
    if p_value < VIOLATED and large:
        return Verdict.VIOLATED
    if p_value < DOUBTFUL:
        return Verdict.DOUBTFUL
    return Verdict.FINE if powerful else Verdict.NOT_TESTED


def shown_p(p_value: float) -> str:
    """Write a p-value; one below the rounding error is written as a bound, never as 0.

    >>> shown_p(0.0312), shown_p(0.0)
    ('p = 0.031', 'p < 1e-16')
    """
    return f"p = {p_value:.2g}" if p_value >= _SMALLEST_SHOWN else "p < 1e-16"


def on_degrees(freedom: int) -> str:
    """Write the degrees of freedom of a statistic.

    >>> on_degrees(1), on_degrees(4)
    ('on 1 degree of freedom', 'on 4 degrees of freedom')
    """
    return f"on {freedom} degree{'s' if freedom > 1 else ''} of freedom"


@dataclass(frozen=True)
class Outcome:
    """What a check returns: a finding without its name."""

    verdict: Verdict
    figure: str
    meaning: str
    advice: str = ""
    values: Mapping[str, float] = field(default_factory=dict)
    word: str = ""

    @classmethod
    def of(
        cls,
        verdict: Verdict,
        figure: str,
        values: Mapping[str, float],
        *,
        fine: str,
        flagged: str,
        advice: str,
        untested: str,
        small: str = _SMALL,
    ) -> Outcome:
        """Return the outcome with the meaning that belongs to its verdict; `small` is added if it is doubtful."""
        if verdict == Verdict.FINE:
            return cls(verdict, figure, fine, values=values)
        if verdict == Verdict.NOT_TESTED:
            return cls(verdict, figure, untested, values=values)
        return cls(verdict, figure, flagged + (small if verdict == Verdict.DOUBTFUL else ""), advice, values)


def by_construction(meaning: str) -> Outcome:
    """Return the outcome of an assumption that holds without a test."""
    return Outcome(Verdict.FINE, "", meaning, word="by construction")


class UntestableError(Exception):
    """Raised by a check that has too little to test: the reason, and what to do about it."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason)
        self.advice = advice


def check(name: str, tested: str) -> Callable[[Callable[P, Outcome]], Callable[P, Finding]]:
    """Turn a function that returns an Outcome into one that always returns a Finding, without warnings.

    If the function raises UntestableError, or its figures are not finite, the finding is "not tested", with the reason.
    """

    def decorate(function: Callable[P, Outcome]) -> Callable[P, Finding]:
        @wraps(function)
        def examined(*args: P.args, **kwargs: P.kwargs) -> Finding:
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    outcome = function(*args, **kwargs)
            except UntestableError as reason:
                outcome = Outcome(Verdict.NOT_TESTED, "", str(reason), reason.advice)
            if not all(map(math.isfinite, outcome.values.values())):
                outcome = Outcome(Verdict.NOT_TESTED, "", "The figures are beyond the range of floats.")
            return Finding(name, tested, **vars(outcome))

        return examined

    return decorate


@dataclass(frozen=True)
class SingleTest:
    """One of several tests of a kind: of one role, of one pair of roles, of one state.

    effect: the size of the deviation, in words; large: whether it matters.
    """

    name: str
    statistic: str
    p_value: float
    effect: str
    large: bool
    values: Mapping[str, float]
    power: Power


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
    tests: Sequence[SingleTest], fine: str, flagged: str, advice: str, also: str = "", untested: Sequence[str] = ()
) -> Outcome:
    """Combine tests, with Holm's correction for their number; the outcome has the worst verdict.

    Power is computed at the level of Bonferroni's correction, the strictest that Holm's uses.

    untested: the names of what had too few values for a test; the outcome is then not fine.
    """
    p_values = holm([test.p_value for test in tests])
    powers = [replace(test.power, level=DOUBTFUL / len(tests)) for test in tests]
    verdicts = [judge(p, test.large, power.enough) for test, p, power in zip(tests, p_values, powers, strict=True)]
    order = sorted(range(len(tests)), key=p_values.__getitem__)
    texts = [f"{tests[i].name}: {tests[i].statistic}, {shown_p(p_values[i])}, {tests[i].effect}" for i in order]
    hidden = f"; {len(texts) - _PRINTED} more with larger p" if len(texts) > _PRINTED else ""
    left_out = f"; too few or constant: {', '.join(untested)}" if untested else ""
    weakest = min(powers, key=lambda power: power.chance)
    values = {"p_value": min(p_values), "power": weakest.chance}
    for test, p, power in zip(tests, p_values, powers, strict=True):
        figures = {"p_value": p, "power": power.chance, **test.values}
        values |= {f"{test.name}: {key}": value for key, value in figures.items()}
    weak = [power for p, power in zip(p_values, powers, strict=True) if p >= DOUBTFUL and not power.enough]
    return Outcome.of(
        worst(*verdicts, *([Verdict.NOT_TESTED] if untested else [])),
        "; ".join(texts[:_PRINTED]) + hidden + left_out + also + f"; power {weakest.chance:.2f}",
        values,
        fine=fine,
        flagged=flagged,
        advice=advice,
        untested=str(max(weak, key=lambda power: power.needed or math.inf))
        if weak
        else f"Too few values, or all equal: {', '.join(untested)}.",
    )
