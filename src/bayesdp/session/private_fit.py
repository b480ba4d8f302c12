"""A private fit: noisy whole numbers, charged like any answer, and the model that is fitted to them.

Proof: docs/theory/private-fit.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from bayesdp._support.display import Section, lines, warned
from bayesdp.errors import InvalidInputError, LedgerError, ModelError
from bayesdp.ledger import Account, State
from bayesdp.losses import PureLoss
from bayesdp.mechanisms import IntegerNoise, noise_for, require_private
from bayesdp.models import Model
from bayesdp.models.learnt import Learnt
from bayesdp.models.learnt_correlation import LearntCorrelation
from bayesdp.models.learnt_series import LearntSeries
from bayesdp.rounding import shown_above, shown_below, shown_odds, shown_remaining
from bayesdp.session.accounting import Accountant, Cost, remaining, spend_of
from bayesdp.session.approximate_accounting import accountant_for
from bayesdp.session.charging import Charged, Decision, SingleAnswer, carry_out
from bayesdp.session.plan import Plan, begun_before
from bayesdp.session.prepare import CheckedTable
from bayesdp.session.prepared_query import PreparedQuery
from bayesdp.session.private_fit_preview import Bound, Expected, FitPreview, shown_bound
from bayesdp.session.private_fit_spec import QUESTION, Learner, Prepared, PrivateFitSpec
from bayesdp.session.retries import Attempt
from bayesdp.session.stored import Stored

__all__ = ["Fit", "check_expected", "first_fit", "learn", "preview_of_fit"]


@dataclass(frozen=True)
class Fit(Stored):
    """A model that was learnt by a release, and what that cost. The session goes on with this model.

    model:   what was learnt; all spends of the data set are converted with it from now on.
    tau:     the privacy of the noisy numbers behind it, which stand in `model.learnt`.
    epsilon: by how much the release raised the leakage under the ceiling, all that was known before it.
    epsilon_total, epsilon_remaining: the account afterwards, converted with what was learnt.
    delta:   the δ of the account, if it promises (ε, δ); what was learnt then changes nothing in it.
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
    delta: float | None = None

    kind: ClassVar[str] = "fit"
    added: ClassVar[frozenset[str]] = frozenset({"delta"})
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
        return f"at most {shown_bound(self.bound)}"

    @property
    def bound(self) -> Bound:
        """The odds ratio or correlation learnt, as the model has it; of a series, the odds ratio at each distance."""
        bound = getattr(self.model, self.learnt.parameter)
        return tuple(bound) if self.learnt.plural else float(bound)

    @property
    def learnt(self) -> Learnt | LearntCorrelation | LearntSeries:
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
        are, these = ("are", "these") if learnt.plural else ("is", "this")
        sentences = [
            f"The {learnt.noun} {are} at most {shown_bound(self.bound)}, with a credibility of "
            f"{shown_below(100 * learnt.credibility)} %.",
            f"{cost}; with {these} {name} {self.dataset} has leaked ε = {shown_above(self.epsilon_total)} in all "
            f"({shown_odds(self.epsilon_total)}); remaining: {left}."
            if self.delta is None
            else f"{cost}; {self.dataset} has used ε = {shown_above(self.epsilon_total)} so far at δ = "
            f"{shown_above(self.delta)}, under what was assumed when it was opened; remaining: {left}.",
            learnt.origin,
        ]
        hidden = f"the noise hides the {name}, and the ceiling stands; a larger tau would show more."
        return [[*lines(*sentences), *warned([hidden] if self.bound == learnt.ceiling else [])]]


def first_fit(bodies: Iterable[Mapping[str, Any]]) -> Fit | None:
    """Return the fit that counts, given the answers to QUESTION, newest first: the one that was stored first."""
    fits = [fit for fit in map(Fit.stored, bodies) if fit is not None]
    return fits[-1] if fits else None


def check_expected(checked_table: CheckedTable, account: Account, spec: PrivateFitSpec) -> None:
    """Refuse a fit from which hardly anything would be learnt, unless it was made before."""
    expected = spec.expected(checked_table) if first_fit(account.answers(QUESTION)) is None else None
    if expected is not None and expected.hopeless:
        raise InvalidInputError(expected.refusal)


def preview_of_fit(checked_table: CheckedTable, account: Account, spec: PrivateFitSpec) -> FitPreview:
    """Return what a fit would teach and cost, from public numbers alone."""
    known = first_fit(account.answers(QUESTION))
    if known is not None:
        again = _given_again(known, spec, account)
        bound = Expected(known.learnt.parameter_in_words, checked_table.rows, spec.tau, again.learnt.ceiling, ())
        return FitPreview(bound, 0.0, again.epsilon_total, again.epsilon_remaining, stored=True)
    cost = _cost(checked_table.model, account.state(), spec.question(checked_table), PureLoss(spec.tau))
    return FitPreview(spec.expected(checked_table), cost.epsilon, cost.total, cost.left)


def _cost(model: Model, state: State, released: PreparedQuery, loss: PureLoss) -> Cost:
    """Return what the noisy numbers of a fit cost; BudgetError if the budget does not allow it."""
    accountant, spent = accountant_for(model, state.promise), spend_of(state)
    if isinstance(accountant, Accountant):
        return accountant.cost_of((released.query,), tau=loss.tau, spent=spent, budget=state.budget)
    return accountant.cost_of_loss((released.query,), loss, spent=spent, budget=state.budget)


def learn(
    checked_table: CheckedTable, account: Account, spec: PrivateFitSpec, terms: Mapping[str, Any], attempt: Attempt
) -> Fit:
    """Release noisy numbers and return the model they teach: prepare, plan, charge, draw, answer.

    Raises ModelError for a model that has nothing to learn, RecordsError for a table that is not as is public,
    LedgerError if the account has learnt something else already.
    """
    known = first_fit(account.answers(QUESTION))
    if known is not None:
        return _given_again(known, spec, account)
    work = PrivateFitWork(spec, spec.prepared(checked_table), checked_table, account.dataset, terms, attempt)
    _, learnt = carry_out(account, work)
    first = first_fit(account.answers(QUESTION))
    assert first is not None
    mine = learnt.get(QUESTION)
    return first if mine is not None and first.entry == mine.entry else _given_again(first, spec, account)


@dataclass(frozen=True)
class PrivateFitWork(SingleAnswer[Fit]):
    """A fit that is a release; an account has one, so nothing is charged once there is."""

    spec: PrivateFitSpec
    ready: Prepared
    checked_table: CheckedTable
    dataset: str
    terms: Mapping[str, Any]
    attempt: Attempt

    @property
    def questions(self) -> tuple[str, ...]:
        """The one question of every fit."""
        return (QUESTION,)

    def decided(self, state: State) -> Decision:
        """Return what to charge: nothing if a fit is stored, or if one was charged in the same terms."""
        prepared, loss = self.ready.prepared, PureLoss(self.spec.tau)
        if state.answers(QUESTION):
            return Decision(Plan(state, loss, (), {}, None), ())
        begun = begun_before(prepared, state, {"asked": self._request}, loss=loss)
        if begun:
            return Decision(self.attempt.unless_in_progress(Plan(state, loss, (), {}, None, begun=begun)), ())
        cost = _cost(self.checked_table.model, state, prepared, loss)
        planned = self.attempt.unless_in_progress(Plan(state, loss, (prepared,), {}, cost))
        return Decision(
            planned, planned.to_charge(lambda _: {"asked": self._request}, {**self.terms, **self.ready.details})
        )

    def prepare(self, decision: Decision) -> None:
        """Try out what may fail: that noisy numbers make a model, and that the noise is private."""
        self.ready.fitted([0] * len(self.ready.values))
        require_private(self._noise)

    def drawn(self, decision: Decision, charged: Charged) -> Fit:
        """Draw the noisy numbers, and learn the model from them."""
        model = self.ready.fitted(self._noise.release(self.ready.values))
        state = decision.plan.state
        total = accountant_for(model, state.promise).leaked(decision.plan.spend, state.budget)
        return Fit(
            model=model,
            dataset=self.dataset,
            tau=charged.tau,
            epsilon=charged.cost["epsilon"],
            epsilon_total=total,
            epsilon_remaining=remaining(decision.plan.state.budget, total),
            theorem=charged.cost["theorem"],
            entry=charged.entry,
            head=charged.head,
            by=self.terms.get("by"),
            delta=None if state.promise is None else state.promise["delta"],
        )

    def stored(self, body: Mapping[str, Any]) -> Fit:
        """Return the fit that another process has stored."""
        fit = Fit.stored(body)
        assert fit is not None
        return fit

    @property
    def _request(self) -> dict[str, Any]:
        return {"tau": self.spec.tau, "credibility": self.spec.credibility}

    @cached_property
    def _noise(self) -> IntegerNoise:
        """The noise of all numbers together: that of a pure loss, as for any answer."""
        kind, moved = noise_for(PureLoss), self.ready.prepared
        return kind.for_loss(PureLoss(self.spec.tau), moved.sensitivity_in(kind.norm), len(self.ready.values))


def _given_again(fit: Fit, spec: PrivateFitSpec, account: Account) -> Fit:
    """Return the fit of an account again, with the account as it is now; refuses one that learnt something else."""
    learnt = fit.learnt
    if learnt.spec != spec.asks() or learnt.tau < spec.tau:
        raise LedgerError(
            f"the {learnt.parameter_in_words} of {account.dataset!r} {'were' if learnt.plural else 'was'} learnt "
            f"already (entry {fit.entry}: {learnt.asked_for}), and a second release would leave a choice between the "
            "two; go on with what was learnt"
        )
    state = account.state()
    total = accountant_for(fit.model, state.promise).leaked(spend_of(state), state.budget)
    return replace(fit, epsilon_total=total, epsilon_remaining=remaining(state.budget, total), reused=True)
