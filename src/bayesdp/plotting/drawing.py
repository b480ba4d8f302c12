"""Charts as pictures, drawn with Matplotlib: named where they end, never one name on another."""

from __future__ import annotations

import io
import math
import textwrap
from typing import Any

from bayesdp.errors import MissingDependencyError
from bayesdp.plotting.charts import Chart, Line, Panel

__all__ = ["draw"]

_WIDTH = 7.4
_NAMES = 1.95
"""Inches: the width of a picture, and what names at the right take of it."""

_APART = 0.155
"""Inches between the middles of two names of one row of text."""

_FEW_DECADES = 3.2
_MOST_TICKS = 12
"""Fewer powers of ten than the first are marked between them, too."""

_SMALL = 8.5
"""Points: the size of names."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_SETTINGS: Any = {"font.size": 9, "svg.hashsalt": "bayesdp", "path.simplify": True}


def draw(chart: Chart) -> tuple[bytes, bytes]:
    """Return a chart as SVG and as PNG, the same bytes for the same chart.

    Raises MissingDependencyError without Matplotlib.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(
            'figures need Matplotlib, which is not installed; install it with: pip install "bayesdp[plot]"'
        ) from None
    with rc_context(_SETTINGS):
        rows = math.ceil(len(chart.panels) / chart.columns)
        title = textwrap.fill(chart.says, 88, break_on_hyphens=False)
        top = 0.62 + 0.19 * title.count("\n") + (0.22 if any(each.labels == "above" for each in chart.panels) else 0)
        height = top + 0.5 + rows * (3.1 if rows == 1 else 2.35)
        figure = Figure(figsize=(_WIDTH, height))
        FigureCanvasAgg(figure)
        right = _NAMES if any(panel.labels == "right" for panel in chart.panels) else 0.2
        figure.subplots_adjust(
            left=0.85 / _WIDTH,
            right=1 - right / _WIDTH,
            bottom=0.5 / height,
            top=1 - (top + (0.2 if chart.panels[0].title else 0)) / height,
            wspace=0.12,
            hspace=0.32,
        )
        grid = figure.subplots(rows, chart.columns, sharey=True, squeeze=False)
        figure.text(0.1 / _WIDTH, 1 - 0.1 / height, title, va="top", fontsize=10, fontweight="bold")
        figure.text(
            0.1 / _WIDTH,
            1 - (0.36 + 0.19 * title.count("\n")) / height,
            chart.source,
            va="top",
            fontsize=8,
            color="#555555",
        )
        figure.supxlabel(chart.x, fontsize=9, y=0.08 / height, x=(0.85 + _WIDTH - right) / 2 / _WIDTH)
        figure.supylabel(chart.y, fontsize=9, x=0.08 / _WIDTH, y=(0.5 + height - top) / 2 / height)
        for index, panel in enumerate(chart.panels):
            axes = grid[index // chart.columns][index % chart.columns]
            _panel(axes, chart, panel)
        svg, png = io.BytesIO(), io.BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None})
        figure.savefig(png, format="png", dpi=150, metadata={"Software": None})
    return svg.getvalue(), png.getvalue()


def _panel(axes: Any, chart: Chart, panel: Panel) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    for scale in chart.log:
        (axes.set_xscale if scale == "x" else axes.set_yscale)("log")
    axes.set_title(panel.title, fontsize=9, loc="left", pad=4 if panel.labels != "above" else 26)
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if chart.span:
        axes.set_xlim(chart.span)
    for line in panel.lines:
        _line(axes, line)
    if chart.limits:
        axes.set_ylim(chart.limits)
    if chart.ticks:
        axes.set_xticks(chart.ticks)
    for axis, scale in ((axes.xaxis, "x"), (axes.yaxis, "y")):
        if scale in chart.log or (scale == "x" and chart.ticks):
            axis.set_minor_locator(NullLocator())
            if scale == "y" and _few_decades(axes):
                axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=_MOST_TICKS))
            axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    if panel.labels == "right":
        _name_right(axes, panel)
    elif panel.labels == "above":
        _name_above(axes, panel)


def _few_decades(axes: Any) -> bool:
    """Whether powers of ten alone would be too few ticks on the vertical axis."""
    low, high = axes.get_ylim()
    return bool(axes.get_yscale() == "log" and math.log10(high / low) < _FEW_DECADES)


def _tick(value: float) -> str:
    """Return a number on an axis: as it is, or with a power of ten where that is long.

    >>> _tick(0.0005), _tick(100_000), _tick(1e-8), _tick(2e-8)
    ('0.0005', '100,000', '10⁻⁸', '2·10⁻⁸')
    """
    if value == 0 or 1e-4 <= value < 1e6:
        return f"{value:,.0f}" if value >= 1000 else f"{value:g}"
    first, power = f"{value:.0e}".split("e")
    return ("" if first == "1" else f"{first}·") + "10" + str(int(power)).translate(_RAISED)


def _line(axes: Any, line: Line) -> None:
    if not line.points:
        return
    xs, ys = zip(*line.points, strict=True)
    if line.style == "o":
        axes.plot(xs, ys, "o", markersize=3.2, color=line.colour)
    elif line.style == "ring":
        axes.plot(xs, ys, "o", markersize=5, markerfacecolor="none", markeredgewidth=0.9, color=line.colour)
    else:
        style = "-" if line.style == "area" else line.style
        axes.plot(
            xs, ys, style, linewidth=1.9 if style == ":" else 1.5, color=line.colour, zorder=1.9 if style == "--" else 2
        )
    if line.style == "area":
        right = axes.get_xlim()[1]
        axes.fill_between([*xs, right], [*ys, ys[-1]], color=line.colour, alpha=0.1, linewidth=0)


def _name_right(axes: Any, panel: Panel) -> None:
    """Write every name right of the axes, at the height where its line ends or as near as other names allow."""
    low, high = axes.get_ylim()
    inches = axes.get_position().height * axes.figure.get_figheight()
    named = sorted(
        ((_height(axes, _end(each, low, high)[1]), each) for each in panel.lines if each.label and each.points),
        key=lambda pair: pair[0],
    )
    sizes = [_APART * (each.label.count("\n") + 1) / inches for _, each in named]
    places = _spread([height for height, _ in named], sizes)
    for place, (_, each) in zip(places, named, strict=True):
        axes.annotate(
            each.label,
            _end(each, low, high),
            xytext=(1.04, place),
            textcoords="axes fraction",
            va="center",
            fontsize=_SMALL,
            linespacing=1.0,
            color=each.colour,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": each.colour,
                "linewidth": 0.5,
                "shrinkA": 0,
                "shrinkB": 2,
                "relpos": (0, 0.5),
            },
        )


def _name_above(axes: Any, panel: Panel) -> None:
    """Write every name above the end of its line, higher where another is in the way; that of a dashed one below it."""
    taken: list[tuple[float, float, float]] = []
    for each in sorted((each for each in panel.lines if each.label and each.points), key=lambda each: each.points[-1]):
        written: Any = {"fontsize": _SMALL, "color": each.colour, "textcoords": "offset points"}
        if each.style == "--":
            axes.annotate(each.label, each.points[-1], xytext=(0, -3), ha="right", va="top", **written)
            continue
        x, y = axes.transData.transform(each.points[-1]) * 72 / axes.figure.dpi
        half = 0.33 * _SMALL * len(each.label)
        rise = 4.0
        while any(abs(x - at) < half + other and abs(y + rise - height) < _SMALL for at, other, height in taken):
            rise += 1
        taken.append((x, half, y + rise))
        axes.annotate(
            each.label,
            each.points[-1],
            xytext=(0, rise),
            ha="center",
            annotation_clip=False,
            **written,
        )


def _end(line: Line, low: float, high: float) -> tuple[float, float]:
    """Return the last point of a line that lies in the picture."""
    inside = [point for point in line.points if low <= point[1] <= high]
    return (inside or line.points)[-1]


def _height(axes: Any, value: float) -> float:
    """Return where a value lies between the bottom, 0, and the top, 1, of the axes."""
    _, y = axes.transAxes.inverted().transform(axes.transData.transform((axes.get_xlim()[1], value)))
    return min(max(float(y), 0.0), 1.0)


def _spread(heights: list[float], sizes: list[float]) -> list[float]:
    """Return places for names of given sizes, ascending from 0, as near to `heights` as can be without overlap.

    >>> _spread([0.5, 0.5], [0.1, 0.1])
    [0.45, 0.55]
    """
    blocks: list[tuple[float, float, list[float]]] = []
    for height, size in zip(heights, sizes, strict=True):
        middle, total, members = max(height, size / 2), size, [size]
        while blocks and blocks[-1][0] + blocks[-1][1] / 2 > middle - total / 2:
            other, extent, others = blocks.pop()
            middle = (other * extent + middle * total) / (extent + total)
            total, members = extent + total, others + members
            middle = max(middle, total / 2)
        blocks.append((middle, total, members))
    places = []
    for middle, total, members in blocks:
        bottom = middle - total / 2
        for size in members:
            places.append(round(bottom + size / 2, 6))
            bottom += size
    return places
