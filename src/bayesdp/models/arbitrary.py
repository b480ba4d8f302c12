"""Groups of limited size with arbitrary correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

from bayesdp._support import validation
from bayesdp.errors import ModelError, RecordsError
from bayesdp.models.base import Model, check_unit, whole_group
from bayesdp.models.layout import column_names
from bayesdp.models.view import TableView

__all__ = ["ArbitraryGroups"]


@dataclass(frozen=True)
class ArbitraryGroups(Model):
    """Records form independent groups of at most `size`; nothing is assumed within a group.

    group: the columns that identify groups, so that a session can check their size.
    unit:  "record" to protect one record; "group" to protect all records of a group together, such as a person whose
           records are the group.

    >>> ArbitraryGroups(4).assumption
    'records come in groups of at most 4 that are independent of one another; inside a group anything may hold'
    """

    size: int
    group: Sequence[str] = field(default=(), kw_only=True)
    unit: Literal["record", "group"] = field(default="record", kw_only=True)

    kind: ClassVar[str] = "arbitrary"
    about_values: ClassVar[bool] = False
    anything_inside: ClassVar[bool] = True
    _instead_of_diagnosis: ClassVar[str] = ": it assumes only the size of groups, and that they are independent"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "size", validation.natural("size", self.size, ModelError))
        object.__setattr__(self, "group", column_names("group", self.group))
        check_unit(self.unit)

    @property
    def protects(self) -> str:
        return whole_group(self.size, self.record) if self.protects_several else super().protects

    @property
    def protects_several(self) -> bool:
        return self.unit == "group"

    @property
    def group_size(self) -> int:
        return self.size

    @property
    def assumption(self) -> str:
        return (
            f"records come in groups of at most {self.size} that are independent of one another; inside a group "
            "anything may hold"
        )

    @property
    def entity_columns(self) -> tuple[str, ...] | None:
        return tuple(self.group) or None

    @property
    def public_columns(self) -> tuple[str, ...]:
        return tuple(self.group)

    def at_any_length(self) -> Self:
        """Return the model: a table with a larger group is refused."""
        return self

    def check_table(self, table: TableView, subject: str | None = None) -> Self:
        """Return the model; refuses a table with a larger group, if the model names the columns of groups."""
        if self.group:
            largest = table.largest_group(self.group)
            if largest > self.size:
                raise RecordsError(
                    f"{table.name} has a group of {largest} records, but the model describes at most {self.size}"
                )
        return self

    @property
    def unchecked(self) -> str | None:
        if self.group:
            return None
        return (
            "No group was named: which records belong together was not checked, nor that no group has more than "
            f"{self.size}."
        )

    def _content(self) -> dict[str, Any]:
        group = {"group": list(self.group)} if self.group else {}
        return {"size": self.size} | group | ({} if self.unit == "record" else {"unit": self.unit})

    @classmethod
    def _required(cls) -> frozenset[str]:
        return frozenset({"size"})
