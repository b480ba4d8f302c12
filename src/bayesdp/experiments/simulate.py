"""One experiment: the error of a query on a data set under a model over a grid of ε, in theory and in simulation.

The data are aggregated once, every theorem is evaluated for the whole grid at once, and noise is drawn for one ε at a
time.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bayesdp._support import validation
from bayesdp._support.display import table
from bayesdp._support.documents import Document
from bayesdp._support.validation import brief
from bayesdp.accuracy import Laplace, laplace_scale
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.calibration.prior_art import PRIOR_ART, LaplaceMethod, PlainDP
from bayesdp.errors import InvalidInputError
from bayesdp.mechanisms.simulation import SimulatedLaplace
from bayesdp.models import Model
from bayesdp.plotting.results import EPSILONS
from bayesdp.queries import Query
from bayesdp.theorems.ask import ask
from bayesdp.theorems.leakage import ANY_OF
from bayesdp.theorems.markov.count import MarkovCount
from bayesdp.theorems.markov.mixing import MarkovMixing
from bayesdp.theorems.registry import theorem_named, theorems
from bayesdp.theorems.spend import Spend
from bayesdp.theorems.theorem import Theorem

if TYPE_CHECKING:
    from bayesdp.frames.aggregates import Tally

__all__ = ["PLAIN", "Assumption", "Experiment", "Result", "Row", "run", "taus"]

PLAIN = PlainDP.name
"""The name of the unprotected mechanism that every result is compared with."""


@dataclass(frozen=True)
class Assumption:
    """A theorem under another model, for comparison only: it proves nothing about the experiment's data."""

    label: str
    model: Model
    theorem: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Experiment:
    """The error to compute: of one query under every theorem, over a grid of ε.

    model, query: the correlation model (under AnyOf, the guarantee holds for every model), and the query. A mean takes
                  its size from the frame.
    frame:        the data, a table of any engine; or give `truth`, the exact answer, instead.
    truth:        several exact answers mean several data sets, over which results are averaged. For a histogram, the
                  numbers in its cells.
    theorems:     names of the theorems to evaluate; None means all that apply.
    assumptions:  theorems under other models, for comparison.
    missing:      "drop" leaves out records with missing values; their pattern then counts as public. By default as in
                  the fit of the model.

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
    missing: Literal["error", "drop"] | None = None

    def __post_init__(self) -> None:
        validation.text("name", self.name)
        if not isinstance(self.model, Model):
            raise InvalidInputError(f"an experiment needs a model such as MarkovChain(...), not {brief(self.model)}")
        if not isinstance(self.query, Query):
            raise InvalidInputError(f"an experiment needs a query such as Count(...), not {brief(self.query)}")
        if (self.frame is None) == (self.truth is None):
            raise InvalidInputError("give either frame= (the data) or truth= (the exact answer)")
        object.__setattr__(self, "epsilons", validation.positives("epsilons", self.epsilons))
        object.__setattr__(self, "runs", validation.natural("runs", self.runs))
        object.__setattr__(self, "beta", validation.probability("beta", self.beta))
        object.__setattr__(self, "seed", validation.natural("seed", self.seed, least=0))
        for name in (*(self.theorems or ()), *(assumption.theorem for assumption in self.assumptions)):
            theorem_named(name)

    @property
    def answers(self) -> tuple[float, ...]:
        """The exact answers, one for each data set; for a histogram, the numbers in its cells."""
        return _exact(self)[1]


@dataclass(frozen=True)
class Row:
    """One mechanism at one ε. τ is None if the theorem does not reach that ε.

    mechanism: a theorem, published prior work ("yang-2015"), the label of an assumption, "plain-dp", or "any-of": the
               best theorem of each model.
    alpha:     the theoretical error that is reached with probability β, in any cell of a histogram.
    quantile:  the 1 − β quantile of the absolute error over the simulated releases; for a histogram, of its largest.
    mape:      their mean absolute error in percent of the exact answer, over cells or data sets with nonzero answers;
               None without any.
    factor:    α divided by that of plain DP at the same ε.
    proven:    whether the release provably leaks at most ε.
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
    """One row for each mechanism and ε; `reasons` has the reasons why other theorems do not apply."""

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
        rows = [row for row in self.rows if row.mechanism == mechanism and epsilon in (None, row.epsilon)]
        return tuple(sorted(rows, key=lambda row: row.epsilon))

    def expected(self, row: Row) -> float | None:
        """Return the theoretical MAPE of a row; the mean absolute value of Laplace noise is its scale."""
        some = [abs(answer) for answer in self.answers if answer != 0]
        if row.tau is None or not some:
            return None
        return 100 * laplace_scale(self.query, row.tau) * sum(1 / answer for answer in some) / len(some)

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
        """Return all rows as CSV; floats are written so that they read back as the same float."""
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
    """Run an experiment: theory and simulated releases for every mechanism and ε.

    The same seed gives the same result. Each mechanism has its own random stream, so leaving out theorems does not
    change the rows of the others. Raises InvalidInputError and QueryError as `compare` does.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> result = run(Experiment(name="ill", model=ArbitraryGroups(4), query=Count("ill", equals=True), truth=90))
    >>> result.at("general", 1)[0].factor
    4.0
    """
    if not isinstance(spec, Experiment):
        raise InvalidInputError("run needs an Experiment(name=..., model=..., query=..., frame=...)")
    query, answers = _exact(spec)
    spec.model.check_queries((query,))
    chosen = theorems() if spec.theorems is None else tuple(map(theorem_named, spec.theorems))
    allowed = _allowed(chosen, spec.model, query, spec.epsilons)
    by_mechanism = {name: allowed_taus for name, allowed_taus in allowed.items() if not isinstance(allowed_taus, str)}
    reasons = tuple((name, reason) for name, reason in allowed.items() if isinstance(reason, str))
    by_mechanism |= _published(spec.model, query, spec.epsilons)
    guaranteed = set(by_mechanism)
    for assumption in spec.assumptions:
        supposed = theorem_named(assumption.theorem)
        under = _allowed([supposed], assumption.model, query, spec.epsilons)[supposed.name]
        if isinstance(under, str):
            raise InvalidInputError(f"{assumption.label}: {assumption.theorem} does not apply: {under}")
        by_mechanism[assumption.label] = under
    plain: Taus = list(spec.epsilons)
    rows = [
        row
        for mechanism, allowed_taus in {PLAIN: plain, **by_mechanism}.items()
        for row in _simulated(spec, query, answers, mechanism, allowed_taus, proven=mechanism in guaranteed)
    ]
    return Result(spec.name, query, answers, spec.beta, tuple(rows), reasons)


Taus = list[float | None]


def _allowed(
    chosen: Sequence[Theorem], model: Model, query: Query, epsilons: Sequence[float]
) -> Mapping[str, Taus | str]:
    """Return the τ of every theorem at each ε under all possible models, or the reason why it does not apply.

    With several models, a last entry uses the best theorem of each, as `compare` does.
    """
    rows = ask(model, lambda theorem, member: taus(theorem, member, query, epsilons), only=chosen)
    under = [
        {reply.theorem.name: reply.reason or "" if reply.value is None else reply.value for reply in replies}
        for replies in rows
    ]
    if len(under) == 1:
        return under[0]
    together = {theorem.name: _least([by_theorem[theorem.name] for by_theorem in under]) for theorem in chosen}
    best = [
        _largest([allowed_taus for allowed_taus in by_theorem.values() if not isinstance(allowed_taus, str)])
        for by_theorem in under
    ]
    return {**together, ANY_OF: _least(best)}


def _published(model: Model, query: Query, epsilons: Sequence[float]) -> dict[str, Taus]:
    """Return the τ of published methods with proven Laplace noise that cover all possible models."""
    return {
        method.name: [min(method.tau(member, epsilon) for member in model.members) for epsilon in epsilons]
        for method in PRIOR_ART
        if isinstance(method, LaplaceMethod) and method.proven
        if all(method.objection(member, query) is None for member in model.members)
    }


def _least(by_model: Sequence[Taus | str]) -> Taus | str:
    """Return the smallest τ over several models at each ε, None if one has none, or the first refusal's reason."""
    proven = []
    for number, reply in enumerate(by_model, 1):
        if isinstance(reply, str):
            return f"under model {number}: {reply}"
        proven.append(reply)
    return [
        None if None in column else min(tau for tau in column if tau is not None)
        for column in zip(*proven, strict=True)
    ]


def _largest(by_theorem: Sequence[Taus]) -> Taus | str:
    """Return the largest τ over several theorems at each ε, None if none has one, or a reason if none applies."""
    if not by_theorem:
        return "nothing is proven"
    return [max((tau for tau in column if tau is not None), default=None) for column in zip(*by_theorem, strict=True)]


def taus(theorem: Theorem, model: Model, query: Query, epsilons: Sequence[float]) -> Taus:
    """Return the largest τ of a theorem at each ε, None if it does not reach it; raises if it does not apply."""
    return largest_taus(_Count() if type(theorem) is MarkovCount else theorem, model, query, epsilons)


class _Count(MarkovCount):
    """The exact theorem for counts, with a search that starts near the τ of markov-mixing."""

    tolerance: ClassVar[float] = 1e-7
    _near: ClassVar[float] = 1e-8

    def starts(self, model: Model, query: Query, epsilon: float, spent: Spend) -> Sequence[float]:
        (replies,) = ask(model, lambda theorem, member: taus(theorem, member, query, [epsilon]), only=[MarkovMixing()])
        mixing = [tau for reply in replies for tau in reply.value or () if tau is not None]
        return [tau * (1 + side) for tau in mixing for side in (-self._near, self._near)]


def _simulated(
    spec: Experiment,
    query: Query,
    answers: Sequence[float],
    mechanism: str,
    allowed: Sequence[float | None],
    *,
    proven: bool,
) -> list[Row]:
    """Return the rows of one mechanism, from its own random stream."""
    generator = np.random.default_rng([spec.seed, crc32(f"{spec.name}/{mechanism}".encode())])
    exact = np.array(answers).reshape(-1, query.dimension)
    rows = []
    for epsilon, tau in zip(spec.epsilons, allowed, strict=True):
        if tau is None:
            rows.append(Row(mechanism, epsilon, proven=proven))
            continue
        scale = laplace_scale(query, tau)
        noise = scale * SimulatedLaplace(1.0, generator).draw((len(exact), spec.runs, query.dimension))
        errors = np.abs((exact[:, None] + noise) - exact[:, None])
        quantile = float(np.quantile(errors.max(axis=2), 1 - spec.beta, axis=1).mean())
        alpha = Laplace(scale).alpha(spec.beta, cells=query.dimension)
        factor = alpha / Laplace(laplace_scale(query, epsilon)).alpha(spec.beta, cells=query.dimension)
        rows.append(Row(mechanism, epsilon, tau, alpha, quantile, _percentage(errors, exact), factor, proven))
    return rows


def _percentage(errors: NDArray[np.float64], exact: NDArray[np.float64]) -> float | None:
    """Return the mean error in percent of the answer, over data sets and cells with nonzero answers."""
    some = exact != 0
    return float(100 * (errors.mean(axis=1)[some] / np.abs(exact[some])).mean()) if some.any() else None


def _exact(spec: Experiment) -> tuple[Query, tuple[float, ...]]:
    """Return the query, a mean with its size, and the exact answers, computed in one scan of the table."""
    if spec.truth is not None:
        several = spec.truth if isinstance(spec.truth, Iterable) else (spec.truth,)
        given = tuple(validation.number("truth", value) for value in several)
        if not given or (spec.query.dimension > 1 and len(given) != spec.query.dimension):
            raise InvalidInputError(f"truth must have {spec.query.dimension} numbers, not {len(given)}")
        return spec.query, given
    exact = _tallied(spec)
    query = spec.query.of_size(exact.records)
    answer = query.assembled(exact.counts, exact.grid, exact.records)
    return query, tuple(map(float, answer if isinstance(answer, tuple) else (answer,)))


def _tallied(spec: Experiment) -> Tally:
    """Return the exact answer as whole numbers, without missing values if the model was fitted without them."""
    from bayesdp.frames.aggregates import tally
    from bayesdp.frames.source import scan
    from bayesdp.frames.wide_format import VALUE, unpivoted
    from bayesdp.session.prepare import missing_rule

    frame, subject, columns = spec.frame, spec.model.subject, spec.model.spread
    if columns and not spec.query.column:
        frame, subject = unpivoted(scan(frame), columns), VALUE
    (exact,) = tally(frame, [spec.query], subject=subject, missing=missing_rule(spec.model, spec.missing))
    return exact


def _numbers(row: Row) -> tuple[float | None, ...]:
    return row.epsilon, row.tau, row.alpha, row.quantile, row.mape, row.factor
