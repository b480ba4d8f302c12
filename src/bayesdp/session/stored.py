"""Releases that are not answers, as a ledger stores them and as they are read again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self

from bayesdp._support import documents
from bayesdp._support.display import Displayed
from bayesdp._support.documents import Document
from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.rounding import shown_below

__all__ = ["Stored"]


class Stored(Displayed, Document):
    """A release as the ledger keeps it: its kind, its schema, and its fields, except the passing ones.

    kind, schema: as documents carry them.      passing: the fields of the moment, which are not kept.
    """

    kind: ClassVar[str]
    schema: ClassVar[int] = 1
    passing: ClassVar[frozenset[str]] = frozenset()
    added: ClassVar[frozenset[str]] = frozenset()
    """The fields that older documents lack, and that are left out where they are None."""

    epsilon: float
    epsilon_total: float
    tau: float | None
    entry: int

    @property
    @abstractmethod
    def about(self) -> str:
        """What was released, in a few words."""

    @property
    @abstractmethod
    def outcome(self) -> str:
        """What came out, as far as that is known."""

    @property
    def charged(self) -> str:
        """The τ that was charged, as text."""
        return shown_below(self.tau or 0.0)

    @classmethod
    def stored(cls, body: object) -> Self | None:
        """Read what a ledger stored; None if that is something else, LedgerError if it is damaged or newer."""
        if not isinstance(body, Mapping) or not cls._recognised(body):
            return None
        try:
            read = documents.checked(body, cls.kind, cls.schema)
            names = [name for name in cls._stored_names() if name in read or name not in cls.added]
            return cls(**cls._read({name: read[name] for name in names}))
        except (InvalidInputError, LookupError, TypeError) as error:
            raise LedgerError(
                f"the ledger is damaged, or newer: what is {cls.kind} cannot be read ({error}); verify it"
            ) from None

    @classmethod
    def _recognised(cls, body: Mapping[str, Any]) -> bool:
        return body.get("kind") == cls.kind

    @classmethod
    def _read(cls, entries: dict[str, Any]) -> dict[str, Any]:
        """Return the fields from the entries of the document."""
        return entries

    @classmethod
    def _stored_names(cls) -> tuple[str, ...]:
        return tuple(item.name for item in fields(cls) if item.name not in cls.passing)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Return what the ledger keeps."""
        entries = {
            name: getattr(self, name)
            for name in self._stored_names()
            if name not in self.added or getattr(self, name) is not None
        }
        return {"kind": self.kind, "schema": self.schema, **entries}
