"""What an attacker believes, as a picture: before and after, plain DP beside the release that keeps the promise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from bayesdp.plotting.captions import caption
from bayesdp.plotting.charts import Chart, Line, Panel, Points, line, told_apart
from bayesdp.plotting.drawing import save
from bayesdp.plotting.palette import PALETTE, PLAIN
from bayesdp.rounding import shown_below, shown_pair

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
    source = f"{caption(audit.model)}; {audit.worst_case.release}; assumed: {audit.model.assumption}"
    return save(beliefs_chart(audit.beliefs, source=source), path)


def beliefs_chart(beliefs: Beliefs, *, source: str) -> Chart:
    """Return how probable the truth can become to an attacker, over how probable it was to him before.

    A dot marks what an attacker who is known attains, where that was looked for.
    """
    ours = Line("bayesdp", _curve(beliefs.calibrated), _OURS, label=_label("bayesdp", beliefs.calibrated))
    plain = line(PLAIN, _curve(beliefs.plain), _label("plain DP", beliefs.plain))
    same = beliefs.plain.epsilon == beliefs.calibrated.epsilon
    lines = [
        Line("nothing", ((0.0, 0.0), (1.0, 1.0)), _NOTHING, ":", "before: nothing learnt"),
        *(told_apart([ours, plain]) if same else (ours, plain)),
    ]
    for reported, curve in ((beliefs.plain, plain), (beliefs.calibrated, ours)):
        if reported.attained is not None:
            lines.append(Line(curve.name, ((reported.prior, reported.attained),), curve.colour, "o"))
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


def _curve(reported: Belief) -> Points:
    """Return the largest posterior over the prior: the odds grow by e^ε."""
    shares = [place / _GRID for place in range(1, _GRID)]
    after = [(prior, 1 / (1 + (1 - prior) / prior * math.exp(-reported.epsilon))) for prior in shares]
    return ((0.0, 0.0), *after, (1.0, 1.0))


def _label(name: str, reported: Belief) -> str:
    before, after = (shown_pair(share) or "nearly certain" for share in (reported.prior, reported.posterior))
    return f"{name}, τ = {shown_below(reported.tau, 3)}:\n{before} → {after}"
