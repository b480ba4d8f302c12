"""Questions that are answered with noise: what is decided, drawn and promised of each."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from bayesdp import __version__
from bayesdp.frames.aggregates import Tally
from bayesdp.frames.growth import Extent
from bayesdp.ledger import State
from bayesdp.losses import PureLoss
from bayesdp.queries import Query
from bayesdp.session.accounting import remaining
from bayesdp.session.answer import Answer, Posting, Promise
from bayesdp.session.charging import Charged, Decision, Work
from bayesdp.session.parts import meet
from bayesdp.session.plan import AnyAccountant, Plan, Target, plan, stored_loss
from bayesdp.session.prepare import CheckedTable
from bayesdp.session.prepared_query import PreparedQuery
from bayesdp.session.retries import Attempt

__all__ = ["EXTENT", "Answering"]

EXTENT = "table"
"""Under which name a charge on growing data says how far the table reached."""

_PARTS = (
    "The parts by {by} are made of whole chains or groups, which are taken as independent of one another, and who is "
    "in which is public: what is released about one part says nothing about the others, and ε in all is that of the "
    "part that has leaked most."
)


@dataclass(frozen=True)
class Answering(Work[Answer]):
    """Questions about a table, answered with noise in one scan and one charge.

    asked:  the questions.      target: what was asked for.
    terms:  the circumstances that the ledger and every answer keep.
    facts:  what every answer says of the model.
    extent: how far a growing table reaches; None if it does not grow.
    """

    checked_table: CheckedTable
    accountant: AnyAccountant
    extent: Extent | None
    dataset: str
    ledger: str
    asked: tuple[PreparedQuery, ...] = field(kw_only=True)
    target: Target = field(kw_only=True)
    terms: Mapping[str, Any] = field(kw_only=True)
    facts: Mapping[str, Any] = field(kw_only=True)
    attempt: Attempt = field(kw_only=True)

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The fingerprints of the questions."""
        return tuple(prepared.question for prepared in self.asked)

    def decided(self, state: State) -> Decision:
        """Return the plan for a state, its charges, and what will be proven: of fresh answers, and of stored ones."""
        planned = self.attempt.unless_in_progress(plan(self.accountant, self.asked, self.target, state))
        charges = planned.to_charge(self._details, self.terms)
        return Decision(planned, charges, self._promised(planned))

    def prepare(self, decision: Decision) -> None:
        """Read the exact answers, if any noise will be drawn."""
        if decision.plan.fresh or decision.plan.begun:
            _ = self._exact

    def drawn(self, decision: Decision, charged: Charged) -> Answer:
        """Draw the noise of one answer."""
        asked, (promise, _) = charged.asked, decision.said
        mechanism = decision.plan.mechanisms.get(asked.question) or asked.mechanism(charged.loss)
        measured = asked.drawn(self._exact[asked.question], mechanism, self.target.beta)
        if decision.plan.state.promise is not None and not asked.query.thresholds:
            kind = "laplace" if isinstance(charged.loss, PureLoss) else "gaussian"
            measured = replace(measured, noise_kind=kind)
        return Answer(measured, promise, self._posting(charged, decision.plan))

    def body(self, outcome: Answer) -> dict[str, Any]:
        """Return the answer with what was asked for."""
        return outcome.to_dict() | self._requests[outcome.query_fingerprint]

    def stored(self, body: Mapping[str, Any]) -> Answer:
        """Return the answer that another process has stored."""
        return Answer.stored(body)

    def answers(self, decision: Decision, drawn: Mapping[str, Answer]) -> tuple[Answer, ...]:
        """Return all answers, those that were stored before given again, in the order of the questions."""
        _, again = decision.said
        return tuple(drawn[question] if question in drawn else again[question] for question in self.questions)

    @cached_property
    def _exact(self) -> dict[str, Tally]:
        return dict(zip(self.questions, self.checked_table.exact(self.asked), strict=True))

    @cached_property
    def _extents(self) -> Mapping[str, Extent]:
        return {} if self.extent is None else self.checked_table.extents(self.asked, self.extent)

    @cached_property
    def _requests(self) -> Mapping[str, dict[str, Any]]:
        return {prepared.question: {"asked": self.target.request(prepared, self.asked)} for prepared in self.asked}

    def _details(self, question: PreparedQuery) -> dict[str, Any]:
        """Return the details that the charge of one question has for it alone."""
        reached = self._extents.get(question.question)
        return self._requests[question.question] | ({} if reached is None else {EXTENT: reached.to_dict()})

    def _promised(self, planned: Plan) -> tuple[Promise, dict[str, Answer]]:
        """Return what is proven once a plan is carried out: of its fresh answers, and the stored ones given again.

        Both state the same account, by the same theorem and under the present model. It is known before the charge.
        """
        spend = planned.spend
        known = None if planned.cost is None else planned.cost.leakage
        leakage = known or self.accountant.leakage_of(spend, planned.state.budget)
        promise = Promise(
            theorem=leakage.theorem,
            proof=leakage.proof,
            scope=leakage.scope,
            protects=leakage.unit,
            worst_case=leakage.worst_case,
            diagnosis=self.terms["diagnosis"],
            accepted=self.terms["accepted"],
            consequences=self.accountant.sensitivity_to_assumption(spend, leakage.epsilon),
            credibility=self.accountant.credibility,
            **self.facts,
        )
        budget = planned.state.budget
        account = {"total": leakage.epsilon, "remaining": remaining(budget, leakage.epsilon)}
        account |= {} if planned.state.promise is None else {"promised": budget}
        again = {
            question: answer.given_again(beta=self.target.beta, promise=promise, by=self.terms["by"], **account)
            for question, answer in planned.stored.items()
        }
        together = [prepared.query for prepared in (*planned.fresh, *(begun for begun, _ in planned.begun))]
        return replace(promise, notes=(*promise.notes, *_shared_by(together))), again

    def _posting(self, charged: Charged, planned: Plan) -> Posting:
        """Return what a charged release cost."""
        loss, promise = charged.loss, planned.state.promise
        pure = isinstance(loss, PureLoss)
        fresh = any(asked.question == charged.asked.question for asked in planned.fresh)
        return Posting(
            dataset=self.dataset,
            tau=loss.tau if isinstance(loss, PureLoss) else None,
            loss=None if pure else stored_loss(loss),
            delta=None if promise is None else promise["delta"],
            rho=None if promise is None else stored_loss(loss)["rho"],
            epsilon_promised=None if promise is None else planned.state.budget,
            further_answers=planned.cost.further if fresh and planned.cost is not None else None,
            epsilon=charged.cost["epsilon"],
            epsilon_total=charged.cost["epsilon_total"],
            epsilon_remaining=charged.cost["epsilon_remaining"],
            timestamp=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            query_fingerprint=charged.asked.question,
            entry=charged.entry,
            head=charged.head,
            by=self.terms["by"],
            version=__version__,
            ledger=self.ledger,
        )


def _shared_by(queries: Sequence[Query]) -> Iterator[str]:
    """Yield what answers that are released together say of one another."""
    together = max(sum(meet(other, query) for other in queries) for query in queries) if len(queries) > 1 else 1
    if together > 1:
        yield f"This ε is for {together} answers released together."
    yield from (_PARTS.format(by=by) for by in dict.fromkeys(query.by for query in queries if query.by is not None))
