"""How a preview is made: from the plan of a release, or from the answer that is stored already."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from bayesdp.losses import PureLoss
from bayesdp.models import Model
from bayesdp.rounding import float_above
from bayesdp.session.accounting import remaining, spend_of
from bayesdp.session.answer import Answer
from bayesdp.session.plan import AnyAccountant, Plan, Target, stored_loss
from bayesdp.session.prepared_query import PreparedQuery
from bayesdp.session.preview import Preview

__all__ = ["preview_of"]


def preview_of(prepared: PreparedQuery, plan: Plan, target: Target, accountant: AnyAccountant) -> Preview:
    """Return what releasing a question of a plan would cost, or what its stored answer is."""
    if plan.cost is None or prepared.question in plan.stored:
        return _stored(plan.stored[prepared.question], plan, target, accountant)
    mechanism, loss, promise = prepared.mechanism(plan.loss), plan.loss, plan.state.promise
    off_by, half = prepared.foreseen(mechanism, target.beta)
    known = prepared.foreseeable
    return Preview(
        query=prepared.query,
        tau=loss.tau if isinstance(loss, PureLoss) else None,
        scale=float_above(Fraction(mechanism.scale) * prepared.worth(prepared.records)) if known else None,
        alpha=off_by if known else None,
        beta=target.beta,
        interval=(-half, half) if known else None,
        epsilon=plan.cost.epsilon,
        epsilon_total=plan.cost.total,
        epsilon_remaining=plan.cost.left,
        theorem=plan.cost.leakage.theorem,
        records=prepared.records if known else None,
        denied=_denied(accountant.model),
        **({} if promise is None else _of_promise(prepared, plan, promise["delta"])),
    )


def _of_promise(prepared: PreparedQuery, plan: Plan, delta: float) -> dict[str, Any]:
    """Return the fields of a preview in an account that promises (ε, δ)."""
    kind = "laplace" if isinstance(plan.loss, PureLoss) else "gaussian"
    return {
        "delta": delta,
        "rho": stored_loss(plan.loss)["rho"],
        "noise_kind": None if prepared.query.thresholds else kind,
        "further_answers": None if plan.cost is None else plan.cost.further,
        "limit_share": None if plan.cost is None else plan.cost.share,
    }


def _stored(answer: Answer, plan: Plan, target: Target, accountant: AnyAccountant) -> Preview:
    total = accountant.leaked(spend_of(plan.state), plan.state.budget)
    half = answer.reach(target.beta)
    return Preview(
        query=answer.query,
        tau=answer.posting.tau,
        scale=answer.scale,
        alpha=answer.accuracy(target.beta),
        beta=target.beta,
        interval=(-half, half),
        epsilon=0.0,
        epsilon_total=total,
        epsilon_remaining=remaining(plan.state.budget, total),
        theorem=answer.theorem,
        records=answer.records,
        stored=True,
        denied=_denied(accountant.model),
        delta=answer.delta,
        rho=answer.rho,
        noise_kind=answer.noise_kind,
    )


def _denied(model: Model) -> bool:
    return model.diagnosis is not None and bool(model.diagnosis.violated)
