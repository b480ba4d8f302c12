"""Is an answer useful, and what else could be asked, with its error."""

from __future__ import annotations

import datetime
import json
import math
from random import Random

import polars
import pytest

import bayesdp as bdp
from bayesdp.advice.priced_assumption import PricedAssumption
from bayesdp.advice.questions import Yardstick
from bayesdp.advice.usefulness import WaysOut, coarser_windows, ways_out, whole_table
from bayesdp.models.diagnosis import Verdict

ON = bdp.Count("on", equals=True)
BY = Yardstick(100.0, "the answer")


def priced(alpha: float, model: bdp.Model | None = None) -> PricedAssumption:
    """Return an assumption with an error, and as a share of 100."""
    return PricedAssumption(
        "a", "", "", Verdict.FINE, "", model or bdp.OddsChain(9), error=alpha, relative_error=alpha / 100
    )


def hours(days: int, seed: int = 2) -> polars.DataFrame:
    draw, start = Random(seed), datetime.datetime(2024, 1, 1)
    times = [start + datetime.timedelta(hours=hour) for hour in range(24 * days)]
    return polars.DataFrame({"at": times, "on": [draw.random() < 0.5 for _ in times]})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (WaysOut(), "Instead, accept ε = 5 (error 8 %)."),
        (WaysOut(coarser=9.0), "coarsen the states to two, those asked for and all others (error 9 %)"),
        (WaysOut(windows=[("week", None), ("month", (0.04, "x"))]), "Instead, ask by month (error 4 %) or"),
        (WaysOut(windows=[("week", (0.2, "x"))]), "Instead, accept ε = 5 (error 8 %)."),
        (
            WaysOut(reading_less=[priced(7, bdp.ArbitraryGroups(50, group="user", keep=5, record="visit"))]),
            "read at most 5 visits of each user (error 7 % of the answer about these)",
        ),
    ],
)
def test_what_would_make_an_answer_useful_is_computed(options: WaysOut, said: str) -> None:
    text = ways_out(priced(40.0), ON, 1.0, BY, lambda epsilon: priced(40.0 / epsilon), options)
    assert "gives a useful answer at ε = 1" in text
    assert "that of the recommended one is 40 % of the answer" in text
    assert said in text


def test_if_nothing_helps_more_records_do() -> None:
    costly = lambda _: priced(500.0)  # noqa: E731
    assert "ask about more records" in ways_out(priced(500.0), ON, 1.0, BY, costly, WaysOut())
    assert "ask about the whole table" in ways_out(priced(500.0), ON, 1.0, BY, costly, WaysOut(whole=True))
    assert whole_table(bdp.Count("on", equals=True, since="2024-01-01"))


@pytest.mark.slow
def test_longer_windows_are_tried_if_the_error_is_too_large() -> None:
    days = bdp.Count("on", equals=True, by="date", since="2024-01-01", until="2024-05-20")
    advice = bdp.advise(hours(140), days, order_by="at")
    assert advice.recommended is not None
    assert (advice.recommended.relative_error or 0) > 0.1
    monthly = bdp.Count("on", equals=True, by="week", since="2024-01-01", until="2024-05-20")
    weekly = bdp.advise(hours(140), monthly, order_by="at").recommended
    assert weekly is not None
    assert weekly.relative_error is not None
    assert f"ask by week (error {math.ceil(1000 * weekly.relative_error) / 10:g} %)" in advice.outlook
    cells = bdp.Count("on", equals=True, by=["zone", "hour"], by_cells={"zone": ["A", "B"]})
    assert list(coarser_windows(cells)) == []


@pytest.mark.slow
def test_windows_at_the_same_price_are_offered_if_useful() -> None:
    outlook = bdp.advise(hours(140), ON, order_by="at").outlook
    assert "the same ε also gives an answer for each hour, with an error of" in outlook
    assert "for each" not in bdp.advise(hours(3), ON, order_by="at").outlook


def test_long_groups_are_tried_with_fewer_records_read() -> None:
    rows = [{"user": user, "day": day, "on": (user + day) % 3 == 0} for user in range(80) for day in range(30)]
    advice = bdp.advise(polars.DataFrame(rows), bdp.Count("on", equals=True), group="user")
    _, less, whole, *_ = advice.priced_assumptions
    assert less.name == "arbitrary groups, 5 records of each"
    assert less.model == bdp.ArbitraryGroups(30, group="user", keep=5)
    assert less.alpha == pytest.approx((whole.alpha or 0) / 6, rel=0.01)
    exact = sum((user + day) % 3 == 0 for user in range(80) for day in range(5))
    assert less.relative_error == pytest.approx((less.alpha or 0) / exact)
    assert advice.recommended is not less
    assert "5 records of each" in str(advice)
    assert [entry["model"].get("keep") for entry in advice.to_dict()["ladder"] if entry["name"] == less.name] == [5]


def test_a_delta_is_priced_printed_and_handed_on() -> None:
    rows = [{"who": i // 8, "t": i % 8, "on": Random(i // 3).random() < 0.4} for i in range(1600)]
    table = polars.DataFrame(rows)
    advice = bdp.advise(table, ON, group="who", delta=1e-6)
    assert "at ε = 1 and δ = 1e-06" in str(advice)
    assert json.loads(advice.to_json())["delta"] == 1e-6
    for each in advice.priced_assumptions:
        if each.model is not None:
            assert each.alpha == bdp.calibrate(each.model, ON, epsilon=1.0, delta=1e-6).accuracy(0.05)
            assert all(line.epsilon is None or line.epsilon >= 1.0 for line in each.consequences)
    assert ", delta=1e-06) as session" in advice.python
    assert advice.shell.endswith("--budget-delta 1e-06")
    median = bdp.advise(table, bdp.Median("t", candidates=range(8)), group="who", delta=1e-6)
    pure = bdp.advise(table, bdp.Median("t", candidates=range(8)), group="who")
    assert [each.alpha for each in median.priced_assumptions] == [each.alpha for each in pure.priced_assumptions]
