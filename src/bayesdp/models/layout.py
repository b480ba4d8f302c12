"""Layouts: the columns of a table that hold a model's records."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from bayesdp._support import validation
from bayesdp._support.messages import name_of, param, params
from bayesdp._support.validation import brief
from bayesdp.errors import ModelError

__all__ = ["ChainLayout", "GroupLayout", "KeptRecords", "column_name", "column_names", "period"]


@dataclass(frozen=True)
class _Layout:
    """Column names, as tuples; JSON in and out."""

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as a JSON object of the entries that are given."""
        given = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in given.items() if v not in (None, (), False)}

    @classmethod
    def from_dict(cls, document: object) -> Self:
        """Read a layout from its JSON object."""
        known = {item.name for item in fields(cls)}
        if not isinstance(document, Mapping) or not set(document) <= known:
            listed = ", ".join(f'"{name}"' for name in sorted(known))
            raise ModelError(f'"layout" must be an object with some of {listed}, not {brief(document)}')
        try:
            return cls(**document)
        except TypeError as error:
            raise ModelError(f'"layout" is incomplete: {error}') from None


@dataclass(frozen=True)
class ChainLayout(_Layout):
    """A chain in a table: the columns of its order and of entities, and the spacing of records.

    order_by: the columns that order the records.
    entity:   the columns that identify a chain; none means one chain.
    step:     the spacing of the order; records farther apart have a gap between them. A number, or for times a period
              such as "5m", "1h", "1d" or a timedelta; kept in the largest unit that fits, "300s" as "5m". Two order
              columns, a date and a time of day, have a period, too.
    dropped:  records with missing values were left out.
    order_by_text: order columns of text are sorted as text. Otherwise they must hold ISO 8601 dates or times.

    >>> ChainLayout("time", entity="person", step="5m").entity
    ('person',)
    """

    order_by: Sequence[str]
    entity: Sequence[str] = ()
    step: float | str | datetime.timedelta | None = None
    dropped: bool = False
    order_by_text: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "order_by", column_names("order_by", self.order_by))
        object.__setattr__(self, "entity", column_names("entity", self.entity))
        if not self.order_by:
            raise ModelError(name_of("order_by") + " names no column; a chain needs the order of its records")
        object.__setattr__(self, "step", _spacing(self.step))
        if self.step is not None and len(self.order_by) > 2:
            raise ModelError(
                param("step")
                + " is the spacing of one order column, or of a date and a time of day, but "
                + name_of("order_by")
                + f" names {len(self.order_by)}"
            )
        if len(self.order_by) == 2 and isinstance(self.step, float):
            raise ModelError(
                name_of("order_by")
                + " names two columns, a date and a time of day, so "
                + param("step")
                + f" must be a period such as 5m or 1h, not {self.step:g}"
            )
        _check_flag("dropped", self.dropped)
        _check_flag("order_by_text", self.order_by_text)

    def renamed(
        self,
        order_by: str | Sequence[str] | None,
        entity: str | Sequence[str] | None,
        step: float | str | datetime.timedelta | None,
        *,
        order_by_text: bool | None = None,
    ) -> ChainLayout:
        """Return the layout with these values; None keeps the present one, but a new order column drops the step.

        >>> ChainLayout("time", "person").renamed(None, None, "5m").step
        '5m'
        """
        ordered = replace(self, step=None) if order_by is None else replace(self, order_by=order_by, step=None)
        same = ordered.order_by == self.order_by
        return replace(
            ordered,
            entity=self.entity if entity is None else entity,
            step=self.step if step is None and same else step,
            order_by_text=self.order_by_text if order_by_text is None else order_by_text,
        )

    def span(self, records: int) -> str | None:
        """Return the duration of this many records in words, one for each step; None if the step is not a period.

        >>> ChainLayout("time", step="5m").span(12)
        'an hour'
        """
        length = period(self.step) if isinstance(self.step, str) else None
        return None if length is None else _spelled(records * length)

    @property
    def stretch(self) -> tuple[int, str | None]:
        """The number of records in an hour, a day or seven days, the first of these with several, and its name.

        Twelve records if none of these has several; without a name if the step is not a period of time.

        >>> ChainLayout("time", step="5m").stretch, ChainLayout("time", step="1h").stretch
        ((12, 'an hour'), (24, 'a day'))
        >>> ChainLayout("year", step=1).stretch, ChainLayout("t").stretch
        ((12, '12 years'), (12, None))
        """
        length = period(self.step) if isinstance(self.step, str) else None
        for stretch in (datetime.timedelta(hours=1), datetime.timedelta(days=1), datetime.timedelta(days=7)):
            if length and 2 * length <= stretch:
                return -(-stretch // length), _spelled(stretch)
        if length:
            return 12, _spelled(12 * length)
        counts_time = self.step == 1 and self.order_by[-1] in _CALENDAR
        return 12, f"12 {self.order_by[-1]}s" if counts_time else None


@dataclass(frozen=True)
class GroupLayout(_Layout):
    """Groups in a table: long (a row for each record, with its group and perhaps a role) or wide (one for each group).

    >>> GroupLayout(["kid_score", "mom_iq"]).wide
    True
    """

    value: Sequence[str]
    group: Sequence[str] = ()
    role: str | None = None
    dropped: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", column_names("value", self.value))
        object.__setattr__(self, "group", column_names("group", self.group))
        if self.role is not None:
            column_name("role", self.role)
        if not self.value:
            raise ModelError("value names no column; give the column whose values are correlated")
        if len(self.value) > 1 and (self.group or self.role):
            raise ModelError(params("several value columns mean one row for each group: leave {group} and {role} out"))
        if len(self.value) == 1 and not self.group:
            raise ModelError("one value column needs " + param("group") + ", the column that identifies groups")
        _check_flag("dropped", self.dropped)

    def renamed(
        self, value: str | Sequence[str] | None, group: str | Sequence[str] | None, role: str | None
    ) -> GroupLayout:
        """Return the layout with these values; None keeps the present one while the columns before it stay.

        >>> GroupLayout("height", "family", "member").renamed("height", None, None).role
        'member'
        """
        values = self.value if value is None else column_names("value", value)
        groups = column_names("group", group) if group else self.group if values == self.value else ()
        same = (values, groups) == (self.value, self.group)
        return replace(self, value=values, group=groups, role=self.role if role is None and same else role)

    @property
    def wide(self) -> bool:
        """Whether each row holds a whole group."""
        return len(self.value) > 1


@dataclass(frozen=True)
class KeptRecords:
    """The records of each group that are read, chosen by public columns alone: at most `most` of them.

    order_by: the columns that order the records of a group; none for the order of the rows.
    spaced:   whether they are evenly spaced, not the first ones.

    >>> str(KeptRecords(("user",), ("day",), 5))
    'the first 5 records by day'
    """

    group: tuple[str, ...]
    order_by: tuple[str, ...]
    most: int
    spaced: bool = False

    def __str__(self) -> str:
        number = "record" if self.most == 1 else f"{self.most} records"
        chosen = f"at most {self.most} evenly spaced records" if self.spaced else f"the first {number}"
        return f"{chosen} by {', '.join(self.order_by) or 'their rows'}"


_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds", "us": "microseconds"}
_CALENDAR = ("year", "month", "week", "day", "hour", "minute")
_PERIOD = re.compile(r"\s*(\d+)\s*(us|ms|s|m|h|d)\s*")


def period(text: str) -> datetime.timedelta | None:
    """Read a period such as "5m", or return None for another text.

    Raises OverflowError for one that is too long.

    >>> period("90 m")
    datetime.timedelta(seconds=5400)
    """
    match = _PERIOD.fullmatch(text)
    return None if match is None else datetime.timedelta(**{_UNITS[match[2]]: int(match[1])})


def _spacing(step: Any) -> float | str | None:
    """Return the normal form of a step; an invalid text is returned unchanged, and the fit refuses it."""
    if step is None:
        return None
    if isinstance(step, datetime.timedelta):
        return _written(step)
    if not isinstance(step, str):
        return validation.positive("step", step, ModelError)
    try:
        length = period(step)
        number = float(step) if length is None else 0.0
    except (ValueError, OverflowError):
        return step
    if length is not None:
        return _written(length)
    return number if 0 < number < math.inf else step


def _written(length: datetime.timedelta) -> str:
    """Write a period in the largest unit that divides it."""
    units = ((name, datetime.timedelta(**{unit: 1})) for name, unit in _UNITS.items())
    name, unit = next((name, unit) for name, unit in units if not length % unit)
    return f"{length // unit}{name}"


def _spelled(length: datetime.timedelta) -> str:
    """Return a period in words: "an hour", "90 minutes"."""
    written = re.fullmatch(r"(\d+)(\D+)", _written(length))
    assert written is not None
    number, unit = int(written[1]), _UNITS[written[2]]
    if number == 1:
        return f"an {unit[:-1]}" if unit == "hours" else f"a {unit[:-1]}"
    return f"{number} {unit}"


def column_names(name: str, value: Any) -> tuple[str, ...]:
    """Return the names of columns, given as one name, several or None; raise an error for duplicates."""
    listed = hasattr(value, "tolist") and not hasattr(value, "iloc") and not isinstance(value, type)
    given = value.tolist() if listed else () if value is None else value
    names = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    columns = tuple(column_name(name, column) for column in names)
    if len(set(columns)) < len(columns):
        raise ModelError(f"{name} names a column twice: {', '.join(columns)}")
    return columns


def column_name(name: str, value: object) -> str:
    """Return the name of a column; the error for another type does not show the value, which may be the column."""
    if not isinstance(value, str):
        raise ModelError(
            f"{name} must be a non-empty text such as the name of a column, not something of type "
            f"{type(value).__name__}; columns with names of other types must be renamed"
        )
    return validation.text(name, value, ModelError)


def _check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ModelError(f"{name} must be true or false, not {brief(value)}")
