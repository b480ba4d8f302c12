"""The base of the Gaussian theorems: sums that are private in the ℓ1 metric, and the distance a guarantee covers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from bayesdp.losses import concentrated
from bayesdp.models import GaussianGroups, GaussianSeries, Model
from bayesdp.queries import Query
from bayesdp.rounding import float_above, float_below
from bayesdp.theorems.spend import Release, Spend, queries_of
from bayesdp.theorems.theorem import Theorem

__all__ = ["MetricTheorem", "Normal", "covered_distance", "on_grid", "reach_of", "too_large", "variance_kinds"]


Normal = GaussianGroups | GaussianSeries
"""The models of normal records."""


class MetricTheorem(Theorem):
    """A theorem about clipped sums of normal records: the leakage to an adversary is a sum of factors times τ.

    The worst adversary of several sums is the worst for their total: the one that learns most from a narrow sum need
    not learn most from a wide one.
    """

    @abstractmethod
    def factors(self, model: Normal, reaches: tuple[Fraction, ...]) -> Sequence[tuple[Fraction, ...]]:
        """Return the factors on the τ's of sums for each adversary that may be the worst.

        reaches: how far apart target values may be, in clipping widths of each sum. An adversary may be left out if
                 another learns at least as much from every sum.
        """

    def bound(self, model: Model, spend: Spend) -> float:
        return float_above(max(self._leakages(model, spend, queries_of(spend))))

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float:
        queries = (query, *queries_of(spent))
        leaked = self._leakages(model, spent, queries)
        slopes = self._leakages(model, (Release(query, 1.0),), queries)
        return float_below(
            min((Fraction(epsilon) - before) / slope for before, slope in zip(leaked, slopes, strict=True))
        )

    def concentrated(self, model: Model, spend: Spend) -> float | None:
        """Return Σ h²·ρ, h the largest factor of each release, as if one adversary learned most from all of them."""
        assert isinstance(model, Normal)
        queries = queries_of(spend)
        reaches = _reaches(model, queries)
        widths = tuple(sorted({reach for reach in reaches.values() if reach is not None}))
        worst = [max(learned) for learned in zip(*self.factors(model, widths), strict=True)]
        total = Fraction(0)
        for release in spend:
            rho = concentrated([release.loss])
            if rho is None:
                return None
            reach = reaches[release.query]
            factor = _factor(model, release.query, None if reach is None else worst[widths.index(reach)])
            total += factor**2 * Fraction(rho.rho)
        return float_above(total)

    def scope(self, model: Model, queries: tuple[Query, ...]) -> str:
        return self._scope(model, queries, "Laplace noise")

    def approximate_scope(self, model: Model, queries: tuple[Query, ...]) -> str:
        return self._scope(model, queries, "Gaussian or Laplace noise")

    def _scope(self, model: Model, queries: tuple[Query, ...], noise: str) -> str:
        return (
            f"target values at most {float_below(covered_distance(model, queries)):.15g} apart, "
            f"{noise} on clipped sums and means, {self.against}"
        )

    def _leakages(self, model: Model, spend: Spend, queries: tuple[Query, ...]) -> list[Fraction]:
        """Return the exact leakage of `spend` to each adversary, at the distance that all of `queries` share."""
        assert isinstance(model, Normal)
        reaches = _reaches(model, queries)
        widths = tuple(sorted({reach for reach in reaches.values() if reach is not None}))
        taus: dict[tuple[Query, int | None], Fraction] = {}
        for release in spend:
            reach = reaches[release.query]
            key = (release.query, None if reach is None else widths.index(reach))
            taus[key] = taus.get(key, Fraction(0)) + Fraction(release.tau)
        return [
            sum(
                (
                    _factor(model, query, None if place is None else learned[place]) * tau
                    for (query, place), tau in taus.items()
                ),
                start=Fraction(0),
            )
            for learned in self.factors(model, widths)
        ]


def _reaches(model: Normal, queries: tuple[Query, ...]) -> dict[Query, Fraction | None]:
    """Return the reach of each query; the same query may have been released a thousand times."""
    distinct = tuple(dict.fromkeys(queries))
    return {query: reach_of(query, model, distinct) for query in distinct}


def _factor(model: Normal, query: Query, learned: Fraction | None) -> Fraction:
    """Return the factor of one release; `learned` is None if it is not ℓ1-private and so costs τ for every record."""
    if learned is None:
        assert model.group_size is not None, "refusal sees to that"
        return Fraction(model.group_size)
    records = [number for number in (model.group_size, query.most_records) if number is not None]
    return on_grid(learned, min(records), query) if records else learned


def on_grid(factor: Fraction, records: int, query: Query) -> Fraction:
    """Return the factor of a query whose values are rounded to a grid: each of m records moves one step farther.

    Σ min(a_j + δ, 1) ≤ Σ min(a_j, 1) + m·δ, and m records move at most m widths.
    """
    return max(factor, min(factor + records * query.rounding, Fraction(records)))


def reach_of(query: Query, model: Model, queries: tuple[Query, ...]) -> Fraction | None:
    """Return the covered distance in clipping widths of a query, exactly; None if the query is not ℓ1-private."""
    return None if query.width is None else covered_distance(model, queries) / query.width


def covered_distance(model: Model, queries: tuple[Query, ...]) -> Fraction:
    """Return how far apart target values may be: the model's distance, or the widest clipping width."""
    assert isinstance(model, Normal)
    widths = [query.width for query in queries if query.width is not None]
    return Fraction(model.distance) if model.distance is not None else max(widths)


def too_large(model: GaussianGroups) -> str:
    """Return why the covariance is unknown if only the precision is given."""
    return (
        f"it needs covariances, and the precision has groups of {model.group_size}, or too many kinds of them, to be "
        "inverted exactly; gaussian-walk works on the precision itself"
    )


def variance_kinds(model: GaussianGroups) -> list[tuple[int, Fraction, Fraction]]:
    """Return size, largest |covariance| over smallest variance, and relative spread of variances for each kind."""
    if model.correlation is not None:
        return [(model.group_size, Fraction(model.correlation), Fraction(0))]
    kinds = []
    for matrix in model.matrices:
        variances = matrix.diagonal()
        smallest, largest = Fraction(float(variances.min())), Fraction(float(variances.max()))
        covariances = np.abs(matrix - np.diag(variances))
        kinds.append((len(matrix), Fraction(float(covariances.max())) / smallest, (largest - smallest) / smallest))
    return kinds
