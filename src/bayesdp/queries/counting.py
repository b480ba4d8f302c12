"""Queries that count records by their values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bayesdp._support import validation
from bayesdp._support.validation import Scalar
from bayesdp.errors import QueryError
from bayesdp.queries.query import Query

__all__ = ["Counting", "named_once"]


@dataclass(frozen=True)
class Counting(Query):
    """A query that counts the records in each of its disjoint cells."""

    counts_values: ClassVar[bool] = True
    whole: ClassVar[bool] = True

    @abstractmethod
    def cells_asked(self) -> tuple[tuple[Scalar, ...], ...]: ...

    @classmethod
    @abstractmethod
    def entries_for(cls, values: Sequence[Scalar]) -> dict[str, Any]: ...

    @property
    def sensitivity(self) -> float:
        return self._sensitivity_of(self.parts_sensitivity)

    def state_values(self, states: Sequence[Scalar]) -> tuple[int, ...] | str:
        hits = [int(state in self.values) for state in states]
        return tuple(hit - min(hits) for hit in hits)


def named_once(name: str, values: object) -> tuple[Scalar, ...]:
    """Return the values of an entry; QueryError if there are none or duplicates."""
    scalars = validation.distinct(name, values, QueryError)
    if not scalars:
        raise QueryError(f"{name} is empty; name at least one value")
    return scalars
