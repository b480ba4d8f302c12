"""Every theorem is asked here, under every model that may hold, and nowhere else.

A theorem that does not apply, or whose figures are too large for a float, says why instead of giving a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from bayesdp.errors import DoesNotApplyError, TooLargeError
from bayesdp.models import Model
from bayesdp.theorems.registry import theorems
from bayesdp.theorems.theorem import Theorem

__all__ = ["Reply", "ask"]

T = TypeVar("T")


@dataclass(frozen=True)
class Reply(Generic[T]):
    """What one theorem says under one model: a value, or the reason why it has none."""

    theorem: Theorem
    value: T | None = None
    reason: str | None = None


def ask(
    model: Model,
    question: Callable[[Theorem, Model], T],
    *,
    composing: bool = False,
    only: Sequence[Theorem] | None = None,
) -> tuple[tuple[Reply[T], ...], ...]:
    """Return what every theorem says, a row of replies for each model that may hold (`model.members`).

    question:  asks one theorem about one model; DoesNotApplyError and TooLargeError of it become reasons.
    composing: ask only theorems that cover any number of releases together, as a ledger must.
    only:      ask these instead of all that are registered.

    What holds must hold under every member: of leakages the largest row counts, of τ's the smallest.

    >>> from bayesdp import AnyOf, ArbitraryGroups, Count, Independent
    >>> from bayesdp.theorems.spend import as_spend
    >>> spend = as_spend(Count(equals=1), 1.0)
    >>> rows = ask(AnyOf(Independent(), ArbitraryGroups(3)), lambda theorem, member: theorem.epsilon(member, spend))
    >>> [[reply.value for reply in replies if reply.value is not None] for replies in rows]
    [[1.0, 1.0], [3.0]]
    """
    asked = [theorem for theorem in (theorems() if only is None else only) if theorem.composes or not composing]
    return tuple(tuple(_reply(theorem, member, question) for theorem in asked) for member in model.members)


def _reply(theorem: Theorem, model: Model, question: Callable[[Theorem, Model], T]) -> Reply[T]:
    try:
        return Reply(theorem, question(theorem, model))
    except DoesNotApplyError as error:
        return Reply(theorem, reason=error.reason)
    except TooLargeError as error:
        return Reply(theorem, reason=str(error))
