"""What a charge costs and which records it reads, as entries and accounts hold it.

A charge without a loss is pure and has a τ. A charge without a region reads every record. This version refuses a
definition of privacy or a field of a region that is not listed here: to ignore it would promise too much.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite
from typing import Any

from bayesdp._support import validation
from bayesdp._support.documents import canonical
from bayesdp._support.validation import Scalar, brief, plain_number
from bayesdp.errors import InvalidInputError, LedgerError, TooLargeError
from bayesdp.rounding import float_above

__all__ = ["Amounts", "Region", "checked_promise"]

_REQUIRED = {"pure": {"tau"}, "approximate": {"delta", "tau"}, "concentrated": {"rho"}}
"""The definitions of privacy that a charge may name, with their amounts. Amounts of charges add up."""

_ALLOWED = {**_REQUIRED, "concentrated": {"delta", "rho"}, "pure": {"rho", "tau"}}
"""The same with optional amounts. With a delta, it is approximate concentrated privacy. An account that promises (ε, δ)
also adds up the ρ of pure releases: the ρ of several does not follow from the sum of their τ's."""


@dataclass(frozen=True)
class Region:
    """The records that a charge reads: those in an interval of an order, and in cells of public columns.

    order: the public column that orders records; those with `since ≤ order < until` are read. None: all of them.
    cells: by public column, the values that are read, as texts. Every value of other columns is read.

    A part of the table that is independent of the others is not a region: it belongs to the key of a charge.

    >>> region = Region.from_dict({"order": {"column": "date", "since": "2012-10-01"}, "cells": {"hour": ["7", "8"]}})
    >>> region.order, region.since, region.until, region.cells
    ('date', '2012-10-01', None, (('hour', ('7', '8')),))
    """

    order: str | None = None
    since: Scalar | None = None
    until: Scalar | None = None
    cells: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def from_dict(cls, document: object) -> Region:
        """Read a region; LedgerError if it is none, or has a field that this version does not know."""
        read = _known(document, "a region", {"order", "cells"})
        order = _known(read.get("order", {}), "the order of a region", {"column", "since", "until"})
        cells = read.get("cells", {})
        ordered = "column" in order and len(order) > 1
        if not isinstance(cells, Mapping) or (not ordered and (order or not cells)):
            raise LedgerError(f"a region has an order with an interval, or cells of columns; {brief(document)} has not")
        try:
            column = validation.line("column", order["column"]) if order else None
            ends = {name: validation.scalar(name, order[name]) for name in ("since", "until") if name in order}
            named = tuple((validation.line("cells", name), _texts(name, cells[name])) for name in sorted(cells))
        except InvalidInputError as error:
            raise LedgerError(f"the region {brief(document)} cannot be read: {error}") from None
        return cls(column, ends.get("since"), ends.get("until"), named)

    def to_dict(self) -> dict[str, Any]:
        """Return the region as a JSON object."""
        ends = {name: end for name, end in (("since", self.since), ("until", self.until)) if end is not None}
        order = {} if self.order is None else {"order": {"column": self.order, **ends}}
        return order | ({"cells": {name: list(values) for name, values in self.cells}} if self.cells else {})


@dataclass(frozen=True)
class Amounts:
    """What charges of one definition of privacy about one region cost together, exactly.

    definition: the definition of privacy.      exact: its amounts by name, sorted.
    region:     the records that the charges read; None for every record.

    >>> Amounts.of({"tau": 0.5}).plus(Amounts.of({"tau": 0.25})).written
    '3/4'
    >>> Amounts.of({"loss": {"definition": "concentrated", "rho": 0.5}}).loss
    {'definition': 'concentrated', 'rho': 0.5}
    """

    definition: str
    exact: tuple[tuple[str, Fraction], ...]
    region: Region | None = None

    @classmethod
    def of(cls, charge: Mapping[str, Any]) -> Amounts:
        """Return what one charge costs, given its `tau` or its `loss`, and its `region`.

        Raises LedgerError for a definition of privacy or a region that this version does not know, InvalidInputError
        for an amount that is not positive.
        """
        if ("tau" in charge) == ("loss" in charge):
            raise LedgerError("a charge has either a tau or a loss")
        loss = {"definition": "pure", "tau": charge["tau"]} if "tau" in charge else charge["loss"]
        definition, amounts = _defined(loss)
        exact = tuple((name, Fraction(validation.positive(name, amounts[name]))) for name in sorted(amounts))
        return cls(definition, exact, Region.from_dict(charge["region"]) if "region" in charge else None)

    @classmethod
    def read(cls, written: str) -> Amounts:
        """Read the sum that an account holds; ValueError or LedgerError for what is none."""
        if not written.startswith("{"):
            return cls("pure", (("tau", _positive(written)),))
        document = _known(json.loads(written), "a total", {"loss", "region"})
        definition, amounts = _defined(document.get("loss"))
        exact = tuple((name, _positive(amounts[name])) for name in sorted(amounts))
        return cls(definition, exact, Region.from_dict(document["region"]) if "region" in document else None)

    @property
    def written(self) -> str:
        """The text that an account holds: a fraction if it is pure and about every record, else a JSON object."""
        amounts = {name: str(amount) for name, amount in self.exact}
        if self.definition == "pure" and self.region is None and len(amounts) == 1:
            return amounts["tau"]
        region = {} if self.region is None else {"region": self.region.to_dict()}
        return canonical("amounts", {"loss": {"definition": self.definition, **amounts}, **region})

    def plus(self, other: Amounts) -> Amounts:
        """Return both together; LedgerError if they do not add up."""
        if (self.definition, self.region) != (other.definition, other.region):
            raise LedgerError("losses of different definitions, or about different regions, do not add up")
        if self.definition == "pure" and dict(self.exact).keys() != dict(other.exact).keys():
            raise LedgerError("pure losses with a rho and without one do not add up")
        sums = dict(self.exact)
        for name, amount in other.exact:
            sums[name] = sums.get(name, Fraction(0)) + amount
        return Amounts(self.definition, tuple(sorted(sums.items())), self.region)

    @cached_property
    def loss(self) -> dict[str, Any]:
        """The definition with its amounts, each rounded up; LedgerError if one is too large for a float."""
        return {"definition": self.definition} | {name: _rounded_up(name, amount) for name, amount in self.exact}

    @property
    def tau(self) -> float | None:
        """The τ of a pure loss, rounded up; None of any other."""
        return self.loss["tau"] if self.definition == "pure" else None


def checked_promise(loss: object) -> dict[str, Any]:
    """Return what an account promises besides its budget ε: so far the δ of (ε, δ).

    Raises LedgerError for another promise, InvalidInputError for a δ that is not between 0 and 1.

    >>> checked_promise({"definition": "approximate", "delta": 1e-06})
    {'definition': 'approximate', 'delta': 1e-06}
    """
    definition = loss.get("definition") if isinstance(loss, Mapping) else None
    if definition != "approximate":
        raise LedgerError(_UNKNOWN.format(what=f"promises of the definition {brief(definition)}"))
    read = _known(loss, "a promise", {"definition", "delta"})
    return {"definition": "approximate", "delta": validation.probability("delta", read.get("delta"))}


_UNKNOWN = "this version of bayesdp does not know {what}; update bayesdp"


def _defined(loss: object) -> tuple[str, dict[str, Any]]:
    """Return the definition of a loss and its amounts by name; LedgerError for one that is not known."""
    if not isinstance(loss, Mapping):
        raise LedgerError(f"a loss is a JSON object with its definition, not {brief(loss)}")
    amounts = dict(loss)
    definition = amounts.pop("definition", None)
    if not isinstance(definition, str) or definition not in _REQUIRED:
        raise LedgerError(_UNKNOWN.format(what=f"losses of the definition {brief(definition)}"))
    if not _REQUIRED[definition] <= set(amounts) <= _ALLOWED[definition]:
        raise LedgerError(
            f"a loss of the definition {definition!r} has {sorted(_REQUIRED[definition])}, not {brief(loss)}"
        )
    return definition, amounts


def _known(document: object, what: str, names: set[str]) -> Mapping[str, Any]:
    """Return a JSON object; LedgerError if it is none, or if it has other fields than these."""
    if not isinstance(document, Mapping):
        raise LedgerError(f"{what} is a JSON object, not {brief(document)}")
    for name in sorted(set(document) - names, key=str):
        raise LedgerError(_UNKNOWN.format(what=f"the field {brief(name)} of {what}"))
    return document


def _texts(name: str, values: object) -> tuple[str, ...]:
    """Return the values of a column as sorted texts, each once."""
    texts = sorted({str(plain_number(value)) for value in validation.distinct(name, values)})
    if not texts:
        raise InvalidInputError(f"{name} has no values")
    return tuple(texts)


def _positive(written: object) -> Fraction:
    amount = Fraction(str(written))
    if amount <= 0:
        raise ValueError(f"an amount must be greater than 0, not {written}")
    return amount


def _rounded_up(name: str, total: Fraction) -> float:
    """Return an exact sum as a float that is not below it; `LedgerError` if there is none.

    >>> _rounded_up("tau", Fraction(3, 4))
    0.75
    """
    try:
        rounded = float_above(total)
    except TooLargeError:
        rounded = inf
    if not isfinite(rounded):
        shown = {"tau": "τ", "rho": "ρ", "delta": "δ"}[name]
        raise LedgerError(f"the total {shown} would be too large for a floating-point number; nothing was charged")
    return rounded
