"""A whole column released by randomized response: each record is kept or flipped at random, independently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from bayesdp._support.display import Section, lines
from bayesdp._support.documents import fingerprint
from bayesdp.errors import FrameError, LedgerError, QueryError, RecordsError
from bayesdp.frames.boolean_columns import TRUTH, boolean_column
from bayesdp.frames.grid import FINEST_BITS
from bayesdp.ledger import Account, State
from bayesdp.losses import PureLoss
from bayesdp.mechanisms import RandomizedResponseMechanism, require_private
from bayesdp.queries import Count
from bayesdp.rounding import shown_above, shown_below, shown_odds, shown_remaining
from bayesdp.session.accounting import spend_of
from bayesdp.session.approximate_accounting import ApproximateAccountant
from bayesdp.session.charging import Charged, Decision, SingleAnswer, carry_out
from bayesdp.session.plan import AnyAccountant, Plan, Target, begun_before
from bayesdp.session.prepare import CheckedTable
from bayesdp.session.prepared_query import PreparedQuery
from bayesdp.session.retries import Attempt
from bayesdp.session.stored import Stored

__all__ = ["Randomized", "randomize"]


@dataclass(frozen=True)
class Randomized(Stored):
    """A column of true and false, each kept or flipped at random, and its cost.

    column: None in a session's history: the ledger does not keep it.
    delta:  the δ of the account, if it promises (ε, δ); `epsilon_total` is then the ε used so far at this δ.
    """

    subject: str
    tau: float
    flip_probability: float
    epsilon: float
    epsilon_total: float
    epsilon_remaining: float
    theorem: str
    entry: int
    head: str
    column: Any = field(default=None, compare=False)
    delta: float | None = None

    kind: ClassVar[str] = "randomized"
    passing: ClassVar[frozenset[str]] = frozenset({"column"})
    added: ClassVar[frozenset[str]] = frozenset({"delta"})

    @classmethod
    def _recognised(cls, body: Mapping[str, Any]) -> bool:
        """Tell whether a document is one: the first version wrote no kind, so its fields identify it."""
        return super()._recognised(body) or ("kind" not in body and set(cls._stored_names()) - cls.added <= set(body))

    @property
    def about(self) -> str:
        """What was released."""
        return f"{self.subject}, record by record"

    @property
    def outcome(self) -> str:
        """The note that the ledger does not store the column."""
        return "not kept"

    def _printed(self) -> Sequence[Section]:
        left = shown_remaining(self.epsilon_remaining, self.epsilon_total + self.epsilon_remaining)
        flipped = f"{shown_below(100 * self.flip_probability)} %"
        return [
            lines(
                f"Released: {self.about}, each kept or flipped by chance (flipped with probability {flipped}, tau = "
                f"{shown_below(self.tau)}).",
                f"It raises what has leaked by ε = {shown_above(self.epsilon)}, to ε = "
                f"{shown_above(self.epsilon_total)} in all (theorem {self.theorem}); remaining: {left}.",
                f"With that, {shown_odds(self.epsilon_total)}."
                if self.delta is None
                else f"That is the ε used so far at the account's δ = {shown_above(self.delta)}.",
                "The column is in `column`." if self.column is not None else "The ledger does not keep the column.",
            )
        ]


def randomize(
    frame: object,
    checked_table: CheckedTable,
    accountant: AnyAccountant,
    account: Account,
    target: Target,
    terms: Mapping[str, Any],
    attempt: Attempt,
) -> Randomized:
    """Release the column of a chain of two states: prepare, plan, charge, draw, answer.

    Raises QueryError for another model, RecordsError for a table that holds other states.
    """
    model = checked_table.model
    if len(model.members) > 1 or len(model.states) != 2 or model.subject is None:
        raise QueryError("randomized response is for a chain of two states that names its column or condition")
    (prepared,) = checked_table.prepared([Count(model.subject, equals=tuple(model.states)[1])], FINEST_BITS)
    prepared = replace(prepared, question=fingerprint({"randomize": model.subject}))
    column = boolean_column(frame, checked_table.table, prepared.query)
    if checked_table.read([Count(model.subject, isin=tuple(model.states))])[0].counts != (checked_table.rows,):
        raise RecordsError(f"{checked_table.name} holds other states than the chain's")
    if len(column) != checked_table.rows:
        raise FrameError(f"{checked_table.name} has {len(column)} rows now, but had {checked_table.rows}")

    _, drawn = carry_out(account, Randomizing(model.subject, prepared, column, accountant, target, terms, attempt))
    return drawn[prepared.question]


@dataclass(frozen=True)
class Randomizing(SingleAnswer[Randomized]):
    """A column that is released by randomized response. Each is a release of its own: the ledger keeps no column."""

    subject: str
    prepared: PreparedQuery
    column: Any
    accountant: AnyAccountant
    target: Target
    terms: Mapping[str, Any]
    attempt: Attempt

    @property
    def questions(self) -> tuple[str, ...]:
        """The fingerprint of the column."""
        return (self.prepared.question,)

    def decided(self, state: State) -> Decision:
        """Return what to charge: nothing if the column was charged on the same terms, and never drawn."""
        begun = begun_before(self.prepared, state, {"asked": self.target.to_dict()})
        if begun:
            return Decision(self.attempt.unless_in_progress(Plan(state, PureLoss(0.0), (), {}, None, begun=begun)), ())
        spent, epsilon = spend_of(state), self.target.epsilon or 0.0
        if isinstance(self.accountant, ApproximateAccountant):
            (cost,) = self.accountant.offers(
                (self.prepared.query,), epsilon=epsilon, share=None, noise="laplace", spent=spent, budget=state.budget
            )
        else:
            cost = self.accountant.affordable((self.prepared.query,), epsilon=epsilon, spent=spent, budget=state.budget)
        require_private(RandomizedResponseMechanism(cost.tau))
        planned = Plan(state, cost.loss, (self.prepared,), {}, cost)
        terms = {**self.terms, "randomized": self.subject}
        return Decision(planned, planned.to_charge(lambda _: {"asked": self.target.to_dict()}, terms))

    def drawn(self, decision: Decision, charged: Charged) -> Randomized:
        """Keep or flip every record at random."""
        mechanism = RandomizedResponseMechanism(charged.tau)
        return Randomized(
            subject=self.subject,
            tau=mechanism.tau,
            flip_probability=float(mechanism.flip_probability),
            **charged.cost,
            entry=charged.entry,
            head=charged.head,
            column=mechanism.release_column(self.column, TRUTH),
            delta=None if decision.plan.state.promise is None else decision.plan.state.promise["delta"],
        )

    def stored(self, body: Mapping[str, Any]) -> Randomized:
        """Refuse: another process has released the column of this charge, and the ledger does not store it."""
        raise LedgerError("another process has released the column of the same charge; ask again for one of your own")
