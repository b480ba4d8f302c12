"""Quantiles: the candidate that is released, and an interval that covers the quantile of the records, selected with it.

Proof: docs/theory/accuracy.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from bayesdp.frames.aggregates import Tally
from bayesdp.mechanisms import NoisyMaxMechanism
from bayesdp.queries import Quantile, Query
from bayesdp.session.measurement import Interval, Measurement

__all__ = ["SELECTIONS", "selected"]

SELECTIONS = 3
"""A quantile is selected three times: itself, and the two ends of its interval."""


def selected(query: Query, exact: Tally, mechanism: NoisyMaxMechanism, beta: float) -> Measurement:
    """Select the quantiles and the ends of their intervals, all of which hold at once except with probability β."""
    assert isinstance(query, Quantile)
    records, counts, number = exact.records, exact.counts, query.dimension
    slack = mechanism.slack(beta, among=2 * number)
    ranks = query.ranks(records)
    aims = [aim for rank in ranks for aim in (rank, max(1, rank - slack), min(records, rank + slack))]
    places = mechanism.release([query.distances(counts, aim, records) for aim in aims])
    values = tuple(query.offered[place] for place in places[::3])
    ends = tuple(
        _ends(query.offered, low, high, rank, slack, records)
        for rank, low, high in zip(ranks, places[1::3], places[2::3], strict=True)
    )
    return Measurement(
        value=values if query.by_cell else values[0],
        query=query,
        records=exact.present,
        noise=mechanism.scale,
        unit=1.0,
        rounding=0.0,
        beta=beta,
        ends=ends,
        ends_beta=beta,
    )


def _ends(candidates: Sequence[float], low: int, high: int, rank: int, slack: int, records: int) -> Interval:
    """Return the interval between two places; where there is no rank to aim at, up to the first or last candidate.

    A place lies between the candidate before it and its own.
    """
    first = candidates[max(low - 1, 0)] if rank - slack >= 1 else candidates[0]
    last = candidates[high] if rank + slack <= records else candidates[-1]
    return min(first, last), max(first, last)
