"""What is asked: counts, sums, means and histograms, with their *bounded* sensitivities.

Bounded: one record's value is replaced, the number of records is fixed and public (docs/glossary.md). A query also
knows whether its noisy answer is private in the ℓ1 metric, which the Gaussian theorems need and most queries are not.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, ClassVar

from bayesdp._support import validation
from bayesdp._support.documents import Document
from bayesdp._support.validation import Scalar, Values, brief
from bayesdp.errors import QueryError
from bayesdp.queries.placement import Placement
from bayesdp.rounding import float_above

__all__ = ["Count", "Histogram", "Mean", "Query", "Sum", "query_from_dict"]

MOST_STEPS = 2**60

ROUNDING_SLACK = Fraction(513, 512)
"""Rounding moves a value's whole number by at most one step and, in floating point, a little more (docs/frames.md)."""


@dataclass(frozen=True)
class Query(Document):
    """A question about one column, perhaps only about the records that pass a filter.

    column:        the column or state expression asked about; None stands for "whatever the model speaks about".
    where:         a filter expression; None asks about every record.
    public_filter: True promises that the filter uses positions or public attributes only. Without that promise a
                   filter counts as private: it may depend on the very value that is protected.
    """

    column: str | None = None
    where: str | None = field(default=None, kw_only=True)
    public_filter: bool = field(default=False, kw_only=True)

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        if self.column is not None:
            validation.text("column", self.column, QueryError)
        if self.where is not None:
            validation.text("where", self.where, QueryError)
        if not isinstance(self.public_filter, bool):
            raise QueryError(f"public_filter must be True or False, not {brief(self.public_filter)}")
        if self.public_filter and self.where is None:
            raise QueryError("public_filter describes a filter, but there is none; give where= or leave it out")

    @property
    def privately_filtered(self) -> bool:
        """Whether replacing a value may move its record in or out of the answer."""
        return self.where is not None and not self.public_filter

    @property
    @abstractmethod
    def sensitivity(self) -> float:
        """How far one replaced record can move the answer, in ℓ1, rounded up."""

    @property
    def dimension(self) -> int:
        """How many numbers the answer has."""
        return 1

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The values of the column that the query names."""
        return ()

    @property
    def not_metric(self) -> str | None:
        """Why the noisy answer is not ℓ1-metric-private, or None if it is."""
        return f"a {self.kind} jumps when a value crosses into or out of what is counted, however small its move"

    @property
    def width(self) -> Fraction | None:
        """The exact clipping width M if τ-DP noise makes the answer (τ/M)·ℓ1-private, else None."""
        return None

    @property
    def rounding(self) -> Fraction:
        """How much farther a moved value may move on the grid it is rounded to, in clipping widths."""
        return Fraction(0)

    def possible(self, records: int) -> tuple[Fraction, Fraction]:
        """Return the smallest and the largest answer (cell) that `records` records can give: counts, unless it adds."""
        return Fraction(0), Fraction(records)

    @property
    @abstractmethod
    def description(self) -> str:
        """The question in words: "the sum of height, clipped to 0–100"."""

    def to_dict(self) -> dict[str, Any]:
        """Return the query as a JSON object: its kind, and every field that was given."""
        given = {item.name: getattr(self, item.name) for item in fields(self)}
        return {"query": self.kind} | {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in given.items()
            if value is not None and (name != "public_filter" or value)
        }

    def _about(self, name: str) -> str:
        return name + (f" where {self.where}" if self.where else "")


@dataclass(frozen=True)
class Count(Query):
    """How many records have a value (`equals=`) or one of several (`isin=`). Sensitivity 1.

    >>> Count("active", equals=True).sensitivity
    1.0
    >>> Count("room", isin=["kitchen", "hall"]).description
    "the number of records with room in 'kitchen', 'hall'"
    """

    equals: Scalar | None = field(default=None, kw_only=True)
    isin: Values | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "count"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.equals is None) == (self.isin is None):
            raise QueryError(
                "a count needs what to count: give either equals=value or isin=[value, ...], "
                'for example Count("active", equals=True)'
            )
        if self.equals is not None:
            object.__setattr__(self, "equals", validation.scalar("equals", self.equals, QueryError))
        if self.isin is not None:
            object.__setattr__(self, "isin", _distinct("isin", self.isin))

    @property
    def sensitivity(self) -> float:
        return 1.0

    @property
    def values(self) -> tuple[Scalar, ...]:
        return (self.equals,) if self.equals is not None else tuple(self.isin or ())

    @property
    def description(self) -> str:
        listed = ", ".join(map(brief, self.values))
        if self.column is None:
            return self._about(f"the number of records in state {listed}")
        name = self.column if self.column.isidentifier() else f"({self.column})"
        return self._about(f"the number of records with {name} {'=' if self.isin is None else 'in'} {listed}")


@dataclass(frozen=True)
class _Clipped(Query):
    """A query that adds values clipped to `bounds`.

    step: values are rounded to this grid before they are added; a release fills it in (docs/frames.md). The bounds must
          be a whole number of steps apart.
    """

    bounds: tuple[float, float] | None = None
    step: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bounds is None:
            raise QueryError(
                f"a {self.kind} needs bounds=(low, high) to clip values to; without them one record could move the "
                "answer without limit"
            )
        try:
            low, high = self.bounds
        except (TypeError, ValueError):
            raise QueryError(f"bounds must be a pair (low, high), not {brief(self.bounds)}") from None
        low, high = validation.number("bounds[0]", low, QueryError), validation.number("bounds[1]", high, QueryError)
        if low >= high:
            raise QueryError(f"bounds must be in order, low < high, not ({', '.join(_told_apart(low, high))})")
        object.__setattr__(self, "bounds", (low, high))
        if self.step is not None:
            step = validation.positive("step", self.step, QueryError)
            if self.privately_filtered and not 1 <= max(abs(low), abs(high), high - low) / step <= MOST_STEPS:
                raise QueryError(f"a step of {step:g} does not fit values between {low:g} and {high:g}")
            steps = (high - low) / step
            if not self.privately_filtered and not (steps.is_integer() and 1 <= steps <= MOST_STEPS):
                ends = ", ".join(_told_apart(low, high))
                raise QueryError(
                    f"bounds must be a whole number of steps apart, up to 2^60, but ({ends}) are {steps:g}"
                )
            object.__setattr__(self, "step", step)

    @property
    def origin(self) -> float:
        """Where the grid begins: at the lower bound, or at 0 if records may leave the sum."""
        assert self.bounds is not None
        return 0.0 if self.privately_filtered else self.bounds[0]

    @property
    def placement(self) -> Placement | None:
        """Where values go on the grid before they are added; None if they are added as they are."""
        assert self.bounds is not None
        return None if self.step is None else Placement(*self.bounds, self.origin, self.step)

    @property
    def rounding(self) -> Fraction:
        if self.step is None:
            return Fraction(0)
        low, high = self._ends
        return ROUNDING_SLACK * Fraction(self.step) / (high - low)

    @property
    def _ends(self) -> tuple[Fraction, Fraction]:
        assert self.bounds is not None
        return Fraction(self.bounds[0]), Fraction(self.bounds[1])

    @property
    def not_metric(self) -> str | None:
        if self.privately_filtered:
            return (
                f"a {self.kind} filtered by a private attribute gains or loses a whole value when a record crosses the "
                "filter; if the filter uses public attributes only, say public_filter=True"
            )
        return None

    @property
    def width(self) -> Fraction | None:
        low, high = self._ends
        return None if self.privately_filtered else high - low

    @property
    def description(self) -> str:
        assert self.bounds is not None
        name = self.column or "the values"
        return self._about(f"the {self.kind} of {name}, clipped to {'–'.join(_told_apart(*self.bounds))}")


@dataclass(frozen=True)
class Sum(_Clipped):
    """The sum of values clipped to `bounds`.

    Its sensitivity is high − low; with a private filter a record may leave the sum: max(|low|, |high|, high − low).

    >>> Sum("height", bounds=(40, 100)).sensitivity
    60.0
    >>> Sum("height", bounds=(40, 100), where="height > 70").sensitivity
    100.0
    """

    kind: ClassVar[str] = "sum"

    def possible(self, records: int) -> tuple[Fraction, Fraction]:
        """Return the range of the sum; a filter, also a public one, may leave records out of it."""
        low, high = (records * end for end in self._ends)
        return (low, high) if self.where is None else (min(low, Fraction(0)), max(high, Fraction(0)))

    @property
    def sensitivity(self) -> float:
        low, high = self._ends
        if not self.privately_filtered:
            return float_above(high - low)
        unplaced = max(abs(low), abs(high), high - low)
        grid = self.placement
        return float_above(unplaced if grid is None else max(unplaced, Fraction(grid.step) * grid.span))


@dataclass(frozen=True)
class Mean(_Clipped):
    """The mean of values clipped to `bounds` over a public number of records, `size`: sensitivity (high − low)/size.

    `size` may be left out while only leakage is asked; noise cannot be scaled without it. A private filter is refused:
    it makes the number of records private.

    >>> Mean("height", bounds=(0, 100), size=50).sensitivity
    2.0
    """

    size: int | None = None

    kind: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.privately_filtered:
            raise QueryError(
                "a mean needs a public number of records, but how many pass a private filter is private; release a "
                "filtered Sum and a Count instead, or say public_filter=True if the filter is public"
            )
        if self.size is not None:
            object.__setattr__(self, "size", validation.natural("size", self.size, QueryError))

    def possible(self, records: int) -> tuple[Fraction, Fraction]:
        """Return the bounds: no mean of clipped values lies beyond them."""
        return self._ends

    @property
    def sensitivity(self) -> float:
        if self.size is None:
            raise QueryError(
                "the noise on a mean depends on the public number of records: give its size (size=n, --size n)"
            )
        low, high = self._ends
        return float_above((high - low) / self.size)


@dataclass(frozen=True)
class Histogram(Query):
    """How many records fall in each of the disjoint `cells`, each named by its value.

    A replaced record leaves one cell and enters another: sensitivity 2 in ℓ1, or 1 when there is only one cell.

    >>> Histogram("state", cells=["idle", "walk", "run"]).sensitivity
    2.0
    """

    cells: Values = ()

    kind: ClassVar[str] = "histogram"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "cells", _distinct("cells", self.cells))

    @property
    def sensitivity(self) -> float:
        return 2.0 if self.dimension > 1 else 1.0

    @property
    def dimension(self) -> int:
        return len(self.cells)

    @property
    def values(self) -> tuple[Scalar, ...]:
        return tuple(self.cells)

    @property
    def description(self) -> str:
        return self._about(f"the histogram of {self.column or 'the state'} over {self.dimension} cells")


def _told_apart(low: float, high: float) -> tuple[str, str]:
    """Return two numbers as texts: rounded to 15 digits, or in full where they would look the same.

    >>> _told_apart(0.0, 0.1 + 0.2), _told_apart(1e16, 1e16 + 2)
    (('0', '0.3'), ('1e+16', '1.0000000000000002e+16'))
    """
    short = f"{low:.15g}", f"{high:.15g}"
    return short if short[0] != short[1] or low == high else (repr(low), repr(high))


def _distinct(name: str, values: object) -> tuple[Scalar, ...]:
    scalars = validation.distinct(name, values, QueryError)
    if not scalars:
        raise QueryError(f"{name} is empty; name at least one value")
    return scalars


def query_from_dict(document: object) -> Query:
    """Read a query from its JSON object.

    Raises QueryError for an unknown kind or entry, and for everything the query itself refuses.

    >>> query_from_dict({"query": "sum", "column": "height", "bounds": [0, 100]})
    Sum(column='height', where=None, public_filter=False, bounds=(0.0, 100.0), step=None)
    """
    if not isinstance(document, Mapping):
        raise QueryError(f"a query must be a JSON object, not {brief(document)}")
    kinds: dict[str, type[Query]] = {each.kind: each for each in (Count, Sum, Mean, Histogram)}
    entries = dict(document)
    kind = entries.pop("query", None)
    if not isinstance(kind, str) or kind not in kinds:
        raise QueryError(f'"query" must be one of {", ".join(sorted(kinds))}, not {brief(kind)}')
    known = {item.name for item in fields(kinds[kind])}
    for key in entries:
        if key not in known:
            raise QueryError(f'a {kind} has no "{key}"; it knows {", ".join(sorted(known))}')
    return kinds[kind](**entries)
