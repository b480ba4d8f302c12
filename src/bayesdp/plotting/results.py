"""Charts of what the library computes: the error over the promise, and the leakage over the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bayesdp.plotting.charts import Chart, Line, Panel, Points, Style, coinciding, line
from bayesdp.plotting.drawing import save
from bayesdp.plotting.palette import COLOURS, PALETTE, PLAIN

if TYPE_CHECKING:
    from bayesdp.calibration.comparison import Comparison
    from bayesdp.models import Model
    from bayesdp.queries import Query

__all__ = ["EPSILONS", "comparison_chart", "leakage_chart", "plot_comparison", "plot_tradeoff"]

EPSILONS = (0.1, 0.25, 0.5, *range(1, 21))
"""The promises of the paper's experiments, and some stricter ones."""

_PROMISE = "promised leakage ε"


def plot_tradeoff(
    model: Model,
    query: Query,
    path: str | Path,
    *,
    epsilons: Sequence[float] = EPSILONS,
    beta: float = 0.05,
    title: str | None = None,
) -> Path:
    """Draw the error α over the promise ε for every theorem, with plain DP as the unprotected floor, and write it.

    model:    how records are correlated.
    query:    what would be released.
    path:     where the picture goes; its ending says which kind it is (.svg, .png, .pdf).
    epsilons: the promises on the axis; by default 0.1 to 20.
    beta:     how often the error may reach α.
    title:    by default what is to be seen.

    Raises as `compare` and `plot_comparison` do.
    """
    from bayesdp.calibration.comparison import compare

    return plot_comparison(compare(model, query, epsilons=epsilons, beta=beta), path, title)


def plot_comparison(comparison: Comparison, path: str | Path, title: str | None = None) -> Path:
    """Draw α over ε for every theorem of a comparison and return the path written.

    Raises MissingDependencyError without Matplotlib and InvalidInputError for a name that is no picture's or a place
    that cannot be written to.
    """
    return save(comparison_chart(comparison, title), path)


def comparison_chart(comparison: Comparison, title: str | None = None) -> Chart:
    """Return α over ε for every theorem of a comparison, and for what others do, dotted if it is no guarantee.

    Lines that coincide are drawn once, with all their names. An error of 0 has no place on the axis and is left out.
    """
    curves: dict[str, list[tuple[float, float]]] = {name: [] for name in comparison.applying}
    for row in comparison.rows:
        if row.theorem in curves and row.alpha:
            curves[row.theorem].append((row.epsilon, row.alpha))
    proven = dict.fromkeys(curves, True)
    for result in comparison.published:
        proven[result.method] = result.proven
        points = curves.setdefault(result.method, [])
        if result.alpha:
            points.append((result.epsilon, result.alpha))
    drawn: dict[str, Points] = {name: tuple(sorted(set(points))) for name, points in curves.items() if points}
    lines: list[Line] = []
    for names in coinciding(drawn):
        label = "\n= ".join(_named(name, theorem=name in comparison.applying, proven=proven[name]) for name in names)
        lines += _with_markers(names[0], drawn[names[0]], label, _style(names[0], proven[names[0]]))
    model = comparison.model
    return Chart(
        "comparison",
        title or f"Error of {comparison.query.description}",
        _PROMISE,
        f"error α, reached in {100 * comparison.beta:g} % of cases",
        (Panel(tuple(lines)),),
        source=f"assumed: {model.assumption}" + (f"; protected: {model.protects}" if model.protects_several else ""),
        log="xy",
    )


def _named(name: str, *, theorem: bool, proven: bool) -> str:
    if theorem:
        return name
    return "plain DP,\nunprotected" if name == PLAIN else f"{name},\n{'proven' if proven else 'no guarantee'}"


def _style(name: str, proven: bool) -> Style:
    if name == PLAIN:
        return "--"
    return ":" if not proven else "-" if name in COLOURS else "-."


def _with_markers(name: str, points: Points, label: str, style: Style) -> tuple[Line, ...]:
    """Return a line, and unless it is plain DP's the points that were computed on it."""
    curve = line(name, points, label, style)
    return (curve,) if name == PLAIN else (curve, line(name, points, style="o"))


def leakage_chart(
    models: Mapping[str, Model],
    query: Query,
    taus: Sequence[float],
    *,
    says: str,
    log: str = "",
    name: str = "leakage",
) -> Chart:
    """Return what is proven of a τ-DP release under each of several models, ε over τ, beside what plain DP promises.

    models: by what stands at the line, such as "θ = 1.5". says: the sentence above the picture. log: as of a `Chart`.

    Raises as `leakage` does.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> pairs = {"pairs": ArbitraryGroups(2)}
    >>> chart = leakage_chart(pairs, Count(equals=1), [0.5, 1.0], says="A pair leaks twice as much.")
    >>> chart.panels[0].lines[0].points
    ((0.5, 1.0), (1.0, 2.0))
    """
    from bayesdp.theorems.leakage import leakage

    lines = [
        Line(label, tuple((tau, leakage(model, query, tau=tau).epsilon) for tau in taus), _colour(index), label=label)
        for index, (label, model) in enumerate(models.items())
    ]
    lines.append(line(PLAIN, tuple((tau, tau) for tau in taus), "plain DP promises this,\nunprotected"))
    return Chart(
        name,
        says,
        "ordinary differential privacy τ of the release",
        "proven leakage ε",
        (Panel(tuple(lines)),),
        source=f"{query.description}; theory only, no data",
        log=log,
    )


def _colour(index: int) -> str:
    return PALETTE[index % len(PALETTE)]
