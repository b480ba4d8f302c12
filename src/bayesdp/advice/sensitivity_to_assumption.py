"""If the assumption is wrong: the leakage of noise that was chosen for one model under weaker ones.

A test finds some deviation in every large table. The cost of the deviation matters more, so these lines are beside
every verdict of `advise`, in every answer and in every statement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.advice.alternatives import alternatives
from bayesdp.errors import NoTheoremAppliesError, TooLargeError
from bayesdp.models import Model
from bayesdp.rounding import shown_above
from bayesdp.theorems.approximate import approximate_report
from bayesdp.theorems.leakage import Composition
from bayesdp.theorems.spend import Spend

__all__ = [
    "Sensitivity",
    "Weaker",
    "proven_under",
    "sensitivity_to_assumption",
    "weaker_than",
    "worst_sensitivities",
]

Proven = Callable[[Spend], float]
"""The ε that is proven for a spend."""

Weaker = tuple[str, Proven]
"""An assumption that is weaker than a model: the clause after "if", and the leakage of releases under it."""


@dataclass(frozen=True)
class Sensitivity:
    """The leakage of a spend under a weaker assumption than the model.

    condition: the clause after "if".
    promised:  ε under the model.
    epsilon:   the ε proven under the condition; None if nothing is proven.
    counts:    whether the assumption fits a table that contradicts the model, so that `change` is the cost of that.

    >>> print(Sensitivity("what matters is the last two records", 1.0, 1.7))
    If what matters is the last two records, 1.7 instead of 1.
    """

    condition: str
    promised: float
    epsilon: float | None
    counts: bool = False

    @property
    def change(self) -> float | None:
        """The share by which ε grows; None if nothing is proven."""
        return None if self.epsilon is None or not self.promised else self.epsilon / self.promised - 1

    def __str__(self) -> str:
        if self.epsilon is None:
            return f"If {self.condition}, nothing is proven."
        leaks, promised = shown_above(self.epsilon, 3), shown_above(self.promised, 3)
        return f"If {self.condition}, {f'still {leaks}' if leaks == promised else f'{leaks} instead of {promised}'}."

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of one consequence in `bayesdp advise --json`."""
        return {"if": self.condition, "epsilon": self.epsilon, "instead_of": self.promised}


def proven_under(model: Model, delta: float | None = None) -> Proven:
    """Return the leakage of releases under a model: its ε, for promises of (ε, δ) at their δ."""
    if delta is None:
        return Composition(model).proven
    return lambda spend: approximate_report(model, spend, delta).epsilon


def weaker_than(model: Model, delta: float | None = None) -> tuple[Weaker, ...]:
    """Return the weaker assumptions of a model. delta: that of promises of (ε, δ)."""
    return tuple((condition, proven_under(weaker, delta)) for condition, weaker in alternatives(model))


def sensitivity_to_assumption(spend: Spend, epsilon: float, weaker: Iterable[Weaker]) -> tuple[Sensitivity, ...]:
    """Return the leakage under weaker assumptions of a spend that leaks at most `epsilon` under a model.

    It depends on models only, not on a table, and is at least `epsilon`.

    >>> from bayesdp import Count, OddsChain
    >>> from bayesdp.theorems.spend import as_spend
    >>> for line in sensitivity_to_assumption(as_spend(Count(equals=1), 0.243), 1.0, weaker_than(OddsChain(17.2))):
    ...     print(line)
    If the odds ratio is half as large again, 1.22 instead of 1.
    If what matters is the last two records, with this odds ratio, 1.95 instead of 1.
    If anything may happen within 12 consecutive records, 3.68 instead of 1.
    """
    leaks: dict[str, float | None] = {}
    for condition, alternative in weaker:
        leaked, before = _leaks(alternative, spend), leaks.get(condition, epsilon)
        leaks[condition] = None if leaked is None or before is None else max(leaked, before)
    return tuple(Sensitivity(condition, epsilon, leaked) for condition, leaked in leaks.items())


def worst_sensitivities(spends: Iterable[Spend], epsilon: float, weaker: Sequence[Weaker]) -> tuple[str, ...]:
    """Return for each weaker assumption, in a sentence, the largest leakage of several spends.

    The spends are those on independent parts, which together leak ε.
    """
    of_parts = [sensitivity_to_assumption(spend, epsilon, weaker) for spend in spends]

    def leakage(line: Sensitivity) -> float:
        return math.inf if line.epsilon is None else line.epsilon

    return tuple(str(max(lines, key=leakage)) for lines in zip(*of_parts, strict=True))


def _leaks(proven: Proven, spend: Spend) -> float | None:
    try:
        return proven(spend)
    except (NoTheoremAppliesError, TooLargeError):
        return None
