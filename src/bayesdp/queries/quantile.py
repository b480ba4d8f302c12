"""Quantiles of a column, selected among public candidates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from bayesdp._support import validation
from bayesdp._support.messages import in_python, param
from bayesdp._support.validation import brief
from bayesdp._support.words import counted
from bayesdp.errors import QueryError
from bayesdp.queries.query import Query

__all__ = ["Median", "Quantile"]

MOST_CANDIDATES = 1000
"""The engine counts the records below each candidate in one scan."""


@dataclass(frozen=True)
class Quantile(Query):
    """The values below which certain shares of the records lie, each selected among public `candidates`.

    at:         the shares, such as [0.25, 0.5, 0.75], or one share.
    candidates: the possible answers, in ascending order, such as the ages 0 to 120. They must not come from the data.

    Values are rounded up to the next candidate, and values above the last candidate down to it. The answer is a noisy
    selection of the quantile of these: the ⌈at·n⌉-th smallest of n records. Its interval is released with it, and
    covers the quantile of the records (between the first and the last candidate), not of a population.

    >>> Quantile("age", at=[0.25, 0.75], candidates=range(121)).description
    'the quantiles of age at 0.25, 0.75, among 121 candidates from 0 to 120'
    """

    at: float | Sequence[float] | str = ()
    candidates: Sequence[float] | str = field(default=(), kw_only=True)

    kind: ClassVar[str] = "quantile"
    by_cell: ClassVar[bool] = True
    unforeseen: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {
        "at": "The shares of records below the answer, such as 0.9 or 0.25,0.5,0.75.",
        "candidates": "The possible answers, such as 0,10,20, or 0:120:5 for 0 to 120 in steps of 5.",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.privately_filtered:
            raise QueryError(
                f"a {self.kind} needs a public number of records, but how many pass a private filter is private; "
                "say " + param("public_filter", True) + " if the filter is public"
            )
        shares = tuple(validation.probability("at", share, QueryError) for share in _listed("at", self.at))
        if not shares or len(set(shares)) < len(shares):
            raise QueryError(
                f"a {self.kind} needs "
                + param("at")
                + ", at least one share of records and none twice, such as "
                + in_python("at=0.9, or at=[0.25, 0.5, 0.75]", elsewhere=param("at", "0.25,0.5,0.75"))
            )
        object.__setattr__(self, "at", shares)
        values = _listed("candidates", self.candidates)
        numbers = tuple(validation.number(f"candidates[{i}]", value, QueryError) for i, value in enumerate(values))
        if not 2 <= len(numbers) <= MOST_CANDIDATES or any(a >= b for a, b in pairwise(numbers)):
            raise QueryError(
                f"a {self.kind} needs "
                + param("candidates")
                + f", from 2 to {MOST_CANDIDATES} public numbers in ascending order, such as all ages from 0 to 120; "
                "they must not be taken from the data"
            )
        object.__setattr__(self, "candidates", numbers)

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares as a tuple of floats."""
        assert isinstance(self.at, tuple)
        return self.at

    @property
    def offered(self) -> tuple[float, ...]:
        """The candidates as a tuple of floats."""
        assert isinstance(self.candidates, tuple)
        return self.candidates

    @property
    def description(self) -> str:
        shares = ", ".join(f"{share:g}" for share in self.shares)
        return self._of(f"the {'quantile' if len(self.shares) == 1 else 'quantiles'} of {{}} at {shares}")

    def _of(self, name: str) -> str:
        ends = f"{self.offered[0]:.15g} to {self.offered[-1]:.15g}"
        among = f"among {counted(len(self.candidates), 'candidate')} from {ends}"
        return self._about(f"{name.format(self.column or 'the values')}, {among}")

    @property
    def cell_names(self) -> tuple[str, ...]:
        return tuple(f"{share:g}" for share in self.shares)

    @property
    def dimension(self) -> int:
        return len(self.shares)

    @property
    def thresholds(self) -> tuple[float, ...]:
        return self.offered[:-1]

    @property
    def parts_sensitivity(self) -> Fraction:
        """How far one replaced record can move each distance: every count of records below moves by at most one."""
        return Fraction(1)

    def ranks(self, records: int) -> tuple[int, ...]:
        """Return the ranks of the quantiles among this many records in ascending order, from 1.

        >>> Quantile(at=[0.1, 0.5], candidates=[0, 1]).ranks(10)
        (1, 5)
        """
        return tuple(max(1, math.ceil(Fraction(repr(share)) * records)) for share in self.shares)

    def distances(self, counts: Sequence[int], rank: int, records: int) -> list[int]:
        """Return by how many ranks each candidate misses a rank: 0 for the one to which that record is rounded.

        counts: the number of records at or below each threshold.
        """
        at_most = [0, *counts, records]
        return [max(0, low + 1 - rank, rank - high) for low, high in pairwise(at_most)]

    def possible(self, records: int) -> tuple[Fraction, Fraction]:
        return Fraction(self.offered[0]), Fraction(self.offered[-1])

    @property
    def sensitivity(self) -> float:
        raise QueryError(
            f"the accuracy of a {self.kind} depends on how close together the records are, and is known only after the "
            "release; give epsilon instead"
        )

    @property
    def not_metric(self) -> str:
        return f"a {self.kind} is selected by counts of records below candidates, and jumps when a value crosses one"


def _listed(name: str, value: object) -> Sequence[object]:
    """Return numbers as a list, given one number, a list, or a text such as "0.25,0.5" or "0:120:5".

    >>> _listed("at", 0.5), _listed("candidates", "0:20:5"), _listed("candidates", "0,0.5,2")
    ([0.5], [0, 5, 10, 15, 20], [0.0, 0.5, 2.0])
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [value]
    if not isinstance(value, str):
        return validation.items(name, value, QueryError)
    try:
        if ":" not in value:
            return [float(part) for part in value.split(",")]
        first, last, *others = (int(part) for part in value.split(":"))
        (step,) = others or (1,)
        return list(range(first, last + 1, step)[: MOST_CANDIDATES + 1])
    except ValueError:
        raise QueryError(f"{name} must be numbers, such as 0,10,20 or 0:120:5, not {brief(value)}") from None


@dataclass(frozen=True)
class Median(Quantile):
    """The value below which half of the records lie, selected among public `candidates`: `Quantile` at 0.5, one number.

    >>> Median("age", candidates=range(121)).description
    'the median of age, among 121 candidates from 0 to 120'
    """

    at: float | Sequence[float] | str = 0.5

    kind: ClassVar[str] = "median"
    by_cell: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shares != (0.5,):
            raise QueryError("a median is the quantile at 0.5; use Quantile for other shares")

    @property
    def description(self) -> str:
        return self._of("the median of {}")
