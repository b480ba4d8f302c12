"""Markov chains, any τ-DP mechanism: the mixing bound. Proof: docs/theory/markov-mixing.md.

Each side of the target is followed outwards record by record; V(x, x′) bounds how much more likely the side can make an
output under x than under x′. A side is described by how many records it takes and how it ends: in a known record, or
with nothing known where the chain ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import ClassVar

import numpy as np

from bayesdp.models import MarkovChain, Model
from bayesdp.queries import Query
from bayesdp.rounding import finite, float_above
from bayesdp.theorems.adversary import Adversary, WorstInChain
from bayesdp.theorems.markov.following import followed, least_beyond
from bayesdp.theorems.markov.levels import BothSides, Levels
from bayesdp.theorems.markov.quilt import MarkovQuilt
from bayesdp.theorems.markov.sides import (
    QUICK,
    REMEMBERS_MORE,
    UNIT,
    Side,
    forgotten_after,
    reach_of,
    sides,
    sides_of_each,
    steps_to_forget,
    unreliable,
)
from bayesdp.theorems.markov.transport import LARGEST_EXACT
from bayesdp.theorems.markov.two_states import two_state_levels
from bayesdp.theorems.spend import Spend, exact_total, total_tau
from bayesdp.theorems.theorem import Theorem

__all__ = ["MarkovMixing", "follow", "mixing_epsilons"]

_LARGEST_TAU = 300.0
_DEEPEST = {2: 4096, 3: 1024, 4: 1024, 5: 512, 6: 128, 7: 64}
_DEEPEST_RELAXED = 400_000
"""The limit above seven states, times the square of their number; at most 512 records."""

_NEGLIGIBLE = {2: 1e-11}
_NEGLIGIBLE_OTHERWISE = 1e-8
_NEGLIGIBLE_RELAXED = 1e-4
_FEWEST_RELAXED = 6
_TOLERANCE_RELAXED = 8e-3
_SHARES = (2.0**-60, 2.0**-5)
"""Shares of ε at which a search starts where the quilt does not apply: the first shows whether it can succeed."""

_LONGEST_UNFORGETTING = 20_000
_MOST_STATES = 128
_TOGETHER = 16
_TOGETHER_WITHIN = {False: 1e-8, True: 2e-5}
"""The difference of columns below which endings are followed together, by whether the step is relaxed."""


class MarkovMixing(Theorem):
    """The mixing bound: dependence fades with distance. Transition probabilities may be 0."""

    name: ClassVar[str] = "markov-mixing"
    proof: ClassVar[str] = "docs/theory/markov-mixing.md"
    covers_every_mechanism: ClassVar[bool] = True
    tolerance: ClassVar[float] = 5e-10
    vectorised: ClassVar[bool] = True
    larger_units: ClassVar[bool] = True

    def __init__(self, negligible: float = 0.0) -> None:
        """Follow each side of the target until farther records add at most `negligible`, or a built-in limit if larger.

        Chains of two states always use the built-in limit, which costs them no time.
        """
        self.negligible = negligible

    def quick(self, epsilon: float) -> MarkovMixing:
        return MarkovMixing(max(self.negligible, QUICK * epsilon))

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if not isinstance(model, MarkovChain):
            return "it is about Markov chains"
        if model.memory > 1:
            return REMEMBERS_MORE
        if len(model.transition) > _MOST_STATES:
            return f"the chain has more than {_MOST_STATES} states, too many to follow record by record"
        reach = reach_of(model)
        if not model.is_primitive:
            cause = "it is periodic" if model.is_irreducible else "some states cannot reach others"
            if reach is None:
                return f"dependence never fades in this chain ({cause}), and its length in time is unlimited"
            if reach > _LONGEST_UNFORGETTING or len(model.transition) ** 2 * reach > _LONGEST_UNFORGETTING**1.5:
                return f"dependence never fades in this chain ({cause}), and it is too long to be followed to its end"
        elif _never_settles(model):
            return f"after {_deepest_relaxed(model)} steps some states of the chain still cannot reach others"
        return unreliable(model)

    def bound(self, model: Model, spend: Spend) -> float:
        return self.bounds(model, [spend])[0]

    def bounds(self, model: Model, spends: Sequence[Spend]) -> list[float]:
        assert isinstance(model, MarkovChain)
        taus = [total_tau(spend) for spend in spends]
        known = [_least(model, spend, math.inf, model.length) for spend in spends]
        hopeful = {tau for tau, least in zip(taus, known, strict=True) if self._may_improve(model, tau, least)}
        mixed = dict(zip(hopeful, mixing_epsilons(model, list(hopeful), self.negligible), strict=True))
        return [finite(min(least, mixed.get(tau, math.inf))) for tau, least in zip(taus, known, strict=True)]

    def _may_improve(self, chain: MarkovChain, tau: float, known: float) -> bool:
        """Return whether following the sides may prove less than a known bound; many states are costly to follow."""
        if not _relaxed(chain, self.negligible) or tau > _LARGEST_TAU:
            return True
        depth, reach = _needed_depth(chain, self.negligible), reach_of(chain)
        if reach is not None and reach < 2 * depth:
            return True
        left, right = (least_beyond(side, tau, depth) for side in sides(chain))
        return tau + float((left + right).max()) < known

    def bounds_under(self, models: Sequence[Model], spend: Spend) -> list[float]:
        chains = [model for model in models if isinstance(model, MarkovChain)]
        tau = total_tau(spend)
        if not _alike(chains) or tau > _LARGEST_TAU or any(_relaxed(chain, self.negligible) for chain in chains):
            return list(super().bounds_under(models, spend))
        epsilons: dict[int, float] = {}
        by_depth = sorted(range(len(chains)), key=lambda index: _needed_depth(chains[index], self.negligible))
        for begin in range(0, len(by_depth), _TOGETHER):
            some = by_depth[begin : begin + _TOGETHER]
            followed = follow([chains[index] for index in some], [tau] * len(some), self.negligible)
            epsilons.update(zip(some, followed.epsilons(), strict=True))
        return [finite(_grouped(spend, epsilons[index], chain.length)) for index, chain in enumerate(chains)]

    def refusal_for(self, model: Model, queries: tuple[Query, ...], adversary: Adversary) -> str | None:
        return self.refusal(model, queries)

    def bound_for(self, model: Model, spend: Spend, adversary: Adversary) -> float:
        assert isinstance(model, MarkovChain)
        assert model.length is not None
        tau, stretches = total_tau(spend), adversary.stretches(model.length)
        mixed = 0.0 if len(model.transition) == 1 else math.inf
        if mixed and tau <= _LARGEST_TAU:
            (mixed,) = follow([model], [tau], self.negligible).epsilons(stretches)
        unknown = 1 + sum(stretch.unknown for stretch in stretches)
        return finite(_least(model, spend, mixed, unknown))

    def bound_between(self, model: Model, spend: Spend, values: tuple[int, int]) -> float:
        """Return a bound on the leakage about two values of a record, given as positions among the states."""
        assert isinstance(model, MarkovChain)
        tau, mixed = total_tau(spend), math.inf
        if tau <= _LARGEST_TAU:
            (mixed,) = follow([model], [tau], self.negligible).epsilons(between=values)
        return finite(_least(model, spend, mixed, model.length))

    def starts(self, model: Model, query: Query, epsilon: float, spent: Spend) -> Sequence[float]:
        assert isinstance(model, MarkovChain)
        if model.unit > 1 or not _window_applies(model):
            return []
        least = MarkovQuilt().closed_form(model, query, epsilon, spent)
        if _relaxed(model, self.negligible):
            return [1.7 * least] if least > 0 else [share * epsilon for share in _SHARES]
        return [multiple * least for multiple in (1.0, 2.0, 4.0, 8.0) if multiple < 2 or multiple * least <= epsilon]

    def tolerance_for(self, model: Model) -> float:
        assert isinstance(model, MarkovChain)
        return _TOLERANCE_RELAXED if _relaxed(model, self.negligible) else self.tolerance

    def worst_case(self, model: Model, spend: Spend) -> str | None:
        assert isinstance(model, MarkovChain)
        if not self._may_improve(model, total_tau(spend), _least(model, spend, math.inf, model.length)):
            return MarkovQuilt().worst_case(model, spend) if _window_applies(model) else None
        worst = self.worst_adversary(model, spend)
        return None if worst is None else worst.described(model)

    def worst_adversary(self, model: Model, spend: Spend) -> WorstInChain | None:
        assert isinstance(model, MarkovChain)
        tau = total_tau(spend)
        if tau > _LARGEST_TAU or len(model.transition) == 1 or model.unit > 1:
            return None
        if not self._may_improve(model, tau, _least(model, spend, math.inf, model.length)):
            return None
        return _at(model, tau, self.negligible)[1]


def _alike(chains: Sequence[MarkovChain]) -> bool:
    """Return whether chains can be followed in one batch, as draws from a posterior of three to seven states can."""
    kinds = {(len(chain.transition), chain.length, chain.start, chain.gaps) for chain in chains}
    sizes = {len(chain.transition) for chain in chains}
    one_record = all(chain.unit == 1 for chain in chains)
    return (
        one_record
        and len(kinds) == 1
        and sizes < set(range(3, LARGEST_EXACT + 1))
        and all(chain.is_primitive for chain in chains)
    )


def _least(chain: MarkovChain, spend: Spend, mixed: float, records: int | None) -> float:
    """Return the smallest of the mixing bound, the quilt's, and group privacy of this many records."""
    if _window_applies(chain):
        mixed = min(mixed, MarkovQuilt().bound(chain, spend))
    return _grouped(spend, mixed, records)


def _window_applies(chain: MarkovChain) -> bool:
    """Return whether the bound of a window around the target covers the chain."""
    return MarkovQuilt().objection(chain, ()) is None


def _grouped(spend: Spend, bound: float, records: int | None) -> float:
    """Return the smaller of a bound and group privacy of this many records."""
    if records is not None and records * exact_total(spend) < bound:
        return float_above(records * exact_total(spend))
    return bound


def mixing_epsilons(chain: MarkovChain, taus: Sequence[float], negligible: float = 0.0) -> list[float]:
    """Return the mixing bound at each τ, rounded up, or infinity where it is too large to be computed."""
    if len(chain.transition) == 1:
        return [0.0] * len(taus)
    computed = [tau for tau in taus if tau <= _LARGEST_TAU]
    if len(computed) == 1:
        bounds = iter([_at(chain, computed[0], negligible)[0]])
    else:
        bounds = iter(follow([chain], computed, negligible).leakages(chain.unit) if computed else ())
    return [next(bounds) if tau <= _LARGEST_TAU else math.inf for tau in taus]


@lru_cache(maxsize=128)
def _at(chain: MarkovChain, tau: float, negligible: float) -> tuple[float, WorstInChain | None]:
    """Return the mixing bound at one τ, and its worst adversary; a search and the report on its result ask for both."""
    both = follow([chain], [tau], negligible)
    (leaked,) = both.leakages(chain.unit)
    return leaked, both.worst_adversary(chain) if chain.unit == 1 and math.isfinite(leaked) else None


def follow(chains: Sequence[MarkovChain], taus: Sequence[float], negligible: float) -> BothSides:
    """Follow both sides of a target in one chain at several τ, or in several chains that are alike, at a τ each."""
    chain, size = chains[0], len(chains[0].transition)
    before, after = sides(chain) if len(chains) == 1 else sides_of_each(chains)
    depth = max(_needed_depth(member, negligible) for member in chains)
    grid = np.array(taus, dtype=np.float64)
    margin = 8 * UNIT * (size + 3) * (depth + 8) * (depth + size + 11)

    def levels(side: Side) -> Levels:
        if closed_form:
            return two_state_levels(side, grid, depth)
        return followed(side, grid, depth, max(negligible / 4, _TOGETHER_WITHIN[relaxed]), margin, relaxed)

    closed_form, relaxed = size == 2 and chain.is_primitive, _relaxed(chain, negligible)
    if relaxed:
        with ThreadPoolExecutor(2) as threads:  # NumPy computes without the lock of the interpreter
            left, right = threads.map(levels, (before, after))
    else:
        right = levels(after)
        left = right if closed_form and chain.start == "stationary" else levels(before)
    return BothSides(grid, left, right, reach_of(chain), margin)


@lru_cache(maxsize=128)
def _needed_depth(chain: MarkovChain, negligible: float) -> int:
    """Return the number of records to follow on a side: until farther records hardly matter, or all."""
    reach = reach_of(chain)
    if not chain.is_primitive:
        assert reach is not None
        return max(1, reach)
    size = len(chain.transition)
    if _relaxed(chain, negligible):
        limit, otherwise = _deepest_relaxed(chain), _NEGLIGIBLE_RELAXED
    else:
        limit, otherwise = _DEEPEST[size], _NEGLIGIBLE_OTHERWISE
    if reach is not None:
        limit = max(1, min(reach, limit))
    enough = _NEGLIGIBLE[size] if size in _NEGLIGIBLE else max(negligible, otherwise)
    return forgotten_after(chain, enough, limit) or limit


def _deepest_relaxed(chain: MarkovChain) -> int:
    """Return the most records to follow on a side if the step is relaxed."""
    return min(512, 8 + _DEEPEST_RELAXED // len(chain.transition) ** 2)


def _never_settles(chain: MarkovChain) -> bool:
    """Return whether a primitive chain of many states becomes positive only after the most steps that are followed."""
    reach, deepest = reach_of(chain), _deepest_relaxed(chain)
    many = len(chain.transition) > LARGEST_EXACT
    return many and (reach is None or reach > deepest) and steps_to_forget(chain, deepest) is None


@lru_cache(maxsize=128)
def _relaxed(chain: MarkovChain, negligible: float) -> bool:
    """Return whether the step is relaxed: for many states, or six or seven whose dependence fades too slowly."""
    size, reach = len(chain.transition), reach_of(chain)
    if size > LARGEST_EXACT or size < _FEWEST_RELAXED or not chain.is_primitive:
        return size > LARGEST_EXACT
    if reach is not None and reach <= _DEEPEST[size]:
        return False
    return forgotten_after(chain, max(negligible, _NEGLIGIBLE_RELAXED), _DEEPEST[size]) is None
