"""What a diagnosis says: one finding for each thing tested, and the one rule that turns figures into verdicts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Literal, ParamSpec, get_args

import numpy as np

from bayesdp.documents import Document
from bayesdp.errors import InvalidInputError
from bayesdp.tables import table
from bayesdp.validation import brief

__all__ = ["Diagnosis", "Finding", "Verdict"]

Verdict = Literal["not tested", "fine", "doubtful", "violated"]
"""From the least to the most alarming."""

DOUBTFUL = 0.01
"""A p-value below this is doubtful."""

VIOLATED = 0.001
"""A p-value below this is a violation if the deviation is large enough to matter, too."""

NOTES = (
    "A test can find a violation, but cannot prove an assumption: fine means that these data do not speak against it.",
    "This report was computed from the data without any noise. It is for those who may see the data; no guarantee "
    "covers it.",
)

_RANK = {verdict: rank for rank, verdict in enumerate(get_args(Verdict))}
_MARKS: Mapping[Verdict, str] = {"not tested": "–", "fine": "✓", "doubtful": "?", "violated": "✗"}
_SMALLEST_SHOWN = 1e-16


def judge(p_value: float, large: bool) -> Verdict:
    """Return the verdict on a p-value, `large` telling whether the deviation is big enough to matter.

    >>> judge(0.2, True), judge(0.005, True), judge(1e-9, False), judge(1e-9, True)
    ('fine', 'doubtful', 'doubtful', 'violated')
    """
    if p_value < VIOLATED and large:
        return "violated"
    return "doubtful" if p_value < DOUBTFUL else "fine"


def worst(*verdicts: Verdict) -> Verdict:
    """Return the most alarming verdict; what was not tested counts least."""
    return max(verdicts, key=_RANK.__getitem__, default="not tested")


def shown_p(p_value: float) -> str:
    """Write a p-value; one too small to mean its digits is written as a bound, never as 0.

    >>> shown_p(0.0312), shown_p(0.0)
    ('p = 0.031', 'p < 1e-16')
    """
    return f"p = {p_value:.2g}" if p_value >= _SMALLEST_SHOWN else "p < 1e-16"


@dataclass(frozen=True)
class Finding:
    """One assumption, tested.

    name:    the assumption in a word or two.
    tested:  what was asked of the data, and how.
    figure:  the statistic, its degrees of freedom, the p-value and the size of the deviation; empty if not tested.
    verdict: "fine", "doubtful", "violated" or "not tested".
    meaning: what that means for the guarantee; why nothing was tested, if nothing was.
    advice:  what to do; empty if nothing needs doing.
    values:  the figures as finite numbers.

    Raises InvalidInputError for another verdict and for values that are not finite.

    >>> print(Finding("order", "Is one record enough?", "p = 0.7", "fine", "It is.", ""))
    ✓ order: fine. Is one record enough? p = 0.7. It is.
    """

    name: str
    tested: str
    figure: str
    verdict: Verdict
    meaning: str
    advice: str
    values: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.verdict not in _RANK:
            raise InvalidInputError(f"a verdict is one of {', '.join(_RANK)}, not {brief(self.verdict)}")
        object.__setattr__(self, "values", {key: float(value) for key, value in self.values.items()})
        for key, value in self.values.items():
            if not math.isfinite(value):
                raise InvalidInputError(f"the value {key!r} of a finding must be finite, not {value}")

    def __str__(self) -> str:
        figure = f"{self.figure}." if self.figure else ""
        parts = [f"{_MARKS[self.verdict]} {self.name}: {self.verdict}.", self.tested, figure, self.meaning, self.advice]
        return " ".join(part for part in parts if part)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        return {
            "name": self.name,
            "verdict": self.verdict,
            "tested": self.tested,
            "figure": self.figure,
            "values": dict(self.values),
            "meaning": self.meaning,
            "advice": self.advice,
        }


@dataclass(frozen=True)
class Diagnosis(Document):
    """What the data say about a model. Prints as paragraphs; `table()` is the short form, `to_dict()` the JSON.

    assumption: the model's assumption, as the end of a sentence that begins "if".
    records:    how many records were looked at.
    basis:      the same in words, with the entities or groups they belong to.

    >>> fine = Finding("order", "Is one record enough?", "p = 0.7", "fine", "It is.", "")
    >>> diagnosis = Diagnosis("the records follow a chain", (fine,), 100, "100 records of 1 entity")
    >>> diagnosis.verdict
    'fine'
    >>> print(diagnosis.table())
    assumption  verdict  figure
    ----------  -------  -------
    order          fine  p = 0.7
    """

    assumption: str
    findings: tuple[Finding, ...]
    records: int
    basis: str

    @property
    def verdict(self) -> Verdict:
        """The most alarming verdict of all findings; "not tested" if nothing could be tested."""
        return worst(*(finding.verdict for finding in self.findings))

    def __str__(self) -> str:
        head = f"Assumed: {self.assumption}. Looked at: {self.basis}. Verdict: {self.verdict}."
        return "\n\n".join([head, *map(str, self.findings), " ".join(NOTES)])

    def table(self) -> str:
        """Return the verdicts as a text table, each with the first of its figures or the reason for none."""
        rows = [[each.name, each.verdict, each.figure.partition(";")[0] or each.meaning] for each in self.findings]
        return table(["assumption", "verdict", "figure"], rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp diagnose --json` prints."""
        return {
            "assumption": self.assumption,
            "records": self.records,
            "basis": self.basis,
            "verdict": self.verdict,
            "findings": [finding.to_dict() for finding in self.findings],
            "notes": list(NOTES),
        }


@dataclass(frozen=True)
class Outcome:
    """What a check returns: a finding without its name."""

    verdict: Verdict
    figure: str
    meaning: str
    advice: str = ""
    values: Mapping[str, float] = field(default_factory=dict)


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
                    found = function(*args, **kwargs)
            except UntestableError as reason:
                return Finding(name, tested, "", "not tested", str(reason), reason.advice)
            if not all(map(math.isfinite, found.values.values())):
                return Finding(name, tested, "", "not tested", "The figures are beyond the range of floats.", "")
            return Finding(name, tested, found.figure, found.verdict, found.meaning, found.advice, found.values)

        return examined

    return decorate
