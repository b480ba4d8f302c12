"""The plot of priced assumptions: a line for each with a price, and a ring for each that the data contradict."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import bayesdp as bdp
from bayesdp import Advice
from bayesdp.advice.next_steps import NextSteps
from bayesdp.advice.priced_assumption import NoVerdict, PricedAssumption
from bayesdp.advice.sensitivity_to_assumption import Sensitivity
from bayesdp.models.diagnosis import Diagnosis, Verdict
from bayesdp.plotting.palette import PLAIN
from bayesdp.plotting.priced_assumptions import advice_chart, plot_advice

COUNT = bdp.Count("on", equals=1)
LEAKS = (Sensitivity("x", 1.0, 4.0, counts=True), Sensitivity("y", 1.0, 9.0), Sensitivity("z", 1.0, None, counts=True))


def assumption(name: str, odds: float, verdict: Verdict) -> PricedAssumption:
    model = bdp.OddsChain(odds)
    cost = bdp.calibrate(model, COUNT, epsilon=1.0)
    return PricedAssumption(name, f"{name} is true", "", verdict, "", model, calibration=cost)


def advice(*priced_assumptions: PricedAssumption, chosen: PricedAssumption | None = None) -> Advice:
    return Advice(COUNT, 1.0, 0.05, priced_assumptions, chosen, "", "meters.csv", NextSteps(None, {}, 0.95))


CHEAP = replace(assumption("cheap", 2, Verdict.VIOLATED), consequences=LEAKS)
COSTLY = assumption("costly", 9, Verdict.FINE)
NONE = PricedAssumption("groups", "anything holds", "", NoVerdict.NOT_POSSIBLE, "", reason="no model")


def test_priced_assumptions_are_lines_from_promise_to_leakage() -> None:
    (panel,) = advice_chart(advice(CHEAP, COSTLY, NONE, chosen=COSTLY)).panels
    spans = {line.name: line for line in panel.lines if line.style == "-"}
    assert set(spans) == {"cheap", "costly"}
    assert spans["cheap"].points == ((CHEAP.alpha, 1.0), (CHEAP.alpha, 4.0))  # what does not count is not drawn
    assert spans["costly"].points == ((COSTLY.alpha, 1.0), (COSTLY.alpha, 1.0))
    assert [line.label for line in spans.values()] == ["cheap", "costly (recommended)"]
    assert {line.name: line.style for line in panel.lines if line.style in ("o", "ring")} == {
        "cheap": "ring",
        "costly": "o",
    }
    (promise,) = (line for line in panel.lines if line.name == PLAIN)
    assert {height for _, height in promise.points} == {1.0}


def test_it_states_the_question_the_size_and_not_private() -> None:
    chart = advice_chart(advice(CHEAP))
    assert chart.says.startswith("meters.csv: ")
    assert "do not publish" in chart.source
    assert COUNT.description in chart.source
    assert chart.source.endswith("Recommended: none")
    assert CHEAP.model is not None
    seen = CHEAP.model.with_diagnosis(
        Diagnosis("records follow a chain", (), 1234, "all records", table_name="meters.csv")
    )
    assert advice_chart(advice(replace(CHEAP, model=seen))).says.startswith("meters.csv, n = 1,234: ")


def test_assumptions_without_a_price_have_no_line() -> None:
    assert advice_chart(advice(NONE)).panels[0].lines == ()


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_it_is_written(tmp_path: Path, kind: str) -> None:
    written = plot_advice(advice(CHEAP, COSTLY, NONE, chosen=COSTLY), tmp_path / f"advice.{kind}")
    assert written.stat().st_size > 2000
    if kind == "svg":
        assert re.search("costly", written.read_text())
