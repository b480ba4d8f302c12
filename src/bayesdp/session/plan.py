"""What a session decides before it charges: which grid, which τ, which answers are stored already. Pure functions."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from bayesdp._support import validation
from bayesdp._support.documents import fingerprint
from bayesdp._support.messages import in_python, name_of, param, params
from bayesdp._support.validation import brief
from bayesdp.errors import BudgetError, InvalidInputError, QueryError
from bayesdp.ledger import Charge, Pending, State
from bayesdp.losses import ConcentratedLoss, Loss, PureLoss
from bayesdp.queries import LedgerKey
from bayesdp.session.accounting import COST_ENTRIES, Accountant, Cost, rho_of, spend_of
from bayesdp.session.answer import Answer
from bayesdp.session.approximate_accounting import ApproximateAccountant, NoiseKind
from bayesdp.session.parts import meet
from bayesdp.session.prepared_query import MOST_NOISE, PreparedQuery, PrivateNoise
from bayesdp.theorems.spend import Spend

__all__ = [
    "AnyAccountant",
    "Begun",
    "Plan",
    "Target",
    "TooFineError",
    "begun_before",
    "charge_of",
    "charged_loss",
    "plan",
    "stored_loss",
    "tau_for",
]

AnyAccountant = Accountant | ApproximateAccountant
"""Who converts what an account holds: of those that promise ε, and of those that promise (ε, δ)."""

Begun = tuple[tuple[PreparedQuery, Pending], ...]
"""Questions, each with a charge that has no answer yet."""

_NO_LIMIT = sys.float_info.max


class TooFineError(Exception):
    """The grid is too fine for so small a τ: the noise would not fit into 64 bits. Caught by the session."""


@dataclass(frozen=True)
class Target:
    """What was asked for: by how much the leakage may rise, or how accurate the answer must be.

    share: which share of the limit the release takes, in an account that promises (ε, δ).
    noise: the kind of noise that was insisted on; None for whichever errs less.
    """

    epsilon: float | None
    alpha: float | None
    beta: float
    share: float | None = None
    noise: NoiseKind | None = None

    @classmethod
    def of(
        cls,
        epsilon: float | None,
        alpha: float | None,
        beta: float,
        share: float | None = None,
        noise: NoiseKind | None = None,
    ) -> Target:
        """Return a checked target; exactly one of ε, α and the share must be given."""
        if sum(given is not None for given in (epsilon, alpha, share)) != 1:
            raise InvalidInputError(
                params("give either {epsilon} (what the release may cost) or {alpha} (how accurate it must be)")
                if share is None
                else params("give one of {epsilon}, {alpha} and {share}: each says how large the release is")
            )
        if noise not in (None, "laplace", "gaussian"):
            raise InvalidInputError(name_of("noise") + f' must be "laplace" or "gaussian", not {brief(noise)}')
        return cls(
            None if epsilon is None else validation.positive("epsilon", epsilon),
            None if alpha is None else validation.positive("alpha", alpha),
            validation.probability("beta", beta),
            None if share is None else _share(share),
            noise,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what was asked, for the ledger."""
        insisted = {} if self.noise is None else {"noise": self.noise}
        if self.share is not None:
            return {"share": self.share, **insisted}
        asked = {"epsilon": self.epsilon} if self.epsilon is not None else {"alpha": self.alpha, "beta": self.beta}
        return asked | insisted

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
        if self.noise is not None and request.get("noise") != self.noise:
            return False
        for name, wanted in (("epsilon", self.epsilon), ("share", self.share)):
            if wanted is not None:
                shared = set(request.get("questions") or ())
                return shared <= set(questions) and float(request.get(name) or 0.0) >= wanted
        return request.get("beta") == self.beta and float(request.get("alpha") or math.inf) <= (self.alpha or 0.0)


@dataclass(frozen=True)
class Plan:
    """What will be charged in one state of the account: the fresh questions at `loss`, and the answers stored already.

    state: what the plan was made for; it holds as long as nothing is written about the account.
    cost:  None if nothing is fresh.
    mechanisms: the noise of each fresh question, by its fingerprint.
    begun: the questions that were charged in the same terms before, and whose answer was lost, with these charges.
    """

    state: State
    loss: Loss
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
                self.loss,
                {**details(asked), **shared, "sensitivity": asked.sensitivity, "query": asked.query.to_dict()},
                self.state,
            )
            for asked in self.fresh
        )


def charge_of(asked: PreparedQuery, loss: Loss, details: Mapping[str, Any], state: State) -> Charge:
    """Return the charge of a question; it is added to the total of its key, however an older version wrote that.

    An account that promises (ε, δ) adds up the ρ's, too, and what is not pure under a key of its own.
    """
    key = asked.ledger_key
    if state.promise is not None:
        own = key.fingerprint if isinstance(loss, PureLoss) else fingerprint({"key": key.to_dict(), "loss": "rho"})
        return Charge(asked.question, own, key.to_dict(), None, details, loss=stored_loss(loss))
    if not isinstance(loss, PureLoss):
        raise InvalidInputError(f"this account promises epsilon alone, and takes no {loss.kind}")
    for total in state.totals:
        if total.region is None and total.loss is None and LedgerKey.from_text(total.asked) == key:
            return Charge(asked.question, total.key, total.query, loss.tau, details)
    return Charge(asked.question, key.fingerprint, key.to_dict(), loss.tau, details)


def stored_loss(loss: Loss) -> dict[str, Any]:
    """Return a loss as the ledger keeps it in an account that promises (ε, δ)."""
    if isinstance(loss, PureLoss):
        return {"definition": "pure", "tau": loss.tau, "rho": rho_of(loss.tau)}
    if isinstance(loss, ConcentratedLoss):
        return {"definition": "concentrated", "rho": loss.rho} | ({"delta": loss.delta} if loss.delta else {})
    raise InvalidInputError(f"an account cannot be charged for {loss.kind}")


def charged_loss(charge: Pending) -> Loss | None:
    """Return what a charge cost that has no answer yet; None if it is of no kind that noise is drawn for.

    >>> charged_loss(Pending(3, "ab12", "2026-01-01T00:00:00+00:00", 0.5, {}))
    PureLoss(tau=0.5)
    """
    if charge.tau is not None:
        return PureLoss(charge.tau)
    loss = charge.loss or {}
    if loss.get("definition") == "pure":
        return PureLoss(loss["tau"])
    if loss.get("definition") == "concentrated":
        return ConcentratedLoss(loss["rho"], loss.get("delta", 0.0))
    return None


def plan(accountant: AnyAccountant, asked: tuple[PreparedQuery, ...], target: Target, state: State) -> Plan:
    """Decide what to charge, and what was charged before without an answer.

    Raises BudgetError if the budget does not allow it, TooFineError if the grid must be coarser.
    """
    known = {prepared.question: tuple(state.answers(prepared.question)) for prepared in asked}
    begun = tuple(pair for prepared in asked for pair in _begun(prepared, state, target, known))
    waiting = {prepared.question for prepared, _ in begun}
    rest = tuple(prepared for prepared in asked if prepared.question not in waiting)
    if not rest:
        return Plan(state, PureLoss(0.0), (), {}, None, begun=begun)
    return replace(_plan(accountant, rest, target, state, known), begun=begun)


def begun_before(asked: PreparedQuery, state: State, terms: Mapping[str, Any], *, loss: Loss | None = None) -> Begun:
    """Return the charge of a question that has no answer yet, if it was made in these terms; nothing otherwise.

    terms: entries of its details that must be the same.      loss: what it must have cost, if that matters.
    """
    pending = state.unanswered(asked.question)
    charged = None if pending is None else charged_loss(pending)
    if (
        pending is None
        or charged is None
        or loss not in (None, charged)
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
    accountant: AnyAccountant,
    asked: tuple[PreparedQuery, ...],
    target: Target,
    state: State,
    known: Mapping[str, tuple[Mapping[str, Any], ...]],
) -> Plan:
    """Decide what to charge for questions that no charge waits for."""
    if isinstance(accountant, ApproximateAccountant):
        return _plan_with_delta(accountant, asked, target, state, known)
    if target.share is not None or target.noise == "gaussian":
        what = "Gaussian noise" if target.share is None else "a share of the limit"
        raise InvalidInputError(
            f"this account promises epsilon alone, and {what} needs one that promises a delta, too: it is opened with "
            + in_python("delta=, such as Session(..., epsilon=1, delta=1e-6)", elsewhere="--budget-delta")
        )
    spent, queries = spend_of(state), tuple(prepared.query for prepared in asked)
    if target.epsilon is not None and not any(known[prepared.question] for prepared in asked):
        cost = accountant.affordable(queries, epsilon=target.epsilon, spent=spent, budget=state.budget)
        return _possible(Plan(state, cost.loss, asked, {}, cost), target.beta)
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
        return Plan(state, PureLoss(tau), (), stored, None)
    cost = accountant.cost_of(tuple(prepared.query for prepared in fresh), tau=tau, spent=spent, budget=state.budget)
    return _possible(Plan(state, PureLoss(tau), fresh, stored, cost), target.beta)


def _plan_with_delta(
    accountant: ApproximateAccountant,
    asked: tuple[PreparedQuery, ...],
    target: Target,
    state: State,
    known: Mapping[str, tuple[Mapping[str, Any], ...]],
) -> Plan:
    """Decide what to charge in an account that promises (ε, δ), and with which kind of noise."""
    stored = {
        prepared.question: best
        for prepared in asked
        if (best := _good_enough(known[prepared.question], math.inf, target, known)) is not None
    }
    fresh = tuple(prepared for prepared in asked if prepared.question not in stored)
    if not fresh:
        return Plan(state, PureLoss(0.0), (), stored, None)
    offered = _costs(accountant, fresh, _with_kind(fresh, target), state)
    costs = [cost for cost in offered if all(prepared.fits(cost.loss) for prepared in fresh)]
    if not costs:
        raise TooFineError
    if target.alpha is None:
        chosen = min(costs, key=lambda cost: _error_of(fresh, cost.loss, target.beta)) if len(costs) > 1 else costs[0]
    else:
        chosen = min(costs, key=lambda cost: cost.after)
    return _possible(Plan(state, chosen.loss, fresh, stored, chosen), target.beta)


def _costs(
    accountant: ApproximateAccountant, fresh: tuple[PreparedQuery, ...], target: Target, state: State
) -> tuple[Cost, ...]:
    """Return what the questions may cost with each kind of noise that may be drawn for them."""
    spent, queries = spend_of(state), tuple(prepared.query for prepared in fresh)
    if target.alpha is None:
        return accountant.offers(
            queries,
            epsilon=target.epsilon,
            share=target.share,
            noise=target.noise,
            spent=spent,
            budget=state.budget,
        )
    costs, refusals = [], []
    kinds: dict[str, type[Loss]] = {"laplace": PureLoss, "gaussian": ConcentratedLoss}
    for kind in [kind for name, kind in kinds.items() if target.noise in (None, name)]:
        loss = max((loss_for(prepared, target, kind) for prepared in fresh), key=_size)
        try:
            costs.append(accountant.cost_of_loss(queries, loss, spent=spent, budget=state.budget))
        except BudgetError as error:
            refusals.append(error)
    if not costs:
        raise min(refusals, key=lambda error: error.requested)
    return tuple(costs)


def _with_kind(asked: tuple[PreparedQuery, ...], target: Target) -> Target:
    """Return a target that insists on the one kind of noise if a question has no other: selections cost a τ."""
    selecting = next((prepared for prepared in asked if prepared.query.thresholds), None)
    if selecting is None:
        return target
    if target.noise == "gaussian":
        raise QueryError(f"{selecting.query.description} is answered by selections, which take no Gaussian noise")
    return target if target.noise is not None else replace(target, noise="laplace")


def _error_of(fresh: tuple[PreparedQuery, ...], loss: Loss, beta: float) -> float:
    """Return how large the errors are with a loss each: the sum of the logarithms of their bounds."""
    return math.fsum(math.log(prepared.foreseen(prepared.mechanism(loss), beta)[0]) for prepared in fresh)


def _size(loss: Loss) -> float:
    return loss.rho if isinstance(loss, ConcentratedLoss) else loss.tau if isinstance(loss, PureLoss) else 0.0


def _share(share: object) -> float:
    """Return a share of the limit: above 0, and at most all of it."""
    checked = validation.positive("share", share)
    if checked > 1:
        raise InvalidInputError(name_of("share") + f" must be at most 1, all of the limit, not {checked:g}")
    return checked


def _possible(planned: Plan, beta: float) -> Plan:
    """Return a plan whose noise can be drawn and whose accuracy can be stated; what fails must fail here."""
    if not all(prepared.fits(planned.loss) for prepared in planned.fresh):
        raise TooFineError
    mechanisms = {prepared.question: prepared.mechanism(planned.loss) for prepared in planned.fresh}
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

    Raises what `loss_for` raises.
    """
    loss = loss_for(asked, target, PureLoss)
    assert isinstance(loss, PureLoss)
    return loss.tau


def loss_for(asked: PreparedQuery, target: Target, kind: type[Loss]) -> Loss:
    """Return the smallest loss of a kind whose discrete noise, rounding included, is off by α except for β.

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
    return asked.loss_for(units, target.beta, kind)
