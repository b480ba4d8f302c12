"""The price of correlation in one picture: ε over τ for chains whose neighbours have an odds ratio of at most θ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bayesdp import leakage
from bayesdp.models import OddsChain
from bayesdp.plotting.charts import Chart, Line, Panel, line
from bayesdp.plotting.drawing import save
from bayesdp.plotting.palette import PALETTE, PLAIN
from bayesdp.queries import Count

__all__ = ["ODDS", "odds_picture", "odds_price"]

ODDS = (2.0, 9.0, 17.0, 100.0)
"""Weak, noticeable, a step counter's five-minute intervals, nearly determined."""

_TAUS = tuple(np.geomspace(0.01, 10, 121).tolist())


def odds_price(odds: Sequence[float] = ODDS, taus: Sequence[float] = _TAUS) -> Chart:
    """Return ε over τ for chains of any length with these odds ratios, beside plain DP's claim.

    >>> chart = odds_price(odds=[9.0], taus=[1.0])
    >>> [(line.name, round(line.points[0][1], 6)) for line in chart.panels[0].lines]
    [('θ = 9', 2.79762), ('plain-dp', 1.0)]
    """
    lines = []
    for place, ratio in enumerate(odds):
        points = tuple((tau, leakage(OddsChain(ratio), Count(equals=1), tau=tau).epsilon) for tau in taus)
        lines.append(Line(f"θ = {ratio:g}", points, PALETTE[place], label=f"θ = {ratio:g}"))
    lines.append(line(PLAIN, tuple((tau, tau) for tau in taus), "plain DP promises this,\nunprotected"))
    return Chart(
        "odds-price",
        "One number is enough: if neighbours' odds ratio is at most θ, sinh(ε/4) = √θ·sinh(τ/4). "
        "For small ε the price of correlation is √θ.",
        "ordinary differential privacy τ of the release",
        "proven leakage ε",
        (Panel(tuple(lines)),),
        source="any question, any mechanism, chains of any length; theory only, no data",
        log="xy",
    )


def odds_picture(path: str | Path) -> Path:
    """Draw `odds_price` into a file and return its path; raises as `plotting.drawing.save` does."""
    return save(odds_price(), path)
