"""Charts of promises with a δ: which δ goes with which ε, beside what ordinary differential privacy states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bayesdp._support.progress import tracked
from bayesdp._support.words import counted
from bayesdp.calibration.noise_comparison import compare_noise
from bayesdp.errors import InvalidInputError, NoTheoremAppliesError, QueryError, TooLargeError
from bayesdp.losses import ApproximateLoss, PureLoss
from bayesdp.models import Independent
from bayesdp.plotting.charts import Chart, Line, Panel, Points, caption, distinguished, line
from bayesdp.plotting.drawing import check_place, save
from bayesdp.plotting.palette import PALETTE, PLAIN
from bayesdp.plotting.results import AROUND, CHOSEN, comparison_chart
from bayesdp.queries import AnyMechanism
from bayesdp.rounding import shown_above
from bayesdp.theorems.approximate import ApproximateLeakage, approximate_report
from bayesdp.theorems.leakage import Assessment
from bayesdp.theorems.spend import Release, Spend

if TYPE_CHECKING:
    from bayesdp.audit.approximate_audits import ApproximateAudit
    from bayesdp.calibration.approximate import ApproximateCalibration
    from bayesdp.models import Model

__all__ = [
    "audit_chart",
    "guarantees_chart",
    "noise_chart",
    "plot_approximate_audit",
    "plot_guarantees",
    "plot_noise",
]

_EPSILON, _DELTA = "leakage ε", "δ at that ε"
_PLAIN_LABEL = "plain DP states this,\nunprotected"
_DECADES = range(-6, 7)
"""The powers of ten by which a picture extends below and above the δ of a promise."""


def plot_guarantees(leaked: ApproximateLeakage, path: str | Path) -> Path:
    """Draw `guarantees_chart` and return the path; raises as `plotting.drawing.save` does."""
    check_place(path)
    return save(guarantees_chart(leaked), path)


def guarantees_chart(leaked: ApproximateLeakage) -> Chart:
    """Return δ over ε for every theorem that applies, beside what plain DP states, with a ring at the guarantee.

    A release that is (τ, δ)-DP is drawn for other τ's at the same δ, any other release for other δ's of the guarantee.
    """
    applying = [row.theorem for row in leaked.assessments if row.applies]
    curves = _curves(leaked)
    lines = [line(name, curves[name], name) for name in applying if curves.get(name)]
    plain = line(PLAIN, _curves(_as_if_independent(leaked))["independent"], _PLAIN_LABEL)
    released = "; ".join(f"{one.query.description} with {one.loss.description}" for one in leaked.spend[:1])
    more = " and " + counted(len(leaked.spend) - 1, "more release") if len(leaked.spend) > 1 else ""
    return _chart(
        "leakage",
        f"What {released}{more} leaks: {caption(leaked.model)}",
        (*distinguished([*lines, plain], "y"), _ring(leaked)),
        f"Ring: at most ε = {shown_above(leaked.epsilon, 4)} with δ = {shown_above(leaked.delta, 3)} "
        f"({leaked.theorem}). Assumed: {leaked.assumption}",
    )


def plot_noise(calibration: ApproximateCalibration, path: str | Path) -> Path:
    """Draw `noise_chart` and return the path; raises as it does, and as `plotting.drawing.save` does."""
    check_place(path)
    return save(noise_chart(calibration), path)


def noise_chart(calibration: ApproximateCalibration) -> Chart:
    """Return α over ε for every theorem with Laplace and Gaussian noise, with a ring at the chosen noise.

    Raises QueryError for a query whose accuracy cannot be computed in advance, and InvalidInputError if earlier
    releases share the promise.
    """
    query, leaked = calibration.query, calibration.leakage
    if query.unforeseen:
        raise QueryError(f"cannot draw the error of {query.description}: it cannot be computed in advance")
    if len(leaked.spend) > calibration.count:
        raise InvalidInputError("there is no picture of noise beside earlier releases; print its table()")
    epsilons = [calibration.epsilon * factor for factor in AROUND]
    compared = compare_noise(
        leaked.model, query, epsilons, calibration.delta or None, count=calibration.count, beta=calibration.beta
    )
    chart = comparison_chart(compared)
    alpha = calibration.accuracy(calibration.beta)
    ring = Line("chosen", ((calibration.epsilon, alpha),), CHOSEN, "ring")
    each = f", each of {calibration.count:,}" if calibration.count > 1 else ""
    return replace(
        chart,
        name="calibration",
        panels=(Panel((*chart.panels[0].lines, ring)),),
        source=f"Ring: {calibration.noise.capitalize()} noise of scale {shown_above(calibration.scale, 4)} for ε = "
        f"{shown_above(calibration.epsilon, 4)} with δ = {shown_above(calibration.delta, 3)} is off by "
        f"{shown_above(alpha, 4)}{each} ({calibration.theorem}); {chart.source}",
    )


def plot_approximate_audit(audit: ApproximateAudit, path: str | Path) -> Path:
    """Draw `audit_chart` and return the path; raises as `plotting.drawing.save` does."""
    check_place(path)
    return save(audit_chart(audit), path)


def audit_chart(audit: ApproximateAudit) -> Chart:
    """Return δ over ε: what is proven, what a known attacker attains, and what plain DP states.

    A dot marks the lower bound from outputs, a ring the promise.
    """
    leaked = audit.leakage
    proven = _curves(leaked)[leaked.headline]
    lines = [
        Line("proven", proven, PALETTE[0], label=f"proven\n({leaked.headline})"),
        line(PLAIN, _curves(_as_if_independent(leaked))["independent"], _PLAIN_LABEL),
    ]
    attained = [(epsilon, audit.attained_at(epsilon)) for epsilon, _ in proven]
    least = min(delta for _, delta in proven)
    points = tuple((epsilon, found.delta) for epsilon, found in attained if found and found.delta >= least)
    if points:
        lines.append(Line("known attacker", points, PALETTE[1], label="a known attacker\nattains this"))
    bound = audit.lower_bound
    if bound is not None and bound.delta > 0:
        lines.append(Line("lower bound", ((audit.epsilon, bound.delta),), PALETTE[2], "o", "lower bound\nfrom outputs"))
    return _chart(
        "audit",
        f"What {leaked.spend[-1].query.description} with {audit.loss.description} leaks: {caption(leaked.model)}",
        (*lines, _ring(leaked)),
        f"Ring: ε = {shown_above(audit.epsilon, 4)} with δ = {shown_above(audit.delta, 3)} is proven. Assumed: "
        f"{leaked.assumption}",
    )


def _chart(name: str, title: str, lines: tuple[Line, ...], source: str) -> Chart:
    return Chart(name, title, _EPSILON, _DELTA, (Panel(lines),), source=source, log="y")


def _ring(leaked: ApproximateLeakage) -> Line:
    return Line("asked", ((leaked.epsilon, leaked.delta),), CHOSEN, "ring")


def _as_if_independent(leaked: ApproximateLeakage) -> ApproximateLeakage:
    """Return what plain DP states about the same losses: what would leak if records were independent."""
    spend = tuple(Release(AnyMechanism(), release.loss) for release in leaked.spend)
    return replace(leaked, model=Independent(), spend=spend, parts=())


def _curves(leaked: ApproximateLeakage) -> dict[str, Points]:
    """Return the (ε, δ) of every theorem for the same release, by other τ's or by other δ's."""
    model, spend = leaked.model, leaked.spend
    amounts: Sequence[tuple[Spend, float | None]]
    if isinstance(leaked.loss, ApproximateLoss):
        amounts = [(_scaled(spend, factor), None) for factor in AROUND]
    else:
        deltas = [leaked.delta * 10.0**power for power in _DECADES]
        amounts = [(spend, delta) for delta in deltas if 0 < delta < 1]
    points: dict[str, list[tuple[float, float]]] = {}
    for losses, delta in tracked(amounts, len(amounts), "evaluating every theorem"):
        for row in _assessed(model, losses, delta):
            if row.epsilon and row.delta:
                points.setdefault(row.theorem, []).append((row.epsilon, row.delta))
    return {name: tuple(sorted(found)) for name, found in points.items()}


def _scaled(spend: Spend, factor: float) -> Spend:
    """Return releases with their τ's scaled, at the same δ."""
    scaled: list[Release] = []
    for release in spend:
        assert isinstance(release.loss, PureLoss | ApproximateLoss)
        scaled.append(Release(release.query, replace(release.loss, tau=factor * release.loss.tau)))
    return tuple(scaled)


def _assessed(model: Model, spend: Spend, delta: float | None) -> tuple[Assessment, ...]:
    try:
        return approximate_report(model, spend, delta).assessments
    except (NoTheoremAppliesError, TooLargeError):
        return ()
