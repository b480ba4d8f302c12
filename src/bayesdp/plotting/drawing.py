"""Draw charts with Matplotlib; lines are labelled at their ends, and labels do not overlap."""

from __future__ import annotations

import io
import math
import os
import textwrap
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bayesdp._support.validation import brief
from bayesdp._support.words import filled
from bayesdp.errors import InvalidInputError, MissingDependencyError
from bayesdp.plotting.charts import Chart, HeatMap, Line, Panel, Scales
from bayesdp.plotting.palette import NO_NUMBER, SEQUENCE

__all__ = ["check_place", "draw", "save"]

_UNDATED: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""The formats, each with the metadata that would make two pictures of one chart differ."""

_WIDTH = 7.4
_NAMES = 1.95
"""Inches: the width of a picture, and of the labels at the right."""

_SCALE = 0.6
"""Inches right of the scale of a heat map, for its numbers and its label."""

_APART = 0.155
"""Inches between the middles of two labels of one row of text."""

_LONGEST_NAME = 25
"""Characters in a row of a label at the right."""

_WORDS_WIDE, _SOURCE_WIDE, _MOST_ROWS = 88, 112, 3
"""Characters in a row of the sentence and of the source above a chart, and the largest number of rows of either."""

_ONE_DECADE, _FEW_DECADES, _MOST_TICKS = 0.8, 3.2, 12
"""Powers of ten: a logarithmic axis shorter than the first has linear ticks, one shorter than the second has ticks at
1, 2 and 5 times the powers of ten."""

_STRETCH = 4.0
"""The length of a dash of overlapping lines, in line widths."""

_LETTER, _LONGEST_LEFT = 0.073, 34
"""The width of a character of a label at the left, in inches, and the largest number of characters."""

_DIGIT, _LONGEST_BELOW = 0.08, 20
"""The width of a character of a label below the axes, in inches, and the largest number of characters."""

_SMALL = 8.5
"""The font size of labels, in points."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_SETTINGS: dict[str, Any] = {
    "font.size": 9,
    "svg.hashsalt": "bayesdp",
    "path.simplify": True,
    "text.parse_math": False,  # a $ in names and descriptions of users is a dollar
}


def save(chart: Chart, path: str | Path) -> Path:
    """Write a chart as a picture, in the format of the file name's suffix, and return the path.

    Raises MissingDependencyError without Matplotlib and InvalidInputError for an unknown suffix or a path that cannot
    be written to.
    """
    target = check_place(path)
    (picture,) = draw(chart, target.suffix.lower().removeprefix("."))
    try:
        target.write_bytes(picture)
    except OSError as error:
        raise InvalidInputError(f"cannot write {target}: {error.strerror or error}") from None
    return target


def check_place(path: str | Path) -> Path:
    """Return the path if a picture can probably be written there; call it before a long computation.

    Raises as `save` does.
    """
    if not isinstance(path, str | Path):
        raise InvalidInputError(f"the path of a picture must be a text or a Path, not {brief(path)}")
    target = Path(path)
    if target.suffix.lower().removeprefix(".") not in _UNDATED:
        raise InvalidInputError(f"the name of a picture must end in .png, .svg or .pdf, not {target.name!r}")
    try:
        target.parent.stat()
        allowed = os.access(target if target.exists() else target.parent, os.W_OK)
        why = "it is a folder" if target.is_dir() else None if allowed else "permission denied"
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"cannot write {target}: {getattr(error, 'strerror', None) or error}") from None
    if why is not None:
        raise InvalidInputError(f"cannot write {target}: {why}")
    if find_spec("matplotlib") is None:
        raise _lacking()
    return target


def _lacking() -> MissingDependencyError:
    return MissingDependencyError(
        'pictures need Matplotlib, which is not installed; install it with: pip install "bayesdp[plot]"'
    )


def draw(chart: Chart, *formats: str) -> tuple[bytes, ...]:
    """Return a chart as a picture in each of the formats ("svg", "png", "pdf"), the same bytes for the same chart.

    Raises MissingDependencyError without Matplotlib.
    """
    try:
        from matplotlib import style
    except ImportError:
        raise _lacking() from None
    with style.context(["default", _SETTINGS]):
        figure = _figure(chart)
        pictures = []
        for kind in formats:
            written = io.BytesIO()
            figure.savefig(written, format=kind, dpi=150, metadata=_UNDATED[kind])
            pictures.append(written.getvalue())
    return tuple(pictures)


def _figure(chart: Chart) -> Any:
    """Return a chart as a Matplotlib figure: the sentence and the source above, the panels in a grid below them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = math.ceil(len(chart.panels) / chart.columns)
    title, source = _rows(chart.says, _WORDS_WIDE), _rows(chart.source, _SOURCE_WIDE)
    raised = any(panel.labels == "above" for panel in chart.panels)
    under_title = 0.36 + 0.19 * title.count("\n")
    top = under_title + 0.26 + 0.14 * source.count("\n") + (0.22 if raised else 0)
    right = _NAMES if any(panel.labels == "right" for panel in chart.panels) else 0.2
    right = max(right, _SCALE) if any(panel.heat for panel in chart.panels) else right
    left = max(0.85, 0.2 + _LETTER * max(map(len, _left_names(chart)), default=0))
    below = _below(chart, _WIDTH - left - right)
    bottom = 0.5 + (_DIGIT * max(map(len, below.names)) if below.upwards else 0.0)
    height = top + bottom + rows * max(3.1 if rows == 1 else 2.35, *map(_needed, chart.panels))
    figure = Figure(figsize=(_WIDTH, height))
    FigureCanvasAgg(figure)
    figure.subplots_adjust(
        left=left / _WIDTH,
        right=1 - right / _WIDTH,
        bottom=bottom / height,
        top=1 - (top + (0.2 if chart.panels[0].title else 0)) / height,
        wspace=0.12,
        hspace=0.55 if raised and rows > 1 else 0.32,
    )
    sharing: Any = "row" if any(panel.scales for panel in chart.panels) else not chart.whole
    grid = figure.subplots(rows, chart.columns, sharey=sharing, squeeze=False)
    figure.text(0.1 / _WIDTH, 1 - 0.1 / height, title, va="top", fontsize=10, fontweight="bold")
    figure.text(0.1 / _WIDTH, 1 - under_title / height, source, va="top", fontsize=8, color="#555555")
    figure.supxlabel(chart.x, fontsize=9, y=0.08 / height, x=(left + _WIDTH - right) / 2 / _WIDTH)
    figure.supylabel(chart.y, fontsize=9, x=0.08 / _WIDTH, y=(bottom + height - top) / 2 / height)
    for index, panel in enumerate(chart.panels):
        axes = grid[index // chart.columns][index % chart.columns]
        _panel(axes, chart, panel)
        if chart.across:
            places = range(0, len(chart.across), below.step)
            axes.set_xticks(places, [below.names[place] for place in places], rotation=90 if below.upwards else 0)
            axes.set_xlim(-0.5, len(chart.across) - 0.5)
    return figure


def _left_names(chart: Chart) -> list[str]:
    return [_shortened(name, _LONGEST_LEFT) for name in chart.names]


def _shortened(name: str, longest: int) -> str:
    return name if len(name) <= longest else f"{name[: longest - 2]} …"


@dataclass(frozen=True)
class _Below:
    """Labels below the axes: whether they are written upwards, and how many places on the next one is that is shown."""

    names: list[str]
    upwards: bool
    step: int


def _below(chart: Chart, width: float) -> _Below:
    """Return the labels below axes of this width: side by side, or upwards if they all fit then and not otherwise."""
    names = [_shortened(name, _LONGEST_BELOW) for name in chart.across]
    columns = width / max(chart.columns, 1) / max(len(names), 1)
    needed = 0.1 + _DIGIT * max(map(len, names), default=0)
    upwards = columns < needed and columns >= _APART
    return _Below(names, upwards, 1 if upwards else max(1, math.ceil(needed / columns)))


def _needed(panel: Panel) -> float:
    """Return the height of the labels at the right of a panel, in inches."""
    if panel.labels != "right":
        return 0.0
    return _APART * (sum(_narrow(line.label).count("\n") + 1 for line in panel.lines if line.label) + 1)


def _rows(text: str, width: int) -> str:
    """Return a text in rows of at most `width` characters, truncated to the largest number of rows."""
    return filled(text, width, "=", max_lines=_MOST_ROWS, placeholder=" …")


def _panel(axes: Any, chart: Chart, panel: Panel) -> None:
    scales = chart.scales(panel)
    for scale in scales.log:
        (axes.set_xscale if scale == "x" else axes.set_yscale)("log")
    axes.set_title(panel.title, fontsize=9, loc="left", pad=4 if panel.labels != "above" else 26)
    axes.spines[["top", "right"]].set_visible(False)
    if panel.heat is None:
        axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    else:
        _heat(axes, panel.heat)
    if scales.span:
        axes.set_xlim(scales.span)
    for line in panel.lines:
        _line(axes, line)
    if scales.limits:
        axes.set_ylim(scales.limits)
    _ticks(axes, chart, scales)
    if panel.labels == "right":
        _name_right(axes, panel)
    elif panel.labels == "above":
        _name_above(axes, panel)


def _ticks(axes: Any, chart: Chart, scales: Scales) -> None:
    """Set the ticks of the axes: the given ones, ticks that suit the range, or names."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

    if scales.ticks:
        axes.set_xticks(scales.ticks)
    if chart.whole:
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, steps=[1, 2, 5, 10]))
    if chart.names:
        axes.set_yticks(range(len(chart.names)), _left_names(chart))
        axes.set_ylim(len(chart.names) - 0.5, -0.5)
    for axis, scale in ((axes.xaxis, "x"), (axes.yaxis, "y")):
        if scale in scales.log or (scale == "x" and scales.ticks):
            axis.set_minor_locator(NullLocator())
            if not (scale == "x" and scales.ticks):
                _mark(axis)
            axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))


def _mark(axis: Any) -> None:
    """Choose the ticks of a logarithmic axis; a short one needs more than the powers of ten."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    low, high = axis.get_view_interval()
    decades = math.log10(high / low)
    if decades < _ONE_DECADE:
        axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    elif decades < _FEW_DECADES:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=_MOST_TICKS))


def _tick(value: float) -> str:
    """Return the label of a tick: a plain number, or one with a power of ten if that is shorter.

    >>> _tick(0.0005), _tick(100_000), _tick(1e-8), _tick(2e-8)
    ('0.0005', '100,000', '10⁻⁸', '2·10⁻⁸')
    """
    if value == 0 or 1e-4 <= value < 1e6:
        return f"{value:,.0f}" if value >= 1000 else f"{value:g}"
    first, power = f"{value:.0e}".split("e")
    return ("" if first == "1" else f"{first}·") + "10" + str(int(power)).translate(_RAISED)


def _heat(axes: Any, heat: HeatMap) -> None:
    """Draw numbers as colours, with their scale at the right."""
    from matplotlib.ticker import FuncFormatter

    numbers = [[math.nan if number is None else number for number in row] for row in heat.rows]
    axes.set_facecolor(NO_NUMBER)
    across, down = (
        [place - 0.5 for place in range(count + 1)] for count in (max(map(len, numbers), default=0), len(numbers))
    )
    drawn = axes.pcolormesh(across, down, numbers, cmap=SEQUENCE, edgecolors="white", linewidth=0.5)
    scale = axes.figure.colorbar(drawn, ax=axes, pad=0.02, fraction=0.05, label=heat.label)
    scale.outline.set_visible(False)
    scale.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))


def _line(axes: Any, line: Line) -> None:
    if not line.points:
        return
    xs, ys = zip(*line.points, strict=True)
    if line.intervals:
        low, high = zip(*line.intervals, strict=True)
        axes.vlines(xs, low, high, color=line.colour, linewidth=1.0)
    if line.style == "o":
        axes.plot(xs, ys, "o", markersize=3.2, color=line.colour)
    elif line.style == "ring":
        axes.plot(xs, ys, "o", markersize=5, markerfacecolor="none", markeredgewidth=0.9, color=line.colour)
    else:
        style: Any = "-" if line.style == "area" else line.style
        turn, turns = line.turns
        if turn:
            style = (-turn * _STRETCH, (_STRETCH, (turns - 1) * _STRETCH))
        axes.plot(
            xs,
            ys,
            linestyle=style,
            linewidth=1.9 if style == ":" else 1.5,
            marker="o" if len(xs) == 1 else None,
            markersize=3.2,
            color=line.colour,
            zorder=1.9 if style == "--" else 2 + turn / 100,
        )
    if line.style == "area":
        right = axes.get_xlim()[1]
        axes.fill_between([*xs, right], [*ys, ys[-1]], color=line.colour, alpha=0.1, linewidth=0)


def _name_right(axes: Any, panel: Panel) -> None:
    """Write labels right of the axes, at the ends of their lines or as near as other labels allow."""
    low, high = axes.get_ylim()
    inches = axes.get_position().height * axes.figure.get_figheight()
    ends = [(_end(line, low, high), line) for line in panel.lines if line.label and line.points]
    named = sorted(((_height(axes, end[1]), end, line) for end, line in ends), key=lambda each: each[0])
    names = [_narrow(line.label) for *_, line in named]
    places = _spread([height for height, *_ in named], [_APART * (name.count("\n") + 1) / inches for name in names])
    for name, place, (_, end, line) in zip(names, places, named, strict=True):
        arrow = {"arrowstyle": "-", "color": line.colour, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2}
        written: Any = {"fontsize": _SMALL, "color": line.colour, "textcoords": "axes fraction", "linespacing": 1.0}
        written |= {"va": "center", "annotation_clip": False, "arrowprops": arrow | {"relpos": (0, 0.5)}}
        axes.annotate(name, end, xytext=(1.04, place), **written)


def _narrow(name: str) -> str:
    """Return a label in rows that fit beside the axes.

    >>> _narrow("randomized-response, no guarantee").splitlines()
    ['randomized-response, no', 'guarantee']
    """
    return "\n".join(textwrap.fill(row, _LONGEST_NAME) for row in name.splitlines())


def _name_above(axes: Any, panel: Panel) -> None:
    """Write labels above the ends of their lines without overlap; those of dashed lines below."""
    taken: list[tuple[float, float, float]] = []
    for line in sorted((line for line in panel.lines if line.label and line.points), key=lambda line: line.points[-1]):
        written: Any = {"fontsize": _SMALL, "color": line.colour, "textcoords": "offset points"}
        if line.style == "--":
            axes.annotate(line.label, line.points[-1], xytext=(0, -3), ha="right", va="top", **written)
            continue
        x, y = axes.transData.transform(line.points[-1]) * 72 / axes.figure.dpi
        half = 0.33 * _SMALL * len(line.label)
        rise = 4.0
        while any(abs(x - at) < half + other and abs(y + rise - height) < _SMALL for at, other, height in taken):
            rise += 1
        taken.append((x, half, y + rise))
        axes.annotate(line.label, line.points[-1], xytext=(0, rise), ha="center", annotation_clip=False, **written)


def _end(line: Line, low: float, high: float) -> tuple[float, float]:
    """Return the last point of a line within the picture."""
    inside = [point for point in line.points if low <= point[1] <= high]
    return (inside or line.points)[-1]


def _height(axes: Any, value: float) -> float:
    """Return the height of a value, from 0 at the bottom to 1 at the top of the axes."""
    _, y = axes.transAxes.inverted().transform(axes.transData.transform((axes.get_xlim()[1], value)))
    return min(max(float(y), 0.0), 1.0)


def _spread(heights: list[float], sizes: list[float]) -> list[float]:
    """Return places for labels of given sizes, between 0 and 1, as near to `heights` as possible without overlap.

    heights: ascending. Labels that do not fit start at 0 and exceed 1.

    >>> _spread([0.5, 0.5], [0.1, 0.1]), _spread([1.0, 1.0], [0.1, 0.1])
    ([0.45, 0.55], [0.85, 0.95])
    """
    blocks: list[tuple[float, float, list[float]]] = []
    for height, size in zip(heights, sizes, strict=True):
        middle, total, members = _inside(height, size), size, [size]
        while blocks and blocks[-1][0] + blocks[-1][1] / 2 > middle - total / 2:
            other, extent, others = blocks.pop()
            middle = (other * extent + middle * total) / (extent + total)
            total, members = extent + total, others + members
            middle = _inside(middle, total)
        blocks.append((middle, total, members))
    places = []
    for middle, total, members in blocks:
        bottom = middle - total / 2
        for size in members:
            places.append(round(bottom + size / 2, 6))
            bottom += size
    return places


def _inside(middle: float, extent: float) -> float:
    """Return the middle of a block, moved so that the block stays between 0 and 1 if it fits."""
    return max(min(middle, 1 - extent / 2), extent / 2)
