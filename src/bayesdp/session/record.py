"""A release made elsewhere, charged to the same account: only its τ is known."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar, Literal

from bayesdp._support import validation
from bayesdp._support.display import Section, lines, warned
from bayesdp._support.documents import fingerprint
from bayesdp._support.messages import name_of
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError
from bayesdp.ledger import Account, State
from bayesdp.queries import AnyMechanism
from bayesdp.rounding import shown_above, shown_below, shown_odds, shown_remaining
from bayesdp.session.accounting import Accountant, spend_of
from bayesdp.session.charging import Charged, Decision, Work, carry_out
from bayesdp.session.plan import Plan, begun_before, charge_of
from bayesdp.session.prepared_query import PreparedQuery
from bayesdp.session.retries import Attempt
from bayesdp.session.stored import Stored

__all__ = ["Neighbours", "Recorded", "record"]

Neighbours = Literal["replace", "add-remove"]

_CHANGES = {"replace": 1, "add-remove": 2}
"""How many steps between neighbours it takes to replace a record: removing the old one and adding the new are two."""

_NO_LIMIT = sys.float_info.max

_ONLY_PURE = (
    "only pure differential privacy can be recorded, and {given} is not: (ε, δ), zCDP, Rényi DP and Gaussian noise "
    "allow some outputs to tell two records apart without limit, and what correlated records add to that is not "
    "known; make the release with a pure mechanism, such as Laplace or geometric noise"
)


@dataclass(frozen=True)
class Recorded(Stored):
    """What the ledger keeps of a release that was made elsewhere.

    what:       what was released, in the words of the person who recorded it.
    stated_tau: the τ it was made with, for its own kind of `neighbours`: "replace" or "add-remove".
    tau:        what was charged: its τ if one record is replaced.
    published:  it was out already when it was recorded, so the budget could not stop it.
    """

    what: str
    stated_tau: float
    neighbours: Neighbours
    tau: float
    published: bool
    epsilon: float
    epsilon_total: float
    epsilon_remaining: float
    theorem: str
    entry: int
    head: str

    kind: ClassVar[str] = "recorded"

    @property
    def about(self) -> str:
        """What was released."""
        return self.what

    @property
    def outcome(self) -> str:
        """That the result is not in the ledger."""
        return "made elsewhere"

    def _printed(self) -> Sequence[Section]:
        left = shown_remaining(self.epsilon_remaining, self.epsilon_total + self.epsilon_remaining)
        doubled = "" if self.neighbours == "replace" else ", for it is stated for adding or removing a record"
        sentences = [
            f"Recorded: {self.what}, made elsewhere with tau = {shown_below(self.stated_tau)}.",
            f"It was charged as tau = {shown_above(self.tau)}{doubled} (entry {self.entry}).",
            f"It raises what has leaked by ε = {shown_above(self.epsilon)}, to ε = {shown_above(self.epsilon_total)} "
            f"in all (theorem {self.theorem}); remaining: {left}.",
            f"With that, {shown_odds(self.epsilon_total)}.",
        ]
        over = self.published and not self.epsilon_remaining
        return [[*lines(*sentences), *warned(["more has leaked than the budget allows."] if over else [])]]


def pure_tau(tau: object, definition: str) -> float:
    """Return the τ of a pure guarantee; InvalidInputError, in words, for any other kind."""
    if isinstance(tau, tuple | list | Mapping):
        raise InvalidInputError(_ONLY_PURE.format(given=f"tau = {brief(tau)}"))
    if definition != "pure":
        raise InvalidInputError(_ONLY_PURE.format(given=f"definition = {brief(definition)}"))
    return validation.positive("tau", tau)


def record(
    accountant: Accountant,
    account: Account,
    terms: Mapping[str, Any],
    *,
    tau: object,
    what: str,
    neighbours: Neighbours,
    definition: str,
    column: str | None,
    published: bool,
    attempt: Attempt,
) -> Recorded:
    """Charge a release made elsewhere: plan, charge, and store what was recorded.

    Raises InvalidInputError for what is not pure, BudgetError if the budget does not allow it.
    """
    stated = pure_tau(tau, definition)
    if neighbours not in _CHANGES:
        raise InvalidInputError(
            name_of("neighbours")
            + ' must be "replace" (one record has another value) or "add-remove" (a record more or less), not '
            f"{brief(neighbours)}"
        )
    if not isinstance(published, bool):
        raise InvalidInputError(name_of("published") + f" must be True or False, not {brief(published)}")
    query = AnyMechanism(column or accountant.model.subject, what=validation.text("what", what))
    charged = _CHANGES[neighbours] * stated
    if not isfinite(charged):
        raise InvalidInputError(f"tau = {stated:g} is too large to be charged")

    recorded: dict[str, Any] = {"what": what, "stated_tau": stated, "neighbours": neighbours, "published": published}
    work = Recording(query, charged, recorded, accountant, terms, attempt)
    _, entered = carry_out(account, work)
    return entered[work.asked.question]


@dataclass(frozen=True)
class Recording(Work[Recorded]):
    """A release made elsewhere: nothing is drawn, but that it was recorded."""

    query: AnyMechanism
    tau: float
    recorded: Mapping[str, Any]
    accountant: Accountant
    terms: Mapping[str, Any]
    attempt: Attempt

    @cached_property
    def asked(self) -> PreparedQuery:
        """The release as the account sees it."""
        return PreparedQuery(self.query, fingerprint({"recorded": self.recorded["what"]}), None, 0, 0)

    @property
    def questions(self) -> tuple[str, ...]:
        """The fingerprint of what was recorded."""
        return (self.asked.question,)

    def decided(self, state: State) -> Decision:
        """Return what to charge: nothing if the same was charged, and could not be noted as recorded."""
        begun = begun_before(self.asked, state, {"recorded": dict(self.recorded)}, tau=self.tau)
        if begun:
            return Decision(self.attempt.unless_in_progress(Plan(state, self.tau, (), {}, None, begun=begun)), ())
        limit = _NO_LIMIT if self.recorded["published"] else state.budget
        cost = self.accountant.cost_of((self.query,), tau=self.tau, spent=spend_of(state), budget=limit)
        planned = Plan(state, self.tau, (self.asked,), {}, replace(cost, budget=state.budget))
        details = {
            "recorded": dict(self.recorded),
            **replace(cost, budget=state.budget).entries,
            "query": self.query.to_dict(),
            **{name: value for name, value in self.terms.items() if value is not None},
        }
        return Decision(planned, (charge_of(self.asked, self.tau, details, state),))

    def drawn(self, decision: Decision, charged: Charged) -> Recorded:
        """Return what was recorded, and what it cost."""
        return Recorded(**self.recorded, tau=charged.tau, **charged.cost, entry=charged.entry, head=charged.head)

    def stored(self, body: Mapping[str, Any]) -> Recorded:
        """Return what another process has noted for the same charge."""
        recorded = Recorded.stored(body)
        assert recorded is not None
        return recorded
