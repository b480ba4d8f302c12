"""Noise for a promise of (ε, δ) that most of the posterior of an estimated model keeps (docs/uncertainty.md).

The theorem and the kind of noise are those of the estimate, so that they do not depend on the models drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from bayesdp.calibration.approximate import ApproximateCalibration, everything, noise_option
from bayesdp.calibration.calibrate import drawn_from, epsilon_of_rank, estimated_parts, looking_at, usable, worst_of
from bayesdp.calibration.credibility import Sample, draws_needed
from bayesdp.losses import ConcentratedLoss, PureLoss
from bayesdp.models import Model
from bayesdp.theorems.ask import ask
from bayesdp.theorems.lift import lifted, objection
from bayesdp.theorems.registry import theorem_named
from bayesdp.theorems.spend import Spend
from bayesdp.theorems.theorem import Theorem

__all__ = ["credible_noise", "credible_promise"]


def credible_noise(
    plain: ApproximateCalibration, spent: Spend, credibility: float, draws: int | None
) -> ApproximateCalibration:
    """Lower the loss until the requested share of the posterior keeps the promise, under every model that may hold.

    Raises ModelError if no model was estimated, and CalibrationError if no noise keeps the promise.
    """
    drawn = _drawn(plain, spent, draws_needed(credibility, draws))
    amount = _amount(plain.loss)
    with looking_at(drawn) as done:
        for sample in drawn:
            amount = sample.credible_tau(amount, plain.epsilon, credibility, done)
        worst = worst_of(drawn, amount, credibility, plain.epsilon, done)
    loss = type(plain.loss)(amount)
    spend = everything(spent, plain.query, plain.count, loss)
    parts = tuple(replace(part, spend=spend) for part in plain.leakage.parts)
    leaked = replace(plain.leakage, spend=spend, parts=parts)
    return replace(plain, loss=loss, leakage=leaked, uncertainty=worst, pure=False)


def credible_promise(
    plain: ApproximateCalibration, spent: Spend, credibility: float, draws: int | None
) -> ApproximateCalibration:
    """Raise ε until the requested share of the posterior keeps it with the noise that the accuracy requires."""
    drawn = _drawn(plain, spent, draws_needed(credibility, draws))
    amount = _amount(plain.loss)
    with looking_at(drawn) as done:
        epsilon = epsilon_of_rank(drawn, amount, credibility, plain.epsilon, done)
        worst = worst_of(drawn, amount, credibility, epsilon, done)
    return replace(plain, epsilon=epsilon, uncertainty=worst, pure=False)


def _amount(loss: PureLoss | ConcentratedLoss) -> float:
    return loss.tau if isinstance(loss, PureLoss) else loss.rho


def _drawn(plain: ApproximateCalibration, spent: Spend, number: int) -> list[Sample]:
    """Draw from the posterior of every estimated model, each with the theorem that is best for it."""
    return [
        _sample(theorem_named(part.theorem).quick(plain.epsilon), drawn_from(member, number), plain, spent)
        for member, part in estimated_parts(plain.leakage)
    ]


def _sample(theorem: Theorem, models: Sequence[Model], plain: ApproximateCalibration, spent: Spend) -> Sample:
    """Return models drawn with their ε at the δ of the promise; a model without a bound counts as breaking it."""
    delta, known = plain.delta or None, dict[Model, float]()

    def spend_of(amount: float) -> Spend:
        return everything(spent, plain.query, plain.count, type(plain.loss)(amount))

    def covering(model: Model) -> list[Theorem]:
        found = usable(theorem, lambda candidate: objection(candidate, model, spend_of(1.0)) is None)
        return [] if found is None else [found]

    def leaks(several: Sequence[Model], amount: float) -> list[float]:
        spend = spend_of(amount)
        found = []
        for model in several:
            (replies,) = ask(model, lambda each, drawn: lifted(each, drawn, spend, delta).epsilon, only=covering(model))
            epsilon = min((reply.value for reply in replies if reply.value is not None), default=math.inf)
            # The search for the smallest ε may end just above the promise that an amount was chosen for.
            found.append(min(epsilon, plain.epsilon) if amount <= known.get(model, 0.0) else epsilon)
        return found

    def largest(model: Model) -> float:
        (replies,) = ask(
            model,
            lambda each, drawn: noise_option(
                each, drawn, plain.query, plain.count, plain.epsilon, delta, spent, plain.noise
            ).amount(plain.noise),
            only=covering(model),
        )
        known[model] = max((reply.value or 0.0 for reply in replies), default=0.0)
        return known[model]

    return Sample(theorem, models, leaks, largest)
