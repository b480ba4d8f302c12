"""The limit on the number of states of a model, with which the time of every computation grows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesdp._support.limits import STATES
from bayesdp._support.validation import brief
from bayesdp.errors import ModelError, RecordsError

__all__ = ["check_states", "check_varied"]


def check_states(**tables: object) -> None:
    """Raise ModelError for lists of states, and tables with an entry for each state on every level, that are too long.

    Only lengths are examined, so a large table is refused at once. Other checks handle values that are not lists.

    >>> check_states(states=["idle", "active"], transition=None)
    >>> check_states(states=range(501))
    Traceback (most recent call last):
    ...
    bayesdp.errors.ModelError: states: 501 states are too many, a model has at most 500; merge some of them, or ...
    """
    for name, table in tables.items():
        size = max(_lengths(table), default=0)
        if size > STATES.value:
            raise ModelError(
                f"{name}: {size} states are too many, a model has at most {STATES.value}; merge some of them, or "
                f"{STATES.advice}"
            )


def check_varied(states: Sequence[object], subject: str) -> None:
    """Raise RecordsError for a column of states that has fewer than two values: nothing can be estimated from it.

    >>> check_varied([False, True], "on")
    >>> check_varied([True], "on")
    Traceback (most recent call last):
    ...
    bayesdp.errors.RecordsError: every record has the same 'on'; a chain is estimated from records with at least two ...
    """
    if len(states) < 2:
        raise RecordsError(
            f"every record has the same {brief(subject)}; a chain is estimated from records with at least two values"
        )


def _lengths(table: object) -> tuple[int, ...]:
    """Return the number of entries on each level of a table, by the first entry of each level."""
    if isinstance(table, np.ndarray):
        return tuple(table.shape)
    lengths = []
    while isinstance(table, Sequence) and not isinstance(table, str | bytes) and len(table):
        lengths.append(len(table))
        table = table[0]
        if isinstance(table, np.ndarray):
            return (*lengths, *table.shape)
    return tuple(lengths)
