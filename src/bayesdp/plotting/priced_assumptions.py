"""Pictures of an advice: the price of each assumption, and the leakage of its noise if it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bayesdp.plotting.charts import NOT_PRIVATE, Chart, Line, Panel, distinguished, line, titled
from bayesdp.plotting.drawing import save
from bayesdp.plotting.palette import PALETTE, PLAIN

if TYPE_CHECKING:
    from bayesdp.advice.advice import Advice
    from bayesdp.advice.priced_assumption import PricedAssumption

__all__ = ["advice_chart", "plot_advice"]

_MARGIN = 1.15
"""How far the line of the promise extends beyond the first and the last assumption."""


def plot_advice(advice: Advice, path: str | Path) -> Path:
    """Draw the priced assumptions and return the path; raises as `plotting.drawing.save` does."""
    return save(advice_chart(advice), path)


def advice_chart(advice: Advice) -> Chart:
    """Return a line for each priced assumption, at its error: from the promise to the ε you get, given the table.

    The end of a line is a ring if the table contradicts the assumption, and filled otherwise.
    """
    assumptions = [assumption for assumption in advice.priced_assumptions if assumption.alpha is not None]
    drawn = [_drawn(advice, assumption, place) for place, assumption in enumerate(assumptions)]
    lines = [*distinguished([span for span, _ in drawn], "xy"), *(end for _, end in drawn)]
    errors = [assumption.alpha for assumption in assumptions if assumption.alpha is not None]
    if errors:
        ends = (min(errors) / _MARGIN, max(errors) * _MARGIN)
        lines.append(line(PLAIN, tuple((end, advice.epsilon) for end in ends), style="--"))
    return Chart(
        "advice",
        f"{titled(advice.table_name, _records(advice))}: each assumption has its price, and leaks more than "
        "promised (dashed) if it is wrong",
        f"error α, reached in {100 * advice.beta:g} % of cases",
        "ε you would get, given the table",
        (Panel(tuple(lines)),),
        source=f"{NOT_PRIVATE} Query: {advice.query.description}. Ring: the table contradicts it. "
        f"Recommended: {'none' if advice.recommended is None else advice.recommended.name}",
        log="xy",
    )


def _records(advice: Advice) -> int | None:
    """Return the number of records of the table, from the models that were diagnosed on it."""
    models = (assumption.model for assumption in advice.priced_assumptions if assumption.model is not None)
    return next((model.diagnosis.records for model in models if model.diagnosis is not None), None)


def _drawn(advice: Advice, assumption: PricedAssumption, place: int) -> tuple[Line, Line]:
    assert assumption.alpha is not None
    leaks = [line.epsilon for line in assumption.consequences if line.counts and line.epsilon is not None]
    worst, colour = max([advice.epsilon, *leaks]), PALETTE[place % len(PALETTE)]
    label = f"{assumption.name} (recommended)" if assumption is advice.recommended else assumption.name
    span = Line(assumption.name, ((assumption.alpha, advice.epsilon), (assumption.alpha, worst)), colour, "-", label)
    return span, Line(assumption.name, ((assumption.alpha, worst),), colour, "ring" if assumption.denied else "o")
