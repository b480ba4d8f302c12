"""Every theorem side by side for promises of (ε, δ), with Laplace and with Gaussian noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp._support import validation
from bayesdp._support.display import PrintedTable, Section, lines
from bayesdp.accuracy import BETA, Gaussian, Laplace, gaussian_scale, laplace_scale
from bayesdp.calibration.approximate import NoiseKind, NoiseOption, check_neighbours, noise_options
from bayesdp.calibration.calibrate import Option
from bayesdp.calibration.comparison import Comparison
from bayesdp.losses import Neighbours
from bayesdp.models import Model
from bayesdp.queries import Query
from bayesdp.rounding import shown_above, shown_below
from bayesdp.theorems.theorem import Theorem

__all__ = ["NoiseComparison", "NoiseRow", "compare_noise"]


@dataclass(frozen=True)
class NoiseRow(Option):
    """What one theorem allows for (ε, δ) with one kind of noise.

    theorem: its name, with the noise if that is Gaussian.
    rho:     the ρ of each question with Gaussian noise, which has no τ.
    """

    rho: float | None = None
    noise: NoiseKind = "laplace"

    @property
    def name(self) -> str:
        """The name of the theorem."""
        return self.theorem.partition(",")[0]


@dataclass(frozen=True)
class NoiseComparison(Comparison):
    """One row per theorem, ε and kind of noise, for promises with a δ, or for several questions at once.

    delta: the δ of the promises, or 0.
    count: the number of questions of this kind that share each promise.
    neighbours: what τ and ρ are about.
    """

    delta: float = 0.0
    count: int = 1
    neighbours: Neighbours = "replace"

    def _printed(self) -> Sequence[Section]:
        rows = []
        for row in self.rows:
            if isinstance(row, NoiseRow) and row.reason is None:
                tau, rho = ("–" if loss is None else shown_below(loss) for loss in (row.tau, row.rho))
                alpha = "–" if row.alpha is None else shown_above(row.alpha)
                rows.append([row.name, row.noise, shown_above(row.epsilon), tau, rho, alpha, ""])
        several = f"each of {self.count:,} questions" if self.count > 1 else "one question"
        about = "" if self.neighbours == "replace" else ", for adding or removing a record"
        notes = [f"δ = {shown_above(self.delta)}; τ, ρ and α are those of {several}{about}"]
        notes += [
            f"{name}: {reason}" for name, reason in {row.theorem: row.reason for row in self.rows}.items() if reason
        ]
        header = ["theorem", "noise", "ε", "τ", "ρ", f"α (β = {self.beta:g})", ""]
        return [[PrintedTable(header, rows)], lines(*notes)]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp compare --delta --json` prints."""
        return {
            "rows": [
                {
                    "theorem": row.name,
                    "epsilon": row.epsilon,
                    "delta": self.delta,
                    "noise": row.noise if row.reason is None else None,
                    "tau": row.tau,
                    "rho": row.rho,
                    "alpha": row.alpha,
                }
                | ({} if row.reason is None else {"reason": row.reason})
                for row in self.rows
                if isinstance(row, NoiseRow)
            ],
            "beta": self.beta,
            "count": self.count,
            "neighbours": self.neighbours,
            "published": [],
        }


def compare_noise(
    model: Model,
    query: Query,
    epsilons: Sequence[float],
    delta: float | None,
    *,
    noise: NoiseKind | None = None,
    count: int = 1,
    beta: float = BETA,
    only: Sequence[Theorem] | None = None,
    neighbours: Neighbours = "replace",
) -> NoiseComparison:
    """Return what every theorem allows at each ε with Laplace and with Gaussian noise; parameters as in `calibrate`.

    >>> from bayesdp import Count, OddsChain
    >>> rows = compare_noise(OddsChain(17.12), Count(equals=1), [1.0], 1e-6, count=100).rows
    >>> [(row.theorem, round(row.alpha)) for row in rows if row.reason is None]
    [('odds-chain', 557), ('odds-chain, Gaussian', 365)]
    """
    check_neighbours(query, neighbours)
    targets = validation.positives("epsilons", epsilons)
    delta = None if delta is None else validation.probability("delta", delta)
    rows = [
        row
        for epsilon in targets
        for option in noise_options(model, query, epsilon, delta, noise=noise, count=count, only=only)
        for row in _rows(option.stated_for(neighbours), query, epsilon, beta)
    ]
    return NoiseComparison(model, query, beta, tuple(rows), (), delta or 0.0, count, neighbours)


def _rows(option: NoiseOption, query: Query, epsilon: float, beta: float) -> Iterator[NoiseRow]:
    """Yield a row for each kind of noise that a theorem allows, or one row with the reason if it allows none."""
    if option.tau is None and option.rho is None:
        reason = option.reason or "it allows another noise under another model"
        yield NoiseRow(option.theorem, epsilon, reason=reason, covered=option.covered)
    if option.tau is not None:
        alpha = None if query.unforeseen else _alpha(Laplace(laplace_scale(query, option.tau)), query, beta)
        yield NoiseRow(option.theorem, epsilon, option.tau, alpha)
    if option.rho is not None:
        alpha = None if query.unforeseen else _alpha(Gaussian(gaussian_scale(query, option.rho)), query, beta)
        yield NoiseRow(f"{option.theorem}, Gaussian", epsilon, None, alpha, rho=option.rho, noise="gaussian")


def _alpha(law: Laplace | Gaussian, query: Query, beta: float) -> float:
    return law.alpha(beta, cells=query.dimension)
