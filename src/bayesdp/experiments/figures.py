"""The figures of one data set: error and MAPE over ε, theory as lines and simulated releases as markers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from bayesdp.calibration.prior_art import PRIOR_ART
from bayesdp.experiments.paper import DATA
from bayesdp.experiments.simulate import PLAIN, Result, Row
from bayesdp.experiments.studies import IF_EQUAL, Study
from bayesdp.experiments.tables import least_epsilon
from bayesdp.plotting.charts import Chart, Line, Panel, Points, Scales, alike, line

__all__ = ["PAPER_AXES", "best_of", "coinciding", "error_chart", "label_of", "mape_chart", "source_of"]

_NOT_OURS = {"general", *(method.name for method in PRIOR_ART)}
PAPER_AXES = Scales(log="y", span=(0, 20.5), ticks=(1, 5, 10, 15, 20))
"""The axes of the paper's figures: ε from 1 to 20, and a logarithmic error."""

_OURS = Scales(log="xy", ticks=(0.1, 0.5, 2, 10))


def error_chart(study: Study, result: Result) -> Chart:
    """Return the figure of the error: the theoretical α, with the 95 % quantile of simulated releases as markers."""
    lines: list[Line] = []
    for names in _distinct(result):
        lines.append(_drawn(result, names, lambda row: row.alpha))
        lines.append(line(names[0], _points(result, names[0], lambda row: row.quantile), style="o"))
    return Chart(
        f"{study.name}-error",
        _error_sentence(study, result),
        "promised leakage ε",
        f"error α at β = {100 * result.beta:g} % ({study.unit})",
        _panels(lines),
        source=source_of(study, result),
        note=f"Lines: theory. Markers: {100 * (1 - result.beta):g} % quantile over {study.experiment.runs:,} simulated "
        f"releases. {_note(study, result)}",
        columns=2,
    )


def mape_chart(study: Study, result: Result) -> Chart:
    """Return the figure of the mean absolute percentage error in theory, with simulated releases as markers."""
    lines: list[Line] = []
    for names in _distinct(result):
        lines.append(_drawn(result, names, result.expected))
        lines.append(line(names[0], _points(result, names[0], lambda row: row.mape), style="o"))
    best = best_of(result)
    ours, general, plain = (_percent(result, name) for name in (best, "general", PLAIN))
    return Chart(
        f"{study.name}-mape",
        f"At ε = 1 the answer is off by {ours} on average with {best}, {general} with general, {plain} without "
        "protection.",
        "promised leakage ε",
        "mean absolute error (% of the answer)",
        _panels(lines),
        source=source_of(study, result),
        note=f"Lines: theory. Markers: mean over {study.experiment.runs:,} simulated releases."
        f"{_mape_note(study, result)}",
        columns=2,
    )


def _panels(lines: Sequence[Line]) -> tuple[Panel, Panel]:
    """Return the lines twice: with the paper's axes from ε = 1 on, and with a logarithmic ε, which shows small ones."""
    from_one = [replace(line, points=tuple(point for point in line.points if point[0] >= 1)) for line in lines]
    return (
        Panel(tuple(from_one), "the paper's axes", "", PAPER_AXES),
        Panel(tuple(lines), "small ε, too", "right", _OURS),
    )


def _distinct(result: Result) -> list[list[str]]:
    """Return the mechanisms, grouped if they coincide at every ε."""
    return coinciding({name: _points(result, name, lambda row: row.factor) for name in result.mechanisms})


def coinciding(curves: Mapping[str, Points]) -> list[list[str]]:
    """Return the names of curves in order, grouped if they cannot be distinguished.

    >>> coinciding({"general": ((1.0, 3.0),), "markov-paper": (), "yang-2015": ((1.0, 3.0),)})
    [['general', 'yang-2015'], ['markov-paper']]
    """
    groups: list[list[str]] = []
    for name, points in curves.items():
        group = next((group for group in groups if alike(curves[group[0]], points)), None)
        if group is None:
            groups.append([name])
        else:
            group.append(name)
    return groups


def _drawn(result: Result, names: list[str], value: Callable[[Row], float | None]) -> Line:
    proven = all(row.proven for name in names for row in result.at(name)) or names == [PLAIN]
    label = label_of(names)
    return line(names[0], _points(result, names[0], value), label, None if proven else ":")


def _points(result: Result, name: str, value: Callable[[Row], float | None]) -> tuple[tuple[float, float], ...]:
    pairs = ((row.epsilon, value(row)) for row in result.at(name))
    return tuple((epsilon, number) for epsilon, number in pairs if number is not None)


def label_of(names: list[str]) -> str:
    """Return the label of a line: the names of all theorems that coincide, and their common assumption.

    >>> print(label_of(["gaussian-paper, if variances were equal", "gaussian-tight, if variances were equal"]))
    gaussian-paper
    = gaussian-tight (ours),
    if variances were equal
    """
    if names == [PLAIN]:
        return "plain DP,\nunprotected"
    supposed = {name.partition(", ")[2] for name in names}
    if len(supposed) > 1:
        return "\n= ".join(label_of([name]) for name in names)
    theorems = [name.partition(", ")[0] for name in names]
    ours = {name: "" if name in _NOT_OURS or name.endswith("-paper") else " (ours)" for name in theorems}
    return ",\n".join(filter(None, ["\n= ".join(name + ours[name] for name in theorems), *supposed]))


def best_of(result: Result) -> str:
    """Return the theorem that proves the smallest error at the smallest ε."""
    proven = [rows for name in result.mechanisms if (rows := result.at(name))[0].proven and rows[0].factor is not None]
    return min(proven, key=lambda rows: round(rows[0].factor or 0.0, 6))[0].mechanism


def _percent(result: Result, mechanism: str) -> str:
    (row,) = result.at(mechanism, 1)
    share = result.expected(row)
    return "an unknown share" if share is None else f"{share:.2g} %" if share < 100 else f"{share:,.0f} %"


def _error_sentence(study: Study, result: Result) -> str:
    best = best_of(result)
    (ours,), (general,) = result.at(best, 1), result.at("general", 1)
    cost = f"{best} costs {ours.factor:.2f} times plain DP's error"
    if DATA[study.name].matrix is not None:
        least = least_epsilon("markov-paper", study)
        (paper,) = result.at("markov-paper", 10)
        return (
            f"At ε = 1 {cost}, general {general.factor:,.0f} times; markov-paper begins at ε = {least:.2f} and costs "
            f"{paper.factor:.2f} times at ε = 10."
        )
    paper_name = next(name for name in result.mechanisms if name.startswith("gaussian-paper"))
    (paper,) = result.at(paper_name, 1)
    if paper.proven:
        return f"{cost}, just as the paper's bound does; general costs {general.factor:g} times."
    return (
        f"{cost}, general {general.factor:g} times; the paper's bound gives {paper.factor:.4g}, assuming equal "
        "variances, which these data do not have."
    )


def _note(study: Study, result: Result) -> str:
    sentences = [
        f"Diagnosis of these data: {study.diagnosis.verdict} ({study.judged}).",
        *(f"{remark}." for remark in study.remarks),
    ]
    if len(result.answers) > 1:
        sentences.append(
            f"Averaged over {len(result.answers)} days, each as a separate chain, as in the paper; in fact "
            "neighbouring days form one chain, which the general bound for 288 records does not cover."
        )
    if "markov-count" in dict(result.reasons) and DATA[study.name].matrix is not None:
        sentences.append(f"markov-count is left out: {dict(result.reasons)['markov-count']}.")
    joined = [" = ".join(name for name in names) for names in _distinct(result) if len(names) > 1]
    if joined:
        sentences.append(f"Lines that coincide are drawn once: {'; '.join(joined)}.")
    if any(IF_EQUAL in name for name in result.mechanisms):
        sentences.append(
            "Dotted: no guarantee, since both theorems need equal variances, which these data do not have. "
            "gaussian-paper is what the paper published, from its printed ρ; gaussian-tight is ours, from the same ρ."
        )
    return " ".join(sentences)


def _mape_note(study: Study, result: Result) -> str:
    if len(result.answers) > 1 and study.data.source == "twin":
        return " MAPE depends on the activity of the quietest days, which the twin does not reproduce."
    return ""


def source_of(study: Study, result: Result) -> str:
    """Return the line under the sentence of a figure: the data and their size."""
    size = f"n = {study.records:,}" + (f", m = {study.size}" if study.size < study.records else "")
    size += f", mean over {len(result.answers)} days" if len(result.answers) > 1 else ""
    return f"{study.label}, {size}" + ("" if study.data.source == "twin" else f" · {study.source}")
