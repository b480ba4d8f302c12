"""What an attacker believes, as a picture: before and after, plain DP beside the release that keeps the promise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from bayesdp.plotting.charts import Chart, Line, Panel, Points, line
from bayesdp.plotting.drawing import save
from bayesdp.plotting.palette import PALETTE, PLAIN

if TYPE_CHECKING:
    from bayesdp.audit.audits import Audit
    from bayesdp.audit.beliefs import Belief, Beliefs

__all__ = ["beliefs_chart", "plot_audit"]

_GRID = 100
_OURS, _NOTHING = PALETTE[0], "#aaaaaa"


def plot_audit(audit: Audit, path: str | Path) -> Path:
    """Draw what an attacker can come to believe and return the path written.

    Raises MissingDependencyError without Matplotlib and InvalidInputError for a name that is no picture's or a place
    that cannot be written to.
    """
    source = f"{audit.worst_case.release}; assumed: {audit.assumption}"
    return save(beliefs_chart(audit.beliefs, source=source), path)


def beliefs_chart(beliefs: Beliefs, *, source: str) -> Chart:
    """Return how probable the truth can become to an attacker, over how probable it was to him before.

    A dot marks what an attacker who is known attains, where that was looked for.
    """
    lines = [
        line(PLAIN, _curve(beliefs.plain.epsilon), f"plain DP, τ = {beliefs.plain.tau:.4g}: {_said(beliefs.plain)}"),
        Line(
            "bayesdp",
            _curve(beliefs.calibrated.epsilon),
            _OURS,
            label=f"bayesdp, τ = {beliefs.calibrated.tau:.4g}: {_said(beliefs.calibrated)}",
        ),
        Line("nothing", ((0.0, 0.0), (1.0, 1.0)), _NOTHING, ":", "before: nothing learnt"),
    ]
    for name, told, colour in ((PLAIN, beliefs.plain, lines[0].colour), ("bayesdp", beliefs.calibrated, _OURS)):
        if told.attained is not None:
            lines.append(Line(name, ((told.prior, told.attained),), colour, "o"))
    return Chart(
        "beliefs",
        f"A release that promises ε = {beliefs.promise:g}: what an attacker can come to believe of a record",
        "probability of the truth before",
        "probability after, at most",
        (Panel(tuple(lines)),),
        source=source,
        limits=(0.0, 1.02),
        span=(0.0, 1.0),
    )


def _curve(epsilon: float) -> Points:
    """Return the largest posterior over the prior: the odds grow by e^ε."""
    shares = [place / _GRID for place in range(1, _GRID)]
    after = [(prior, 1 / (1 + (1 - prior) / prior * math.exp(-epsilon))) for prior in shares]
    return ((0.0, 0.0), *after, (1.0, 1.0))


def _said(told: Belief) -> str:
    after = 100 * told.posterior
    before = 100 * told.prior
    return f"{before:.3g} : {100 - before:.3g} becomes {after:.3g} : {100 - after:.3g}"
