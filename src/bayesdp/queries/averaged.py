"""Queries over a public number of records."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from bayesdp._support import validation
from bayesdp._support.messages import param
from bayesdp._support.words import counted
from bayesdp.errors import QueryError, RecordsError
from bayesdp.queries.query import Query
from bayesdp.rounding import float_above

__all__ = ["Averaged"]


class Averaged(Query):
    """A sum or count divided by a public number of records. List it as the first base: `class Mean(Averaged, Clipped)`.

    The class has a field `size`, None by default. Leakage does not need it, but noise cannot be scaled without it. A
    private filter is refused: it makes the number of records private.
    """

    size: int | None

    averaged: ClassVar[bool] = True
    whole: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.privately_filtered:
            raise QueryError(
                f"a {self.kind} needs a public number of records, but how many pass a private filter is private; "
                "release a filtered Sum and a Count instead, or say "
                + param("public_filter", True)
                + " if the filter is public"
            )
        if self.size is not None:
            object.__setattr__(self, "size", validation.natural("size", self.size, QueryError))

    def identity(self) -> dict[str, Any]:
        """Return the identity of the query without the size, which the table determines."""
        return {name: value for name, value in super().identity().items() if name != "size"}

    def worth(self, amount: Fraction, records: int) -> Fraction:
        """Return the amount divided by the number of records."""
        return super().worth(amount, records) / records

    def of_size(self, records: int) -> Self:
        if records == 0:
            raise RecordsError(f"the {self.kind} is undefined: there are no records")
        if self.size not in (None, records):
            raise RecordsError(
                f"the {self.kind} is over {counted(records, 'record')}, but size = {self.size} was given; leave "
                + param("size")
                + " out"
            )
        size: dict[str, Any] = {"size": records}
        return replace(self, **size)

    def _sensitivity_of(self, total: Fraction) -> float:
        if self.size is None:
            raise QueryError(
                f"the noise on a {self.kind} depends on the public number of records: give it as "
                + param("size", like="n")
            )
        return float_above(self.worth(total, self.size))
