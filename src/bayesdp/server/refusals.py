"""Which exception is which status and which JSON document. The words are those of the exception, and no others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from bayesdp import errors
from bayesdp.errors import (
    BayesDPError,
    BudgetError,
    ChangedError,
    LedgerError,
    MissingDependencyError,
    NoiseError,
    TheoremError,
    TimeLimitError,
    UnavailableError,
)

__all__ = ["DENIED", "FAILED", "NO_PLACES", "RETRY_AFTER", "document_of", "error_document", "status_of"]

NO_PLACES: Mapping[str, str] = MappingProxyType({})

RETRY_AFTER = 5
"""Seconds after which to ask a server again that cannot answer now."""

_STATUS: tuple[tuple[type[BayesDPError], int], ...] = (
    (BudgetError, 409),
    (UnavailableError, 503),
    (ChangedError, 503),
    (TimeLimitError, 504),
    (MissingDependencyError, 500),
    (NoiseError, 500),
    (TheoremError, 500),
    (LedgerError, 422),
    (BayesDPError, 422),
)
"""The first class that an exception belongs to says its status."""


def status_of(error: BaseException) -> int:
    """Return the HTTP status of an exception.

    >>> status_of(BudgetError(1.0, 0.5)), status_of(UnavailableError("gone")), status_of(KeyError("x"))
    (409, 503, 500)
    """
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def document_of(error: BaseException, places: Mapping[str, str] = NO_PLACES) -> dict[str, Any]:
    """Return the document of an exception: its public class, its message in one line, and the numbers that it has.

    What is not an exception of ours says nothing.

    places: addresses on the holder's side, each with the words that a message has instead.

    >>> document_of(BudgetError(1.0, 0.5))["remaining"], document_of(KeyError("x")) == FAILED
    (0.5, True)
    """
    if not isinstance(error, BayesDPError):
        return FAILED
    name = next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in errors.__all__)
    message = str(error)
    for address in sorted(places, key=len, reverse=True):
        message = message.replace(address, places[address])
    return {**error_document(name, " ".join(message.split())), **dict(_public(error))}


def _public(error: BayesDPError) -> Iterator[tuple[str, object]]:
    """Yield the numbers of a budget error, and in whose name it is: other exceptions say all in their message."""
    if isinstance(error, BudgetError):
        for name, value in vars(error).items():
            if isinstance(value, str) or (isinstance(value, int | float) and math.isfinite(value)):
                yield name, value


def error_document(name: str, message: str) -> dict[str, Any]:
    """Return the document of an error.

    >>> error_document("QueryError", "ask something else")
    {'kind': 'error', 'error': 'QueryError', 'message': 'ask something else'}
    """
    return {"kind": "error", "error": name, "message": message}


DENIED = error_document("AccessError", "access denied")
FAILED = error_document("RemoteError", "the server failed; its log says when")
