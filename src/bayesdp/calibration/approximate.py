"""The noise for a promise of (ε, δ): Laplace or Gaussian, for one question or for several of its kind at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NoReturn

from bayesdp._support import hooks, validation
from bayesdp._support.display import Displayed, PrintedTable, Section
from bayesdp._support.documents import Document
from bayesdp._support.messages import name_of, param, params
from bayesdp._support.validation import brief
from bayesdp.accuracy import BETA, Gaussian, Laplace, gaussian_scale, laplace_scale, rho_for_accuracy, tau_for_accuracy
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.calibration.credibility import Uncertainty
from bayesdp.calibration.search import stepped_down
from bayesdp.concentrated import largest_rho
from bayesdp.errors import (
    CalibrationError,
    DoesNotApplyError,
    InvalidInputError,
    NoTheoremAppliesError,
    QueryError,
    TooLargeError,
)
from bayesdp.losses import ConcentratedLoss, Loss, Neighbours, PureLoss, checked_neighbours, concentrated
from bayesdp.models import Model
from bayesdp.queries import AnyMechanism, Query
from bayesdp.rounding import down, float_below, shown_above, shown_below
from bayesdp.theorems.approximate import ApproximateLeakage, approximate_report, promised_with_delta
from bayesdp.theorems.ask import Reply, ask
from bayesdp.theorems.leakage import ANY_OF, Assessment, check_queries, combined_leakage
from bayesdp.theorems.lift import allowed_delta, objection
from bayesdp.theorems.spend import Release, Spend, queries_of
from bayesdp.theorems.theorem import Theorem

__all__ = [
    "ApproximateCalibration",
    "NoiseKind",
    "NoiseOption",
    "calibrate_noise",
    "check_neighbours",
    "everything",
    "noise_for_accuracy",
    "noise_option",
    "noise_options",
]

NoiseKind = Literal["laplace", "gaussian"]

_KINDS: tuple[NoiseKind, ...] = ("laplace", "gaussian")

_NAMES: dict[NoiseKind, str] = {"laplace": "Laplace", "gaussian": "Gaussian"}


@dataclass(frozen=True)
class NoiseOption:
    """What one theorem allows for a promise of (ε, δ): the τ of each question with Laplace noise, the ρ with Gaussian.

    pure: whether the τ keeps the promise without a δ.

    Either loss may be None; if both are, `reason` is given.
    """

    theorem: str
    tau: float | None = None
    rho: float | None = None
    pure: bool = False
    reason: str | None = None
    covered: bool = True

    def amount(self, noise: NoiseKind) -> float | None:
        """Return the τ or the ρ of each question with a kind of noise; None if the theorem allows none."""
        return self.tau if noise == "laplace" else self.rho

    def stated_for(self, neighbours: Neighbours) -> NoiseOption:
        """Return this with its losses in terms of some neighbours: half of τ, a quarter of ρ for adding or removing."""
        if neighbours == "replace":
            return self
        tau, rho = (None if loss is None else loss / by for loss, by in ((self.tau, 2), (self.rho, 4)))
        return replace(self, tau=tau, rho=rho)


@dataclass(frozen=True)
class ApproximateCalibration(Displayed, Document):
    """The noise that a promise of (ε, δ) needs: its kind, its scale, and its accuracy.

    query:    the query to release, `count` times on the same records.
    epsilon:  the promise, with delta.
    noise:    "laplace" or "gaussian".
    loss:     the loss of each question: a τ with Laplace noise, a ρ with Gaussian.
    leakage:  the proven leakage of all of them together.
    options:  what every theorem allows, or why it does not apply.
    beta:     the probability with which the error may reach α.
    why:      why this noise was chosen, as a sentence.
    pure:     whether the noise keeps the promise without any δ.
    neighbours: what `tau` and `rho` are about. `loss` is always about replacing a record.
    uncertainty: with credibility=, how often the promise holds under the posterior of the model's parameters.
    """

    query: Query
    epsilon: float
    delta: float
    noise: NoiseKind
    loss: PureLoss | ConcentratedLoss
    leakage: ApproximateLeakage
    options: tuple[NoiseOption, ...]
    count: int = 1
    beta: float = BETA
    why: str = ""
    pure: bool = False
    neighbours: Neighbours = "replace"
    uncertainty: Uncertainty | None = None

    @property
    def tau(self) -> float | None:
        """The τ of each question with Laplace noise; None with Gaussian noise, which has none."""
        return self._stated.tau if isinstance(self._stated, PureLoss) else None

    @property
    def rho(self) -> float | None:
        """The ρ of each question with Gaussian noise; None with Laplace noise."""
        return self._stated.rho if isinstance(self._stated, ConcentratedLoss) else None

    @property
    def _stated(self) -> PureLoss | ConcentratedLoss:
        """The loss in terms of the given neighbours: half of τ and a quarter of ρ for adding or removing a record."""
        if self.neighbours == "replace":
            return self.loss
        return PureLoss(self.loss.tau / 2) if isinstance(self.loss, PureLoss) else ConcentratedLoss(self.loss.rho / 4)

    @property
    def scale(self) -> float:
        """The scale of the noise in units of the answer: Laplace's b, or σ; QueryError for a release made elsewhere."""
        return _law(self.query, self.loss).scale

    @property
    def theorem(self) -> str:
        """The theorem that proves the promise."""
        return self.leakage.theorem

    def accuracy(self, beta: float = BETA, *, simultaneous: bool = True) -> float:
        """Return α: the error of one question reaches it with probability at most β.

        simultaneous: for a histogram, whether that holds for all cells at once or for each cell by itself.
        """
        return _law(self.query, self.loss).alpha(beta, cells=self.query.dimension if simultaneous else 1)

    def _printed(self) -> Sequence[Section]:
        more = ["With this noise the promise holds even with δ = 0."] if self.pure and self.delta else []
        more += [] if self.uncertainty is None else [str(self.uncertainty)]
        return [promised_with_delta(self.leakage, self._release, self.epsilon, self.why, *more)]

    def _shown(self) -> Sequence[Section]:
        return [*self._printed(), [self._table]]

    @property
    def _release(self) -> str:
        several = self.count > 1
        about = "" if self.neighbours == "replace" else " for adding or removing a record"
        cost = f"{self._stated.description}{about}"
        released = f"each of {self.count:,} releases of {self.query.description}" if several else self.query.description
        if self.query.unforeseen:
            return f"{released[:1].upper()}{released[1:]} with {cost}{', all of them together,' if several else ''}"
        drawn = f"{_NAMES[self.noise]} noise of scale {shown_above(self.scale)} ({cost})"
        alpha, share = shown_above(self.accuracy(self.beta)), shown_below(100 * (1 - self.beta))
        combined = ", and their combination" if several else " and"
        return f"{drawn} on {released} is off by less than {alpha} in {share} % of cases{combined}"

    def table(self) -> str:
        """Return what every theorem allows, as a text table."""
        return self._table.text()

    @property
    def _table(self) -> PrintedTable:
        rows, best = [], "best" if self.uncertainty is None else "best for the estimates"
        for option in self.options:
            tau, rho = (None if value is None else shown_below(value) for value in (option.tau, option.rho))
            chosen = option.theorem == self.leakage.headline and option.amount(self.noise) is not None
            rows.append([option.theorem, tau or "–", rho or "–", best if chosen else option.reason or ""])
        if self.uncertainty is not None:
            amounts = ["–" if amount is None else shown_below(amount) for amount in (self.tau, self.rho)]
            rows.append([f"credibility {shown_below(100 * self.uncertainty.credibility)} %", *amounts, "chosen"])
        return PrintedTable(["theorem", "τ (Laplace)", "ρ (Gaussian)", ""], rows)

    def plot(self, path: str | Path) -> Path:
        """Plot the error of both kinds of noise around this promise, and write the picture (.png, .svg or .pdf)."""
        drawn: Path = hooks.call("plot.approximate_calibration", self, path)
        return drawn

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp calibrate --delta --json` prints."""
        return (
            self.leakage.to_dict()
            | {
                "epsilon": self.epsilon,
                "delta": self.delta,
                "noise": self.noise,
                "tau": self.tau,
                "rho": self.rho,
                "neighbours": self.neighbours,
                "scale": None if self.query.unforeseen else self.scale,
                "alpha": None if self.query.unforeseen else self.accuracy(self.beta),
                "beta": self.beta,
                "count": self.count,
                "why": self.why,
                "theorems": [
                    {"theorem": option.theorem, "applies": False, "reason": option.reason}
                    if option.tau is None and option.rho is None
                    else {
                        "theorem": option.theorem,
                        "applies": True,
                        "epsilon": self.epsilon,
                        "tau": option.tau,
                        "rho": option.rho,
                        "alpha": self._alpha_of(option),
                    }
                    for option in self.options
                ],
            }
            | ({} if self.uncertainty is None else {"uncertainty": self.uncertainty.to_dict()})
        )

    def _alpha_of(self, option: NoiseOption) -> float | None:
        """Return the α that a theorem allows with the chosen noise; None if there is none, or it is made elsewhere."""
        loss = _loss_of(option, self.noise)
        if loss is None or self.query.unforeseen:
            return None
        return _law(self.query, loss).alpha(self.beta, cells=self.query.dimension)


def calibrate_noise(
    model: Model,
    query: Query,
    epsilon: float,
    delta: float | None,
    *,
    noise: NoiseKind | None = None,
    count: int = 1,
    beta: float = BETA,
    spent: Spend = (),
    only: Sequence[Theorem] | None = None,
    neighbours: Neighbours = "replace",
) -> ApproximateCalibration:
    """Choose the noise with which `count` questions of one kind, and what is `spent`, keep a promise of (ε, δ).

    delta: the δ of the promise; without one, only Laplace noise keeps a promise.
    noise: "laplace" or "gaussian" if only this kind may be used.
    only:  the theorems to evaluate; by default all that are registered.
    neighbours: the neighbours for which the τ or ρ of a mechanism that runs elsewhere is stated.

    Raises what `calibrate` raises.
    """
    _check(query, noise, delta)
    check_neighbours(query, neighbours)
    rows = _evaluated(model, query, epsilon, delta, noise, count, spent, only)
    every = [[_as_option(reply) for reply in replies] for replies in rows]
    losses = _allowed(every)
    if not losses:
        _refuse(epsilon, delta, rows, every)
    chosen = _least_error(query, losses, beta)
    loss = losses[chosen]
    parts = [
        _leakage(member, everything(spent, query, count, loss), epsilon, delta, replies, options, chosen)
        for member, replies, options in zip(model.members, rows, every, strict=True)
    ]
    return ApproximateCalibration(
        query=query,
        epsilon=epsilon,
        delta=delta or 0.0,
        noise=chosen,
        loss=loss,
        leakage=combined_leakage(model, parts),
        options=_together(every),
        count=count,
        beta=beta,
        why=_why(query, losses, chosen, delta, beta),
        neighbours=neighbours,
        pure=chosen == "laplace" and all(getattr(_largest(options, chosen), "pure", False) for options in every),
    )


def check_neighbours(query: Query, neighbours: object) -> None:
    """Refuse neighbours other than "replace" for noise that is made here."""
    if checked_neighbours(neighbours) != "replace" and not query.unforeseen:
        raise InvalidInputError(
            param("neighbours")
            + " goes with AnyMechanism, whose noise is made elsewhere; the noise here is always for replacing a record"
        )


def noise_options(
    model: Model,
    query: Query,
    epsilon: float,
    delta: float | None,
    *,
    noise: NoiseKind | None = None,
    count: int = 1,
    only: Sequence[Theorem] | None = None,
) -> tuple[NoiseOption, ...]:
    """Return what every theorem allows for a promise of (ε, δ) under all the models that may hold, or why nothing."""
    _check(query, noise, delta)
    rows = _evaluated(model, query, epsilon, delta, noise, count, (), only)
    return _together([[_as_option(reply) for reply in replies] for replies in rows])


def _evaluated(
    model: Model,
    query: Query,
    epsilon: float,
    delta: float | None,
    noise: NoiseKind | None,
    count: int,
    spent: Spend,
    only: Sequence[Theorem] | None,
) -> tuple[tuple[Reply[NoiseOption], ...], ...]:
    """Evaluate every theorem under every model that may hold."""
    check_queries(model, everything(spent, query, count, PureLoss(1.0)))
    return ask(
        model,
        lambda theorem, member: noise_option(theorem, member, query, count, epsilon, delta, spent, noise),
        only=only,
    )


def _allowed(every: Sequence[Sequence[NoiseOption]]) -> dict[NoiseKind, PureLoss | ConcentratedLoss]:
    """Return the loss that the best theorem allows under the worst model, for each kind that all models allow."""
    losses: dict[NoiseKind, PureLoss | ConcentratedLoss] = {}
    for kind in _KINDS:
        best = [loss for options in every if (loss := _loss_of(_largest(options, kind), kind)) is not None]
        if len(best) == len(every):
            losses[kind] = min(best, key=_size)
    return losses


def noise_for_accuracy(
    model: Model,
    query: Query,
    alpha: float,
    delta: float | None,
    *,
    noise: NoiseKind | None = None,
    count: int = 1,
    beta: float = BETA,
    spent: Spend = (),
    only: Sequence[Theorem] | None = None,
) -> ApproximateCalibration:
    """Choose the noise from the accuracy wanted of each question: the kind that proves the smaller ε at this δ."""
    _check(query, noise, delta)
    losses: dict[NoiseKind, PureLoss | ConcentratedLoss] = {}
    if noise != "gaussian":
        losses["laplace"] = PureLoss(tau_for_accuracy(query, alpha, beta))
    if noise != "laplace" and delta is not None:
        losses["gaussian"] = ConcentratedLoss(rho_for_accuracy(query, alpha, beta))
    found = {
        kind: approximate_report(model, everything(spent, query, count, loss), delta, only=only)
        for kind, loss in losses.items()
    }
    chosen = min(found, key=lambda kind: found[kind].epsilon)
    leaked, loss = found[chosen], losses[chosen]
    options = tuple(
        NoiseOption(
            assessment.theorem,
            loss.tau if isinstance(loss, PureLoss) and assessment.applies else None,
            loss.rho if isinstance(loss, ConcentratedLoss) and assessment.applies else None,
            reason=assessment.reason,
        )
        for assessment in leaked.assessments
    )
    why = _leaks_less(found, chosen)
    return ApproximateCalibration(query, leaked.epsilon, leaked.delta, chosen, loss, leaked, options, count, beta, why)


def _why(
    query: Query,
    losses: dict[NoiseKind, PureLoss | ConcentratedLoss],
    chosen: NoiseKind,
    delta: float | None,
    beta: float,
) -> str:
    """Return why this noise was chosen: its error is smaller, or there is no other."""
    if query.unforeseen:
        return "The noise itself is made elsewhere."
    if delta is None:
        return "Gaussian noise would need a δ."
    if len(losses) == 1:
        return f"Only {_NAMES[chosen]} noise was requested, or only it keeps the promise."
    other = next(kind for kind in losses if kind != chosen)
    alpha = _law(query, losses[other]).alpha(beta, cells=query.dimension)
    return (
        f"{_NAMES[chosen]} noise was chosen because its error is smaller: with {_NAMES[other]} noise, the error would "
        f"be below {shown_above(alpha)}."
    )


def _leaks_less(found: dict[NoiseKind, ApproximateLeakage], chosen: NoiseKind) -> str:
    """Return why this noise was chosen for an accuracy: it leaks less, or there is no other."""
    others = [kind for kind in found if kind != chosen]
    if not others:
        return f"Only {_NAMES[chosen]} noise was requested."
    epsilon = shown_above(found[others[0]].epsilon)
    return (
        f"{_NAMES[chosen]} noise was chosen because it leaks less: {_NAMES[others[0]]} noise would leak ε = {epsilon}."
    )


def _check(query: Query, noise: object, delta: float | None) -> None:
    if noise not in (None, "laplace", "gaussian"):
        raise InvalidInputError(name_of("noise") + f' must be "laplace" or "gaussian", not {brief(noise)}')
    if noise == "gaussian" and delta is None:
        raise InvalidInputError(
            "Gaussian noise keeps no promise without a delta: give " + param("delta") + ", such as 1e-6"
        )
    if query.thresholds:
        raise QueryError(
            f"{query.description} is answered by selections that cost a tau, not by noise on numbers; give "
            + params("{epsilon} or {alpha} alone")
        )


def noise_option(
    theorem: Theorem,
    model: Model,
    query: Query,
    count: int,
    epsilon: float,
    delta: float | None,
    spent: Spend,
    noise: NoiseKind | None,
) -> NoiseOption:
    """Return what one theorem allows under one model; DoesNotApplyError if it covers none of it."""
    reasons: list[str] = []

    def tried(compute: Callable[[], float | None]) -> float | None:
        try:
            return compute()
        except DoesNotApplyError as error:
            reasons.append(error.reason)
        except TooLargeError as error:
            reasons.append(str(error))
        return None

    pure = rho = None
    if noise != "gaussian":
        pure = tried(lambda: _pure(theorem, model, query, count, epsilon, spent))
    if delta is not None:
        rho = tried(lambda: _concentrated(theorem, model, query, count, epsilon, delta, spent))
    tau, by_rho = pure, 0.0 if rho is None else _tau_of(rho)
    if noise != "gaussian" and by_rho > (pure or 0.0):
        tau = by_rho
    rho = None if noise == "laplace" else rho
    tries = (noise != "gaussian") + (delta is not None)
    if tau is None and rho is None:
        if len(reasons) == tries:
            raise DoesNotApplyError(theorem.name, reasons[0])
        return NoiseOption(theorem.name, reason="it proves no epsilon that small, at any loss")
    return NoiseOption(theorem.name, tau, rho, pure=tau is not None and tau == pure)


def _pure(theorem: Theorem, model: Model, query: Query, count: int, epsilon: float, spent: Spend) -> float | None:
    """Return the largest τ of each question that keeps ε without a δ; None if none does."""
    if not all(release.pure for release in spent):
        raise DoesNotApplyError(theorem.name, "an earlier release is not pure")
    if not theorem.covers_every_mechanism:
        (one,) = largest_taus(theorem, model, query, [epsilon], spent)
        if one is None or count == 1:
            return one

        def evaluate(taus: Sequence[float]) -> list[float]:
            return theorem.epsilons(model, [everything(spent, query, count, PureLoss(tau)) for tau in taus])

        return stepped_down(float_below(Fraction(one) / count), epsilon, evaluate)
    # Several questions together are one τ-DP mechanism, and the theorem covers all of these.
    total = _total_tau(theorem, model, epsilon, spent)
    return None if total is None else float_below(Fraction(total) / count)


def _concentrated(
    theorem: Theorem, model: Model, query: Query, count: int, epsilon: float, delta: float, spent: Spend
) -> float | None:
    """Return the largest ρ of each question that keeps (ε, δ), by the lift or the theorem's own ρ; None if none."""
    reason = objection(theorem, model, everything(spent, query, count, ConcentratedLoss(1.0)))
    if reason is not None:
        raise DoesNotApplyError(theorem.name, reason)
    found = []
    if theorem.covers_every_mechanism:
        found.append(_by_lift(theorem, model, count, epsilon, delta, spent))
    found.append(_by_own_rho(theorem, model, query, count, epsilon, delta, spent))
    best = max(found)
    return best if best > 0 else None


@lru_cache(maxsize=64)
def _total_tau(theorem: Theorem, model: Model, epsilon: float, spent: Spend) -> float | None:
    """Return the largest τ of everything that is released after `spent`; pure losses and the lift both need it."""
    (tau,) = largest_taus(theorem, model, AnyMechanism(), [epsilon], spent)
    return tau


def _by_lift(theorem: Theorem, model: Model, count: int, epsilon: float, delta: float, spent: Spend) -> float:
    before = concentrated([release.loss for release in spent])
    if before is None:
        return 0.0
    total = Fraction(_largest_total(theorem, model, epsilon, delta, before.delta)) - Fraction(before.rho)
    return max(0.0, float_below(total / count))


def _largest_total(theorem: Theorem, model: Model, epsilon: float, delta: float, lost: float = 0.0) -> float:
    """Return the largest ρ that the lift of one theorem allows, rounded down; 0 if it allows none.

    lost: the δ of the releases beside their ρ.
    """
    tau = _total_tau(theorem, model, epsilon, ())
    if tau is None:
        return 0.0
    proven = theorem.epsilon(model, (Release(AnyMechanism(), tau),))
    allowed = Fraction(allowed_delta(delta, proven, tau)) - Fraction(lost)
    return largest_rho(tau, float_below(allowed)) if allowed > 0 else 0.0


def _by_own_rho(
    theorem: Theorem, model: Model, query: Query, count: int, epsilon: float, delta: float, spent: Spend
) -> float:
    """Return the largest ρ by the theorem's `concentrated`, which is linear in each ρ; 0 if it knows none."""
    known = all(type(release.loss) in (PureLoss, ConcentratedLoss) for release in spent)
    pure = tuple(Release(released, 1.0) for released in queries_of(everything(spent, query, count, PureLoss(1.0))))
    if not known or type(theorem).concentrated is Theorem.concentrated or theorem.objection(model, pure) is not None:
        return 0.0

    def together(rho: float) -> float:
        total = theorem.concentrated(model, everything(spent, query, count, ConcentratedLoss(rho)))
        return math.inf if total is None else total

    limit = largest_rho(epsilon, delta)
    before, unit = together(0.0), together(1.0)
    if not (before < limit and unit > before and math.isfinite(unit)):
        return 0.0
    rho = (limit - before) / (unit - before)
    return stepped_down(rho, limit, lambda rhos: [together(each) for each in rhos]) or 0.0


def _leakage(
    model: Model,
    spend: Spend,
    epsilon: float,
    delta: float | None,
    replies: Sequence[Reply[NoiseOption]],
    options: Sequence[NoiseOption],
    noise: NoiseKind,
) -> ApproximateLeakage:
    """Return the promise under one model, by the theorem that needs least of the chosen noise."""
    best = _largest(options, noise)
    assert best is not None
    theorem = next(reply.theorem for reply in replies if reply.theorem.name == best.theorem)
    queries = queries_of(spend)
    in_tau = noise == "laplace" and best.pure
    return ApproximateLeakage(
        model=model,
        spend=spend,
        epsilon=epsilon,
        theorem=theorem.name,
        scope=theorem.scope(model, queries) if in_tau else theorem.approximate_scope(model, queries),
        unit=model.protects,
        proof=theorem.proof,
        worst_case=None,
        assessments=tuple(
            Assessment(option.theorem, reason=option.reason)
            if _loss_of(option, noise) is None
            else Assessment(option.theorem, epsilon, delta=delta or 0.0)
            for option in options
        ),
        delta=delta or 0.0,
    )


def _refuse(
    epsilon: float,
    delta: float | None,
    rows: Sequence[Sequence[Reply[NoiseOption]]],
    every: Sequence[Sequence[NoiseOption]],
) -> NoReturn:
    """Raise with the reasons under the model that allows the fewest kinds of noise; no kind is allowed by all."""
    stuck = min(range(len(every)), key=lambda place: sum(_largest(every[place], kind) is not None for kind in _KINDS))
    where = f"under model {stuck + 1}, " if len(every) > 1 else ""
    reasons = [
        (f"{where}{option.theorem}", option.reason or "it allows a noise that another model does not")
        for option in every[stuck]
    ]
    if not any(reply.value is not None for reply in rows[stuck]):
        raise NoTheoremAppliesError(reasons)
    listed = "; ".join(f"{name}: {reason}" for name, reason in reasons)
    promise = f"ε = {epsilon:g}" if delta is None else f"ε = {epsilon:g} with δ = {delta:g}"
    raise CalibrationError(f"no theorem reaches {promise} here ({listed})")


def _as_option(reply: Reply[NoiseOption]) -> NoiseOption:
    return NoiseOption(reply.theorem.name, reason=reply.reason, covered=False) if reply.value is None else reply.value


def _together(every: Sequence[Sequence[NoiseOption]]) -> tuple[NoiseOption, ...]:
    """Return what every theorem allows under all models that may hold: the smallest losses, or the first reason.

    With several models, a last row combines the best theorem of each.
    """
    found = []
    for options in zip(*every, strict=True):
        taus, rhos = ([getattr(option, name) for option in options] for name in ("tau", "rho"))
        tau = None if None in taus else min(taus)
        rho = None if None in rhos else min(rhos)
        refused = next((place for place, option in enumerate(options) if option.reason is not None), None)
        reason = None if refused is None else options[refused].reason
        if refused is not None and len(every) > 1:
            reason = f"under model {refused + 1}: {reason}"
        found.append(NoiseOption(options[0].theorem, tau, rho, reason=reason, covered=refused is None))
    return (*found, *([_best_of_each(_allowed(every))] if len(every) > 1 else []))


def _best_of_each(losses: dict[NoiseKind, PureLoss | ConcentratedLoss]) -> NoiseOption:
    """Return what the best theorem of each model allows, as a last row."""
    laplace, gaussian = (losses.get(kind) for kind in _KINDS)
    tau = laplace.tau if isinstance(laplace, PureLoss) else None
    rho = gaussian.rho if isinstance(gaussian, ConcentratedLoss) else None
    return NoiseOption(ANY_OF, tau, rho, reason=None if losses else "no noise keeps the promise under every model")


def _largest(options: Sequence[NoiseOption], noise: NoiseKind) -> NoiseOption | None:
    """Return the option that allows least noise of a kind; None if none does."""
    usable = [option for option in options if _loss_of(option, noise) is not None]
    return max(usable, key=lambda option: _size(_loss_of(option, noise)), default=None)


def _loss_of(option: NoiseOption | None, noise: NoiseKind) -> PureLoss | ConcentratedLoss | None:
    amount = None if option is None else option.amount(noise)
    if amount is None:
        return None
    return PureLoss(amount) if noise == "laplace" else ConcentratedLoss(amount)


def _size(loss: Loss | None) -> float:
    return loss.tau if isinstance(loss, PureLoss) else loss.rho if isinstance(loss, ConcentratedLoss) else 0.0


def _least_error(query: Query, losses: dict[NoiseKind, PureLoss | ConcentratedLoss], beta: float) -> NoiseKind:
    """Return the noise with the smaller error at β; for a release made elsewhere Gaussian: most mechanisms have a ρ."""
    if len(losses) == 1:
        return next(iter(losses))
    if query.unforeseen:
        return "gaussian"
    return min(losses, key=lambda kind: _law(query, losses[kind]).alpha(beta, cells=query.dimension))


def _law(query: Query, loss: Loss) -> Laplace | Gaussian:
    """Return the law of the noise in units of the answer."""
    if isinstance(loss, PureLoss):
        return Laplace(laplace_scale(query, loss.tau))
    assert isinstance(loss, ConcentratedLoss)
    return Gaussian(gaussian_scale(query, loss.rho))


def _tau_of(rho: float) -> float:
    """Return the largest float τ with τ²/2 ≤ ρ: what Laplace noise may cost."""
    tau = math.sqrt(2 * rho)
    while Fraction(tau) ** 2 / 2 > Fraction(rho):
        tau = down(tau)
    return tau


def everything(spent: Spend, query: Query, count: int, loss: Loss) -> Spend:
    """Return what is spent before, and `count` releases of a query with a loss each."""
    return (*spent, *(Release(query, loss) for _ in range(validation.natural("count", count))))
