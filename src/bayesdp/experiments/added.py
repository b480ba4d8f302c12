"""The paper's figures of the error with what this library adds: (ε, δ), windows, and odds by distance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from bayesdp.accuracy import Gaussian, Laplace, laplace_scale
from bayesdp.calibration.calibrate import calibrate
from bayesdp.experiments.figures import PAPER_AXES, best_of, label_of, source_of
from bayesdp.experiments.simulate import PLAIN, Result, taus
from bayesdp.experiments.studies import Study
from bayesdp.plotting.charts import Chart, Line, Panel, line
from bayesdp.plotting.palette import PALETTE
from bayesdp.theorems.registry import theorem_named

__all__ = ["DELTA", "Curve", "added_charts", "curves_of_each_window", "curves_of_one_answer"]

DELTA, _DELTA = 1e-6, "δ = 10⁻⁶"
"""The δ of these figures, and how it is written."""

GAUSSIAN, ODDS, WINDOWS = "Gaussian noise", "odds by distance", "windows"
"""What is added, as curves are named."""

EPSILONS = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0)
_SAID_AT = 5.0
_COLOURS = {GAUSSIAN: PALETTE[4], WINDOWS: PALETTE[5], ODDS: PALETTE[3]}

Law = Laplace | Gaussian
Measure = Callable[[Law], float]


@dataclass(frozen=True)
class Curve:
    """The noise of each answer under one theorem or method, by the ε that it reaches."""

    name: str
    label: str
    laws: dict[float, Law]
    proven: bool = True


def curves_of_one_answer(study: Study, result: Result) -> tuple[Curve, ...]:
    """Return the noise of one answer: the paper's lines, our best, Gaussian noise for (ε, δ), and odds by distance."""
    return (
        *_published(result, [PLAIN, *_names(result)], 1),
        _gaussian(study, result, 1),
        *(Curve(ODDS, f"{ODDS} (ours)", laws) for laws in _odds(study, result)),
    )


def curves_of_each_window(study: Study, result: Result) -> tuple[Curve, ...]:
    """Return the noise of each answer if every window gets one.

    Without windows, each answer is paid for as one about all records, so that all of them share the promise.
    """
    best = best_of(result)
    found = taus(theorem_named(best), study.experiment.model, study.windows.question(result.query), EPSILONS)
    laws: dict[float, Law] = {
        epsilon: Laplace(laplace_scale(result.query, tau))
        for epsilon, tau in zip(EPSILONS, found, strict=True)
        if tau is not None
    }
    return (
        *_published(result, _names(result), study.windows.number),
        _gaussian(study, result, study.windows.number),
        Curve(WINDOWS, f"{WINDOWS}, {best} (ours)", laws),
        *(Curve(ODDS, f"{WINDOWS}, {ODDS} (ours)", laws) for laws in _odds(study, result)),
    )


def _names(result: Result) -> list[str]:
    """Return the general bound, the paper's bound for these data, and the best of ours."""
    own = next(name for name in result.mechanisms if name.startswith(("gaussian-paper", "markov-paper")))
    return list(dict.fromkeys(["general", own, best_of(result)]))


def _published(result: Result, names: Sequence[str], number: int) -> list[Curve]:
    """Return the curves of mechanisms of a result, if so many answers share the promise: every theorem adds up τ."""
    return [
        Curve(
            name,
            label_of([name]),
            {
                row.epsilon: Laplace(laplace_scale(result.query, row.tau / number))
                for row in result.at(name)
                if row.tau is not None and row.epsilon >= 1
            },
            name == PLAIN or all(row.proven for row in result.at(name)),
        )
        for name in names
    ]


def _gaussian(study: Study, result: Result, number: int) -> Curve:
    """Return the curve of Gaussian noise, if so many answers share the promise: ρ adds up, too."""
    laws: dict[float, Law] = {
        epsilon: Gaussian(scale * math.sqrt(number)) for epsilon, scale in _gaussian_scales(study, result).items()
    }
    return Curve(GAUSSIAN, f"{GAUSSIAN},\n{_DELTA} (ours)", laws)


@lru_cache(maxsize=1)
def _gaussian_scales(study: Study, result: Result) -> dict[float, float]:
    found = calibrate(study.experiment.model, result.query, epsilon=EPSILONS, delta=DELTA, noise="gaussian")
    return {each.epsilon: each.scale for each in found}


@lru_cache(maxsize=1)
def _odds(study: Study, result: Result) -> tuple[dict[float, Law], ...]:
    """Return the noise under odds by distance, the same for one answer and for each of several windows."""
    question = study.windows.question(result.query)
    return tuple(
        {each.epsilon: Laplace(each.scale) for each in calibrate(series, question, epsilon=EPSILONS)}
        for series in study.series
    )


def added_charts(study: Study, result: Result) -> tuple[Chart, Chart]:
    """Return the figures of the error and of MAPE, each with a panel for one answer and one for windows."""
    one, each = curves_of_one_answer(study, result), curves_of_each_window(study, result)

    def alpha(law: Law) -> float:
        return law.alpha(result.beta)

    error = _chart(study, result, "error", f"error α at β = {100 * result.beta:g} % ({study.unit})")
    mape = _chart(study, result, "mape", "mean absolute error (% of the answer)")
    return (
        replace(error, says=_said(study, each, alpha, study.unit), panels=_panels(study, (one, alpha), (each, alpha))),
        replace(
            mape,
            says=_said(study, each, _share_of(study.windows.answers), "%"),
            panels=_panels(study, (one, _share_of(result.answers)), (each, _share_of(study.windows.answers))),
        ),
    )


def _chart(study: Study, result: Result, kind: str, height: str) -> Chart:
    series = f" The odds by distance were fitted to these data: {study.series[0].assumption}." if study.series else ""
    return Chart(
        f"{study.name}-added-{kind}",
        "",
        "promised leakage ε",
        height,
        (),
        source=source_of(study, result),
        note=f"Theory. {GAUSSIAN} keeps (ε, δ) with {_DELTA}; all other lines keep ε alone. Below: lines without "
        f"windows answer as many questions about all records, which share the promise.{series}",
    )


def _panels(study: Study, *measured: tuple[Sequence[Curve], Measure]) -> tuple[Panel, ...]:
    windows = study.windows
    titles = ("one answer", f"one answer for each {windows.by}: {windows.number} answers, one promise")
    return tuple(
        Panel(tuple(_line(curve, measure) for curve in curves), title, "right", PAPER_AXES)
        for title, (curves, measure) in zip(titles, measured, strict=True)
    )


def _line(curve: Curve, measure: Measure) -> Line:
    points = tuple((epsilon, measure(law)) for epsilon, law in sorted(curve.laws.items()))
    return line(curve.name, points, curve.label, None if curve.proven else ":", _COLOURS.get(curve.name))


def _said(study: Study, each: Sequence[Curve], measure: Measure, unit: str) -> str:
    """Return what each of the answers costs with windows, and without."""
    errors = {curve.name: measure(curve.laws[_SAID_AT]) for curve in each if curve.proven and _SAID_AT in curve.laws}
    without = min(error for name, error in errors.items() if name not in _COLOURS)
    return (
        f"At ε = {_SAID_AT:g} each of {study.windows.number} answers by {study.windows.by} is off by "
        f"{errors[WINDOWS]:.3g} {unit}; without windows by {without:.3g}, or {errors[GAUSSIAN]:.3g} with {GAUSSIAN} "
        f"and {_DELTA}."
    )


def _share_of(answers: Sequence[float]) -> Measure:
    """Return the mean absolute error in percent of the answers that are not 0."""
    some = [abs(answer) for answer in answers if answer != 0]
    mean = sum(1 / answer for answer in some) / len(some)

    def share(law: Law) -> float:
        return 100 * mean * law.scale * (math.sqrt(2 / math.pi) if isinstance(law, Gaussian) else 1)

    return share
