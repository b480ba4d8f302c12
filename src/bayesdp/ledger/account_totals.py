"""The totals of an account in the derived tables, how entries change them, and the seal that ties the two together.

Every entry that changes an account carries the account's seal after it, inside the hash chain. So the budget and the
totals, which derived tables hold so that they can be read in constant time, can be checked against one entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from bayesdp._support import validation
from bayesdp._support.documents import canonical, fingerprint
from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger.amounts import Amounts, checked_promise
from bayesdp.ledger.pieces import Pieces, read, with_charge, written
from bayesdp.ledger.records import Total, parsed

__all__ = ["SEAL", "AccountTotals", "Subtotal", "promise_in"]

SEAL = "account"
"""The name of the seal in the body of an entry."""


class Subtotal(NamedTuple):
    """One row of the totals: a key, the query that it stands for as JSON text, its exact amounts, and its first entry.

    tau: the sum of its τ's as a fraction; for other losses or for regions, all of that as JSON (`pieces.written`).
    """

    key: str
    query: str
    tau: str
    since: int


@dataclass(frozen=True)
class AccountTotals:
    """One account in the derived tables: fingerprints of model and description, budget, charges, subtotals.

    promise: what it promises besides ε, as canonical JSON; None for a pure account.

    >>> new = AccountTotals.opened({"model": {"type": "independent"}, "description": {"records": 100}, "budget": 2.0})
    >>> spent = new.charged(2, "count", {"query": "count"}, 0.5).charged(3, "count", {"query": "count"}, 0.25)
    >>> spent.charges, spent.subtotals[0].tau, spent.seal == spent.with_budget(1.0).seal
    (2, '3/4', False)
    """

    model: str
    description: str
    budget: float
    charges: int
    subtotals: tuple[Subtotal, ...]
    promise: str | None = None

    @classmethod
    def opened(cls, opening: Mapping[str, Any]) -> AccountTotals:
        """Return a new account, with nothing spent, from the body of the entry that opens it."""
        model, description = fingerprint(opening["model"]), fingerprint(opening["description"])
        budget = validation.positive("budget", opening["budget"])
        return cls(model, description, budget, 0, (), promise_in(opening))

    def charged(self, number: int, key: str, query: Mapping[str, Any], cost: Amounts | float) -> AccountTotals:
        """Return the account after the charge in entry `number`; a number is the τ of a pure one.

        Raises LedgerError if the key stands for another query, or for another kind of loss or region.
        """
        text, amounts = canonical("query", query), cost if isinstance(cost, Amounts) else Amounts.of({"tau": cost})
        subtotals = {subtotal.key: subtotal for subtotal in self.subtotals}
        before = subtotals.get(key)
        total: Pieces = (amounts,)
        if before is not None:
            if before.query != text:
                raise LedgerError(f"the key {key!r} stands for another query already; their τ's do not add up")
            total = with_charge(_pieces(before.tau), amounts)
        for piece in total:
            _ = piece.loss  # each amount must be a number
        row = Subtotal(key, text, written(total), number if before is None else before.since)
        return replace(self, charges=self.charges + 1, subtotals=tuple({**subtotals, key: row}.values()))

    def with_budget(self, budget: float) -> AccountTotals:
        """Return the account with another budget."""
        return replace(self, budget=validation.positive("budget", budget))

    @cached_property
    def seal(self) -> str:
        """The SHA-256 of these fields as canonical JSON; LedgerError for values that no account can have.

        Ledgers store these hashes, so the fields and their names never change.
        """
        content = {
            "model": self.model,
            "description": self.description,
            "budget": self.budget,
            "charges": self.charges,
            "totals": [list(row) for row in self.subtotals],
            **({} if self.promise is None else {"promise": self.promise}),
        }
        try:
            return fingerprint(content)
        except InvalidInputError:
            raise LedgerError("the ledger is damaged: an account has a value beyond JSON; verify it") from None

    @cached_property
    def totals(self) -> tuple[Total, ...]:
        """The totals, each τ rounded up once; LedgerError if they cannot be read."""
        try:
            return tuple([total for key, query, tau, _ in self.subtotals for total in _totals(key, query, tau)])
        except (ValueError, TypeError, AttributeError, ZeroDivisionError) as error:
            raise LedgerError(f"the ledger is damaged: a total cannot be read ({error}); verify it") from None


def promise_in(opening: Mapping[str, Any]) -> str | None:
    """Return the promise besides ε in the entry that opens an account; LedgerError for one of an unknown kind."""
    return canonical("promise", checked_promise(opening["loss"])) if "loss" in opening else None


@lru_cache(maxsize=4096)
def _totals(key: str, query: str, tau: str) -> tuple[Total, ...]:
    """Return the total of a row. An account may have many rows, of which a release changes one."""
    parsed(query)
    return tuple(
        Total(key, query, piece.tau, None if _plain(piece) else piece.loss, piece.region) for piece in _pieces(tau)
    )


def _plain(piece: Amounts) -> bool:
    return piece.definition == "pure" and len(piece.exact) == 1


@lru_cache(maxsize=4096)
def _pieces(text: str) -> Pieces:
    return read(text)
