"""The ladder of `advise` as a picture: what an assumption costs, and what its noise leaks if it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bayesdp.plotting.captions import NOT_PRIVATE, titled
from bayesdp.plotting.charts import Chart, Line, Panel, line, told_apart
from bayesdp.plotting.drawing import save
from bayesdp.plotting.palette import PALETTE, PLAIN

if TYPE_CHECKING:
    from bayesdp.advice.advice import Advice
    from bayesdp.advice.priced_assumption import PricedAssumption

__all__ = ["advice_chart", "plot_advice"]

_MARGIN = 1.15
"""How far the line of the promise reaches beyond the first and the last rung."""


def plot_advice(advice: Advice, path: str | Path) -> Path:
    """Draw the ladder and return the path written.

    Raises MissingDependencyError without Matplotlib and InvalidInputError for a name that is no picture's or a place
    that cannot be written to.
    """
    return save(advice_chart(advice), path)


def advice_chart(advice: Advice) -> Chart:
    """Return a line for each rung, at its error: from the promise to what leaks if what the table shows is true.

    The end of a line that the table does not deny is filled, that of one that it denies is a ring.
    """
    assumptions = [assumption for assumption in advice.priced_assumptions if assumption.alpha is not None]
    drawn = [_drawn(advice, assumption, place) for place, assumption in enumerate(assumptions)]
    lines = [*told_apart([span for span, _ in drawn], "xy"), *(end for _, end in drawn)]
    errors = [assumption.alpha for assumption in assumptions if assumption.alpha is not None]
    if errors:
        ends = (min(errors) / _MARGIN, max(errors) * _MARGIN)
        lines.append(line(PLAIN, tuple((end, advice.epsilon) for end in ends), style="--"))
    return Chart(
        "advice",
        f"{titled(advice.table_name, _records(advice))}: each assumption has its price, and leaks more than was "
        "promised (dashed) if it is wrong",
        f"error α, reached in {100 * advice.beta:g} % of cases",
        "ε if what the table shows is true",
        (Panel(tuple(lines)),),
        source=f"{NOT_PRIVATE} Asked: {advice.query.description}. Ring: the table denies it. "
        f"Recommended: {'none' if advice.recommended is None else advice.recommended.name}",
        log="xy",
    )


def _records(advice: Advice) -> int | None:
    """Return how many records the table has, as the models that were diagnosed on it know."""
    models = (assumption.model for assumption in advice.priced_assumptions if assumption.model is not None)
    return next((model.diagnosis.records for model in models if model.diagnosis is not None), None)


def _drawn(advice: Advice, assumption: PricedAssumption, place: int) -> tuple[Line, Line]:
    assert assumption.alpha is not None
    leaks = [line.epsilon for line in assumption.consequences if line.counts and line.epsilon is not None]
    worst, colour = max([advice.epsilon, *leaks]), PALETTE[place % len(PALETTE)]
    label = f"{assumption.name} (recommended)" if assumption is advice.recommended else assumption.name
    span = Line(assumption.name, ((assumption.alpha, advice.epsilon), (assumption.alpha, worst)), colour, "-", label)
    return span, Line(assumption.name, ((assumption.alpha, worst),), colour, "ring" if assumption.denied else "o")
