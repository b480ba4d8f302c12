"""Neighbours in a chain with an odds ratio of at most θ: sinh(ε/4) = √θ·sinh(τ/4). Proof: docs/theory/odds-chain.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.models import MarkovChain, Model, OddsChain
from bayesdp.queries import Query
from bayesdp.rounding import finite, float_above
from bayesdp.theorems.attackers import SIDE_INFORMATION
from bayesdp.theorems.odds.sides import leakage_of_any_length, side, tau_of_any_length
from bayesdp.theorems.spend import Spend, exact_total
from bayesdp.theorems.theorem import Theorem

__all__ = ["OddsChainTheorem", "blocks_met", "records_met"]

Chain = OddsChain | MarkovChain


class OddsChainTheorem(Theorem):
    """Any chain of bounded odds: transition probabilities may change at every step, and so may the start."""

    name: ClassVar[str] = "odds-chain"
    proof: ClassVar[str] = "docs/theory/odds-chain.md"
    covers_every_mechanism: ClassVar[bool] = True
    against: ClassVar[str] = SIDE_INFORMATION
    vectorised: ClassVar[bool] = True
    larger_units: ClassVar[bool] = True

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if not isinstance(model, Chain):
            return "it is about chains of bounded odds and Markov chains"
        if math.isinf(model.log_odds):
            return (
                "the odds ratio of neighbouring records is infinite: some values can follow one value but not another"
            )
        return None

    def bound(self, model: Model, spend: Spend) -> float:
        return self.bounds(model, [spend])[0]

    def bounds(self, model: Model, spends: Sequence[Spend]) -> Sequence[float]:
        chain = _chain(model)
        totals = [exact_total(spend) for spend in spends]
        proven = _leakages(chain, totals)
        if chain.length is not None:
            proven = np.minimum(proven, _times(chain.length, totals))
        return [finite(epsilon) for epsilon in proven.tolist()]

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float | None:
        chain = _chain(model)
        if chain.length is not None or chain.unit > 1:
            return None
        total = Fraction(tau_of_any_length(epsilon, chain.log_odds)) / chain.memory
        return float(total - exact_total(spent))

    def starts(self, model: Model, query: Query, epsilon: float, spent: Spend) -> Sequence[float]:
        chain = _chain(model)
        least = tau_of_any_length(epsilon / blocks_met(chain), chain.log_odds) / chain.memory
        return [max(least - float(exact_total(spent)), 0.0)]


def blocks_met(chain: Chain) -> int:
    """Return how many blocks of `memory` steps a unit of consecutive records can touch; with gaps, one per record."""
    memory, unit = chain.memory, chain.unit
    return unit if chain.gaps else -(-(unit + memory - 1) // memory)


def records_met(chain: Chain) -> int:
    """Return the largest number of records in the blocks that a unit of consecutive records touches.

    With gaps the first and the last block may hold one record of the unit each, and memory − 1 others.
    """
    memory, unit = chain.memory, chain.unit
    return unit + 2 * (memory - 1) if chain.gaps and unit > 1 else blocks_met(chain) * memory


def _leakages(chain: Chain, totals: Sequence[Fraction]) -> Floats:
    """Return the bound for each τ, rounded up, in blocks of `memory` records that form a chain of memory one."""
    memory = chain.memory
    whole_blocks = _times(memory, totals)
    met = blocks_met(chain)
    length = None if memory > 1 and chain.gaps else chain.length  # records may be spread over more blocks
    if met == 1 and length is None:
        return leakage_of_any_length(whole_blocks, chain.log_odds)
    inside = _times(records_met(chain), totals)
    if length is None:
        both = 2 * side(whole_blocks, chain.log_odds, None)
    else:
        others = max(-(-length // memory) - met, 0)
        both = np.nextafter(
            side(whole_blocks, chain.log_odds, others // 2) + side(whole_blocks, chain.log_odds, others - others // 2),
            np.inf,
        )
    with np.errstate(over="ignore"):
        return np.nextafter(inside + both, np.inf)


def _times(records: int, totals: Sequence[Fraction]) -> Floats:
    """Return the joint cost of this many records by group privacy, for each τ, rounded up."""
    return np.array([float_above(records * total) for total in totals])


def _chain(model: Model) -> Chain:
    assert isinstance(model, Chain)
    return model
