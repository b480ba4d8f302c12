"""What an answer says: the number to publish, its accuracy, its cost, its warnings, and what older ones lack."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars
import pytest
from answers import DIAGNOSIS, answered  # type: ignore[import-not-found]
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import bayesdp as bdp
from bayesdp.errors import InvalidInputError
from bayesdp.session.answer import Answer
from bayesdp.session.measurement import last_place, shortened_accuracy
from bayesdp.session.session import Session


def test_a_count_is_rounded_to_the_digits_that_the_noise_leaves() -> None:
    assert math.floor(math.log10(answered().reach())) == 2  # hundreds: tens are kept
    assert answered().rounded == 4250
    assert answered().value == 4248
    assert answered(noise=1000.0).rounded == 4200
    assert answered(noise=10.0).rounded == 4248
    assert answered(noise=0.01).rounded == 4248


@pytest.mark.parametrize(
    ("value", "query", "rounded"),
    [
        (-30, bdp.Count("s", equals=1), 0),
        (15300, bdp.Count("s", equals=1), 15264),
        (-30, bdp.Count("s", equals=1, where="s > 0"), 0),
        ((-50, 15999, 333), bdp.Histogram("s", cells=[1, 2, 3]), (0, 15264, 330)),
        (-2e6, bdp.Sum("x", bounds=(-10, 5)), -152640.0),
        (1e9, bdp.Sum("x", bounds=(-10, 5)), 76320.0),
        (10.0, bdp.Sum("x", bounds=(5, 10)), 76320.0),
        (10.0, bdp.Sum("x", bounds=(5, 10), where="x > 5"), 10.0),
        (-10.0, bdp.Sum("x", bounds=(5, 10), where="x > 5"), 0.0),
        (10.0, bdp.Sum("x", bounds=(5, 10), where="y > 5", public_filter=True), 10.0),
        (10.0, bdp.Sum("x", bounds=(-10, -5), where="x > 5"), 0.0),
        (123456.789, bdp.Sum("x", bounds=(0, 100)), 123460.0),
    ],
)
def test_the_rounded_answer_is_a_possible_one(value: Any, query: bdp.Query, rounded: Any) -> None:
    answer = answered(value, query)
    assert answer.rounded == rounded
    assert type(answer.rounded) is type(answer.value)
    assert answer.to_dict()["rounded"] == (list(rounded) if isinstance(rounded, tuple) else rounded)


def test_a_mean_lies_between_its_bounds() -> None:
    mean = bdp.Mean("x", bounds=(0, 1), size=15264)
    assert answered(0.503471, mean, unit=1e-5).rounded == 0.5035
    assert answered(-0.2, mean, unit=1e-5).rounded == 0.0
    assert answered(1.2, mean, unit=1e-5).rounded == 1.0


@given(st.integers(-20000, 40000), st.floats(0.05, 1e4))
def test_rounding_moves_a_possible_number_by_little(value: int, noise: float) -> None:
    answer = answered(value, noise=noise)
    assert isinstance(answer.rounded, int)
    assert 0 <= answer.rounded <= answer.records
    if 0 <= value <= answer.records:
        assert abs(answer.rounded - value) <= answer.reach() / 20


@given(st.integers(-20000, 40000), st.integers(0, 15264), st.floats(0.05, 1e4))
def test_the_accuracy_beside_the_rounded_number_holds_for_it(value: int, truth: int, noise: float) -> None:
    """Whenever the truth is less than α from the value, it is less than what is printed from the rounded value."""
    answer = answered(value, noise=noise)
    assert isinstance(answer.rounded, int)
    shown = float(answer.off_by.split()[0])
    if abs(value - truth) < answer.accuracy():
        assert abs(answer.rounded - truth) < shown


def test_the_last_place_is_one_below_the_first_digit_of_the_half_width() -> None:
    for half, place in [(9.99, 1), (10.0, 1), (99.0, 1), (100.0, 10), (12345.0, 1000), (0.0, 1)]:
        assert last_place(half, whole=True) == place
    assert last_place(0.37, whole=False) == Fraction(1, 100)
    assert shortened_accuracy(300.5, [4248], Fraction(10)) == 310.0
    assert shortened_accuracy(300.5, [4250], Fraction(10)) == 300.5


def test_it_prints_as_five_lines_the_rounded_number_first() -> None:
    lines = str(answered()).splitlines()
    assert lines == [
        "The number of records with s = 1: 4250 (unrounded 4248)",
        "Off by less than 310 (unrounded 301) in 95 % of cases.",
        "It cost ε = 0.5; steps has leaked ε = 1 in all; remaining: 1.",
        "It protects one record, not the person behind several: an attacker who was 50 : 50 is at most 73.2 : 26.8.",
        "Proven (general) if all records are independent of one another. Model: never diagnosed on a table. "
        "The statement says more.",
    ]
    assert "repeating it costs nothing" in str(answered(reused=True)).splitlines()[2]
    assert answered()._repr_html_().index(">4250<") < answered()._repr_html_().index(">4248<")
    document = list(answered().to_dict())
    assert document.index("rounded") < document.index("value")


def test_rounding_dust_does_not_remain(tmp_path: Path) -> None:
    answer = answered(epsilon_remaining=2.22044e-16)
    for text in (str(answer), answer.guarantee, answer.statement(), answer._repr_html_()):
        assert "e-16" not in text
    assert "remaining: 0." in str(answer)
    table = polars.DataFrame({"x": [0, 1] * 50})
    with Session(table, bdp.Independent(), epsilon=0.3, ledger=tmp_path / "b.db", dataset="d") as session:
        session.release(bdp.Count("x", equals=1), epsilon=0.1)
        assert "and leave 0." in str(session.preview(bdp.Count("x", equals=0), epsilon=session.remaining))


@pytest.mark.parametrize(
    ("changes", "warned"),
    [
        ({}, []),
        ({"records": 310}, []),
        ({"records": 309}, ["larger than any possible answer: this number says nothing"]),
        ({"epsilon_total": 20.0}, []),
        ({"epsilon_total": 20.5}, ["ε = 20.5 is hardly a promise any more"]),
        ({"records": 300, "epsilon_total": 700.0}, ["says nothing", "hardly a promise"]),
        ({"diagnosis": DIAGNOSIS}, ["The data contradict the assumption"]),
        ({"diagnosis": {**DIAGNOSIS, "verdict": "fine"}}, []),
    ],
)
def test_warnings_stand_wherever_the_number_stands(changes: dict[str, Any], warned: list[str]) -> None:
    answer = answered(**changes)
    assert len(answer.warnings) == len(warned)
    assert answer.to_dict()["warnings"] == list(answer.warnings)
    for warning, part in zip(answer.warnings, warned, strict=True):
        assert part in warning
        for text in (str(answer), answer.guarantee, answer.statement(), answer._repr_html_()):
            assert warning in text
    assert str(answer).count("Warning: ") == len(warned)


def test_a_sum_is_drowned_by_noise_wider_than_its_range() -> None:
    for bounds, drowned in (((0, 1), False), ((0, 0.01), True), ((1000, 1000.01), True)):
        assert bool(answered(0.0, bdp.Sum("x", bounds=bounds)).warnings) == drowned
    mean = bdp.Mean("x", bounds=(0, 1), size=15264)
    assert answered(0.5, mean, unit=0.01).warnings


def test_a_preview_warns_too(tmp_path: Path) -> None:
    table = polars.DataFrame({"x": [0, 1] * 50})
    with Session(table, bdp.Independent(), epsilon=50.0, ledger=tmp_path / "b.db", dataset="d") as session:
        drowned = session.preview(bdp.Count("x", equals=1), epsilon=0.01)
        assert "Warning: The noise is larger than any possible answer" in str(drowned)
        assert drowned.to_dict()["warnings"] == list(drowned.warnings)
        assert session.preview(bdp.Count("x", equals=1), epsilon=1.0).warnings == ()
        assert "hardly a promise" in str(session.preview(bdp.Count("x", equals=1), epsilon=30.0))
        assert "at most 73.2 : 26.8" in str(session.preview(bdp.Count("x", equals=1), epsilon=1.0))


def test_the_verdict_and_the_reason_travel() -> None:
    assert answered().verdict == "never diagnosed on a table"
    assert "This model was never diagnosed on a table." in answered().guarantee
    violated = answered(diagnosis=DIAGNOSIS, accepted="the board agreed")
    assert "violated by the data; released anyway because: the board agreed" in str(violated)
    assert "on steps.csv (500 rows, 2026-11-01) says: violated; released anyway" in violated.guarantee
    fine = answered(diagnosis={**DIAGNOSIS, "verdict": "fine"})
    assert "Model: fine." in str(fine)
    assert "says: fine." in fine.guarantee


def test_new_entries_survive_json_and_are_part_of_the_answer() -> None:
    entries: dict[str, Any] = {"diagnosis": DIAGNOSIS, "accepted": "why", "by": "Ada", "version": "1", "ledger": "b"}
    answer = answered(**entries, parameters="one line\nanother")
    read = Answer.from_dict(json.loads(answer.to_json()))
    assert read == answer
    assert hash(read) == hash(answer)
    assert read.parameters == "one line\nanother"
    for name in (*entries, "parameters"):
        without: Any = {name: None}
        assert answer.differences(answered(**{**entries, "parameters": "one line\nanother", **without})) == (name,)
    assert read.diagnosis == DIAGNOSIS
    more = answered(diagnosis={**DIAGNOSIS, "notes": ["long"]})
    assert more.diagnosis == DIAGNOSIS


def test_an_answer_is_three_frozen_parts_read_from_itself() -> None:
    answer = answered(by="Ada", reused=True)
    parts = (answer.measurement, answer.promise, answer.posting)
    names = [item.name for part in parts for item in fields(part)]
    assert len(set(names)) == len(names), "an entry belongs to one part"
    assert set(names) <= set(answer.to_dict())
    for part in parts:
        assert is_dataclass(part)
        for item in fields(part):
            assert getattr(answer, item.name) is getattr(part, item.name)
            with pytest.raises(FrozenInstanceError):
                setattr(part, item.name, None)
    with pytest.raises(FrozenInstanceError):
        answer.posting = answer.posting
    assert {name for name in vars(Answer) if hasattr(vars(Answer)[name], "_part")} >= set(names)
    assert Answer(*parts) == answer == Answer.from_dict(answer.to_dict())


def test_the_json_of_the_previous_version_is_written_again_byte_for_byte() -> None:
    """Those answers lack `kind`, and nothing else: `fields are added, never re-meant`."""
    lines = (Path(__file__).parent / "answers_of_0_1.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 6
    for line in lines:
        assert Answer.from_dict(json.loads(line)).to_json() == f'{{"kind": "answer", {line[1:]}'


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"kind": "model"}, "of kind answer, not of kind 'model'"),
        ({"schema": 2}, "is of schema 2, and this version of bayesdp reads schema 1; update it"),
        ({"schema": True}, '"schema" must be a whole number'),
        ({"schema": "1"}, '"schema" must be a whole number'),
        ({"schema": 0}, '"schema" must be a whole number'),
    ],
)
def test_another_kind_and_a_newer_schema_are_refused(change: dict[str, Any], refused: str) -> None:
    with pytest.raises(InvalidInputError, match=refused):
        Answer.from_dict({**answered().to_dict(), **change})
    assert Answer.from_dict({**answered().to_dict(), "added later": 1}) == answered()


def test_an_older_answer_still_reads() -> None:
    """Version 0.1 wrote none of these entries."""
    added = {"kind", "rounded", "warnings", "diagnosis", "accepted", "by", "version", "ledger", "parameters"}
    document = json.loads(answered().to_json())
    older = {name: value for name, value in document.items() if name not in added}
    assert set(document) - set(older) == added
    answer = Answer.from_dict(older)
    assert answer == answered()
    assert answer.verdict == "never diagnosed on a table"
    assert "version not recorded" in answer.statement()


@pytest.mark.parametrize(
    "change",
    [
        *({"rounded": 4300}, {"rounded": [4250]}, {"accepted": ""}, {"by": 7}, {"version": []}, {"ledger": " "}),
        *({"parameters": 1}, {"diagnosis": "fine"}, {"diagnosis": {}}, {"diagnosis": {**DIAGNOSIS, "findings": None}}),
        *({"diagnosis": {**DIAGNOSIS, "findings": [1]}}, {"diagnosis": {**DIAGNOSIS, "findings": [{"name": "x"}]}}),
        *({"diagnosis": {**DIAGNOSIS, "rows": -1}}, {"diagnosis": {**DIAGNOSIS, "table": None}}),
    ],
)
def test_an_answer_edited_into_nonsense_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Answer.from_dict({**answered().to_dict(), **change})


def test_words_of_others_are_no_markup() -> None:
    answer = answered(accepted="[/b] <b>", diagnosis={**DIAGNOSIS, "table": "<script>[bold]"}, by="<i>")
    console = Console(width=200, file=None)
    with console.capture() as captured:
        console.print(answer)
    assert "[/b] <b>" in captured.get()
    assert "<b>" not in answer._repr_html_()
    assert "<script>" not in answer._repr_html_()
