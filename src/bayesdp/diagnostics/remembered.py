"""Tests of how long a chain remembers: does one more record matter, given the last ones and the stratum?

The test is Cochran's, Mantel's and Haenszel's for any number of states (Landis, Heyman and Koch 1978). It adds up the
deviations of all strata in each cell, so many small strata do not hide a memory that all of them have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.diagnostics.power import ENOUGH_POWER, chi_square
from bayesdp.diagnostics.ratio import ENOUGH, LARGE_FACTOR, SMALL_FACTOR, certain_factor, uncertain
from bayesdp.diagnostics.report import UntestableError, judge, on_degrees, shown_p
from bayesdp.models.diagnosis import Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Remembered", "in_common", "one_record_more"]

_MOST_CELLS = 400
"""The most free cells whose deviations are added up over strata: their covariance is inverted."""


@dataclass(frozen=True)
class Remembered:
    """Whether the rows of tables of one shape differ in the same direction.

    statistic, freedom: χ² and its degrees of freedom; 0 degrees if there was nothing to compare.
    size:               how many transitions the tables hold.
    factor:             the largest ratio of an observed to an expected count, or of an expected to an observed one, of
                        counts that are expected often enough; certain: the `certain_factor`.
    """

    statistic: float
    freedom: int
    size: int
    factor: float
    certain: float = 1.0

    @property
    def p_value(self) -> float:
        """The probability of so large a χ² if all rows have one law."""
        from scipy.stats import chi2

        return float(chi2.sf(self.statistic, self.freedom)) if self.freedom else 1.0

    @property
    def verdict(self) -> Verdict:
        """Violated if the rows differ, by more than many transitions make significant."""
        if not self.freedom:
            return Verdict.NOT_TESTED
        preferred = self.statistic > self.freedom * log(max(self.size, 2))
        large = self.certain >= LARGE_FACTOR or (preferred and self.factor >= SMALL_FACTOR)
        return judge(self.p_value, large, chi_square(self.size, self.freedom) >= ENOUGH_POWER)

    @property
    def uncertain(self) -> str:
        """Why a significant deviation is no violation, as a clause."""
        return uncertain(self.p_value, self.factor)

    @property
    def figure(self) -> str:
        """The figures in words."""
        if not self.freedom:
            return "there is nothing to compare"
        off = f"counts off by a factor of up to {self.factor:.2f}"
        return f"χ² = {self.statistic:.0f} {on_degrees(self.freedom)}, {shown_p(self.p_value)}, {off}"


def in_common(tables: Iterable[NDArray[Any]]) -> Remembered:
    """Compare the rows of each table, and add up the deviation of each cell over the tables.

    >>> table = np.array([[30, 10], [10, 30]])
    >>> in_common([table]).freedom, round(in_common([table]).statistic, 2)
    (1, 19.75)
    """
    held = [table for table in tables if table.sum() > 1]
    if len(held) == 1 or (held and (held[0].shape[0] - 1) * (held[0].shape[1] - 1) > _MOST_CELLS):
        return _added_up(held)
    nothing: Any = 0.0
    off, spread, seen, expected, size = nothing, nothing, nothing, nothing, 0
    for table in held:
        total = int(table.sum())
        rows, columns = table.sum(axis=1) / total, table.sum(axis=0) / total
        usual = total * np.outer(rows, columns)
        spread = spread + total**2 / (total - 1) * np.kron(_dispersed(rows), _dispersed(columns))
        off, seen, expected = off + (table - usual)[:-1, :-1].ravel(), seen + table, expected + usual
        size += total
    if not size or not np.any(spread):
        return Remembered(0.0, 0, size, 1.0)
    statistic = float(off @ np.linalg.pinv(spread, hermitian=True) @ off)
    freedom = int(np.linalg.matrix_rank(spread, hermitian=True))
    enough = expected >= ENOUGH
    factor = float(np.exp(np.abs(np.log((seen[enough] + 0.5) / (expected[enough] + 0.5))).max(initial=0.0)))
    return Remembered(statistic, freedom, size, factor, certain_factor(seen, expected))


def _added_up(tables: Sequence[NDArray[Any]]) -> Remembered:
    """Return the same for one table, without inverting a matrix; for several, the sum of each one's statistic."""
    statistic, freedom, size, factor, certain = 0.0, 0, 0, 1.0, 1.0
    for table in tables:
        seen = table[table.any(axis=1)][:, table.any(axis=0)]
        total = int(seen.sum())
        size += total
        expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / total
        statistic += float(((seen - expected) ** 2 / expected).sum()) * (total - 1) / total
        freedom += (seen.shape[0] - 1) * (seen.shape[1] - 1)
        enough = expected >= ENOUGH
        off = np.abs(np.log((seen[enough] + 0.5) / (expected[enough] + 0.5)))
        factor = max(factor, float(np.exp(off.max(initial=0.0))))
        certain = max(certain, certain_factor(seen, expected))
    return Remembered(statistic if freedom else 0.0, freedom, size, factor, certain)


def one_record_more(runs: Sequence[Any], memory: int) -> Remembered:
    """Test whether the record before the last `memory` ones matters for the next.

    runs: for each stratum, how often records followed one another: a table with an axis for each, the oldest first,
          with at least memory + 2 of them. Older records are summed over.

    The deviations that strata share are added up for each combination of values of the last records.

    Raises UntestableError if the runs are too short.
    """
    tests = [in_common(tables) for tables in _by_last_records(runs, memory)]
    return Remembered(
        sum(test.statistic for test in tests),
        sum(test.freedom for test in tests),
        sum(test.size for test in tests),
        max((test.factor for test in tests), default=1.0),
        max((test.certain for test in tests), default=1.0),
    )


def _by_last_records(runs: Sequence[Any], memory: int) -> NDArray[Any]:
    """Return tables of the oldest by the next record, for each combination of the last records and each stratum."""
    tables: NDArray[Any] = np.array(runs)
    older = tables.ndim - 1 - memory - 2
    if older < 0:
        raise UntestableError(f"Runs of {memory + 2} records were not counted.")
    states = tables.shape[-1]
    summed = np.asarray(tables.sum(axis=tuple(range(1, 1 + older))))
    recent = summed.reshape(len(tables), states, -1, states)
    return recent.transpose(2, 0, 1, 3)


def _dispersed(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return diag(p) − p·pᵀ without its last row and column, which follow from the others."""
    return (np.diag(shares) - np.outer(shares, shares))[:-1, :-1]
