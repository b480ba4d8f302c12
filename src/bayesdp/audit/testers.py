"""From outputs to a bound: Clopper–Pearson intervals, and the event that distinguishes two neighbouring tables.

An event is chosen on one half of the outputs and counted on the other, so that choosing it costs no confidence. Outputs
are first sorted into cells: single values if there are few, ranges if they are numbers, ranges of a learnt score if
they are lists. The event is a set of cells.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Cells", "Event", "as_rows", "best_event", "clopper_pearson", "excess_below", "log_ratio_below"]

_MOST_VALUES = 512
"""The largest number of different outputs that each get a cell."""

_RANGES = 128
"""The number of ranges, with equally many outputs each, if there are more different outputs."""

_SAMPLE = 4096
"""The number of lists on which to test first whether they have few values."""


def clopper_pearson(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    """Return the exact interval of a probability; each end is wrong with probability at most (1 − confidence)/2.

    >>> [round(end, 4) for end in clopper_pearson(0, 10, 0.95)]
    [0.0, 0.3085]
    """
    low, high = _intervals(np.array([successes]), trials, confidence)
    return float(low[0]), float(high[0])


def _intervals(
    successes: NDArray[np.int64], trials: int, confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    failures = trials - successes
    low = np.where(successes == 0, 0.0, betaincinv(np.maximum(successes, 1), failures + 1, tail))
    high = np.where(failures == 0, 1.0, betaincinv(successes + 1, np.maximum(failures, 1), 1 - tail))
    return low, high


def log_ratio_below(
    more: NDArray[np.int64], less: NDArray[np.int64], trials: int, confidence: float, delta: float = 0.0
) -> NDArray[np.float64]:
    """Return lower bounds on ln((p − δ)/q), at least 0, from how often events occurred in as many trials of each.

    Each end errs with probability at most (1 − confidence)/2, so both hold together with the given confidence.
    """
    low, high = _intervals(more, trials, confidence)[0], _intervals(less, trials, confidence)[1]
    return np.asarray(np.log(np.maximum((low - delta) / high, 1.0)))


def excess_below(
    more: NDArray[np.int64], less: NDArray[np.int64], trials: int, confidence: float, epsilon: float
) -> NDArray[np.float64]:
    """Return lower bounds on p − e^ε·q, from how often events occurred in equally many trials under each; at least 0.

    They hold with the given confidence, as those of `log_ratio_below` do: both rest on the same two intervals.

    >>> float(excess_below(np.array([500]), np.array([100]), 1000, 0.95, 1.0)[0]) > 0.1
    True
    """
    low, high = _intervals(more, trials, confidence)[0], _intervals(less, trials, confidence)[1]
    with np.errstate(over="ignore"):
        return np.asarray(np.maximum(low - np.exp(epsilon) * high, 0.0))


@dataclass(frozen=True, eq=False)
class Cells:
    """A partition of the outputs: `of` gives the cell of each row."""

    of: Callable[[NDArray[np.float64]], NDArray[np.intp]]
    number: int

    @classmethod
    def between(cls, one: NDArray[np.float64], other: NDArray[np.float64]) -> Cells:
        """Return cells that may distinguish the outputs of two tables, from a sample of both."""
        both = np.concatenate([one, other])
        if both.shape[1] == 1:
            return _of_numbers(both[:, 0])
        project = _code(both.shape[1])
        if len(np.unique(project(both[:: max(1, len(both) // _SAMPLE)]))) > _MOST_VALUES:
            project = _score(one, other)
        numbers = _of_numbers(project(both))
        return cls(lambda outputs: numbers.of(project(outputs)[:, None]), numbers.number)

    def count(self, outputs: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of outputs in each cell."""
        return np.bincount(self.of(outputs), minlength=self.number)


def _of_numbers(numbers: NDArray[np.float64]) -> Cells:
    """Return a cell for each number, or ranges with equally many numbers, finer at both ends."""
    values = np.unique(numbers)
    if len(values) <= _MOST_VALUES:
        edges = (values[1:] + values[:-1]) / 2
    else:
        shares = np.linspace(0, 1, _RANGES + 1)[1:-1]
        ends = np.geomspace(10 / len(numbers), shares[0], 12) if len(numbers) * shares[0] > 20 else shares[:0]
        edges = np.unique(np.quantile(numbers, np.concatenate([ends, shares, 1 - ends])))
    return Cells(lambda outputs: np.searchsorted(edges, outputs[:, 0], side="right"), len(edges) + 1)


def _code(columns: int) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return a function that maps different lists to different numbers, up to coincidence."""
    weights = np.random.default_rng(columns).uniform(1, 2, columns)
    return lambda outputs: np.round(outputs @ weights, 9)


def _score(
    one: NDArray[np.float64], other: NDArray[np.float64]
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return a score of lists: Fisher's discriminant with a diagonal covariance, learnt from both tables."""
    spread = one.var(axis=0) + other.var(axis=0)
    weights = (one.mean(axis=0) - other.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return lambda outputs: outputs @ weights


@dataclass(frozen=True, eq=False)
class Event:
    """A set of cells, and for which of two tables it is more frequent.

    cells:   for each cell whether it belongs to the event.
    first:   whether the event is more frequent for the first table.
    promise: the lower bound it would support if fresh outputs were like those it was chosen on.
    """

    cells: NDArray[np.bool_]
    first: bool
    promise: float

    def counts_of(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[int, int]:
        """Return the event's counts for the table where it is more frequent and for the other, from cell counts."""
        more, less = (one, other) if self.first else (other, one)
        return int(more[self.cells].sum()), int(less[self.cells].sum())


Bound = Callable[["NDArray[np.int64]", "NDArray[np.int64]", int], "NDArray[np.float64]"]
"""Lower bounds that events support, from how often they occurred under each table, in so many trials."""


def best_event(one: NDArray[np.int64], other: NDArray[np.int64], bound: Bound) -> Event:
    """Return the set of cells that would support the largest lower bound if fresh outputs were like those counted.

    >>> at_95 = lambda more, less, trials: log_ratio_below(more, less, trials, 0.95)
    >>> best_event(np.array([90, 10]), np.array([40, 60]), at_95).cells.tolist()
    [False, True]
    """
    trials, best = int(one.sum()), Event(np.zeros(len(one), dtype=bool), True, -1.0)
    for more, less, first in ((one, other, True), (other, one, False)):
        order = np.argsort(-(more + 0.5) / (less + 0.5), kind="stable")
        supported = bound(np.cumsum(more[order]), np.cumsum(less[order]), trials)
        size = int(np.argmax(supported))
        if supported[size] > best.promise:
            best = Event(np.isin(np.arange(len(one)), order[: size + 1]), first, float(supported[size]))
    return best


def as_rows(outputs: Sequence[object] | NDArray[np.generic]) -> NDArray[np.float64]:
    """Return outputs as rows of numbers, one for each run; a text is a category.

    Raises InvalidInputError unless they are finite numbers, texts, or lists of equal lengths.

    >>> as_rows([3, 4]).tolist(), as_rows([(True, False)]).tolist()
    ([[3.0], [4.0]], [[1.0, 0.0]])
    """
    try:
        texts = len(outputs) > 0 and isinstance(outputs[0], str)
        rows = np.asarray([zlib.crc32(str(text).encode()) for text in outputs] if texts else outputs, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.array(np.nan)
    if rows.ndim < 1 or not np.isfinite(rows).all():
        raise InvalidInputError(
            "a mechanism must return a finite number, a text, or a list of numbers of the same length every time; wrap "
            "it in a function that returns one of these"
        )
    return rows.reshape(len(rows), -1)
