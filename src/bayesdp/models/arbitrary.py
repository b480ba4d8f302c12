"""Groups of limited size with arbitrary correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

from bayesdp._support import hooks, validation
from bayesdp._support.messages import name_of, params
from bayesdp._support.validation import brief
from bayesdp.errors import ModelError, RecordsError
from bayesdp.models.base import Model, check_unit, whole_group
from bayesdp.models.fit_option import RECORD, FitOption
from bayesdp.models.layout import ChainLayout, KeptRecords, column_names
from bayesdp.models.view import TableView

__all__ = ["ArbitraryGroups"]


@dataclass(frozen=True)
class ArbitraryGroups(Model):
    """Records form independent groups of at most `size`; nothing is assumed within a group.

    group:    the columns that identify groups, so that a session can check their size.
    unit:     "record" to protect one record; "group" to protect all records of a group together, such as a person
              whose records are the group.
    keep:     the most records of a group that are read. The others are not read at all, and all records are protected
              by the bound for groups of min(size, keep), however large groups are (docs/theory/general.md).
    order_by: the public columns that order the records: by them records are kept, the first ones, and questions are
              asked by windows, such as by hour. By default the order of the rows, in engines that have one.
    spaced:   keep evenly spaced records instead of the first ones.

    >>> ArbitraryGroups(4).assumption
    'records come in groups of at most 4 that are independent of one another; inside a group anything may hold'
    >>> ArbitraryGroups(300, group="user", keep=5, order_by="day").group_size
    5
    """

    size: int
    group: Sequence[str] = field(default=(), kw_only=True)
    unit: Literal["record", "group"] = field(default="record", kw_only=True)
    keep: int | None = field(default=None, kw_only=True)
    order_by: Sequence[str] = field(default=(), kw_only=True)
    spaced: bool = field(default=False, kw_only=True)

    kind: ClassVar[str] = "arbitrary"
    about_values: ClassVar[bool] = False
    anything_inside: ClassVar[bool] = True
    fit_options: ClassVar[tuple[FitOption, ...]] = (
        FitOption("group", "The columns that identify a group.", "A,B", reads="columns", required=True, example="user"),
        FitOption("keep", "The most records of a group that are read.", "N", reads="whole"),
        FitOption("order_by", "The columns that order the records.", "A,B", reads="columns"),
        FitOption("spaced", "Keep evenly spaced records of a group, not the first ones.", reads="flag"),
        RECORD,
    )
    _instead_of_diagnosis: ClassVar[str] = ": it assumes only the size of groups, and that they are independent"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "size", validation.natural("size", self.size, ModelError))
        object.__setattr__(self, "group", column_names("group", self.group))
        object.__setattr__(self, "order_by", column_names("order_by", self.order_by))
        check_unit(self.unit)
        if not isinstance(self.spaced, bool):
            raise ModelError(name_of("spaced") + f" must be true or false, not {brief(self.spaced)}")
        if self.keep is None:
            if self.spaced:
                raise ModelError(params("{spaced} chooses the records that are kept; give {keep} too"))
            return
        object.__setattr__(self, "keep", validation.natural("keep", self.keep, ModelError))
        if not self.group:
            raise ModelError(params("{keep} needs {group}, the columns that identify groups"))

    @classmethod
    def fit(
        cls,
        frame: object,
        *,
        group: str | Sequence[str],
        keep: int | None = None,
        order_by: str | Sequence[str] | None = None,
        spaced: bool = False,
        record: str = "record",
    ) -> Self:
        """Return the groups of a table: their size is that of its largest group, which is public.

        Raises RecordsError for records without a group.

        >>> import polars
        >>> ArbitraryGroups.fit(polars.DataFrame({"family": [1, 1, 2]}), group="family").size
        2
        """
        columns, order = column_names("group", group), column_names("order_by", order_by)
        largest = max(hooks.call("table.group_sizes", hooks.call("table.scan", frame), columns))
        return cls(largest, group=columns, keep=keep, order_by=order, spaced=spaced, record=record)

    @property
    def protects(self) -> str:
        if not self.protects_several:
            return super().protects
        return whole_group(None if self._any_size else self.size, self.record)

    @property
    def protects_several(self) -> bool:
        return self.unit == "group"

    @property
    def group_size(self) -> int:
        return self.size if self.keep is None else min(self.size, self.keep)

    @property
    def _any_size(self) -> bool:
        """Whether groups may be larger than `size`: so few of their records are read that it does not matter."""
        return self.keep is not None and self.keep <= self.size

    @property
    def reads(self) -> KeptRecords | None:
        if self.keep is None:
            return None
        return KeptRecords(tuple(self.group), tuple(self.order_by), self.keep, self.spaced)

    @property
    def assumption(self) -> str:
        groups = "groups" if self._any_size else f"groups of at most {self.size}"
        anything = f"records come in {groups} that are independent of one another; inside a group anything may hold"
        return anything if self.reads is None else f"{anything}; of each group {self.reads} are read"

    @property
    def entity_columns(self) -> tuple[str, ...] | None:
        return tuple(self.group) or None

    @property
    def public_columns(self) -> tuple[str, ...]:
        return (*self.group, *(column for column in self.order_by if column not in self.group))

    @property
    def order(self) -> str | None:
        return self.order_by[0] if self.order_by else None

    @property
    def ordering(self) -> ChainLayout | None:
        return ChainLayout(self.order_by) if self.order_by else None

    def at_any_length(self) -> Self:
        """Return the model: a table with a larger group is refused.

        Raises ModelError if other records of a group may be kept when the table has grown.
        """
        if self.keep is not None and (self.spaced or not self.order_by):
            raise ModelError(
                "of a table that grows, only the first records in the order of a column stay the ones that are kept: "
                + params("give {order_by}, and leave {spaced} out")
            )
        return self

    def check_table(self, table: TableView, subject: str | None = None) -> Self:
        """Return the model; refuses a table with a larger group, if the model names the columns of groups."""
        if self.group:
            largest = table.largest_group(self.group)
            if largest > self.group_size:
                raise RecordsError(
                    f"{table.name} has a group of {largest} records, but the model describes at most {self.group_size}"
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
        kept = {"keep": self.keep, "order_by": list(self.order_by), "spaced": self.spaced}
        given = {name: value for name, value in kept.items() if value}
        return {"size": self.size} | group | ({} if self.unit == "record" else {"unit": self.unit}) | given

    @classmethod
    def _required(cls) -> frozenset[str]:
        return frozenset({"size"})
