"""Questions that are answered with noise: the plan, the draw and the promise of each."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from bayesdp import __version__
from bayesdp._support.words import listed
from bayesdp.frames.aggregates import Tally
from bayesdp.frames.growth import Extent
from bayesdp.ledger import State
from bayesdp.losses import PureLoss
from bayesdp.session.accounting import remaining
from bayesdp.session.answer import Answer, Posting, Promise
from bayesdp.session.charging import Charged, Decision, Result, SingleAnswer, Work
from bayesdp.session.delta_words import large_share
from bayesdp.session.parts import Reading, meet
from bayesdp.session.plan import AnyAccountant, Plan, Target, plan, stored_loss
from bayesdp.session.prepare import CheckedTable
from bayesdp.session.prepared_query import PreparedQuery
from bayesdp.session.retries import Attempt
from bayesdp.theorems.leakage import Leakage
from bayesdp.theorems.spend import Spend

__all__ = ["EXTENT", "Answering", "TableRelease"]

EXTENT = "table"
"""The name under which a charge on growing data states how far the table reached."""

_PARTS = (
    "The parts by {by} are made of whole chains or groups, which are taken as independent of one another, and who is "
    "in which is public: what is released about one part says nothing about the others, and ε in all is that of the "
    "part that has leaked most."
)

_WINDOWS = (
    "Some releases read only certain records, by {columns}, and a record pays only for those that read it. Which "
    "records these are is public, and the assumption holds for those who see it (`bayesdp proof windows`)."
)


@dataclass(frozen=True)
class TableRelease(Work[Result]):
    """A release about a table: what its questions are charged for, and what is proven of it.

    prepared: the questions.      target: what was requested.
    terms:  the circumstances that the ledger and every answer keep.
    facts:  what every answer says of the model.
    extent: how far a growing table reaches; None if it does not grow.
    """

    checked_table: CheckedTable
    accountant: AnyAccountant
    extent: Extent | None
    dataset: str
    ledger: str
    prepared: tuple[PreparedQuery, ...] = field(kw_only=True)
    target: Target = field(kw_only=True)
    terms: Mapping[str, Any] = field(kw_only=True)
    facts: Mapping[str, Any] = field(kw_only=True)
    attempt: Attempt = field(kw_only=True)

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The fingerprints of the questions."""
        return tuple(prepared.question for prepared in self.prepared)

    @cached_property
    def _extents(self) -> Mapping[str, Extent]:
        return {} if self.extent is None else self.checked_table.extents(self.prepared, self.extent)

    @cached_property
    def _requests(self) -> Mapping[str, dict[str, Any]]:
        return {
            prepared.question: {"asked": self.target.request(prepared, self.prepared)} for prepared in self.prepared
        }

    def _details(self, prepared: PreparedQuery) -> dict[str, Any]:
        """Return the details that the charge of one question has for it alone."""
        reached = self._extents.get(prepared.question)
        return self._requests[prepared.question] | ({} if reached is None else {EXTENT: reached.to_dict()})

    def _leakage(self, planned: Plan) -> Leakage:
        """Return what everything released leaks once a plan is carried out."""
        known = None if planned.cost is None else planned.cost.leakage
        return known or self.accountant.leakage_of(planned.spend, planned.state.budget)

    def _promised(self, planned: Plan, leakage: Leakage) -> Promise:
        """Return what is proven once a plan is carried out. It is known before the charge."""
        together = [prepared.reading for prepared in (*planned.fresh, *(begun for begun, _ in planned.begun))]
        taken = None if planned.cost is None else large_share(planned.cost.share, planned.loss)
        more = [*_shared_by(together), *_windows_of(planned.spend), *([] if taken is None else [taken])]
        facts = {**self.facts, "notes": (*self.facts["notes"], *more)}
        return Promise(
            theorem=leakage.theorem,
            proof=leakage.proof,
            scope=leakage.scope,
            protects=leakage.unit,
            worst_case=leakage.worst_case,
            diagnosis=self.terms["diagnosis"],
            accepted=self.terms["accepted"],
            consequences=self.accountant.sensitivity_to_assumption(planned.spend, leakage.epsilon),
            credibility=self.accountant.credibility,
            **facts,
        )

    def _posting(self, charged: Charged, planned: Plan) -> Posting:
        """Return what a charged release cost."""
        loss, promise = charged.loss, planned.state.promise
        pure = isinstance(loss, PureLoss)
        fresh = any(prepared.question == charged.prepared.question for prepared in planned.fresh)
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
            query_fingerprint=charged.prepared.question,
            entry=charged.entry,
            head=charged.head,
            by=self.terms["by"],
            version=__version__,
            ledger=self.ledger,
        )


@dataclass(frozen=True)
class Answering(TableRelease[Answer], SingleAnswer[Answer]):
    """Questions about a table, answered with noise in one scan and one charge."""

    def decided(self, state: State) -> Decision:
        """Return the plan for a state, its charges, and what will be proven: of fresh answers, and of stored ones."""
        planned = self.attempt.unless_in_progress(plan(self.accountant, self.prepared, self.target, state))
        charges = planned.to_charge(self._details, self.terms)
        return Decision(planned, charges, self._proven(planned))

    def prepare(self, decision: Decision) -> None:
        """Read the exact answers, if any noise will be drawn."""
        if decision.plan.fresh or decision.plan.begun:
            _ = self._exact

    def drawn(self, decision: Decision, charged: Charged) -> Answer:
        """Draw the noise of one answer."""
        prepared, (promise, _) = charged.prepared, decision.said
        mechanism = decision.plan.mechanisms.get(prepared.question) or prepared.mechanism(charged.loss)
        measured = prepared.drawn(self._exact[prepared.question], mechanism, self.target.beta)
        if decision.plan.state.promise is not None and not prepared.query.thresholds:
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

    def _proven(self, planned: Plan) -> tuple[Promise, dict[str, Answer]]:
        """Return what is proven once a plan is carried out: of its fresh answers, and the stored ones given again.

        Both state the same account, by the same theorem and under the present model.
        """
        leakage, budget = self._leakage(planned), planned.state.budget
        promise = self._promised(planned, leakage)
        account = {"total": leakage.epsilon, "remaining": remaining(budget, leakage.epsilon)}
        account |= {} if planned.state.promise is None else {"promised": budget}
        common = replace(promise, notes=tuple(self.facts["notes"])) if planned.stored else promise
        again = {
            question: answer.given_again(beta=self.target.beta, promise=common, by=self.terms["by"], **account)
            for question, answer in planned.stored.items()
        }
        return promise, again

    @cached_property
    def _exact(self) -> dict[str, Tally]:
        return dict(zip(self.questions, self.checked_table.exact(self.prepared), strict=True))


def _shared_by(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the sentences that answers state because they are released together."""
    together = max(sum(meet(other, one) for other in readings) for one in readings) if len(readings) > 1 else 1
    if together > 1:
        yield f"This ε is for {together} answers released together."
    columns = dict.fromkeys(one.query.part_column for one in readings)
    yield from (_PARTS.format(by=by) for by in columns if by is not None)


def _windows_of(spend: Spend) -> Iterator[str]:
    """Yield by which columns the releases of an account choose records, if any do."""
    columns = dict.fromkeys(name for release in spend if release.region is not None for name in release.region.columns)
    if columns:
        yield _WINDOWS.format(columns=listed(sorted(columns)))
