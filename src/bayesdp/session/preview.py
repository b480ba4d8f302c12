"""What a release would cost and how accurate it would be, before anything is charged or drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bayesdp._support.display import Displayed, Section, lines, warned
from bayesdp._support.documents import Document
from bayesdp.losses import PureLoss
from bayesdp.models import Model
from bayesdp.queries import Query
from bayesdp.rounding import float_above, shown_above, shown_below, shown_odds, shown_remaining
from bayesdp.session.accounting import remaining, spend_of
from bayesdp.session.answer import Answer
from bayesdp.session.delta_words import large_delta, large_share, number_left
from bayesdp.session.measurement import warnings_about
from bayesdp.session.plan import AnyAccountant, Plan, Target, stored_loss
from bayesdp.session.prepared_query import PreparedQuery

__all__ = ["Preview", "preview_of"]


@dataclass(frozen=True)
class Preview(Displayed, Document):
    """What a release would cost and how accurate it would be; nothing has been charged or drawn.

    alpha:    the answer would be off by α or more with probability at most β; for a quantile, whose accuracy depends on
              the records, the range of its candidates.
    interval: how far the interval of level 1 − β would reach below and above the answer.
    records:  the public number of records.
              All of these, and the scale, are None if they depend on how many records have a value: a preview reads no
              private column.
    stored:   an answer that is as good is stored already, and would be returned at no cost.
    denied:   the model's diagnosis says "violated": a release would need a reason, and would prove nothing.
    delta, rho, noise_kind, further_answers: as in an `Answer`, in an account that promises (ε, δ); tau is None with
              Gaussian noise.
    limit_share: how much of such an account's limit it would take.
    """

    query: Query
    tau: float | None
    scale: float | None
    alpha: float | None
    beta: float
    interval: tuple[float, float] | None
    epsilon: float
    epsilon_total: float
    epsilon_remaining: float
    theorem: str
    records: int | None
    stored: bool = False
    denied: bool = False
    delta: float | None = None
    rho: float | None = None
    noise_kind: str | None = None
    further_answers: int | None = None
    limit_share: float | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings that would stand beside the number."""
        denied = ["The data contradict the model; a release needs a reason, and proves nothing."] if self.denied else []
        if self.tau is not None and (taken := large_share(self.limit_share, PureLoss(self.tau))) is not None:
            denied = [taken, *denied]
        if self.alpha is None or self.records is None:
            return tuple(denied)
        large = large_delta(self.delta, self.records)
        beside = warnings_about(self.query.possible(self.records), self.alpha, self.epsilon_total)
        return (*beside, *([] if large is None else [large]), *denied)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp release --dry-run --json` prints."""
        interval = None if self.interval is None else list(self.interval)
        shown = {name: value for name, value in vars(self).items() if value is not None or name not in _OF_PROMISES}
        return {**shown, "query": self.query.to_dict(), "interval": interval, "warnings": list(self.warnings)}

    def _printed(self) -> Sequence[Section]:
        if self.stored:
            kept = f"{self.query.description}: an answer as good as that is stored; asking for it costs nothing."
            return [lines(kept)]
        left = shown_remaining(self.epsilon_remaining, self.epsilon_total + self.epsilon_remaining)
        sentences = [
            f"A preview of {self.query.description}. Nothing was charged.",
            self._accuracy,
            f"It would cost ε = {shown_above(self.epsilon)} (theorem {self.theorem}), bringing the total to ε = "
            f"{shown_above(self.epsilon_total)}, and leave {left}.",
            f"With that, {shown_odds(self.epsilon_total)}."
            if self.delta is None
            else f"That is the ε used at δ = {shown_above(self.delta)}. {number_left(self.further_answers)}".strip(),
        ]
        return [[*lines(*sentences), *warned(self.warnings)]]

    @property
    def _accuracy(self) -> str:
        tau = f"rho = {shown_above(self.rho or 0.0)}" if self.tau is None else f"tau = {shown_below(self.tau)}"
        kind = "noise" if self.noise_kind is None else f"{self.noise_kind.capitalize()} noise"
        if self.alpha is None or self.scale is None:
            return (
                f"How far it would be off is not known before it is released: that depends on how many records have a "
                f"value, which a preview does not read ({tau})."
            )
        return (
            f"It would be off by less than {shown_above(self.alpha)} in {shown_below(100 * (1 - self.beta))} % of "
            f"cases ({kind} of scale {shown_above(self.scale)}, {tau})."
        )


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


_OF_PROMISES = ("delta", "rho", "noise_kind", "further_answers", "limit_share")


def _denied(model: Model) -> bool:
    return model.diagnosis is not None and bool(model.diagnosis.violated)
