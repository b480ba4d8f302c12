"""The reader's choices as typed texts, so that going back and forth loses nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import ClassVar, Self
from urllib.parse import parse_qsl, urlencode

from bayesdp._support import validation
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError
from bayesdp.queries import Query

__all__ = ["BETAS", "DELTAS", "EPSILONS", "WINDOWS", "Choices", "Target", "between", "number", "positive", "whole"]

DELTAS = ("1e-12", "1e-11", "1e-10", "1e-9", "1e-8", "1e-7", "1e-6", "1e-5", "1e-4")
"""The positions of the slider of δ."""

EPSILONS = ("0.05", "0.1", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2", "3", "5", "7", "10", "15", "20")
"""The positions of the slider, and the points of the chart."""

BETAS = {"0.1": "90 %", "0.05": "95 %", "0.01": "99 %"}
"""The probability that the error is larger, and that it is not."""

WINDOWS: Mapping[str, str] = {
    "": "all records together",
    "hour": "each hour of the day",
    "weekday": "each weekday",
    "weekday,hour": "each hour of each weekday",
    "date": "each date",
    "week": "each week",
    "month": "each month",
}
"""The windows that a question can be divided into: names of clocks, and what each answer is about."""

_LONGEST = 2000
"""The largest number of characters of a field."""


@dataclass(frozen=True)
class Target:
    """The target: a promise ε, with a δ or without, or an acceptable error α; β is how often the error is larger."""

    epsilon: float | None
    alpha: float | None
    beta: float
    delta: float | None = None


@dataclass(frozen=True)
class Choices:
    """Every field of the page as it was typed, including the fields that are hidden at the moment.

    kind, column, … size:            the question; condition: a comparison, such as "> 0", of the column.
    by, since, until:                the windows of the question: one of `WINDOWS`, and the ends of the order.
    public, cells:                   a public column that divides the question, too, and its values from a public list.
    start, epsilon, … beta:          the promise or the error to start from; definition: "pure" or, with δ,
                                     "approximate".
    assumed, group_size, … memory:   a model without data.
    order_by, … missing, assumption: the layout of a table, and the chosen assumption.
    """

    kind: str = "count"
    column: str = ""
    condition: str = ""
    values: str = "true"
    low: str = "0"
    high: str = "100"
    size: str = "1000"
    by: str = ""
    since: str = ""
    until: str = ""
    public: str = ""
    cells: str = ""
    start: str = "epsilon"
    epsilon: str = "1"
    definition: str = "pure"
    delta: str = "1e-6"
    alpha: str = "25"
    beta: str = "0.05"
    assumed: str = "chain"
    group_size: str = "3"
    correlation: str = "0.3"
    stay_first: str = "0.9"
    stay_second: str = "0.75"
    length: str = "1000"
    odds: str = "5"
    order_by: str = ""
    then_by: str = ""
    last_by: str = ""
    entity: str = ""
    and_entity: str = ""
    step: str = ""
    group: str = ""
    role: str = ""
    missing: str = "error"
    assumption: str = ""

    _LOOKED_AT: ClassVar[tuple[str, ...]] = (
        "kind", "column", "condition", "values", "low", "high", "size", "by", "since", "until", "public",
        "cells", "order_by", "then_by", "last_by", "entity", "and_entity", "step", "group", "role", "missing",
    )  # fmt: skip

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all fields."""
        return tuple(item.name for item in fields(cls))

    @classmethod
    def read(cls, given: Mapping[str, object], otherwise: Self | None = None) -> Self:
        """Return choices from a form; missing fields and fields other than texts come from `otherwise`."""
        known = {
            name: text[:_LONGEST]
            for name, text in given.items()
            if name in cls.names() and isinstance(text, str) and "\0" not in text
        }
        return replace(otherwise or cls(), **known)

    @classmethod
    def from_query(cls, query: str, otherwise: Self | None = None) -> Self:
        """Return choices from the query string of an address.

        >>> Choices.from_query("kind=sum&high=50&nonsense=1").high
        '50'
        """
        return cls.read(dict(parse_qsl(query, keep_blank_values=True)), otherwise)

    def to_query(self, otherwise: Choices | None = None) -> str:
        """Return a query string with the fields that differ from `otherwise`.

        >>> Choices(kind="sum").to_query()
        'kind=sum'
        """
        usual = asdict(otherwise or Choices())
        return urlencode({name: text for name, text in asdict(self).items() if text != usual[name]})

    @property
    def target(self) -> Target:
        """The promise or the error; raises InvalidInputError if it is invalid."""
        beta = validation.probability("the share of cases", _number("the share of cases", self.beta))
        if self.start == "alpha":
            return Target(None, positive("the error", self.alpha), beta)
        delta = None if self.definition == "pure" else validation.probability("δ", _number("δ", self.delta))
        return Target(positive("ε", self.epsilon), None, beta, delta)

    @property
    def subject(self) -> str:
        """The column that is asked about, or a condition on it.

        >>> Choices(column="steps", condition="> 0").subject, Choices(column="my steps", condition="> 0").subject
        ('steps > 0', '`my steps` > 0')
        """
        column, condition = self.column, self.condition.strip()
        if not (condition and column and self.kind in Query.kinds() and Query.kinds()[self.kind].counts_values):
            return column
        return f"{column if column.isidentifier() else f'`{column}`'} {condition}"

    @property
    def order(self) -> list[str]:
        """The columns that order the records."""
        return [name for name in (self.order_by, self.then_by, self.last_by) if name]

    @property
    def windows(self) -> list[str]:
        """The clocks and the public column that divide the question; no clocks without an order.

        >>> Choices(order_by="at", by="weekday,hour", public="zone").windows
        ['weekday', 'hour', 'zone']
        """
        return [*self.clocks, *([self.public] if self.public else [])]

    @property
    def clocks(self) -> list[str]:
        """The clocks that divide the question; none without an order."""
        return [name for name in self.by.split(",") if name] if self.order else []

    @property
    def listed(self) -> list[str]:
        """The values of the public column; raises InvalidInputError for a list without any, or with an empty one.

        >>> Choices(public="zone", cells="north, south").listed
        ['north', 'south']
        """
        values = [value.strip() for value in self.cells.split(",")]
        if not all(values):
            raise InvalidInputError(f"list the values of {brief(self.public)}, separated by commas")
        return values

    @property
    def ends(self) -> tuple[str, str]:
        """The ends of the order between which the question reads records; empty where there is none."""
        return (self.since.strip(), self.until.strip()) if self.order else ("", "")

    @property
    def entities(self) -> list[str]:
        """The columns that identify independent chains."""
        return [name for name in (self.entity, self.and_entity) if name]

    @property
    def looked_at(self) -> tuple[str, ...]:
        """The choices that the priced assumptions depend on, besides ε."""
        return tuple(getattr(self, name) for name in self._LOOKED_AT)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"{name} must be a number") from None


def positive(name: str, text: str) -> float:
    """Return a number above zero; raises InvalidInputError, with the field's name, for anything else."""
    return validation.positive(name, _number(name, text))


def between(name: str, text: str, low: float, high: float) -> float:
    """Return a number from `low` to `high`; InvalidInputError for anything else."""
    number = validation.number(name, _number(name, text))
    if not low <= number <= high:
        raise InvalidInputError(f"{name} must be from {low:g} to {high:g}, not {number:g}")
    return number


def number(name: str, text: str) -> float:
    """Return a finite number; InvalidInputError for anything else."""
    return validation.number(name, _number(name, text))


def whole(name: str, text: str) -> int:
    """Return a whole number above zero; InvalidInputError for anything else."""
    try:
        return validation.natural(name, int(text))
    except ValueError:
        raise InvalidInputError(f"{name} must be a whole number above zero") from None
