"""The key of a charge: the properties, for theorems, of all releases that share one total of an account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bayesdp._support import validation
from bayesdp._support.documents import fingerprint, parse
from bayesdp._support.validation import brief
from bayesdp.errors import QueryError

if TYPE_CHECKING:
    from bayesdp.queries.query import Query

__all__ = ["LedgerKey"]

_ANY = "any question"
"""A key without bounds in ledgers of schema 1 and 2: a sum between 0 and 1 over the filter "any question"."""


@dataclass(frozen=True)
class LedgerKey:
    """The properties, for theorems, of the releases in one total.

    column: their column; None for the column that the model describes.
    bounds: the clipping bounds of sums whose noise is private in the ℓ1 metric; None for any other release, of which
            theorems need only the loss.
    step:   the step of that sum, if the question names one.
    by, parts: the public column that divides the table into parts, and the values of these parts, as texts.

    >>> from bayesdp.queries import Count
    >>> key = Count("steps", equals=1).ledger_key()
    >>> key.to_dict(), key == Count("steps", equals=2).ledger_key(), key.query.description
    ({'column': 'steps'}, True, 'anything at all (steps)')
    """

    column: str | None = None
    bounds: tuple[float, float] | None = None
    step: float | None = None
    by: str | None = None
    parts: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, document: object) -> LedgerKey:
        """Read a key, or the query that stood for one in ledgers of schema 1 and 2.

        Raises QueryError for an unknown entry and for everything that the query of the key refuses.
        """
        if not isinstance(document, Mapping):
            raise QueryError(f"a key must be a JSON object, not {brief(document)}")
        if "query" in document:
            return cls._of_older(document)
        known = {"column", "bounds", "step", "by", "parts"}
        for name in sorted(set(document) - known, key=str):
            raise QueryError(f"a key has no {brief(name)}; it has {', '.join(sorted(known))}")
        entries = dict(document)
        for name in entries.keys() & {"bounds", "parts"}:
            entries[name] = tuple(validation.items(name, entries[name], QueryError))
        key = cls(**entries)
        if (key.step is not None and key.bounds is None) or key.query.ledger_key() != key:
            raise QueryError(f"{brief(document)} is not the key of a charge")
        return key

    @classmethod
    def _of_older(cls, document: Mapping[str, Any]) -> LedgerKey:
        if document.get("query") == "sum" and document.get("where") == _ANY:
            return cls.from_dict(
                {
                    "parts" if name == "by_cells" else name: entry
                    for name, entry in document.items()
                    if name not in ("query", "where", "bounds")
                }
            )
        from bayesdp.queries.query import query_from_dict

        return query_from_dict(document).ledger_key()

    @classmethod
    def from_text(cls, written: str) -> LedgerKey:
        """Read the JSON text of a key from a ledger; cached.

        >>> LedgerKey.from_text('{"bounds":[0.0,1.0],"column":"s","query":"sum","where":"any question"}')
        LedgerKey(column='s', bounds=None, step=None, by=None, parts=())
        """
        return _from_text(written)

    def to_dict(self) -> dict[str, Any]:
        """Return the key as a JSON object, with the entries that are given."""
        return {
            name: list(entry) if isinstance(entry, tuple) else entry
            for name, entry in vars(self).items()
            if entry not in (None, ())
        }

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the key as JSON, under which an account holds the total."""
        return fingerprint(self.to_dict())

    @property
    def query(self) -> Query:
        """A query that represents all these releases in theorems."""
        return _query(self)


@lru_cache(maxsize=4096)
def _from_text(written: str) -> LedgerKey:
    return LedgerKey.from_dict(parse(written))


@lru_cache(maxsize=4096)
def _query(key: LedgerKey) -> Query:
    from bayesdp.queries.any_mechanism import AnyMechanism
    from bayesdp.queries.sum import Sum

    parts: dict[str, Any] = {} if key.by is None else {"by": key.by, "by_cells": key.parts}
    if key.bounds is None:
        return AnyMechanism(key.column, **parts)
    return Sum(key.column, bounds=key.bounds, step=key.step, **parts)
