"""What a figure shows, before anything is drawn: panels, lines, the sentence that says what to see."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bayesdp.experiments.paper import FIGURES

__all__ = ["COLOURS", "Chart", "Line", "Panel", "line"]

Points = tuple[tuple[float, float], ...]
Style = Literal["-", "--", ":", "o", "ring", "area"]

_BLUE, _VERMILLION, _GREEN, _PURPLE, _ORANGE, _SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
_BLACK, _GREY = "#000000", "#767676"

COLOURS: Mapping[str, str] = {
    "plain-dp": _GREY,
    "general": _BLACK,
    "markov-paper": _VERMILLION,
    "markov-mixing": _BLUE,
    "markov-quilt": _GREEN,
    "markov-count": _PURPLE,
    "gaussian-paper": _VERMILLION,
    "gaussian-tight": _BLUE,
    "gaussian-covariance": _GREEN,
    "chakrabarti-2022": _ORANGE,
    "randomized-response": _SKY,
    "yang-2015": _BLACK,
    "first": _BLUE,
    "second": _VERMILLION,
    "third": _GREEN,
    "fourth": _PURPLE,
    "fifth": _ORANGE,
    "sixth": _SKY,
}
"""Okabe and Ito's palette, told apart by colour-blind readers; a mechanism has one colour in all figures."""


@dataclass(frozen=True)
class Line:
    """One line, or the markers on it. An empty label is not written; `name` is what the CSV calls it."""

    name: str
    points: Points
    colour: str
    style: Style = "-"
    label: str = ""


@dataclass(frozen=True)
class Panel:
    """One pair of axes. labels: where its lines are named, right of the axes or above each line's end; "" nowhere."""

    lines: tuple[Line, ...]
    title: str = ""
    labels: Literal["right", "above", ""] = "right"


@dataclass(frozen=True)
class Chart:
    """A figure: panels that share their axes' meaning and vertical range.

    says:    one sentence: what the reader should see. It stands in the picture, and so does the source.
    source:  which data it was computed from.
    note:    what else to know, written under the figure in the report.
    columns: how many panels stand side by side.
    log:     which axes are logarithmic: "x", "y" or "xy".
    limits:  the vertical range. span: the horizontal one. ticks: on the horizontal axis.
    """

    name: str
    says: str
    x: str
    y: str
    panels: tuple[Panel, ...]
    source: str = "theory only, no data"
    note: str = ""
    columns: int = 1
    log: str = ""
    limits: tuple[float, float] | None = None
    span: tuple[float, float] | None = None
    ticks: tuple[float, ...] = ()

    @property
    def title(self) -> str:
        """What the paper calls the figure."""
        return FIGURES.get(self.name, self.name)

    def csv(self) -> str:
        """Return every number drawn, one point a line, floats so that they read back as the same float."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["panel", "series", "kind", self.x, self.y])
        for panel in self.panels:
            for each in panel.lines:
                kind = "markers" if each.style in ("o", "ring") else "line"
                writer.writerows([panel.title, each.name, kind, x, y] for x, y in each.points)
        return out.getvalue()


def line(
    mechanism: str, points: Points, label: str = "", style: Style | None = None, colour: str | None = None
) -> Line:
    """Return a mechanism's line in its colour; plain DP is dashed, what is no guarantee dotted.

    >>> line("plain-dp", ((1.0, 3.0),)).style
    '--'
    """
    usual: Style = "--" if mechanism == "plain-dp" else ":" if mechanism == "chakrabarti-2022" else "-"
    return Line(mechanism, points, colour or COLOURS[mechanism.partition(",")[0]], style or usual, label)
