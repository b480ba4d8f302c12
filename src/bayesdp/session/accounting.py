"""What a data set has leaked so far, and what one more release may cost. Rules and proofs: docs/theory/accounting.md.

The leakage of everything released is one conversion of all τ's, by the theorems that cover any number of releases. A
release asked for ε gets the largest τ that raises that figure by at most ε, and never beyond the budget. With a
credibility, that figure is what this share of the models that the data leave possible stays below (`credibility=`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from bayesdp._support import validation
from bayesdp.calibration.calibrate import credible_epsilon, credible_tau, largest_tau
from bayesdp.calibration.credibility import draws_needed, posterior
from bayesdp.errors import BudgetError, CalibrationError, InvalidInputError, LedgerError
from bayesdp.ledger import Total
from bayesdp.models import Model
from bayesdp.queries import Query, query_from_dict
from bayesdp.rounding import float_above, float_below
from bayesdp.theorems.ask import Panel
from bayesdp.theorems.leakage import Leakage, proven, report
from bayesdp.theorems.spend import Release, Spend

__all__ = ["Cost", "affordable", "charged", "check_credibility", "cost_of", "leaked", "remaining", "spend_of"]


@dataclass(frozen=True)
class Cost:
    """What releases cost: τ of each, the leakage of everything before and after, and the budget.

    total:   the leakage of everything, these releases included.
    epsilon: by how much the releases raise the leakage, rounded up.
    left:    what remains of the budget afterwards, rounded down.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> affordable(ArbitraryGroups(4), (Count(equals=1),), epsilon=1.0, spent=(), budget=2.0).tau
    0.25
    """

    tau: float
    before: float
    leakage: Leakage
    budget: float
    total: float = field(init=False)
    epsilon: float = field(init=False)
    left: float = field(init=False)

    def __post_init__(self) -> None:
        total = self.leakage.epsilon
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "epsilon", float_above(Fraction(total) - Fraction(self.before)))
        object.__setattr__(self, "left", remaining(self.budget, total))


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
    if not spent:
        return 0.0
    panel = _panel(model, spent)
    return proven(panel, spent) if credibility is None else _converted(model, spent, panel, credibility).epsilon


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
    panel = _panel(model, _added(spent, standing, 1.0))
    same = panel.queries == tuple(release.query for release in spent)
    before = proven(panel, spent) if same and credibility is None else leaked(model, spent, credibility)
    left = remaining(budget, before)
    if epsilon > left:
        raise BudgetError(epsilon, left)
    target = min(float_below(Fraction(before) + Fraction(epsilon)), budget)
    tau = largest_tau(panel, standing, target, spent)
    if credibility is not None and tau > 0:
        estimate = report(model, _added(spent, standing, tau), panel=panel)
        tau = credible_tau(estimate, standing, tau, target, spent, credibility)
    less = math.ulp(sum(release.tau for release in spent) + len(queries) * tau)
    while tau > 0:
        leakage = _converted(model, _added(spent, standing, tau), panel, credibility, before)
        if leakage.epsilon <= target:
            return Cost(tau, before, leakage, budget)
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
    spend = charged(spent, queries, tau)
    before = leaked(model, spent, credibility)
    cost = Cost(tau, before, _converted(model, spend, _panel(model, spend), credibility, before), budget)
    if cost.total > budget:
        raise BudgetError(cost.epsilon, remaining(budget, cost.before))
    return cost


def charged(spent: Spend, queries: tuple[Query, ...], tau: float) -> Spend:
    """Return what a ledger's totals will be, or a little more: each is rounded up.

    >>> from bayesdp import Count
    >>> two = charged((), (Count(equals=1), Count(equals=2)), 0.25)
    >>> [release.tau for release in charged(two, (Count(equals=3),), 0.5)]
    [1.0]
    """
    standing = tuple(Release(release.query.standing(), release.tau) for release in spent)
    return _added(standing, tuple(query.standing() for query in queries), tau)


def _added(spent: Spend, standing: tuple[Query, ...], tau: float) -> Spend:
    """Return totals after more releases, whose queries stand for the keys of a ledger as those of the totals do."""
    totals: dict[Query, Fraction] = {}
    for query, amount in (*spent, *((query, tau) for query in standing)):
        totals[query] = totals.get(query, Fraction(0)) + Fraction(amount)
    return tuple(Release(query, float_above(total)) for query, total in totals.items())


def _converted(model: Model, spend: Spend, panel: Panel, credibility: float | None, before: float = 0.0) -> Leakage:
    """Return the leakage of a spend, with the ε that the share asked of the posterior keeps, if one is asked.

    before: what a part of the spend leaks; drawn models are followed less far at times, and the whole leaks no less.
    """
    estimate = report(model, spend, panel=panel)
    if credibility is None:
        return estimate
    return replace(estimate, epsilon=max(credible_epsilon(estimate, credibility), before))


def _panel(model: Model, spend: Spend) -> Panel:
    """Return the theorems that can be asked about everything a ledger holds: they cover any number of releases."""
    return Panel.about(model, tuple(release.query for release in spend), composing=True)
