"""Markov chains with memory, any τ-DP mechanism, any record-wise side information. Proof: docs/theory/markov-memory.md.

A chain with memory k is cut into blocks of ⌈k/2⌉ records. Blocks are symbols of a chain with a memory of two symbols
(`paired`), whose sides are followed outwards symbol by symbol, or bounded for any length.
"""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.errors import DoesNotApplyError
from bayesdp.models import MarkovChain, Model
from bayesdp.models.memory import block_kernel, joint_law, stationary_law
from bayesdp.queries import Query
from bayesdp.rounding import finite, float_above
from bayesdp.theorems.attackers import SIDE_INFORMATION
from bayesdp.theorems.markov.paired import Level, PairedChain
from bayesdp.theorems.markov.sides import UNIT, reach_of
from bayesdp.theorems.spend import Spend, exact_total, total_tau
from bayesdp.theorems.theorem import Theorem

__all__ = ["MarkovMemory", "memory_epsilon", "paired_chain", "paired_from"]

_SMALLEST_PROBABILITY = 1e-30
_MOST_SYMBOLS = 9
_LARGEST_TAU = 100.0
_SMALLEST_TAU = 1e-100
_SHORT = 24
_MOST_COUNTED = 1024
_QUICKLY_COUNTED = 64
_MOST_WORK = 4e7
_CLOSE = 1e-9
_SLACK = 1e-10


class MarkovMemory(Theorem):
    """Near the target, sides are followed block by block; far from it, a certificate bounds them."""

    name: ClassVar[str] = "markov-memory"
    proof: ClassVar[str] = "docs/theory/markov-memory.md"
    covers_every_mechanism: ClassVar[bool] = True
    against: ClassVar[str] = SIDE_INFORMATION
    tolerance: ClassVar[float] = 1e-10

    def __init__(self, counted: int = _MOST_COUNTED) -> None:
        """Follow sides up to `counted` blocks, or until the bound for any length is nearly reached."""
        self.counted = counted

    def quick(self, epsilon: float) -> MarkovMemory:
        return MarkovMemory(min(self.counted, _QUICKLY_COUNTED))

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if not isinstance(model, MarkovChain):
            return "it is about Markov chains with a memory of two or more records"
        if model.memory == 1:
            return "the chain has a memory of one record; this theorem is about two or more"
        if model.table.min() <= 0:
            return "it needs every transition probability to be positive, and some are 0"
        if model.table.min() < _SMALLEST_PROBABILITY:
            return "some transitions are too improbable for reliable floating-point arithmetic"
        symbols = len(model.states) ** _block(model.memory)
        if symbols > _MOST_SYMBOLS:
            return f"blocks of records can have {symbols} values, more than the {_MOST_SYMBOLS} it can follow"
        return None

    def bound(self, model: Model, spend: Spend) -> float:
        assert isinstance(model, MarkovChain)
        if len(model.states) == 1:
            return 0.0
        others = reach_of(model)
        blocks = None if others is None else others // _block(model.memory) + 1
        stationary = model.start == "stationary"
        epsilon = memory_epsilon(
            paired_chain(model), total_tau(spend), blocks, stationary=stationary, counted=self.counted
        )
        if epsilon is None:
            raise DoesNotApplyError(self.name, "no certificate was found that bounds sides of any length")
        if model.length is not None and model.length * exact_total(spend) < epsilon:
            return float_above(model.length * exact_total(spend))
        return finite(epsilon)

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float | None:
        assert isinstance(model, MarkovChain)
        if len(model.states) == 1 or epsilon <= 2 * _LARGEST_TAU:
            return None
        slope, constant = _saturated(paired_chain(model))
        total = (epsilon - constant) / slope * (1 - self.tolerance)
        if total <= 2 * _LARGEST_TAU or (model.length is not None and epsilon / model.length > total):
            return None
        return total - float(exact_total(spent))


def _block(memory: int) -> int:
    """Return the number of records in a block; two blocks hold the memory."""
    return (memory + 1) // 2


@lru_cache(maxsize=512)
def paired_chain(model: MarkovChain) -> PairedChain:
    """Return the chain of blocks of a chain with memory; it has a memory of two blocks."""
    start = stationary_law(model.table) if model.start == "stationary" else None
    return paired_from(model.table, start, 36 * UNIT * float(len(model.states)) ** (3 * model.memory))


def paired_from(table: Floats, start: Floats | None, error: float = 0.0) -> PairedChain:
    """Return the blocks of a table with memory k, from a law of the first k records or from any (None).

    error: how far the logarithm of four probabilities of the law may be off.
    """
    records = _block(table.ndim - 1)
    kernel = block_kernel(table, records)
    values = np.array(list(np.ndindex(*(len(table),) * records)))
    distances = (values[:, None, :] != values[None, :, :]).sum(axis=2)
    if start is None:
        return PairedChain(kernel, distances, None)
    logs = np.log(joint_law(table, start, 2 * records).reshape(len(kernel), len(kernel))).T
    turned = logs[:, None, :] - logs[None, :, :]
    odds = turned[:, :, :, None] - turned[:, :, None, :]
    margin = error + 2.0**-46 * (1 + float(np.abs(logs).max()))
    other = ~np.eye(len(kernel), dtype=bool)
    return PairedChain(kernel, distances, np.where(other[:, :, None, None] & other, odds + margin, 0.0))


def memory_epsilon(
    chain: PairedChain, tau: float, blocks: int | None, *, stationary: bool, counted: int = _MOST_COUNTED
) -> float | None:
    """Return the leakage about any symbol of a chain of at most this many (None: any number), rounded up.

    None if no certificate was found.

    stationary: whether the start has the law of any two neighbours, so that the chain may be extended to the left.
    counted:    the most symbols of a side that are followed one by one.
    """
    if tau > _LARGEST_TAU:
        slope, constant = _saturated(chain)
        return (slope * tau + constant) * (1 + 2.0**-50)
    tau = max(tau, _SMALLEST_TAU)
    levels = _levels(chain, tau, blocks, counted)
    if levels is None:
        return None
    last = len(levels.values) - 1
    total = 2 * last + 4 if blocks is None else blocks
    near, far = min(total, last + 2), total if blocks is None else max(total - last - 2, last + 2)
    targets = np.concatenate([np.arange(1, near + 1), np.arange(far + 1, total + 1)])
    before = levels[np.minimum(np.maximum(targets - 2, 0), last)], levels[np.minimum(targets - 1, last)]
    after = levels[np.minimum(total - targets, last)], levels[np.minimum(np.maximum(total - targets - 1, 0), last)]
    with_before = chain.at_target(after[0].right, before[0].left, tau)
    with_after = chain.at_target(before[1].left, after[1].right, tau)
    if not stationary:
        with_before[0] = np.inf
    leaked = np.minimum(with_before, with_after)
    return float(np.where(np.eye(chain.size, dtype=bool), 0.0, leaked).max())


def _levels(chain: PairedChain, tau: float, blocks: int | None, counted: int) -> Level | None:
    """Return the levels of sides of 0, 1, 2, … symbols, stacked; the last one holds for all longer sides, too.

    None if there are too many symbols to follow and no certificate was found for longer sides.
    """
    values = [chain.outermost().values]

    def count_on() -> None:
        values.append(chain.passed(Level(values[-1], chain.reach_after(len(values) - 1)), tau))

    def reaches() -> list[Floats]:
        return [chain.reach_after(taken) for taken in range(len(values))]

    if blocks is not None and blocks <= _SHORT:
        while len(values) < blocks:
            count_on()
        return Level(np.array(values), np.array(reaches()))
    most = max(_SHORT, min(counted, int(_MOST_WORK / (8 * chain.size**6))))
    worthwhile = 0 if blocks is None or blocks >= 2 * most + 2 else min(blocks - 1, most)
    reach, begins = chain.settled
    settled = chain.settled_values(tau, _SLACK if chain.start is None else 0.0)
    if settled is None:
        return None
    while len(values) <= begins or (values[-1] > settled).any():
        if len(values) > _MOST_COUNTED:
            return None
        count_on()
    while len(values) <= worthwhile and (values[-1] < settled * (1 - _CLOSE)).any():
        count_on()
    return Level(np.array([*values[:-1], settled]), np.array([*reaches()[:-1], reach]))


def _saturated(chain: PairedChain) -> tuple[int, float]:
    """Return slope and constant of a bound that is linear in τ, for a τ that is too large to follow sides."""
    changed = int(chain.distances.max())
    return changed if chain.start is not None else 2 * changed, chain.most_from_sides * (1 + 2.0**-50)
