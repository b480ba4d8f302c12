"""The paper's bound for normal groups: ε = h·τ, h = m²/(4(1/ρ − m + 2)) + 1. Proof: docs/theory/gaussian-paper.md."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from bayesdp.leakage.theorem import Theorem
from bayesdp.models import GaussianGroups, Model
from bayesdp.queries import Query
from bayesdp.rounding import float_above, float_below
from bayesdp.spending import Spend, queries_of

__all__ = ["GaussianPaper", "paper_factor"]

_EQUAL_VARIANCES = Fraction(1, 10**12)
"""Variances may differ by this much relatively: rounding, not a different variance. The proof allows for it."""


class GaussianPaper(Theorem):
    """Normal groups with equal variances, ρ(m−2) < 1, and a mechanism that is private in the ℓ1 metric."""

    name: ClassVar[str] = "gaussian-paper"
    proof: ClassVar[str] = "docs/theory/gaussian-paper.md"

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if not isinstance(model, GaussianGroups):
            return "it is about normal groups (GaussianGroups)"
        if len({query.column for query in queries if query.column is not None}) > 1:
            return "the sums are over different columns, and one correlation model speaks about one"
        for query in queries:
            if query.not_metric is not None:
                return f"it needs a mechanism that is private in the ℓ1 metric, and {query.not_metric}"
        for size, correlation, spread in _kinds(model):
            if spread > _EQUAL_VARIANCES:
                return f"it needs equal variances, but they differ by {float(spread):.1%} of the smallest"
            if correlation * (size - 2) >= 1:
                return (
                    f"it needs ρ(m−2) < 1, but ρ = {float(correlation):.6g} and m = {size} "
                    f"give {float(correlation * (size - 2)):.6g}"
                )
        return None

    def bound(self, model: Model, spend: Spend) -> float:
        reach = covered_distance(model, queries_of(spend))
        return float_above(_factor(model) * sum(Fraction(tau) * reach / _width(query) for query, tau in spend))

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float:
        reach = covered_distance(model, (query, *queries_of(spent)))
        used = sum((Fraction(tau) * reach / _width(earlier) for earlier, tau in spent), start=Fraction(0))
        return float_below((Fraction(epsilon) / _factor(model) - used) * _width(query) / reach)

    def scope(self, model: Model, queries: tuple[Query, ...]) -> str:
        return (
            f"target values at most {float(covered_distance(model, queries)):g} apart, "
            "Laplace noise on clipped sums and means"
        )


def paper_factor(size: int, correlation: Fraction) -> Fraction:
    """Return the exact h of the paper for groups of `size` with every |correlation| at most `correlation`.

    >>> float(paper_factor(2, Fraction(1, 2)))
    1.5
    """
    if size == 1 or correlation == 0:
        return Fraction(1)
    return size * size / (4 * (1 / correlation - size + 2)) + 1


def covered_distance(model: Model, queries: tuple[Query, ...]) -> Fraction:
    """Return how far apart target values may be: the model's distance, or the widest clipping width."""
    assert isinstance(model, GaussianGroups)
    return Fraction(model.distance) if model.distance is not None else max(map(_width, queries))


def _factor(model: Model) -> Fraction:
    assert isinstance(model, GaussianGroups)
    return max(paper_factor(size, correlation) for size, correlation, _ in _kinds(model))


def _kinds(model: GaussianGroups) -> list[tuple[int, Fraction, Fraction]]:
    """Return size, largest |covariance| over smallest variance, and relative spread of variances for each kind."""
    if model.correlation is not None:
        return [(model.group_size, Fraction(model.correlation), Fraction(0))]
    found = []
    for kind in model.kinds:
        variances = [row[index] for index, row in enumerate(kind)]
        smallest, largest = Fraction(min(variances)), Fraction(max(variances))
        others = (abs(value) for i, row in enumerate(kind) for j, value in enumerate(row) if i != j)
        found.append((len(kind), Fraction(max(others, default=0.0)) / smallest, (largest - smallest) / smallest))
    return found


def _width(query: Query) -> Fraction:
    assert query.width is not None
    return query.width
