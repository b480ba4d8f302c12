"""Pictures, drawn with Matplotlib when it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp.errors import InvalidInputError, MissingDependencyError
from bayesdp.validation import brief

if TYPE_CHECKING:
    from bayesdp.comparison import Comparison

__all__ = ["plot_comparison"]

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette, told apart by colour-blind readers."""

_FORMATS = {".png", ".svg", ".pdf"}


def plot_comparison(comparison: Comparison, path: str | Path, title: str | None = None) -> Path:
    """Draw α over ε for every theorem of a comparison; what is no guarantee is dashed grey. Returns the path written.

    Raises MissingDependencyError without Matplotlib and InvalidInputError for a name that is no picture's.
    """
    if not isinstance(path, str | Path):
        raise InvalidInputError(f"a picture needs a path, not {brief(path)}")
    target = Path(path)
    if target.suffix.lower() not in _FORMATS:
        raise InvalidInputError(f"a picture's name ends in .png, .svg or .pdf, not {target.name!r}")
    figure_type = _figure()
    figure = figure_type(figsize=(7.5, 4.6), layout="constrained")
    axes = figure.add_subplot()
    for colour, name in zip(_COLOURS, comparison.applying, strict=False):
        points = [(row.epsilon, row.alpha) for row in comparison.rows if row.theorem == name and row.alpha is not None]
        _line(axes, points, name, color=colour, marker="o", markersize=4)
    for method in dict.fromkeys(each.method for each in comparison.published):
        label = "plain DP, unprotected" if method == "plain-dp" else f"{method}, no guarantee"
        points = [(each.epsilon, each.alpha) for each in comparison.published if each.method == method]
        _line(axes, points, label, color="#777777", linestyle="--" if method == "plain-dp" else ":")
    axes.set_yscale("log")
    axes.set_xlabel("promised leakage ε")
    axes.set_ylabel(f"error α, reached in {100 * comparison.beta:g} % of cases")
    axes.set_title(title or f"Error of {comparison.query.description}", fontsize=10, loc="left")
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    try:
        figure.savefig(target, dpi=150)
    except OSError as error:
        raise InvalidInputError(f"cannot write {target}: {error.strerror or error}") from None
    return target


def _line(axes: Any, points: list[tuple[float, float]], label: str, **style: Any) -> None:
    """Draw one line in order of ε with its name at its right end."""
    if not points:
        return
    points = sorted(points)
    axes.plot(*zip(*points, strict=True), linewidth=1.6, **style)
    axes.annotate(
        label,
        points[-1],
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=style["color"],
    )


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(
            'pictures need Matplotlib, which is not installed; install it with: pip install "bayesdp[plot]"'
        ) from None
    return Figure
