"""Pictures for the page as SVG with the page's colours and width: charts, graphs of chains, heat maps.

Every picture has a title and a description for screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, singledispatch
from html import escape
from itertools import count

import numpy as np

from bayesdp.audit.worst_cases import autocorrelations
from bayesdp.models import GaussianGroups, GaussianSeries, HiddenMarkov, MarkovChain, Model, OddsChain, OddsSeries
from bayesdp.plotting.charts import Chart, Line, Points
from bayesdp.rounding import shown_above

__all__ = ["chart", "graph", "grid", "heat_map", "interval", "path", "pictures", "profile"]

Matrix = Sequence[Sequence[float]]

_IDS = count(1)
"""Ids of titles, which must be unique."""

_WIDE, _HIGH, _LEFT, _BOTTOM, _TOP, _RIGHT = 480, 330, 94, 46, 14, 12
_MOST_IN_GRAPH = 3
"""Chains with more states are drawn as heat maps instead of graphs."""

_MOST_WRITTEN = 8
"""Heat maps with more rows have no numbers in their cells."""

_MOST_ARCS = 5
"""The largest distance of records whose odds ratio is drawn."""

_SHOWN_LAGS = 12
"""The number of records of a series whose correlations are shown."""

_DASHES = {"--": "7 4", ":": "2 4", "-.": "8 3 2 3"}


@lru_cache(maxsize=16)
def pictures(model: Model) -> tuple[str, ...]:
    """Return a picture for each possible model; models that one sentence describes have none."""
    return tuple(drawn for member in model.members for drawn in _pictures(member))


@singledispatch
def _pictures(model: Model) -> Iterator[str]:
    """Yield the pictures of a type of models; by default none."""
    return iter(())


@_pictures.register(MarkovChain)
def _of_chain(model: MarkovChain) -> Iterator[str]:
    if model.memory == 1:
        names = [str(state) for state in model.states] or [str(place) for place in range(len(model.transition))]
        yield _chain(names, model.transition, "state")


@_pictures.register(HiddenMarkov)
def _of_hidden_chain(model: HiddenMarkov) -> Iterator[str]:
    if model.transition is not None:
        yield _chain([f"hidden {place}" for place in range(1, len(model.transition) + 1)], model.transition, "hidden")


@_pictures.register(OddsChain)
def _of_odds(model: OddsChain) -> Iterator[str]:
    yield path(model.odds, "record" if model.memory == 1 else f"{model.memory} records")


@_pictures.register(OddsSeries)
def _of_odds_series(model: OddsSeries) -> Iterator[str]:
    yield arcs(model.odds)


@_pictures.register(GaussianGroups)
def _of_groups(model: GaussianGroups) -> Iterator[str]:
    yield from map(_correlations, _matrices(model))


@_pictures.register(GaussianSeries)
def _of_series(model: GaussianSeries) -> Iterator[str]:
    yield _correlations(autocorrelations(model, _SHOWN_LAGS).tolist())


def _chain(names: Sequence[str], matrix: Matrix, kind: str) -> str:
    drawn = graph if len(names) <= _MOST_IN_GRAPH else heat_map
    row, column, value = max(
        ((i, j, p) for i, line in enumerate(matrix) for j, p in enumerate(line)), key=lambda cell: cell[2]
    )
    likeliest = f"{names[row]} stays" if row == column else f"from {names[row]} to {names[column]}"
    says = f"The probability of the next {kind} after each. The most likely step: {likeliest}, {value:.3g}."
    return drawn(names, matrix, "Transition probabilities", says)


def _matrices(model: GaussianGroups) -> Iterator[Matrix]:
    if model.correlation is not None:
        assert model.group_size is not None
        size = min(model.group_size, 50)
        yield [[1.0 if i == j else model.correlation for j in range(size)] for i in range(size)]
    else:
        for covariance in model.matrices:
            scale = np.sqrt(np.diag(covariance))
            yield (np.asarray(covariance) / np.outer(scale, scale)).tolist()


def _correlations(matrix: Matrix) -> str:
    names = [str(place) for place in range(1, len(matrix) + 1)]
    others = [(abs(value), i, j) for i, row in enumerate(matrix) for j, value in enumerate(row) if i < j]
    says = f"Correlations of the {len(matrix)} records of a group."
    if others:
        largest, i, j = max(others)
        says += f" The largest, in absolute value: {largest:.3g}, of records {i + 1} and {j + 1}."
    return heat_map(names, matrix, "Correlations", says)


# Heat maps


def heat_map(names: Sequence[str], matrix: Matrix, title: str, says: str) -> str:
    """Return a matrix as colours: stronger for larger entries; negative entries have another colour."""
    size = len(matrix)
    margin, side = (18 + 7 * min(max(map(len, names)), 12), 300) if size <= _MOST_WRITTEN * 2 else (12, 340)
    cell = side / size
    parts = []
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            kind = "cell" if value >= 0 else "cell negative"
            x, y = margin + j * cell, margin + i * cell
            parts.append(
                f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{cell:.1f}" height="{cell:.1f}" '
                f'fill-opacity="{min(abs(value), 1):.3f}"/>'
            )
            if size <= _MOST_WRITTEN:
                strong = " strong" if abs(value) > 0.55 else ""
                parts.append(_text(x + cell / 2, y + cell / 2 + 5, f"{value:.2g}", f"middle{strong}"))
    if margin > 12:
        for place, name in enumerate(names):
            middle = margin + (place + 0.5) * cell
            short = name if len(name) <= 12 else f"{name[:11]}…"
            parts.append(_text(margin - 6, middle + 5, short, "end"))
            parts.append(_text(middle, margin - 6, short if len(short) * 8 < cell else short[:1], "middle"))
    return _svg(margin + side + 4, margin + side + 4, "".join(parts), title, says, "heat")


# Graphs


def graph(names: Sequence[str], matrix: Matrix, title: str, says: str) -> str:
    """Return a chain of few states as a graph; the thicker an arrow, the larger its probability."""
    wide, high, radius = 420, 170 if len(names) < 3 else 330, 34
    if len(names) == 1:
        places = [(wide / 2, high / 2)]
    elif len(names) == 2:
        places = [(wide * 0.32, high / 2), (wide * 0.68, high / 2)]
    else:
        places = [(wide / 2, high * 0.27), (wide * 0.28, high * 0.74), (wide * 0.72, high * 0.74)]
    middle = (wide / 2, high / 2)
    parts = [_marker()]
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            if value > 0:
                parts.append(
                    _loop(places[i], middle, radius, value) if i == j else _arrow(places[i], places[j], radius, value)
                )
    for (x, y), name in zip(places, names, strict=True):
        short = name if len(name) <= 9 else f"{name[:8]}…"
        parts += [f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>', _text(x, y + 5, short, "middle")]
    return _svg(wide, high, "".join(parts), title, says, "graph")


def _marker() -> str:
    return (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
        'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" class="tip"/></marker></defs>'
    )


def _thick(value: float) -> float:
    return 1 + 4 * value


def _arrow(start: tuple[float, float], end: tuple[float, float], radius: float, value: float) -> str:
    (x, y), (u, v) = start, end
    length = math.hypot(u - x, v - y)
    along, across = ((u - x) / length, (v - y) / length), ((v - y) / length, (x - u) / length)
    off = 14.0
    ends = [
        (px + side * radius * along[0] + off * across[0], py + side * radius * along[1] + off * across[1])
        for (px, py), side in ((start, 0.95), (end, -1.02))
    ]
    bent = ((x + u) / 2 + 34 * across[0], (y + v) / 2 + 34 * across[1])
    where = ((x + u) / 2 + 42 * across[0], (y + v) / 2 + 42 * across[1] + 5)
    return (
        f'<path class="arrow" marker-end="url(#tip)" stroke-width="{_thick(value):.1f}" '
        f'd="M{ends[0][0]:.1f} {ends[0][1]:.1f}Q{bent[0]:.1f} {bent[1]:.1f} {ends[1][0]:.1f} {ends[1][1]:.1f}"/>'
        + _text(*where, f"{value:.3g}", "middle")
    )


def _loop(at: tuple[float, float], middle: tuple[float, float], radius: float, value: float) -> str:
    """Return an arrow from a state to itself, on its outer side."""
    outwards = math.atan2(at[1] - middle[1], at[0] - middle[0])
    first, last = (
        (at[0] + radius * math.cos(outwards + turn), at[1] + radius * math.sin(outwards + turn))
        for turn in (0.45, -0.5)
    )
    far = [
        (at[0] + 2.6 * radius * math.cos(outwards + turn), at[1] + 2.6 * radius * math.sin(outwards + turn))
        for turn in (0.55, -0.55)
    ]
    where = at[0] + 2.75 * radius * math.cos(outwards), at[1] + 2.55 * radius * math.sin(outwards) + 5
    return (
        f'<path class="arrow" marker-end="url(#tip)" stroke-width="{_thick(value):.1f}" d="M{first[0]:.1f} '
        f'{first[1]:.1f}C{far[0][0]:.1f} {far[0][1]:.1f} {far[1][0]:.1f} {far[1][1]:.1f} {last[0]:.1f} {last[1]:.1f}"/>'
        + _text(*where, f"{value:.3g}", "middle")
    )


def path(odds: float, name: str) -> str:
    """Return a picture of neighbours in a chain, with the odds ratio between them."""
    limit = shown_above(odds, 3)
    parts = []
    for place in range(4):
        x = 60 + 105 * place
        if place < 3:
            parts.append(f'<line class="arrow" x1="{x + 30}" y1="70" x2="{x + 75}" y2="70" stroke-width="3"/>')
            parts.append(_text(x + 52, 56, f"≤ {limit}", "middle"))
        parts.append(f'<circle class="node" cx="{x}" cy="70" r="30"/>')
        parts.append(_text(x, 122, name, "middle"))
    says = f"A chain: the odds ratio of neighbours is at most {limit}. Records farther apart depend less on each other."
    return _svg(440, 140, "".join(parts), "Odds ratios of neighbours", says, "graph")


def arcs(odds: Sequence[float]) -> str:
    """Return a picture of a record and those after it, with their odds ratios by distance, as far as there is room."""
    shown = odds[:_MOST_ARCS]
    base, radius, first, apart = 40 + 26 * len(shown), 20, 40, 440 / (len(shown) + 1)
    parts = []
    for distance, ratio in enumerate(shown, 1):
        x, high, top = first + distance * apart, 26 * distance, base - radius
        bent = f"C{first} {top - high * 1.25:.1f} {x:.1f} {top - high * 1.25:.1f} {x:.1f} {top}"
        parts.append(f'<path class="arrow" stroke-width="2" d="M{first} {top}{bent}"/>')
        parts.append(_text((first + x) / 2, base - radius - high * 0.94 - 5, f"≤ {shown_above(ratio, 3)}", "middle"))
        parts.append(f'<circle class="node" cx="{x:.1f}" cy="{base}" r="{radius}"/>')
        parts.append(_text(x, base + radius + 18, f"{distance} after", "middle"))
    parts.append(f'<circle class="node" cx="{first}" cy="{base}" r="{radius}"/>')
    parts.append(_text(first, base + radius + 18, "record", "middle"))
    beyond = f" Up to distance {len(odds)} there are more." if len(odds) > len(shown) else ""
    says = (
        f"The odds ratio of two records, given all others, is at most {shown_above(shown[0], 3)} for neighbours, and "
        f"has a limit for each distance.{beyond} Farther records depend on each other only through those between."
    )
    return _svg(480, base + radius + 26, "".join(parts), "Odds ratios by distance", says, "graph")


# Intervals and charts


def interval(low: float, value: float, high: float, title: str) -> str:
    """Return a number in its interval, on a line."""
    left, right, y = 60.0, 380.0, 34
    x = left + (right - left) * ((value - low) / (high - low) if high > low else 0.5)
    parts = [f'<line class="range" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>']
    parts += [f'<line class="range" x1="{end}" x2="{end}" y1="{y - 8}" y2="{y + 8}"/>' for end in (left, right)]
    parts.append(f'<circle class="mark" cx="{x:.1f}" cy="{y}" r="7"/>')
    ends = ((left, low), (right, high))
    parts += [_text(place, y + 28, f"{number:,.6g}", "middle") for place, number in ends]
    parts.append(_text(x, y - 16, f"{value:,.6g}", "middle strong-text"))
    says = f"{value:,.6g}, between {low:,.6g} and {high:,.6g}."
    return _svg(440, 70, "".join(parts), title, says, "graph")


def profile(names: Sequence[str], ends: Sequence[tuple[float, float, float]], x: str, title: str) -> str:
    """Return numbers in their intervals beside one another: each is low, value, high."""
    low, high = min(0.0, *(end[0] for end in ends)), max(end[2] for end in ends)
    step = _round_step((high - low or 1.0) / 5)
    low, high = step * math.floor(low / step), step * math.ceil((high or step) / step)
    wide = (_WIDE - _RIGHT - _LEFT) / len(ends)
    parts = []
    for place in range(round((high - low) / step) + 1):
        value = low + place * step
        y = _height(value, low, high)
        parts.append(f'<line class="grid" y1="{y:.1f}" y2="{y:.1f}" x1="{_LEFT}" x2="{_WIDE - _RIGHT}"/>')
        parts.append(_text(_LEFT - 6, y + 4, f"{value:,.6g}", "end"))
    every = math.ceil(len(ends) / (12 if max(map(len, names)) < 4 else 5))
    for place, (name, (lowest, value, highest)) in enumerate(zip(names, ends, strict=True)):
        middle = _LEFT + (place + 0.5) * wide
        top, bottom, y = (_height(number, low, high) for number in (highest, lowest, value))
        parts.append(f'<line class="range" x1="{middle:.1f}" x2="{middle:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>')
        parts.append(f'<circle class="mark" cx="{middle:.1f}" cy="{y:.1f}" r="{min(5, wide / 3):.1f}"/>')
        if place % every == 0:
            parts.append(_text(middle, _HIGH - _BOTTOM + 17, name, "middle"))
    parts.append(_text((_LEFT + _WIDE - _RIGHT) / 2, _HIGH - 6, x, "middle"))
    largest = max(range(len(ends)), key=lambda place: ends[place][1])
    says = f"{len(ends)} answers in their intervals. The largest, at {names[largest]}: {ends[largest][1]:,.6g}."
    return _svg(_WIDE, _HIGH, "".join(parts), title, says, "chart")


def _height(value: float, low: float, high: float) -> float:
    return _TOP + (_HIGH - _BOTTOM - _TOP) * (high - value) / (high - low)


def _round_step(about: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least as large as a number.

    >>> _round_step(37), _round_step(0.3)
    (50.0, 0.5)
    """
    power = 10.0 ** math.floor(math.log10(about))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= about * (1 - 1e-12))


def grid(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Mapping[tuple[int, int], float],
    axes: tuple[str, str],
    title: str,
) -> str:
    """Return numbers by two names as colours: stronger for larger numbers. Negative numbers, which noise makes, are 0.

    values: by row and column; a place without a number stays empty. axes: what rows and columns are.
    """
    across, left, top = (_WIDE - 70) / len(columns), 60, 42
    high = min(across, 22.0)
    largest = max((value for value in values.values()), default=0.0)
    parts = []
    for (row, column), value in values.items():
        opacity = max(value, 0) / largest if largest > 0 else 0.0
        parts.append(
            f'<rect class="cell" x="{left + column * across:.1f}" y="{top + row * high:.1f}" width="{across:.1f}" '
            f'height="{high:.1f}" fill-opacity="{opacity:.3f}"/>'
        )
        if across >= 34:
            strong = " strong" if opacity > 0.85 else " deep" if opacity > 0.62 else ""
            x, y = left + (column + 0.5) * across, top + row * high + high / 2 + 5
            parts.append(_text(x, y, f"{value:,.4g}", f"middle{strong}"))
    parts += [_text(left - 8, top + (row + 0.5) * high + 5, name, "end") for row, name in enumerate(rows)]
    parts += [_text(left + (at + 0.5) * across, top - 8, name, "middle") for at, name in enumerate(columns)]
    parts += [_text(left - 8, top - 8, axes[0], "end"), _text((left + _WIDE) / 2, 14, axes[1], "middle")]
    says = f"{len(values)} answers by {axes[0]} and {axes[1]}. The largest: {largest:,.6g}."
    return _svg(_WIDE, top + len(rows) * high + 4, "".join(parts), title, says, "heat wide")


def chart(shown: Chart, mark: tuple[float, float] | None = None, mark_says: str = "") -> str:
    """Return a chart of one panel with logarithmic axes and a legend below it; mark: the point of this screen."""
    (panel,) = shown.panels
    drawn = [line for line in panel.lines if line.points]
    points = [point for line in drawn for point in line.points] + ([mark] if mark else [])
    across, up = (
        _axis([x for x, _ in points], _LEFT, _WIDE - _RIGHT),
        _axis([y for _, y in points], _HIGH - _BOTTOM, _TOP),
    )
    parts = [
        *_ticks([x for x, _ in points], across, vertical=True),
        *_ticks([y for _, y in points], up, vertical=False),
    ]
    parts += [_text((_LEFT + _WIDE - _RIGHT) / 2, _HIGH - 6, shown.x, "middle")]
    high = (_TOP + _HIGH - _BOTTOM) / 2
    parts.append(f'<text transform="translate(14 {high}) rotate(-90)" class="middle">{escape(shown.y)}</text>')
    parts += [_line(line, across, up) for line in drawn]
    if mark:
        x, y = across(mark[0]), up(mark[1])
        parts.append(f'<line class="here" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_HIGH - _BOTTOM}"/>')
        parts.append(f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="6"/>')
    names = [line for line in drawn if line.label]
    legend = "".join(f"<li>{_swatch(line)}<span>{escape(' '.join(line.label.split()))}</span></li>" for line in names)
    says = f"{shown.says}: {mark_says}" if mark_says else f"{shown.says}."
    svg = _svg(_WIDE, _HIGH, "".join(parts), shown.says, says, "chart")
    return f'{svg}<ul class="legend" aria-hidden="true">{legend}</ul>'


def _axis(values: Sequence[float], start: float, end: float) -> Callable[[float], float]:
    low, high = math.log10(min(values)), math.log10(max(values))
    spare = 0.04 * (high - low) or 0.5
    low, high = low - spare, high + spare
    return lambda value: start + (end - start) * (math.log10(value) - low) / (high - low)


def _ticks(values: Sequence[float], axis: Callable[[float], float], *, vertical: bool) -> Iterator[str]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    steps = (1, 2, 5) if high - low <= 2 else (1,)
    inside = [
        step * 10.0**power
        for power in range(low - 1, high + 1)
        for step in steps
        if 0.97 * min(values) <= step * 10.0**power <= 1.03 * max(values)
    ]
    for value in inside[:: max(1, len(inside) // 7)]:
        place, name = axis(value), f"{value:,.0f}" if 1000 <= value < 1e6 else f"{value:g}"
        if vertical:
            yield f'<line class="grid" x1="{place:.1f}" x2="{place:.1f}" y1="{_TOP}" y2="{_HIGH - _BOTTOM}"/>'
            yield _text(place, _HIGH - _BOTTOM + 17, name, "middle")
        else:
            yield f'<line class="grid" y1="{place:.1f}" y2="{place:.1f}" x1="{_LEFT}" x2="{_WIDE - _RIGHT}"/>'
            yield _text(_LEFT - 6, place + 4, name, "end")


def _line(line: Line, across: Callable[[float], float], up: Callable[[float], float]) -> str:
    places: Points = tuple((across(x), up(y)) for x, y in line.points)
    if line.style in ("o", "ring"):
        filled = _colour(line) if line.style == "o" else "none"
        return "".join(
            f'<circle class="series" cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{filled}" stroke="{_colour(line)}"/>'
            for x, y in places
        )
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polyline class="series" fill="none" points="{drawn}" {_stroke(line)}/>'


def _swatch(line: Line) -> str:
    drawn = f'<line class="series" x2="28" y1="5" y2="5" {_stroke(line)}/>'
    return f'<svg width="28" height="10" aria-hidden="true">{drawn}</svg>'


def _stroke(line: Line) -> str:
    dashes = _DASHES.get(line.style)
    return f'stroke="{_colour(line)}" stroke-width="2"' + (f' stroke-dasharray="{dashes}"' if dashes else "")


def _colour(line: Line) -> str:
    """Return the colour of a line; black becomes the colour of the text, which is light on dark pages."""
    return "currentColor" if line.colour == "#000000" else line.colour


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(text)}</text>'


def _svg(wide: float, high: float, content: str, title: str, says: str, kind: str) -> str:
    name = f"picture-{next(_IDS)}"
    return (
        f'<svg class="{kind}" viewBox="0 0 {wide:.0f} {high:.0f}" role="img" aria-labelledby="{name} {name}-says">'
        f'<title id="{name}">{escape(title)}</title><desc id="{name}-says">{escape(says)}</desc>{content}</svg>'
    )
