"""The complete audit of one release: the worst attacker, his beliefs, how often he is right, and a lower bound.

It reads no data and releases nothing: it draws everything from the model, with noise for simulations.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from bayesdp._support import validation
from bayesdp._support.display import Displayed, Section, Words, warned
from bayesdp._support.documents import Document
from bayesdp._support.messages import param
from bayesdp.audit.approximate_audits import CHANCE, ApproximateAudit, approximate_audit, headed
from bayesdp.audit.attacks import AttackReport, Outcome, attack
from bayesdp.audit.beliefs import Beliefs, belief
from bayesdp.audit.lower_bounds import LowerBound, lower_bound
from bayesdp.audit.simulated_releases import simulated_release
from bayesdp.audit.worst_cases import SCHEMA, WorstCase, worst_case
from bayesdp.calibration.approximate import NoiseKind
from bayesdp.errors import InvalidInputError
from bayesdp.losses import ConcentratedLoss, Neighbours, PureLoss, assumed_replacing, under_replacement
from bayesdp.models import Model
from bayesdp.queries import Query
from bayesdp.rounding import shown_above, shown_below

__all__ = ["Audit", "audited"]


@dataclass(frozen=True)
class Audit(Displayed, Document):
    """The proven leakage of a release, and how well known attackers do against it.

    model:       the assumption.
    plain:       whether a plain τ-DP release was audited, rather than one that keeps a promise of ε.
    epsilon:     the proven leakage.
    attack:      how often the best guess is right; None for answers that are not one number.
    lower_bound: the least leakage, found by running the release; None if it cannot be simulated.
    """

    plain: bool
    epsilon: float
    model: Model
    worst_case: WorstCase
    beliefs: Beliefs
    confidence: float
    attack: AttackReport | None = None
    lower_bound: LowerBound | None = None

    @property
    def tau(self) -> float:
        """The ordinary differential privacy of the release."""
        return self.worst_case.tau

    @property
    def outcome(self) -> Outcome | None:
        """How well the attacker did against the audited release."""
        if self.attack is None:
            return None
        return self.attack.plain if self.plain else self.attack.calibrated

    def _printed(self) -> list[Section]:
        released = "A plain release" if self.plain else "A release that keeps the promise"
        proven = (
            f"{released} (tau = {shown_below(self.tau)}) leaks at most ε = {shown_above(self.epsilon)}, if "
            f"{self.model.assumption}."
        )
        parts = [
            [Words(proven, filled=True)],
            headed("The worst attacker", str(self.worst_case)),
            [Words("Largest possible belief of any attacker"), *self.beliefs._printed()[0]],
        ]
        if self.attack is not None:
            reported, *tables = self.attack._printed()
            parts += [[Words("Simulated attack"), *reported], *tables]
        else:
            parts.append(headed("Simulated attack", "None: attacks are simulated for a single noisy number."))
        if self.lower_bound is None:
            parts.append(headed("Lower bound from outputs", "None: this release cannot be simulated from this model."))
        else:
            parts.append(headed("Lower bound from outputs", str(self.lower_bound)))
            if self.lower_bound.epsilon > self.epsilon:
                parts.append(warned([CHANCE]))
        return parts

    def plot(self, path: str | Path) -> Path:
        """Draw the attacker's belief before and after, plain DP beside bayesdp, and write the picture."""
        from bayesdp.plotting.beliefs import plot_audit

        return plot_audit(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp audit --json` prints."""
        outcome, bound = self.outcome, self.lower_bound
        attacker = None
        if self.attack is not None and outcome is not None:
            attacker = {"prior": self.attack.prior, "success": outcome.success, "interval": list(outcome.interval)}
        return {
            "kind": "audit",
            "schema": SCHEMA,
            "plain": self.plain,
            "tau": self.tau,
            "epsilon": self.epsilon,
            "realised": self.worst_case.realised,
            "lower_bound": None if bound is None else bound.epsilon,
            "confidence": self.confidence,
            "attacker": attacker,
            "worst_case": str(self.worst_case),
            "worst_case_data": self.worst_case.to_dict(),
            "beliefs": self.beliefs.to_dict(),
            "attack": None if self.attack is None else self.attack.to_dict(),
            "lower_bound_data": None if bound is None else bound.to_dict(),
        }


@overload
def audited(
    model: Model,
    query: Query,
    *,
    tau: float | None = None,
    epsilon: float | None = None,
    neighbours: Neighbours | None = None,
    runs: int = 20_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Audit: ...


@overload
def audited(
    model: Model,
    query: Query,
    *,
    tau: None = None,
    epsilon: float | None = None,
    delta: float,
    rho: float | None = None,
    noise: NoiseKind | None = None,
    neighbours: Neighbours | None = None,
    runs: int = 20_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> ApproximateAudit: ...


def audited(
    model: Model,
    query: Query,
    *,
    tau: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    noise: NoiseKind | None = None,
    neighbours: Neighbours | None = None,
    runs: int = 20_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Audit | ApproximateAudit:
    """Audit the release of a query under a model: everything that `bayesdp audit` prints.

    tau:        the τ of a plain release to audit.
    epsilon:    instead, the promise of a release to audit, made with the largest τ that provably keeps it.
    delta:      the δ of the promise: with epsilon, or with rho.
    rho:        the ρ of a plain release with Gaussian noise to audit.
    noise:      "laplace" or "gaussian", with epsilon and delta; by default the one with the smaller error.
    neighbours: the neighbours of tau or rho, "replace" (the default) or "add-remove"; AnyMechanism needs it.
    runs:       the number of simulated attacks, and of runs of the release on each of two neighbouring tables.
    confidence: the confidence of the intervals and of the lower bound.

    Returns an ApproximateAudit if there is a δ. Raises as `leakage` and `calibrate` do. If the lower bound exceeds the
    proven leakage, that is chance, at most as often as the confidence allows, or contradicts a proof; the printed audit
    then contains a warning.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> audit = audited(ArbitraryGroups(3), Count(equals=1), tau=1.0, runs=2000)
    >>> audit.epsilon, audit.worst_case.attained, 1 < audit.lower_bound.epsilon <= 3
    (3.0, True, True)
    """
    if query.made_elsewhere and tau is not None and neighbours is None:
        assumed_replacing("audited(AnyMechanism(), tau=...)")
    tau, rho = _under_replacement(query, tau, rho, neighbours)
    if delta is not None or rho is not None or noise is not None:
        return approximate_audit(
            model,
            query,
            tau=tau,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            noise=noise,
            runs=runs,
            confidence=confidence,
            seed=seed,
        )
    beliefs = belief(model, query, tau=tau, epsilon=epsilon, attained=True)
    plain = epsilon is None
    release = beliefs.plain if plain else beliefs.calibrated
    worst = worst_case(model, query, tau=release.tau)
    one_number = not (query.by_cell or query.thresholds or query.made_elsewhere)
    report = (
        attack(model, query, epsilon=beliefs.promise, runs=runs, confidence=confidence, seed=seed)
        if one_number
        else None
    )
    mechanism = simulated_release(model, query, PureLoss(release.tau), np.random.default_rng([seed, 1]))
    bound = None
    if mechanism is not None:
        bound = lower_bound(
            mechanism,
            model,
            query,
            runs=runs,
            confidence=validation.probability("confidence", confidence),
            vectorised=True,
            seed=seed,
        )
    return Audit(plain, release.epsilon, model, worst, beliefs, confidence, report, bound)


def _under_replacement(
    query: Query, tau: float | None, rho: float | None, neighbours: Neighbours | None
) -> tuple[float | None, float | None]:
    """Return a τ and a ρ for replacing a record, given those for some kind of neighbours."""
    if neighbours is None:
        if query.made_elsewhere and rho is not None:
            raise InvalidInputError(
                param("rho")
                + " of a release made elsewhere needs "
                + param("neighbours", "replace")
                + " or "
                + param("neighbours", "add-remove")
            )
        return tau, rho
    if tau is None and rho is None:
        raise InvalidInputError(param("neighbours") + " goes with " + param("tau") + " or " + param("rho"))
    if tau is not None:
        pure = under_replacement(PureLoss(tau), neighbours)
        assert isinstance(pure, PureLoss)
        tau = pure.tau
    if rho is not None:
        gaussian = under_replacement(ConcentratedLoss(rho), neighbours)
        assert isinstance(gaussian, ConcentratedLoss)
        rho = gaussian.rho
    return tau, rho
