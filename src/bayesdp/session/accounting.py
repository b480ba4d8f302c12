"""What a data set has leaked so far, and what one more release may cost. Rules and proofs: docs/theory/accounting.md.

The leakage of everything released is one conversion of all τ's, by the theorems that cover any number of releases. A
release asked for ε gets the largest τ that raises that figure by at most ε, and never beyond the budget. Of parts that
are independent of one another, the one that has met most counts (`parts`). With a credibility, that figure is what this
share of the models that the data leave possible stays below.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from bayesdp._support import validation
from bayesdp.calibration.calibrate import credible_epsilon, credible_tau, largest_tau
from bayesdp.calibration.credibility import draws_needed, posterior
from bayesdp.errors import BudgetError, CalibrationError, InvalidInputError, LedgerError
from bayesdp.ledger import Total
from bayesdp.models import Model
from bayesdp.queries import Query, query_from_dict
from bayesdp.rounding import float_above, float_below
from bayesdp.session.parts import exposures, merged
from bayesdp.theorems.ask import Panel
from bayesdp.theorems.leakage import Leakage, proven, report
from bayesdp.theorems.spend import Release, Spend, queries_of

__all__ = ["Cost", "affordable", "check_credibility", "cost_of", "leaked", "remaining", "spend_of"]


@dataclass(frozen=True)
class Cost:
    """What releases cost: τ of each, the leakage of everything before and after, and the budget.

    before:  the leakage about the parts that the releases touch, so far: about everything, unless they are by part.
    after:   the same afterwards.
    total:   the leakage of everything, these releases included.
    epsilon: by how much the releases raise the leakage about what they touch, rounded up.
    left:    what remains of the budget afterwards, rounded down.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> affordable(ArbitraryGroups(4), (Count(equals=1),), epsilon=1.0, spent=(), budget=2.0).tau
    0.25
    """

    tau: float
    before: float
    leakage: Leakage
    budget: float
    after: float
    total: float = field(init=False)
    epsilon: float = field(init=False)
    left: float = field(init=False)

    def __post_init__(self) -> None:
        total = self.leakage.epsilon
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "epsilon", float_above(Fraction(self.after) - Fraction(self.before)))
        object.__setattr__(self, "left", remaining(self.budget, total))

    @property
    def entries(self) -> dict[str, Any]:
        """What the ledger keeps of the cost of a charge."""
        return {
            "epsilon": self.epsilon,
            "epsilon_total": self.total,
            "epsilon_remaining": self.left,
            "theorem": self.leakage.theorem,
        }


def spend_of(totals: Iterable[Total]) -> Spend:
    """Return a ledger's totals as a spend; LedgerError if they are damaged."""
    try:
        return tuple(Release(query_from_dict(total.query), total.tau) for total in totals)
    except (InvalidInputError, TypeError) as error:
        raise LedgerError(f"the ledger is damaged: a total cannot be read ({error}); verify it") from None


def check_credibility(model: Model, credibility: object) -> float:
    """Return a checked credibility; refuses a model that was not estimated, of which nobody knows how uncertain it is.

    >>> from bayesdp import MarkovChain
    >>> check_credibility(MarkovChain.from_counts([[90, 10], [10, 30]]), 0.95)
    0.95
    """
    share = validation.probability("credibility", credibility)
    draws_needed(share, None)
    if not any(member.estimated for member in model.members):
        posterior(model.members[0], 1)
    return share


def leaked(model: Model, spent: Spend, credibility: float | None = None) -> float:
    """Return the leakage of everything released so far; 0 if that is nothing."""
    panels = _Panels(model, credibility)
    return max(panels.proven(met.spent) for met in exposures(spent))


def remaining(budget: float, total: float) -> float:
    """Return what is left of a budget, rounded down."""
    return max(0.0, float_below(Fraction(budget) - Fraction(total)))


def affordable(
    model: Model,
    queries: tuple[Query, ...],
    *,
    epsilon: float,
    spent: Spend,
    budget: float,
    credibility: float | None = None,
) -> Cost:
    """Return the largest τ for each of `queries` that raises the leakage by at most ε.

    spent: what the ledger's totals say, each under the query that stands for its key.

    Raises BudgetError if ε is more than what remains, CalibrationError if no τ is small enough.
    """
    model.check_queries(queries)
    standing = tuple(query.standing() for query in queries)
    met, panels = exposures(spent, standing), _Panels(model, credibility)
    touched = [each for each in met if each.added]
    others = max((panels.proven(each.spent) for each in met if not each.added), default=0.0)
    before = max(panels.proven(each.spent) for each in touched)
    left = remaining(budget, before if others <= budget else others)
    if epsilon > left:
        raise BudgetError(epsilon, left)
    target = min(float_below(Fraction(before) + Fraction(epsilon)), budget)
    tau = min(largest_tau(panels.about(each.after(1.0)), each.added, target, each.spent) for each in touched)
    for each in touched if credibility is not None and tau > 0 else ():
        tau = credible_tau(panels.estimate(each.after(tau)), each.added, tau, target, each.spent, credibility or 0.0)
    less = math.ulp(max(sum(release.tau for release in each.after(tau)) for each in touched))
    while tau > 0:
        cost = _cost(panels, spent, standing, tau, before, budget)
        if cost.after <= target:
            return cost
        tau, less = tau - less, 2 * less
    raise CalibrationError(
        f"no noise is enough to raise the leakage by at most {epsilon:g} after {before:g} leaked; ask for more"
    )


def cost_of(
    model: Model,
    queries: tuple[Query, ...],
    *,
    tau: float,
    spent: Spend,
    budget: float,
    credibility: float | None = None,
) -> Cost:
    """Return what releases with a given τ each cost.

    Raises BudgetError if that is more than what remains.
    """
    model.check_queries(queries)
    standing, panels = tuple(query.standing() for query in queries), _Panels(model, credibility)
    before = max(panels.proven(each.spent) for each in exposures(spent, standing) if each.added)
    cost = _cost(panels, spent, standing, tau, before, budget)
    if cost.total > budget:
        raise BudgetError(cost.epsilon, remaining(budget, cost.before))
    return cost


def _cost(panels: _Panels, spent: Spend, standing: tuple[Query, ...], tau: float, before: float, budget: float) -> Cost:
    """Return what releases cost, by the totals as a ledger will have them afterwards: each is rounded up.

    More releases leak no less: should the quicker bounds of drawn models say otherwise, what they leaked before stands.
    """
    totals = merged((*spent, *(Release(query, tau) for query in standing)))
    met = exposures(totals, standing)
    leakages = [(panels.report(each.spent), bool(each.added)) for each in met]
    worst, _ = max(leakages, key=lambda found: found[0].epsilon)
    after = max(before, *(leakage.epsilon for leakage, touched in leakages if touched))
    return Cost(tau, before, replace(worst, epsilon=max(worst.epsilon, after)), budget, after)


@dataclass(frozen=True)
class _Panels:
    """The theorems that can be asked about everything a ledger holds: they cover any number of releases."""

    model: Model
    credibility: float | None
    known: dict[tuple[Query, ...], Panel] = field(default_factory=dict)

    def about(self, spend: Spend) -> Panel:
        queries = queries_of(spend)
        if queries not in self.known:
            self.known[queries] = Panel.about(self.model, queries, composing=True)
        return self.known[queries]

    def proven(self, spend: Spend) -> float:
        """Return what was leaked; 0 if nothing was released."""
        if not spend:
            return 0.0
        return proven(self.about(spend), spend) if self.credibility is None else self.report(spend).epsilon

    def estimate(self, spend: Spend) -> Leakage:
        """Return the leakage under the model as it stands."""
        return report(self.model, spend, panel=self.about(spend))

    def report(self, spend: Spend) -> Leakage:
        """Return the leakage, with the ε that the share asked of the posterior keeps, if one is asked."""
        estimate = self.estimate(spend)
        if self.credibility is None:
            return estimate
        return replace(estimate, epsilon=credible_epsilon(estimate, self.credibility))
