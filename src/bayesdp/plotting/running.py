"""Pictures of running totals: each total with its interval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.errors import InvalidInputError
from bayesdp.plotting.charts import Chart, Line, Panel, titled
from bayesdp.plotting.drawing import check_place, save
from bayesdp.plotting.palette import PALETTE
from bayesdp.rounding import shown_above, shown_below

if TYPE_CHECKING:
    from bayesdp.session.running_totals import RunningTotal, RunningTotals

__all__ = ["plot_running", "running_chart"]

_MOST_TOTALS = 120
"""At most so many totals are drawn, at equal distances; the last one always."""

_MOST_CELLS = 6


def plot_running(totals: RunningTotals, path: str | Path) -> Path:
    """Draw totals and return the path; raises as `running_chart` and `plotting.drawing.save` do."""
    check_place(path)
    return save(running_chart(totals), path)


def running_chart(totals: RunningTotals) -> Chart:
    """Return a line for the total, or for each cell of a histogram, between the dotted ends of its intervals.

    Raises InvalidInputError if no period is complete, or for more than six cells.
    """
    last = totals.latest
    cells = last.query.cell_names if isinstance(last.value, tuple) else ("total",)
    if len(cells) > _MOST_CELLS:
        raise InvalidInputError(f"a picture of running totals has at most {_MOST_CELLS} cells, not {len(cells)}")
    step = -(-len(totals) // _MOST_TOTALS)
    drawn = totals.totals[::-step][::-1]
    posting = totals.posting
    period = "period" if isinstance(totals.every, int) else totals.every
    return Chart(
        "running",
        f"{titled(posting.dataset, None, totals.title)}: {last.shown(last.rounded)} after {len(totals)}, off by less "
        f"than {last.off_by}",
        f"complete {period}s, from {totals.query.since} on",
        "total so far",
        (Panel(tuple(line for place, name in enumerate(cells) for line in _lines(drawn, place, name))),),
        source=f"Dotted: the intervals, each of which holds in {shown_below(100 * last.level)} % of cases. "
        f"ε = {shown_above(posting.epsilon)} for all totals",
        whole=True,
    )


def _lines(totals: tuple[RunningTotal, ...], place: int, name: str) -> tuple[Line, ...]:
    """Return the line of one number of the totals, and those of the ends of its intervals."""
    colour, middle, low, high = PALETTE[place], [], [], []
    for total in totals:
        value, interval = np.atleast_1d(total.value), np.atleast_2d(total.measurement.interval())
        middle.append((float(total.number), float(value[place])))
        low.append((float(total.number), float(interval[place][0])))
        high.append((float(total.number), float(interval[place][1])))
    return (
        Line(name, tuple(middle), colour, "-", name),
        Line(f"{name}, lower end", tuple(low), colour, ":"),
        Line(f"{name}, upper end", tuple(high), colour, ":"),
    )
