"""Transition counts by stratum, and a credible bound on the largest odds ratio of all strata."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from bayesdp._support import validation
from bayesdp._support.arrays import Floats
from bayesdp._support.messages import name_of, param
from bayesdp._support.validation import Scalar, brief
from bayesdp.errors import ModelError
from bayesdp.models.memory import block_log_odds, counts_of, lists, tuples
from bayesdp.models.odds import log_odds_ratio
from bayesdp.models.posterior import SMALLEST_WEIGHT, chosen_rank, draws_needed

__all__ = [
    "SPARSE",
    "Stratum",
    "credible_log_odds",
    "draws_for",
    "largest_log_odds",
    "log_odds_of",
    "merged",
    "read_strata",
    "stratum_order",
]

SPARSE = 20
"""A stratum with fewer transitions than this in some cell is sparse: its odds ratio is uncertain."""

_MOST_DRAWS = 50_000
_FEWEST_DRAWS = 1000
_ALL_COMPARED = 2.0**25
"""The numbers compared over all draws, unless 1,000 draws need more."""

_AT_ONCE = 2.0**20
_MOST_COMPARED = 2.0**22
"""The most numbers that a draw may compare; 1,000 such draws take some 20 seconds."""

_SEED = 13
"""The fixed seed: the same table gives the same model."""

Tables = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Stratum:
    """The counts of transitions at some values of public columns.

    values: the values of the columns, a tuple; several tuples if strata were merged.
    counts: the number of transitions from x to y in row x, column y; with memory k a table of k + 1 levels.

    >>> Stratum(((22,),), ((562, 28), (25, 21))).called(["hour"])
    'hour 22'
    """

    values: tuple[tuple[Scalar, ...], ...]
    counts: tuple[Any, ...]

    @property
    def least(self) -> int:
        """The fewest transitions in one cell."""
        return int(np.min(self.counts))

    @property
    def transitions(self) -> int:
        """The number of transitions."""
        return int(np.sum(self.counts))

    @property
    def memory(self) -> int:
        """The memory of the counts."""
        return np.ndim(self.counts) - 1

    @property
    def odds(self) -> float:
        """The odds ratio of the counts themselves; infinite if it has no limit, as with one zero among four cells."""
        return math.exp(min(self.log_odds, 709.0)) if math.isfinite(self.log_odds) else math.inf

    @property
    def log_odds(self) -> float:
        """ln of that odds ratio: of neighbouring records, or with memory k of blocks of k."""
        table = np.array(self.counts, dtype=np.float64)
        totals = table.sum(axis=-1, keepdims=True)
        if not totals.all():
            return math.inf
        return log_odds_ratio(table) if self.memory == 1 else block_log_odds(table / totals)

    def called(self, within: Sequence[str]) -> str:
        """Return the stratum in words, given the names of its columns."""
        if not within:
            return "all records"
        if len(within) == 1:
            return f"{within[0]} {', '.join(str(value) for (value,) in self.values)}"
        return " or ".join(
            ", ".join(f"{name} {value}" for name, value in zip(within, values, strict=True)) for values in self.values
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"values": [list(values) for values in self.values], "counts": lists(self.counts)}


def read_strata(value: object, within: Sequence[str], memory: int) -> tuple[Stratum, ...]:
    """Return checked strata, given as such or as JSON has them.

    Raises ModelError for strata that overlap or differ in their states, and for none.
    """
    strata = tuple(_stratum(place, item, within, memory) for place, item in enumerate(_items(value)))
    if not strata:
        raise ModelError("strata is empty; give the counts of at least one stratum")
    if len({len(stratum.counts) for stratum in strata}) > 1:
        raise ModelError(name_of("strata") + " must have the same states: their counts differ in size")
    named = [values for stratum in strata for values in stratum.values]
    if len(set(named)) < len(named):
        raise ModelError("strata overlap: the same values of the columns " + param("within") + " are in two of them")
    return strata


def _items(value: object) -> Sequence[object]:
    return validation.items("strata", value, ModelError)


def _stratum(place: int, item: object, within: Sequence[str], memory: int) -> Stratum:
    if isinstance(item, Stratum):
        item = {"values": item.values, "counts": item.counts}
    if not isinstance(item, Mapping) or set(item) != {"values", "counts"}:
        raise ModelError(f'strata[{place}] must be an object with "values" and "counts", not {brief(item)}')
    listed = validation.items(f"strata[{place}], values", item["values"], ModelError)
    values = tuple(
        tuple(validation.scalar("values", entry, ModelError) for entry in validation.items("values", row, ModelError))
        for row in listed
    )
    if not values or any(len(row) != len(within) for row in values):
        raise ModelError(
            f"strata[{place}], values must be lists of {len(within)}, a value for each column of "
            + param("within")
            + f", not {brief(item['values'])}"
        )
    return Stratum(values, counts_of(item["counts"], memory))


def merged(strata: Sequence[Stratum], threshold: int = SPARSE) -> tuple[Stratum, ...]:
    """Return the strata with those that have fewer than `threshold` transitions in some cell merged into one.

    While the merged stratum still has, the one with the next fewest joins it. The merged stratum comes last.

    >>> night, day = Stratum(((2,),), ((618, 9), (9, 0))), Stratum(((9,),), ((289, 70), (91, 186)))
    >>> [stratum.values for stratum in merged([night, day])]
    [((2,), (9,))]
    """
    ascending = sorted(strata, key=lambda stratum: (stratum.least, stratum.transitions))
    joined = [stratum for stratum in ascending if stratum.least < threshold]
    rest = ascending[len(joined) :]
    while joined and rest and _together(joined).least < threshold:
        joined.append(rest.pop(0))
    if len(joined) < 2 and not (joined and rest):
        return tuple(strata)
    kept = tuple(stratum for stratum in strata if stratum in rest)
    return (*kept, _together(joined)) if joined else kept


def _together(strata: Sequence[Stratum]) -> Stratum:
    values = sorted((values for stratum in strata for values in stratum.values), key=stratum_order)
    counts = np.sum([np.array(stratum.counts, dtype=np.int64) for stratum in strata], axis=0)
    return Stratum(tuple(values), tuples(counts.tolist()))


def stratum_order(values: tuple[Scalar, ...]) -> tuple[tuple[bool, Any], ...]:
    """Return a key that sorts the values of strata: numbers before texts."""
    return tuple((isinstance(value, str), value) for value in values)


# --- the posterior ----------------------------------------------------------------------------------------------------


def largest_log_odds(tables: Tables, draws: int, generator: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Yield, for some draws at a time, ln of the largest odds ratio, and ln of that of each stratum by itself.

    Each row of each stratum is Dirichlet, its counts plus 1/2 (Jeffreys's prior), and independent of all others. With
    memory k, the k records that follow a block may lie in several strata: the largest is over all ways to do so.
    """
    weights = np.array(tables, dtype=np.float64) + 0.5
    at_once = max(int(_AT_ONCE / _held(weights.shape)), 1)
    for begin in range(0, draws, at_once):
        shape = (min(at_once, draws - begin), *weights.shape)
        gammas = np.maximum(generator.standard_gamma(np.broadcast_to(weights, shape)), SMALLEST_WEIGHT)
        logs = np.log(gammas) - np.log(gammas.sum(axis=-1, keepdims=True))
        yield log_odds_of(logs)


def log_odds_of(logs: Floats) -> tuple[Floats, Floats]:
    """Return ln of the largest odds ratio of each draw, and ln of that of each stratum, from ln of the probabilities.

    logs: for each draw and stratum a table [before]…[now][next].
    """
    if logs.ndim > 4:
        return _of_blocks(logs)
    alone = _largest_by_rows(logs)
    return alone.max(axis=1), alone


def _largest_by_rows(logs: Floats) -> Floats:
    """Return the largest ln of an odds ratio of each matrix of logarithms."""
    largest = np.zeros(logs.shape[:-2])
    for row in range(1, logs.shape[-2]):
        apart = logs[..., row:, :] - logs[..., row - 1 : row, :]
        np.maximum(largest, (apart.max(axis=-1) - apart.min(axis=-1)).max(axis=-1), out=largest)
    return largest


def _of_blocks(logs: Floats) -> tuple[Floats, Floats]:
    """Return the odds of blocks of k records: ln Q(y,z) is a sum of k terms, each from the table of one stratum.

    Term j depends on the block z that follows through its first j records only, so that of any two blocks y, y′ the
    largest over the strata is taken term by term.
    """
    draws, strata, size, memory = *logs.shape[:2], logs.shape[-1], logs.ndim - 3
    blocks = np.arange(size**memory)
    flat = np.ascontiguousarray(logs).reshape(draws, strata, len(blocks), size)
    terms = []
    for step in range(memory):
        firsts = np.arange(size ** (step + 1))
        row = (blocks[:, None] * size**step + firsts[None, :] // size) % len(blocks)
        terms.append(flat[:, :, row, firsts[None, :] % size])
    begins = [blocks // size ** (memory - step - 1) for step in range(memory)]
    alone = _largest_by_rows(sum((term[..., begin] for term, begin in zip(terms, begins, strict=True)), np.zeros(())))
    if strata == 1:
        return alone[:, 0], alone
    largest = np.zeros(draws)
    for y in blocks:
        for other in blocks[:y]:
            total: Floats = np.zeros((draws, 1, 1))
            for term, begin in zip(terms, begins, strict=True):
                apart = term[:, :, y] - term[:, :, other]
                worst = (apart[..., :, None] - apart[..., None, :]).max(axis=1)
                total = total + worst[:, begin][:, :, begin]
            np.maximum(largest, total.max(axis=(1, 2)), out=largest)
    return largest, alone


def _held(shape: tuple[int, ...]) -> float:
    """Return about how many numbers one draw holds at a time."""
    strata, size, memory = shape[0], float(shape[-1]), len(shape) - 2
    return strata * size ** (2 * memory)


def _compared(shape: tuple[int, ...]) -> float:
    """Return about how many numbers one draw compares: each two rows, or each two blocks and all that may follow."""
    strata, size, memory = shape[0], float(shape[-1]), len(shape) - 2
    if memory == 1:
        return strata * size**2 * (size + 1) / 2
    blocks, following = size**memory, sum(size ** (2 * step) for step in range(1, memory + 1))
    return max(blocks * (blocks - 1) / 2, 1.0) * (strata * following + blocks**2)


@lru_cache(maxsize=64)
def credible_log_odds(tables: Tables, credibility: float) -> tuple[float, tuple[float, ...]]:
    """Return a bound on ln of the largest odds ratio with this credibility, and one for each stratum alone.

    It is a high order statistic of draws from the posterior: with probability 99 % over the draws, at least that share
    of the posterior lies below it (docs/uncertainty.md). Draws have a fixed seed.

    Raises ModelError for tables too large to draw from.
    """
    draws = draws_for(np.shape(tables), credibility)
    parts = list(largest_log_odds(tables, draws, np.random.default_rng(_SEED)))
    largest = np.concatenate([together for together, _ in parts])
    alone = np.concatenate([by_stratum for _, by_stratum in parts])
    place = draws - chosen_rank(credibility, draws)
    return float(np.partition(largest, place)[place]), tuple(np.partition(alone, place, axis=0)[place].tolist())


def draws_for(shape: tuple[int, ...], credibility: float, most: int = _MOST_DRAWS) -> int:
    """Return the number of draws for tables of this shape: as many as are affordable, and enough for the credibility.

    Raises ModelError for tables too large to draw from.
    """
    if _compared(shape) > _MOST_COMPARED:
        raise ModelError(
            f"{shape[0]} strata of {shape[-1]} states with a memory of {len(shape) - 2} records are more than can be "
            "drawn from; merge states, or remember fewer records"
        )
    affordable = int(min(max(_ALL_COMPARED / _compared(shape), _FEWEST_DRAWS), most))
    return draws_needed(credibility, None, usual=affordable)
