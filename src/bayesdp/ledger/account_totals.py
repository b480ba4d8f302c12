"""How an account stands: what the derived tables say of it, how entries change it, and the seal that binds the two.

Every entry that changes an account carries the account's seal after it, inside the hash chain. So the budget and the
totals, which are kept beside the chain to be read in constant time, can be checked against one entry of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from bayesdp._support import validation
from bayesdp._support.documents import canonical, fingerprint
from bayesdp._support.messages import name_of
from bayesdp.errors import InvalidInputError, LedgerError, TooLargeError
from bayesdp.ledger.records import Total, parsed
from bayesdp.rounding import float_above

__all__ = ["SEAL", "AccountTotals", "Subtotal"]

SEAL = "account"
"""Under which name an entry's body carries the seal."""


class Subtotal(NamedTuple):
    """One row of the totals: a key, what it asks as JSON text, the exact sum of its τ's, and its first entry."""

    key: str
    query: str
    tau: str
    since: int


@dataclass(frozen=True)
class AccountTotals:
    """One account as the derived tables have it: fingerprints of model and description, budget, charges, subtotals.

    >>> new = AccountTotals.opened({"type": "independent"}, {"records": 100}, 2.0)
    >>> spent = new.charged(2, "count", {"query": "count"}, 0.5).charged(3, "count", {"query": "count"}, 0.25)
    >>> spent.charges, spent.subtotals[0].tau, spent.seal == spent.with_budget(1.0).seal
    (2, '3/4', False)
    """

    model: str
    description: str
    budget: float
    charges: int
    subtotals: tuple[Subtotal, ...]

    @classmethod
    def opened(cls, model: Mapping[str, Any], description: Mapping[str, Any], budget: float) -> AccountTotals:
        """Return a new account, with nothing spent."""
        return cls(fingerprint(model), fingerprint(description), validation.positive("budget", budget), 0, ())

    def charged(self, number: int, key: str, query: Mapping[str, Any], tau: float) -> AccountTotals:
        """Return the account after the charge in entry `number`; LedgerError if its key stands for another query."""
        asked, amount = canonical("query", query), Fraction(validation.positive("tau", tau))
        subtotals = {subtotal.key: subtotal for subtotal in self.subtotals}
        before = subtotals.get(key, Subtotal(key, asked, "0", number))
        if before.query != asked:
            raise LedgerError(f"the key {key!r} stands for another query already; their τ's do not add up")
        exact = Fraction(before.tau) + amount
        _rounded_up(exact)
        subtotals[key] = before._replace(tau=str(exact))
        return replace(self, charges=self.charges + 1, subtotals=tuple(subtotals.values()))

    def with_budget(self, budget: float) -> AccountTotals:
        """Return the account with another budget."""
        return replace(self, budget=validation.positive("budget", budget))

    @cached_property
    def seal(self) -> str:
        """The SHA-256 of all this as canonical JSON; LedgerError for what no account can be.

        Ledgers hold these hashes: what goes into them, and under which names, never changes.
        """
        content = {
            "model": self.model,
            "description": self.description,
            "budget": self.budget,
            "charges": self.charges,
            "totals": [list(row) for row in self.subtotals],
        }
        try:
            return fingerprint(content)
        except InvalidInputError:
            raise LedgerError("the ledger is damaged: an account holds what cannot be one; verify it") from None

    @cached_property
    def totals(self) -> tuple[Total, ...]:
        """The subtotals as they are accounted for: τ's rounded up once. LedgerError if they cannot be read."""
        try:
            return tuple([_total(key, query, tau) for key, query, tau, _ in self.subtotals])
        except (ValueError, TypeError, ZeroDivisionError) as error:
            raise LedgerError(f"the ledger is damaged: a total cannot be read ({error}); verify it") from None


@lru_cache(maxsize=4096)
def _total(key: str, query: str, tau: str) -> Total:
    """Return a subtotal as it is accounted for. An account may have many, of which a release changes one."""
    exact = Fraction(tau)
    if exact <= 0:
        raise ValueError(name_of("tau") + f" must be greater than 0, not {tau}")
    parsed(query)
    return Total(key, query, _rounded_up(exact))


def _rounded_up(total: Fraction) -> float:
    """Return an exact total of τ's as a float that is not below it; `LedgerError` if there is none.

    >>> _rounded_up(Fraction(3, 4))
    0.75
    """
    try:
        rounded = float_above(total)
    except TooLargeError:
        rounded = math.inf
    if not math.isfinite(rounded):
        raise LedgerError("the total τ would be too large for a floating-point number; nothing was charged")
    return rounded
