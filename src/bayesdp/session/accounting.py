"""What a data set has leaked so far, and what one more release may cost. Rules and proofs: docs/theory/accounting.md.

These are the accounts that promise ε alone; `approximate_accounting` has those that promise (ε, δ).

The leakage of everything released is one conversion of all τ's, by the theorems that cover any number of releases. A
release asked for ε gets the largest τ that raises that figure by at most ε, and never beyond the budget. If parts of
the table are independent of one another, the figure is that of the part that leaks most (`parts`). With a credibility,
it is the ε that this share of the posterior keeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from bayesdp._support import validation
from bayesdp.advice.sensitivity_to_assumption import Weaker, weaker_than, worst_sensitivities
from bayesdp.calibration.calibrate import credible_epsilon, credible_tau, largest_tau
from bayesdp.calibration.credibility import draws_needed, posterior
from bayesdp.errors import BudgetError, CalibrationError, InvalidInputError, LedgerError, NoTheoremAppliesError
from bayesdp.ledger import State, Total
from bayesdp.losses import ConcentratedLoss, Loss, PureLoss
from bayesdp.models import Model
from bayesdp.queries import LedgerKey, Query
from bayesdp.rounding import float_above, float_below, shown_above, shown_below
from bayesdp.session.parts import Reading, Regions, exposures, merged, readings_of
from bayesdp.session.windows import Conversion, RecordSpend, conversions
from bayesdp.theorems.leakage import Composition, Leakage
from bayesdp.theorems.spend import Release, Spend

__all__ = [
    "COST_ENTRIES",
    "Accountant",
    "Cost",
    "PureTotal",
    "check_credibility",
    "remaining",
    "rho_of",
    "spend_of",
]


Found = TypeVar("Found")

Limited = list[tuple[RecordSpend, float]]
"""The spends that new releases add to, each with the largest leakage allowed."""

COST_ENTRIES = ("epsilon", "epsilon_total", "epsilon_remaining", "theorem")
"""The names under which a ledger stores the cost of a charge."""


@dataclass(frozen=True)
class PureTotal(Loss):
    """Several pure releases together: the sum of their τ's, and the sum of their ρ's, τ²/2 each."""

    tau: float
    rho: float

    kind: ClassVar[str] = "pure differential privacy (tau), with its rho"

    def __post_init__(self) -> None:
        validation.every((validation.positive, {"tau": self.tau, "rho": self.rho}))

    @property
    def description(self) -> str:
        """The values of τ and ρ."""
        return f"tau = {shown_below(self.tau)}, rho = {shown_above(self.rho)}"

    def delta_at(self, tau: float) -> float:
        """Return 0 at the sum of the τ's and above, 1 below it."""
        return 0.0 if tau >= self.tau else 1.0


@dataclass(frozen=True)
class Cost:
    """What releases cost: the loss of each, the leakage of everything before and after, and the budget.

    spend:   everything released, these releases included.
    before:  the leakage about the parts that the releases touch, so far: about everything, unless they are by part.
    after:   the same afterwards.
    total:   the leakage of everything, these releases included.
    epsilon: by how much the releases raise the leakage about what they touch, rounded up.
    left:    what remains of the budget afterwards, rounded down.
    further: how many more releases of this size the budget allows at least; None if that is not counted.
    share:   how much of the limit of an account that promises (ε, δ) the releases take; None without a δ.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> Accountant(ArbitraryGroups(4)).affordable((Count(equals=1),), epsilon=1.0, spent=(), budget=2.0).tau
    0.25
    """

    loss: Loss
    before: float
    leakage: Leakage
    budget: float
    after: float
    spend: Spend = ()
    further: int | None = None
    share: float | None = None
    total: float = field(init=False)
    epsilon: float = field(init=False)
    left: float = field(init=False)

    def __post_init__(self) -> None:
        total = self.leakage.epsilon
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "epsilon", float_above(Fraction(self.after) - Fraction(self.before)))
        object.__setattr__(self, "left", remaining(self.budget, total))

    @property
    def tau(self) -> float:
        """The τ of each release; InvalidInputError for another loss."""
        if not isinstance(self.loss, PureLoss):
            raise InvalidInputError(f"a release with {self.loss.description} has no tau")
        return self.loss.tau

    @property
    def entries(self) -> dict[str, Any]:
        """What the ledger keeps of the cost of a charge."""
        kept = (self.epsilon, self.total, self.left, self.leakage.theorem)
        return dict(zip(COST_ENTRIES, kept, strict=True))


def spend_of(state: State) -> Spend:
    """Return what an account has spent.

    In an account that promises (ε, δ), what is pure is a `PureTotal`, and all else a `ConcentratedLoss`.

    LedgerError if its totals are damaged, or if they hold
    what this version does not account for: in an account that promises ε alone, losses that are not pure.
    """
    for total in state.totals:
        if (total.loss is not None or total.tau is None) and state.promise is None:
            raise LedgerError(_LATER.format(dataset=state.dataset, what=f"has a loss {dict(total.loss or {})}"))
    try:
        if state.promise is not None:
            return tuple(Release(_query_of(total), _loss_of(total), total.region) for total in state.totals)
        return merged(Release(_query_of(total), total.tau or 0.0, total.region) for total in state.totals)
    except (InvalidInputError, TypeError) as error:
        raise LedgerError(f"the ledger is damaged: a total cannot be read ({error}); verify it") from None


def _query_of(total: Total) -> Query:
    return LedgerKey.from_text(total.query_text).query


def _loss_of(total: Total) -> Loss:
    """Return the loss of a total in an account that promises (ε, δ)."""
    if total.tau is not None:
        rho = None if total.loss is None else total.loss.get("rho")
        return PureTotal(total.tau, rho_of(total.tau) if rho is None else rho)
    if total.loss is None or total.loss.get("definition") != "concentrated":
        raise InvalidInputError(f"it has a loss that does not belong there: {total.loss}")
    return ConcentratedLoss(total.loss["rho"], total.loss.get("delta", 0.0))


def rho_of(tau: float) -> float:
    """Return τ²/2, rounded up: every τ-DP release is τ²/2-zCDP (Bun and Steinke 2016, Proposition 1.4).

    >>> rho_of(0.5)
    0.125
    """
    return float_above(Fraction(tau) ** 2 / 2)


_LATER = (
    "the account of {dataset!r} {what}, which this version of bayesdp cannot account for; update bayesdp. Nothing was "
    "charged"
)


def check_credibility(model: Model, credibility: object) -> float:
    """Return a checked credibility; refuses a model that was not estimated: its uncertainty is not known.

    >>> from bayesdp import MarkovChain
    >>> check_credibility(MarkovChain.from_counts([[90, 10], [10, 30]]), 0.95)
    0.95
    """
    share = validation.probability("credibility", credibility)
    draws_needed(share, None)
    if not any(member.estimated for member in model.members):
        posterior(model.members[0], 1)
    return share


def remaining(budget: float, total: float) -> float:
    """Return what is left of a budget, rounded down."""
    return max(0.0, float_below(Fraction(budget) - Fraction(total)))


@dataclass(frozen=True)
class Accountant:
    """Converts what an account holds into leakage under a model; with a credibility, as an estimated model needs.

    In its methods, `spent` holds the totals of the ledger, each under the query of its key.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> Accountant(ArbitraryGroups(4)).leaked((Release(Count(equals=1).ledger_key().query, 0.25),))
    1.0
    """

    model: Model
    credibility: float | None = None

    def leaked(self, spent: Spend, budget: float = math.inf) -> float:
        """Return the leakage of everything released so far, whatever the budget is; 0 if that is nothing."""
        return max(self._proven(self._least(conversions(part))) for part in exposures(spent))

    def leakage_of(self, spent: Spend, budget: float = math.inf) -> Leakage:
        """Return the leakage of everything released so far, with the theorem that proves it, and its scope."""
        return _worst([self._report(self._least(conversions(part))) for part in exposures(spent)])

    def affordable(
        self, queries: tuple[Query, ...], *, epsilon: float, spent: Spend, budget: float, regions: Regions = ()
    ) -> Cost:
        """Return the largest τ for each of `queries` that raises the leakage about what they read by at most ε.

        regions: the records that each of them reads; none if all of them read all records.

        Raises BudgetError if ε is more than what remains, CalibrationError if no τ is small enough.
        """
        self.model.check_queries(queries)
        readings, share = readings_of(queries, regions), self.credibility
        parts = [conversions(part) for part in exposures(spent, readings)]
        touched = [ways for ways in parts if ways[0].touched]
        before = max(self._about(ways) for ways in touched)
        others = max((self._proven(self._least(ways)) for ways in parts if not _whole(ways)), default=0.0)
        left = remaining(budget, before if others <= budget else others)
        if epsilon > left:
            raise BudgetError(epsilon, left)
        target = min(float_below(Fraction(before) + Fraction(epsilon)), budget)
        chosen = [self._largest(ways, target, budget) for ways in touched]
        tau = min(tau for tau, _ in chosen)
        limits = [limit for _, limits in chosen for limit in limits]
        if share is not None and tau > 0:
            for met, most in limits:
                estimate = self._composition.report(met.after(tau))
                tau = credible_tau(estimate, met.added, tau, most, met.spent, share)
        less = math.ulp(max(sum(release.tau for release in met.after(tau)) for met, _ in limits))
        while tau > 0:
            cost = self._cost(spent, readings, tau, before, budget)
            if cost.after <= target and cost.total <= budget:
                return cost
            tau, less = tau - less, 2 * less
        raise CalibrationError(
            f"no noise is enough to raise the leakage by at most {epsilon:g} after {before:g} leaked; ask for more"
        )

    def cost_of(
        self, queries: tuple[Query, ...], *, tau: float, spent: Spend, budget: float, regions: Regions = ()
    ) -> Cost:
        """Return what releases with a given τ each cost.

        Raises BudgetError if that is more than what remains.
        """
        self.model.check_queries(queries)
        before = self.leaked_about(queries, spent, regions)
        cost = self._cost(spent, readings_of(queries, regions), tau, before, budget)
        if cost.total > budget:
            raise BudgetError(cost.epsilon, remaining(budget, cost.before))
        return cost

    def sensitivity_to_assumption(self, spent: Spend, epsilon: float) -> tuple[str, ...]:
        """Return what everything released, which leaks ε, would leak if the model were wrong, in sentences.

        A function of the model alone.
        """
        spends = [self._least(conversions(part)) for part in exposures(spent)]
        return worst_sensitivities(spends, epsilon, self._weaker)

    def _cost(self, spent: Spend, readings: Sequence[Reading], tau: float, before: float, budget: float) -> Cost:
        """Return what releases cost, by the totals as a ledger will have them afterwards: each is rounded up.

        More releases never leak less: if the quicker bounds of drawn models give a smaller figure, the earlier one is
        kept.
        """
        totals = merged((*spent, *(Release(query, tau, region) for query, region in readings)))
        parts = [conversions(part) for part in exposures(totals, readings)]
        leakages = [self._report(self._least(ways)) for ways in parts]
        worst = _worst(leakages)
        pairs = [(ways, leakage) for ways, leakage in zip(parts, leakages, strict=True) if ways[0].touched]
        about = (one.epsilon if _whole(ways) else self._about(ways) for ways, one in pairs)
        after = max(before, *about)
        return Cost(PureLoss(tau), before, replace(worst, epsilon=max(worst.epsilon, after)), budget, after, totals)

    def leaked_about(self, queries: tuple[Query, ...], spent: Spend, regions: Regions = ()) -> float:
        """Return the leakage about the records that queries read."""
        parts = exposures(spent, readings_of(queries, regions))
        return max(self._about(conversions(part)) for part in parts if part.added)

    def _about(self, ways: Sequence[Conversion]) -> float:
        """Return the leakage about the records that new releases read."""
        return min(_proven_by(ways, lambda way: max(self._proven(met.spent) for met in way.touched)))

    def _least(self, ways: Sequence[Conversion]) -> Spend:
        """Return everything released, by the conversion that is proven to leak least."""
        proven = _proven_by(ways, lambda way: (self._proven(way.spent), way.spent)) if len(ways) > 1 else ()
        return min(proven, key=lambda pair: pair[0])[1] if proven else ways[0].spent

    def _largest(self, ways: Sequence[Conversion], target: float, budget: float) -> tuple[float, Limited]:
        """Return the largest τ that a conversion allows, and the limits that it keeps."""

        def largest(way: Conversion) -> tuple[float, Limited]:
            limits = [*((met, target) for met in way.touched), *((met, budget) for met in way.joint if met.added)]
            if len(ways) > 1 and self._proven(way.spent) > budget:
                return 0.0, limits
            panel = self._composition.panel
            taus = [largest_tau(panel(met.after(1.0)), met.added, most, met.spent) for met, most in limits]
            return min(taus), limits

        return max(_proven_by(ways, largest), key=lambda found: found[0])

    def _proven(self, spend: Spend) -> float:
        """Return what was leaked; 0 if nothing was released."""
        if self.credibility is None or not spend:
            return self._composition.proven(spend)
        return self._report(spend).epsilon

    def _report(self, spend: Spend) -> Leakage:
        """Return the leakage; with a credibility, its ε is the one that this share of the posterior keeps."""
        estimate = self._composition.report(spend)
        if self.credibility is None:
            return estimate
        return replace(estimate, epsilon=credible_epsilon(estimate, self.credibility))

    @cached_property
    def _composition(self) -> Composition:
        return Composition(self.model)

    @cached_property
    def _weaker(self) -> tuple[Weaker, ...]:
        return weaker_than(self.model)


def _whole(ways: Sequence[Conversion]) -> bool:
    """Tell whether the new releases read the records with the largest totals."""
    return len(ways) == 1 and any(met.spent == ways[0].spent for met in ways[0].touched)


def _proven_by(ways: Sequence[Conversion], value: Callable[[Conversion], Found]) -> list[Found]:
    """Return the result of each conversion that a theorem covers; NoTheoremAppliesError if there is none."""
    found, refused = [], []
    for way in ways:
        try:
            found.append(value(way))
        except NoTheoremAppliesError as error:
            refused.append(error)
    if not found:
        raise refused[0]
    return found


def _worst(leakages: Sequence[Leakage]) -> Leakage:
    """Return the leakage of the part that leaks most, with a scope that holds for every part.

    What one theorem proves of the worst part may hold for more pairs of values, or other attackers, than what another
    proves of the other parts.
    """
    worst = max(leakages, key=lambda leakage: leakage.epsilon)
    scopes = dict.fromkeys((worst.scope, *(leakage.scope for leakage in leakages)))
    return replace(worst, scope="; of other parts of the table: ".join(scopes))
