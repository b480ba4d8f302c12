from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInputError
from bayesdp.ledger import Ledger
from bayesdp.models import ChainLayout
from bayesdp.plotting.budget import budget_chart
from bayesdp.plotting.charts import Chart
from bayesdp.session.overview import Overview, overview
from bayesdp.session.parts import everywhere
from bayesdp.session.session import Session

CHAIN = bdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], column="on", layout=ChainLayout("hour", "meter", 1))
ON = bdp.Count("on", equals=1)


def table() -> polars.DataFrame:
    rows = [(meter, "NESW"[meter % 4], hour, hour % 2) for meter in range(8) for hour in range(20)]
    return polars.DataFrame(rows, schema=["meter", "district", "hour", "on"], orient="row")


def on_in(*districts: str) -> bdp.Count:
    return bdp.Count("on", equals=1, by="district", by_cells=districts)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("budget") / "budget.db"
    with Session(table(), CHAIN, dataset="meters", epsilon=2.0, ledger=where, public=["district"]) as opened:
        opened.release(ON, epsilon=0.1)
        opened.release_by(on_in(*"NESW"), epsilon=0.2)
        with Ledger(where) as ledger:
            ledger.lower("meters", 1.5)
        opened.release(on_in("E"), epsilon=0.3)
        opened.release(bdp.Count("on", equals=0), epsilon=0.1)
    return where


def drawn(shown: Overview) -> Chart:
    return budget_chart(shown.datasets, shown.accountants)


def heights(chart: Chart, name: str, panel: int = 0) -> dict[float, float]:
    """Return the height of a line after each step."""
    return dict(point for line in chart.panels[panel].lines if line.name == name for point in line.points)


def test_the_line_rises_once_for_charges_made_together(place: Path) -> None:
    shown = overview(place, "meters")
    chart, (account,) = drawn(shown), shown.datasets
    totals = list(dict.fromkeys(release["epsilon_total"] for release in account["releases"]))
    assert list(heights(chart, "in all").values()) == [0.0, *totals, totals[-1]]
    assert len(totals) == 4
    assert heights(chart, "budget") == {0.0: 2.0, 2.0: 1.5, 4.5: 1.5}
    assert chart.says.startswith("meters, n = 160, model markov: ε = ")
    labels = [line.label for line in chart.panels[0].lines if line.label]
    assert "budget: 1.5" in labels


def test_parts_with_equal_charges_share_a_line(place: Path) -> None:
    shown = overview(place, "meters")
    chart = drawn(shown)
    east, others = heights(chart, "district E"), heights(chart, "district N, S, W")
    accountant = shown.accountants["meters"]
    assert east[4.0] == pytest.approx(shown.datasets[0]["epsilon_total"], rel=1e-9)
    assert east[2.0] == pytest.approx(others[2.0])
    assert others[3.0] == others[2.0] < east[3.0]
    releases = [(query, tau) for query, tau in _met(shown, "N")]
    assert others[4.0] == pytest.approx(bdp.leakage(accountant.model, releases).epsilon, rel=1e-9)
    assert any(line.label.endswith("(same as total)") for line in chart.panels[0].lines if line.name == "district E")


def _met(shown: Overview, part: str) -> Iterator[tuple[bdp.Query, float]]:
    from bayesdp.queries import query_from_dict

    for release in shown.datasets[0]["releases"]:
        query = query_from_dict(release["query"])
        if query.by is None or part in query.parts:
            yield everywhere(query.ledger_key().query), release["tau"]


def test_data_sets_have_a_panel_each_sorted_by_budget_left(tmp_path: Path) -> None:
    where = tmp_path / "budget.db"
    for number, budget in enumerate((5.0, 1.0, 3.0)):
        frame = table().with_columns(polars.lit(number).alias(f"of_{number}"))
        with Session(frame, CHAIN, dataset=f"set {number}", epsilon=budget, ledger=where) as opened:
            opened.release(ON, epsilon=0.5)
    chart = drawn(overview(where, None))
    assert [panel.title.partition(",")[0] for panel in chart.panels] == ["set 1", "set 2", "set 0"]
    assert chart.says == "Leakage and budget of 3 data sets"


def test_more_data_sets_than_fit_are_counted() -> None:
    account: dict[str, Any] = {
        "budget": 2.0,
        "epsilon_total": 1.0,
        "epsilon_remaining": 1.0,
        "credibility": None,
        "model": "markov",
        "records": None,
        "releases": [],
        "refusals": [],
        "changes": [{"entry": 1, "budget": 2.0}],
    }
    chart = budget_chart([{**account, "dataset": f"set {number}"} for number in range(9)], {})
    assert len(chart.panels) == 6
    assert "3 more are not shown" in chart.source


def test_an_empty_ledger_has_nothing_to_draw() -> None:
    with pytest.raises(InvalidInputError, match="no account to draw"):
        budget_chart([], {})


def test_a_session_draws_its_own_data_set(place: Path, tmp_path: Path) -> None:
    with Session(table(), CHAIN, dataset="meters", ledger=place) as opened:
        assert opened.plot(tmp_path / "a.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.slow
def test_after_a_private_fit_the_line_falls_to_the_new_leakage(tmp_path: Path) -> None:
    chain = bdp.OddsChain(50, states=(0, 1), column="on", layout=ChainLayout("hour", "meter", 1))
    with Session(table(), chain, dataset="meters", epsilon=40.0, ledger=tmp_path / "budget.db") as opened:
        opened.release(ON, epsilon=2.0)
        opened.fit(tau=4.0)
        shown = overview(tmp_path / "budget.db", None)
        assert heights(drawn(shown), "in all")[2.5] == shown.datasets[0]["epsilon_total"] == opened.leaked
