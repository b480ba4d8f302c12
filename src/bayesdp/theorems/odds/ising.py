"""Records of two values whose effects on one another add up and push the same way. Proof: docs/theory/odds-ising.md."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.models import Model, Network, OddsSeries
from bayesdp.queries import Query
from bayesdp.rounding import finite, float_above
from bayesdp.theorems.odds.contraction import BEYOND_DEPENDENCE
from bayesdp.theorems.odds.eliminated import connected
from bayesdp.theorems.odds.enumerated import MOST_POSITIONS, Enumerated
from bayesdp.theorems.odds.magnets import BEYOND_MAGNETS, FARTHEST, MOST_TOGETHER, Magnets
from bayesdp.theorems.odds.narrow import Narrow, narrow
from bayesdp.theorems.odds.series import Series, SeriesTheorem, network_of
from bayesdp.theorems.spend import Spend, exact_total, total_tau
from bayesdp.theorems.theorem import Theorem

__all__ = ["OddsIsing"]

_SMALL_TAU = 1e-3
"""ε/τ hardly changes below this τ, so its value here shows where a search starts."""

_LONGEST = 512
"""Up to so many records, without gaps, every position in a series has its own bound; beyond, as if without end."""

_MOST_ROWS = 2**22
"""The most combinations of values that are enumerated for all parts of a network together."""

_QUICK = 1e-5
"""How close the lower and the upper value of the quick version are."""


class OddsIsing(SeriesTheorem):
    """Effects that add up and push the same way: twice ln of the odds of a spin in a magnet with the field τ/4."""

    name: ClassVar[str] = "odds-ising"
    proof: ClassVar[str] = "docs/theory/odds-ising.md"

    def __init__(self, agreement: float = 1e-10) -> None:
        """agreement: how close, relative to them, a lower and an upper value of a long series must be."""
        self._agreement = agreement

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if not isinstance(model, OddsSeries | Network):
            return "it is about series and networks of bounded odds"
        if not model.additive:
            return "the model does not state that what other records say about one adds up and pushes the same way"
        if isinstance(model, Network):
            prepared = _parts(model)
            return prepared if isinstance(prepared, str) else None
        if model.reach > FARTHEST and not _enumerable(model):
            return f"records depend on others {model.reach} places away, and it covers {FARTHEST} at most"
        return None

    def bounds(self, model: Model, spends: Sequence[Spend]) -> Sequence[float]:
        if isinstance(model, Network):
            size = model.group_size
            assert size is not None
            proven = self._of_network(model, np.array([total_tau(spend) for spend in spends]))
            return [
                finite(epsilon)
                for epsilon in np.minimum(proven, [float_above(size * exact_total(spend)) for spend in spends]).tolist()
            ]
        return super().bounds(model, spends)

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float | None:
        if not isinstance(model, Network):
            return super().closed_form(model, query, epsilon, spent)
        return epsilon * (1 - 2.0**-40) - float(exact_total(spent)) if epsilon > BEYOND_DEPENDENCE else None

    def starts(self, model: Model, query: Query, epsilon: float, spent: Spend) -> Sequence[float]:
        if not isinstance(model, Network):
            return super().starts(model, query, epsilon, spent)
        price = float(self._of_network(model, np.array([_SMALL_TAU]))[0]) / _SMALL_TAU
        tau = epsilon / price - float(exact_total(spent))
        return [tau] if tau > 0 else []

    def quick(self, epsilon: float) -> Theorem:
        return OddsIsing(_QUICK)

    def price(self, model: Series) -> float:
        return float(self.moderate(model, np.array([_SMALL_TAU]))[0]) / _SMALL_TAU

    def moderate(self, model: Series, taus: Floats) -> Floats:
        assert isinstance(model, OddsSeries)
        proven = np.full(len(taus), np.inf)
        weak = taus <= BEYOND_MAGNETS
        if weak.any():
            proven[weak] = self._of_series(model, taus[weak])
        return proven

    def _of_network(self, network: Network, taus: Floats) -> Floats:
        """Return for each τ the largest leakage of a record; τ where a record depends on no other."""
        prepared = _parts(network)
        assert not isinstance(prepared, str)
        return np.asarray(np.maximum.reduce([taus, *(part.largest(taus) for part in prepared)]))

    def _of_series(self, model: OddsSeries, taus: Floats) -> Floats:
        magnets = Magnets(model.log_odds, self._agreement)
        if model.length is not None and model.length <= _LONGEST and not model.gaps and model.unit == 1:
            if model.length < 2 * model.reach:
                return self._of_network(network_of(model), taus)
            return magnets.of_length(taus, model.length)
        if model.unit == 1:
            return magnets.largest(taus)
        if model.gaps:
            return np.nextafter(model.unit * magnets.largest(taus), np.inf)
        several, rest = divmod(model.unit, MOST_TOGETHER)
        total = np.zeros(len(taus))
        for count, size in ((several, MOST_TOGETHER), (1, rest)):
            if count and size:
                total = np.nextafter(total + np.nextafter(count * magnets.of_unit(taus, size), np.inf), np.inf)
        return total


@lru_cache(maxsize=8)
def _parts(network: Network) -> tuple[Enumerated | Narrow, ...] | str:
    """Return the connected parts of a network that differ, prepared for any τ, or the reason why they cannot be."""
    found = {tuple(array.tobytes() for array in ties): ties for ties in connected(network.ties) if ties.visible.any()}
    enumerable = sum(2**ties.size for ties in found.values() if ties.size <= MOST_POSITIONS) <= _MOST_ROWS
    prepared: list[Enumerated | Narrow] = []
    for ties in found.values():
        part = Enumerated(ties) if enumerable and ties.size <= MOST_POSITIONS else narrow(ties)
        if part is None:
            return (
                f"{ties.size} positions are connected, and too many of them depend on one another at the same time: "
                f"it enumerates the values of {MOST_POSITIONS}, or sums records out where few are connected at a time"
            )
        prepared.append(part)
    return tuple(prepared)


def _enumerable(model: OddsSeries) -> bool:
    return model.length is not None and model.length <= MOST_POSITIONS and not model.gaps and model.unit == 1
