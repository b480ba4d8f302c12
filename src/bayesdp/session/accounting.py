"""What a data set has leaked so far, and what one more release may cost. Rules and proofs: docs/theory/accounting.md.

The leakage of everything released is one conversion of all τ's, by the theorems that cover any number of releases. A
release asked for ε gets the largest τ that raises that figure by at most ε, and never beyond the budget. Of parts that
are independent of one another, the one that has met most counts (`parts`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from bayesdp.calibration.calibrate import largest_tau
from bayesdp.errors import BudgetError, CalibrationError, InvalidInputError, LedgerError
from bayesdp.ledger import Total
from bayesdp.models import Model
from bayesdp.queries import Query, query_from_dict
from bayesdp.rounding import float_above, float_below
from bayesdp.session.parts import Exposure, exposures
from bayesdp.theorems.ask import Panel
from bayesdp.theorems.leakage import Leakage, proven, report
from bayesdp.theorems.spend import Release, Spend

__all__ = ["Cost", "affordable", "cost_of", "leaked", "remaining", "spend_of"]


@dataclass(frozen=True)
class Cost:
    """What releases cost: τ of each, the leakage of everything before and after, and the budget.

    before:  the leakage about the parts that the releases touch, so far: about everything, unless they are by part.
    after:   the same afterwards; None if that is the total.
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
    after: float | None = None
    total: float = field(init=False)
    epsilon: float = field(init=False)
    left: float = field(init=False)

    def __post_init__(self) -> None:
        total = self.leakage.epsilon
        object.__setattr__(self, "total", total)
        after = total if self.after is None else self.after
        object.__setattr__(self, "epsilon", float_above(Fraction(after) - Fraction(self.before)))
        object.__setattr__(self, "left", remaining(self.budget, total))


def spend_of(totals: Iterable[Total]) -> Spend:
    """Return a ledger's totals as a spend; LedgerError if they are damaged."""
    try:
        return tuple(Release(query_from_dict(total.query), total.tau) for total in totals)
    except (InvalidInputError, TypeError) as error:
        raise LedgerError(f"the ledger is damaged: a total cannot be read ({error}); verify it") from None


def leaked(model: Model, spent: Spend) -> float:
    """Return the leakage of everything released so far; 0 if that is nothing."""
    return max(_proven(model, met.spent) for met in exposures(spent))


def _proven(model: Model, spent: Spend) -> float:
    return proven(_panel(model, spent), spent) if spent else 0.0


def remaining(budget: float, total: float) -> float:
    """Return what is left of a budget, rounded down."""
    return max(0.0, float_below(Fraction(budget) - Fraction(total)))


def affordable(model: Model, queries: tuple[Query, ...], *, epsilon: float, spent: Spend, budget: float) -> Cost:
    """Return the largest τ for each of `queries` that raises the leakage by at most ε.

    spent: what the ledger's totals say, each under the query that stands for its key.

    Raises BudgetError if ε is more than what remains, CalibrationError if no τ is small enough.
    """
    model.check_queries(queries)
    standing = tuple(query.standing() for query in queries)
    met = exposures(spent, standing)
    touched = {each: _panel(model, each.after(1.0)) for each in met if each.added}
    others = _worst(_report(model, each.spent) for each in met if not each.added and each.spent)
    before = max(_before(model, each, panel) for each, panel in touched.items())
    left = remaining(budget, max(before, 0.0 if others is None or others.epsilon <= budget else others.epsilon))
    if epsilon > left:
        raise BudgetError(epsilon, left)
    target = min(float_below(Fraction(before) + Fraction(epsilon)), budget)
    tau = min(largest_tau(panel, each.added, target, each.spent) for each, panel in touched.items())
    less = math.ulp(max(sum(release.tau for release in each.after(tau)) for each in touched))
    while tau > 0:
        leakage = _worst(report(model, each.after(tau), panel=panel) for each, panel in touched.items())
        assert leakage is not None
        if leakage.epsilon <= target:
            return Cost(tau, before, _worse(leakage, others), budget, leakage.epsilon)
        tau, less = tau - less, 2 * less
    raise CalibrationError(
        f"no noise is enough to raise the leakage by at most {epsilon:g} after {before:g} leaked; ask for more"
    )


def cost_of(model: Model, queries: tuple[Query, ...], *, tau: float, spent: Spend, budget: float) -> Cost:
    """Return what releases with a given τ each cost.

    Raises BudgetError if that is more than what remains.
    """
    model.check_queries(queries)
    met = exposures(spent, tuple(query.standing() for query in queries))
    before = max(_proven(model, each.spent) for each in met if each.added)
    touched = _worst(_report(model, each.after(tau)) for each in met if each.added)
    assert touched is not None
    others = _worst(_report(model, each.spent) for each in met if not each.added and each.spent)
    cost = Cost(tau, before, _worse(touched, others), budget, touched.epsilon)
    if cost.total > budget:
        raise BudgetError(cost.epsilon, remaining(budget, cost.before))
    return cost


def _before(model: Model, exposure: Exposure, panel: Panel) -> float:
    """Return what was leaked before new releases, by the theorems for all of them if they ask about nothing new."""
    same = panel.queries == tuple(release.query for release in exposure.spent)
    return proven(panel, exposure.spent) if same else _proven(model, exposure.spent)


def _report(model: Model, spend: Spend) -> Leakage:
    return report(model, spend, panel=_panel(model, spend))


def _worst(leakages: Iterable[Leakage]) -> Leakage | None:
    return max(leakages, key=lambda leakage: leakage.epsilon, default=None)


def _worse(one: Leakage, other: Leakage | None) -> Leakage:
    return one if other is None or other.epsilon <= one.epsilon else other


def _panel(model: Model, spend: Spend) -> Panel:
    """Return the theorems that can be asked about everything a ledger holds: they cover any number of releases."""
    return Panel.about(model, tuple(release.query for release in spend), composing=True)
