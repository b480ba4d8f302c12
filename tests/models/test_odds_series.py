"""The series whose odds ratios depend on the distance of records."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bayesdp.errors import ModelError
from bayesdp.models import Model, OddsSeries


@pytest.mark.parametrize(
    ("odds", "message"),
    [
        ([], "odds is empty"),
        (5.84, "odds must be a list"),
        ([2, 0.5], r"odds\[1\] must be at least 1"),
        ([math.nan], r"odds\[0\] must be a finite"),
        ([3, math.inf], r"odds\[1\] must be a finite"),
        (["3"], r"odds\[0\] must be a number"),
        ([True], r"odds\[0\] must be a number"),
    ],
)
def test_odds_that_cannot_be_are_refused(odds: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        OddsSeries(odds)


@pytest.mark.parametrize(
    "given", [{}, {"states": [1]}, {"states": ["a", "b", "c"]}, {"additive": 1}, {"ordered": "yes"}, {"unit": 0}]
)
def test_additive_needs_two_states_or_an_order(given: dict[str, Any]) -> None:
    with pytest.raises(ModelError):
        OddsSeries([2.0], **{"additive": True, **given})


def test_json_goes_there_and_back() -> None:
    models = (
        OddsSeries([5.84, 1.25, 1.44]),
        OddsSeries([2], additive=True, states=(False, True), length=100, gaps=True, unit=12, state="steps > 0"),
        OddsSeries([2, 1, 3], additive=True, ordered=True, column="mood"),
    )
    for model in models:
        assert Model.from_json(model.to_json()) == model
    assert OddsSeries([5.84, 1.25]).to_dict() == {
        "schema": 1,
        "type": "odds-series",
        "odds": [5.84, 1.25],
        "additive": False,
        "length": None,
    }


def test_the_reach_ends_with_the_last_dependence() -> None:
    assert OddsSeries([2, 1, 3, 1, 1]).reach == 3
    assert OddsSeries([1, 1]).reach == 0
    assert OddsSeries([9]).log_odds.tolist() == pytest.approx([math.log(9)])
    assert not OddsSeries([9]).log_odds.flags.writeable


def test_the_assumption_can_be_disputed() -> None:
    said = OddsSeries([5.84, 1.25, 1.44], additive=True, states=(0, 1)).assumption
    assert "5.84 at distance 1, 1.25 at distance 2 and 1.44 at distance 3, and 1 beyond" in said
    assert said.endswith(
        "what each of the 3 records before and after says about this one adds up, and all push the same way"
    )
    assert "adds up" not in OddsSeries([5.84]).assumption
    assert OddsSeries([2], additive=True, ordered=True).assumption.endswith("the same way in the order of the values")
