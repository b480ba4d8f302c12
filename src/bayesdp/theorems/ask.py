"""Evaluate every theorem under every model that may hold; no other module does this.

A theorem that does not apply, or whose result is too large for a float, gives a reason instead of a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from bayesdp.errors import DoesNotApplyError, TooLargeError
from bayesdp.losses import Loss
from bayesdp.models import Model
from bayesdp.queries import Query
from bayesdp.theorems.registry import theorems
from bayesdp.theorems.spend import Spend, losses_of, queries_of
from bayesdp.theorems.theorem import Theorem

__all__ = ["ApplicableTheorems", "Reply", "ask"]

T = TypeVar("T")


@dataclass(frozen=True)
class Reply(Generic[T]):
    """The result of one theorem under one model: a value, or the reason why there is none."""

    theorem: Theorem
    value: T | None = None
    reason: str | None = None


@dataclass(frozen=True)
class ApplicableTheorems:
    """Every theorem, under every member of a model, with the reason if it does not cover a spend.

    queries: the queries to cover.
    losses:  the kind of loss of each query.
    rows:    for each member, every theorem with the reason why it does not cover these, or None if it does.
    """

    queries: tuple[Query, ...]
    losses: tuple[type[Loss], ...]
    members: tuple[Model, ...]
    rows: tuple[tuple[tuple[Theorem, str | None], ...], ...]

    @classmethod
    def about(
        cls, model: Model, spend: Spend, *, composing: bool = False, only: Sequence[Theorem] | None = None
    ) -> ApplicableTheorems:
        """Return the theorems that apply to a spend, after checking their hypotheses once.

        spend:     only its queries and the kinds of its losses matter, not their amounts.
        composing: only theorems that cover any number of releases together, as a ledger needs.
        only:      the theorems to check; by default all that are registered.
        """
        candidates = theorems() if only is None else only
        chosen = [theorem for theorem in candidates if theorem.composes or not composing]
        members = model.members
        rows = tuple(tuple((theorem, _refusal(theorem, member, spend)) for theorem in chosen) for member in members)
        return cls(queries_of(spend), losses_of(spend), members, rows)

    def covers(self, spend: Spend) -> bool:
        """Return whether the hypotheses were checked for these queries and kinds of losses."""
        return self.queries == queries_of(spend) and self.losses == losses_of(spend)

    def ask(self, question: Callable[[Theorem, Model], T]) -> tuple[tuple[Reply[T], ...], ...]:
        """Evaluate every applicable theorem: a row of replies for each model that may hold, as the function `ask`."""
        return tuple(
            tuple(
                _reply(theorem, member, question) if reason is None else Reply(theorem, reason=reason)
                for theorem, reason in row
            )
            for member, row in zip(self.members, self.rows, strict=True)
        )


def ask(
    model: Model, question: Callable[[Theorem, Model], T], *, only: Sequence[Theorem] | None = None
) -> tuple[tuple[Reply[T], ...], ...]:
    """Evaluate every theorem: a row of replies for each model that may hold (`model.members`).

    question: evaluates one theorem under one model; DoesNotApplyError and TooLargeError become reasons.
    only:     the theorems to evaluate; by default all that are registered.

    A guarantee must hold under every member, so the row with the largest leakage counts, or with the smallest τ.

    >>> from bayesdp import AnyOf, ArbitraryGroups, Count, Independent
    >>> from bayesdp.theorems.spend import as_spend
    >>> spend = as_spend(Count(equals=1), 1.0)
    >>> rows = ask(AnyOf(Independent(), ArbitraryGroups(3)), lambda theorem, member: theorem.epsilon(member, spend))
    >>> [[reply.value for reply in replies if reply.value is not None] for replies in rows]
    [[1.0, 1.0], [3.0]]
    """
    row = tuple((theorem, None) for theorem in (theorems() if only is None else only))
    members = model.members
    return ApplicableTheorems((), (), members, (row,) * len(members)).ask(question)


def _refusal(theorem: Theorem, model: Model, spend: Spend) -> str | None:
    """Return the reason why a theorem does not cover a spend; None if it does."""
    reply = _reply(theorem, model, lambda theorem, member: theorem.objection(member, spend))
    return reply.reason or reply.value


def _reply(theorem: Theorem, model: Model, question: Callable[[Theorem, Model], T]) -> Reply[T]:
    try:
        return Reply(theorem, question(theorem, model))
    except DoesNotApplyError as error:
        return Reply(theorem, reason=error.reason)
    except TooLargeError as error:
        return Reply(theorem, reason=str(error))
