"""Chains with a memory of several records: tables [before]…[now][next], and the chain of their blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesdp._support import validation
from bayesdp._support.arrays import Floats
from bayesdp._support.messages import name_of
from bayesdp._support.validation import brief
from bayesdp.errors import ModelError
from bayesdp.models.odds import SHARE_OF_LOG, log_odds_of_logs
from bayesdp.models.states import check_states

__all__ = [
    "LARGEST_COUNT",
    "block_kernel",
    "block_log_odds",
    "counts_of",
    "joint_law",
    "lifted",
    "lists",
    "log_odds_by_distance",
    "nested",
    "probabilities",
    "stationary_law",
    "stationary_of",
    "tuples",
]

LARGEST_COUNT = 2.0**53
"""Floats represent every whole number up to this one."""

_LARGEST_LIFT = 1024
_LARGEST_TABLE = 2.0**22


def nested(name: str, value: object, memory: int) -> tuple[Any, ...]:
    """Return a table of memory + 1 levels as nested tuples of finite numbers, with equally many entries at each level.

    Raises ModelError, naming the entry that is wrong.

    >>> nested("counts", [[[8, 2], [1, 3]], [[5, 5], [2, 8]]], 2)[1][0]
    (5.0, 5.0)
    """
    check_states(**{name: value})
    if isinstance(value, np.ndarray):
        value = value.tolist()
    size = len(validation.items(name, value, ModelError))
    if size == 0:
        raise ModelError(f"{name} is empty; it needs at least one state")
    if size ** (memory + 1) > _LARGEST_TABLE:
        raise ModelError(f"{name} would have {size}^{memory + 1} entries, too many for a computation")
    return _level(name, value, memory, size, ())


def _level(name: str, value: object, levels: int, size: int, path: tuple[int, ...]) -> tuple[Any, ...]:
    place = "".join(f"[{index}]" for index in path)
    entries = validation.items(f"{name}{place}", value, ModelError)
    if len(entries) != size:
        raise ModelError(f"{name}{place} must have {size} entries, one for each state, not {len(entries)}")
    if levels == 0:
        return tuple(
            validation.number(f"{name}{place}[{index}]", entry, ModelError) for index, entry in enumerate(entries)
        )
    for index, entry in enumerate(entries):
        if isinstance(entry, int | float):
            raise ModelError(
                f"{name}{place}[{index}] must be a list, not {brief(entry)}: a table with this memory has a level of "
                "lists for each record that is remembered, and one for the next"
            )
    return tuple(_level(name, entry, levels - 1, size, (*path, index)) for index, entry in enumerate(entries))


def counts_of(value: object, memory: int) -> tuple[Any, ...]:
    """Return a table of counts as nested tuples of whole numbers; refuses anything else."""
    table = np.array(nested("counts", value, memory))
    if not ((table >= 0) & (table <= LARGEST_COUNT) & (table == np.floor(table))).all():
        raise ModelError(name_of("counts") + " must be whole numbers from 0 to 2^53")
    return tuples(table.astype(np.int64).tolist())


def lists(table: Any) -> list[Any]:
    """Return nested tuples as nested lists, as JSON has them."""
    return [lists(entry) if isinstance(entry, tuple) else entry for entry in table]


def tuples(table: Any) -> tuple[Any, ...]:
    """Return nested lists as nested tuples."""
    return tuple(tuples(entry) if isinstance(entry, list) else entry for entry in table)


def probabilities(value: object, memory: int) -> tuple[Any, ...]:
    """Return a checked table of transition probabilities as nested tuples; every row must sum to one."""
    table = nested("transition", value, memory)
    array = np.array(table)
    for place in np.ndindex(*array.shape[:-2]):
        named = "transition" + "".join(f"[{index}]" for index in place)
        validation.check_probabilities(named, array[place].tolist(), ModelError)
    return table


def lifted(table: Floats) -> Floats:
    """Return the transition matrix of the last k records together, for a table with memory k."""
    memory, size = table.ndim - 1, len(table)
    if size**memory > _LARGEST_LIFT:
        raise ModelError(f"{size} states with a memory of {memory} records are too many for a computation")
    moved = np.zeros((size,) * (2 * memory))
    for last in np.ndindex(*(size,) * memory):
        for state in range(size):
            moved[(*last, *last[1:], state)] = table[(*last, state)]
    return moved.reshape(size**memory, size**memory)


def stationary_of(matrix: Floats) -> Floats:
    """Return the stationary law, by elimination without subtraction (Grassmann, Taksar, Heyman).

    Every entry is accurate: of s states, to a relative 9·s³·2⁻⁵³ (O'Cinneide 1993).

    >>> stationary_of(np.array([[0.9, 0.1], [0.4, 0.6]])).tolist()
    [0.8, 0.2]
    """
    work, size = matrix.copy(), len(matrix)
    for last in range(size - 1, 0, -1):
        work[:last, last] /= work[last, :last].sum()
        work[:last, :last] += np.outer(work[:last, last], work[last, :last])
    weights = np.ones(size)
    for index in range(1, size):
        weights[index] = weights[:index] @ work[:index, index]
    return np.asarray(weights / weights.sum())


def stationary_law(table: Floats) -> Floats:
    """Return the stationary law of k records in a row, an axis for each, for a table with memory k.

    The last k records must be able to become any others.
    """
    return stationary_of(lifted(table)).reshape(table.shape[:-1])


def joint_law(table: Floats, start: Floats, records: int) -> Floats:
    """Return the joint law of the first records, an axis for each, from the law of the first k of them."""
    memory = table.ndim - 1
    if records < memory:
        return np.asarray(start.sum(axis=tuple(range(records, memory))))
    law = start
    for _ in range(records - memory):
        law = law[..., None] * table
    return law


def block_kernel(table: Floats, records: int) -> Floats:
    """Return the probabilities of the next block given the last two, which together hold the memory.

    Blocks are numbered as their records are read, the last the fastest.
    """
    size, memory = len(table), table.ndim - 1
    following = joint_law(table, np.ones(table.shape[:-1]), memory + records)
    return np.broadcast_to(following, (size,) * (3 * records)).reshape((size**records,) * 3)


def block_log_odds(table: Floats) -> float:
    """Return ln θ of neighbouring blocks of k records, rounded up, for a table with memory k; infinite with zeros.

    >>> counts = np.array([[[8828.0, 879], [491, 804]], [[879, 416], [804, 2151]]])
    >>> round(block_log_odds(counts / counts.sum(axis=-1, keepdims=True)), 6)
    3.742651
    """
    memory, rows = table.ndim - 1, table.reshape(-1, len(table))
    if (rows == rows[0]).all():
        return 0.0
    with np.errstate(divide="ignore"):
        step = np.log(table)
    logs = np.zeros(table.shape[:-1])
    for _ in range(memory):  # a product of small probabilities would underflow
        logs = logs[..., None] + step
    blocks = len(table) ** memory
    return log_odds_of_logs(logs.reshape(blocks, blocks), terms=memory)


def log_odds_by_distance(table: Floats) -> Floats:
    """Return ln of the odds ratios, given all others, of records 1, …, k apart in a stationary chain of memory k.

    Every probability must be positive. Rounded up.

    >>> counts = np.array([[[8828.0, 879], [491, 804]], [[879, 416], [804, 2151]]])
    >>> log_odds_by_distance(counts / counts.sum(axis=-1, keepdims=True)).round(6).tolist()
    [2.760783, 1.558799]
    """
    memory = table.ndim - 1
    step = np.log(table)
    found = []
    for apart in range(1, memory + 1):
        axes = (
            2 * memory - apart + 1
        )  # from the first record that the second still depends on, to the last of the first
        logs = np.zeros((1,) * axes)
        for later in range(memory - apart + 1):
            logs = logs + step.reshape((1,) * later + step.shape + (1,) * (axes - later - memory - 1))
        pairs = np.moveaxis(logs, (memory - apart, memory), (0, 1))
        largest = max(float(np.ptp(pairs[first] - pairs, axis=1).max()) for first in range(len(table)))
        found.append(largest + memory * SHARE_OF_LOG * float(np.abs(step).max() * memory + 1))
    return np.array(found)
