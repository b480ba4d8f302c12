"""What the Gaussian theorems share: sums that are private in the ℓ1 metric, and the distance a guarantee covers."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np

from bayesdp.models import GaussianGroups, Model
from bayesdp.queries import Query
from bayesdp.rounding import float_above, float_below
from bayesdp.theorems.spend import Release, Spend, queries_of
from bayesdp.theorems.theorem import Theorem

__all__ = ["MetricTheorem", "covered_distance", "on_grid", "reach_of", "variance_kinds"]


class MetricTheorem(Theorem):
    """A theorem about clipped sums of normal groups: ε is a sum of factors times τ, one for each release."""

    @abstractmethod
    def factor(self, model: GaussianGroups, reach: Fraction | None) -> Fraction:
        """Return the factor on the τ of a sum whose targets are `reach` clipping widths apart.

        None stands for a release that is not ℓ1-private.
        """

    def bound(self, model: Model, spend: Spend) -> float:
        return float_above(self._used(model, spend, queries_of(spend)))

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float:
        queries = (query, *queries_of(spent))
        return float_below(
            (Fraction(epsilon) - self._used(model, spent, queries)) / self._used(model, (Release(query, 1.0),), queries)
        )

    def scope(self, model: Model, queries: tuple[Query, ...]) -> str:
        return (
            f"target values at most {float_below(covered_distance(model, queries)):.15g} apart, "
            "Laplace noise on clipped sums and means"
        )

    def _used(self, model: Model, spend: Spend, queries: tuple[Query, ...]) -> Fraction:
        """Return the exact ε of `spend` at the distance that all of `queries` share."""
        assert isinstance(model, GaussianGroups)
        parts = (
            on_grid(self.factor(model, reach_of(query, model, queries)), model.group_size, query) * Fraction(tau)
            for query, tau in spend
        )
        return sum(parts, start=Fraction(0))


def on_grid(factor: Fraction, records: int, query: Query) -> Fraction:
    """Return the factor of a query whose values are rounded to a grid: each of m records moves a step farther.

    Σ min(a_j + δ, 1) ≤ Σ min(a_j, 1) + m·δ, and m records move at most m widths.
    """
    return max(factor, min(factor + records * query.rounding, Fraction(records)))


def reach_of(query: Query, model: Model, queries: tuple[Query, ...]) -> Fraction | None:
    """Return the covered distance in clipping widths of a query, exactly; None if the query is not ℓ1-private."""
    return None if query.width is None else covered_distance(model, queries) / query.width


def covered_distance(model: Model, queries: tuple[Query, ...]) -> Fraction:
    """Return how far apart target values may be: the model's distance, or the widest clipping width."""
    assert isinstance(model, GaussianGroups)
    widths = [query.width for query in queries if query.width is not None]
    return Fraction(model.distance) if model.distance is not None else max(widths)


def variance_kinds(model: GaussianGroups) -> list[tuple[int, Fraction, Fraction]]:
    """Return size, largest |covariance| over smallest variance, and relative spread of variances for each kind."""
    if model.correlation is not None:
        return [(model.group_size, Fraction(model.correlation), Fraction(0))]
    found = []
    for matrix in model.matrices:
        variances = matrix.diagonal()
        smallest, largest = Fraction(float(variances.min())), Fraction(float(variances.max()))
        covariances = np.abs(matrix - np.diag(variances))
        found.append((len(matrix), Fraction(float(covariances.max())) / smallest, (largest - smallest) / smallest))
    return found
