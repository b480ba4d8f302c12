"""A release made outside of bayesdp, charged to the same account: only its loss is known."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from bayesdp._support import validation
from bayesdp._support.display import Section, lines, warned
from bayesdp._support.documents import fingerprint
from bayesdp._support.messages import in_python, name_of, params
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError
from bayesdp.ledger import Account, State
from bayesdp.losses import ApproximateLoss, ConcentratedLoss, Loss, Neighbours, PureLoss, under_replacement
from bayesdp.queries import AnyMechanism
from bayesdp.queries.region import Region
from bayesdp.rounding import shown_above, shown_below, shown_odds, shown_remaining
from bayesdp.session.accounting import Cost, rho_of, spend_of
from bayesdp.session.approximate_accounting import ApproximateAccountant
from bayesdp.session.charging import Charged, Decision, SingleAnswer, carry_out
from bayesdp.session.plan import AnyAccountant, Plan, begun_before, charge_of
from bayesdp.session.prepared_query import PreparedQuery
from bayesdp.session.retries import Attempt
from bayesdp.session.stored import Stored

__all__ = ["Neighbours", "Recorded", "record", "stated_loss"]

_NO_LIMIT = sys.float_info.max

_ONLY_PURE = (
    "a tau is pure differential privacy, and {given} is not: (ε, δ), zCDP and Gaussian noise allow some outputs to "
    "tell two records apart without limit; record them as a loss, "
)

_HOW = in_python(
    "such as loss=ApproximateLoss(tau, delta) or loss=ConcentratedLoss(rho)",
    elsewhere="by --tau with --delta, or by --rho",
)

_NEEDS_DELTA = (
    "the account of this data set promises epsilon alone, which {loss} cannot keep: it allows some outputs to tell two "
    "records apart without limit. Make the release with a pure mechanism, such as Laplace or geometric noise, or use "
    "an account that was opened with a delta"
)

_NO_NEIGHBOURS = (
    'a release made elsewhere needs neighbours="replace" or "add-remove": whether its loss is about replacing a record '
    "or about adding or removing one, as in most libraries, where it counts more than double"
)


@dataclass(frozen=True)
class Recorded(Stored):
    """What the ledger keeps of a release that was made elsewhere.

    what:       what was released, in the words of the person who recorded it.
    stated_tau: the τ it was made with, for its own kind of `neighbours`: "replace" or "add-remove".
    tau:        what was charged: its τ if one record is replaced.
                Both are None for a release that is not pure, which has these instead:
    stated:     the loss it was made with, for its own kind of `neighbours`: its definition and amounts.
    loss:       what was charged, as the ledger keeps it.
    delta:      the δ of the account, if it promises (ε, δ); `epsilon_total` is then the ε used so far at this δ.
    window:     the records that it read, as the ledger keeps them; None for all of them.
    published:  it was published before it was recorded, so the budget could not stop it.
    """

    what: str
    stated_tau: float | None
    neighbours: Neighbours
    tau: float | None
    published: bool
    epsilon: float
    epsilon_total: float
    epsilon_remaining: float
    theorem: str
    entry: int
    head: str
    stated: Mapping[str, Any] | None = field(default=None, hash=False)
    loss: Mapping[str, Any] | None = field(default=None, hash=False)
    delta: float | None = None
    window: Mapping[str, Any] | None = field(default=None, hash=False)

    kind: ClassVar[str] = "recorded"
    added: ClassVar[frozenset[str]] = frozenset({"stated", "loss", "delta", "window"})

    @property
    def about(self) -> str:
        """What was released."""
        return self.what

    @property
    def outcome(self) -> str:
        """The note that the result is not in the ledger."""
        return "made elsewhere"

    @property
    def charged(self) -> str:
        """What was charged, as text."""
        return shown_above(self.tau) if self.tau is not None else _in_words(self.loss or {})

    def _printed(self) -> Sequence[Section]:
        left = shown_remaining(self.epsilon_remaining, self.epsilon_total + self.epsilon_remaining)
        doubled = "" if self.neighbours == "replace" else ", for it is stated for adding or removing a record"
        charged = f"tau = {self.charged}" if self.tau is not None else self.charged
        stated = _in_words(self.stated or {}) if self.stated_tau is None else f"tau = {shown_below(self.stated_tau)}"
        sentences = [
            f"Recorded: {self.what}, made elsewhere with {stated}.",
            f"It was charged as {charged}{doubled} (entry {self.entry})"
            + ("." if self.window is None else f", to the records in {Region.from_dict(self.window).description}."),
            f"It raises what has leaked by ε = {shown_above(self.epsilon)}, to ε = {shown_above(self.epsilon_total)} "
            f"in all (theorem {self.theorem}); remaining: {left}.",
            f"With that, {shown_odds(self.epsilon_total)}."
            if self.delta is None
            else f"That is the ε used so far at the account's δ = {shown_above(self.delta)}.",
        ]
        over = self.published and not self.epsilon_remaining
        return [[*lines(*sentences), *warned(["more has leaked than the budget allows."] if over else [])]]


def pure_tau(tau: object, definition: str) -> float:
    """Return the τ of a pure guarantee; InvalidInputError, in words, for any other kind."""
    if isinstance(tau, tuple | list | Mapping):
        raise InvalidInputError(_ONLY_PURE.format(given=f"tau = {brief(tau)}") + _HOW)
    if definition != "pure":
        raise InvalidInputError(_ONLY_PURE.format(given=f"definition = {brief(definition)}") + _HOW)
    return validation.positive("tau", tau)


def stated_loss(tau: object, loss: object, definition: str) -> PureLoss | ApproximateLoss | ConcentratedLoss:
    """Return the loss with which a release was made, checked; InvalidInputError for one that cannot be recorded.

    >>> stated_loss(0.5, None, "pure")
    PureLoss(tau=0.5)
    """
    if (tau is None) == (loss is None):
        raise InvalidInputError(params("give either {tau} or {loss}, how private the release is"))
    if loss is None:
        return PureLoss(pure_tau(tau, definition))
    if type(loss) is PureLoss:
        return PureLoss(validation.positive("tau", loss.tau))
    if type(loss) is ApproximateLoss:
        return loss
    if type(loss) is ConcentratedLoss:
        return ConcentratedLoss(validation.positive("rho", loss.rho), loss.delta)
    raise InvalidInputError(
        name_of("loss") + f" must be a PureLoss, an ApproximateLoss or a ConcentratedLoss, not {brief(loss)}"
    )


def _document(loss: Loss) -> dict[str, Any]:
    """Return a loss as a JSON object, with its name in ledgers."""
    if isinstance(loss, ApproximateLoss):
        return {"definition": "approximate", "tau": loss.tau, "delta": loss.delta}
    assert isinstance(loss, ConcentratedLoss)
    return {"definition": "concentrated", "rho": loss.rho} | ({"delta": loss.delta} if loss.delta else {})


def _in_words(loss: Mapping[str, Any]) -> str:
    amounts = {name: amount for name, amount in loss.items() if name != "definition"}
    return ", ".join(f"{name} = {shown_above(amount)}" for name, amount in amounts.items())


def _as_charged(loss: Loss) -> PureLoss | ConcentratedLoss:
    """Return what the loss of a release is charged as: (τ, δ) is δ-approximately τ²/2-zCDP (Bun and Steinke 2016)."""
    if isinstance(loss, ApproximateLoss):
        return ConcentratedLoss(rho_of(loss.tau), loss.delta)
    assert isinstance(loss, PureLoss | ConcentratedLoss)
    return loss


_READS_ALL = (
    "this account is about a few records of each group, and a release made elsewhere may have read all of them; open "
    "an account of groups that keep every record for such releases"
)


def record(
    accountant: AnyAccountant,
    account: Account,
    terms: Mapping[str, Any],
    *,
    tau: object,
    loss: object,
    what: str,
    neighbours: Neighbours | None,
    definition: str,
    column: str | None,
    published: bool,
    region: Region | None,
    attempt: Attempt,
) -> Recorded:
    """Charge a release made elsewhere: plan, charge, and store what was recorded.

    Raises InvalidInputError for what the account cannot take, BudgetError if the budget does not allow it.
    """
    if accountant.model.reads is not None:
        raise InvalidInputError(_READS_ALL)
    stated = stated_loss(tau, loss, definition)
    if neighbours is None:
        if loss is not None:
            raise InvalidInputError(_NO_NEIGHBOURS)
        neighbours = "replace"
    if neighbours not in ("replace", "add-remove"):
        raise InvalidInputError(
            name_of("neighbours")
            + ' must be "replace" (one record has another value) or "add-remove" (a record more or less), not '
            f"{brief(neighbours)}"
        )
    if not isinstance(published, bool):
        raise InvalidInputError(name_of("published") + f" must be True or False, not {brief(published)}")
    query = AnyMechanism(column or accountant.model.subject, what=validation.text("what", what))
    charged = _as_charged(_replaced(stated, neighbours))
    if not (isinstance(charged, PureLoss) or isinstance(accountant, ApproximateAccountant)):
        raise InvalidInputError(_NEEDS_DELTA.format(loss=stated.description))

    pure = isinstance(stated, PureLoss)
    recorded: dict[str, Any] = {
        "what": what,
        "stated_tau": stated.tau if isinstance(stated, PureLoss) else None,
        "neighbours": neighbours,
        "published": published,
        **({} if pure else {"stated": _document(stated)}),
        **({} if region is None else {"window": region.to_dict()}),
    }
    work = Recording(query, charged, recorded, region, accountant, terms, attempt)
    _, entered = carry_out(account, work)
    return entered[work.prepared.question]


def _replaced(stated: PureLoss | ApproximateLoss | ConcentratedLoss, neighbours: Neighbours) -> Loss:
    """Return the loss if one record is replaced; InvalidInputError for one that is too large to be charged."""
    try:
        return under_replacement(stated, neighbours)
    except InvalidInputError:
        if isinstance(stated, PureLoss):
            raise InvalidInputError(f"tau = {stated.tau:g} is too large to be charged") from None
        raise


@dataclass(frozen=True)
class Recording(SingleAnswer[Recorded]):
    """A release made elsewhere: nothing is drawn, but that it was recorded."""

    query: AnyMechanism
    loss: PureLoss | ConcentratedLoss
    recorded: Mapping[str, Any]
    region: Region | None
    accountant: AnyAccountant
    terms: Mapping[str, Any]
    attempt: Attempt

    @cached_property
    def prepared(self) -> PreparedQuery:
        """The release as the account sees it."""
        what = {"recorded": self.recorded["what"]}
        return PreparedQuery(self.query, fingerprint(what), None, 0, 0, region=self.region)

    @property
    def questions(self) -> tuple[str, ...]:
        """The fingerprint of what was recorded."""
        return (self.prepared.question,)

    def decided(self, state: State) -> Decision:
        """Return what to charge: nothing if the same release was charged before, but not stored as recorded."""
        begun = begun_before(self.prepared, state, {"recorded": dict(self.recorded)}, loss=self.loss)
        if begun:
            return Decision(self.attempt.unless_in_progress(Plan(state, self.loss, (), {}, None, begun=begun)), ())
        cost = self._cost(state)
        planned = Plan(state, self.loss, (self.prepared,), {}, cost)
        details = {
            "recorded": dict(self.recorded),
            **cost.entries,
            "query": self.query.to_dict(),
            **{name: value for name, value in self.terms.items() if value is not None},
        }
        return Decision(planned, (charge_of(self.prepared, self.loss, details, state),))

    def _cost(self, state: State) -> Cost:
        """Return what it costs; BudgetError if the budget does not allow it, unless it is published."""
        spent, published = spend_of(state), self.recorded["published"]
        if isinstance(self.accountant, ApproximateAccountant):
            return self.accountant.cost_of_loss(
                (self.query,),
                self.loss,
                spent=spent,
                budget=state.budget,
                enforced=not published,
                regions=(self.region,),
            )
        assert isinstance(self.loss, PureLoss)
        limit = _NO_LIMIT if published else state.budget
        cost = self.accountant.cost_of(
            (self.query,), tau=self.loss.tau, spent=spent, budget=limit, regions=(self.region,)
        )
        return replace(cost, budget=state.budget)

    def drawn(self, decision: Decision, charged: Charged) -> Recorded:
        """Return what was recorded, and what it cost."""
        promise, pure = decision.plan.state.promise, isinstance(self.loss, PureLoss)
        return Recorded(
            **self.recorded,
            tau=self.loss.tau if isinstance(self.loss, PureLoss) else None,
            loss=None if pure else _document(self.loss),
            delta=None if promise is None else promise["delta"],
            **charged.cost,
            entry=charged.entry,
            head=charged.head,
        )

    def stored(self, body: Mapping[str, Any]) -> Recorded:
        """Return what another process has noted for the same charge."""
        recorded = Recorded.stored(body)
        assert recorded is not None
        return recorded
