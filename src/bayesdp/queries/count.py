"""How many records have a value, or one of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from bayesdp._support import validation
from bayesdp._support.validation import Scalar, Values, brief, plain_number
from bayesdp.errors import QueryError
from bayesdp.queries.counting import Counting, named_once

__all__ = ["Count"]


@dataclass(frozen=True)
class Count(Counting):
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
                f"a {self.kind} needs what to count: give either equals=value or isin=[value, ...], "
                f'for example {type(self).__name__}("active", equals=True)'
            )
        if self.equals is not None:
            object.__setattr__(self, "equals", validation.scalar("equals", self.equals, QueryError))
        if self.isin is not None:
            object.__setattr__(self, "isin", named_once("isin", self.isin))

    @classmethod
    def entries_for(cls, values: Sequence[Scalar]) -> dict[str, Any]:
        return {"equals": values[0]} if len(values) == 1 else {"isin": values}

    def cells_asked(self) -> tuple[tuple[Scalar, ...], ...]:
        return ((self.equals,) if self.equals is not None else tuple(self.isin or ()),)

    def identity(self) -> dict[str, Any]:
        """Return what is asked; `equals` is `isin` with one value, and the order of values does not matter."""
        entries = super().identity()
        counted = [entries.pop("equals")] if "equals" in entries else entries["isin"]
        return entries | {"isin": sorted(map(plain_number, counted), key=repr)}

    @property
    def description(self) -> str:
        listed = ", ".join(map(brief, self.values))
        if self.column is None:
            return self._about(f"the number of records in state {listed}")
        name = self.column if self.column.isidentifier() else f"({self.column})"
        return self._about(f"the number of records with {name} {'=' if self.isin is None else 'in'} {listed}")
