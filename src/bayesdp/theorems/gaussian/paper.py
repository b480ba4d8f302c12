"""The paper's bound for normal groups: ε = h·τ, h = m²/(4(1/ρ − m + 2)) + 1. Proof: docs/theory/gaussian-paper.md."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from bayesdp.models import GaussianGroups, Model
from bayesdp.queries import Query
from bayesdp.theorems.gaussian.metric import MetricTheorem, Normal, too_large, variance_kinds

__all__ = ["GaussianPaper", "paper_factor", "refuse_unlike"]


class GaussianPaper(MetricTheorem):
    """Normal groups with equal variances, ρ(m−2) < 1, and a mechanism that is private in the ℓ1 metric."""

    name: ClassVar[str] = "gaussian-paper"
    proof: ClassVar[str] = "docs/theory/gaussian-paper.md"

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        return refuse_unlike(model) or _refuse_jumps(queries)

    def factors(self, model: Normal, reaches: tuple[Fraction, ...]) -> Sequence[tuple[Fraction, ...]]:
        assert isinstance(model, GaussianGroups)
        factor = max(paper_factor(size, correlation) for size, correlation, _ in variance_kinds(model))
        return [tuple(reach * factor for reach in reaches)]


def paper_factor(size: int, correlation: Fraction) -> Fraction:
    """Return the exact h of the paper for groups of `size` with every |correlation| at most `correlation`.

    >>> float(paper_factor(2, Fraction(1, 2)))
    1.5
    """
    if size == 1 or correlation == 0:
        return Fraction(1)
    return size * size / (4 * (1 / correlation - size + 2)) + 1


def refuse_unlike(model: Model) -> str | None:
    """Return why the model is not normal groups with equal variances and ρ(m−2) < 1, or None."""
    if not isinstance(model, GaussianGroups):
        return "it is about normal groups"
    if model.precision is not None and not model.kinds:
        return too_large(model)
    for size, correlation, spread in variance_kinds(model):
        if spread > _EQUAL_VARIANCES:
            return f"it needs equal variances, but the largest is {_shown(1 + spread)} times the smallest"
        if correlation * (size - 2) >= 1:
            return (
                f"it needs ρ(m−2) < 1, but ρ = {_shown(correlation)} and m = {size} "
                f"give {_shown(correlation * (size - 2))}"
            )
    return None


def _shown(value: Fraction) -> str:
    return format(float(value), ".6g") if value < 10**300 else "more than 1e300"


def _refuse_jumps(queries: tuple[Query, ...]) -> str | None:
    for query in queries:
        if query.not_metric is not None:
            return f"it needs a mechanism that is private in the ℓ1 metric, and {query.not_metric}"
    return None


_EQUAL_VARIANCES = Fraction(1, 10**12)
"""The relative difference of variances that still count as equal, because of rounding. The proof allows for it."""
