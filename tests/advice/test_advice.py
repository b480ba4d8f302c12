"""What `advise` returns: it prints, it is JSON, and it says why."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bayesdp as bdp
from bayesdp import Advice
from bayesdp.advice.next_steps import NextSteps
from bayesdp.advice.priced_assumption import NoVerdict, PricedAssumption
from bayesdp.advice.sensitivity_to_assumption import Sensitivity
from bayesdp.errors import InvalidInputError
from bayesdp.models import Model
from bayesdp.models.diagnosis import Verdict

ON = bdp.Count("on", equals=1)
COSTLY = bdp.calibrate(bdp.OddsChain(9), ON, epsilon=1.0)
CHAIN = PricedAssumption("chain", "it is a chain", "A.", Verdict.VIOLATED, "B.", bdp.OddsChain(9), calibration=COSTLY)
INDEPENDENT = PricedAssumption(
    *("independent", "records are independent", "E."),
    Verdict.FINE,
    "F.",
    bdp.Independent(column="on"),
    calibration=bdp.calibrate(bdp.Independent(), ON, epsilon=1.0),
)
NONE = PricedAssumption("groups", "anything holds", "C.", NoVerdict.NOT_POSSIBLE, "D.", reason="Name entities.")


def advised(chosen: PricedAssumption | None, *priced_assumptions: PricedAssumption) -> Advice:
    next_steps = NextSteps("table.csv", {"state": "on", "order_by": ["t"]}, 0.95)
    return Advice(
        ON, 1.0, 0.05, priced_assumptions or (CHAIN, NONE), chosen, "It shows a memory.", "table.csv", next_steps
    )


def test_it_prints_and_is_json_and_a_picture(tmp_path: Path) -> None:
    advice = advised(CHAIN, INDEPENDENT, CHAIN, NONE)
    text = str(advice)
    for assumption in advice.priced_assumptions:
        assert assumption.name.capitalize() in text
    assert "Recommended: " in text
    assert "without any noise" in text
    document = json.loads(advice.to_json())
    assert document["recommended"]["model"] == advice.recommended.model.identity  # type: ignore[union-attr]
    assert document["recommended"]["alpha"] == advice.recommended.alpha  # type: ignore[union-attr]
    for assumption, entry in zip(advice.priced_assumptions, document["ladder"], strict=True):
        assert {"model", "verdict", "alpha", "assumes"} <= set(entry)
        if entry["model"] is not None:
            assert Model.from_dict(entry["model"]) == assumption.model
    assert advice.plot(tmp_path / "advice.svg").stat().st_size > 2000


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"verdict": "fine"}, "the cheapest that the table does not contradict."),
        ({"verdict": "not tested"}, "does not contradict. But the table cannot test it: you must know that it holds."),
        ({"consequences": (Sensitivity("x", 1.0, 1.05, counts=True),)}, "less than 10 %"),
        ({"consequences": (Sensitivity("x", 1.0, 1.5, counts=True),)}, "contradicts every assumption"),
        ({"consequences": (Sensitivity("x", 1.0, None, counts=True),)}, "contradicts every assumption"),
    ],
)
def test_it_states_why_an_assumption_is_recommended(change: dict[str, Any], said: str) -> None:
    assumption = replace(CHAIN, **change)
    assert said in advised(assumption, assumption, NONE).why
    assert "→ chain" in advised(assumption, assumption, NONE).table()


def test_no_recommendation_means_no_code() -> None:
    lost = advised(None)
    assert "No noise is enough" in lost.why
    assert lost.python == lost.shell == ""
    assert "Go on" not in str(lost)
    assert "No price: Name entities." in str(lost)
    assert lost.to_dict()["recommended"] is None
    assert "→" not in lost.table()


def test_the_table_has_the_leakage_if_the_data_is_right() -> None:
    lines = [Sensitivity("x", 1.0, 1.5, counts=True), Sensitivity("y", 1.0, 2.5, counts=True)]
    other = Sensitivity("z", 1.0, 7.0)
    assert advised(None, replace(CHAIN, consequences=(*lines, other))).table().endswith("1.5 to 2.5")
    assert advised(None, replace(CHAIN, consequences=(lines[0], other))).table().endswith(" 1.5")
    assert "7" not in advised(None, replace(CHAIN, consequences=(other,))).table()


def test_a_picture_of_no_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="txt"):
        advised(CHAIN).plot(tmp_path / "advice.txt")
    assert not list(tmp_path.iterdir())


def test_former_names_work_with_a_warning() -> None:
    advice = advised(CHAIN)
    with pytest.warns(DeprecationWarning, match="priced_assumptions"):
        assert advice.ladder is advice.priced_assumptions
    with pytest.warns(DeprecationWarning, match="next_steps"):
        assert advice.way_on is advice.next_steps
