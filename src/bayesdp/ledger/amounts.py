"""The cost of a charge and the records that it reads, as entries and accounts store them.

A charge without a loss is pure and has a τ. A charge without a region reads every record. This version refuses a
definition of privacy or a field of a region that is not listed here, since to ignore it would promise too much.
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
from bayesdp._support.validation import brief
from bayesdp.errors import LedgerError, TooLargeError
from bayesdp.queries.region import UNKNOWN, Region, known_fields
from bayesdp.rounding import float_above

__all__ = ["Amounts", "checked_promise"]

_REQUIRED = {"pure": {"tau"}, "approximate": {"delta", "tau"}, "concentrated": {"rho"}}
"""The definitions of privacy that a charge may name, with their amounts. Amounts of charges add up."""

_ALLOWED = {**_REQUIRED, "concentrated": {"delta", "rho"}, "pure": {"rho", "tau"}}
"""The same with optional amounts. With a delta, it is approximate concentrated privacy. An account that promises (ε, δ)
also adds up the ρ of pure releases: the ρ of several does not follow from the sum of their τ's."""


_DIRECT = "direct"


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
        """Read the sum that an account stores; ValueError or LedgerError for any other text."""
        if not written.startswith("{"):
            return cls("pure", (("tau", _positive(written)),))
        document = known_fields(json.loads(written), "a total", {"loss", "region"})
        definition, amounts = _defined(document.get("loss"))
        exact = tuple((name, _positive(amounts[name])) for name in sorted(amounts))
        return cls(definition, exact, Region.from_dict(document["region"]) if "region" in document else None)

    @property
    def written(self) -> str:
        """The text that an account stores: a fraction if it is pure and about every record, else a JSON object."""
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
        """The τ of a pure loss, rounded up; None for any other loss."""
        return self.loss["tau"] if self.definition == "pure" else None


def checked_promise(loss: object) -> dict[str, Any]:
    """Return a checked promise of an account besides its budget ε: the δ of (ε, δ), and the settings fixed with it.

    conversion: how its spends are converted, "direct"; absent for the lift (docs/theory/accounting.md).
    reserved:   with the lift, the limit of the δ's of releases made elsewhere.

    Raises LedgerError for another promise, InvalidInputError for a δ that is not between 0 and 1.

    >>> checked_promise({"definition": "approximate", "delta": 1e-06})
    {'definition': 'approximate', 'delta': 1e-06}
    """
    definition = loss.get("definition") if isinstance(loss, Mapping) else None
    if definition != "approximate":
        raise LedgerError(UNKNOWN.format(what=f"promises of the definition {brief(definition)}"))
    read = known_fields(loss, "a promise", {"conversion", "definition", "delta", "reserved"})
    promise = {"definition": "approximate", "delta": validation.probability("delta", read.get("delta"))}
    if read.get("conversion", _DIRECT) != _DIRECT:
        raise LedgerError(UNKNOWN.format(what=f"the conversion {brief(read['conversion'])}"))
    if "reserved" in read:
        promise["reserved"] = validation.probability("reserved", read["reserved"])
    return promise | ({"conversion": _DIRECT} if "conversion" in read else {})


def _defined(loss: object) -> tuple[str, dict[str, Any]]:
    """Return the definition of a loss and its amounts by name; LedgerError for one that is not known."""
    if not isinstance(loss, Mapping):
        raise LedgerError(f"a loss is a JSON object with its definition, not {brief(loss)}")
    amounts = dict(loss)
    definition = amounts.pop("definition", None)
    if not isinstance(definition, str) or definition not in _REQUIRED:
        raise LedgerError(UNKNOWN.format(what=f"losses of the definition {brief(definition)}"))
    if not _REQUIRED[definition] <= set(amounts) <= _ALLOWED[definition]:
        raise LedgerError(
            f"a loss of the definition {definition!r} has {sorted(_REQUIRED[definition])}, not {brief(loss)}"
        )
    return definition, amounts


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
