"""Odds ratios: the strength of the dependence of two records, in one number."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from bayesdp._support import validation
from bayesdp._support.arrays import Floats
from bayesdp.errors import ModelError

__all__ = ["SHARE_OF_LOG", "checked_odds", "log_odds_above", "log_odds_of_logs", "log_odds_ratio", "odds_above"]

SHARE_OF_LOG = 2.0**-47
"""Four logarithms and three differences are off by at most eight ulps of the largest logarithm together; the rest of
these 32 is for logarithms that are sums of `terms` logarithms."""

_WIDENED = 1 + 2.0**-48
"""A generous bound on the error of NumPy's logarithm."""


def checked_odds(name: str, value: object) -> float:
    """Return a bound on an odds ratio as a float of at least 1.

    >>> checked_odds("odds", 9)
    9.0
    """
    odds = validation.number(name, value, ModelError)
    if odds < 1:
        raise ModelError(
            f"{name} must be at least 1, the odds ratio of independent records, not {odds:g}; of a ratio below 1 take "
            "the reciprocal"
        )
    return odds


def log_odds_above(odds: Floats) -> Floats:
    """Return ln of each odds ratio of at least 1, rounded up; ln 1 is exactly 0.

    >>> log_odds_above(np.array([1.0, 9.0])).round(6).tolist()
    [0.0, 2.197225]
    """
    return np.log(odds) * _WIDENED


def log_odds_ratio(table: ArrayLike) -> float:
    """Return the largest ln P(x,y)·P(x′,y′) / (P(x,y′)·P(x′,y)) of a table, rounded up; infinite if it has no limit.

    table: a row for each value of one record, with the weights of the other's values; the scale of a row does not
           matter. Columns that are zero throughout are left out. Where some rows allow a value and others do not, the
           ratio has no limit.

    >>> round(log_odds_ratio([[0.9, 0.1], [0.4, 0.6]]), 6), log_odds_ratio([[0.5, 0.5], [1, 0]])
    (2.60269, inf)
    """
    weights = np.asarray(table, dtype=np.float64)
    if (weights == weights[0]).all():  # different weights may have the same logarithm
        return 0.0
    with np.errstate(divide="ignore"):
        return log_odds_of_logs(np.log(weights))


def log_odds_of_logs(table: Floats, terms: int = 1) -> float:
    """Return a bound on `log_odds_ratio` for a table of logarithms, each a sum of `terms` logarithms.

    >>> round(log_odds_of_logs(np.log([[0.9, 0.1], [0.4, 0.6]])), 6)
    2.60269
    """
    possible = table > -math.inf
    if not (possible == possible[0]).all():
        return math.inf
    logs = table[:, possible[0]]
    largest = max(float(np.ptp(row - logs, axis=1).max()) for row in logs)
    return largest + terms * SHARE_OF_LOG * float(np.abs(logs).max() + 1)


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
