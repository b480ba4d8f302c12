"""Pictures of an attacker's belief before and after: plain DP beside the release that keeps the promise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from bayesdp.plotting.charts import Chart, Line, Panel, Points, caption, distinguished, line
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
    """Draw the largest possible beliefs and return the path; raises as `plotting.drawing.save` does."""
    source = f"{caption(audit.model)}; {audit.worst_case.release}; assumed: {audit.model.assumption}"
    return save(beliefs_chart(audit.beliefs, source=source), path)


def beliefs_chart(beliefs: Beliefs, *, source: str) -> Chart:
    """Return an attacker's largest probability of the true value after the release, over that before.

    A dot marks what the worst known attacker attains, if that was computed.
    """
    ours = Line("bayesdp", _curve(beliefs.calibrated), _OURS, label=_label("bayesdp", beliefs.calibrated))
    plain = line(PLAIN, _curve(beliefs.plain), _label("plain DP", beliefs.plain))
    same = beliefs.plain.epsilon == beliefs.calibrated.epsilon
    lines = [
        Line("nothing", ((0.0, 0.0), (1.0, 1.0)), _NOTHING, ":", "no release"),
        *(distinguished([ours, plain]) if same else (ours, plain)),
    ]
    for reported, curve in ((beliefs.plain, plain), (beliefs.calibrated, ours)):
        if reported.attained is not None:
            lines.append(Line(curve.name, ((reported.prior, reported.attained),), curve.colour, "o"))
    return Chart(
        "beliefs",
        f"A release that promises ε = {beliefs.promise:g}: an attacker's belief about a record",
        "probability of the true value before",
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
