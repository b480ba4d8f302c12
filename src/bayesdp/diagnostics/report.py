"""From a test to a finding: the one rule that turns figures into verdicts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import ParamSpec

import numpy as np

from bayesdp.models.diagnosis import Finding, Verdict

__all__ = ["DOUBTFUL", "VIOLATED", "Outcome", "UntestableError", "by_construction", "check", "judge", "shown_p"]

DOUBTFUL = 0.01
"""A p-value below this is doubtful."""

VIOLATED = 0.001
"""A p-value below this is a violation if the deviation is large enough to matter, too."""

_SMALLEST_SHOWN = 1e-16
"""Below this, the digits of a p-value are those of rounding."""


def judge(p_value: float, large: bool, powerful: bool = True) -> Verdict:
    """Return the verdict on a p-value.

    large:    whether the deviation is big enough to matter.
    powerful: whether the test would have seen one that is; if not, seeing nothing tells nothing.

    >>> judge(0.2, True), judge(0.005, True), judge(1e-9, False), judge(1e-9, True), judge(0.2, False, False)
    ('fine', 'doubtful', 'doubtful', 'violated', 'not tested')
    """
    if p_value < VIOLATED and large:
        return Verdict.VIOLATED
    if p_value < DOUBTFUL:
        return Verdict.DOUBTFUL
    return Verdict.FINE if powerful else Verdict.NOT_TESTED


def shown_p(p_value: float) -> str:
    """Write a p-value; one too small to mean its digits is written as a bound, never as 0.

    >>> shown_p(0.0312), shown_p(0.0)
    ('p = 0.031', 'p < 1e-16')
    """
    return f"p = {p_value:.2g}" if p_value >= _SMALLEST_SHOWN else "p < 1e-16"


@dataclass(frozen=True)
class Outcome:
    """What a check returns: a finding without its name."""

    verdict: Verdict
    figure: str
    meaning: str
    advice: str = ""
    values: Mapping[str, float] = field(default_factory=dict)
    word: str = ""


def by_construction(meaning: str) -> Outcome:
    """Return the outcome of what cannot be otherwise: no test, but nothing is left open either."""
    return Outcome(Verdict.FINE, "", meaning, word="by construction")


class UntestableError(Exception):
    """Raised by a check that has nothing to go on: why, and what to do about it."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason)
        self.advice = advice


P = ParamSpec("P")


def check(name: str, tested: str) -> Callable[[Callable[P, Outcome]], Callable[P, Finding]]:
    """Make a function of an Outcome one of a Finding that always returns, quietly.

    What cannot be tested, or comes to figures that are not finite, becomes "not tested" with the reason.
    """

    def decorate(function: Callable[P, Outcome]) -> Callable[P, Finding]:
        @wraps(function)
        def examined(*args: P.args, **kwargs: P.kwargs) -> Finding:
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    outcome = function(*args, **kwargs)
            except UntestableError as reason:
                return Finding(name, tested, "", Verdict.NOT_TESTED, str(reason), reason.advice)
            if not all(map(math.isfinite, outcome.values.values())):
                return Finding(name, tested, "", Verdict.NOT_TESTED, "The figures are beyond the range of floats.", "")
            return Finding(
                name,
                tested,
                outcome.figure,
                outcome.verdict,
                outcome.meaning,
                outcome.advice,
                outcome.values,
                outcome.word,
            )

        return examined

    return decorate
