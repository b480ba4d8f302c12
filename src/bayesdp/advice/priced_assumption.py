"""Priced assumptions: the verdict of a table, the price, and the leakage if the assumption is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import singledispatch
from typing import Any

from bayesdp.advice.sensitivity_to_assumption import Sensitivity, sensitivity_to_assumption, weaker_than
from bayesdp.calibration.calibrate import Calibration, calibrate
from bayesdp.errors import CalibrationError, InvalidInputError, ModelError, NoTheoremAppliesError
from bayesdp.models import ArbitraryGroups, Independent, MarkovChain, Model
from bayesdp.models.diagnosis import Diagnosis, Verdict
from bayesdp.queries import Query
from bayesdp.theorems.leakage import Composition
from bayesdp.theorems.spend import Release

__all__ = [
    "HARMLESS",
    "Judgement",
    "NoVerdict",
    "PricedAssumption",
    "arbitrary_rung",
    "diagnosed",
    "independent_rung",
    "recommended",
    "with_price",
    "with_sensitivities",
]

HARMLESS = 0.1
"""A contradicted assumption is kept if the ones that fit the table change ε by less than this share."""

_MOST_DRAWN = 4
"""The most states (or combinations of remembered states) of chains whose posterior is sampled, which takes seconds;
for larger chains it would take minutes, so the estimate is used."""


class NoVerdict(StrEnum):
    """The reason for no verdict: no table can contradict the assumption, or there is no such model."""

    NOT_DENIED = "not denied"
    NOT_POSSIBLE = "not possible"

    def __repr__(self) -> str:
        return repr(self.value)


Judgement = Verdict | NoVerdict
"""The verdict of a table on an assumption."""


@dataclass(frozen=True)
class PricedAssumption:
    """One assumption about a table, stronger than those after it.

    name:         the assumption in a few words.
    condition:    that it is true, as a clause after "if".
    assumes:      the assumption as a sentence.
    verdict:      the verdict of the table.
    shown:        the evidence for the verdict, as a sentence.
    model:        the model; None if there is none, for the `reason`.
    calibration:  the noise that keeps the promise; None if there is none, for the `reason`.
    consequences: the leakage of that noise if weaker assumptions are true instead.
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
        """Whether the table contradicts it."""
        return self.verdict == Verdict.VIOLATED

    @property
    def alpha(self) -> float | None:
        """The error at the given ε; None if no noise is enough."""
        return None if self.calibration is None else self.calibration.accuracy(self.calibration.beta)

    @property
    def credible(self) -> bool:
        """Whether its error allows for uncertain estimates; a session then needs the credibility."""
        return self.calibration is not None and self.calibration.uncertainty is not None

    @property
    def harm(self) -> float | None:
        """The largest share by which ε grows under an assumption that counts; None if it is unknown."""
        changes = [line.change for line in self.consequences if line.counts]
        return None if not changes or None in changes else max(change for change in changes if change is not None)

    @property
    def harmless(self) -> bool:
        """Whether the assumptions that fit the table hardly change ε."""
        return self.harm is not None and self.harm < HARMLESS

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of one assumption in `bayesdp advise --json`."""
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
    """Return the result of a diagnosis as a sentence."""
    violated = ", ".join(diagnosis.violated)
    return f"Violated: {violated}." if violated else f"The verdict of the diagnosis: {diagnosis.verdict}."


def independent_rung(verdict: Judgement, shown: str, column: str, record: str) -> PricedAssumption:
    """Return the assumption that records are independent."""
    model = Independent(column=column, record=record)
    return PricedAssumption(
        "independent", "records are independent", "Records do not depend on one another.", verdict, shown, model
    )


def arbitrary_rung(
    group: Sequence[str], whole: str, largest: int, record: str, diagnosis: Diagnosis | None, tested: str
) -> PricedAssumption:
    """Return the assumption that anything may happen inside groups, which are independent of one another.

    group: the columns of groups; none if all records are one chain or series (`whole`), which no noise protects.
    diagnosis, tested: the finding of that name is on the independence of groups.
    """
    together = " and ".join(group)
    name, condition = "arbitrary groups", f"anything may happen within one {together or 'entity'}"
    if not group:
        reason = f"All records are one {whole}, so no useful answer can be protected against everything. Name entities."
        assumes = "Entities are independent of one another; inside one anything may happen."
        return PricedAssumption(name, condition, assumes, NoVerdict.NOT_POSSIBLE, reason, reason=reason)
    assumes = f"One {together} is independent of another; inside one anything may happen."
    verdict: Judgement = NoVerdict.NOT_DENIED
    shown = f"No {together} has more than {largest:,} records."
    for finding in () if diagnosis is None else diagnosis.findings:
        if finding.name == tested and finding.verdict in (Verdict.VIOLATED, Verdict.DOUBTFUL):
            verdict, shown = finding.verdict, f"{finding.meaning} {finding.figure}."
    model = ArbitraryGroups(largest, group=tuple(group), record=record)
    return PricedAssumption(name, condition, assumes, verdict, shown, model)


def with_price(
    assumption: PricedAssumption, query: Query, epsilon: float, beta: float, credibility: float
) -> PricedAssumption:
    """Return an assumption with the noise that keeps the promise, or with the reason why no noise does.

    The promise must hold for a share of an estimated chain's posterior, the credibility; the odds ratio of models of
    bounded odds already includes it.
    """
    if assumption.model is None:
        return assumption
    try:
        if _soon_drawn(assumption.model):
            try:
                credible = calibrate(assumption.model, query, epsilon=epsilon, beta=beta, credibility=credibility)
                return replace(assumption, calibration=credible)
            except (CalibrationError, ModelError, InvalidInputError):
                pass  # nothing is proven for part of the posterior: use the estimate
        return replace(assumption, calibration=calibrate(assumption.model, query, epsilon=epsilon, beta=beta))
    except (CalibrationError, NoTheoremAppliesError, ModelError) as error:
        return replace(assumption, reason=f"no noise is known to be enough: {error}")


@singledispatch
def _soon_drawn(model: Model) -> bool:
    """Return whether sampling models from the posterior takes only seconds; by default there is no posterior."""
    return False


@_soon_drawn.register(MarkovChain)
def _small_chain(model: MarkovChain) -> bool:
    return model.estimated and model.table[..., 0].size <= _MOST_DRAWN


def with_sensitivities(assumptions: Sequence[PricedAssumption]) -> tuple[PricedAssumption, ...]:
    """Return assumptions with their consequences: the leakage of the noise of each if a later one is true."""
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
    fitting = _that_count(later)
    below = tuple(replace(line, counts=line.condition in fitting) for line in below)
    others = [other for other in weaker_than(assumption.model) if not other[0].startswith(tuple(weaker))]
    return replace(assumption, consequences=(*below, *sensitivity_to_assumption(spend, epsilon, others)))


def _that_count(later: Sequence[PricedAssumption]) -> set[str]:
    """Return the conditions of the assumptions that fit a table which contradicts an earlier one.

    These are the ones up to the first that the table does not contradict. Arbitrary groups do not count, because no
    table contradicts them.
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
    """Return the cheapest assumption that is not contradicted, or is harmless.

    If all are contradicted, the weakest; None if no noise is enough for any.
    """
    possible = [assumption for assumption in assumptions if assumption.alpha is not None]
    kept = [assumption for assumption in possible if not assumption.denied or assumption.harmless]
    if kept:
        return min(kept, key=lambda assumption: assumption.alpha or 0.0)
    return possible[-1] if possible else None
