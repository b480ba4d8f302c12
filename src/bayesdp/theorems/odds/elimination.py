"""Records in any network of bounded odds, summed out one after another. Proof: docs/theory/odds-elimination.md."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.models import Model, Network
from bayesdp.queries import Query
from bayesdp.rounding import finite, float_above
from bayesdp.theorems.attackers import SIDE_INFORMATION
from bayesdp.theorems.odds.contraction import BEYOND_DEPENDENCE
from bayesdp.theorems.odds.eliminated import parts
from bayesdp.theorems.spend import Spend, exact_total, total_tau
from bayesdp.theorems.theorem import Theorem

__all__ = ["OddsElimination", "largest"]

_SMALL_TAU = 1e-6
"""ε/τ does not rise with τ, so its value here shows where a search starts."""


class OddsElimination(Theorem):
    """Any network: the others are summed out one by one, or deleted and merged; the best of several orders counts."""

    name: ClassVar[str] = "odds-elimination"
    proof: ClassVar[str] = "docs/theory/odds-elimination.md"
    covers_every_mechanism: ClassVar[bool] = True
    against: ClassVar[str] = SIDE_INFORMATION
    vectorised: ClassVar[bool] = True
    tolerance: ClassVar[float] = 1e-10

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if not isinstance(model, Network):
            return "it is about networks of bounded odds"
        if model.edges is None:
            return "it sums out one record after another, and the model does not state which depend on one another"
        prepared = parts(model)
        return prepared if isinstance(prepared, str) else None

    def bound(self, model: Model, spend: Spend) -> float:
        return self.bounds(model, [spend])[0]

    def bounds(self, model: Model, spends: Sequence[Spend]) -> Sequence[float]:
        assert isinstance(model, Network)
        size = model.group_size
        assert size is not None
        taus = np.array([total_tau(spend) for spend in spends])
        proven = np.minimum(largest(model, taus), [float_above(size * exact_total(spend)) for spend in spends])
        return [finite(epsilon) for epsilon in proven.tolist()]

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float | None:
        return epsilon * (1 - 2.0**-40) - float(exact_total(spent)) if epsilon > BEYOND_DEPENDENCE else None

    def starts(self, model: Model, query: Query, epsilon: float, spent: Spend) -> Sequence[float]:
        assert isinstance(model, Network)
        tau = epsilon / _price(model) - float(exact_total(spent))
        return [tau] if tau > 0 else []


def largest(network: Network, taus: Floats) -> Floats:
    """Return for each τ the largest leakage of a record: up to BEYOND_DEPENDENCE, beyond which f adds at most d.

    The records of the network can be summed out (`parts`).
    """
    several = parts(network)
    assert not isinstance(several, str)
    moderate = taus <= BEYOND_DEPENDENCE
    proven = taus.copy()
    for part in several:
        if moderate.any():
            proven[moderate] = np.maximum(proven[moderate], part.largest(taus[moderate]))
        with np.errstate(over="ignore"):
            proven[~moderate] = np.maximum(
                proven[~moderate], np.nextafter(taus[~moderate] + float(part.around.max()), np.inf)
            )
    return proven


@lru_cache(maxsize=8)
def _price(network: Network) -> float:
    """Return ε/τ for a small τ."""
    return float(largest(network, np.array([_SMALL_TAU]))[0]) / _SMALL_TAU
