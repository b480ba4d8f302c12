"""Every theorem side by side over a grid of ε, together with published methods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp._support import hooks, validation
from bayesdp._support.display import Displayed, PrintedTable, Section, lines
from bayesdp._support.documents import Document
from bayesdp._support.validation import brief
from bayesdp.accuracy import BETA, impossible
from bayesdp.calibration.calibrate import Option, combined, options, row_of
from bayesdp.calibration.prior_art import PRIOR_ART, Published, PublishedResult
from bayesdp.errors import InvalidInputError
from bayesdp.losses import Neighbours
from bayesdp.models import Model
from bayesdp.queries import Query
from bayesdp.rounding import shown_above, shown_below
from bayesdp.theorems.registry import theorem_named

if TYPE_CHECKING:
    from bayesdp.calibration.approximate import NoiseKind

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class Comparison(Displayed, Document):
    """A comparison of theorems: one row per theorem and ε, which prints as a table, plots, and serialises to JSON.

    model:     the assumption.
    query:     the query to release.
    beta:      the probability with which the error may reach α.
    rows:      what the theorems prove.
    published: published methods, plain DP, and randomized response; `proven` marks those that keep the promise.
    """

    model: Model
    query: Query
    beta: float
    rows: tuple[Option, ...]
    published: tuple[PublishedResult, ...]

    def table(self) -> str:
        """Return a text table: the theorems at each ε, other methods in brackets, then notes and reasons."""
        return str(self)

    def _printed(self) -> Sequence[Section]:
        rows: list[Sequence[str]] = []
        for epsilon in dict.fromkeys(row.epsilon for row in self.rows):
            proven = [row for row in self.rows if row.epsilon == epsilon and row.theorem in self.applying]
            rows += [[*row_of(row), row.reason or ""] for row in proven]
            rows += [_row(result) for result in self.published if result.epsilon == epsilon]
        names = dict.fromkeys(result.method for result in self.published)
        notes = [f"({name}): {method_named(name).note}" for name in names]
        if any(result.alpha == 0 for result in self.published):
            share = shown_below(100 * (1 - self.beta))
            notes.append(f"α = 0: the count is right, to less than a millionth, in {share} % of cases or more")
        notes += self._impossible()
        notes += [
            f"{name}: {reason}"
            for name, reason in {row.theorem: row.reason for row in self.rows}.items()
            if name not in self.applying
        ]
        return [[PrintedTable(["theorem", "ε", "τ", f"α (β = {self.beta:g})", ""], rows)], lines(*notes)]

    def _impossible(self) -> list[str]:
        """Return a note on the accuracy that no mechanism reaches at some of these ε under arbitrary correlation."""
        size = self.model.group_size
        if self.query.unforeseen or not self.model.anything_inside or size is None or self.query.dimension > 1:
            return []
        epsilons = [row.epsilon for row in self.rows]
        half = size * self.query.sensitivity / 2
        if not any(impossible(epsilon, alpha=half, beta=self.beta, spread=2 * half) for epsilon in epsilons):
            return []
        limit = shown_below(math.log((1 - self.beta) / self.beta), 4)
        share = shown_below(100 * (1 - self.beta))
        return [
            f"for ε below {limit} no mechanism at all is {share} % sure to within {shown_below(half)}, half of what "
            f"{size:,} correlated records can move the answer (docs/theory/impossibility.md)"
        ]

    @property
    def applying(self) -> tuple[str, ...]:
        """The theorems whose hypotheses hold, even if they do not reach every ε."""
        return tuple(dict.fromkeys(row.theorem for row in self.rows if row.covered))

    def plot(self, path: str | Path) -> Path:
        """Plot α over ε, with a line for each theorem, and write the picture (.png, .svg or .pdf)."""
        drawn: Path = hooks.call("plot.comparison", self, path)
        return drawn

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp compare --json` prints."""
        return {
            "rows": [
                {"theorem": row.theorem, "epsilon": row.epsilon, "tau": row.tau, "alpha": row.alpha}
                | ({} if row.reason is None else {"reason": row.reason})
                for row in self.rows
            ],
            "beta": self.beta,
            "published": [
                {
                    "method": result.method,
                    "epsilon": result.epsilon,
                    "tau": result.tau,
                    "alpha": result.alpha,
                    "proven": result.proven,
                    "note": method_named(result.method).note,
                }
                for result in self.published
            ],
        }


def compare(
    model: Model,
    query: Query,
    *,
    epsilons: Sequence[float],
    delta: float | None = None,
    noise: NoiseKind | None = None,
    count: int = 1,
    neighbours: Neighbours | None = None,
    theorem: str | None = None,
    beta: float = BETA,
    composing: bool = False,
) -> Comparison:
    """Compare what every theorem and published method allows for each ε.

    model:     how records are correlated.
    query:     the query to release.
    epsilons:  the promises to compare.
    delta:     the δ of promises of (ε, δ): rows for Laplace and for Gaussian noise, without what others published.
    noise:     show "laplace" or "gaussian" noise only.
    count:     the number of questions of this kind on the same records that share each promise.
    neighbours: for AnyMechanism: "add-remove" states the mechanism's τ and ρ as most libraries do.
    theorem:   the name of the only theorem to use.
    beta:      the probability with which the error may reach the α shown.
    composing: whether to use only theorems that cover any number of releases together, as a ledger does; this leaves
               out the slow ones.

    Raises InvalidInputError and QueryError as `calibrate` does. A theorem that does not apply gives a row and a reason.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> print(compare(ArbitraryGroups(2), Count("ill", equals=True), epsilons=[1.0]).rows[1].tau)
    0.5
    """
    if not isinstance(query, Query):
        raise InvalidInputError(f"expected a query such as Count(...), not {brief(query)}")
    targets = validation.positives("epsilons", epsilons)
    beta = validation.probability("beta", beta)
    only = None if theorem is None else [theorem_named(theorem)]
    if delta is not None or noise is not None or neighbours is not None or count != 1:
        from bayesdp.calibration.noise_comparison import compare_noise

        stated: Any = {} if neighbours is None else {"neighbours": neighbours}
        return compare_noise(model, query, targets, delta, noise=noise, count=count, beta=beta, only=only, **stated)
    every = options(model, query, targets, beta=beta, composing=composing, only=only)
    rows = tuple(row for choices in every for row in combined(choices))
    distinct = list(dict.fromkeys(targets))
    published = [result for method in PRIOR_ART for result in _published(method, model, query, distinct, beta)]
    in_order = tuple(result for epsilon in targets for result in published if result.epsilon == epsilon)
    return Comparison(model, query, beta, rows, in_order)


def method_named(name: str) -> Published:
    """Return the published method of this name."""
    return next(method for method in PRIOR_ART if method.name == name)


def _published(
    method: Published, model: Model, query: Query, epsilons: Sequence[float], beta: float
) -> list[PublishedResult]:
    """Return the results of a method under the worst of the models that may hold; empty if it does not apply."""
    several = model.members
    if any(method.objection(member, query) is not None for member in several) or (
        method.one_model and len(several) > 1
    ):
        return []
    results = [method.results(member, query, epsilons, beta) for member in several]
    return [max(at_one, key=lambda result: result.alpha) for at_one in zip(*results, strict=True)]


def _row(result: PublishedResult) -> list[str]:
    tau = "–" if result.tau is None else shown_below(result.tau)
    status = method_named(result.method).status
    return [f"({result.method})", f"{result.epsilon:g}", tau, shown_above(result.alpha), status]
