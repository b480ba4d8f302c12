"""Priced assumptions: the verdict of a table, the price, and the leakage if the assumption is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import singledispatch
from typing import Any

from bayesdp._support.words import counted
from bayesdp.advice.claims import INDEPENDENT, MOMENTS, SEPARATE, STEADY, Claim
from bayesdp.advice.sensitivity_to_assumption import (
    Sensitivity,
    proven_under,
    sensitivity_to_assumption,
    weaker_than,
)
from bayesdp.calibration.approximate import ApproximateCalibration
from bayesdp.calibration.calibrate import Calibration, calibrate, credible_tau
from bayesdp.errors import CalibrationError, InvalidInputError, ModelError, NoTheoremAppliesError
from bayesdp.models import ArbitraryGroups, Independent, MarkovChain, Model
from bayesdp.models.diagnosis import Diagnosis, Finding, Verdict
from bayesdp.queries import Query
from bayesdp.rounding import shown_above
from bayesdp.theorems.leakage import Composition, report
from bayesdp.theorems.spend import Release, Spend

__all__ = [
    "HARMLESS",
    "Judgement",
    "NoVerdict",
    "PricedAssumption",
    "diagnosed",
    "evidence_of",
    "groups_assumption",
    "hopeless",
    "independent_assumption",
    "recommended",
    "untested",
    "with_price",
    "with_sensitivities",
]

HARMLESS = 0.1
"""A contradicted assumption is kept if the ones that fit the table change ε by less than this share."""

NEARLY_FREE = 1.5
"""Whole groups are recommended if their error is less than this many times that of the cheapest assumption."""

_NO_GAIN = 0.02
"""The most, as a share of τ, that a chain's estimate may gain over group privacy for its posterior not to be drawn."""

_SHOWN = 3
"""The most leakages under weaker assumptions that are printed."""

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
    error:        the error of a quantile at that noise, which depends on the table.
    consequences: the leakage of that noise if weaker assumptions are true instead.
    claims:       what it claims; it inherits the verdicts on everything that follows from that (`advice/claims.py`).
    relative_error: the error as a share of what is asked; None without an error.
    credible:     whether the error allows for uncertain estimates; a session then needs the credibility.
    """

    name: str
    condition: str
    assumes: str
    verdict: Judgement
    shown: str
    model: Model | None = None
    reason: str = ""
    calibration: Calibration | ApproximateCalibration | None = None
    consequences: tuple[Sensitivity, ...] = ()
    claims: frozenset[Claim] = frozenset()
    relative_error: float | None = None
    error: float | None = None
    credible: bool = False

    @property
    def denied(self) -> bool:
        """Whether the table contradicts it."""
        return self.verdict == Verdict.VIOLATED

    @property
    def suspect(self) -> bool:
        """Whether the table contradicts it, or leaves doubts."""
        return self.verdict in (Verdict.VIOLATED, Verdict.DOUBTFUL)

    @property
    def reads_less(self) -> bool:
        """Whether some records are not read: its answer is about the others, and is no answer to the question."""
        return self.model is not None and self.model.reads is not None

    @property
    def alpha(self) -> float | None:
        """The error at the given ε; None if no noise is enough."""
        if self.calibration is None or self.error is not None:
            return self.error
        return self.calibration.accuracy(self.calibration.beta)

    @property
    def shown_consequences(self) -> tuple[Sensitivity, ...]:
        """The consequences that matter most, in their order: those that the table suggests, then the largest."""

        def weight(line: Sensitivity) -> tuple[bool, bool, float]:
            return line.counts, line.epsilon is not None, line.epsilon or 0.0

        chosen = sorted(self.consequences, key=weight, reverse=True)[:_SHOWN]
        return tuple(line for line in self.consequences if line in chosen)

    @property
    def harm(self) -> float | None:
        """The largest share by which ε grows under an assumption that counts; None if it is unknown."""
        changes = [line.change for line in self.consequences if line.counts]
        return None if not changes or None in changes else max(change for change in changes if change is not None)

    @property
    def harmless(self) -> bool:
        """Whether the assumptions that fit the table hardly change ε."""
        return self.harm is not None and self.harm < HARMLESS

    @property
    def kept(self) -> bool:
        """Whether it may be recommended: the table agrees with it, or the assumptions that fit hardly change ε.

        Doubts count as much as a contradiction, so that the recommendation does not jump where a verdict changes. A
        doubtful assumption is kept, too, if nothing weaker could be tried.
        """
        nothing_weaker = self.verdict == Verdict.DOUBTFUL and not any(line.counts for line in self.consequences)
        return not self.suspect or self.harmless or nothing_weaker

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of one assumption in `bayesdp advise --json`."""
        return {
            "name": self.name,
            "model": None if self.model is None else self.model.identity,
            "verdict": self.verdict,
            "alpha": self.alpha,
            "relative_error": self.relative_error,
            "assumes": self.assumes,
            "shown": self.shown,
            "tau": None if self.calibration is None else self.calibration.tau,
            "theorem": None if self.calibration is None else self.calibration.theorem,
            **(
                {"noise": self.calibration.noise, "rho": self.calibration.rho, "delta": self.calibration.delta}
                if isinstance(self.calibration, ApproximateCalibration)
                else {}
            ),
            "consequences": [line.to_dict() for line in self.consequences],
            **({"reason": self.reason} if self.reason else {}),
        }


def diagnosed(diagnosis: Diagnosis) -> str:
    """Return the result of a diagnosis as a sentence."""
    violated = ", ".join(diagnosis.violated)
    return f"Violated: {violated}." if violated else f"The verdict of the diagnosis: {diagnosis.verdict}."


def evidence_of(finding: Finding) -> str:
    """Return what a finding means, with its figures."""
    return f"{finding.meaning} {finding.figure}." if finding.figure else finding.meaning


def independent_assumption(
    verdict: Judgement, shown: str, column: str, record: str, within: str = ""
) -> PricedAssumption:
    """Return the assumption that records are independent, with the same probabilities at all times.

    within: strata such as "hour", whose probabilities may differ.
    """
    model = Independent(column=column, record=record)
    assumes = "Records do not depend on one another, and have the same probabilities at all times."
    name, condition, claims = "independent", "records are independent", frozenset({INDEPENDENT, STEADY})
    if within:
        name, condition = f"independent within each {within}", f"records are independent within each {within}"
        assumes = f"Records do not depend on one another; their probabilities may differ by {within}."
        claims = frozenset({INDEPENDENT})
    return PricedAssumption(name, condition, assumes, verdict, shown, model, claims=claims)


def groups_assumption(
    group: Sequence[str], whole: str, largest: int, record: str, tested: Finding | None
) -> PricedAssumption:
    """Return the assumption that anything may happen inside groups, which are independent of one another.

    group:  the columns of groups; none if all records are one chain or series (`whole`), which no noise protects.
    tested: the finding on the independence of groups.
    """
    together = " and ".join(group)
    name, condition = "arbitrary groups", f"anything may happen within one {together or 'entity'}"
    if not group:
        reason = f"All records are one {whole}, so no useful answer can be protected against everything. Name entities."
        assumes = "Entities are independent of one another; inside one anything may happen."
        return PricedAssumption(name, condition, assumes, NoVerdict.NOT_POSSIBLE, reason, reason=reason)
    assumes = f"One {together} is independent of another; inside one anything may happen."
    verdict: Judgement = NoVerdict.NOT_DENIED
    shown = f"No {together} has more than {counted(largest, record)}."
    if tested is not None and tested.verdict in (Verdict.VIOLATED, Verdict.DOUBTFUL):
        verdict, shown = tested.verdict, evidence_of(tested)
    model = ArbitraryGroups(largest, group=tuple(group), record=record)
    return PricedAssumption(name, condition, assumes, verdict, shown, model, claims=frozenset({SEPARATE}))


def nearly_free(chosen: PricedAssumption, assumptions: Sequence[PricedAssumption]) -> PricedAssumption | None:
    """Return the protection of whole groups if it costs less than `NEARLY_FREE` times the recommended assumption.

    It needs no fit and no belief about what happens inside a group, and protects the person whose records one is.
    """
    for groups in assumptions:
        model = groups.model
        possible = isinstance(model, ArbitraryGroups) and SEPARATE in groups.claims and groups.kept
        possible = possible and not groups.reads_less
        if not possible or groups.alpha is None or chosen.alpha is None or groups.alpha >= NEARLY_FREE * chosen.alpha:
            continue
        assert isinstance(model, ArbitraryGroups)
        together = " and ".join(model.group)
        return replace(
            groups,
            name=f"whole {together}",
            assumes=f"{groups.assumes} The {together} is protected as a whole, with all its records.",
            model=replace(model, unit="group"),
        )
    return None


def moments_assumption(
    order_by: Sequence[str], largest: int, record: str, verdict: Verdict, shown: str
) -> PricedAssumption:
    """Return the assumption that anything may happen among the records of one moment, and moments are independent."""
    moment = " and ".join(order_by)
    return PricedAssumption(
        "arbitrary moments",
        f"anything may happen within one {moment}",
        f"The records of one {moment}, of all entities, may depend on one another in any way; those of different "
        "moments do not.",
        verdict,
        f"No {moment} has more than {counted(largest, record)}. {shown}",
        ArbitraryGroups(largest, group=tuple(order_by), record=record),
        claims=frozenset({MOMENTS}),
    )


def with_price(
    assumption: PricedAssumption,
    query: Query,
    epsilon: float,
    beta: float,
    credibility: float,
    error: Callable[[float], float] | None = None,
    delta: float | None = None,
) -> PricedAssumption:
    """Return an assumption with the noise that keeps the promise, or with the reason why no noise does.

    The promise must hold for a share of an estimated chain's posterior, the credibility; the odds ratio of models of
    bounded odds already includes it.

    error: how far off an answer of a given τ may be, if that depends on the table: a quantile, which is selected. A δ
           does not make that cheaper.
    delta: the δ of a promise of (ε, δ), which has no credibility: models are as estimated.
    """
    if delta is not None and error is None:
        return _approximately(assumption, query, epsilon, beta, delta)
    priced = _calibrated(assumption, query, epsilon, beta, credibility if delta is None else None)
    if error is None or priced.calibration is None:
        return priced
    assert priced.calibration.tau is not None
    return replace(priced, error=error(priced.calibration.tau))


def _approximately(
    assumption: PricedAssumption, query: Query, epsilon: float, beta: float, delta: float
) -> PricedAssumption:
    """Return an assumption with the noise that keeps a promise of (ε, δ), or with the reason why none does."""
    if assumption.model is None:
        return assumption
    try:
        chosen = calibrate(assumption.model, query, epsilon=epsilon, beta=beta, delta=delta)
    except (CalibrationError, NoTheoremAppliesError, ModelError) as error:
        return replace(assumption, reason=f"no noise is known to be enough: {error}")
    return replace(assumption, calibration=chosen)


def _calibrated(
    assumption: PricedAssumption, query: Query, epsilon: float, beta: float, credibility: float | None
) -> PricedAssumption:
    if assumption.model is None:
        return assumption
    try:
        if (plain := _forgetting_nothing(assumption.model, query, epsilon, beta)) is not None:
            return replace(assumption, calibration=plain, credible=False)
        plain = calibrate(assumption.model, query, epsilon=epsilon, beta=beta)
    except (CalibrationError, NoTheoremAppliesError, ModelError) as error:
        return replace(assumption, reason=f"no noise is known to be enough: {error}")
    if credibility is None or not _soon_drawn(assumption.model):
        return replace(assumption, calibration=plain, credible=False)
    try:
        tau = credible_tau(plain.leakage, (query,), plain.tau, epsilon, (), credibility)
    except (CalibrationError, ModelError, InvalidInputError):
        return replace(assumption, calibration=plain, credible=False)  # nothing is proven for part of the posterior
    leaked = report(assumption.model, (Release(query, tau),))
    return replace(assumption, calibration=replace(plain, tau=tau, leakage=leaked), credible=True)


def _forgetting_nothing(model: Model, query: Query, epsilon: float, beta: float) -> Calibration | None:
    """Return the noise by group privacy of a whole chain, if one evaluation shows that no theorem needs much less.

    To calibrate a chain that hardly forgets takes long. Its whole posterior keeps a promise by group privacy.
    """
    if not isinstance(model, MarkovChain) or model.length is None or model.gaps:
        return None
    if model.length * (1 - model.persistence) > 1:
        return None
    plain = calibrate(model, query, epsilon=epsilon, beta=beta, theorem="general")
    leaked = Composition(model).proven((Release(query, plain.tau * (1 + _NO_GAIN)),))
    return plain if leaked > epsilon else None


def hopeless(assumption: PricedAssumption, query: Query, epsilon: float, beta: float, size: float) -> str:
    """Return why the noise of an assumption would be useless, if one evaluation shows it; otherwise an empty text.

    To calibrate a chain that hardly forgets takes long. If a rule of thumb says that the error would be larger than
    what is asked, its size, then the leakage of noise with an error of that size is computed; if that exceeds ε, there
    is no useful noise.
    """
    model = assumption.model
    if not isinstance(model, MarkovChain) or query.unforeseen:
        return ""
    alone = calibrate(Independent(), query, epsilon=epsilon, beta=beta)
    times = size / alone.accuracy(beta)
    if times <= 1 or times * (1 - model.persistence) > 1 + model.persistence:
        return ""
    if model.length is not None and model.length * alone.tau / times <= epsilon:
        return ""  # group privacy of the whole chain is enough
    try:
        leaked = Composition(model).proven((Release(query, alone.tau / times),))
    except (NoTheoremAppliesError, ModelError):
        return ""
    error = f"even noise with an error of {shown_above(size, 3)}, as large as what is asked,"
    return f"{error} is only proven to leak at most {shown_above(leaked, 3)}" if leaked > epsilon else ""


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
    spend, epsilon = _spend(assumption.calibration), assumption.calibration.epsilon
    delta = assumption.calibration.delta if isinstance(assumption.calibration, ApproximateCalibration) else None
    weaker = {
        after.condition: proven_under(after.model, delta)
        for after in later
        if after.model is not None and not after.reads_less
    }
    below = sensitivity_to_assumption(spend, epsilon, weaker.items())
    fitting = _that_count(later)
    below = tuple(replace(line, counts=line.condition in fitting) for line in below)
    others = [other for other in weaker_than(assumption.model, delta) if not other[0].startswith(tuple(weaker))]
    known = {line.epsilon for line in below}
    new = [line for line in sensitivity_to_assumption(spend, epsilon, others) if line.epsilon not in known]
    return replace(assumption, consequences=(*below, *new))


def _spend(calibration: Calibration | ApproximateCalibration) -> Spend:
    """Return the release that a calibration is about, with its loss."""
    loss = calibration.loss if isinstance(calibration, ApproximateCalibration) else calibration.tau
    return (Release(calibration.query, loss),)


def _that_count(later: Sequence[PricedAssumption]) -> set[str]:
    """Return the conditions of the assumptions that fit a table which contradicts an earlier one, or leaves doubts.

    These are the ones up to the first that the table leaves without doubts. Arbitrary groups do not count, because no
    table contradicts them.
    """
    conditions = set()
    for assumption in later:
        if assumption.model is None or assumption.model.anything_inside:
            continue
        conditions.add(assumption.condition)
        if not assumption.suspect:
            break
    return conditions


def recommended(assumptions: Sequence[PricedAssumption]) -> PricedAssumption | None:
    """Return the cheapest assumption that may be kept; one that was tested and holds goes before one that was not.

    If there is none, the weakest; None if no noise is enough for any. Assumptions that read fewer records answer
    another question.
    """
    possible = [assumption for assumption in assumptions if assumption.alpha is not None and not assumption.reads_less]
    kept = [assumption for assumption in possible if assumption.kept]
    if not kept:
        return possible[-1] if possible else None
    cheapest = min(kept, key=_price)
    fine = [assumption for assumption in kept if assumption.verdict == Verdict.FINE]
    return min(fine, key=_price) if fine and cheapest.verdict == Verdict.NOT_TESTED else cheapest


def untested(chosen: PricedAssumption, assumptions: Sequence[PricedAssumption]) -> PricedAssumption | None:
    """Return the cheapest assumption that costs less than the recommended one and was not tested; None without one."""
    cheaper = [
        assumption
        for assumption in assumptions
        if assumption.verdict == Verdict.NOT_TESTED
        and assumption.alpha is not None
        and not assumption.reads_less
        and assumption.alpha < _price(chosen)
    ]
    return min(cheaper, key=_price, default=None)


def _price(assumption: PricedAssumption) -> float:
    return assumption.alpha or 0.0
