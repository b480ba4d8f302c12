"""Charts of leakages, calibrations and comparisons: the error over the promise, and the leakage over the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bayesdp._support.progress import tracked
from bayesdp.errors import DoesNotApplyError, NoTheoremAppliesError, QueryError, TooLargeError
from bayesdp.plotting.charts import Chart, Line, Panel, Points, Style, caption, distinguished, line
from bayesdp.plotting.drawing import check_place, save
from bayesdp.plotting.palette import COLOURS, PLAIN
from bayesdp.rounding import shown_above, shown_below
from bayesdp.theorems.leakage import ANY_OF, report
from bayesdp.theorems.registry import theorem_named
from bayesdp.theorems.spend import Release, Spend, total_tau

if TYPE_CHECKING:
    from bayesdp.calibration.calibrate import Calibration
    from bayesdp.calibration.comparison import Comparison
    from bayesdp.models import Model
    from bayesdp.queries import Query
    from bayesdp.theorems.leakage import Leakage

__all__ = [
    "AROUND",
    "CHOSEN",
    "EPSILONS",
    "calibration_chart",
    "comparison_chart",
    "plot_calibration",
    "plot_comparison",
    "plot_leakage",
    "plot_tradeoff",
    "theorems_chart",
]

EPSILONS = (0.1, 0.25, 0.5, *range(1, 21))
"""The promises of the paper's experiments, and some stricter ones."""

_PROMISE = "promised leakage ε"
_PLAIN_TAU = "ordinary differential privacy τ of the release"

AROUND = tuple(10 ** (power / 6) for power in range(-6, 7))
"""The factors by which a picture extends below and above the given value."""

CHOSEN = "#000000"
"""The colour of the ring at what was asked for or chosen."""


def plot_tradeoff(
    model: Model,
    query: Query,
    path: str | Path,
    *,
    epsilons: Sequence[float] = EPSILONS,
    beta: float = 0.05,
    title: str | None = None,
) -> Path:
    """Draw the error α over the promise ε for every theorem and for plain DP, and return the path.

    model:    how records are correlated.
    query:    the query to release.
    path:     the file of the picture; its suffix is the format (.svg, .png, .pdf).
    epsilons: the promises on the axis; by default 0.1 to 20.
    beta:     the probability that the error reaches α.
    title:    by default the query and the model.

    Raises as `compare` and `plot_comparison` do.
    """
    from bayesdp.calibration.comparison import compare

    return plot_comparison(compare(model, query, epsilons=epsilons, beta=beta), path, title)


def plot_comparison(comparison: Comparison, path: str | Path, title: str | None = None) -> Path:
    """Draw α over ε for every theorem of a comparison and return the path; raises as `plotting.drawing.save` does."""
    return save(comparison_chart(comparison, title), path)


def comparison_chart(comparison: Comparison, title: str | None = None) -> Chart:
    """Return α over ε for every theorem of a comparison and for other methods, dotted if these guarantee nothing.

    Lines that coincide are drawn in turns. An error of 0 is left out, because the axis is logarithmic.
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
    curves_drawn = [
        line(
            name,
            points,
            _named(name, theorem=name in comparison.applying, proven=proven[name]),
            _style(name, proven[name]),
        )
        for name, points in drawn.items()
    ]
    lines = [part for curve in distinguished(curves_drawn, "xy") for part in _with_markers(curve)]
    model = comparison.model
    return Chart(
        "comparison",
        title or f"Error of {comparison.query.description}: {caption(model)}",
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


def _with_markers(curve: Line) -> tuple[Line, ...]:
    """Return a line with markers at the computed points; without them for plain DP and for overlapping lines."""
    return (curve,) if curve.name == PLAIN or curve.turns[0] else (curve, line(curve.name, curve.points, style="o"))


def plot_calibration(calibration: Calibration, path: str | Path) -> Path:
    """Draw `calibration_chart` and return the path; raises as it does, and as `plotting.drawing.save` does."""
    check_place(path)
    return save(calibration_chart(calibration), path)


def calibration_chart(calibration: Calibration) -> Chart:
    """Return α over ε for every theorem that keeps the promise, beside plain DP, with a ring at the chosen noise.

    Each line uses a theorem's own noise, from ten times the noise it needs for the promise to a tenth. Raises
    QueryError for a query whose accuracy cannot be computed in advance.
    """
    query, model = calibration.query, calibration.leakage.model
    if query.unforeseen:
        raise QueryError(f"cannot draw the error of {query.description}: it cannot be computed in advance")
    spent = calibration.leakage.spend[:-1]
    allowed = {option.theorem: option.tau for option in calibration.options if option.tau is not None}
    drawn = []
    for name, tau in tracked(allowed.items(), len(allowed), "evaluating every theorem"):
        taus = [tau * factor for factor in AROUND]
        epsilons = [_proven(model, name, (*spent, Release(query, more))) for more in taus]
        points = tuple(
            (epsilon, _off_by(calibration, more)) for more, epsilon in zip(taus, epsilons, strict=True) if epsilon
        )
        drawn.append(line(name, points, name))
    claimed = (calibration.epsilon * factor for factor in AROUND)
    plain = tuple((epsilon, _off_by(calibration, epsilon)) for epsilon in claimed)
    alpha = calibration.accuracy(calibration.beta)
    return Chart(
        "calibration",
        f"Error of {query.description}: {caption(model)}",
        _PROMISE,
        f"error α, reached in {100 * calibration.beta:g} % of cases",
        (
            Panel(
                (
                    *distinguished([curve for curve in drawn if curve.points], "xy"),
                    line(PLAIN, plain, "plain DP,\nunprotected"),
                    Line("chosen", ((calibration.epsilon, alpha),), CHOSEN, "ring"),
                )
            ),
        ),
        source=f"Ring: ε = {shown_above(calibration.epsilon, 4)} needs tau = {shown_below(calibration.tau, 4)} and is "
        f"off by {shown_above(alpha, 4)} ({calibration.theorem}). Assumed: {model.assumption}",
        log="xy",
    )


def _off_by(calibration: Calibration, tau: float) -> float:
    return replace(calibration, tau=tau).accuracy(calibration.beta)


def _proven(model: Model, name: str, spend: Spend) -> float | None:
    """Return the ε that one theorem proves for a spend under every possible model; None if it does not apply."""
    try:
        if name == ANY_OF:
            return report(model, spend).epsilon
        return max(theorem_named(name).epsilon(member, spend) for member in model.members)
    except (DoesNotApplyError, NoTheoremAppliesError, TooLargeError):
        return None


def plot_leakage(leakage: Leakage, path: str | Path) -> Path:
    """Draw ε over τ for every theorem around the given τ, and return the path; raises as `drawing.save` does."""
    check_place(path)
    return save(theorems_chart(leakage), path)


def theorems_chart(leaked: Leakage) -> Chart:
    """Return ε over τ for every theorem that applies, beside plain DP's claim, with a ring at the given τ.

    With several releases, all τ's are scaled by the same factors.
    """
    spends = [tuple(Release(release.query, release.tau * factor) for release in leaked.spend) for factor in AROUND]
    curves: dict[str, list[tuple[float, float]]] = {row.theorem: [] for row in leaked.assessments if row.applies}
    for spend in tracked(spends, len(spends), "evaluating every theorem"):
        try:
            replies = report(leaked.model, spend, adversary=leaked.adversary).assessments
        except (NoTheoremAppliesError, TooLargeError):
            continue
        for reply in replies:
            if reply.theorem in curves and reply.epsilon:
                curves[reply.theorem].append((total_tau(spend), reply.epsilon))
    drawn = [line(name, tuple(points), name) for name, points in curves.items() if points]
    taus = tuple((total_tau(spend), total_tau(spend)) for spend in spends)
    ring = ((leaked.tau, leaked.epsilon),) if leaked.epsilon else ()
    queries = "; ".join(release.query.description for release in leaked.spend)
    return Chart(
        "leakage",
        f"What a τ-DP release of {queries} leaks: {caption(leaked.model)}",
        _PLAIN_TAU,
        "proven leakage ε",
        (
            Panel(
                (
                    *distinguished([*drawn, line(PLAIN, taus, "plain DP promises this,\nunprotected")], "xy"),
                    Line("asked", ring, CHOSEN, "ring"),
                )
            ),
        ),
        source=f"Ring: tau = {shown_below(leaked.tau, 4)} leaks at most ε = {shown_above(leaked.epsilon, 4)} "
        f"({leaked.theorem}). Assumed: {leaked.assumption}",
        log="xy",
    )
