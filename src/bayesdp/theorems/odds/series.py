"""Series whose odds depend on the distance of records, any law with these odds. Proof: docs/theory/odds-series.md."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.models import MarkovChain, Model, Network, OddsChain, OddsSeries
from bayesdp.models.memory import log_odds_by_distance
from bayesdp.queries import Query
from bayesdp.rounding import finite, float_above
from bayesdp.theorems.attackers import SIDE_INFORMATION
from bayesdp.theorems.odds.chain import OddsChainTheorem
from bayesdp.theorems.odds.contraction import BEYOND_DEPENDENCE
from bayesdp.theorems.odds.eliminated import parts
from bayesdp.theorems.odds.elimination import largest
from bayesdp.theorems.odds.unlimited import FARTHEST, Unlimited
from bayesdp.theorems.spend import Spend, exact_total, total_tau
from bayesdp.theorems.theorem import Theorem

__all__ = ["OddsSeriesTheorem", "Series", "SeriesTheorem", "network_of"]

Series = OddsSeries | MarkovChain

_SMALL_TAU = 1e-6
_SMALLEST_TAU = 1e-100
"""A smaller τ is replaced by this one, so that nothing underflows."""

_SHORT = 200
"""Up to so many records, without gaps, are summed out as a network; longer series are bounded as if without end."""

_MOST_VALUES = 2**20
"""The most values of all records of a chain on which the odds of two of them depend."""


class SeriesTheorem(Theorem):
    """What theorems about series have in common: chains of reach one, limits, and where a search for τ starts."""

    against: ClassVar[str] = SIDE_INFORMATION
    covers_every_mechanism: ClassVar[bool] = True
    vectorised: ClassVar[bool] = True
    larger_units: ClassVar[bool] = True
    tolerance: ClassVar[float] = 1e-10

    def bound(self, model: Model, spend: Spend) -> float:
        return self.bounds(model, [spend])[0]

    def bounds(self, model: Model, spends: Sequence[Spend]) -> Sequence[float]:
        assert isinstance(model, Series)
        if (chain := chain_of(model)) is not None:
            return OddsChainTheorem().bounds(chain, spends)
        taus = np.maximum([total_tau(spend) for spend in spends], _SMALLEST_TAU)
        proven = strongest(model, taus)
        moderate = taus <= BEYOND_DEPENDENCE
        if moderate.any():
            proven[moderate] = np.minimum(proven[moderate], self.moderate(model, taus[moderate]))
        if model.length is not None:
            proven = np.minimum(proven, [float_above(model.length * exact_total(spend)) for spend in spends])
        return [finite(epsilon) for epsilon in proven.tolist()]

    def moderate(self, model: Series, taus: Floats) -> Floats:
        """Return the bound for each τ up to BEYOND_DEPENDENCE, for records that reach farther than one place."""
        raise NotImplementedError

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float | None:
        assert isinstance(model, Series)
        if (chain := chain_of(model)) is not None:
            return OddsChainTheorem().closed_form(chain, query, epsilon, spent)
        if epsilon <= BEYOND_DEPENDENCE * model.unit:
            return None
        return epsilon / model.unit * (1 - 2.0**-40) - float(exact_total(spent))

    def starts(self, model: Model, query: Query, epsilon: float, spent: Spend) -> Sequence[float]:
        assert isinstance(model, Series)
        if (chain := chain_of(model)) is not None:
            return OddsChainTheorem().starts(chain, query, epsilon, spent)
        tau = epsilon / self.price(model) - float(exact_total(spent))
        return [tau] if tau > 0 else []

    def price(self, model: Series) -> float:
        """Return ε/τ for a small τ."""
        return float(self.moderate(model, np.array([_SMALL_TAU]))[0]) / _SMALL_TAU


class OddsSeriesTheorem(SeriesTheorem):
    """Any series of bounded odds: records are deleted and merged, or summed out, from both far ends to the target."""

    name: ClassVar[str] = "odds-series"
    proof: ClassVar[str] = "docs/theory/odds-series.md"

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if isinstance(model, MarkovChain):
            return _refused(model)
        if not isinstance(model, OddsSeries):
            return "it is about series of bounded odds and stationary Markov chains with a memory of several records"
        if model.reach > FARTHEST and not short(model):
            return f"records depend on others {model.reach} places away, and it sums out records within {FARTHEST} only"
        prepared = parts(network_of(model)) if short(model) else ()
        return prepared if isinstance(prepared, str) else None

    def moderate(self, model: Series, taus: Floats) -> Floats:
        if isinstance(model, OddsSeries) and short(model):
            return largest(network_of(model), taus)
        log_odds = log_odds_of(model)
        if model.unit == 1 or not model.gaps:
            return Unlimited(log_odds, model.unit).largest(taus)
        alone = Unlimited(log_odds)
        bounds = model.unit * alone.largest(taus)
        if model.unit >= len(log_odds):
            bounds = np.minimum(bounds, model.unit * taus + alone.both_sides(taus))
        return np.nextafter(bounds, np.inf)


def chain_of(model: Series) -> OddsChain | None:
    """Return the chain that a series of reach one is; None for others."""
    if not isinstance(model, OddsSeries) or model.reach > 1:
        return None
    return OddsChain(max(model.odds[:1]), length=model.length, unit=model.unit, gaps=model.gaps)


def short(model: OddsSeries) -> bool:
    """Return whether a series is treated as the network it is: few records, none missing, one of them protected."""
    return (
        model.reach > 1 and model.length is not None and model.length <= _SHORT and not model.gaps and model.unit == 1
    )


@lru_cache(maxsize=64)
def network_of(model: OddsSeries) -> Network:
    """Return the network of a series of limited length without gaps."""
    assert model.length is not None
    edges = [
        (first, first + apart, odds)
        for apart, odds in enumerate(model.odds[: model.length - 1], 1)
        for first in range(model.length - apart)
    ]
    return Network(edges=edges, records=model.length)


def log_odds_of(model: Series) -> Floats:
    """Return ln of the odds ratios of records 1, 2, …, k apart, rounded up."""
    return model.log_odds if isinstance(model, OddsSeries) else _implied(model)


def strongest(model: Series, taus: Floats) -> Floats:
    """Return what the records that are protected leak if everything else shows all that the odds allow, rounded up."""
    log_odds = log_odds_of(model)
    around = 2 * model.unit * float(log_odds.sum()) * (1 + (len(log_odds) + 4) * 2.0**-52)
    with np.errstate(over="ignore"):
        return np.nextafter(model.unit * taus * (1 + 2.0**-52) + around, np.inf)


@lru_cache(maxsize=64)
def _implied(model: MarkovChain) -> Floats:
    return log_odds_by_distance(model.table)


def _refused(model: MarkovChain) -> str | None:
    """Return why the odds of a Markov chain by distance are not used, or None."""
    if model.memory == 1:
        return "the chain has a memory of one record; odds-chain covers it"
    if model.start != "stationary":
        return "the chain has an unknown start, which may tie its first records together in any way"
    if model.table.min() <= 0:
        return "it needs every transition probability to be positive, and some are 0"
    if model.memory > FARTHEST or len(model.states) ** (2 * model.memory) > _MOST_VALUES:
        return "the odds of two records depend on too many others for a computation"
    return None
