"""The answers to one question about several parts: found by their part, added up as one release."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from answers import answered  # type: ignore[import-not-found]

import bayesdp as bdp
from bayesdp.errors import InvalidInputError
from bayesdp.session.answers import Answers

PARTS = {"A": 40, "B": 70, "C": 10}


def part(cell: Any, value: int = 40, **changes: Any) -> Any:
    return answered(value, bdp.Count("s", equals=1, by="district", by_cells=[cell]), **changes)


def several(**changes: Any) -> Answers:
    return Answers("district", tuple(part(cell, value, **changes) for cell, value in PARTS.items()))


def test_each_is_found_by_its_part() -> None:
    answers = several()
    assert dict(answers.values) == PARTS
    assert [answer.value for answer in answers] == [40, 70, 10]
    assert (answers["B"].value, len(answers), answers.parts) == (70, 3, ("A", "B", "C"))
    with pytest.raises(KeyError):
        answers["D"]
    numbered = Answers("district", (part(1), part(2, 41)))
    assert numbered[2.0].value == numbered["2"].value == 41, "however the part is written"


def test_they_cost_as_the_dearest_part_and_leak_as_the_worst() -> None:
    first = several()
    dear = replace(first, answers=(*first.answers[:2], part("C", epsilon=0.75, epsilon_total=1.5)))
    assert (first.epsilon, first.epsilon_total) == (0.5, 1.0)
    assert (dear.epsilon, dear.epsilon_total) == (0.75, 1.5)
    assert dear.guarantee == dear["C"].guarantee
    assert "ε = 0.75 about each" in str(dear)


def test_a_warning_of_several_stands_once() -> None:
    answers = several(noise=1e6)
    assert all(answer.warnings for answer in answers)
    assert len(set(answers.warnings)) == len(answers.warnings)
    assert str(answers).count(answers.warnings[0]) == 1


def test_they_are_written_and_read() -> None:
    answers = several()
    assert Answers.from_dict(json.loads(answers.to_json())) == answers


@pytest.mark.parametrize(
    "change",
    [
        {"by": "street"},
        {"by": ""},
        {"answers": []},
        {"answers": 3},
        {"answers": [{}]},
        {"kind": "answer"},
        {"schema": 2},
    ],
)
def test_what_is_no_list_of_answers_by_parts_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Answers.from_dict({**several().to_dict(), **change})


def test_an_answer_about_no_part_or_several_is_none_of_them() -> None:
    both = bdp.Count("s", equals=1, by="district", by_cells=["A", "B"])
    for stray in (answered(), answered(40, both)):
        with pytest.raises(InvalidInputError, match="every answer must be about one part by 'district'"):
            Answers("district", (part("A"), stray))
