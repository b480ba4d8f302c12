"""One rung of the ladder: an assumption, what the table says about it, what it costs, and what if it is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import singledispatch
from typing import Any

from bayesdp.advice.sensitivity import Sensitivity, sensitivity_to_assumption, weaker_than
from bayesdp.calibration.calibrate import Calibration, calibrate
from bayesdp.errors import CalibrationError, InvalidInputError, ModelError, NoTheoremAppliesError
from bayesdp.models import MarkovChain, Model
from bayesdp.models.diagnosis import Diagnosis, Verdict
from bayesdp.queries import Query
from bayesdp.theorems.leakage import Composition
from bayesdp.theorems.spend import Release

__all__ = [
    "HARMLESS",
    "Judgement",
    "NoVerdict",
    "PricedAssumption",
    "diagnosed",
    "recommended",
    "with_price",
    "with_sensitivities",
]

HARMLESS = 0.1
"""A denied assumption is kept if what denies it changes ε by a smaller share than this."""

_MOST_DRAWN = 4
"""Of chains that remember one of so many values models are drawn from the posterior; of larger ones the estimate is
taken, which is a matter of seconds instead of minutes."""


class NoVerdict(StrEnum):
    """Why a table has no verdict: nothing in a table could speak against the assumption, or no such model is possible.

    Each is its text, also when it prints.
    """

    NOT_DENIED = "not denied"
    NOT_POSSIBLE = "not possible"

    def __repr__(self) -> str:
        return repr(self.value)


Judgement = Verdict | NoVerdict
"""What a table says of an assumption."""


@dataclass(frozen=True)
class PricedAssumption:
    """One assumption about a table, stronger than those after it.

    name:         the assumption in a few words.
    condition:    that it is true, as the clause after "if" for the rungs before it.
    assumes:      what one would be assuming, as a sentence.
    verdict:      what the table says of it.
    shown:        what of the table says so, as a sentence.
    model:        the model; None if there is none, and `reason` says why.
    calibration:  the noise that keeps the promise; None if there is none, and `reason` says why.
    consequences: what that noise leaks if weaker assumptions are true instead.
    """

    name: str
    condition: str
    assumes: str
    verdict: Judgement
    shown: str
    model: Model | None = None
    reason: str = ""
    calibration: Calibration | None = None
    consequences: tuple[Sensitivity, ...] = ()

    @property
    def denied(self) -> bool:
        """Whether the table speaks against it."""
        return self.verdict == Verdict.VIOLATED

    @property
    def alpha(self) -> float | None:
        """The error that is left at the ε asked for; None if no noise is enough."""
        return None if self.calibration is None else self.calibration.accuracy(self.calibration.beta)

    @property
    def credible(self) -> bool:
        """Whether its error allows for how uncertain the estimates are: a session must then be told the credibility."""
        return self.calibration is not None and self.calibration.uncertainty is not None

    @property
    def harm(self) -> float | None:
        """The largest share by which ε grows if one of the rungs that count is true instead; None if none does."""
        changes = [line.change for line in self.consequences if line.counts]
        return None if not changes or None in changes else max(change for change in changes if change is not None)

    @property
    def harmless(self) -> bool:
        """Whether what denies it hardly changes ε."""
        return self.harm is not None and self.harm < HARMLESS

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of one rung in `bayesdp advise --json`."""
        return {
            "name": self.name,
            "model": None if self.model is None else self.model.identity,
            "verdict": self.verdict,
            "alpha": self.alpha,
            "assumes": self.assumes,
            "shown": self.shown,
            "tau": None if self.calibration is None else self.calibration.tau,
            "theorem": None if self.calibration is None else self.calibration.theorem,
            "consequences": [line.to_dict() for line in self.consequences],
            **({"reason": self.reason} if self.reason else {}),
        }


def diagnosed(diagnosis: Diagnosis) -> str:
    """Return what a diagnosis says of the table, as a sentence."""
    violated = ", ".join(diagnosis.violated)
    return f"Violated: {violated}." if violated else f"The diagnosis says {diagnosis.verdict}."


def with_price(
    assumption: PricedAssumption, query: Query, epsilon: float, beta: float, credibility: float
) -> PricedAssumption:
    """Return a rung with the noise that keeps the promise; with the reason, if no noise does.

    A chain that was estimated must keep it for a share of its posterior, the credibility; models of bounded odds have
    that in their odds ratio.
    """
    if assumption.model is None:
        return assumption
    try:
        if _soon_drawn(assumption.model):
            try:
                credible = calibrate(assumption.model, query, epsilon=epsilon, beta=beta, credibility=credibility)
                return replace(assumption, calibration=credible)
            except (CalibrationError, ModelError, InvalidInputError):
                pass  # the posterior reaches where nothing is proven: then the estimate
        return replace(assumption, calibration=calibrate(assumption.model, query, epsilon=epsilon, beta=beta))
    except (CalibrationError, NoTheoremAppliesError, ModelError) as error:
        return replace(assumption, reason=f"no noise is known to be enough: {error}")


@singledispatch
def _soon_drawn(model: Model) -> bool:
    """Tell whether enough models can be drawn from the posterior in seconds; by default none are drawn."""
    return False


@_soon_drawn.register(MarkovChain)
def _small_chain(model: MarkovChain) -> bool:
    return model.estimated and model.table[..., 0].size <= _MOST_DRAWN


def with_sensitivities(assumptions: Sequence[PricedAssumption]) -> tuple[PricedAssumption, ...]:
    """Return rungs with their consequences: what the noise of each leaks if one of the later ones is true."""
    return tuple(
        _with_sensitivity(assumption, assumptions[place + 1 :]) for place, assumption in enumerate(assumptions)
    )


def _with_sensitivity(assumption: PricedAssumption, later: Sequence[PricedAssumption]) -> PricedAssumption:
    if assumption.model is None or assumption.calibration is None:
        return assumption
    spend = (Release(assumption.calibration.query, assumption.calibration.tau),)
    epsilon = assumption.calibration.epsilon
    weaker = {after.condition: Composition(after.model) for after in later if after.model is not None}
    below = sensitivity_to_assumption(spend, epsilon, weaker.items())
    counted = _that_count(later)
    below = tuple(replace(line, counts=line.condition in counted) for line in below)
    others = [other for other in weaker_than(assumption.model) if not other[0].startswith(tuple(weaker))]
    return replace(assumption, consequences=(*below, *sensitivity_to_assumption(spend, epsilon, others)))


def _that_count(later: Sequence[PricedAssumption]) -> set[str]:
    """Return the conditions of the rungs that say what the denial of an earlier one costs.

    These are the ones up to the first that the table does not deny. Groups in which anything may hold never are denied,
    and say nothing about what the table shows.
    """
    conditions = set()
    for assumption in later:
        if assumption.model is None or assumption.model.anything_inside:
            continue
        conditions.add(assumption.condition)
        if not assumption.denied:
            break
    return conditions


def recommended(assumptions: Sequence[PricedAssumption]) -> PricedAssumption | None:
    """Return the cheapest rung that is not denied, or whose denial hardly changes ε.

    If all are denied, the one that assumes least; None if no noise is enough for any.
    """
    possible = [assumption for assumption in assumptions if assumption.alpha is not None]
    kept = [assumption for assumption in possible if not assumption.denied or assumption.harmless]
    if kept:
        return min(kept, key=lambda assumption: assumption.alpha or 0.0)
    return possible[-1] if possible else None
