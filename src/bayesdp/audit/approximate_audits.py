"""The audit of a release that promises ε with a δ: what is proven, what a known attacker attains, and a lower bound.

It reads no data and releases nothing: it draws everything from the model, with noise for simulations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from bayesdp._support import validation
from bayesdp._support.display import Displayed, Section, Words, warned
from bayesdp._support.documents import Document
from bayesdp._support.messages import param
from bayesdp.audit.attack_models import AttackModel
from bayesdp.audit.lower_bounds import LowerBound, lower_bound
from bayesdp.audit.neighbouring_tables import distinguished_values
from bayesdp.audit.simulated_releases import simulated_release
from bayesdp.audit.worst_cases import SCHEMA, settings
from bayesdp.calibration.approximate import ApproximateCalibration, NoiseKind
from bayesdp.calibration.calibrate import calibrate
from bayesdp.concentrated import tau_of_rho
from bayesdp.errors import InvalidInputError, PromiseBrokenError, TheoremError
from bayesdp.losses import ConcentratedLoss, Loss, PureLoss
from bayesdp.models import MarkovChain, Model, OddsChain
from bayesdp.queries import Query
from bayesdp.rounding import shown_above, shown_below
from bayesdp.theorems.approximate import ApproximateLeakage
from bayesdp.theorems.leakage import leakage

__all__ = ["CHANCE", "ApproximateAudit", "approximate_audit", "headed"]

CHANCE = (
    "that exceeds the proven leakage. It can happen by chance, as often as the confidence allows. Run the audit again "
    "with a higher confidence, and please report it if it happens again."
)

_RAREST_CHANGE = 1e-6
"""The least probability that neighbours of the symmetric chain differ; odds below the limit are allowed, too."""

_ROUNDING = 1e-9
"""The share by which rounding may raise the attained δ above the proven one; more contradicts the proof."""


@dataclass(frozen=True)
class Attained:
    """The δ that a known attacker attains at the ε of the promise, and what he knows."""

    delta: float
    who: str


@dataclass(frozen=True)
class ApproximateAudit(Displayed, Document):
    """The proven (ε, δ) of a release with noise, and how close a known attacker and its outputs come to it.

    leakage:     the proven leakage.
    loss:        the loss of the release: a τ with Laplace noise, a ρ with Gaussian.
    plain:       whether a plain release of this ρ was audited, rather than one that keeps a promise of ε and δ.
    attained:    the largest δ that a known attacker attains at the proven ε; None if it is not computed: for Laplace
                 noise, and for answers that are not one number.
    lower_bound: the least δ at the proven ε, found by running the release; None if it cannot be simulated.
    """

    leakage: ApproximateLeakage
    loss: PureLoss | ConcentratedLoss
    plain: bool
    confidence: float
    attained: Attained | None = None
    lower_bound: LowerBound | None = None

    @property
    def epsilon(self) -> float:
        """The proven ε."""
        return self.leakage.epsilon

    @property
    def delta(self) -> float:
        """The proven δ."""
        return self.leakage.delta

    @property
    def stated(self) -> float:
        """The δ that ordinary differential privacy states at the proven ε."""
        return self.loss.delta_at(self.epsilon)

    @property
    def noise(self) -> NoiseKind:
        """The noise of the release."""
        return "laplace" if isinstance(self.loss, PureLoss) else "gaussian"

    def plot(self, path: str | Path) -> Path:
        """Draw δ over ε, what is proven beside what is attained, and write the picture (.png, .svg or .pdf)."""
        from bayesdp.plotting.approximate import plot_approximate_audit

        return plot_approximate_audit(self, path)

    def attained_at(self, epsilon: float) -> Attained | None:
        """Return the largest δ that a known attacker attains at another ε; None where `attained` is."""
        worst = [Attained(one.attack_model.excess(epsilon, one.scale).delta, one.who) for one in self._attackers]
        return max(worst, key=lambda one: one.delta, default=None)

    @cached_property
    def _attackers(self) -> tuple[_Attacker, ...]:
        return _attackers(self.leakage.model, self.leakage.spend[-1].query, self.loss, self.delta)

    def _printed(self) -> list[Section]:
        released = "A plain release" if self.plain else "A release that keeps the promise"
        proven = (
            f"{released}, with {self.noise.capitalize()} noise ({self.loss.description}), leaks at most ε = "
            f"{shown_above(self.epsilon)} with δ = {shown_above(self.delta)}, if {self.leakage.assumption}. At that ε, "
            f"ordinary differential privacy states δ = {shown_above(self.stated, 3)}."
        )
        parts: list[Section] = [[Words(proven, filled=True)]]
        if self.attained is None:
            parts.append(
                headed("The worst known attacker", "None: his δ is computed for a number with Gaussian noise.")
            )
        else:
            attained = (
                f"{self.attained.who} A set of answers has a probability that exceeds e^ε times the probability under "
                f"another value by {shown_below(self.attained.delta, 4)}: no smaller δ is true."
            )
            parts.append(headed("The worst known attacker", attained))
        if self.lower_bound is None:
            parts.append(headed("Lower bound from outputs", "None: this release cannot be simulated from this model."))
        else:
            parts.append(headed("Lower bound from outputs", str(self.lower_bound)))
            if self.lower_bound.contradicted:
                parts.append(warned([CHANCE]))
        return parts

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp audit --json` prints."""
        bound = self.lower_bound
        return {
            "kind": "approximate-audit",
            "schema": SCHEMA,
            "plain": self.plain,
            "noise": self.noise,
            "tau": self.loss.tau if isinstance(self.loss, PureLoss) else None,
            "rho": self.loss.rho if isinstance(self.loss, ConcentratedLoss) else None,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "stated": self.stated,
            "attained": None if self.attained is None else self.attained.delta,
            "worst_case": None if self.attained is None else self.attained.who,
            "lower_bound": None if bound is None else bound.delta,
            "confidence": self.confidence,
            "leakage": self.leakage.to_dict(),
            "lower_bound_data": None if bound is None else bound.to_dict(),
        }


def headed(heading: str, reported: str) -> Section:
    """Return a section of an audit: its heading, and a paragraph."""
    return [Words(heading), Words(reported, filled=True)]


def approximate_audit(
    model: Model,
    query: Query,
    *,
    tau: float | None,
    epsilon: float | None,
    delta: float | None,
    rho: float | None,
    noise: NoiseKind | None,
    runs: int,
    confidence: float,
    seed: int,
) -> ApproximateAudit:
    """Audit the release of a query that promises (ε, δ); the arguments are those of `audited`."""
    confidence = validation.probability("confidence", confidence)
    if tau is not None:
        raise InvalidInputError(
            param("tau")
            + " with a delta is about any mechanism, and none can be run; give "
            + param("rho")
            + " for Gaussian noise"
        )
    if delta is None:
        raise InvalidInputError(param("rho") + " and " + param("noise") + " need " + param("delta"))
    if (epsilon is None) == (rho is None):
        raise InvalidInputError("give either " + param("epsilon") + " or " + param("rho"))
    if rho is not None and noise is not None:
        raise InvalidInputError(param("rho") + " is about Gaussian noise; leave " + param("noise") + " out")
    loss: PureLoss | ConcentratedLoss
    if rho is not None:
        leaked = leakage(model, query, rho=rho, delta=delta, neighbours="replace")
        loss = ConcentratedLoss(rho)
    else:
        chosen: Any = calibrate(model, query, epsilon=epsilon, delta=delta, noise=noise)
        assert isinstance(chosen, ApproximateCalibration)
        leaked, loss = chosen.leakage, chosen.loss
    assert isinstance(leaked, ApproximateLeakage)
    audit = _checked(ApproximateAudit(leaked, loss, rho is not None, confidence))
    bound = None
    mechanism = simulated_release(model, query, loss, np.random.default_rng([seed, 1]))
    if mechanism is not None:
        try:
            bound = lower_bound(
                mechanism,
                model,
                query,
                claimed=leaked.epsilon,
                delta=leaked.delta,
                runs=runs,
                confidence=confidence,
                vectorised=True,
                seed=seed,
            )
        except PromiseBrokenError as broken:
            bound = cast("LowerBound", broken.evidence)
    return replace(audit, lower_bound=bound)


@dataclass(frozen=True)
class _Attacker:
    """A known attacker against Gaussian noise of a scale, in units of the answers of his attack model."""

    attack_model: AttackModel
    scale: float
    who: str


def _attackers(model: Model, query: Query, loss: Loss, delta: float) -> tuple[_Attacker, ...]:
    """Return the attackers whose δ is computed: against Gaussian noise on one number."""
    if not isinstance(loss, ConcentratedLoss) or query.by_cell or query.thresholds or query.made_elsewhere:
        return ()
    tau = tau_of_rho(loss.rho, delta)
    return tuple(
        _Attacker(setting.attack_model, setting.attack_model.sensitivity / math.sqrt(2 * loss.rho), setting.who)
        for member in (member for each in model.members for member in _with_steady_chain(each, query))
        for setting in settings(member, query, tau)
        if setting.of_query and not setting.attack_model.extremes
    )


def _checked(audit: ApproximateAudit) -> ApproximateAudit:
    """Return an audit with what a known attacker attains; TheoremError if it is more than is proven."""
    found = audit.attained_at(audit.epsilon)
    if found is not None and found.delta > audit.delta * (1 + _ROUNDING):
        raise TheoremError(
            f"{audit.leakage.theorem} proves δ = {audit.delta!r}, but an attacker attains {found.delta!r}: the proof "
            "or the audit is wrong; please report this"
        )
    return replace(audit, attained=found)


def _with_steady_chain(model: Model, query: Query) -> Iterator[Model]:
    """Yield a model, and for bounded odds the symmetric chain of two states with these odds, which they allow.

    The attacker who is worst at the extreme outputs of Laplace noise attains little with Gaussian noise.
    """
    yield model
    if isinstance(model, OddsChain) and model.memory == 1 and model.unit == 1:
        change = max(1 / (1 + math.sqrt(model.odds)), _RAREST_CHANGE)
        states: Any = model.states if len(model.states) == 2 else distinguished_values(query)
        yield MarkovChain([[1 - change, change], [change, 1 - change]], states=states, length=model.length)
