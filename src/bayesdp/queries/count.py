"""The number of records that have a value, have one of several, or pass a condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from bayesdp._support import validation
from bayesdp._support.messages import in_python, param
from bayesdp._support.validation import Scalar, Values, brief, plain_number
from bayesdp.errors import QueryError
from bayesdp.queries.counting import Counting, named_once

__all__ = ["Count"]


@dataclass(frozen=True)
class Count(Counting):
    """The number of records with a value (`equals=`) or one of several (`isin=`), or that pass a condition.

    Its sensitivity is 1. `Count(where="age > 60")` is short for `Count("age > 60", equals=True)`, the same query.

    >>> Count("active", equals=True).sensitivity
    1.0
    >>> Count("room", isin=["kitchen", "hall"]).description
    "the number of records with room in 'kitchen', 'hall'"
    >>> Count(where="steps > 0") == Count("steps > 0", equals=True)
    True
    """

    equals: Scalar | None = field(default=None, kw_only=True)
    isin: Values | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "count"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.column is None and self.equals is None and self.isin is None and self.where is not None:
            self._take_condition()
        if (self.equals is None) == (self.isin is None):
            raise QueryError(
                f"a {self.kind} needs values to count: give "
                + in_python(
                    f'either equals=value or isin=[value, ...], for example {type(self).__name__}("active", '
                    f'equals=True), or a condition alone: {type(self).__name__}(where="steps > 0")',
                    elsewhere=param("states", like="value"),
                )
            )
        if self.equals is not None:
            object.__setattr__(self, "equals", validation.scalar("equals", self.equals, QueryError))
        if self.isin is not None:
            object.__setattr__(self, "isin", named_once("isin", self.isin))

    def _take_condition(self) -> None:
        """Count the records that pass a condition that was given alone, and so is not a filter."""
        if self.public_filter:
            raise QueryError(
                f"the number of records that pass a public filter is public; a {self.kind} needs values to count among "
                "them: " + in_python("equals=value or isin=[value, ...]", elsewhere=param("states", like="value"))
            )
        for name, value in {"column": self.where, "equals": True, "where": None}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def entries_for(cls, values: Sequence[Scalar]) -> dict[str, Any]:
        return {"equals": values[0]} if len(values) == 1 else {"isin": values}

    def cells_asked(self) -> tuple[tuple[Scalar, ...], ...]:
        return ((self.equals,) if self.equals is not None else tuple(self.isin or ()),)

    def identity(self) -> dict[str, Any]:
        """Return the identity: `equals` becomes `isin` with one value, and the values are sorted."""
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
