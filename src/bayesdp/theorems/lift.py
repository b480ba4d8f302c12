"""From theorems about τ-DP mechanisms to (ε, δ): one conversion for every theorem that covers every mechanism.

If every τ-DP mechanism leaks at most ε(τ), then every (τ, δ)-DP mechanism is (ε(τ), δ′)-BDP with
δ′ = δ·(e^ε(τ) − 1)/(e^τ − 1). docs/theory/approximate.md has the proof, and why no smaller factor would do.

A theorem about a certain noise does not lift. It may know the Rényi divergence of the answers themselves instead
(`Theorem.concentrated`), as those about normal records do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from bayesdp._support import validation
from bayesdp._support.messages import param
from bayesdp.concentrated import tau_of_rho
from bayesdp.errors import DoesNotApplyError, InvalidInputError, TooLargeError
from bayesdp.losses import ApproximateLoss, ConcentratedLoss, Loss, PureLoss, composed, concentrated
from bayesdp.models import Model
from bayesdp.queries import AnyMechanism
from bayesdp.rounding import down, float_above, shown_above, up
from bayesdp.theorems.spend import Release, Spend, losses_of, queries_of
from bayesdp.theorems.theorem import Theorem

__all__ = [
    "DOES_NOT_LIFT",
    "Lifted",
    "allowed_delta",
    "concentrated_rho",
    "knows_rho",
    "lifted",
    "lifted_delta",
    "objection",
]

_ULPS = 8
"""Two library functions and their quotient, with room to spare."""

_LARGEST_EXPONENT = 700.0
"""e to this power is a float."""

_LARGEST_TAU = 600.0
_TOLERANCE = 1e-9
_ROUNDS = 200

DOES_NOT_LIFT = (
    "it is proven for pure differential privacy with a certain noise only, and does not lift to (epsilon, delta)"
)


@dataclass(frozen=True)
class Lifted:
    """What one theorem proves in (ε, δ); pure if it holds without any δ."""

    epsilon: float
    delta: float
    pure: bool = False


def lifted_delta(delta: float, epsilon: float, tau: float) -> float:
    """Return δ·(e^ε − 1)/(e^τ − 1), rounded up; infinite beyond the largest float.

    >>> lifted_delta(1e-6, 2.0, 1.0) >= 1e-6 * (1 + 2.718281828)
    True
    >>> lifted_delta(0.5, 0.0, 1.0)
    0.0
    """
    tau = validation.positive("tau", tau)
    if delta == 0 or epsilon == 0:
        return 0.0
    exponent = float_above(Fraction(epsilon) - Fraction(tau))
    if exponent > _LARGEST_EXPONENT:
        return math.inf
    ratio = math.exp(exponent) * -math.expm1(-epsilon) / -math.expm1(-tau)
    return up(max(delta * ratio, 0.0) * (1 + _ULPS * 2.0**-52), _ULPS)


def allowed_delta(delta: float, epsilon: float, tau: float) -> float:
    """Return the largest δ of a (τ, δ)-DP mechanism that the lift takes to at most `delta`, rounded down; at most 1.

    >>> allowed = allowed_delta(1e-6, 2.0, 1.0)
    >>> lifted_delta(allowed, 2.0, 1.0) <= 1e-6 < lifted_delta(1.0001 * allowed, 2.0, 1.0)
    True
    """
    if epsilon == 0:
        return 1.0
    factor = lifted_delta(1.0, epsilon, tau)
    allowed = min(1.0, delta / factor)
    while allowed > 0 and lifted_delta(allowed, epsilon, tau) > delta:
        allowed = down(allowed * (1 - _ULPS * 2.0**-52), _ULPS)
    return max(allowed, 0.0)


def objection(theorem: Theorem, model: Model, spend: Spend) -> str | None:
    """Return why a theorem gives no (ε, δ) for a spend, or None; sizes of losses do not matter."""
    if _all_pure(spend) and theorem.objection(model, spend) is None:
        return None
    if theorem.covers_every_mechanism:
        return theorem.objection(model, _any(1.0))
    reason = theorem.objection(model, _as_if_pure(spend))
    if reason is not None:
        return reason
    if not knows_rho(theorem):
        return DOES_NOT_LIFT
    if not set(losses_of(spend)) <= {PureLoss, ConcentratedLoss}:
        return (
            "it covers losses that are a tau or a rho: a delta, or a privacy profile, says nothing about a smaller "
            "move of a sum"
        )
    return None


def knows_rho(theorem: Theorem) -> bool:
    """Tell whether a theorem bounds the Rényi divergence of the answers themselves."""
    return type(theorem).concentrated is not Theorem.concentrated


def concentrated_rho(theorem: Theorem, model: Model, spend: Spend) -> float:
    """Return the ρ that a theorem proves for the answers of releases with a τ or a ρ each, rounded up.

    Raises DoesNotApplyError with the reason where it proves none.
    """
    reason = theorem.objection(model, _as_if_pure(spend)) or (None if knows_rho(theorem) else DOES_NOT_LIFT)
    rho = None if reason is not None else theorem.concentrated(model, spend)
    if rho is None:
        raise DoesNotApplyError(theorem.name, reason or DOES_NOT_LIFT)
    return rho


def lifted(theorem: Theorem, model: Model, spend: Spend, delta: float | None) -> Lifted:
    """Return the smallest ε a theorem proves for a spend, with its δ.

    delta: the δ of the promise; None takes what the lift makes of the losses' own, which must be τ's and (τ, δ)'s.

    Raises DoesNotApplyError with the reason where the theorem gives none, and InvalidInputError where losses do not
    compose or the δ of the promise is missing.
    """
    reason = objection(theorem, model, spend)
    if reason is not None:
        raise DoesNotApplyError(theorem.name, reason)
    proven = []
    if _all_pure(spend) and theorem.objection(model, spend) is None:
        proven.append(Lifted(theorem.epsilon(model, spend), delta or 0.0, pure=True))
    if theorem.covers_every_mechanism:
        proven += [_of_loss(theorem, model, loss, delta) for loss in _together(spend, delta)]
    rho = _concentrated(theorem, model, spend) if delta is not None else None
    if rho is not None:
        assert delta is not None
        proven.append(Lifted(tau_of_rho(rho, delta), delta))
    return _least(theorem, proven)


def _least(theorem: Theorem, proven: Sequence[Lifted]) -> Lifted:
    best = min(proven, key=lambda one: (one.delta >= 1, one.epsilon, one.delta))
    if math.isinf(best.epsilon):
        raise DoesNotApplyError(theorem.name, "no epsilon makes its delta as small as that of the promise")
    if best.delta >= 1:
        raise DoesNotApplyError(
            theorem.name,
            f"its delta would be {shown_above(best.delta, 3)}, and 1 or more promises nothing; a smaller delta of the "
            "release is needed",
        )
    return best


def _together(spend: Spend, delta: float | None) -> list[Loss]:
    """Return what a spend costs as one loss, in each of the ways that may be the best."""
    losses = [release.loss for release in spend]
    natural = composed(losses)
    if delta is None:
        if type(natural) not in (PureLoss, ApproximateLoss):
            raise InvalidInputError(
                f"a release with {natural.description} has no delta of its own: give "
                + param("delta")
                + ", that of the promise"
            )
        return [natural]
    other = concentrated(losses) if len(losses) > 1 else None
    return [natural] if other is None or other == natural else [natural, other]


def _of_loss(theorem: Theorem, model: Model, loss: Loss, delta: float | None) -> Lifted:
    """Return what the lift makes of one loss."""

    def at(tau: float) -> Lifted:
        spent = loss.delta_at(tau)
        if spent >= 1:
            return Lifted(math.inf, math.inf)
        epsilon = theorem.epsilon(model, _any(tau))
        return Lifted(epsilon, lifted_delta(spent, epsilon, tau))

    if isinstance(loss, PureLoss):
        return Lifted(theorem.epsilon(model, _any(loss.tau)), delta or 0.0, pure=True)
    if delta is None:
        assert isinstance(loss, ApproximateLoss)
        return at(loss.tau)
    return _smallest(at, _first(loss, delta), delta)


def _smallest(at: Callable[[float], Lifted], start: float, delta: float) -> Lifted:
    """Return the promise at the smallest τ found at which the lifted δ is at most that of the promise.

    Whatever τ is found was evaluated, and what holds there is a promise.
    """
    high, best, below = start, _kept(at, start), None
    while best.delta > delta:
        high, below = 2 * high, best
        if high > _LARGEST_TAU:
            return Lifted(math.inf, math.inf)
        best = _kept(at, high)
    low, below = high / 2, below or _kept(at, high / 2)
    while high > start * 2.0**-30 and below.delta <= delta:
        high, best, low = low, below, low / 2
        below = _kept(at, low)
    # The false position (Illinois) of a δ that is a little smaller, so that what is found is not just above it.
    aim = delta * (1 - _TOLERANCE / 2)
    excess_low, excess_high, stays = _excess(below, aim), _excess(best, aim), ""
    for turn in range(_ROUNDS):
        if high - low <= _TOLERANCE * high or best.delta >= delta * (1 - _TOLERANCE):
            break
        straight = turn % 4 < 3 and 0 < excess_low - excess_high < math.inf
        share = excess_low / (excess_low - excess_high) if straight else 0.5
        middle = low + share * (high - low)
        if not low < middle < high:
            break
        found = _kept(at, middle)
        if found.delta <= delta:
            high, best, excess_high = middle, found, _excess(found, aim)
            excess_low, stays = excess_low / 2 if stays == "low" else excess_low, "low"
        else:
            low, excess_low = middle, _excess(found, aim)
            excess_high, stays = excess_high / 2 if stays == "high" else excess_high, "high"
    return Lifted(best.epsilon, delta)


def _excess(found: Lifted, delta: float) -> float:
    """Return by how much the logarithm of a lifted δ exceeds that of the promise."""
    return math.log(found.delta / delta) if 0 < found.delta < math.inf else math.copysign(math.inf, found.delta - delta)


def _kept(at: Callable[[float], Lifted], tau: float) -> Lifted:
    try:
        return at(tau)
    except TooLargeError:
        return Lifted(math.inf, math.inf)


def _first(loss: Loss, delta: float) -> float:
    """Return the smallest τ found at which the loss itself has a δ of at most `delta`."""
    low, high = 0.0, 2.0**-20
    while loss.delta_at(high) > delta and high < _LARGEST_TAU:
        low, high = high, 2 * high
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if loss.delta_at(middle) <= delta else (middle, high)
    return high


def _concentrated(theorem: Theorem, model: Model, spend: Spend) -> float | None:
    known = all(type(release.loss) in (PureLoss, ConcentratedLoss) for release in spend)
    deltas = any(isinstance(release.loss, ConcentratedLoss) and release.loss.delta for release in spend)
    if not known or deltas or theorem.objection(model, _as_if_pure(spend)) is not None:
        return None
    return theorem.concentrated(model, spend)


def _all_pure(spend: Spend) -> bool:
    return all(release.pure for release in spend)


def _any(tau: float) -> Spend:
    return (Release(AnyMechanism(), tau),)


def _as_if_pure(spend: Spend) -> Spend:
    return tuple(Release(query, 1.0) for query in queries_of(spend))
