"""The content of a figure: panels, lines and a sentence that states the finding; `drawing` draws it."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from bayesdp._support.validation import escaped
from bayesdp.plotting.palette import PLAIN, colour_of

if TYPE_CHECKING:
    from bayesdp.models import Model

__all__ = [
    "NOT_PRIVATE",
    "Chart",
    "HeatMap",
    "Line",
    "Panel",
    "Points",
    "Scales",
    "Style",
    "alike",
    "caption",
    "distinguished",
    "line",
    "steps",
    "titled",
]

Points = tuple[tuple[float, float], ...]
Style = Literal["-", "--", "-.", ":", "o", "ring", "area"]

_SAME = 1e-3
"""Lines that differ by less than this share of their height count as equal."""

_ON_LINE = 0.006
"""The width of a line, as a share of the height of a picture."""

NOT_PRIVATE = "Computed from the data without noise; do not publish."
"""Printed in pictures without a guarantee."""


@dataclass(frozen=True)
class Line:
    """One line, or the markers on it. `name` is its name in the CSV; an empty label is not drawn.

    A line of a single point is drawn as a marker.

    turns: its position among overlapping lines, and their number; they are drawn in turns, each for a short stretch.
    intervals: the ends of the error bar of each point; none without error bars.
    """

    name: str
    points: Points
    colour: str
    style: Style = "-"
    label: str = ""
    turns: tuple[int, int] = (0, 1)
    intervals: Points = ()


@dataclass(frozen=True)
class HeatMap:
    """Numbers in rows, from the top down, each drawn as a colour; None where there is no number.

    label: what the numbers are, beside the scale of colours.
    """

    rows: tuple[tuple[float | None, ...], ...]
    label: str


@dataclass(frozen=True)
class Scales:
    """The scales of a pair of axes.

    log:    the logarithmic axes: "x", "y" or "xy".
    limits: the vertical range. span: the horizontal one. ticks: on the horizontal axis.
    """

    log: str = ""
    limits: tuple[float, float] | None = None
    span: tuple[float, float] | None = None
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True)
class Panel:
    """One pair of axes. labels: where lines are named: right of the axes, above each line's end, or nowhere ("").

    scales: its own scales; None for those of the chart.
    heat:   a heat map below the lines.
    """

    lines: tuple[Line, ...]
    title: str = ""
    labels: Literal["right", "above", ""] = "right"
    scales: Scales | None = None
    heat: HeatMap | None = None


@dataclass(frozen=True)
class Chart:
    """A figure: panels that share their axes' meaning, and their vertical range if none has scales of its own.

    says:    one sentence that states the finding. The picture shows it, and the source.
    source:  the data it was computed from.
    note:    further information, printed under the figure in the report.
    columns: the number of panels side by side.
    log, limits, span, ticks: the `Scales` of panels that have none of their own.
    whole:   mark only whole numbers on the horizontal axis, and give each panel its own axes.
    names:   labels of the heights 0, 1, …, from the top down, in place of numbers.
    across:  labels of the places 0, 1, … on the horizontal axis, in place of numbers.
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
    names: tuple[str, ...] = ()
    across: tuple[str, ...] = ()
    whole: bool = False

    def scales(self, panel: Panel) -> Scales:
        """Return the scales of a panel."""
        return panel.scales or Scales(self.log, self.limits, self.span, self.ticks)

    def csv(self) -> str:
        """Return every point, end of an error bar and cell of a heat map as a line of CSV.

        Floats are written so that they read back as the same float.
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["panel", "series", "kind", self.x, self.y])
        for panel in self.panels:
            for drawn in panel.lines:
                kind = "markers" if drawn.style in ("o", "ring") else "line"
                writer.writerows([panel.title, drawn.name, kind, x, y] for x, y in drawn.points)
                for (x, _), ends in zip(drawn.points, drawn.intervals, strict=bool(drawn.intervals)):
                    writer.writerows([panel.title, drawn.name, "end", x, end] for end in ends)
            for name, row in zip(self.names, panel.heat.rows if panel.heat else (), strict=panel.heat is not None):
                writer.writerows(
                    [panel.title, name, "cell", place, number] for place, number in zip(self.across, row, strict=True)
                )
        return out.getvalue()


def line(
    mechanism: str, points: Points, label: str = "", style: Style | None = None, colour: str | None = None
) -> Line:
    """Return a mechanism's line in its colour; plain DP is dashed, a method without a guarantee dotted.

    >>> line("plain-dp", ((1.0, 3.0),)).style
    '--'
    """
    usual: Style = "--" if mechanism == PLAIN else ":" if mechanism == "chakrabarti-2022" else "-"
    return Line(mechanism, points, colour or colour_of(mechanism), style or usual, label)


def distinguished(lines: Sequence[Line], log: str = "") -> tuple[Line, ...]:
    """Return lines that stay visible where they overlap; the label of a line that equals another names it.

    A line is cut where it joins others or leaves them. Lines that are closer than the width of a line are drawn in
    turns. log: as in the `Chart`.

    >>> points = ((1, 3), (2, 6))
    >>> first, second = distinguished([line("general", points, "a"), line("yang-2015", points, "b")])
    >>> second.label, second.turns
    ('b\\n(same as a)', (1, 2))
    """
    placed = _placed(lines, log)
    return tuple(piece for place in range(len(lines)) for piece in _pieces(place, lines, placed))


def _placed(lines: Sequence[Line], log: str) -> list[Points]:
    """Return the points of each line in picture coordinates, from 0 to 1 in both directions."""
    columns = []
    for axis, name in enumerate("xy"):
        on_axis = [[math.log10(point[axis]) if name in log else point[axis] for point in line.points] for line in lines]
        every = [value for of_line in on_axis for value in of_line]
        low, extent = min(every, default=0.0), (max(every, default=0.0) - min(every, default=0.0)) or 1.0
        columns.append([[(value - low) / extent for value in of_line] for of_line in on_axis])
    return [tuple(zip(xs, ys, strict=True)) for xs, ys in zip(*columns, strict=True)]


def _pieces(place: int, lines: Sequence[Line], placed: Sequence[Points]) -> list[Line]:
    whole = lines[place]
    same = next(other for other in lines if other is whole or alike(whole.points, other.points))
    label = whole.label if same is whole or not whole.label else f"{whole.label}\n(same as {_name_of(same)})"
    if len(whole.points) < 2:
        return [replace(whole, label=label)]
    near = [[other == place or _near(point, points) for other, points in enumerate(placed)] for point in placed[place]]
    turns = []
    for begin, end in pairwise(near):
        sharing = [other for other in range(len(lines)) if begin[other] and end[other]]
        turns.append((sharing.index(place), len(sharing)))
    cuts = [0, *(cut for cut in range(1, len(turns)) if turns[cut] != turns[cut - 1]), len(turns)]
    pieces = [
        replace(whole, points=whole.points[begin : end + 1], label="", turns=turns[begin])
        for begin, end in pairwise(cuts)
    ]
    return [*pieces[:-1], replace(pieces[-1], label=label)]


def steps(points: Points) -> Points:
    """Return points as a step function: each height holds until the next point.

    >>> steps(((0, 0.0), (1, 0.5)))
    ((0, 0.0), (1, 0.0), (1, 0.5))
    """
    corners = [corner for (_, before), (x, y) in pairwise(points) for corner in ((x, before), (x, y))]
    return (*points[:1], *corners)


def _near(point: tuple[float, float], points: Points) -> bool:
    """Whether a point of the picture visibly lies on a line."""
    x, y = point
    for (left, low), (right, high) in pairwise(points):
        left, low, right, high = (left, low, right, high) if left <= right else (right, high, left, low)
        if left - _ON_LINE <= x <= right + _ON_LINE:
            share = min(max((x - left) / (right - left), 0.0), 1.0) if right > left else None
            heights = (low, high) if share is None else (low + share * (high - low),)
            if any(abs(y - height) <= _ON_LINE for height in heights):
                return True
    return False


def caption(model: Model) -> str:
    """Return the table on which a model was diagnosed, if any, the number of records, and the type of the model.

    >>> from bayesdp import MarkovChain
    >>> caption(MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=15264))
    'model markov, up to n = 15,264 records together'
    """
    diagnosis, size = model.diagnosis, model.group_size
    if diagnosis is not None:
        return titled(diagnosis.table_name, diagnosis.records, f"model {model.kind}")
    if size is None:
        return f"model {model.kind}, any number of records"
    return f"model {model.kind}" + (f", up to n = {size:,} records together" if size > 1 else "")


def titled(dataset: str, records: int | None, *more: str) -> str:
    """Return a data set, its number of records, if it is known, and further items, in one line.

    >>> titled("activity.csv", 15264, "model markov")
    'activity.csv, n = 15,264, model markov'
    """
    known = [] if records is None else [f"n = {records:,}"]
    return escaped(", ".join([" ".join(dataset.split()), *known, *more]))


def _name_of(named: Line) -> str:
    return named.label.partition("\n")[0].partition(",")[0].partition(":")[0]


def alike(first: Points, second: Points) -> bool:
    """Whether two lines cannot be distinguished in a picture."""
    return len(first) == len(second) and all(
        abs(one - other) <= _SAME * abs(one)
        for pair in zip(first, second, strict=True)
        for one, other in zip(*pair, strict=True)
    )
