"""Accounts that promise (ε, δ): a filter in zero-concentrated privacy. Rules and proofs: docs/theory/accounting.md.

The promise is fixed when the account is opened, and with it a limit on Σρ. A release is allowed as long as no record
meets more than that limit, or as long as everything released is pure and proven to leak at most ε. What such an account
has used so far is the ε that the same releases could have promised at the same δ; it is shown, and guarantees nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from bayesdp._support.messages import param
from bayesdp.errors import (
    BudgetError,
    CalibrationError,
    NoTheoremAppliesError,
)
from bayesdp.losses import ConcentratedLoss, Loss, PureLoss
from bayesdp.models import Model
from bayesdp.queries import Query
from bayesdp.rounding import down, float_above, float_below
from bayesdp.session.accounting import Accountant, Cost, PureTotal, remaining, rho_of
from bayesdp.session.limits import AccountLimits, Limits, best_conversion, limits_for, loss_delta, loss_rho, most_read
from bayesdp.session.parts import Reading, Regions, merged, readings_of
from bayesdp.session.windows import largest_of_records
from bayesdp.theorems.approximate import ApproximateLeakage
from bayesdp.theorems.leakage import Leakage
from bayesdp.theorems.spend import Release, Spend

__all__ = ["ApproximateAccountant", "NoiseKind", "accountant_for", "promise_of"]

NoiseKind = Literal["laplace", "gaussian"]

_ROUNDED = Fraction(1, 2**40)
"""A share of the limit is reduced by this fraction: then a hundred hundredths fit, though totals are rounded up."""

_NUDGES = 64
"""How often a loss is lowered, twice as far each time, until the totals, each rounded up, are within the limit."""


@dataclass(frozen=True)
class ApproximateAccountant:
    """Converts the charges of an account that promises (ε, δ).

    model: the model that the account was opened with. What is learnt later does not raise its limits, which must be
           fixed before anything is released.
    delta: the δ of the promise.
    conversion: what the account was opened with, "direct" or None for the lift (`bayesdp.session.limits`).
    reserved: with the lift, the limit of the δ's of releases made elsewhere; None takes that of the promise in force.

    >>> from bayesdp import Count, OddsChain
    >>> account = ApproximateAccountant(OddsChain(17.12), 1e-6)
    >>> costs = account.offers((Count(equals=1),), epsilon=None, share=0.01, noise=None, spent=(), budget=1.0)
    >>> [cost.loss.description for cost in costs]
    ['tau = 0.00535098', 'rho = 1.43165e-05']
    """

    model: Model
    delta: float
    conversion: str | None = None
    reserved: float | None = None

    @property
    def credibility(self) -> None:
        """None: promises for a share of a posterior have no δ."""
        return None

    def limits(self, epsilon: float) -> Limits:
        """Return the limits of a promise, zero if it is too small for any release."""
        return self._by.at(epsilon)

    def check(self, epsilon: float) -> None:
        """Refuse a promise that no release can keep: CalibrationError, or NoTheoremAppliesError if none is proven."""
        if not self.limits(epsilon).rho:
            raise CalibrationError(
                f"no theorem that holds for every mechanism reaches epsilon = {epsilon:g} with delta = {self.delta:g}"
            )

    def leaked(self, spent: Spend, budget: float = math.inf) -> float:
        """Return the ε used so far: at the δ of the account, or without any if everything was pure; 0 if nothing was.

        budget: if everything is within the limits of this promise, the ε used is at most that.
        """
        pure, used = _pure(spent), self._by.used(self._by.record_totals(spent), budget)
        return used if pure is None else min(used, self._accountant.leaked(pure))

    def leaked_about(
        self, queries: tuple[Query, ...], spent: Spend, budget: float = math.inf, regions: Regions = ()
    ) -> float:
        """Return the ε used so far about the records that queries read."""
        pure = _pure(spent)
        used = self._by.used(self._by.record_totals(spent, readings_of(queries, regions)), budget)
        return used if pure is None else min(used, self._accountant.leaked_about(queries, pure, regions))

    def leakage_of(self, spent: Spend, budget: float = math.inf) -> Leakage:
        """Return the ε used so far, with the theorem that proves it, and its scope."""
        pure, largest = _pure(spent), self._by.record_totals(spent)
        used = self._by.used(largest, budget)
        alone = None if pure is None else self._accountant.leakage_of(pure)
        if alone is not None and alone.epsilon <= used:
            return alone
        name, scope, proof = self._by.proof(spent, largest, budget)
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
        regions: Regions = (),
    ) -> tuple[Cost, ...]:
        """Return the largest loss of each query for every kind of noise that is asked for and allowed.

        epsilon: by how much the ε used so far may rise.        share: or which share of the limit is taken.
        regions: the records that each query reads; none if all of them read all records.

        Raises BudgetError if that is more than what remains, CalibrationError if no noise is enough.
        """
        self.model.check_queries(queries)
        readings = readings_of(queries, regions)
        target = None
        if share is not None or noise == "gaussian":
            self._check_not_passed(readings, spent, budget)
        if share is not None:
            whole = Fraction(self._whole_limit(readings, budget)) * (1 - _ROUNDED)
            each = float_below(Fraction(share) * whole)
            losses: list[Loss] = [loss for loss in (_laplace(each), _gaussian(each)) if loss is not None]
        else:
            assert epsilon is not None
            losses, target = self._up_to(queries, regions, epsilon, spent, budget)
        wanted = [loss for loss in losses if noise in (None, "laplace" if isinstance(loss, PureLoss) else "gaussian")]
        if not wanted:
            request = f"epsilon = {epsilon:g}" if share is None else f"a share of {share:g}"
            kind = "" if noise is None else f" {noise.capitalize()}"
            raise CalibrationError(f"no{kind} noise is enough for {request} after what was released; ask for more")
        return tuple(
            self.cost_of_loss(queries, loss, spent=spent, budget=budget, target=target, regions=regions)
            for loss in wanted
        )

    def cost_of_loss(
        self,
        queries: tuple[Query, ...],
        loss: Loss,
        *,
        spent: Spend,
        budget: float,
        enforced: bool = True,
        target: float | None = None,
        regions: Regions = (),
    ) -> Cost:
        """Return what releases with a given loss each cost.

        enforced: refuse with BudgetError what the account does not allow.
        target:   a promise that is kept afterwards about what the queries read, if it is.
        regions:  the records that each query reads; none if all of them read all records.
        """
        self.model.check_queries(queries)
        readings = readings_of(queries, regions)
        before = self.leaked_about(queries, spent, budget, regions)
        totals = _together(spent, readings, loss)
        if enforced and not self._allowed(totals, budget):
            raise BudgetError(self.leaked_about(queries, totals, budget, regions) - before, remaining(budget, before))
        after = max(
            before, min(self.leaked_about(queries, totals, budget, regions), self._most_after(totals, readings, target))
        )
        leakage = self.leakage_of(totals, budget)
        leakage = replace(leakage, epsilon=max(leakage.epsilon, after))
        further = self.further(totals, readings, loss, budget)
        limit = self._whole_limit(readings, budget)
        share = float(Fraction(loss_rho(loss)) / Fraction(limit)) if limit else None
        return Cost(loss, before, leakage, budget, after, totals, further, share)

    def _check_not_passed(self, readings: Sequence[Reading], spent: Spend, budget: float) -> None:
        """Refuse to take from the limit once pure releases have passed it, and keep the promise without any δ."""
        if self._allowed(spent, budget) and not self.limits(budget).allow(self._by.record_totals(spent, readings)):
            raise CalibrationError(
                "the pure releases so far have passed the limit of which Gaussian noise and shares are taken, and go "
                "on without a delta: ask with " + param("epsilon") + ", for Laplace noise"
            )

    def _most_after(self, totals: Spend, readings: Sequence[Reading], target: float | None) -> float:
        """Return the target if the records that the queries read keep it: the smallest ε found may be just above."""
        kept = target is not None and self.limits(target).allow(self._by.record_totals(totals, readings))
        return math.inf if target is None or not kept else target

    def _up_to(
        self, queries: tuple[Query, ...], regions: Regions, epsilon: float, spent: Spend, budget: float
    ) -> tuple[list[Loss], float]:
        """Return the largest losses that raise the ε used so far by at most `epsilon`, and the ε that they keep."""
        readings = readings_of(queries, regions)
        before = self.leaked_about(queries, spent, budget, regions)
        left = remaining(budget, before) if self._allowed(spent, budget) else 0.0
        if epsilon > left:
            raise BudgetError(epsilon, left)
        target = min(float_below(Fraction(before) + Fraction(epsilon)), budget)
        rho = self._by.largest_each(readings, spent, self.limits(target), self.limits(budget))
        laplace, gaussian = (self._fitting(loss, readings, spent, target) for loss in (_laplace(rho), _gaussian(rho)))
        pure = _pure(spent)
        tau = 0.0 if pure is None else self._largest_pure(queries, regions, pure, target, budget)
        if tau > (laplace.tau if isinstance(laplace, PureLoss) else 0.0):
            laplace = PureLoss(tau)
        return [loss for loss in (laplace, gaussian) if loss is not None], target

    def _allowed(self, spent: Spend, budget: float) -> bool:
        """Tell whether everything released keeps the promise of the account: the filter."""
        pure = _pure(spent)
        within = self.limits(budget).allow(self._by.record_totals(spent))
        return within or (pure is not None and self._accountant.leaked(pure) <= budget)

    def _largest_pure(
        self, queries: tuple[Query, ...], regions: Regions, pure: Spend, target: float, budget: float
    ) -> float:
        """Return the largest τ of each query with which everything stays pure and leaks at most `target`; 0 if none."""
        rest = float_below(Fraction(target) - Fraction(self._accountant.leaked_about(queries, pure, regions)))
        if rest <= 0:
            return 0.0
        try:
            return self._accountant.affordable(queries, epsilon=rest, spent=pure, budget=budget, regions=regions).tau
        except (BudgetError, CalibrationError, NoTheoremAppliesError):
            return 0.0

    def _whole_limit(self, readings: Sequence[Reading], budget: float) -> float:
        """Return the ρ of each query at which the queries alone take the whole limit."""
        limits = self.limits(budget)
        return self._by.largest_each(readings, (), limits, limits)

    def _fitting(self, loss: Loss | None, readings: Sequence[Reading], spent: Spend, target: float) -> Loss | None:
        """Return a loss, lowered until the records that the queries read keep the target, with totals rounded up."""
        for step in range(_NUDGES):
            if loss is None or self.limits(target).allow(
                self._by.record_totals(_together(spent, readings, loss), readings)
            ):
                return loss
            amount = loss.tau if isinstance(loss, PureLoss) else loss_rho(loss)
            less = amount - math.ldexp(math.ulp(amount), step)
            loss = None if less <= 0 else PureLoss(less) if isinstance(loss, PureLoss) else ConcentratedLoss(less)
        return None

    def further(self, totals: Spend, readings: Sequence[Reading], loss: Loss, budget: float) -> int:
        """Return how many more releases of this size, and of queries with these keys, the limits allow at least."""
        limits, pure, largest = self.limits(budget), _pure(totals), self._by.record_totals(totals, readings)
        if not limits.allow(largest) and pure is None:
            return 0
        left = self._by.largest_each(readings, totals, limits, limits)
        number = math.floor(Fraction(left) / Fraction(loss_rho(loss)))
        if pure is None or not isinstance(loss, PureLoss):
            return number if largest.delta <= limits.delta else 0
        return max(number, math.floor(self._pure_left(pure, readings, limits.tau, budget) / Fraction(loss.tau)))

    def _pure_left(self, pure: Spend, readings: Sequence[Reading], most: float | None, budget: float) -> Fraction:
        """Return the largest τ of each query with which everything stays pure; `most` is that of any mechanism."""
        if most is None:
            queries, regions = zip(*readings, strict=True)
            return Fraction(self._largest_pure(queries, regions, pure, budget, budget))
        taus = largest_of_records([(one, (Fraction(one.tau),)) for one in pure], readings)
        tau = max((tau for tau, number in taus if number), default=Fraction(0))
        return max(Fraction(0), Fraction(most) - tau) / most_read(readings)

    @cached_property
    def _by(self) -> AccountLimits:
        return limits_for(self.model, self.delta, self.conversion, self.reserved)

    @cached_property
    def _accountant(self) -> Accountant:
        """The account of transcripts that are pure throughout."""
        return Accountant(self.model)


def accountant_for(
    model: Model, promise: Mapping[str, Any] | None, credibility: float | None = None
) -> Accountant | ApproximateAccountant:
    """Return the accountant of an account, given what the account promises besides ε.

    An account that promises (ε, δ) keeps the model it was opened with, whatever was learnt since.
    """
    if promise is None:
        return Accountant(model, credibility)
    return ApproximateAccountant(model.opened_as, promise["delta"], promise.get("conversion"), promise.get("reserved"))


def promise_of(model: Model, epsilon: float | None, delta: float) -> dict[str, Any]:
    """Return what a new account promises besides ε: its δ, and the settings that are fixed with it.

    These are the conversion that allows more, or, with the lift, the limit of the δ's of releases made elsewhere.

    >>> from bayesdp import GaussianGroups, Independent
    >>> promise_of(GaussianGroups(correlation=0.3, size=3), 1.0, 1e-6)
    {'definition': 'approximate', 'delta': 1e-06, 'conversion': 'direct'}
    >>> sorted(promise_of(Independent(), 1.0, 1e-6))
    ['definition', 'delta', 'reserved']
    """
    promise = {"definition": "approximate", "delta": delta}
    if epsilon is None:
        return promise
    conversion = best_conversion(model.opened_as, epsilon, delta)
    if conversion is not None:
        return promise | {"conversion": conversion}
    reserved = limits_for(model.opened_as, delta).at(epsilon).delta
    return promise | ({"reserved": reserved} if reserved else {})


def _pure(spent: Spend) -> Spend | None:
    """Return everything as pure releases; None if something is not."""
    if not all(isinstance(release.loss, PureTotal | PureLoss) for release in spent):
        return None
    return merged(Release(one.query, one.loss.tau, one.region) for one in spent)  # type: ignore[attr-defined]


def _together(spent: Spend, readings: Sequence[Reading], loss: Loss) -> Spend:
    """Return the totals after releases of a loss each, as a ledger will have them: each sum is rounded up."""
    sums: dict[tuple[Reading, bool], list[Fraction]] = {}
    spends = [(Reading(one.query, one.region), one.loss) for one in spent]
    for reading, each in spends + [(reading, loss) for reading in readings]:
        tau = each.tau if isinstance(each, PureLoss | PureTotal) else None
        amounts = (Fraction(tau or 0.0), Fraction(loss_rho(each)), Fraction(loss_delta(each)))
        before = sums.setdefault((reading, tau is not None), [Fraction(0)] * 3)
        before[:] = [first + second for first, second in zip(before, amounts, strict=True)]
    return tuple(
        Release(
            reading.query,
            PureTotal(float_above(tau), float_above(rho))
            if pure
            else ConcentratedLoss(float_above(rho), float_above(delta)),
            reading.region,
        )
        for (reading, pure), (tau, rho, delta) in sums.items()
    )


def _laplace(rho: float) -> PureLoss | None:
    """Return the largest τ that costs at most a ρ; None if there is none."""
    tau = math.sqrt(2 * rho)
    while tau > 0 and rho_of(tau) > rho:
        tau = down(tau)
    return PureLoss(tau) if tau > 0 else None


def _gaussian(rho: float) -> ConcentratedLoss | None:
    return ConcentratedLoss(rho) if rho > 0 else None
