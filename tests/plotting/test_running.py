"""The picture of running totals: the totals, between the ends of their intervals."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import polars
import pytest

from bayesdp import Count, Histogram, OddsChain, Query, Session
from bayesdp.errors import InvalidInputError
from bayesdp.models import ChainLayout
from bayesdp.plotting.running import running_chart

CHAIN = OddsChain(9.0, column="on", layout=ChainLayout("hour"))


def totals(path: Path, query: Query, hours: int = 245, every: int = 2) -> Any:
    table = polars.DataFrame({"hour": range(hours), "on": [hour % 5 % 2 for hour in range(hours)]})
    with Session(table, CHAIN, dataset=f"{hours}", epsilon=9.0, ledger=path / "b.db") as session:
        return session.running(query, every=every, horizon=400, epsilon=5.0)


def test_totals_are_drawn_between_their_intervals(tmp_path: Path) -> None:
    released = totals(tmp_path, Count("on", equals=1))
    chart = running_chart(released)
    middle, low, high = chart.panels[0].lines
    assert len(released) == 122
    numbers = [x for x, _ in middle.points]
    assert numbers[-1] == 122
    assert {after - before for before, after in pairwise(numbers)} == {2.0}, "every second of them"
    last = released.latest
    assert middle.points[-1] == (122, last.value)
    assert (low.points[-1][1], high.points[-1][1]) == last.interval()
    assert "after 122" in chart.says
    assert released.plot(tmp_path / "a.svg").read_bytes().startswith(b"<?xml")


def test_a_histogram_has_a_line_for_each_cell(tmp_path: Path) -> None:
    chart = running_chart(totals(tmp_path, Histogram("on", cells=[0, 1]), hours=41))
    assert [line.label for line in chart.panels[0].lines if line.label] == ["0", "1"]


def test_no_picture_without_totals_or_of_many_cells(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no period is complete"):
        running_chart(totals(tmp_path, Count("on", equals=1), hours=2))
    with pytest.raises(InvalidInputError, match="at most 6 cells"):
        running_chart(totals(tmp_path, Histogram("on", cells=[*range(7)]), hours=41))
