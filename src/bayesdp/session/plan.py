"""The plan that a session makes before it charges: the τ, and which answers are already stored. Pure functions."""

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
"""The accountant of an account that promises ε, or of one that promises (ε, δ)."""

Begun = tuple[tuple[PreparedQuery, Pending], ...]
"""Questions, each with a charge that has no answer yet."""

_NO_LIMIT = sys.float_info.max


class TooFineError(Exception):
    """The grid is too fine for so small a τ: the noise would not fit into 64 bits. Caught by the session."""


@dataclass(frozen=True)
class Target:
    """What a request asks for: by how much the leakage may rise, or how accurate the answer must be.

    share: which share of the limit the release takes, in an account that promises (ε, δ).
    noise: the kind of noise that the request insists on; None for whichever errs less.
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
                else params("give one of {epsilon}, {alpha} and {share}: each sets how large the release is")
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
        """Return the request for the ledger."""
        insisted = {} if self.noise is None else {"noise": self.noise}
        if self.share is not None:
            return {"share": self.share, **insisted}
        size = {"epsilon": self.epsilon} if self.epsilon is not None else {"alpha": self.alpha, "beta": self.beta}
        return size | insisted

    def request(self, prepared: PreparedQuery, requested: Iterable[PreparedQuery]) -> dict[str, Any]:
        """Return the request about one question for the ledger, with the questions that share its ε.

        Questions about other parts of the table, or other windows, do not share it.
        """
        sharing = sorted(
            other.question for other in requested if other is prepared or meet(other.reading, prepared.reading)
        )
        return self.to_dict() | ({"questions": sharing} if len(sharing) > 1 else {})

    def covered_by(self, request: object, questions: Iterable[str]) -> bool:
        """Tell whether an earlier request asked for at least as much of each question as this one about `questions`.

        The questions of a request share its ε: the same ε for these questions or fewer is at least as much for each.
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

        details: the request about one question, and what else belongs to it alone.
        terms:   the circumstances of the release. The ledger stores both.
        """
        if self.cost is None:
            return ()
        shared = {**self.cost.entries, **{name: value for name, value in terms.items() if value is not None}}
        return tuple(
            charge_of(
                prepared,
                self.loss,
                {**details(prepared), **shared, "sensitivity": prepared.sensitivity, "query": prepared.query.to_dict()},
                self.state,
            )
            for prepared in self.fresh
        )


def charge_of(prepared: PreparedQuery, loss: Loss, details: Mapping[str, Any], state: State) -> Charge:
    """Return the charge of a question; it is added to the total of its key, in any form that an older version wrote.

    A question about a window has a key of its own, and so has a loss that is not pure in an account that promises δ.
    """
    key, region = prepared.ledger_key, prepared.region
    own = {"key": key.to_dict()} | ({} if region is None else {"windows": list(region.columns)})
    named = key.fingerprint if region is None else fingerprint(own)
    if state.promise is not None:
        named = named if isinstance(loss, PureLoss) else fingerprint(own | {"loss": "rho"})
        return Charge(prepared.question, named, key.to_dict(), None, details, loss=stored_loss(loss), region=region)
    if not isinstance(loss, PureLoss):
        raise InvalidInputError(f"this account promises epsilon alone, and takes no {loss.kind}")
    for total in state.totals if region is None else ():
        if total.region is None and total.loss is None and LedgerKey.from_text(total.query_text) == key:
            return Charge(prepared.question, total.key, total.query, loss.tau, details, region=region)
    return Charge(prepared.question, named, key.to_dict(), loss.tau, details, region=region)


def stored_loss(loss: Loss) -> dict[str, Any]:
    """Return a loss as the ledger stores it in an account that promises (ε, δ)."""
    if isinstance(loss, PureLoss):
        return {"definition": "pure", "tau": loss.tau, "rho": rho_of(loss.tau)}
    if isinstance(loss, ConcentratedLoss):
        return {"definition": "concentrated", "rho": loss.rho} | ({"delta": loss.delta} if loss.delta else {})
    raise InvalidInputError(f"an account cannot be charged for {loss.kind}")


def charged_loss(charge: Pending) -> Loss | None:
    """Return the loss of a charge that has no answer yet; None if no noise is drawn for this kind of loss.

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


def plan(accountant: AnyAccountant, requested: tuple[PreparedQuery, ...], target: Target, state: State) -> Plan:
    """Decide what to charge, and what was charged before without an answer.

    Raises BudgetError if the budget does not allow it, TooFineError if the grid must be coarser.
    """
    known = {prepared.question: tuple(state.answers(prepared.question)) for prepared in requested}
    begun = tuple(pair for prepared in requested for pair in _begun(prepared, state, target, known))
    waiting = {prepared.question for prepared, _ in begun}
    rest = tuple(prepared for prepared in requested if prepared.question not in waiting)
    if not rest:
        return Plan(state, PureLoss(0.0), (), {}, None, begun=begun)
    return replace(_plan(accountant, rest, target, state, known), begun=begun)


def begun_before(prepared: PreparedQuery, state: State, terms: Mapping[str, Any], *, loss: Loss | None = None) -> Begun:
    """Return the charge of a question that has no answer yet, if it was made in these terms; nothing otherwise.

    terms: entries of its details that must be the same.      loss: what it must have cost, if that matters.
    """
    pending = state.unanswered(prepared.question)
    charged = None if pending is None else charged_loss(pending)
    if (
        pending is None
        or charged is None
        or loss not in (None, charged)
        or not set(COST_ENTRIES) <= set(pending.details)
    ):
        return ()
    same = all(pending.details.get(name) == value for name, value in terms.items())
    return ((prepared, pending),) if same else ()


def _begun(prepared: PreparedQuery, state: State, target: Target, questions: Iterable[str]) -> Begun:
    """Return the charge of a question that asked for at least as much, and whose noise is this question's."""
    if state.unanswered(prepared.question) is None:
        return ()
    same = {"query": prepared.query.to_dict(), "sensitivity": prepared.sensitivity}
    begun = begun_before(prepared, state, same)
    return tuple(pair for pair in begun if target.covered_by(pair[1].details.get("asked"), questions))


def _plan(
    accountant: AnyAccountant,
    requested: tuple[PreparedQuery, ...],
    target: Target,
    state: State,
    known: Mapping[str, tuple[Mapping[str, Any], ...]],
) -> Plan:
    """Decide what to charge for questions that have no charge without an answer."""
    if isinstance(accountant, ApproximateAccountant):
        return _plan_with_delta(accountant, requested, target, state, known)
    if target.share is not None or target.noise == "gaussian":
        what = "Gaussian noise" if target.share is None else "a share of the limit"
        raise InvalidInputError(
            f"this account promises epsilon alone, and {what} needs one that promises a delta, too: it is opened with "
            + in_python("delta=, such as Session(..., epsilon=1, delta=1e-6)", elsewhere="--budget-delta")
        )
    spent, queries = spend_of(state), tuple(prepared.query for prepared in requested)
    regions = tuple(prepared.region for prepared in requested)
    if target.epsilon is not None and not any(known[prepared.question] for prepared in requested):
        cost = accountant.affordable(queries, epsilon=target.epsilon, spent=spent, budget=state.budget, regions=regions)
        return _possible(Plan(state, cost.loss, requested, {}, cost), target.beta)
    if target.epsilon is not None:
        tau = accountant.affordable(queries, epsilon=target.epsilon, spent=spent, budget=_NO_LIMIT, regions=regions).tau
    else:
        tau = max(tau_for(prepared, target) for prepared in requested)
    stored = {
        prepared.question: best
        for prepared in requested
        if (best := _good_enough(known[prepared.question], tau, target, known)) is not None
    }
    fresh = tuple(prepared for prepared in requested if prepared.question not in stored)
    if not fresh:
        return Plan(state, PureLoss(tau), (), stored, None)
    cost = accountant.cost_of(
        tuple(prepared.query for prepared in fresh),
        tau=tau,
        spent=spent,
        budget=state.budget,
        regions=tuple(prepared.region for prepared in fresh),
    )
    return _possible(Plan(state, PureLoss(tau), fresh, stored, cost), target.beta)


def _plan_with_delta(
    accountant: ApproximateAccountant,
    requested: tuple[PreparedQuery, ...],
    target: Target,
    state: State,
    known: Mapping[str, tuple[Mapping[str, Any], ...]],
) -> Plan:
    """Decide what to charge in an account that promises (ε, δ), and with which kind of noise."""
    stored = {
        prepared.question: best
        for prepared in requested
        if (best := _good_enough(known[prepared.question], math.inf, target, known)) is not None
    }
    fresh = tuple(prepared for prepared in requested if prepared.question not in stored)
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
    regions = tuple(prepared.region for prepared in fresh)
    if target.alpha is None:
        return accountant.offers(
            queries,
            epsilon=target.epsilon,
            share=target.share,
            noise=target.noise,
            spent=spent,
            budget=state.budget,
            regions=regions,
        )
    costs, refusals = [], []
    kinds: dict[str, type[Loss]] = {"laplace": PureLoss, "gaussian": ConcentratedLoss}
    for kind in [kind for name, kind in kinds.items() if target.noise in (None, name)]:
        loss = max((loss_for(prepared, target, kind) for prepared in fresh), key=_size)
        try:
            costs.append(accountant.cost_of_loss(queries, loss, spent=spent, budget=state.budget, regions=regions))
        except BudgetError as error:
            refusals.append(error)
    if not costs:
        raise min(refusals, key=lambda error: error.requested)
    return tuple(costs)


def _with_kind(requested: tuple[PreparedQuery, ...], target: Target) -> Target:
    """Return a target that insists on Laplace noise if a question is answered by selections, which cost a τ."""
    selecting = next((prepared for prepared in requested if prepared.query.thresholds), None)
    if selecting is None:
        return target
    if target.noise == "gaussian":
        raise QueryError(f"{selecting.query.description} is answered by selections, which take no Gaussian noise")
    return target if target.noise is not None else replace(target, noise="laplace")


def _error_of(fresh: tuple[PreparedQuery, ...], loss: Loss, beta: float) -> float:
    """Return how large the errors are at a loss: the sum of the logarithms of their bounds."""
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
    """Return the plan if its noise can be drawn and its accuracy stated; otherwise fail here, before the charge."""
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
        answer
        for answer, request in stored
        if (answer.posting.tau or 0.0) >= tau or target.covered_by(request, questions)
    ]
    return max(good, key=lambda answer: answer.posting.tau or 0.0, default=None)


def tau_for(prepared: PreparedQuery, target: Target) -> float:
    """Return the smallest τ whose discrete noise, rounding included, is off by α with probability at most β.

    Raises what `loss_for` raises.
    """
    loss = loss_for(prepared, target, PureLoss)
    assert isinstance(loss, PureLoss)
    return loss.tau


def loss_for(prepared: PreparedQuery, target: Target, kind: type[Loss]) -> Loss:
    """Return the smallest loss of a kind whose discrete noise, rounding included, is off by α except for β.

    Raises InvalidInputError if α is less than what the grid rounds away, or than one whole number.
    """
    assert target.alpha is not None
    if not prepared.foreseeable:
        raise QueryError(
            f"which tau {prepared.query.description} needs for alpha = {target.alpha:g} depends on how many "
            "records have a value, which a preview does not read; ask with " + param("epsilon") + ", or release it"
        )
    if prepared.query.unforeseen:
        _ = prepared.query.sensitivity  # raises: it is not known
    worth, slack = prepared.worth(prepared.records), prepared.rounding(prepared.records)
    units = min(math.floor((Fraction(target.alpha) - slack) / worth), MOST_NOISE)
    if units < 1:
        least = float(worth + slack)
        raise InvalidInputError(
            f"alpha = {target.alpha:g} cannot be reached; the least error this answer can state is {least:g}"
        )
    return prepared.loss_for(units, target.beta, kind)
