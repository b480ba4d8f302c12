"""What a session decides before it charges: which grid, which τ, which answers are stored already. Pure functions."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from bayesdp._support import validation
from bayesdp._support.messages import param, params
from bayesdp.errors import InvalidInputError, QueryError
from bayesdp.ledger import Charge, Pending, State
from bayesdp.losses import PureLoss
from bayesdp.queries import LedgerKey
from bayesdp.session.accounting import COST_ENTRIES, Accountant, Cost, spend_of
from bayesdp.session.answer import Answer
from bayesdp.session.parts import meet
from bayesdp.session.prepared_query import MOST_NOISE, PreparedQuery, PrivateNoise
from bayesdp.theorems.spend import Spend

__all__ = ["Begun", "Plan", "Target", "TooFineError", "begun_before", "charge_of", "plan", "tau_for"]

Begun = tuple[tuple[PreparedQuery, Pending], ...]
"""Questions, each with a charge that has no answer yet."""

_NO_LIMIT = sys.float_info.max


class TooFineError(Exception):
    """The grid is too fine for so small a τ: the noise would not fit into 64 bits. Caught by the session."""


@dataclass(frozen=True)
class Target:
    """What was asked for: by how much the leakage may rise, or how accurate the answer must be."""

    epsilon: float | None
    alpha: float | None
    beta: float

    @classmethod
    def of(cls, epsilon: float | None, alpha: float | None, beta: float) -> Target:
        """Return a checked target; exactly one of ε and α must be given."""
        if (epsilon is None) == (alpha is None):
            raise InvalidInputError(
                params("give either {epsilon} (what the release may cost) or {alpha} (how accurate it must be)")
            )
        return cls(
            None if epsilon is None else validation.positive("epsilon", epsilon),
            None if alpha is None else validation.positive("alpha", alpha),
            validation.probability("beta", beta),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what was asked, for the ledger."""
        return {"epsilon": self.epsilon} if self.epsilon is not None else {"alpha": self.alpha, "beta": self.beta}

    def request(self, question: PreparedQuery, asked: Iterable[PreparedQuery]) -> dict[str, Any]:
        """Return what was asked for of one question, for the ledger: also the questions that share its ε.

        Those about other parts of the table share none of it.
        """
        sharing = sorted(other.question for other in asked if other is question or meet(other.query, question.query))
        return self.to_dict() | ({"questions": sharing} if len(sharing) > 1 else {})

    def covered_by(self, request: object, questions: Iterable[str]) -> bool:
        """Whether an earlier request asked for at least as much of each question as this one, about `questions`, does.

        An ε is shared by the questions of a request: the same ε for no others than these is as much for each.
        """
        if not isinstance(request, Mapping):
            return False
        if self.epsilon is not None:
            shared = set(request.get("questions") or ())
            return shared <= set(questions) and float(request.get("epsilon") or 0.0) >= self.epsilon
        return request.get("beta") == self.beta and float(request.get("alpha") or math.inf) <= (self.alpha or 0.0)


@dataclass(frozen=True)
class Plan:
    """What will be charged in one state of the account: the fresh questions at `tau`, and the answers stored already.

    state: what the plan was made for; it holds as long as nothing is written about the account.
    cost:  None if nothing is fresh.
    mechanisms: the noise of each fresh question, by its fingerprint.
    begun: the questions that were charged in the same terms before, and whose answer was lost, with these charges.
    """

    state: State
    tau: float
    fresh: tuple[PreparedQuery, ...]
    stored: Mapping[str, Answer]
    cost: Cost | None
    mechanisms: Mapping[str, PrivateNoise] = field(default_factory=dict)
    begun: Begun = ()

    @property
    def spend(self) -> Spend:
        """Everything that is released once the plan is carried out."""
        return spend_of(self.state) if self.cost is None else self.cost.spend

    def to_charge(
        self, details: Callable[[PreparedQuery], Mapping[str, Any]], terms: Mapping[str, Any]
    ) -> tuple[Charge, ...]:
        """Return what to charge; none if nothing is fresh.

        details: what was asked for of a question, and what else belongs to it alone.
        terms:   under which circumstances. The ledger keeps both.
        """
        if self.cost is None:
            return ()
        shared = {**self.cost.entries, **{name: value for name, value in terms.items() if value is not None}}
        return tuple(
            charge_of(
                asked,
                self.tau,
                {**details(asked), **shared, "sensitivity": asked.sensitivity, "query": asked.query.to_dict()},
                self.state,
            )
            for asked in self.fresh
        )


def charge_of(asked: PreparedQuery, tau: float, details: Mapping[str, Any], state: State) -> Charge:
    """Return the charge of a question; it is added to the total of its key, however an older version wrote that."""
    key = asked.ledger_key
    for total in state.totals:
        if total.region is None and total.loss is None and LedgerKey.from_text(total.asked) == key:
            return Charge(asked.question, total.key, total.query, tau, details)
    return Charge(asked.question, key.fingerprint, key.to_dict(), tau, details)


def plan(accountant: Accountant, asked: tuple[PreparedQuery, ...], target: Target, state: State) -> Plan:
    """Decide what to charge, and what was charged before without an answer.

    Raises BudgetError if the budget does not allow it, TooFineError if the grid must be coarser.
    """
    known = {prepared.question: tuple(state.answers(prepared.question)) for prepared in asked}
    begun = tuple(pair for prepared in asked for pair in _begun(prepared, state, target, known))
    waiting = {prepared.question for prepared, _ in begun}
    rest = tuple(prepared for prepared in asked if prepared.question not in waiting)
    if not rest:
        return Plan(state, 0.0, (), {}, None, begun=begun)
    return replace(_plan(accountant, rest, target, state, known), begun=begun)


def begun_before(asked: PreparedQuery, state: State, terms: Mapping[str, Any], *, tau: float | None = None) -> Begun:
    """Return the charge of a question that has no answer yet, if it was made in these terms; nothing otherwise.

    terms: entries of its details that must be the same.      tau: the τ that it must have, if that matters.
    """
    pending = state.unanswered(asked.question)
    if (
        pending is None
        or pending.tau is None
        or tau not in (None, pending.tau)
        or not set(COST_ENTRIES) <= set(pending.details)
    ):
        return ()
    same = all(pending.details.get(name) == value for name, value in terms.items())
    return ((asked, pending),) if same else ()


def _begun(asked: PreparedQuery, state: State, target: Target, questions: Iterable[str]) -> Begun:
    """Return the charge of a question that asked for at least as much, and whose noise is this question's."""
    if state.unanswered(asked.question) is None:
        return ()
    same = {"query": asked.query.to_dict(), "sensitivity": asked.sensitivity}
    begun = begun_before(asked, state, same)
    return tuple(pair for pair in begun if target.covered_by(pair[1].details.get("asked"), questions))


def _plan(
    accountant: Accountant,
    asked: tuple[PreparedQuery, ...],
    target: Target,
    state: State,
    known: Mapping[str, tuple[Mapping[str, Any], ...]],
) -> Plan:
    """Decide what to charge for questions that no charge waits for."""
    spent, queries = spend_of(state), tuple(prepared.query for prepared in asked)
    if target.epsilon is not None and not any(known[prepared.question] for prepared in asked):
        cost = accountant.affordable(queries, epsilon=target.epsilon, spent=spent, budget=state.budget)
        return _possible(Plan(state, cost.tau, asked, {}, cost), target.beta)
    if target.epsilon is not None:
        tau = accountant.affordable(queries, epsilon=target.epsilon, spent=spent, budget=_NO_LIMIT).tau
    else:
        tau = max(tau_for(prepared, target) for prepared in asked)
    stored = {
        prepared.question: best
        for prepared in asked
        if (best := _good_enough(known[prepared.question], tau, target, known)) is not None
    }
    fresh = tuple(prepared for prepared in asked if prepared.question not in stored)
    if not fresh:
        return Plan(state, tau, (), stored, None)
    cost = accountant.cost_of(tuple(prepared.query for prepared in fresh), tau=tau, spent=spent, budget=state.budget)
    return _possible(Plan(state, tau, fresh, stored, cost), target.beta)


def _possible(planned: Plan, beta: float) -> Plan:
    """Return a plan whose noise can be drawn and whose accuracy can be stated; what fails must fail here."""
    if not all(prepared.fits(PureLoss(planned.tau)) for prepared in planned.fresh):
        raise TooFineError
    mechanisms = {prepared.question: prepared.mechanism(planned.tau) for prepared in planned.fresh}
    for prepared in planned.fresh:
        prepared.foreseen(mechanisms[prepared.question], beta)
    return replace(planned, mechanisms=mechanisms)


def _good_enough(
    bodies: Iterable[Mapping[str, Any]], tau: float, target: Target, questions: Iterable[str]
) -> Answer | None:
    """Return the best stored answer that has at least this τ, or whose request asked for at least as much."""
    stored = [(Answer.stored(body), body.get("asked")) for body in bodies]
    good = [
        answer for answer, asked in stored if (answer.posting.tau or 0.0) >= tau or target.covered_by(asked, questions)
    ]
    return max(good, key=lambda answer: answer.posting.tau or 0.0, default=None)


def tau_for(asked: PreparedQuery, target: Target) -> float:
    """Return the smallest τ whose discrete noise, rounding included, is off by α with probability at most β.

    Raises InvalidInputError if α is less than what the grid rounds away, or than one whole number.
    """
    assert target.alpha is not None
    if not asked.foreseeable:
        raise QueryError(
            f"which tau {asked.query.description} needs for alpha = {target.alpha:g} depends on how many "
            "records have a value, which a preview does not read; ask with " + param("epsilon") + ", or release it"
        )
    if asked.query.unforeseen:
        _ = asked.query.sensitivity  # raises: it is not known
    worth, slack = asked.worth(asked.records), asked.rounding(asked.records)
    units = min(math.floor((Fraction(target.alpha) - slack) / worth), MOST_NOISE)
    if units < 1:
        least = float(worth + slack)
        raise InvalidInputError(
            f"alpha = {target.alpha:g} cannot be reached; the least error this answer can state is {least:g}"
        )
    loss = asked.loss_for(units, target.beta)
    assert isinstance(loss, PureLoss)
    return loss.tau
