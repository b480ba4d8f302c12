"""Odds ratios: how strongly two records are tied, in one number."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["log_odds_ratio", "odds_above"]

_SHARE_OF_LOG = 2.0**-49
"""Four logarithms and three differences are off by at most eight ulps of the largest logarithm together."""


def log_odds_ratio(table: ArrayLike) -> float:
    """Return the largest ln P(x,y)·P(x′,y′) / (P(x,y′)·P(x′,y)) of a table, rounded up; infinite if it has no limit.

    table: a row for each value of one record, with the weights of the other's values; the scale of a row does not
           matter. Columns that are zero throughout are left out. Where some rows allow a value and others do not, the
           ratio has no limit.

    >>> round(log_odds_ratio([[0.9, 0.1], [0.4, 0.6]]), 6), log_odds_ratio([[0.5, 0.5], [1, 0]])
    (2.60269, inf)
    """
    weights = np.asarray(table, dtype=np.float64)
    possible = weights > 0
    if not (possible == possible[0]).all():
        return math.inf
    logs = np.log(weights[:, possible[0]])
    largest = max(float(np.ptp(row - logs, axis=1).max()) for row in logs)
    return 0.0 if largest == 0 else largest + _SHARE_OF_LOG * float(np.abs(logs).max() + 1)


def odds_above(log_odds: Iterable[float]) -> float:
    """Return the largest odds ratio, given logarithms, rounded up; infinite beyond the largest float.

    >>> odds_above([0.0]), odds_above([0.0, 800.0])
    (1.0, inf)
    """
    largest = max(log_odds)
    try:
        return 1.0 if largest == 0 else math.exp(largest) * (1 + 2.0**-50)
    except OverflowError:
        return math.inf
