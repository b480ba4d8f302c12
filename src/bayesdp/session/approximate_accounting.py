"""Accounts that promise (ε, δ): a filter in zero-concentrated privacy. Rules and proofs: docs/theory/accounting.md.

The promise is fixed when the account is opened, and with it a limit on Σρ. A release is allowed as long as no record
meets more than that limit, or as long as everything released is pure and proven to leak at most ε. What such an account
has used so far is the ε that the same releases could have promised at the same δ; it is shown, and guarantees nothing.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from bayesdp._support.messages import param
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.concentrated import delta_of_rho, largest_rho, tau_of_rho
from bayesdp.errors import (
    BudgetError,
    CalibrationError,
    InvalidInputError,
    NoTheoremAppliesError,
    TooLargeError,
)
from bayesdp.losses import ConcentratedLoss, Loss, PureLoss
from bayesdp.models import Model
from bayesdp.queries import AnyMechanism, Query
from bayesdp.rounding import down, float_above, float_below
from bayesdp.session.accounting import Accountant, Cost, PureTotal, remaining, rho_of
from bayesdp.session.parts import merged, most_met
from bayesdp.theorems.approximate import ApproximateLeakage
from bayesdp.theorems.ask import Reply, ask
from bayesdp.theorems.leakage import Leakage
from bayesdp.theorems.lift import allowed_delta
from bayesdp.theorems.spend import Release, Spend, queries_of
from bayesdp.theorems.theorem import Theorem

__all__ = ["NOTHING_PROVEN", "RESERVED", "ApproximateAccountant", "Limits", "NoiseKind", "accountant_for"]

NoiseKind = Literal["laplace", "gaussian"]

RESERVED = Fraction(1, 10)
"""The part of δ that is set aside for the δ's of releases made elsewhere: a filter needs their limit beforehand."""

NOTHING_PROVEN = sys.float_info.max
"""The ε used so far of an account of which nothing is proven any more: a release that was out already broke it."""

_PROOF = "docs/theory/accounting.md"

_LARGEST_TAU = 600.0
_ROUNDS = 100
_TOLERANCE = 1e-11
"""How far, relatively, the ε used so far may be above the smallest one."""

_ROUNDED = Fraction(1, 2**40)
"""By so much is a share of the limit less than it says: then a hundred hundredths fit, though totals are rounded up."""

_REMEMBERED = 256
"""How many results of a search are kept."""

_NUDGES = 64
"""How often a loss is lowered, by twice as much each time, until the totals, each rounded up, are within the limit."""


@dataclass(frozen=True)
class Limits:
    """What the records of an account may meet at most for a promise of (ε, δ).

    tau:   every τ-DP mechanism leaks at most ε.
    rho:   the limit of Σρ.
    delta: the limit of the δ's of releases made elsewhere.
    """

    tau: float
    rho: float
    delta: float

    def allow(self, met: Met) -> bool:
        """Tell whether what a record met is within the limits."""
        return met.rho <= self.rho and met.delta <= self.delta


@dataclass(frozen=True)
class Met:
    """What one record met at most: the sum of ρ's, and the sum of the δ's of releases made elsewhere."""

    rho: Fraction
    delta: Fraction


@dataclass(frozen=True)
class ApproximateAccountant:
    """Converts what an account holds that promises (ε, δ).

    model: the model that the account was opened with. What is learnt later does not raise its limits, which must be
           fixed before anything is released.
    delta: the δ of the promise.

    >>> from bayesdp import Count, OddsChain
    >>> account = ApproximateAccountant(OddsChain(17.12), 1e-6)
    >>> costs = account.offers((Count(equals=1),), epsilon=None, share=0.01, noise=None, spent=(), budget=1.0)
    >>> [cost.loss.description for cost in costs]
    ['tau = 0.00535098', 'rho = 1.43165e-05']
    """

    model: Model
    delta: float
    _limits: dict[float, Limits] = field(default_factory=dict, compare=False, repr=False)
    _proven: dict[float, tuple[float, Theorem, Model]] = field(default_factory=dict, compare=False, repr=False)
    _found: dict[Met, float] = field(default_factory=dict, compare=False, repr=False)

    @property
    def credibility(self) -> None:
        """None: promises for a share of a posterior have no δ."""
        return None

    def limits(self, epsilon: float) -> Limits:
        """Return the limits of a promise, zero if it is too small for any release.

        The ρ is the largest found with (δ(ρ, τ) + reserve)·(e^ε − 1)/(e^τ − 1) ≤ δ, where δ(ρ, τ) is that of a ρ-zCDP
        mechanism and τ the largest with a proven ε.
        """
        if epsilon not in self._limits:
            _bounded(self._limits)
            self._limits[epsilon] = self._limits_of(epsilon)
        return self._limits[epsilon]

    def check(self, epsilon: float) -> None:
        """Refuse a promise that no release can keep: CalibrationError, or NoTheoremAppliesError if none is proven."""
        if not self.limits(epsilon).rho:
            raise CalibrationError(
                f"no theorem that holds for every mechanism reaches epsilon = {epsilon:g} with delta = {self.delta:g}"
            )

    def leaked(self, spent: Spend, budget: float = math.inf) -> float:
        """Return the ε used so far: at the δ of the account, or without any if everything was pure; 0 if nothing was.

        budget: a promise within whose limits all of it is, if it is: then it is at most that.
        """
        return self._leaked(spent, self._met(spent), budget)

    def leaked_about(self, queries: tuple[Query, ...], spent: Spend, budget: float = math.inf) -> float:
        """Return the ε used so far about the parts of the table that queries touch."""
        pure = _pure(spent)
        used = self._used(self._met(spent, queries), budget)
        return used if pure is None else min(used, self._accountant.leaked_about(queries, pure))

    def leakage_of(self, spent: Spend, budget: float = math.inf) -> Leakage:
        """Return the ε used so far, with the theorem that proves it, and its scope."""
        pure, met = _pure(spent), self._met(spent)
        used = self._used(met, budget)
        alone = None if pure is None else self._accountant.leakage_of(pure)
        if alone is not None and alone.epsilon <= used:
            return alone
        tau = self._tau_used(met, budget)
        if math.isinf(tau):
            name, scope, proof = "none", "nothing", _PROOF
        else:
            _, theorem, member = self._epsilon(tau)
            name, proof = theorem.name, theorem.proof
            scope = theorem.approximate_scope(member, queries_of(spent))
        return ApproximateLeakage(
            model=self.model,
            spend=spent,
            epsilon=used,
            theorem=name,
            scope=scope,
            unit=self.model.protects,
            proof=proof,
            worst_case=None,
            assessments=(),
            delta=self.delta,
        )

    def sensitivity_to_assumption(self, spent: Spend, epsilon: float) -> tuple[str, ...]:
        """Return nothing: what a weaker assumption would leak is computed for promises of ε alone."""
        return ()

    def offers(
        self,
        queries: tuple[Query, ...],
        *,
        epsilon: float | None,
        share: float | None,
        noise: NoiseKind | None,
        spent: Spend,
        budget: float,
    ) -> tuple[Cost, ...]:
        """Return the largest loss of each query for every kind of noise that is asked for and allowed.

        epsilon: by how much the ε used so far may rise.        share: or which share of the limit is taken.

        Raises BudgetError if that is more than what remains, CalibrationError if no noise is enough.
        """
        self.model.check_queries(queries)
        standing = tuple(query.ledger_key().query for query in queries)
        target = None
        if share is not None or noise == "gaussian":
            self._check_not_passed(standing, spent, budget)
        if share is not None:
            whole = Fraction(self.limits(budget).rho) * (1 - _ROUNDED)
            each = float_below(Fraction(share) * whole / _most(standing))
            losses: list[Loss] = [loss for loss in (_laplace(each), _gaussian(each)) if loss is not None]
        else:
            assert epsilon is not None
            losses, target = self._up_to(queries, standing, epsilon, spent, budget)
        wanted = [loss for loss in losses if noise in (None, "laplace" if isinstance(loss, PureLoss) else "gaussian")]
        if not wanted:
            asked = f"epsilon = {epsilon:g}" if share is None else f"a share of {share:g}"
            kind = "" if noise is None else f" {noise.capitalize()}"
            raise CalibrationError(f"no{kind} noise is enough for {asked} after what was released; ask for more")
        return tuple(self.cost_of_loss(queries, loss, spent=spent, budget=budget, target=target) for loss in wanted)

    def cost_of_loss(
        self,
        queries: tuple[Query, ...],
        loss: Loss,
        *,
        spent: Spend,
        budget: float,
        enforced: bool = True,
        target: float | None = None,
    ) -> Cost:
        """Return what releases with a given loss each cost.

        enforced: refuse with BudgetError what the account does not allow.
        target:   a promise that is kept afterwards about what the queries touch, if it is.
        """
        self.model.check_queries(queries)
        standing = tuple(query.ledger_key().query for query in queries)
        before = self.leaked_about(queries, spent, budget)
        totals = _together(spent, standing, loss)
        if enforced and not self._allowed(totals, budget):
            raise BudgetError(self.leaked_about(queries, totals, budget) - before, remaining(budget, before))
        after = max(before, min(self.leaked_about(queries, totals, budget), self._most_after(totals, standing, target)))
        leakage = self.leakage_of(totals, budget)
        leakage = replace(leakage, epsilon=max(leakage.epsilon, after))
        further = self.further(totals, standing, loss, budget)
        return Cost(loss, before, leakage, budget, after, totals, further)

    def _check_not_passed(self, standing: tuple[Query, ...], spent: Spend, budget: float) -> None:
        """Refuse what is taken of the limit if pure releases have passed it and keep the promise without any δ."""
        if self._allowed(spent, budget) and not self.limits(budget).allow(self._met(spent, standing)):
            raise CalibrationError(
                "the pure releases so far have passed the limit of which Gaussian noise and shares are taken, and go "
                "on without a delta: ask with " + param("epsilon") + ", for Laplace noise"
            )

    def _most_after(self, totals: Spend, standing: tuple[Query, ...], target: float | None) -> float:
        """Return the target if what the queries touch keeps it: the search for the smallest ε may end just above."""
        kept = target is not None and self.limits(target).allow(self._met(totals, standing))
        return math.inf if target is None or not kept else target

    def _up_to(
        self, queries: tuple[Query, ...], standing: tuple[Query, ...], epsilon: float, spent: Spend, budget: float
    ) -> tuple[list[Loss], float]:
        """Return the largest losses that raise the ε used so far by at most `epsilon`, and to what at most."""
        before = self.leaked_about(queries, spent, budget)
        left = remaining(budget, before) if self._allowed(spent, budget) else 0.0
        if epsilon > left:
            raise BudgetError(epsilon, left)
        target = min(float_below(Fraction(before) + Fraction(epsilon)), budget)
        rho = self._largest_each(standing, spent, target)
        laplace, gaussian = (self._fitting(loss, standing, spent, target) for loss in (_laplace(rho), _gaussian(rho)))
        pure = _pure(spent)
        tau = 0.0 if pure is None else self._largest_pure(queries, pure, target, budget)
        if tau > (laplace.tau if isinstance(laplace, PureLoss) else 0.0):
            laplace = PureLoss(tau)
        return [loss for loss in (laplace, gaussian) if loss is not None], target

    def _allowed(self, spent: Spend, budget: float) -> bool:
        """Tell whether everything released keeps the promise of the account: the filter."""
        pure = _pure(spent)
        within = self.limits(budget).allow(self._met(spent))
        return within or (pure is not None and self._accountant.leaked(pure) <= budget)

    def _largest_pure(self, queries: tuple[Query, ...], pure: Spend, target: float, budget: float) -> float:
        """Return the largest τ of each query with which everything stays pure and leaks at most `target`; 0 if none."""
        rest = float_below(Fraction(target) - Fraction(self._accountant.leaked_about(queries, pure)))
        if rest <= 0:
            return 0.0
        try:
            return self._accountant.affordable(queries, epsilon=rest, spent=pure, budget=budget).tau
        except (BudgetError, CalibrationError, NoTheoremAppliesError):
            return 0.0

    def _largest_each(self, standing: tuple[Query, ...], spent: Spend, target: float) -> float:
        """Return the largest ρ of each query with which the records they touch stay within a promise; 0 if none."""
        limits = self.limits(target)
        before = self._met(spent, standing)
        if before.delta > limits.delta:
            return 0.0
        return float_below(max(Fraction(0), Fraction(limits.rho) - before.rho) / _most(standing))

    def _fitting(self, loss: Loss | None, standing: tuple[Query, ...], spent: Spend, target: float) -> Loss | None:
        """Return a loss, lowered until what the queries touch keeps a promise by the totals as a ledger rounds them."""
        for step in range(_NUDGES):
            if loss is None or self.limits(target).allow(self._met(_together(spent, standing, loss), standing)):
                return loss
            amount = loss.tau if isinstance(loss, PureLoss) else _rho(loss)
            less = amount - math.ldexp(math.ulp(amount), step)
            loss = None if less <= 0 else PureLoss(less) if isinstance(loss, PureLoss) else ConcentratedLoss(less)
        return None

    def further(self, totals: Spend, standing: tuple[Query, ...], loss: Loss, budget: float) -> int:
        """Return how many more releases of this size, and of queries with these keys, the limits allow at least."""
        limits, met, times = self.limits(budget), self._met(totals, standing), _most(standing)
        if not limits.allow(met) and _pure(totals) is None:
            return 0
        number = max(0, math.floor((Fraction(limits.rho) - met.rho) / (Fraction(_rho(loss)) * times)))
        pure = _pure(totals)
        if pure is None or not isinstance(loss, PureLoss):
            return number if met.delta <= limits.delta else 0
        tau = max(most_met([(one.query, Fraction(one.tau)) for one in pure], query) for query in standing)
        return max(number, math.floor((Fraction(limits.tau) - tau) / (Fraction(loss.tau) * times)))

    def _leaked(self, spent: Spend, met: Met, budget: float) -> float:
        pure, used = _pure(spent), self._used(met, budget)
        return used if pure is None else min(used, self._accountant.leaked(pure))

    def _met(self, spent: Spend, touching: Sequence[Query] | None = None) -> Met:
        """Return what one record met at most; of those that queries touch, if they are given."""
        rhos = [(release.query, Fraction(_rho(release.loss))) for release in spent]
        deltas = [(release.query, Fraction(_delta(release.loss))) for release in spent]
        queries = (None,) if touching is None else touching
        return Met(*(max(most_met(amounts, query) for query in queries) for amounts in (rhos, deltas)))

    def _used(self, met: Met, budget: float) -> float:
        """Return the ε that what a record met could have promised; at most the budget if it is within its limits."""
        if met.rho == 0:
            return 0.0
        tau = self._tau_used(met, budget)
        return NOTHING_PROVEN if math.isinf(tau) else self._epsilon(tau)[0]

    def _tau_used(self, met: Met, budget: float) -> float:
        """Return the smallest τ found at which the lift proves δ of what a record met."""
        limits = None if math.isinf(budget) else self.limits(budget)
        if met not in self._found:
            _bounded(self._found)
            self._found[met] = self._smallest_tau(met, limits.tau if limits is not None and limits.allow(met) else None)
        found = self._found[met]
        return min(found, limits.tau) if limits is not None and limits.allow(met) else found

    def _smallest_tau(self, met: Met, known: float | None) -> float:
        """Return the smallest τ found that serves: it was evaluated, or is known to serve; infinite without one."""
        rho = float_above(met.rho)
        low, high = 0.0, tau_of_rho(rho, self.delta) if known is None else known
        while (excess := self._excess(met, rho, high)) > 0 and known is None:
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
            found = self._excess(met, rho, middle)
            low, below, high, excess = (low, below, middle, found) if found <= 0 else (middle, found, high, excess)
        return high

    def _excess(self, met: Met, rho: float, tau: float) -> float:
        """Return the logarithm of how much larger the δ's are than the lift at τ allows: it serves if that is ≤ 0."""
        try:
            allowed = allowed_delta(self.delta, self._epsilon(tau)[0], tau)
        except TooLargeError:
            return math.inf
        pairs = ((float_above(met.delta), _reserved(allowed)), (delta_of_rho(rho, tau), _rest(allowed)))
        if any(spent > limit for spent, limit in pairs):
            return max(_log_ratio(spent, limit) for spent, limit in pairs) or math.ulp(0.0)
        return min(0.0, max(_log_ratio(spent, limit) for spent, limit in pairs))

    def _epsilon(self, tau: float) -> tuple[float, Theorem, Model]:
        """Return what is proven of every τ-DP mechanism under the worst of the models that may hold, and by what."""
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
        rho = largest_rho(tau, _rest(allowed)) if _rest(allowed) > 0 else 0.0
        if rho <= 0 or self._epsilon(tau)[0] > epsilon:
            return Limits(0.0, 0.0, 0.0)
        return Limits(tau, rho, _reserved(allowed))

    @cached_property
    def _theorems(self) -> tuple[Theorem, ...]:
        """The theorems that lift, and hold for any number of releases."""
        from bayesdp.theorems.registry import theorems

        return tuple(theorem for theorem in theorems() if theorem.covers_every_mechanism and theorem.composes)

    @cached_property
    def _accountant(self) -> Accountant:
        """The account of transcripts that are pure throughout."""
        return Accountant(self.model)


def accountant_for(
    model: Model, promise: Mapping[str, Any] | None, credibility: float | None = None
) -> Accountant | ApproximateAccountant:
    """Return who converts what an account holds, given what it promises besides ε.

    An account that promises (ε, δ) keeps the model it was opened with, whatever was learnt since.
    """
    if promise is None:
        return Accountant(model, credibility)
    return ApproximateAccountant(model.opened_as, promise["delta"])


def _best(replies: Sequence[Reply[float]]) -> tuple[float, Theorem]:
    """Return the smallest ε proven under one model, and by which theorem."""
    values = [(reply.value, reply.theorem) for reply in replies if reply.value is not None]
    if not values:
        raise NoTheoremAppliesError((reply.theorem.name, reply.reason or "") for reply in replies)
    return min(values, key=lambda pair: pair[0])


def _pure(spent: Spend) -> Spend | None:
    """Return everything as pure releases; None if something is not."""
    if not all(isinstance(release.loss, PureTotal | PureLoss) for release in spent):
        return None
    return merged(Release(release.query, release.loss.tau) for release in spent)  # type: ignore[attr-defined]


def _together(spent: Spend, standing: Sequence[Query], loss: Loss) -> Spend:
    """Return the totals after releases of a loss each, as a ledger will have them: each sum is rounded up."""
    sums: dict[tuple[Query, bool], list[Fraction]] = {}
    for query, each in [(one.query, one.loss) for one in spent] + [(query, loss) for query in standing]:
        tau = each.tau if isinstance(each, PureLoss | PureTotal) else None
        amounts = (Fraction(tau or 0.0), Fraction(_rho(each)), Fraction(_delta(each)))
        before = sums.setdefault((query, tau is not None), [Fraction(0)] * 3)
        before[:] = [first + second for first, second in zip(before, amounts, strict=True)]
    return tuple(
        Release(
            query,
            PureTotal(float_above(tau), float_above(rho))
            if pure
            else ConcentratedLoss(float_above(rho), float_above(delta)),
        )
        for (query, pure), (tau, rho, delta) in sums.items()
    )


def _rho(loss: Loss) -> float:
    """Return the ρ of a loss; InvalidInputError if none is proven here."""
    if isinstance(loss, PureLoss):
        return rho_of(loss.tau)
    if isinstance(loss, PureTotal | ConcentratedLoss):
        return loss.rho
    raise InvalidInputError(f"this account has no rho for {loss.kind}")


def _delta(loss: Loss) -> float:
    return loss.delta if isinstance(loss, ConcentratedLoss) else 0.0


def _most(standing: Sequence[Query]) -> Fraction:
    """Return how many of the queries one record meets at most."""
    return max(most_met([(query, Fraction(1)) for query in standing], query) for query in standing)


def _laplace(rho: float) -> PureLoss | None:
    """Return the largest τ that costs at most a ρ; None if there is none."""
    tau = math.sqrt(2 * rho)
    while tau > 0 and rho_of(tau) > rho:
        tau = down(tau)
    return PureLoss(tau) if tau > 0 else None


def _gaussian(rho: float) -> ConcentratedLoss | None:
    return ConcentratedLoss(rho) if rho > 0 else None


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
    """Forget everything once too much is kept."""
    if len(kept) >= _REMEMBERED:
        kept.clear()
