"""What `advise` adds to a question from the table: its number of records, what its error is compared with, and how far
off a quantile may be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bayesdp.frames.aggregates import Tally, tally
from bayesdp.frames.source import LazyTable, Missing
from bayesdp.frames.windows import Order, tally_windows, windows_of
from bayesdp.mechanisms import SELECTIONS, NoisyMaxMechanism
from bayesdp.models import ChainLayout
from bayesdp.queries import Averaged, Quantile, Query
from bayesdp.rounding import up

__all__ = ["Yardstick", "quantile_error", "sized", "yardstick"]


@dataclass(frozen=True)
class Yardstick:
    """What the error of an answer is compared with: a size in the unit of the answer, and what it is in words."""

    size: float
    name: str

    def share(self, error: float) -> float:
        """Return an error as a share.

        >>> Yardstick(200.0, "the answer").share(10.0)
        0.05
        """
        return error / self.size


def yardstick(table: LazyTable, query: Query, missing: Missing, layout: ChainLayout | None = None) -> Yardstick:
    """Return what the error of a question is compared with on this table.

    A count, a share, a variance, and a sum or mean of values that are never negative: the exact answer, unless it is 0.
    An answer by cells: an average cell. An answer by windows or parts: that of an average one. Anything else: the range
    of possible answers.

    layout: what orders the records, for windows. Raises as `windows_of` for windows that the table does not have.
    """
    if query.in_windows:
        return _average_window(table, query, missing, layout)
    whole = _yardstick(query, tally(table, [query.undivided], missing=missing)[0])
    if len(query.parts) < 2 or query.averaged or isinstance(query, Quantile):
        return whole
    return Yardstick(whole.size / len(query.parts), "an average part")


def _average_window(table: LazyTable, query: Query, missing: Missing, layout: ChainLayout | None) -> Yardstick:
    """Return what the error of each answer by windows is compared with: the size of an average answer."""
    order = None if layout is None else Order.of(table, layout)
    windows = [window.query for window in windows_of(table, order, query)]
    tallies = tally_windows(table, order, windows, missing=missing)
    sizes = [_yardstick(query.undivided, exact) for exact in tallies if exact.records or not query.averaged]
    if len(sizes) < 2:
        return sizes[0] if sizes else Yardstick(1.0, "the answer")
    return Yardstick(sum(each.size for each in sizes) / len(sizes), "an average window")


def _yardstick(query: Query, exact: Tally) -> Yardstick:
    """Return what the error of one answer is compared with."""
    if isinstance(query, Quantile):
        return Yardstick(query.offered[-1] - query.offered[0], "the range")
    records = max(exact.public_records, 1)
    low, high = map(float, query.possible(records))
    if query.by_cell:
        return Yardstick((high - low) / query.dimension, "an average cell")
    (answer,) = exact.counts if len(exact.counts) == 1 else query.condensed(exact.counts, records)
    value = query.assembled([answer], exact.grid, records)
    if low >= 0 and isinstance(value, int | float) and value > 0:
        return Yardstick(float(value), "the answer")
    return Yardstick(high - low, "the range")


def sized(table: LazyTable, query: Query, missing: Missing) -> Query:
    """Return a question about an average with its number of records, and any other unchanged."""
    if not isinstance(query, Averaged) or query.size is not None:
        return query
    return query.of_size(tally(table, [query], missing=missing)[0].public_records)


def quantile_error(table: LazyTable, query: Query, missing: Missing, beta: float) -> Callable[[float], float] | None:
    """Return the error of a quantile on this table as a function of τ; None for any other question.

    A selected candidate misses its rank by at most `NoisyMaxMechanism.slack`, except with probability β. How far it is
    from the quantile then depends on the records.
    """
    if not isinstance(query, Quantile):
        return None
    exact = tally(table, [query], missing=missing)[0]
    missed = [query.distances(exact.counts, rank, exact.records) for rank in query.ranks(exact.records)]

    def error(tau: float) -> float:
        mechanism = NoisyMaxMechanism(tau, len(query.offered), SELECTIONS * query.dimension)
        slack = mechanism.slack(beta, among=query.dimension)
        return up(max(_farthest(query.offered, distances, slack) for distances in missed))

    return error


def _farthest(offered: tuple[float, ...], distances: list[int], slack: int) -> float:
    """Return how far the candidates that miss a rank by at most `slack` are from the one that it is rounded to."""
    within = [value for value, distance in zip(offered, distances, strict=True) if distance <= slack]
    exact = offered[distances.index(0)]
    return max(within[-1] - exact, exact - within[0])
