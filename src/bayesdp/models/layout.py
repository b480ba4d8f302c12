"""Where in a table a model's records are: the columns it was fitted on, so that it can be checked on the same ones."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from bayesdp import validation
from bayesdp.errors import ModelError
from bayesdp.validation import brief

__all__ = ["ChainLayout", "GroupLayout", "column_name"]


@dataclass(frozen=True)
class _Layout:
    """Column names, as tuples; JSON in and out."""

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as a JSON object without what is not given."""
        given = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in given.items() if v not in (None, (), False)}

    @classmethod
    def from_dict(cls, document: object) -> Self:
        """Read a layout from its JSON object."""
        known = {item.name for item in fields(cls)}
        if not isinstance(document, Mapping) or not set(document) <= known:
            listed = ", ".join(sorted(known))
            raise ModelError(f'"layout" must be an object with some of {listed}, not {brief(document)}')
        try:
            return cls(**document)
        except TypeError as error:
            raise ModelError(f'"layout" is incomplete: {error}') from None


@dataclass(frozen=True)
class ChainLayout(_Layout):
    """A chain in a table: what orders its records, what tells entities apart, and how far records lie apart.

    order_by: the columns that put records in order.
    entity:   the columns that tell one chain from another; none means one chain.
    step:     the spacing of the order column; records farther apart have a gap between them. A number, or for times a
              period such as "5m", "1h", "1d" or a timedelta.
    dropped:  records with missing values were left out.

    >>> ChainLayout("time", entity="person", step="5m").entity
    ('person',)
    """

    order_by: Sequence[str]
    entity: Sequence[str] = ()
    step: float | str | datetime.timedelta | None = None
    dropped: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "order_by", _columns("order_by", self.order_by))
        object.__setattr__(self, "entity", _columns("entity", self.entity))
        if not self.order_by:
            raise ModelError("order_by names no column; a chain needs to know which record comes next")
        if isinstance(self.step, datetime.timedelta):
            object.__setattr__(self, "step", f"{self.step // datetime.timedelta(microseconds=1)}us")
        if self.step is not None and not isinstance(self.step, str):
            object.__setattr__(self, "step", validation.positive("step", self.step, ModelError))
        if self.step is not None and len(self.order_by) != 1:
            raise ModelError(f"step= is the spacing of one order column, but order_by names {len(self.order_by)}")
        _check_flag(self.dropped)


@dataclass(frozen=True)
class GroupLayout(_Layout):
    """Groups in a table: long (a record a row, with its group and perhaps its role) or wide (a group a row).

    >>> GroupLayout(["kid_score", "mom_iq"]).wide
    True
    """

    value: Sequence[str]
    group: Sequence[str] = ()
    role: str | None = None
    dropped: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _columns("value", self.value))
        object.__setattr__(self, "group", _columns("group", self.group))
        if self.role is not None:
            column_name("role", self.role)
        if not self.value:
            raise ModelError("value names no column; give the column whose values are correlated")
        if len(self.value) > 1 and (self.group or self.role):
            raise ModelError("several value columns mean one row a group: leave group= and role= out")
        if len(self.value) == 1 and not self.group:
            raise ModelError("one value column needs group=, the column that tells which records belong together")
        _check_flag(self.dropped)

    @property
    def wide(self) -> bool:
        """Whether each row holds a whole group."""
        return len(self.value) > 1


def _columns(name: str, value: Any) -> tuple[str, ...]:
    listed = hasattr(value, "tolist") and not hasattr(value, "iloc") and not isinstance(value, type)
    given = value.tolist() if listed else () if value is None else value
    names = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    columns = tuple(column_name(name, each) for each in names)
    if len(set(columns)) < len(columns):
        raise ModelError(f"{name} names a column twice: {', '.join(columns)}")
    return columns


def column_name(name: str, value: object) -> str:
    """Return the name of a column, or refuse what is no text without showing it: it may be the column itself."""
    if not isinstance(value, str):
        raise ModelError(
            f"{name} must be a non-empty text such as the name of a column, not something of type "
            f"{type(value).__name__}; columns with names of other types must be renamed"
        )
    return validation.text(name, value, ModelError)


def _check_flag(dropped: object) -> None:
    if not isinstance(dropped, bool):
        raise ModelError(f"dropped must be true or false, not {brief(dropped)}")
