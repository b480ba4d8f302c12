"""Independent records: ε = τ. Proof: docs/theory/independent.md."""

from __future__ import annotations

from typing import ClassVar

from bayesdp.models import Independent, Model
from bayesdp.queries import Query
from bayesdp.rounding import exact_sum, float_below
from bayesdp.theorems.attackers import ANYBODY
from bayesdp.theorems.spend import Spend, total_tau
from bayesdp.theorems.theorem import Theorem

__all__ = ["IndependentRecords"]


class IndependentRecords(Theorem):
    """Under independence Bayesian and ordinary differential privacy are the same."""

    name: ClassVar[str] = "independent"
    proof: ClassVar[str] = "docs/theory/independent.md"
    covers_every_mechanism: ClassVar[bool] = True
    against: ClassVar[str] = ANYBODY

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if isinstance(model, Independent):
            return None
        return "the model allows correlated records; ε = τ holds only for independent records"

    def bound(self, model: Model, spend: Spend) -> float:
        return total_tau(spend)

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float:
        return float_below(exact_sum((epsilon, *(-release.tau for release in spent))))
