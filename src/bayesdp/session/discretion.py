"""Errors that leave a session contain nothing that was found in the records."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from bayesdp.errors import BayesDPError, NoColumnError, RecordsError, RefusedError

__all__ = ["discreetly"]

T = TypeVar("T")


def discreetly(work: Callable[[], T], refused: Callable[[], object] = lambda: None) -> T:
    """Return what `work` returns; raise its refusal without anything that it found in the records.

    refused: called before a refusal because of the records is raised, to enter it in the ledger.

    A RecordsError becomes a RefusedError, whose message is always the same. Python links an exception to the one that
    is being handled when it is raised, and shows both. So everything is raised here after the handlers are left, and
    what is passed on is cut off from the exceptions behind it.

    >>> def work():
    ...     raise RecordsError("13 records have no value")
    >>> try:
    ...     discreetly(work)
    ... except RefusedError as error:
    ...     error.__context__, error.__cause__
    (None, None)
    """
    passed: BayesDPError | None = None
    try:
        return work()
    except RecordsError:
        pass
    except NoColumnError as error:
        passed = NoColumnError(error.discreet)
    except BayesDPError as error:
        passed = error
    if passed is None:
        refused()
        raise RefusedError
    passed.__cause__ = passed.__context__ = None
    raise passed
