"""The path of every release: plan, charge, draw, store.

What fails before the charge costs nothing. A charge is on disk before its noise is drawn, and what is drawn is returned
only after it is stored. If the answer of a charge was lost in a crash, the next request for the same completes the
charge: several processes may draw for it, one stores its draw, and the other draws are discarded unseen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from bayesdp.errors import AnsweredError, BayesDPError, InvalidInputError, LedgerError
from bayesdp.ledger import Account, Charge, State
from bayesdp.losses import Loss, PureLoss
from bayesdp.session.accounting import COST_ENTRIES
from bayesdp.session.plan import Plan, TooFineError, charged_loss
from bayesdp.session.prepared_query import PreparedQuery

__all__ = ["Charged", "Decision", "Result", "SingleAnswer", "Work", "carry_out"]


class Storable(Protocol):
    """The result of a release: a document that the ledger stores."""

    def to_dict(self) -> dict[str, Any]:
        """Return the document for the ledger."""


Result = TypeVar("Result")
Released = TypeVar("Released", bound=Storable)


@dataclass(frozen=True)
class Charged:
    """A charge that is on disk and has no answer: its noise may be drawn.

    entry, head: the entry of the charge, and the chain's hash there.
    cost:        what the ledger keeps of its cost: ε of the release, in all and remaining, and the theorem.
    """

    prepared: PreparedQuery
    loss: Loss
    entry: int
    head: str
    cost: Mapping[str, Any]

    @property
    def tau(self) -> float:
        """The τ of a pure release; InvalidInputError for another loss."""
        if not isinstance(self.loss, PureLoss):
            raise InvalidInputError(f"a release with {self.loss.description} has no tau")
        return self.loss.tau


@dataclass(frozen=True)
class Decision:
    """A plan for one state of the account, and all that follows from it and must not fail after the charge.

    charges: what is to be charged, one for each fresh question of the plan.
    said:    what the kind of release adds, such as the promise of an answer.
    """

    plan: Plan
    charges: tuple[Charge, ...]
    said: Any = None


class Work(ABC, Generic[Result]):
    """What one kind of release does at each step."""

    @property
    @abstractmethod
    def questions(self) -> tuple[str, ...]:
        """The fingerprints that identify its outcomes in the ledger."""

    @abstractmethod
    def decided(self, state: State) -> Decision:
        """Return what to charge in a state of the account; raises whatever forbids it."""

    def prepare(self, decision: Decision) -> None:
        """Read what the draw needs: what may fail must fail before the charge."""

    @abstractmethod
    def drawn(self, decision: Decision, charged: Charged) -> Result:
        """Draw the noise of a charge, and return what comes out."""

    @abstractmethod
    def store(self, account: Account, charge: Charged, outcome: Result) -> Result:
        """Store what was drawn for a charge; return it, or what another process stored first."""


class SingleAnswer(Work[Released]):
    """A release whose charge has one answer."""

    @abstractmethod
    def stored(self, body: Mapping[str, Any]) -> Released:
        """Return what another process has stored for the same charge."""

    def body(self, outcome: Released) -> dict[str, Any]:
        """Return the document that the ledger stores of an outcome."""
        return outcome.to_dict()

    def store(self, account: Account, charge: Charged, outcome: Released) -> Released:
        """Store an outcome and return it; if another process was first, return what that stored instead."""
        try:
            account.answer(charge, self.body(outcome))
        except AnsweredError:
            body = account.answer_of(charge.entry)
        else:
            return outcome
        if body is None:
            raise LedgerError(
                f"the answer of the charge {charge.entry} is stored, and cannot be found; verify the ledger"
            )
        return self.stored(body)


def carry_out(account: Account, work: Work[Result]) -> tuple[Decision, dict[str, Result]]:
    """Release: plan, charge, draw, store. Returns what was decided, and what came out, by question.

    Answers that were stored before are in the decision's plan.
    """
    first = _planned(account, work)
    work.prepare(first)
    decision, charged = first, tuple[Charged, ...]()
    if first.plan.fresh:
        decision, receipts = account.charge_for(
            work.questions, lambda state: first if first.plan.state.same_account(state) else work.decided(state)
        )
        cost = {} if decision.plan.cost is None else decision.plan.cost.entries
        charged = tuple(
            Charged(prepared, decision.plan.loss, receipt.entry, receipt.head, cost)
            for prepared, receipt in zip(decision.plan.fresh, receipts, strict=True)
        )
    outcomes = {}
    for charge in (*_begun(decision.plan), *charged):
        outcomes[charge.prepared.question] = work.store(account, charge, work.drawn(decision, charge))
    return decision, outcomes


def _planned(account: Account, work: Work[Any]) -> Decision:
    """Return what to charge, from the last known state of the account if that is enough, without a query to the ledger.

    A refused release may be allowed by now, so it is decided again on the present account.
    """
    last = account.last_state(*work.questions)
    if last is not None:
        with suppress(BayesDPError, TooFineError):
            return work.decided(last)
    return work.decided(account.state(*work.questions))


def _begun(plan: Plan) -> tuple[Charged, ...]:
    """Return the charges that have no answer yet."""
    return tuple(
        Charged(prepared, loss, pending.entry, pending.head, {name: pending.details[name] for name in COST_ENTRIES})
        for prepared, pending in plan.begun
        if (loss := charged_loss(pending)) is not None
    )
