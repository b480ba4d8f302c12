"""At most m records correlated, in any way: ε = m·τ. Proof: docs/theory/general.md."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from bayesdp.losses import concentrated
from bayesdp.models import Model
from bayesdp.queries import Query
from bayesdp.rounding import float_above, float_below
from bayesdp.theorems.attackers import ANYBODY
from bayesdp.theorems.spend import Spend, exact_total
from bayesdp.theorems.theorem import Theorem

__all__ = ["GeneralBound"]


class GeneralBound(Theorem):
    """Changing one record can change at most its whole group: group privacy for m records."""

    name: ClassVar[str] = "general"
    proof: ClassVar[str] = "docs/theory/general.md"
    covers_every_mechanism: ClassVar[bool] = True
    against: ClassVar[str] = ANYBODY
    larger_units: ClassVar[bool] = True

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if model.group_size is None:
            return "the number of correlated records is unlimited: give the model a length, size or number of records"
        return None

    def bound(self, model: Model, spend: Spend) -> float:
        return float_above(_size(model) * exact_total(spend))

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float:
        return float_below(Fraction(epsilon) / _size(model) - exact_total(spent))

    def concentrated(self, model: Model, spend: Spend) -> float | None:
        """Return m²·ρ: group privacy for m records (Bun and Steinke 2016, Proposition 1.9)."""
        together = concentrated([release.loss for release in spend])
        return None if together is None else float_above(_size(model) ** 2 * Fraction(together.rho))


def _size(model: Model) -> int:
    size = model.group_size
    assert size is not None
    return size
