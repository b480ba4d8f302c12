"""What the Gaussian theorems share: sums that are private in the ℓ1 metric, and the distance a guarantee covers."""

from __future__ import annotations

from fractions import Fraction

from bayesdp.models import GaussianGroups, Model
from bayesdp.queries import Query
from bayesdp.rounding import float_below
from bayesdp.spending import Spend, queries_of

__all__ = ["covered_distance", "metric_scope", "reaches", "variance_kinds"]


def reaches(model: Model, spend: Spend) -> list[tuple[Fraction | None, Fraction]]:
    """Return for each release its reach D/M, None if it is not ℓ1-private, and its τ, all exact."""
    distance = covered_distance(model, queries_of(spend))
    return [(None if query.width is None else distance / query.width, Fraction(tau)) for query, tau in spend]


def covered_distance(model: Model, queries: tuple[Query, ...]) -> Fraction:
    """Return how far apart target values may be: the model's distance, or the widest clipping width."""
    assert isinstance(model, GaussianGroups)
    widths = [query.width for query in queries if query.width is not None]
    return Fraction(model.distance) if model.distance is not None else max(widths)


def metric_scope(model: Model, queries: tuple[Query, ...]) -> str:
    """Return the scope of a guarantee for clipped sums."""
    return (
        f"target values at most {float_below(covered_distance(model, queries)):.15g} apart, "
        "Laplace noise on clipped sums and means"
    )


def variance_kinds(model: GaussianGroups) -> list[tuple[int, Fraction, Fraction]]:
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
