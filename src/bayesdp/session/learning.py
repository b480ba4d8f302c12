"""A fit that is a release: noisy whole numbers, charged like any answer, and the model they teach.

Proof: docs/theory/private-fit.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from bayesdp._support.display import Section, lines, warned
from bayesdp.errors import LedgerError, ModelError
from bayesdp.ledger import Account, Charge, State
from bayesdp.mechanisms import DiscreteLaplaceMechanism, require_private
from bayesdp.models import Model
from bayesdp.models.learnt import Learnt
from bayesdp.models.learnt_correlation import LearntCorrelation
from bayesdp.rounding import shown_above, shown_below, shown_odds, shown_remaining
from bayesdp.session.accounting import Accountant, remaining, spend_of
from bayesdp.session.attempts import Attempt
from bayesdp.session.kept import Kept
from bayesdp.session.lessons import QUESTION, Learner, Lesson
from bayesdp.session.plan import Plan
from bayesdp.session.prepare import Inquiry

__all__ = ["Fit", "first_fit", "learn"]


@dataclass(frozen=True)
class Fit(Kept):
    """A model that was learnt by a release, and what that cost. The session goes on with this model.

    model:   what was learnt; all spends of the data set are converted with it from now on.
    tau:     the privacy of the noisy numbers behind it, which stand in `model.learnt`.
    epsilon: by how much the release raised the leakage under the ceiling, all that was known before it.
    epsilon_total, epsilon_remaining: the account afterwards, converted with what was learnt.
    """

    model: Learner
    dataset: str
    tau: float
    epsilon: float
    epsilon_total: float = field(compare=False)
    epsilon_remaining: float = field(compare=False)
    theorem: str
    entry: int
    head: str
    by: str | None = None
    reused: bool = field(default=False, compare=False)

    kind: ClassVar[str] = "fit"
    passing: ClassVar[frozenset[str]] = frozenset({"reused"})

    @classmethod
    def _read(cls, entries: dict[str, Any]) -> dict[str, Any]:
        model = Model.from_dict(entries["model"])
        if not isinstance(model, Learner) or model.learnt is None:
            raise ModelError("its model was not learnt")
        return {**entries, "model": model}

    @property
    def about(self) -> str:
        """What was released."""
        assert self.model.subject is not None
        return self.learnt.about(self.model.subject)

    @property
    def outcome(self) -> str:
        """What was learnt."""
        return f"at most {shown_above(self.bound)}"

    @property
    def bound(self) -> float:
        """The odds ratio or correlation learnt, as the model has it."""
        return float(getattr(self.model, self.learnt.parameter))

    @property
    def learnt(self) -> Learnt | LearntCorrelation:
        """The noisy numbers, and how the model follows from them."""
        assert self.model.learnt is not None
        return self.model.learnt

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp fit --private-tau --json` prints, which the ledger keeps."""
        return {**super().to_dict(), "model": self.model.identity}

    def _printed(self) -> Sequence[Section]:
        learnt, name = self.learnt, self.learnt.parameter_in_words
        left = shown_remaining(self.epsilon_remaining, self.epsilon_total + self.epsilon_remaining)
        cost = "Learnt before; repeating it costs nothing" if self.reused else f"It cost tau = {shown_below(self.tau)}"
        sentences = [
            f"The {learnt.noun} is at most {shown_above(self.bound)}, with a credibility of "
            f"{shown_below(100 * learnt.credibility)} %.",
            f"{cost}; with this {name} {self.dataset} has leaked ε = {shown_above(self.epsilon_total)} in all "
            f"({shown_odds(self.epsilon_total)}); remaining: {left}.",
            learnt.origin,
        ]
        hidden = f"the noise hides the {name}, and the ceiling stands; a larger tau would show more."
        return [[*lines(*sentences), *warned([hidden] if self.bound >= learnt.ceiling else [])]]


def first_fit(bodies: Iterable[Mapping[str, Any]]) -> Fit | None:
    """Return the fit that counts, given the answers to QUESTION, newest first: the one that was stored first."""
    fits = [fit for fit in map(Fit.stored, bodies) if fit is not None]
    return fits[-1] if fits else None


def learn(inquiry: Inquiry, account: Account, lesson: Lesson, terms: Mapping[str, Any], attempt: Attempt) -> Fit:
    """Release noisy numbers and return the model they teach: prepare, plan, charge, draw, answer.

    Raises ModelError for a model that has nothing to learn, RecordsError for a table that is not as is public,
    LedgerError if the account has learnt something else already.
    """
    known = first_fit(account.answers(QUESTION))
    if known is not None:
        return _given_again(known, lesson, account)
    ready, accountant = lesson.prepared(inquiry), Accountant(inquiry.model)
    ready.taught([0] * len(ready.values))  # what may fail must fail before the charge
    mechanism = DiscreteLaplaceMechanism(ready.asked.sensitivity, lesson.tau, len(ready.values))
    require_private(mechanism)

    def planned_in(state: State) -> Plan:
        queries = (ready.asked.query,)
        cost = accountant.cost_of(queries, tau=lesson.tau, spent=spend_of(state.totals), budget=state.budget)
        return attempt.unhurried(Plan(state, lesson.tau, (ready.asked,), {}, cost))

    plan = planned_in(account.state(QUESTION))

    def decide(state: State) -> tuple[Charge, ...]:
        nonlocal plan
        if state.answers(QUESTION):
            return ()
        plan = plan if plan.state.same_account(state) else planned_in(state)
        request = {"asked": {"tau": lesson.tau, "credibility": lesson.credibility}}
        return plan.charges(lambda _: request, {**terms, **ready.kept})

    receipts = account.charge((QUESTION,), decide)
    if receipts:
        assert plan.cost is not None
        model, state = ready.taught(mechanism.release(ready.values)), receipts[0].state
        total = Accountant(model).leaked(spend_of(state.totals))
        fit = Fit(
            model=model,
            dataset=account.dataset,
            tau=lesson.tau,
            epsilon=plan.cost.epsilon,
            epsilon_total=total,
            epsilon_remaining=remaining(state.budget, total),
            theorem=plan.cost.leakage.theorem,
            entry=receipts[0].entry,
            head=receipts[0].head,
            by=terms.get("by"),
        )
        account.answer(receipts[0], fit.to_dict())
    first = first_fit(account.answers(QUESTION))
    assert first is not None
    return first if receipts and first.entry == receipts[0].entry else _given_again(first, lesson, account)


def _given_again(fit: Fit, lesson: Lesson, account: Account) -> Fit:
    """Return the fit of an account again, with the account as it is now; refuses one that learnt something else."""
    learnt = fit.learnt
    if learnt.lesson != lesson.asks() or learnt.tau < lesson.tau:
        raise LedgerError(
            f"the {learnt.parameter_in_words} of {account.dataset!r} was learnt already (entry {fit.entry}: "
            f"{learnt.asked_for}), and a second release would leave a choice between the two; go on with what was "
            "learnt"
        )
    state = account.state()
    total = Accountant(fit.model).leaked(spend_of(state.totals))
    return replace(fit, epsilon_total=total, epsilon_remaining=remaining(state.budget, total), reused=True)
