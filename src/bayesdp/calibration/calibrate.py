"""From ε to τ: the largest τ that any applicable theorem allows for a promised ε, rounded towards privacy.

The search (`search`) is generic: it only requires that a theorem's ε never falls as τ rises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast, overload

from bayesdp._support import hooks, validation
from bayesdp._support.display import Displayed, PrintedTable, Section
from bayesdp._support.documents import Document
from bayesdp._support.messages import params
from bayesdp._support.progress import progress_bar
from bayesdp._support.validation import brief
from bayesdp.accuracy import BETA, Laplace, laplace_scale, tau_for_accuracy
from bayesdp.calibration.credibility import Sample, Uncertainty, chosen_rank, draws_needed, posterior, summary
from bayesdp.calibration.search import SMALLEST_SHARE, searched, stepped_down
from bayesdp.errors import CalibrationError, DoesNotApplyError, InvalidInputError, NoTheoremAppliesError
from bayesdp.losses import Neighbours
from bayesdp.models import Model
from bayesdp.queries import Query
from bayesdp.rounding import shown_above, shown_below
from bayesdp.theorems.ask import ApplicableTheorems, Reply, ask
from bayesdp.theorems.leakage import ANY_OF, Leakage, check_queries, promised, report
from bayesdp.theorems.registry import theorem_named, theorems
from bayesdp.theorems.spend import Released, Spend, as_spend, spend_with
from bayesdp.theorems.theorem import Theorem

if TYPE_CHECKING:
    from bayesdp.calibration.approximate import ApproximateCalibration, NoiseKind

__all__ = [
    "Calibration",
    "Option",
    "calibrate",
    "credible_epsilon",
    "credible_tau",
    "drawn_from",
    "epsilon_of_rank",
    "estimated_parts",
    "largest_tau",
    "largest_taus",
    "looking_at",
    "options",
    "usable",
    "worst_of",
]

_NEXT_TO_NOTHING = 1.001
"""A faster theorem within this factor of the best is preferred when hundreds of models are evaluated."""

Leaked = TypeVar("Leaked", bound=Leakage)

_ANY_TAU = 1.0
"""Any τ will do to check hypotheses, which depend on the kinds of losses only."""


@dataclass(frozen=True)
class Option:
    """What one theorem allows: the largest τ for the promised ε and its α, or the reason why there is none.

    covered: whether the theorem's hypotheses hold; it may still not reach so small an ε.
    """

    theorem: str
    epsilon: float
    tau: float | None = None
    alpha: float | None = None
    reason: str | None = None
    covered: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of one theorem in `bayesdp calibrate --json`."""
        if self.tau is None:
            return {"theorem": self.theorem, "applies": False, "reason": self.reason}
        return {"theorem": self.theorem, "applies": True, "epsilon": self.epsilon, "tau": self.tau, "alpha": self.alpha}


@dataclass(frozen=True)
class Calibration(Displayed, Document):
    """The noise that a promise needs: `tau`, the Laplace `scale`, and the accuracy.

    query:       the query to release.
    epsilon:     the promise.
    leakage:     the proven leakage at the chosen τ, at most epsilon.
    options:     what every theorem allows, or why it does not apply.
    beta:        the probability with which the error may reach α, unless `accuracy` is called with another.
    uncertainty: with credibility=, how often the promise holds under the posterior of the model's parameters.
    """

    query: Query
    epsilon: float
    tau: float
    leakage: Leakage
    options: tuple[Option, ...]
    beta: float = BETA
    uncertainty: Uncertainty | None = None

    @property
    def scale(self) -> float:
        """The Laplace scale that makes the answer τ-DP; QueryError for a release made elsewhere."""
        return laplace_scale(self.query, self.tau)

    @property
    def theorem(self) -> str:
        """The theorem that proves the promise."""
        return self.leakage.theorem

    def accuracy(self, beta: float = BETA, *, simultaneous: bool = True) -> float:
        """Return α: the error reaches it with probability at most β.

        simultaneous: for a histogram, whether that holds for all cells at once or only for each cell on its own.
        """
        return Laplace(self.scale).alpha(beta, cells=self.query.dimension if simultaneous else 1)

    def _printed(self) -> Sequence[Section]:
        uncertain = [] if self.uncertainty is None else [str(self.uncertainty)]
        return [promised(self.leakage, self._release, self.epsilon, *uncertain)]

    def _shown(self) -> Sequence[Section]:
        return [*self._printed(), [self._table]]

    @property
    def _release(self) -> str:
        """The release with its noise and accuracy, if known, as the subject of "leaks"."""
        tau, description = f"tau = {shown_below(self.tau)}", self.query.description
        if self.query.unforeseen:
            return f"{description[:1].upper()}{description[1:]} with {tau}"
        return (
            f"Laplace noise of scale {shown_above(self.scale)} ({tau}) on {description} is off by less than "
            f"{shown_above(self.accuracy(self.beta))} in {shown_below(100 * (1 - self.beta))} % of cases and"
        )

    @property
    def _accuracy(self) -> float | None:
        """The accuracy at `beta`; None for a release made elsewhere, whose noise is unknown."""
        return _alpha(self.query, self.tau, self.beta)

    def table(self) -> str:
        """Return what every theorem allows, as a text table.

        With credibility=, the rows are for the estimated parameters, and a last row shows what was chosen.
        """
        return self._table.text()

    @property
    def _table(self) -> PrintedTable:
        best = "best" if self.uncertainty is None else "best for the estimates"
        rows = [[*row_of(option), best if option == self._best else option.reason or ""] for option in self.options]
        if self.uncertainty is not None:
            credibility = f"credibility {shown_below(100 * self.uncertainty.credibility)} %"
            chosen = Option(credibility, self.epsilon, self.tau, self._accuracy)
            rows.append([*row_of(chosen), "chosen"])
        return PrintedTable(["theorem", "ε", "τ", f"α (β = {self.beta:g})", ""], rows)

    def plot(self, path: str | Path) -> Path:
        """Plot what every theorem allows around this promise, and write the picture (.png, .svg or .pdf)."""
        drawn: Path = hooks.call("plot.calibration", self, path)
        return drawn

    @property
    def _best(self) -> Option:
        """The option that would be chosen for the estimated parameters."""
        proven = [option for option in self.options if option.tau is not None]
        named = [option for option in proven if option.theorem == self.leakage.headline]
        if named and (self.uncertainty is None or self.leakage.parts):
            return named[0]
        return max(proven, key=lambda option: (option.tau or 0.0, -option.epsilon))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp calibrate --json` prints.

        "theorems" is about the estimated parameters; with credibility=, "uncertainty" has the τ chosen.
        """
        return (
            self.leakage.to_dict()
            | {
                "epsilon": self.epsilon,
                "epsilon_proven": self.leakage.epsilon,
                "tau": self.tau,
                "tau_total": self.leakage.tau,
                "scale": None if self.query.unforeseen else self.scale,
                "alpha": self._accuracy,
                "beta": self.beta,
                "theorems": [option.to_dict() for option in self.options],
            }
            | ({} if self.uncertainty is None else {"uncertainty": self._uncertain(self.uncertainty)})
        )

    def _uncertain(self, uncertainty: Uncertainty) -> dict[str, Any]:
        chosen = {"epsilon": self.epsilon, "tau": self.tau, "alpha": self._accuracy}
        return uncertainty.to_dict() | {"chosen": chosen, "best_for_the_estimates": self._best.to_dict()}


def row_of(option: Option) -> list[str]:
    """Return the theorem, ε, τ and α of an option as texts for a table."""
    if option.tau is None:
        return [option.theorem, shown_above(option.epsilon) if option.covered else "–", "–", "–"]
    alpha = "–" if option.alpha is None else shown_above(option.alpha)
    return [option.theorem, shown_above(option.epsilon), shown_below(option.tau), alpha]


@overload
def calibrate(
    model: Model,
    query: Query,
    *,
    epsilon: float,
    alpha: None = None,
    theorem: str | None = None,
    beta: float = BETA,
    spent: Iterable[Released] = (),
    credibility: float | None = None,
    draws: int | None = None,
) -> Calibration: ...


@overload
def calibrate(
    model: Model,
    query: Query,
    *,
    epsilon: Sequence[float],
    alpha: None = None,
    theorem: str | None = None,
    beta: float = BETA,
    spent: Iterable[Released] = (),
    credibility: float | None = None,
    draws: int | None = None,
) -> tuple[Calibration, ...]: ...


@overload
def calibrate(
    model: Model,
    query: Query,
    *,
    epsilon: None = None,
    alpha: float,
    theorem: str | None = None,
    beta: float = BETA,
    spent: Iterable[Released] = (),
    credibility: float | None = None,
    draws: int | None = None,
) -> Calibration: ...


@overload
def calibrate(
    model: Model,
    query: Query,
    *,
    epsilon: float | None = None,
    alpha: float | None = None,
    delta: float,
    noise: NoiseKind | None = None,
    count: int = 1,
    neighbours: Neighbours | None = None,
    theorem: str | None = None,
    beta: float = BETA,
    spent: Iterable[Released] = (),
    credibility: float | None = None,
    draws: int | None = None,
) -> ApproximateCalibration: ...


@overload
def calibrate(
    model: Model,
    query: Query,
    *,
    epsilon: Sequence[float],
    delta: float,
    noise: NoiseKind | None = None,
    count: int = 1,
    neighbours: Neighbours | None = None,
    theorem: str | None = None,
    beta: float = BETA,
    spent: Iterable[Released] = (),
    credibility: float | None = None,
    draws: int | None = None,
) -> tuple[ApproximateCalibration, ...]: ...


@overload
def calibrate(
    model: Model,
    query: Query,
    *,
    epsilon: float,
    count: int,
    noise: NoiseKind | None = None,
    neighbours: Neighbours | None = None,
    theorem: str | None = None,
    beta: float = BETA,
    spent: Iterable[Released] = (),
    credibility: float | None = None,
    draws: int | None = None,
) -> ApproximateCalibration: ...


def calibrate(
    model: Model,
    query: Query,
    *,
    epsilon: float | Sequence[float] | None = None,
    alpha: float | None = None,
    delta: float | None = None,
    noise: NoiseKind | None = None,
    count: int = 1,
    neighbours: Neighbours | None = None,
    theorem: str | None = None,
    beta: float = BETA,
    spent: Iterable[Released] = (),
    credibility: float | None = None,
    draws: int | None = None,
) -> Calibration | ApproximateCalibration | tuple[Calibration, ...] | tuple[ApproximateCalibration, ...]:
    """Choose the noise for a promise (`epsilon`, one or several) or for an accuracy (`alpha`, at `beta`).

    delta:       the δ of a promise of (ε, δ). Of Laplace and Gaussian noise, the one with the smaller error is chosen.
    noise:       "laplace" or "gaussian" if only this kind may be used; Gaussian noise needs a δ.
    count:       the number of questions of this kind on the same records that share the promise.
    neighbours:  for AnyMechanism: "add-remove" states the mechanism's τ or ρ as most libraries do.
    theorem:     the name of the only theorem to use.
    spent:       earlier releases on the same data; the promise is then for everything together.
    credibility: the share of the posterior of the model's parameters that must keep the promise
                 (docs/uncertainty.md). The model must have been estimated (fit, from_counts, from_moments); under
                 AnyOf, this applies to each model that was.
    draws:       the number of models to draw for that: by default 200, or as many as the credibility needs.

    Returns a Calibration, or a tuple of them for several ε; an ApproximateCalibration with delta, noise or a count.
    Raises InvalidInputError for invalid values, QueryError for a query that the model does not describe,
    NoTheoremAppliesError if nothing is proven for the model, and CalibrationError if theorems apply but none reaches ε.

    >>> from bayesdp import ArbitraryGroups, Sum
    >>> promise = calibrate(ArbitraryGroups(4), Sum("kWh", bounds=(0, 10)), epsilon=2.0)
    >>> promise.tau, promise.scale
    (0.5, 20.0)
    >>> many = calibrate(ArbitraryGroups(4), Sum("kWh", bounds=(0, 10)), epsilon=2.0, delta=1e-6, count=100)
    >>> many.noise, round(many.scale), round(many.leakage.delta * 1e6)
    ('gaussian', 953, 1)
    """
    if (epsilon is None) == (alpha is None):
        raise InvalidInputError(params("give either {epsilon} (the promise) or {alpha} (the accuracy wanted)"))
    beta = validation.probability("beta", beta)
    before = as_spend(spent, allow_nothing=True)
    if not isinstance(query, Query):
        raise InvalidInputError(f"expected a query such as Count(...), not {brief(query)}")
    if credibility is None and draws is not None:
        raise InvalidInputError(params("{draws} goes with {credibility}; without it no models are drawn"))
    count = validation.natural("count", count)
    only = None if theorem is None else [theorem_named(theorem)]
    if credibility is not None and only is not None:
        raise InvalidInputError(params("{credibility} goes without {theorem}: the best for the estimate is used"))
    if delta is not None or noise is not None or neighbours is not None or count > 1:
        credible = None if credibility is None else (credibility, draws)
        return _approximate(model, query, epsilon, alpha, delta, noise, count, neighbours, beta, before, only, credible)
    if alpha is not None:
        tau = tau_for_accuracy(query, alpha, beta)
        leaked = report(model, spend_with(before, [query], tau), only=only)
        every = _options_at(query, leaked, beta)
        plain = Calibration(query, leaked.epsilon, tau, leaked, every, beta)
        return plain if credibility is None else _credible_epsilon(plain, before, credibility, draws)
    several = isinstance(epsilon, Iterable) and not isinstance(epsilon, str)
    targets = validation.positives("epsilon", epsilon if several else [epsilon])
    calibrations = tuple(
        _choose(model, query, target, choices, beta, before, only)
        for target, choices in zip(
            targets, options(model, query, targets, beta=beta, spent=before, only=only), strict=True
        )
    )
    if credibility is not None:
        calibrations = tuple(_credible_tau(plain, before, credibility, draws) for plain in calibrations)
    return calibrations if several else calibrations[0]


def _approximate(
    model: Model,
    query: Query,
    epsilon: float | Sequence[float] | None,
    alpha: float | None,
    delta: float | None,
    noise: NoiseKind | None,
    count: int,
    neighbours: Neighbours | None,
    beta: float,
    spent: Spend,
    only: Sequence[Theorem] | None,
    credible: tuple[float, int | None] | None,
) -> ApproximateCalibration | tuple[ApproximateCalibration, ...]:
    """Choose the noise for (ε, δ), or for several questions at once; `credible`: a credibility, and draws for it."""
    from bayesdp.calibration.approximate import calibrate_noise, noise_for_accuracy
    from bayesdp.calibration.approximate_credibility import credible_noise, credible_promise

    if delta is not None:
        delta = validation.probability("delta", delta)
    if alpha is not None:
        if neighbours is not None:
            raise InvalidInputError(
                params("{neighbours} goes with {epsilon}: the accuracy of noise made elsewhere is unknown")
            )
        plain = noise_for_accuracy(
            model, query, alpha, delta, noise=noise, count=count, beta=beta, spent=spent, only=only
        )
        return plain if credible is None else credible_promise(plain, spent, *credible)
    several = isinstance(epsilon, Iterable) and not isinstance(epsilon, str)
    chosen = tuple(
        calibrate_noise(
            model,
            query,
            target,
            delta,
            noise=noise,
            count=count,
            beta=beta,
            spent=spent,
            only=only,
            neighbours=neighbours or "replace",
        )
        for target in validation.positives("epsilon", epsilon if several else [epsilon])
    )
    if credible is not None:
        chosen = tuple(credible_noise(plain, spent, *credible) for plain in chosen)
    return chosen if several else chosen[0]


def options(
    model: Model,
    query: Query,
    epsilons: Sequence[float],
    *,
    beta: float = BETA,
    spent: Spend = (),
    composing: bool = False,
    only: Sequence[Theorem] | None = None,
) -> list[list[list[Option]]]:
    """Return for each ε, for each model that may hold, what every theorem allows.

    composing, only: as in `ApplicableTheorems.about`.
    """
    spend = spend_with(spent, [query], _ANY_TAU)
    check_queries(model, spend)
    panel = ApplicableTheorems.about(model, spend, composing=composing, only=only)
    rows = panel.ask(lambda theorem, member: _largest_taus(theorem, member, (query,), epsilons, spent))
    by_member = [
        [_options(reply, member, query, epsilons, beta, spent) for reply in replies]
        for member, replies in zip(panel.members, rows, strict=True)
    ]
    return [
        [[of_theorem[index] for of_theorem in of_member] for of_member in by_member] for index in range(len(epsilons))
    ]


def combined(choices: Sequence[Sequence[Option]]) -> tuple[Option, ...]:
    """Return what every theorem allows under all the models that may hold: the smallest τ, or the first reason.

    With several models, a last row combines the best theorem of each.
    """
    if len(choices) == 1:
        return tuple(choices[0])
    together = []
    for by_model in zip(*choices, strict=True):
        refused = next((index for index, option in enumerate(by_model) if option.tau is None), None)
        if refused is None:
            together.append(min(by_model, key=lambda option: option.tau or 0.0))
        else:
            first = by_model[refused]
            together.append(replace(first, reason=f"under model {refused + 1}: {first.reason}"))
    best = [max(by_theorem, key=lambda option: option.tau or 0.0) for by_theorem in choices]
    stuck = next((index for index, option in enumerate(best) if option.tau is None), None)
    if stuck is None:
        together.append(replace(min(best, key=lambda option: option.tau or 0.0), theorem=ANY_OF))
    else:
        covered = all(any(option.covered for option in by_theorem) for by_theorem in choices)
        reason = f"nothing is proven under model {stuck + 1}"
        together.append(Option(ANY_OF, best[stuck].epsilon, reason=reason, covered=covered))
    return tuple(together)


def largest_taus(
    theorem: Theorem, model: Model, query: Query | tuple[Query, ...], epsilons: Sequence[float], spent: Spend = ()
) -> list[float | None]:
    """Return for each ε the largest τ at which the theorem proves at most ε for `spent` and `query` together.

    Several queries are each released with that τ. The result is None where even the smallest τ leaks more. Every τ
    returned was evaluated: its ε is at most the target. Raises DoesNotApplyError if the theorem does not apply.

    >>> from bayesdp import ArbitraryGroups, Count, theorems
    >>> general = next(theorem for theorem in theorems() if theorem.name == "general")
    >>> largest_taus(general, ArbitraryGroups(4), Count(equals=1), [1.0, 2.0])
    [0.25, 0.5]
    """
    queries = (query,) if isinstance(query, Query) else query
    reason = theorem.objection(model, spend_with(spent, queries, _ANY_TAU))
    if reason is not None:
        raise DoesNotApplyError(theorem.name, reason)
    return _largest_taus(theorem, model, queries, epsilons, spent)


def _largest_taus(
    theorem: Theorem, model: Model, queries: tuple[Query, ...], epsilons: Sequence[float], spent: Spend
) -> list[float | None]:
    """Return the τ's of `largest_taus` for a theorem without an objection; each evaluation checks that again."""

    def evaluate(taus: Sequence[float]) -> list[float]:
        return theorem.epsilons(model, [spend_with(spent, queries, tau) for tau in taus])

    largest: dict[float, float | None] = {}
    for epsilon in set(epsilons):
        formula = theorem.closed_form(model, queries[0], epsilon, spent) if len(queries) == 1 else None
        if formula is not None and formula <= 0:
            largest[epsilon] = None
        elif formula is not None and (tau := stepped_down(formula, epsilon, evaluate)) is not None:
            largest[epsilon] = tau
    left = sorted(set(epsilons) - set(largest))
    if left:
        first = [tau for epsilon in left for tau in theorem.starts(model, queries[0], epsilon, spent) if tau > 0]
        starts = [tau / len(queries) for tau in first]
        tolerance = theorem.tolerance_for(model)
        largest.update(zip(left, searched(evaluate, left, starts, tolerance, theorem.vectorised), strict=True))
    return [largest[epsilon] for epsilon in epsilons]


def largest_tau(panel: ApplicableTheorems, queries: tuple[Query, ...], epsilon: float, spent: Spend) -> float:
    """Return the largest τ of each query at which theorems prove at most ε for them and `spent`; 0 if there is none.

    The result is the minimum over the models that may hold of the best theorem's τ. Raises NoTheoremAppliesError if
    nothing is proven under one of them.
    """
    reached: dict[int, float] = {}

    def larger(theorem: Theorem, member: Model) -> float:
        """Return the largest τ of a theorem, or 0 if it is smaller than another theorem's: ε is exceeded at that τ."""
        least = reached.get(id(member), 0.0)
        if least > 0 and theorem.epsilon(member, spend_with(spent, queries, least)) > epsilon:
            return 0.0
        (tau,) = _largest_taus(theorem, member, queries, [epsilon], spent)
        reached[id(member)] = max(least, tau or 0.0)
        return tau or 0.0

    return min(_largest(replies) for replies in panel.ask(larger))


def _largest(replies: Sequence[Reply[float]]) -> float:
    """Return the largest τ that any theorem allows under one model; 0 if there is none."""
    allowed = [reply.value for reply in replies if reply.value is not None]
    if not allowed:
        raise NoTheoremAppliesError((reply.theorem.name, reply.reason or "") for reply in replies)
    return max(allowed)


def _options(
    reply: Reply[list[float | None]], model: Model, query: Query, epsilons: Sequence[float], beta: float, spent: Spend
) -> list[Option]:
    """Return what one theorem allows at each ε under one model."""
    theorem = reply.theorem
    if reply.value is None:
        return [Option(theorem.name, epsilon, reason=reply.reason, covered=False) for epsilon in epsilons]
    return [
        Option(theorem.name, epsilon, reason=_out_of_reach(theorem, model, query, epsilon, spent))
        if tau is None
        else Option(theorem.name, epsilon, tau, _alpha(query, tau, beta))
        for epsilon, tau in zip(epsilons, reply.value, strict=True)
    ]


def _out_of_reach(theorem: Theorem, model: Model, query: Query, epsilon: float, spent: Spend) -> str:
    if spent and theorem.objection(model, spent) is None:
        before = theorem.epsilon(model, spent)
        if before >= epsilon:
            return f"earlier releases leak {shown_above(before)}, which leaves nothing of ε = {epsilon:g}"
    tiny = max(SMALLEST_SHARE * epsilon, math.ulp(0.0))
    least = theorem.epsilon(model, spend_with(spent, [query], tiny))
    return f"it does not reach ε = {epsilon:g}: it proves no ε below {shown_above(least)}, at any amount of noise"


def _alpha(query: Query, tau: float, beta: float) -> float | None:
    if query.unforeseen:
        return None
    return Laplace(laplace_scale(query, tau)).alpha(beta, cells=query.dimension)


def _choose(
    model: Model,
    query: Query,
    epsilon: float,
    choices: Sequence[Sequence[Option]],
    beta: float,
    spent: Spend,
    only: Sequence[Theorem] | None,
) -> Calibration:
    """Choose the largest τ that some theorem allows, and the smallest of these over the models that may hold."""
    every = combined(choices)
    taus = [
        max((option.tau for option in by_theorem if option.tau is not None), default=None) for by_theorem in choices
    ]
    chosen = [tau for tau in taus if tau is not None]
    if len(chosen) < len(taus):
        _refuse(epsilon, choices)
    tau = min(chosen)
    leaked = report(model, spend_with(spent, [query], tau), only=only)
    return Calibration(query, epsilon, tau, leaked, every, beta)


def _credible_tau(plain: Calibration, spent: Spend, credibility: float, draws: int | None) -> Calibration:
    """Lower τ until the requested share of the posterior keeps the promise, under every model that may hold."""
    drawn = _drawn(plain.leakage, (plain.query,), plain.epsilon, spent, draws_needed(credibility, draws))
    tau = plain.tau
    with looking_at(drawn) as done:
        for sample in drawn:
            tau = sample.credible_tau(tau, plain.epsilon, credibility, done)
        leaked = report(plain.leakage.model, spend_with(spent, [plain.query], tau))
        worst = worst_of(drawn, tau, credibility, plain.epsilon, done)
    return replace(plain, tau=tau, leakage=leaked, uncertainty=worst)


def _credible_epsilon(plain: Calibration, spent: Spend, credibility: float, draws: int | None) -> Calibration:
    """Raise ε until the requested share of the posterior keeps it at the τ that the accuracy requires."""
    drawn = _drawn(plain.leakage, (plain.query,), plain.epsilon, spent, draws_needed(credibility, draws))
    with looking_at(drawn) as done:
        epsilon = epsilon_of_rank(drawn, plain.tau, credibility, plain.epsilon, done)
        worst = worst_of(drawn, plain.tau, credibility, epsilon, done)
    return replace(plain, epsilon=epsilon, uncertainty=worst)


def credible_epsilon(leaked: Leakage, credibility: float) -> float:
    """Return an ε that the requested share of the posterior keeps for a spend, at least that of the estimate.

    The models drawn depend only on the estimated model and the credibility, so that all spends use the same ones.
    Raises ModelError if no model was estimated.
    """
    *spent, last = leaked.spend
    drawn = _drawn(leaked, (last.query,), leaked.epsilon, tuple(spent), draws_needed(credibility, None))
    with looking_at(drawn) as done:
        return epsilon_of_rank(drawn, last.tau, credibility, leaked.epsilon, done)


def credible_tau(
    leaked: Leakage, queries: tuple[Query, ...], most: float, epsilon: float, spent: Spend, credibility: float
) -> float:
    """Return the largest τ of each query, at most `most`, at which enough of the posterior leaks at most ε.

    leaked: the leakage under the estimated model with τ = `most`; its theorem evaluates the models drawn.

    Raises CalibrationError if no τ is small enough.
    """
    drawn = _drawn(leaked, queries, epsilon, spent, draws_needed(credibility, None))
    with looking_at(drawn) as done:
        for sample in drawn:
            most = sample.credible_tau(most, epsilon, credibility, done)
    return most


def epsilon_of_rank(
    drawn: Sequence[Sample], tau: float, credibility: float, least: float, done: Callable[[int], None]
) -> float:
    """Return the smallest ε, at least `least`, that enough of the models drawn keep at τ for the credibility."""
    epsilon = least
    for sample in drawn:
        ascending = sorted(sample.leakages(tau, done))
        epsilon = max(epsilon, ascending[-chosen_rank(credibility, len(ascending))])
    return epsilon


def looking_at(drawn: Sequence[Sample]) -> AbstractContextManager[Callable[[int], None]]:
    """Show a progress bar while the models drawn are evaluated."""
    return progress_bar(Sample.PASSES * sum(len(sample.models) for sample in drawn), "looking at the models drawn")


def _drawn(leaked: Leakage, queries: tuple[Query, ...], epsilon: float, spent: Spend, number: int) -> list[Sample]:
    """Draw from the posterior of every estimated model, each with the theorem that is best for it."""
    return [
        _sample(_quick(part), drawn_from(member, number), queries, epsilon, spent)
        for member, part in estimated_parts(leaked)
    ]


def estimated_parts(leaked: Leaked) -> list[tuple[Model, Leaked]]:
    """Return the models that were estimated, or the first if none was, each with the leakage under it."""
    members, parts = leaked.model.members, leaked.parts or (leaked,)
    every = [(member, cast("Leaked", part)) for member, part in zip(members, parts, strict=True)]
    return [pair for pair in every if pair[0].estimated] or every[:1]


@lru_cache(maxsize=8)
def drawn_from(model: Model, draws: int) -> Sequence[Model]:
    """Return models drawn from the posterior of one, always the same; ModelError if it was not estimated."""
    return tuple(posterior(model, draws))


def _sample(
    theorem: Theorem, models: Sequence[Model], queries: tuple[Query, ...], epsilon: float, spent: Spend
) -> Sample:
    """Return models drawn with their leakages by a theorem; a model without a bound counts as breaking the promise."""
    everything = spend_with(spent, queries, _ANY_TAU)

    def covering(model: Model) -> Theorem | None:
        return usable(theorem, lambda candidate: candidate.objection(model, everything) is None)

    def leaks(several: Sequence[Model], tau: float) -> list[float]:
        spend = spend_with(spent, queries, tau)
        candidates = [covering(model) for model in several]
        together = [theorem] if all(candidate is theorem for candidate in candidates) else []
        (replies,) = ask(several[0], lambda candidate, _: candidate.epsilons_under(several, spend), only=together)
        if replies and replies[0].value is not None:
            return replies[0].value
        return [_leakage(candidate, model, spend) for candidate, model in zip(candidates, several, strict=True)]

    def largest(model: Model) -> float:
        candidate = covering(model)
        only = () if candidate is None else (candidate,)
        (replies,) = ask(
            model, lambda candidate, drawn: largest_taus(candidate, drawn, queries, [epsilon], spent), only=only
        )
        return max((reply.value[0] or 0.0 for reply in replies if reply.value is not None), default=0.0)

    return Sample(theorem, models, leaks, largest)


def _quick(leaked: Leakage) -> Theorem:
    """Return the theorem for all models drawn: the best for the estimate, or a fast one that is nearly as good.

    The choice depends on the estimate only, not on the draws.
    """
    proven = [
        assessment
        for assessment in leaked.assessments
        if assessment.epsilon is not None and assessment.theorem != ANY_OF
    ]
    close = [assessment for assessment in proven if (assessment.epsilon or 0.0) <= leaked.epsilon * _NEXT_TO_NOTHING]
    chosen = min(close, key=lambda assessment: (not theorem_named(assessment.theorem).composes, assessment.epsilon))
    return theorem_named(chosen.theorem).quick(leaked.epsilon)


def usable(theorem: Theorem, covers: Callable[[Theorem], bool]) -> Theorem | None:
    """Return the theorem if it covers a drawn model, else another that does: drawn variances are never equal."""
    others = sorted(theorems(), key=lambda candidate: (not candidate.composes, candidate.name == "general"))
    return next((candidate for candidate in (theorem, *others) if covers(candidate)), None)


def _leakage(theorem: Theorem | None, model: Model, spend: Spend) -> float:
    (replies,) = ask(
        model, lambda candidate, drawn: candidate.epsilon(drawn, spend), only=[] if theorem is None else [theorem]
    )
    return min((reply.value for reply in replies if reply.value is not None), default=math.inf)


def worst_of(
    drawn: Sequence[Sample], tau: float, credibility: float, epsilon: float, done: Callable[[int], None]
) -> Uncertainty:
    """Return the summary for the model whose posterior keeps the promise least often."""
    summaries = [summary(credibility, sample.theorem, sample.leakages(tau, done), epsilon) for sample in drawn]
    return min(summaries, key=lambda uncertainty: uncertainty.share)


def _refuse(epsilon: float, choices: Sequence[Sequence[Option]]) -> NoReturn:
    stuck = (number for number, choice in enumerate(choices, 1) if all(option.tau is None for option in choice))
    failed = next(stuck)
    refused = choices[failed - 1]
    where = f"under model {failed}, " if len(choices) > 1 else ""
    reasons = [(f"{where}{option.theorem}", option.reason or "") for option in refused]
    if not any(option.covered for option in refused):
        raise NoTheoremAppliesError(reasons)
    listed = "; ".join(f"{name}: {reason}" for name, reason in reasons)
    raise CalibrationError(f"no theorem reaches ε = {epsilon:g} here ({listed})")


def _options_at(query: Query, leaked: Leakage, beta: float) -> tuple[Option, ...]:
    """Return what every theorem proves at the τ that was chosen for its accuracy."""
    tau = leaked.spend[-1].tau
    return tuple(
        Option(assessment.theorem, assessment.epsilon, tau, _alpha(query, tau, beta))
        if assessment.epsilon is not None
        else Option(assessment.theorem, leaked.epsilon, reason=assessment.reason, covered=False)
        for assessment in leaked.assessments
    )
