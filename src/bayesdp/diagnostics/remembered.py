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
from bayesdp.diagnostics.ratio import SMALL_FACTOR
from bayesdp.diagnostics.report import UntestableError, judge, on_degrees, shown_p
from bayesdp.models.diagnosis import Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Remembered", "in_common", "one_record_more"]


@dataclass(frozen=True)
class Remembered:
    """Whether the rows of tables of one shape differ in the same direction.

    statistic, freedom: χ² and its degrees of freedom; 0 degrees if there was nothing to compare.
    size:               how many transitions the tables hold.
    factor:             the largest ratio of an observed to an expected count, or of an expected to an observed one.
    """

    statistic: float
    freedom: int
    size: int
    factor: float

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
        large = self.statistic > self.freedom * log(max(self.size, 2)) and self.factor >= SMALL_FACTOR
        return judge(self.p_value, large, chi_square(self.size, self.freedom) >= ENOUGH_POWER)

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
    nothing: Any = 0.0
    off, spread, seen, expected, size = nothing, nothing, nothing, nothing, 0
    for table in tables:
        total = int(table.sum())
        if total < 2:
            continue
        rows, columns = table.sum(axis=1) / total, table.sum(axis=0) / total
        usual = total * np.outer(rows, columns)
        spread = spread + total**2 / (total - 1) * np.kron(_dispersed(rows), _dispersed(columns))
        off, seen, expected = off + (table - usual)[:-1, :-1].ravel(), seen + table, expected + usual
        size += total
    if not size or not np.any(spread):
        return Remembered(0.0, 0, size, 1.0)
    statistic = float(off @ np.linalg.pinv(spread, hermitian=True) @ off)
    freedom = int(np.linalg.matrix_rank(spread, hermitian=True))
    factor = float(np.exp(np.abs(np.log((seen + 0.5) / (expected + 0.5))).max()))
    return Remembered(statistic, freedom, size, factor)


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
