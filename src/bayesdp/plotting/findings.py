"""Pictures of a diagnosis: how surprising the table would be under each assumption."""

from __future__ import annotations

from pathlib import Path

from bayesdp._support.words import listed
from bayesdp.diagnostics.report import DOUBTFUL, VIOLATED
from bayesdp.models.diagnosis import Diagnosis, Finding, Verdict
from bayesdp.plotting.charts import NOT_PRIVATE, Chart, Line, Panel, Style, titled
from bayesdp.plotting.drawing import save
from bayesdp.plotting.palette import verdict_colour

__all__ = ["diagnosis_chart", "plot_diagnosis"]

_SMALLEST, _LARGEST = 1e-8, 1.0
"""The range of p-values in the picture; smaller ones are drawn at the left end."""

_P = "p_value"


def plot_diagnosis(diagnosis: Diagnosis, path: str | Path) -> Path:
    """Draw the findings and return the path; raises as `plotting.drawing.save` does."""
    return save(diagnosis_chart(diagnosis), path)


def diagnosis_chart(diagnosis: Diagnosis) -> Chart:
    """Return a row for each finding, with its p-value; a ring at the right if it has none.

    The smaller the p-value, the worse the table fits the assumption. Several tests of one finding are small rings.
    """
    height = len(diagnosis.findings)
    guides = [
        Line(name, ((limit, -0.5), (limit, height - 0.5)), verdict_colour(name), "--")
        for name, limit in ((Verdict.DOUBTFUL, DOUBTFUL), (Verdict.VIOLATED, VIOLATED))
    ]
    drawn = [part for row, finding in enumerate(diagnosis.findings) for part in _drawn(finding, row)]
    return Chart(
        "diagnosis",
        f"{titled(diagnosis.table_name, diagnosis.records)}: {_verdict(diagnosis)}",
        "p-value; at the left end 10⁻⁸ or less",
        "",
        (Panel((*guides, *drawn)),),
        source=f"{NOT_PRIVATE} Dashed: below {DOUBTFUL:g} doubtful, below {VIOLATED:g} violated if the deviation "
        f"matters. Ring: no test, or too little power. "
        f"Data: {diagnosis.basis}{', ' if diagnosis.date else ''}{diagnosis.date}. "
        f"Assumed: {diagnosis.assumption}",
        log="x",
        span=(_SMALLEST / 3, 3 * _LARGEST),
        ticks=(_SMALLEST, 1e-6, VIOLATED, DOUBTFUL, 0.1, _LARGEST),
        names=tuple(finding.name for finding in diagnosis.findings),
    )


def _verdict(diagnosis: Diagnosis) -> str:
    """Return the verdict in words, with the findings behind it."""
    named = [finding.name for finding in diagnosis.findings if finding.verdict == diagnosis.verdict]
    if not named or diagnosis.verdict == Verdict.FINE:
        return "no evidence against the model" if named else "nothing was tested"
    words = {
        Verdict.VIOLATED: "violated",
        Verdict.DOUBTFUL: "doubtful",
        Verdict.NOT_TESTED: "nothing is violated, but not tested",
    }
    return f"{words[diagnosis.verdict]}: {listed(named)}"


def _drawn(finding: Finding, row: int) -> list[Line]:
    """Return the p-values of a finding; its verdict is the label at the right of the row."""
    colour = verdict_colour(finding.verdict)
    cases = sorted({_place(value) for name, value in finding.values.items() if name.endswith(f": {_P}")})
    tested = _P in finding.values
    worst = _place(finding.values[_P]) if tested else _LARGEST
    lines = [Line(finding.name, tuple((place, float(row)) for place in cases), colour, "ring")] if cases else []
    style: Style = "o" if tested and finding.verdict != Verdict.NOT_TESTED else "ring"
    return [*lines, Line(finding.name, ((worst, float(row)),), colour, style, finding.shown)]


def _place(p_value: float) -> float:
    return min(max(p_value, _SMALLEST), _LARGEST)
