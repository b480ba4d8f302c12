"""What a figure shows, before anything is drawn: panels, lines, the sentence that says what to see."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from bayesdp.plotting.palette import PLAIN, colour_of

__all__ = ["Chart", "Line", "Panel", "Points", "Style", "coinciding", "line", "steps", "told_apart"]

Points = tuple[tuple[float, float], ...]
Style = Literal["-", "--", "-.", ":", "o", "ring", "area"]

_SAME = 1e-3
"""Lines that differ by less than this share of their height are the same."""

_ON_LINE = 0.006
"""Of the height of a picture: about the width of a line."""


@dataclass(frozen=True)
class Line:
    """One line, or the markers on it. An empty label is not written; `name` is what the CSV calls it.

    A line of a single point is drawn as a marker.

    turns: which of how many lines that lie on one another it is; they are drawn in turns, each for a short stretch.
    """

    name: str
    points: Points
    colour: str
    style: Style = "-"
    label: str = ""
    turns: tuple[int, int] = (0, 1)


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
    whole:   only whole numbers are marked on the horizontal axis, which each panel has of its own, as the vertical one.
    names:   what stands at the heights 0, 1, …, from the top down, in place of numbers.
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
    whole: bool = False

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


def told_apart(lines: Sequence[Line], log: str = "") -> tuple[Line, ...]:
    """Return lines so that each can be seen where it lies on others, and says so if it is the same all the way.

    A line is cut where it joins others or leaves them. On a stretch where several are closer than a line is wide, they
    are drawn in turns. log: as of the `Chart` they are for.

    >>> first, second = told_apart([line("general", ((1, 3), (2, 6)), "a"), line("yang-2015", ((1, 3), (2, 6)), "b")])
    >>> second.label, second.turns
    ('b\\n(same as a)', (1, 2))
    """
    placed = _placed(lines, log)
    return tuple(piece for place in range(len(lines)) for piece in _pieces(place, lines, placed))


def _placed(lines: Sequence[Line], log: str) -> list[Points]:
    """Return the points of each line where they lie in the picture, from 0 to 1 both ways."""
    columns = []
    for axis, name in enumerate("xy"):
        on_axis = [[math.log10(point[axis]) if name in log else point[axis] for point in line.points] for line in lines]
        every = [value for of_line in on_axis for value in of_line]
        low, extent = min(every, default=0.0), (max(every, default=0.0) - min(every, default=0.0)) or 1.0
        columns.append([[(value - low) / extent for value in of_line] for of_line in on_axis])
    return [tuple(zip(xs, ys, strict=True)) for xs, ys in zip(*columns, strict=True)]


def _pieces(place: int, lines: Sequence[Line], placed: Sequence[Points]) -> list[Line]:
    whole = lines[place]
    same = next(other for other in lines if other is whole or _alike(whole.points, other.points))
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
    """Return points as stairs: each height holds until the next point.

    >>> steps(((0, 0.0), (1, 0.5)))
    ((0, 0.0), (1, 0.0), (1, 0.5))
    """
    corners = [corner for (_, before), (x, y) in pairwise(points) for corner in ((x, before), (x, y))]
    return (*points[:1], *corners)


def _near(point: tuple[float, float], points: Points) -> bool:
    """Whether a point of the picture lies on a line, as far as can be seen."""
    x, y = point
    for (left, low), (right, high) in pairwise(points):
        left, low, right, high = (left, low, right, high) if left <= right else (right, high, left, low)
        if left - _ON_LINE <= x <= right + _ON_LINE:
            share = min(max((x - left) / (right - left), 0.0), 1.0) if right > left else None
            heights = (low, high) if share is None else (low + share * (high - low),)
            if any(abs(y - height) <= _ON_LINE for height in heights):
                return True
    return False


def _name_of(named: Line) -> str:
    return named.label.partition("\n")[0].partition(",")[0].partition(":")[0]


def _alike(first: Points, second: Points) -> bool:
    return len(first) == len(second) and all(
        abs(one - other) <= _SAME * abs(one)
        for pair in zip(first, second, strict=True)
        for one, other in zip(*pair, strict=True)
    )
