"""The leakage of a release in (ε, δ): the smallest proven ε with its δ, and the result of every theorem."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayesdp._support import hooks, validation
from bayesdp._support.display import PrintedTable, Section, Words, warned
from bayesdp._support.messages import name_of, param, params
from bayesdp._support.validation import brief
from bayesdp.accuracy import BETA, Gaussian, gaussian_scale
from bayesdp.errors import InvalidInputError, NoTheoremAppliesError
from bayesdp.losses import (
    LIFT,
    ApproximateLoss,
    ConcentratedLoss,
    Loss,
    Neighbours,
    PrivacyProfile,
    PureLoss,
    composed,
    concentrated,
    under_replacement,
)
from bayesdp.models import Model
from bayesdp.queries import Query
from bayesdp.rounding import hardly_a_promise, shown_above, up
from bayesdp.theorems.ask import Reply, ask
from bayesdp.theorems.leakage import Assessment, Leakage, check_queries, combined_leakage, promised
from bayesdp.theorems.lift import Lifted, lifted
from bayesdp.theorems.spend import Release, Released, Spend, as_spend, queries_of
from bayesdp.theorems.theorem import Theorem

__all__ = [
    "ApproximateLeakage",
    "approximate_report",
    "as_losses",
    "has_delta",
    "promised_with_delta",
]

_PLAIN = 1e6
"""Up to this odds factor e^ε is shown as a number."""


@dataclass(frozen=True)
class ApproximateLeakage(Leakage):
    """The proven leakage of a spend in (ε, δ): for every set of answers, Pr[x] ≤ e^ε·Pr[x′] + δ.

    The fields are those of `Leakage`; `delta` is that of the promise.
    """

    def plot(self, path: str | Path) -> Path:
        """Plot which δ goes with which ε, by every theorem, and write the picture (.png, .svg or .pdf)."""
        drawn: Path = hooks.call("plot.approximate_leakage", self, path) if self.delta else super().plot(path)
        return drawn

    @property
    def loss(self) -> Loss:
        """The loss of the whole spend in ordinary differential privacy."""
        return composed([release.loss for release in self.spend])

    def _printed(self) -> Sequence[Section]:
        releases = "; ".join(f"{release.query.description} with {release.loss.description}" for release in self.spend)
        return [promised_with_delta(self, f"Releasing {releases}", self.epsilon)]

    @property
    def _table(self) -> PrintedTable:
        rows = [
            [
                assessment.theorem,
                shown_above(assessment.epsilon),
                shown_above(assessment.delta or 0.0, 3),
                "best" if assessment.theorem == self.headline else "",
            ]
            if assessment.epsilon is not None
            else [assessment.theorem, "–", "–", assessment.reason or ""]
            for assessment in self.assessments
        ]
        return PrintedTable(["theorem", "ε", "δ", ""], rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp leakage --json` prints; losses that do not exist are null."""
        loss = self.loss
        tau = loss.tau if isinstance(loss, PureLoss | ApproximateLoss) else None
        together = concentrated([release.loss for release in self.spend])
        rho = together.rho if together is not None and isinstance(loss, ConcentratedLoss) else None
        scale, alpha = _noise_of(self.spend)
        release = {
            "delta": self.delta,
            "tau": tau,
            "mechanism_delta": loss.delta if isinstance(loss, ApproximateLoss) else None,
            "rho": rho,
            "noise": None if scale is None else "gaussian",
            "scale": scale,
            "alpha": alpha,
        }
        return self._document(release, {"tau": tau, "rho": rho, "alpha": alpha})


def as_losses(
    releases: Query | Iterable[Released],
    *,
    tau: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    profile: PrivacyProfile | None = None,
    neighbours: Neighbours | None = None,
) -> tuple[Spend, float | None]:
    """Return a checked spend, and the δ of the promise if one is given, from what `leakage` takes.

    >>> from bayesdp.queries import Count
    >>> as_losses(Count(equals=1), tau=0.5, delta=1e-6)[0][0].loss, as_losses(Count(equals=1), rho=0.01, delta=1e-6)[1]
    (ApproximateLoss(tau=0.5, delta=1e-06), 1e-06)
    """
    given = [name for name, value in (("tau", tau), ("rho", rho), ("profile", profile)) if value is not None]
    if len(given) > 1:
        several = params(" and ".join(f"{{{name}}}" for name in given))
        raise InvalidInputError(several + " are each the whole loss of the release: give one of them")
    if delta is not None:
        delta = validation.probability("delta", delta)
    if not isinstance(releases, Query) or not given:
        if neighbours is not None and not isinstance(releases, Query):
            raise InvalidInputError(
                param("neighbours")
                + " goes with one query; convert the losses of several with bayesdp.losses.under_replacement"
            )
        if given and given != ["tau"]:
            raise InvalidInputError(
                "several releases bring their own losses: give [(query, loss), ...] without " + param(given[0])
            )
        return as_spend(releases, tau), delta
    if profile is not None:
        if not isinstance(profile, PrivacyProfile):
            raise InvalidInputError(name_of("profile") + f" must be a PrivacyProfile, not {brief(profile)}")
        if neighbours is not None:
            raise InvalidInputError(
                "a profile is for the neighbours it was made with; leave " + param("neighbours") + " out"
            )
        loss: Loss = profile
    elif rho is not None:
        _check_stated(releases, neighbours)
        loss = ConcentratedLoss(validation.positive("rho", rho))
    else:
        as_tau = validation.positive("tau", tau)
        loss, delta = _with_own_delta(releases, as_tau, delta, neighbours), None
    if delta is None and not isinstance(loss, PureLoss | ApproximateLoss):
        raise InvalidInputError(
            param(given[0]) + " needs " + param("delta") + ", that of the promise: each delta gives another epsilon"
        )
    if neighbours is not None:
        loss = under_replacement(loss, neighbours)
    return (Release(releases, loss),), delta


def _with_own_delta(query: Query, tau: float, delta: float | None, neighbours: Neighbours | None) -> Loss:
    if delta is None:
        return PureLoss(tau)
    _check_stated(query, neighbours)
    return ApproximateLoss(tau, delta)


def _check_stated(query: Query, neighbours: Neighbours | None) -> None:
    """Refuse a loss of a release made elsewhere without the data sets that it compares."""
    if query.made_elsewhere and neighbours is None:
        raise InvalidInputError(
            "the loss of a release made elsewhere needs "
            + param("neighbours", "replace")
            + " or "
            + param("neighbours", "add-remove")
            + ": most libraries compare data sets with a record more or less"
        )


def has_delta(spend: Spend) -> bool:
    """Return whether a loss of a spend is proven with a δ only."""
    return any(type(release.loss) in (ApproximateLoss, ConcentratedLoss, PrivacyProfile) for release in spend)


def approximate_report(
    model: Model, spend: Spend, delta: float | None, *, only: Sequence[Theorem] | None = None
) -> ApproximateLeakage:
    """Return the proven (ε, δ) of a spend if the data follow `model`.

    delta: the δ of the promise; by default the one to which the lift converts those of the losses.
    only:  the theorems to evaluate; by default all that are registered.

    Raises QueryError for queries the model does not describe, InvalidInputError for losses that do not compose, and
    NoTheoremAppliesError if nothing is proven.

    >>> from bayesdp.models import OddsChain
    >>> from bayesdp.queries import Count
    >>> spend = (Release(Count(equals=1), ConcentratedLoss(0.00144)),)
    >>> round(approximate_report(OddsChain(17.12), spend, 1e-6).epsilon, 2)
    1.0
    """
    check_queries(model, spend)
    rows = ask(model, lambda theorem, member: lifted(theorem, member, spend, delta), only=only)
    parts = [_under(member, spend, replies) for member, replies in zip(model.members, rows, strict=True)]
    return combined_leakage(model, parts)


def _under(model: Model, spend: Spend, replies: Sequence[Reply[Lifted]]) -> ApproximateLeakage:
    """Return the leakage under one model, by the theorem that proves least."""
    values = [(reply.theorem, reply.value) for reply in replies if reply.value is not None]
    if not values:
        raise NoTheoremAppliesError((reply.theorem.name, reply.reason or "") for reply in replies)
    theorem, best = min(values, key=lambda pair: (pair[1].epsilon, pair[1].delta))
    queries = queries_of(spend)
    return ApproximateLeakage(
        model=model,
        spend=spend,
        epsilon=best.epsilon,
        theorem=theorem.name,
        scope=theorem.scope(model, queries) if best.pure else theorem.approximate_scope(model, queries),
        unit=model.protects,
        proof=theorem.proof,
        worst_case=None,
        assessments=tuple(
            Assessment(reply.theorem.name, reason=reply.reason)
            if reply.value is None
            else Assessment(reply.theorem.name, reply.value.epsilon, delta=reply.value.delta)
            for reply in replies
        ),
        delta=best.delta,
    )


def _noise_of(spend: Spend) -> tuple[float | None, float | None]:
    """Return the scale and α of Gaussian noise on a single query; None for others, or where no scale is known."""
    if len(spend) != 1 or not isinstance(spend[0].loss, ConcentratedLoss):
        return None, None
    query = spend[0].query
    try:
        scale = gaussian_scale(query, spend[0].loss.rho)
        return scale, Gaussian(scale).alpha(BETA, cells=query.dimension)
    except InvalidInputError:
        return None, None


def promised_with_delta(leakage: ApproximateLeakage, release: str, epsilon: float, *more: str) -> Section:
    """Return the sentences of a guarantee: its leakage, the meaning of its δ, its theorem, assumption and scope."""
    if leakage.delta == 0:
        return promised(leakage, release, epsilon, *more)
    delta = shown_above(leakage.delta)
    factor = math.exp(epsilon) if epsilon < math.log(_PLAIN) else math.inf
    times = f"e^ε = {shown_above(up(factor, 2), 4)}" if factor < _PLAIN else f"e^{shown_above(epsilon)}"
    right = shown_above(100 * min(1.0, up((1 + leakage.delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon)), 4)), 4)
    proofs = [f"theorem {part.theorem}, {part.proof}" for part in leakage.parts or (leakage,)]
    listed = "; ".join(f"under model {index}: {proof}" for index, proof in enumerate(proofs, start=1))
    sentences = [
        f"{release} leaks at most ε = {shown_above(epsilon)} with δ = {delta} about {leakage.unit}",
        f"Whichever answers are named beforehand, their probability under one value is at most {times} times that "
        f"under another value, plus {delta}",
        f"An attacker who starts at 50 : 50 between two values and then guesses is right in at most {right} % of cases",
        f"This {'would be' if leakage.denial else 'is'} proven ({listed if leakage.parts else proofs[0]}, and {LIFT}) "
        f"if {leakage.assumption}",
        f"It covers {leakage.scope}",
    ]
    meaning = (
        "δ is not the probability that the bound fails. Rare answers may tell more than e^ε allows, and a release that "
        f"publishes a record outright with probability {delta} keeps this promise, too: choose δ far below one in "
        "the number of records."
    )
    warnings = [*leakage.denial, hardly_a_promise(epsilon), _large_delta(leakage)]
    paragraph = " ".join([*(f"{sentence}." for sentence in sentences), meaning, *leakage.notes, *more])
    return [Words(paragraph), *warned([warning for warning in warnings if warning is not None])]


def _large_delta(leakage: ApproximateLeakage) -> str | None:
    """Return a warning if δ is more than one in the number of records, where that is known."""
    length = getattr(leakage.model, "length", None)
    if not isinstance(length, int) or leakage.delta * length <= 1:
        return None
    shown = shown_above(leakage.delta)
    return f"δ = {shown} is more than one in the {length:,} records: publishing one of them outright would keep it."
