"""Pictures, drawn with Matplotlib when it is installed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError, MissingDependencyError
from bayesdp.plotting.palette import COLOURS, colour_of

if TYPE_CHECKING:
    from bayesdp.calibration.comparison import Comparison
    from bayesdp.models import Model
    from bayesdp.queries import Query

__all__ = ["plot_comparison", "plot_tradeoff"]

EPSILONS = (0.1, 0.25, 0.5, *range(1, 21))
"""The promises of the paper's experiments, and some stricter ones."""

_MOST_NAMES = 24
_FORMATS = {".png", ".svg", ".pdf"}


def plot_tradeoff(
    model: Model,
    query: Query,
    path: str | Path,
    *,
    epsilons: Sequence[float] = EPSILONS,
    beta: float = 0.05,
    title: str | None = None,
) -> Path:
    """Draw the error α over the promise ε for every theorem, with plain DP as the unprotected floor, and write it.

    Raises as `compare` and `plot_comparison` do.
    """
    from bayesdp.calibration.comparison import compare

    return plot_comparison(compare(model, query, epsilons=epsilons, beta=beta), path, title)


def plot_comparison(comparison: Comparison, path: str | Path, title: str | None = None) -> Path:
    """Draw α over ε for every theorem of a comparison and return the path written.

    What others do is grey, dotted if it is no guarantee. An error of 0 has no place on the axis and is left out.

    Raises MissingDependencyError without Matplotlib and InvalidInputError for a name that is no picture's or a place
    that cannot be written to.
    """
    if not isinstance(path, str | Path):
        raise InvalidInputError(f"a picture needs a path, not {brief(path)}")
    target = Path(path)
    if target.suffix.lower() not in _FORMATS:
        raise InvalidInputError(f"a picture's name ends in .png, .svg or .pdf, not {target.name!r}")
    figure_type = _figure()
    figure = figure_type(figsize=(7.5, 4.6), layout="constrained")
    axes = figure.add_subplot()
    axes.set_yscale("log")
    axes.set_xlabel("promised leakage ε")
    axes.set_ylabel(f"error α, reached in {100 * comparison.beta:g} % of cases")
    axes.set_title(title or f"Error of {comparison.query.description}", fontsize=10, loc="left")
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    ends = []
    for name in comparison.applying:
        points = [(row.epsilon, row.alpha) for row in comparison.rows if row.theorem == name and row.alpha is not None]
        dashes = "-" if name in COLOURS else "-."
        ends += _line(axes, points, name, color=colour_of(name), linestyle=dashes, marker="o", markersize="4")
    for method, proven in dict.fromkeys((each.method, each.proven) for each in comparison.published):
        label, line = (f"{method}, proven", "-") if proven else (f"{method}, no guarantee", ":")
        if method == "plain-dp":
            label, line = "plain DP, unprotected", "--"
        points = [(each.epsilon, each.alpha) for each in comparison.published if each.method == method and each.alpha]
        ends += _line(axes, points, label, color="#777777", linestyle=line)
    _name(axes, ends)
    try:
        figure.savefig(target, dpi=150, metadata={"Date": None} if target.suffix.lower() == ".svg" else None)
    except OSError as error:
        raise InvalidInputError(f"cannot write {target}: {error.strerror or error}") from None
    return target


End = tuple[float, float, str, str]


def _line(axes: Any, points: list[tuple[float, float]], label: str, **style: str) -> list[End]:
    """Draw one line in order of ε and return where it ends, its name and its colour."""
    if not points:
        return []
    points = sorted(points)
    axes.plot(*zip(*points, strict=True), linewidth=1.6, **style)
    return [(*points[-1], label, style["color"])]


def _name(axes: Any, ends: list[End]) -> None:
    """Write every line's name at its right end, names that would overlap one above the other."""
    heights = [math.log10(alpha) for _, alpha, _, _ in ends]
    low, high = (math.log10(limit) for limit in axes.get_ylim())
    apart = (high - low) / _MOST_NAMES
    lowest = -math.inf
    for index in sorted(range(len(ends)), key=lambda index: heights[index]):
        epsilon, alpha, label, colour = ends[index]
        lowest = max(heights[index], lowest + apart)
        axes.annotate(
            label,
            (epsilon, alpha),
            xytext=(1.02, (lowest - low) / (high - low)),
            textcoords="axes fraction",
            va="center",
            fontsize=8,
            color=colour,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.5,
                "shrinkA": 0,
                "shrinkB": 2,
                "relpos": (0, 0.5),
            },
        )


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(
            'pictures need Matplotlib, which is not installed; install it with: pip install "bayesdp[plot]"'
        ) from None
    return Figure
