"""What is proven: one theorem a module, and `leakage`, which asks them all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bayesdp.leakage.registry import register, theorem_named, theorems, unregister
from bayesdp.leakage.theorem import Theorem

if TYPE_CHECKING:
    from bayesdp.leakage.report import Leakage
    from bayesdp.models import Model
    from bayesdp.queries import Query

__all__ = ["Theorem", "leakage", "register", "theorem_named", "theorems", "unregister"]


def leakage(
    model: Model,
    releases: Query | Iterable[tuple[Query, float]],
    *,
    tau: float | None = None,
    target: int | None = None,
    known: Iterable[int] | None = None,
) -> Leakage:
    """Say what a release really leaks about one record when records are correlated.

    model:    how records are correlated.
    releases: one query, with `tau` its ordinary differential privacy — or a list of (query, tau): everything released
              on one data set, converted together.
    target:   ask about one adversary only, who wants to learn this record: a position from 0 in a chain of exactly
              `length` records, or in a group. Nothing else in the library takes such a leakage for a guarantee.
    known:    the positions of the records that adversary knows exactly; none unless given.

    Returns the smallest ε any theorem proves, with what every theorem says. Raises InvalidInputError for a τ that is
    not positive and finite or a record that is not there, QueryError for a query the model does not speak about, and
    NoTheoremAppliesError if nothing is proven (about one adversary, if one is named).

    >>> from bayesdp import ArbitraryGroups, Count, GaussianGroups, Sum
    >>> found = leakage(ArbitraryGroups(3), Count("ill", equals=True), tau=1.0)
    >>> found.epsilon, found.theorem
    (3.0, 'general')
    >>> family = GaussianGroups(covariance=[[1, 0.5], [0.5, 1]])
    >>> round(leakage(family, Sum("height", bounds=(0, 100)), tau=1.0, target=0, known=[1]).epsilon, 6)
    1.0
    """
    from bayesdp.leakage.adversary import Adversary
    from bayesdp.leakage.report import report
    from bayesdp.spending import as_spend

    return report(model, as_spend(releases, tau), adversary=Adversary.asked(target, known))
