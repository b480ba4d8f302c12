"""One experiment: a data set, a model, a query, a grid of ε — how large the error is, in theory and in simulation.

The data are aggregated once, every theorem is asked for the whole grid of ε at once, and noise is drawn in bulk.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bayesdp import validation
from bayesdp.accuracy import Laplace, laplace_scale
from bayesdp.calibration import largest_taus
from bayesdp.documents import Document
from bayesdp.errors import InvalidInputError, TooLargeError
from bayesdp.leakage.markov_count import MarkovCount
from bayesdp.leakage.markov_mixing import MarkovMixing
from bayesdp.leakage.registry import theorem_named, theorems
from bayesdp.leakage.theorem import Theorem
from bayesdp.mechanisms.simulation import SimulatedLaplace
from bayesdp.models import AnyOf, Model
from bayesdp.plotting import EPSILONS
from bayesdp.prior_art import PlainDP
from bayesdp.queries import Mean, Query
from bayesdp.spending import Spend
from bayesdp.tables import table

__all__ = ["PLAIN", "Assumption", "Experiment", "Result", "Row", "run", "taus"]

PLAIN = PlainDP.name
"""The name of the unprotected mechanism every result is compared with."""


@dataclass(frozen=True)
class Assumption:
    """What one theorem allows if another model held: shown beside the experiment's own, proving nothing for it."""

    label: str
    model: Model
    theorem: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Experiment:
    """What to compute: the error of one query under every theorem, over a grid of ε.

    model, query: how records are correlated, and the question; its answer must be one number.
    frame:        the data, a table of any engine — or give `truth`, the exact answer, instead.
    truth:        several exact answers mean several data sets; results are then averaged over them.
    theorems:     names of the theorems to ask; None means all that apply.
    assumptions:  what theorems would allow under other models, for comparison.
    missing:      "drop" leaves out records with missing values; their pattern is then treated as public.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> households = Experiment(name="ill", model=ArbitraryGroups(4), query=Count("ill", equals=True), truth=90)
    >>> households.runs, households.answers
    (1000, (90.0,))
    """

    name: str
    model: Model
    query: Query
    frame: object = field(default=None, repr=False)
    truth: float | Sequence[float] | None = None
    theorems: Sequence[str] | None = None
    assumptions: Sequence[Assumption] = ()
    epsilons: Sequence[float] = EPSILONS
    runs: int = 1000
    beta: float = 0.05
    seed: int = 0
    missing: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        validation.text("name", self.name)
        if not isinstance(self.model, Model) or isinstance(self.model, AnyOf):
            raise InvalidInputError("an experiment needs one model such as MarkovChain(...); run one for each of AnyOf")
        if not isinstance(self.query, Query) or self.query.dimension != 1:
            raise InvalidInputError("an experiment needs a query whose answer is one number: Count, Sum or Mean")
        if (self.frame is None) == (self.truth is None):
            raise InvalidInputError("give either frame= (the data) or truth= (the exact answer)")
        object.__setattr__(self, "epsilons", validation.positives("epsilons", self.epsilons))
        object.__setattr__(self, "runs", validation.natural("runs", self.runs))
        object.__setattr__(self, "beta", validation.probability("beta", self.beta))
        object.__setattr__(self, "seed", validation.natural("seed", self.seed, least=0))
        for name in (*(self.theorems or ()), *(each.theorem for each in self.assumptions)):
            theorem_named(name)

    @property
    def answers(self) -> tuple[float, ...]:
        """The exact answers, one for each data set."""
        if self.truth is None:
            return (_answer(self.frame, self.query, self.model.subject, self.missing),)
        several = self.truth if isinstance(self.truth, Iterable) else (self.truth,)
        return tuple(validation.number("truth", value) for value in several)


@dataclass(frozen=True)
class Row:
    """One mechanism at one ε. Without a τ the theorem does not reach that ε.

    mechanism: a theorem, the label of an assumption, or "plain-dp".
    alpha:     the error that theory says is reached with probability β.
    quantile:  the 1 − β quantile of the absolute error over the simulated releases.
    mape:      their mean absolute error in percent of the exact answer; None where that is 0.
    factor:    α over that of plain DP at the same ε.
    proven:    whether the release is proven to leak at most ε.
    """

    mechanism: str
    epsilon: float
    tau: float | None = None
    alpha: float | None = None
    quantile: float | None = None
    mape: float | None = None
    factor: float | None = None
    proven: bool = True


@dataclass(frozen=True)
class Result(Document):
    """One row a mechanism and ε; `reasons` says why the other theorems do not apply."""

    name: str
    query: Query
    answers: tuple[float, ...]
    beta: float
    rows: tuple[Row, ...]
    reasons: tuple[tuple[str, str], ...]

    columns: ClassVar[tuple[str, ...]] = tuple(item.name for item in fields(Row))

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms in the order of the rows, plain DP first."""
        return tuple(dict.fromkeys(row.mechanism for row in self.rows))

    def at(self, mechanism: str, epsilon: float | None = None) -> tuple[Row, ...]:
        """Return the rows of one mechanism, or the one at ε, in the order of ε."""
        found = [row for row in self.rows if row.mechanism == mechanism and epsilon in (None, row.epsilon)]
        return tuple(sorted(found, key=lambda row: row.epsilon))

    def table(self) -> str:
        """Return everything as a text table."""
        header = ["mechanism", "ε", "τ", f"α (β = {self.beta:g})", "simulated", "MAPE %", "× plain DP", ""]
        lines = [
            [
                row.mechanism,
                *("–" if number is None else f"{number:.6g}" for number in _numbers(row)),
                "" if row.proven else "no guarantee",
            ]
            for row in self.rows
        ]
        return "\n".join([table(header, lines), "", *(f"{name}: {reason}" for name, reason in self.reasons)])

    def __str__(self) -> str:
        return self.table()

    def csv(self) -> str:
        """Return everything as CSV, floats so that they read back as the same float."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([getattr(row, name) for name in self.columns] for row in self.rows)
        return out.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON object."""
        return {
            "name": self.name,
            "query": self.query.to_dict(),
            "answers": list(self.answers),
            "beta": self.beta,
            "rows": [{name: getattr(row, name) for name in self.columns} for row in self.rows],
            "reasons": dict(self.reasons),
        }


def run(spec: Experiment) -> Result:
    """Carry out an experiment: theory and simulated releases for every mechanism and ε.

    The same seed gives the same result; each mechanism draws from a stream of its own, so that asking for fewer
    theorems changes nothing in the others' rows. Raises InvalidInputError and QueryError as `compare` does.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> found = run(Experiment(name="ill", model=ArbitraryGroups(4), query=Count("ill", equals=True), truth=90))
    >>> found.at("general", 1)[0].factor
    4.0
    """
    if not isinstance(spec, Experiment):
        raise InvalidInputError("run needs an Experiment(name=..., model=..., query=..., frame=...)")
    answers = spec.answers
    spec.model.check_queries((spec.query,))
    asked = theorems() if spec.theorems is None else tuple(map(theorem_named, spec.theorems))
    found: dict[str, list[float | None]] = {}
    reasons = []
    for theorem in asked:
        allowed = taus(theorem, spec.model, spec.query, spec.epsilons)
        if isinstance(allowed, str):
            reasons.append((theorem.name, allowed))
        else:
            found[theorem.name] = allowed
    guaranteed = set(found)
    for each in spec.assumptions:
        allowed = taus(theorem_named(each.theorem), each.model, spec.query, spec.epsilons)
        if isinstance(allowed, str):
            raise InvalidInputError(f"{each.label}: {each.theorem} does not apply: {allowed}")
        found[each.label] = allowed
    plain: list[float | None] = list(spec.epsilons)
    rows = [
        row
        for mechanism, allowed in {PLAIN: plain, **found}.items()
        for row in _simulated(spec, answers, mechanism, allowed, proven=mechanism in guaranteed)
    ]
    return Result(spec.name, spec.query, answers, spec.beta, tuple(rows), tuple(reasons))


def taus(theorem: Theorem, model: Model, query: Query, epsilons: Sequence[float]) -> list[float | None] | str:
    """Return the largest τ a theorem allows at each ε (None where it reaches none), or why it does not apply."""
    reason = theorem.refusal(model, (query,))
    if reason is not None:
        return reason
    try:
        return largest_taus(_Count() if type(theorem) is MarkovCount else theorem, model, query, epsilons)
    except TooLargeError as error:
        return str(error)


class _Count(MarkovCount):
    """The exact theorem for counts, searched first where it usually is: next to what markov-mixing allows."""

    tolerance: ClassVar[float] = 1e-7
    _near: ClassVar[float] = 1e-8

    def starts(self, model: Model, query: Query, epsilon: float, spent: Spend) -> Sequence[float]:
        mixing = taus(MarkovMixing(), model, query, [epsilon])
        return [tau * (1 + side) for tau in mixing if isinstance(tau, float) for side in (-self._near, self._near)]


def _simulated(
    spec: Experiment, answers: Sequence[float], mechanism: str, allowed: Sequence[float | None], *, proven: bool
) -> list[Row]:
    """Return the rows of one mechanism, every ε simulated in one draw."""
    reached = [(epsilon, tau) for epsilon, tau in zip(spec.epsilons, allowed, strict=True) if tau is not None]
    scales = [laplace_scale(spec.query, tau) for _, tau in reached]
    generator = np.random.default_rng([spec.seed, crc32(f"{spec.name}/{mechanism}".encode())])
    noise = SimulatedLaplace(1.0, generator).draw((len(reached), len(answers), spec.runs))
    truths = np.array(answers)[:, None]
    errors = np.abs((truths + noise * np.array(scales)[:, None, None]) - truths)
    quantiles = np.quantile(errors, 1 - spec.beta, axis=2).mean(axis=1)
    percentages = _percentages(errors, np.array(answers))
    drawn = {}
    for index, ((epsilon, tau), scale) in enumerate(zip(reached, scales, strict=True)):
        alpha = Laplace(scale).alpha(spec.beta)
        factor = alpha / Laplace(laplace_scale(spec.query, epsilon)).alpha(spec.beta)
        mape = None if percentages is None else float(percentages[index])
        drawn[epsilon] = Row(mechanism, epsilon, tau, alpha, float(quantiles[index]), mape, factor, proven)
    return [drawn.get(epsilon, Row(mechanism, epsilon, proven=proven)) for epsilon in spec.epsilons]


def _percentages(errors: NDArray[np.float64], truths: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the mean error in percent of the answer for each ε, over the data sets whose answer is not 0."""
    some = truths != 0
    if not some.any():
        return None
    return np.asarray(100 * (errors[:, some].mean(axis=2) / np.abs(truths[some])).mean(axis=1))


def _answer(frame: object, query: Query, subject: str | None, missing: Literal["error", "drop"]) -> float:
    """Return the exact answer, computed in one scan of the table."""
    from bayesdp.frames.aggregates import tally

    (found,) = tally(frame, [query], subject=subject, missing=missing)
    if found.grid is None:
        return float(found.counts[0])
    total = found.grid.total(found.counts[0], found.records)
    return float(total / (query.size or found.records) if isinstance(query, Mean) else total)


def _numbers(row: Row) -> tuple[float | None, ...]:
    return row.epsilon, row.tau, row.alpha, row.quantile, row.mape, row.factor
