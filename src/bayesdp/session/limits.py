"""Limits on what the records of an account that promises (ε, δ) may spend: by the lift, or on the answers themselves.

Both bound a ρ. `LiftedLimits` bounds that of the mechanism, which the lift converts. `DirectLimits` bounds that of the
answers given two values of a target, which is proven for normal and arbitrary groups. An account is opened with one of
them and keeps it. Rules and proofs: docs/theory/accounting.md.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from bayesdp.calibration.calibrate import largest_taus
from bayesdp.concentrated import delta_of_rho, largest_rho, tau_of_rho
from bayesdp.errors import InvalidInputError, NoTheoremAppliesError, TooLargeError
from bayesdp.losses import ConcentratedLoss, Loss, PureLoss
from bayesdp.models import Model
from bayesdp.queries import AnyMechanism, Sum
from bayesdp.rounding import float_above, float_below
from bayesdp.session.accounting import PureTotal, rho_of
from bayesdp.session.parts import Reading, exposures, merged
from bayesdp.session.windows import Conversion, RecordSpend, conversions, largest_of_records
from bayesdp.theorems.ask import Reply, ask
from bayesdp.theorems.lift import allowed_delta, concentrated_rho, knows_rho
from bayesdp.theorems.spend import Release, Spend, queries_of
from bayesdp.theorems.theorem import Theorem

__all__ = [
    "DIRECT",
    "NOTHING_PROVEN",
    "RESERVED",
    "AccountLimits",
    "DirectLimits",
    "LiftedLimits",
    "Limits",
    "Proof",
    "RecordSpend",
    "best_conversion",
    "limits_for",
    "loss_delta",
    "loss_rho",
    "most_read",
]

RESERVED = Fraction(1, 10)
"""The part of δ that is set aside for the δ's of releases made elsewhere: a filter needs their limit beforehand."""

NOTHING_PROVEN = sys.float_info.max
"""The ε used so far once nothing is proven of an account any more: a release made elsewhere broke the promise."""

_LARGEST_TAU = 600.0
_ROUNDS = 100
_TOLERANCE = 1e-11
"""How far, relatively, the ε used so far may be above the smallest one."""

_REMEMBERED = 256
"""How many results of a search are kept."""

DIRECT = "direct"
"""The conversion of an account that was opened with direct limits, as it is stored."""

_CLEARLY = 1 + 1e-6

_E_LESS_ONE = Fraction(1_718_281_829, 10**9)
"""e − 1, rounded up."""

Proof = tuple[str, str, str]
"""The name of a theorem, its scope, and the page with its proof."""

_NO_PROOF: Proof = ("none", "nothing", "docs/theory/accounting.md")


@dataclass(frozen=True)
class Limits:
    """The most that each record of an account may spend under a promise of (ε, δ).

    tau:   every τ-DP mechanism leaks at most ε; None if the limits do not rest on one.
    rho:   the limit of Σρ.
    delta: the limit of the δ's of releases made elsewhere.
    """

    tau: float | None
    rho: float
    delta: float

    def allow(self, largest: RecordTotals) -> bool:
        """Tell whether the largest totals of any record are within the limits."""
        return largest.rho <= self.rho and largest.delta <= self.delta


@dataclass(frozen=True)
class RecordTotals:
    """The largest totals of any record: the sum of ρ's, and the sum of the δ's of releases made elsewhere."""

    rho: Fraction
    delta: Fraction


class AccountLimits(ABC):
    """How an account adds up what each record spent, and how much a promise of (ε, δ) allows."""

    @abstractmethod
    def at(self, epsilon: float) -> Limits:
        """Return the limits of a promise, zero if it is too small for any release."""

    @abstractmethod
    def record_totals(self, spent: Spend, touching: Sequence[Reading] | None = None) -> RecordTotals:
        """Return the largest totals of any record; of those that the queries read, if queries are given."""

    @abstractmethod
    def used(self, largest: RecordTotals, budget: float) -> float:
        """Return the ε that is proven of the largest totals; at most the budget if they are within its limits."""

    @abstractmethod
    def proof(self, spent: Spend, largest: RecordTotals, budget: float) -> Proof:
        """Return what proves the ε used so far."""

    @abstractmethod
    def largest_each(self, readings: Sequence[Reading], spent: Spend, target: Limits, budget: Limits) -> float:
        """Return the largest ρ found for each query at which the records that the queries read stay within a target.

        budget: the limits of all records.

        It is 0 if there is none. It need not be rounded down, since every charge is evaluated.
        """


@dataclass(frozen=True)
class LiftedLimits(AccountLimits):
    """Limits on the ρ of the mechanism, for theorems about every mechanism: the lift converts it.

    reserved: the limit of the δ's of releases made elsewhere, as the account was opened; by default that of each
              promise, which falls as the promise rises.
    """

    model: Model
    delta: float
    reserved: float | None = None
    _limits: dict[float, Limits] = field(default_factory=dict, compare=False, repr=False)
    _proven: dict[float, tuple[float, Theorem, Model]] = field(default_factory=dict, compare=False, repr=False)
    _found: dict[RecordTotals, float] = field(default_factory=dict, compare=False, repr=False)

    def at(self, epsilon: float) -> Limits:
        """Return the largest ρ found with (δ(ρ, τ) + reserve)·(e^ε − 1)/(e^τ − 1) ≤ δ.

        δ(ρ, τ) is that of a ρ-zCDP mechanism, and τ the largest with a proven ε.
        """
        if epsilon not in self._limits:
            _bounded(self._limits)
            self._limits[epsilon] = self._limits_of(epsilon)
        return self._limits[epsilon]

    def record_totals(self, spent: Spend, touching: Sequence[Reading] | None = None) -> RecordTotals:
        losses = [(one, (Fraction(loss_rho(one.loss)), Fraction(loss_delta(one.loss)))) for one in spent]
        totals = [
            total
            for total in largest_of_records(losses, *(() if touching is None else (touching,)), kinds=2)
            if touching is None or total[2]
        ]
        return RecordTotals(*(max((total[kind] for total in totals), default=Fraction(0)) for kind in (0, 1)))

    def used(self, largest: RecordTotals, budget: float) -> float:
        if largest.rho == 0:
            return 0.0
        tau = self._tau_used(largest, budget)
        return NOTHING_PROVEN if math.isinf(tau) else self._epsilon(tau)[0]

    def proof(self, spent: Spend, largest: RecordTotals, budget: float) -> Proof:
        tau = self._tau_used(largest, budget)
        if math.isinf(tau):
            return _NO_PROOF
        _, theorem, member = self._epsilon(tau)
        return theorem.name, theorem.approximate_scope(member, queries_of(spent)), theorem.proof

    def largest_each(self, readings: Sequence[Reading], spent: Spend, target: Limits, budget: Limits) -> float:
        before = self.record_totals(spent, readings)
        if before.delta > target.delta:
            return 0.0
        return float_below(max(Fraction(0), Fraction(target.rho) - before.rho) / most_read(readings))

    def _tau_used(self, largest: RecordTotals, budget: float) -> float:
        """Return the smallest τ found at which the lift proves δ of the largest totals."""
        limits = None if math.isinf(budget) else self.at(budget)
        known = limits.tau if limits is not None and limits.allow(largest) else None
        if largest not in self._found:
            _bounded(self._found)
            self._found[largest] = self._smallest_tau(largest, known)
        return self._found[largest] if known is None else min(self._found[largest], known)

    def _smallest_tau(self, largest: RecordTotals, known: float | None) -> float:
        """Return the smallest τ found that is enough: evaluated, or known to be enough; infinite if there is none."""
        rho = float_above(largest.rho)
        low, high = 0.0, tau_of_rho(rho, self.delta) if known is None else known
        while (excess := self._excess(largest, rho, high)) > 0 and known is None:
            low, high = high, 2 * high
            if high > _LARGEST_TAU:
                return math.inf
        below = math.inf
        for _ in range(_ROUNDS):
            if high - low <= _TOLERANCE * high:
                break
            middle = (low + high) / 2
            if math.isfinite(below) and math.isfinite(excess):  # along the chord, but never close to an end
                middle = high - (high - low) * min(max(excess / (excess - below) - _TOLERANCE, 1e-3), 0.999)
            found = self._excess(largest, rho, middle)
            low, below, high, excess = (low, below, middle, found) if found <= 0 else (middle, found, high, excess)
        return high

    def _excess(self, largest: RecordTotals, rho: float, tau: float) -> float:
        """Return the logarithm of how much larger the δ's are than the lift at τ allows; τ is enough if it is ≤ 0."""
        try:
            allowed = allowed_delta(self.delta, self._epsilon(tau)[0], tau)
        except TooLargeError:
            return math.inf
        elsewhere, rest = self._divided(allowed)
        pairs = ((float_above(largest.delta), elsewhere), (delta_of_rho(rho, tau), rest))
        if any(spent > limit for spent, limit in pairs):
            return max(_log_ratio(spent, limit) for spent, limit in pairs) or math.ulp(0.0)
        return min(0.0, max(_log_ratio(spent, limit) for spent, limit in pairs))

    def _epsilon(self, tau: float) -> tuple[float, Theorem, Model]:
        """Return the ε of every τ-DP mechanism under the worst member of the model, its theorem and that member."""
        if tau not in self._proven:
            _bounded(self._proven)
            rows = ask(self.model, lambda theorem, member: theorem.epsilon(member, _any(tau)), only=self._theorems)
            best = [_best(replies) for replies in rows]
            worst = max(range(len(best)), key=lambda place: best[place][0])
            self._proven[tau] = (*best[worst], self.model.members[worst])
        return self._proven[tau]

    def _limits_of(self, epsilon: float) -> Limits:
        rows = ask(
            self.model,
            lambda theorem, member: largest_taus(theorem, member, AnyMechanism(), [epsilon])[0] or 0.0,
            only=self._theorems,
        )
        largest = [max((reply.value or 0.0 for reply in replies), default=0.0) for replies in rows]
        for replies in rows:
            if all(reply.value is None for reply in replies):
                raise NoTheoremAppliesError((reply.theorem.name, reply.reason or "") for reply in replies)
        tau = min(largest)
        allowed = allowed_delta(self.delta, self._epsilon(tau)[0], tau) if tau > 0 else 0.0
        elsewhere, rest = self._divided(allowed)
        rho = largest_rho(tau, rest) if rest > 0 else 0.0
        if rho <= 0 or self._epsilon(tau)[0] > epsilon:
            return Limits(0.0, 0.0, 0.0)
        return Limits(tau, rho, elsewhere)

    def _divided(self, allowed: float) -> tuple[float, float]:
        """Return how much of a δ is for releases made elsewhere, and how much for the sum of ρ's."""
        if self.reserved is None:
            return _reserved(allowed), _rest(allowed)
        return self.reserved, float_below(Fraction(allowed) - Fraction(self.reserved))

    @cached_property
    def _theorems(self) -> tuple[Theorem, ...]:
        """The theorems that the lift can use, for any number of releases."""
        from bayesdp.theorems.registry import theorems

        return tuple(theorem for theorem in theorems() if theorem.covers_every_mechanism and theorem.composes)


@dataclass(frozen=True)
class DirectLimits(AccountLimits):
    """Limits on the ρ of the answers given two values of a target, for theorems that bound it (`concentrated`).

    A sum on normal groups counts by how far the value of one record can move it, any other release by the size of the
    group. The limit is the largest ρ found with δ(ρ, ε) ≤ δ, without a lift.
    """

    model: Model
    delta: float
    _limits: dict[float, Limits] = field(default_factory=dict, compare=False, repr=False)
    _found: dict[tuple[Model, Spend], _Bound] = field(default_factory=dict, compare=False, repr=False)

    def at(self, epsilon: float) -> Limits:
        if epsilon not in self._limits:
            _bounded(self._limits)
            rho = largest_rho(epsilon, _rest(self.delta)) if epsilon > 0 else 0.0
            self._limits[epsilon] = Limits(None, rho, self._most_delta if rho else 0.0)
        return self._limits[epsilon]

    def record_totals(self, spent: Spend, touching: Sequence[Reading] | None = None) -> RecordTotals:
        parts = exposures(_as_amounts(spent), touching or ())
        ways = [conversions(part) for part in parts if touching is None or part.added]
        rhos = (min(self._rho_by(way, touched=touching is not None) for way in each) for each in ways)
        return RecordTotals(max(rhos, default=Fraction(0)), self._delta_of_recorded(spent, touching))

    def used(self, largest: RecordTotals, budget: float) -> float:
        if largest.delta > self._most_delta:
            return NOTHING_PROVEN
        if largest.rho == 0:
            return 0.0
        epsilon = tau_of_rho(float_above(largest.rho), _rest(self.delta))
        return min(epsilon, budget) if math.isfinite(budget) and self.at(budget).allow(largest) else epsilon

    def proof(self, spent: Spend, largest: RecordTotals, budget: float) -> Proof:
        if largest.delta > self._most_delta:
            return _NO_PROOF
        parts = (conversions(part) for part in exposures(_as_amounts(spent)))
        least = [min((self._worst(way.spent) for way in ways), key=lambda found: found.rho) for ways in parts]
        worst = max(least, key=lambda found: found.rho)
        scope = worst.theorem.approximate_scope(worst.member, queries_of(worst.spend))
        return worst.theorem.name, scope, worst.theorem.proof

    def largest_each(self, readings: Sequence[Reading], spent: Spend, target: Limits, budget: Limits) -> float:
        if self._delta_of_recorded(spent, readings) > target.delta:
            return 0.0
        touched = [part for part in exposures(_as_amounts(spent), readings) if part.added]
        return float_below(min(max(self._fitting(way, target, budget) for way in conversions(one)) for one in touched))

    def _rho_by(self, way: Conversion, *, touched: bool) -> Fraction:
        """Return the ρ of the answers by one conversion; touched: about the records that new releases read."""
        return max(
            self._worst(spend).rho for spend in ([record.spent for record in way.touched] if touched else [way.spent])
        )

    def _fitting(self, way: Conversion, target: Limits, budget: Limits) -> Fraction:
        """Return the largest ρ of each new query that a conversion allows."""
        limits = [
            *((record, target.rho) for record in way.touched),
            *((record, budget.rho) for record in way.joint if record.added),
        ]
        return min(self._within(record, most, member) for record, most in limits for member in self.model.members)

    def _within(self, record: RecordSpend, most: float, member: Model) -> Fraction:
        """Return the largest ρ of each new query; the ρ of the answers is linear in it."""
        if most <= 0:
            return Fraction(0)
        once, twice = (self._by(member, record.after(rho)).rho for rho in (most, 2 * most))
        left = Fraction(most) - (2 * once - twice)
        return max(Fraction(0), left) * Fraction(most) / (twice - once)

    def _delta_of_recorded(self, spent: Spend, touching: Sequence[Reading] | None) -> Fraction:
        """Return the sum of the δ's of releases made elsewhere; 1 if their ρ is too large for the limit on them."""
        foreign = tuple(one for one in spent if loss_delta(one.loss))
        size, rho = self._largest_group or 0, sum((Fraction(loss_rho(one.loss)) for one in foreign), Fraction(0))
        return (
            Fraction(1)
            if 2 * size**2 * rho > 1
            else LiftedLimits(self.model, self.delta).record_totals(foreign, touching).delta
        )

    @cached_property
    def _most_delta(self) -> float:
        """The limit of the δ's of releases made elsewhere: for groups of m, a δ counts at most m·(e − 1) times.

        By group privacy a (τ, δ)-DP release counts δ·(e^mτ − 1)/(e^τ − 1), and mτ is at most 1.
        """
        size = self._largest_group
        return 0.0 if size is None else float_below(Fraction(_reserved(self.delta)) / (size * _E_LESS_ONE))

    @property
    def _largest_group(self) -> int | None:
        sizes = [member.group_size for member in self.model.members]
        return None if None in sizes else max(size for size in sizes if size is not None)

    def _worst(self, spend: Spend) -> _Bound:
        """Return the bound on releases under the worst member of the model."""
        return max((self._by(member, spend) for member in self.model.members), key=lambda found: found.rho)

    def _by(self, member: Model, spend: Spend) -> _Bound:
        """Return the best theorem's bound under one model on releases whose "τ" are ρ's."""
        if (member, spend) not in self._found:
            _bounded(self._found)
            self._found[member, spend] = self._bound(member, spend)
        return self._found[member, spend]

    def _bound(self, member: Model, spend: Spend) -> _Bound:
        if not spend:
            return _Bound(Fraction(0), self._theorems[-1], member, spend)
        releases = tuple(Release(one.query, ConcentratedLoss(one.tau)) for one in spend)
        (replies,) = ask(member, lambda theorem, one: concentrated_rho(theorem, one, releases), only=self._theorems)
        rho, theorem = _best(replies)
        return _Bound(Fraction(rho), theorem, member, spend)

    @cached_property
    def _theorems(self) -> tuple[Theorem, ...]:
        """The theorems that bound the ρ of answers, for any number of releases."""
        from bayesdp.theorems.registry import theorems

        return tuple(theorem for theorem in theorems() if knows_rho(theorem) and theorem.composes)


@dataclass(frozen=True)
class _Bound:
    """A proven ρ of the answers to releases, with the theorem and the model that it holds under."""

    rho: Fraction
    theorem: Theorem
    member: Model
    spend: Spend


def limits_for(
    model: Model, delta: float, conversion: str | None = None, reserved: float | None = None
) -> AccountLimits:
    """Return the limits of an account that was opened with a conversion: None is the lift.

    >>> from bayesdp import ArbitraryGroups
    >>> lifted, direct = (limits_for(ArbitraryGroups(3), 1e-6, name).at(1.0).rho for name in (None, DIRECT))
    >>> lifted < direct / 9 < 1.2 * lifted
    True
    """
    return DirectLimits(model, delta) if conversion == DIRECT else LiftedLimits(model, delta, reserved)


def best_conversion(model: Model, epsilon: float, delta: float) -> str | None:
    """Return the conversion with which an account is opened: the one that allows the larger ρ of a clipped sum.

    >>> from bayesdp import GaussianGroups, Independent, OddsChain
    >>> [best_conversion(model, 1.0, 1e-6) for model in (GaussianGroups(correlation=0.3, size=3), OddsChain(9.0))]
    ['direct', None]
    """
    distances = [getattr(member, "distance", None) for member in model.members]
    probe = Reading(Sum(bounds=(0.0, max((each for each in distances if each is not None), default=1.0))))
    largest = []
    for conversion in (DIRECT, None):
        limits = limits_for(model, delta, conversion)
        try:
            largest.append(limits.largest_each((probe,), (), limits.at(epsilon), limits.at(epsilon)))
        except NoTheoremAppliesError:
            largest.append(0.0)
    direct, lifted = largest
    return DIRECT if direct > lifted * _CLEARLY else None


def loss_rho(loss: Loss) -> float:
    """Return the ρ of a loss; InvalidInputError if none is proven here."""
    if isinstance(loss, PureLoss):
        return rho_of(loss.tau)
    if isinstance(loss, PureTotal | ConcentratedLoss):
        return loss.rho
    raise InvalidInputError(f"this account has no rho for {loss.kind}")


def loss_delta(loss: Loss) -> float:
    """Return the δ that a release made elsewhere has beside its ρ; 0 without one."""
    return loss.delta if isinstance(loss, ConcentratedLoss) else 0.0


def most_read(readings: Sequence[Reading]) -> Fraction:
    """Return the largest number of the queries that read one record."""
    return max(number for _, number in largest_of_records((), readings))


def _as_amounts(spent: Spend) -> Spend:
    """Return each release with its ρ in the place of τ: both add up by records and parts in the same way."""
    return merged(Release(one.query, loss_rho(one.loss), one.region) for one in spent)


def _best(replies: Sequence[Reply[float]]) -> tuple[float, Theorem]:
    """Return the smallest value proven under one model, and its theorem."""
    values = [(reply.value, reply.theorem) for reply in replies if reply.value is not None]
    if not values:
        raise NoTheoremAppliesError((reply.theorem.name, reply.reason or "") for reply in replies)
    return min(values, key=lambda pair: pair[0])


def _rest(allowed: float) -> float:
    return float_below(Fraction(allowed) * (1 - RESERVED))


def _reserved(allowed: float) -> float:
    return float_below(Fraction(allowed) * RESERVED)


def _any(tau: float) -> Spend:
    return (Release(AnyMechanism(), tau),)


def _log_ratio(spent: float, limit: float) -> float:
    if spent <= 0:
        return -math.inf
    return math.log(spent) - math.log(limit) if limit > 0 else math.inf


def _bounded(kept: dict[Any, Any]) -> None:
    """Empty a cache that is full."""
    if len(kept) >= _REMEMBERED:
        kept.clear()
