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


def leakage(model: Model, releases: Query | Iterable[tuple[Query, float]], *, tau: float | None = None) -> Leakage:
    """Say what a release really leaks about one record when records are correlated.

    model:    how records are correlated.
    releases: one query, with `tau` its ordinary differential privacy — or a list of (query, tau): everything released
              on one data set, converted together.

    Returns the smallest ε any theorem proves, with what every theorem says. Raises InvalidInputError for a τ that is
    not positive and finite, QueryError for a query the model does not speak about, and NoTheoremAppliesError if nothing
    is proven.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> found = leakage(ArbitraryGroups(3), Count("ill", equals=True), tau=1.0)
    >>> found.epsilon, found.theorem
    (3.0, 'general')
    """
    from bayesdp.leakage.report import report
    from bayesdp.spending import as_spend

    return report(model, as_spend(releases, tau))
