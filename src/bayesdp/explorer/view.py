"""The numbers of a screen: first those of the fast theorems, then those of the slower ones.

All numbers are proven at every moment: a theorem that is still being evaluated could only allow less noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from bayesdp.accuracy import Laplace, laplace_scale, tau_for_accuracy
from bayesdp.audit.beliefs import Belief, posterior
from bayesdp.calibration.approximate import ApproximateCalibration
from bayesdp.calibration.calibrate import calibrate, largest_tau
from bayesdp.calibration.comparison import Comparison, compare
from bayesdp.errors import CalibrationError
from bayesdp.explorer.choices import EPSILONS, Target
from bayesdp.models import Model
from bayesdp.plotting.charts import Chart
from bayesdp.plotting.results import comparison_chart
from bayesdp.queries import Query
from bayesdp.rounding import shown_above, shown_below, shown_pair
from bayesdp.theorems.ask import ApplicableTheorems
from bayesdp.theorems.leakage import Leakage, report
from bayesdp.theorems.registry import theorems
from bayesdp.theorems.spend import Release

__all__ = [
    "GRID",
    "Findings",
    "Job",
    "Row",
    "Side",
    "Sides",
    "Wanted",
    "done",
    "figure",
    "next_job",
    "risk",
    "rows",
    "sides",
    "together",
]

GRID: tuple[float, ...] = tuple(map(float, EPSILONS))
"""The promises in the chart: the positions of the slider."""

COIN = 0.5
"""The attacker's prior belief: the two values of a record are equally likely."""


def risk(probability: float) -> str:
    """Return an attacker's probability to be right in percent, rounded up.

    >>> risk(0.73105858), risk(0.999999)
    ('73.2 %', 'almost 100 %')
    """
    pair = shown_pair(probability)
    return "almost 100 %" if pair is None else f"{pair.partition(' ')[0]} %"


@dataclass(frozen=True)
class Wanted:
    """The model, the query and the target of a screen."""

    model: Model
    query: Query
    target: Target


@dataclass(frozen=True)
class Side:
    """One way to add noise: its claim, its proven leakage, and its error.

    claimed: the claimed ε. belief: how certain an attacker can become, from the proven ε.
    """

    claimed: float
    belief: Belief
    alpha: float
    leakage: Leakage

    @property
    def scale(self) -> float:
        """The Laplace scale of the noise."""
        query, tau = self.leakage.spend[0]
        return laplace_scale(query, tau)

    @property
    def kept(self) -> bool:
        """Whether the proven ε is at most the claimed one."""
        return self.belief.epsilon <= self.claimed

    @property
    def risk(self) -> str:
        """The attacker's probability to be right in percent, rounded up."""
        return risk(self.belief.posterior)


@dataclass(frozen=True)
class Sides:
    """Plain DP beside noise that keeps the promise.

    settled:     whether every theorem was evaluated.
    approximate: the noise for the promise of (ε, δ), if there is a δ and every theorem was evaluated.
    """

    plain: Side
    ours: Side
    settled: bool
    approximate: ApproximateCalibration | None = None

    @property
    def price(self) -> str:
        """The cost of the correlations, as a sentence."""
        if self.plain.kept:
            return "Plain DP keeps its promise here: no more noise is needed."
        if self.plain.belief.tau == self.ours.belief.tau:
            return "The noise is the same, but it leaks more than plain DP claims."
        times = self.ours.alpha / self.plain.alpha
        return f"Keeping the promise takes an error {shown_above(times, 3)} times as large as plain DP's."


def sides(wanted: Wanted, *, settled: bool, known: Comparison | None = None) -> Sides:
    """Return the leakage of plain DP and of the calibrated release; settled: use all theorems, not only the fast ones.

    known: the allowed τ's, if they have been computed; then no search is needed.

    Raises as `calibrate` does: CalibrationError if none of these theorems reaches ε.
    """
    query, target = wanted.query, wanted.target
    wanted.model.check_queries((query,))
    panel = ApplicableTheorems.about(wanted.model, (Release(query, 1.0),), composing=not settled)
    if target.alpha is not None:
        tau = plain_tau = tau_for_accuracy(query, target.alpha, target.beta)
    else:
        assert target.epsilon is not None
        tau, plain_tau = _allowed(known, target.epsilon), target.epsilon
        tau = tau or largest_tau(panel, (query,), target.epsilon, ())
        if not tau:
            raise CalibrationError(
                f"no theorem reaches ε = {target.epsilon:g} with any amount of noise; enter a larger ε"
            )
    ours = report(wanted.model, (Release(query, tau),), panel=panel)
    plain = report(wanted.model, (Release(query, plain_tau),), panel=panel)
    claimed = target.epsilon if target.epsilon is not None else ours.epsilon
    approximate = None
    if settled and target.epsilon is not None and target.delta is not None:
        approximate = calibrate(
            wanted.model, query, epsilon=target.epsilon, delta=target.delta, beta=target.beta, neighbours="replace"
        )
    return Sides(_side(plain_tau, plain, target.beta), _side(claimed, ours, target.beta), settled, approximate)


def _allowed(known: Comparison | None, epsilon: float) -> float:
    """Return the largest known τ that keeps a promise; 0 if there is none."""
    return max((row.tau or 0.0 for row in known.rows if row.epsilon == epsilon), default=0.0) if known else 0.0


def _side(claimed: float, leaked: Leakage, beta: float) -> Side:
    query, tau = leaked.spend[0]
    alpha = Laplace(laplace_scale(query, tau)).alpha(beta, cells=query.dimension)
    return Side(claimed, Belief(tau, leaked.epsilon, COIN, posterior(leaked.epsilon, COIN)), alpha, leaked)


@dataclass(frozen=True)
class Findings:
    """The results so far for one model, query and β.

    quick: every ε of the grid, by the fast theorems. full: by ε, all theorems. settled: by target, both sides.
    """

    model: Model
    query: Query
    beta: float
    quick: Comparison | None = None
    full: Mapping[float, Comparison] = field(default_factory=dict)
    settled: Mapping[Target, Sides] = field(default_factory=dict)

    @classmethod
    def about(cls, wanted: Wanted) -> Findings:
        """Return empty findings."""
        return cls(wanted.model, wanted.query, wanted.target.beta)

    def concerns(self, wanted: Wanted) -> bool:
        """Whether these findings belong to the model, the query and β of `wanted`."""
        return (self.model, self.query, self.beta) == (wanted.model, wanted.query, wanted.target.beta)

    def sides(self, wanted: Wanted) -> Sides:
        """Return both sides by the theorems evaluated so far; raises as the function `sides`."""
        return self.settled.get(wanted.target) or sides(wanted, settled=False, known=self.quick)

    @property
    def complete(self) -> bool:
        """Whether every theorem was evaluated at every ε of the chart."""
        return all(epsilon in self.full for epsilon in GRID)

    @property
    def comparison(self) -> Comparison | None:
        """The theorems over ε evaluated so far: all of them, or the fast ones."""
        if not self.complete:
            return self.quick
        every = [self.full[epsilon] for epsilon in GRID]
        return replace(
            every[0],
            rows=tuple(row for part in every for row in part.rows),
            published=tuple(result for part in every for result in part.published),
        )

    @property
    def chart(self) -> Chart | None:
        """The error under every theorem over ε; None before the first result."""
        return None if self.comparison is None else comparison_chart(self.comparison)


Step = Literal["quick", "settle", "full"]


@dataclass(frozen=True)
class Job:
    """The next computation. epsilon: where to evaluate every theorem."""

    step: Step
    wanted: Wanted
    epsilon: float | None = None


def next_job(findings: Findings, wanted: Wanted) -> Job | None:
    """Return the next computation: the chart, the current target, then the rest of the chart; None at the end."""
    if findings.quick is None:
        return Job("quick", wanted)
    if wanted.target not in findings.settled:
        return Job("settle", wanted)
    left = [epsilon for epsilon in GRID if epsilon not in findings.full]
    if not left:
        return None
    now = wanted.target.epsilon
    return Job("full", wanted, now if now in left else left[0])


def done(job: Job) -> Findings:
    """Run a job and return its findings."""
    wanted, beta = job.wanted, job.wanted.target.beta
    fresh = Findings.about(wanted)
    if job.step == "quick":
        comparison = compare(wanted.model, wanted.query, epsilons=GRID, beta=beta, composing=True)
        return replace(fresh, quick=comparison, full=_if_all_are_quick(comparison))
    if job.step == "settle":
        return replace(fresh, settled={wanted.target: sides(wanted, settled=True)})
    assert job.epsilon is not None
    comparison = compare(wanted.model, wanted.query, epsilons=[job.epsilon], beta=beta)
    return replace(fresh, full={job.epsilon: comparison})


def _if_all_are_quick(comparison: Comparison) -> dict[float, Comparison]:
    """Return the complete chart if no other theorem applies; else nothing."""
    slow = [theorem for theorem in theorems() if not theorem.composes]
    members, spend = comparison.model.members, (Release(comparison.query, 1.0),)
    if any(theorem.objection(member, spend) is None for theorem in slow for member in members):
        return {}
    return {
        epsilon: replace(
            comparison,
            rows=tuple(row for row in comparison.rows if row.epsilon == epsilon),
            published=tuple(result for result in comparison.published if result.epsilon == epsilon),
        )
        for epsilon in GRID
    }


def together(known: Findings, fresh: Findings) -> Findings:
    """Merge findings about the same model, query and β."""
    return replace(
        known,
        quick=known.quick or fresh.quick,
        full={**known.full, **fresh.full},
        settled={**known.settled, **fresh.settled},
    )


@dataclass(frozen=True)
class Row:
    """The result of one theorem, as texts; reason: why it does not apply."""

    theorem: str
    figure: str
    noise: str
    best: bool
    reason: str


def rows(current: Sides, findings: Findings, target: Target) -> tuple[Row, ...]:
    """Return a row for each theorem: the error it allows at this ε, or the ε it proves at the given error.

    Theorems for other models are left out.
    """
    if target.alpha is not None:
        leaked = current.ours.leakage
        return tuple(
            _row(bound.theorem, bound.epsilon, None, bound.reason, best=bound.theorem == leaked.headline)
            for bound in leaked.assessments
            if _near(bound.reason)
        )
    assert target.epsilon is not None
    known = findings.full.get(target.epsilon) or findings.quick
    options = [] if known is None else [row for row in known.rows if row.epsilon == target.epsilon]
    chosen = max((row.tau or 0.0 for row in options), default=0.0)
    return tuple(
        _row(row.theorem, row.alpha, row.tau, row.reason, best=row.tau == chosen)
        for row in options
        if _near(row.reason)
    )


def figure(value: float, digits: int = 4) -> str:
    """Return an error or a leakage as text, rounded up, with separators for thousands.

    >>> figure(45726.3), figure(104.88)
    ('45,730', '104.9')
    """
    shown = shown_above(value, digits)
    return f"{float(shown):,.0f}" if 1000 <= float(shown) < 1e9 else shown


def _near(reason: str | None) -> bool:
    return reason is None or "it is about " not in reason


def _row(theorem: str, value: float | None, tau: float | None, reason: str | None, *, best: bool) -> Row:
    return Row(
        theorem,
        "–" if value is None else figure(value),
        "–" if tau is None else shown_below(tau, 4),
        best and value is not None,
        reason or "",
    )
