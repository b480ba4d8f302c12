"""What a data set has leaked so far, and what one more release may cost. Rules and proofs: docs/theory/accounting.md.

The leakage of everything released is one conversion of all τ's, by the theorems that cover any number of releases. A
release asked for ε gets the largest τ that raises that figure by at most ε, and never beyond the budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from bayesdp.calibration.calibrate import largest_taus
from bayesdp.errors import BudgetError, CalibrationError, InvalidInputError, LedgerError, NoTheoremAppliesError
from bayesdp.ledger import Total
from bayesdp.models import Model
from bayesdp.queries import Query, query_from_dict
from bayesdp.rounding import float_above, float_below
from bayesdp.theorems.ask import Reply, ask
from bayesdp.theorems.leakage import Leakage, report
from bayesdp.theorems.spend import Release, Spend

__all__ = ["Cost", "affordable", "charged", "cost_of", "leaked", "remaining", "spend_of"]


@dataclass(frozen=True)
class Cost:
    """What releases cost: τ of each, the leakage of everything before and after, and the budget.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> affordable(ArbitraryGroups(4), (Count(equals=1),), epsilon=1.0, spent=(), budget=2.0).tau
    0.25
    """

    tau: float
    before: float
    leakage: Leakage
    budget: float

    @property
    def total(self) -> float:
        """The leakage of everything, these releases included."""
        return self.leakage.epsilon

    @property
    def epsilon(self) -> float:
        """By how much the releases raise the leakage, rounded up."""
        return float_above(Fraction(self.total) - Fraction(self.before))

    @property
    def left(self) -> float:
        """What remains of the budget afterwards, rounded down."""
        return remaining(self.budget, self.total)


def spend_of(totals: Iterable[Total]) -> Spend:
    """Return a ledger's totals as a spend; LedgerError if they are damaged."""
    try:
        return tuple(Release(query_from_dict(total.query), total.tau) for total in totals)
    except (InvalidInputError, TypeError) as error:
        raise LedgerError(f"the ledger is damaged: a total cannot be read ({error}); verify it") from None


def leaked(model: Model, spent: Spend) -> float:
    """Return the leakage of everything released so far; 0 if that is nothing."""
    return report(model, spent, composing=True).epsilon if spent else 0.0


def remaining(budget: float, total: float) -> float:
    """Return what is left of a budget, rounded down."""
    return max(0.0, float_below(Fraction(budget) - Fraction(total)))


def affordable(model: Model, queries: tuple[Query, ...], *, epsilon: float, spent: Spend, budget: float) -> Cost:
    """Return the largest τ for each of `queries` that raises the leakage by at most ε.

    Raises BudgetError if ε is more than what remains, CalibrationError if no τ is small enough.
    """
    model.check_queries(queries)
    before = leaked(model, spent)
    left = remaining(budget, before)
    if epsilon > left:
        raise BudgetError(epsilon, left)
    target = min(float_below(Fraction(before) + Fraction(epsilon)), budget)
    rows = ask(model, lambda theorem, member: largest_taus(theorem, member, queries, [target], spent), composing=True)
    tau = min(_largest(replies) for replies in rows)
    less = math.ulp(sum(release.tau for release in spent) + len(queries) * tau)
    while tau > 0:
        found = report(model, charged(spent, queries, tau), composing=True)
        if found.epsilon <= target:
            return Cost(tau, before, found, budget)
        tau, less = tau - less, 2 * less
    raise CalibrationError(
        f"no noise is enough to raise the leakage by at most {epsilon:g} after {before:g} leaked; ask for more"
    )


def cost_of(model: Model, queries: tuple[Query, ...], *, tau: float, spent: Spend, budget: float) -> Cost:
    """Return what releases with a given τ each cost.

    Raises BudgetError if that is more than what remains.
    """
    model.check_queries(queries)
    found = report(model, charged(spent, queries, tau), composing=True)
    cost = Cost(tau, leaked(model, spent), found, budget)
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
    totals: dict[Query, Fraction] = {}
    for query, each in (*spent, *((query, tau) for query in queries)):
        standing = query.standing()
        totals[standing] = totals.get(standing, Fraction(0)) + Fraction(each)
    return tuple(Release(query, float_above(total)) for query, total in totals.items())


def _largest(replies: Sequence[Reply[list[float | None]]]) -> float:
    """Return the largest τ any theorem allows under one model; 0 if none does."""
    allowed = [reply.value[0] or 0.0 for reply in replies if reply.value is not None]
    if not allowed:
        raise NoTheoremAppliesError((reply.theorem.name, reply.reason or "") for reply in replies)
    return max(allowed)
