"""Records that depend on a few others, with or without loops: a sum over walks. Proof: docs/theory/odds-network.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.models import Model, Network
from bayesdp.queries import Query
from bayesdp.rounding import finite, float_above
from bayesdp.theorems.attackers import SIDE_INFORMATION
from bayesdp.theorems.odds.contraction import BEYOND_DEPENDENCE, contraction
from bayesdp.theorems.odds.walks import Walks, share_passed, walks
from bayesdp.theorems.spend import Spend, exact_total, total_tau
from bayesdp.theorems.theorem import Theorem

__all__ = ["OddsNetwork"]

_WIDENED = 1 + 2.0**-46


class OddsNetwork(Theorem):
    """The effect of a change of one record on the others, summed over every walk that leads back to it."""

    name: ClassVar[str] = "odds-network"
    proof: ClassVar[str] = "docs/theory/odds-network.md"
    covers_every_mechanism: ClassVar[bool] = True
    against: ClassVar[str] = SIDE_INFORMATION
    vectorised: ClassVar[bool] = True

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if not isinstance(model, Network):
            return "it is about networks of bounded odds"
        sums = walks(model)
        return sums if isinstance(sums, str) else None

    def bound(self, model: Model, spend: Spend) -> float:
        return self.bounds(model, [spend])[0]

    def bounds(self, model: Model, spends: Sequence[Spend]) -> Sequence[float]:
        sums, size = _sums(model), model.group_size
        taus = np.array([total_tau(spend) for spend in spends])
        with np.errstate(over="ignore"):
            others = np.full_like(taus, np.inf) if size is None else (size - 1) * taus * _WIDENED
            moved = np.minimum(
                sums.beyond * _first_moves(taus, sums.strongest) * _WIDENED, contraction(others, sums.around)
            )
            proven = np.nextafter(taus + moved, np.inf) if sums.strongest else taus
        if size is not None:
            proven = np.minimum(proven, [float_above(size * exact_total(spend)) for spend in spends])
        return [finite(epsilon) for epsilon in proven.tolist()]

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float | None:
        return epsilon * (1 - 2.0**-40) - float(exact_total(spent)) if epsilon > BEYOND_DEPENDENCE else None

    def starts(self, model: Model, query: Query, epsilon: float, spent: Spend) -> Sequence[float]:
        tau = epsilon / (1 + _sums(model).beyond) - float(exact_total(spent))
        return [tau] if tau > 0 else []


def _first_moves(taus: Floats, strongest: float) -> Floats:
    """Return s with f(τ, d) ≤ s·tanh(d/4) for all d up to the strongest."""
    if strongest == 0:
        return taus
    below = float(share_passed(np.array(strongest))) * (1 - 2.0**-46)
    return np.minimum(contraction(taus, strongest) / below * _WIDENED, taus)


def _sums(model: Model) -> Walks:
    assert isinstance(model, Network)
    sums = walks(model)
    assert isinstance(sums, Walks)
    return sums
