"""What a figure shows, before anything is drawn: panels, lines, the sentence that says what to see."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bayesdp.plotting.palette import PLAIN, colour_of

__all__ = ["Chart", "Line", "Panel", "Points", "Style", "coinciding", "line"]

Points = tuple[tuple[float, float], ...]
Style = Literal["-", "--", "-.", ":", "o", "ring", "area"]

_SAME = 1e-3
"""Lines that differ by less than this share of their height cannot be told apart in a picture."""


@dataclass(frozen=True)
class Line:
    """One line, or the markers on it. An empty label is not written; `name` is what the CSV calls it.

    A line of a single point is drawn as a marker.
    """

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

    def csv(self) -> str:
        """Return every number drawn, one point a line, floats so that they read back as the same float."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["panel", "series", "kind", self.x, self.y])
        for panel in self.panels:
            for drawn in panel.lines:
                kind = "markers" if drawn.style in ("o", "ring") else "line"
                writer.writerows([panel.title, drawn.name, kind, x, y] for x, y in drawn.points)
        return out.getvalue()


def line(
    mechanism: str, points: Points, label: str = "", style: Style | None = None, colour: str | None = None
) -> Line:
    """Return a mechanism's line in its colour; plain DP is dashed, what is no guarantee dotted.

    >>> line("plain-dp", ((1.0, 3.0),)).style
    '--'
    """
    usual: Style = "--" if mechanism == PLAIN else ":" if mechanism == "chakrabarti-2022" else "-"
    return Line(mechanism, points, colour or colour_of(mechanism), style or usual, label)


def coinciding(curves: Mapping[str, Points]) -> list[list[str]]:
    """Return the names of curves in order, those that cannot be told apart together.

    >>> coinciding({"general": ((1.0, 3.0),), "markov-paper": (), "yang-2015": ((1.0, 3.0),)})
    [['general', 'yang-2015'], ['markov-paper']]
    """
    groups: list[list[str]] = []
    for name, points in curves.items():
        group = next((group for group in groups if _alike(curves[group[0]], points)), None)
        if group is None:
            groups.append([name])
        else:
            group.append(name)
    return groups


def _alike(first: Points, second: Points) -> bool:
    return [x for x, _ in first] == [x for x, _ in second] and all(
        abs(one - other) <= _SAME * abs(one) for (_, one), (_, other) in zip(first, second, strict=True)
    )
