"""Diagnoses as documents: what travels with a model reads back as it was, and nothing else is read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp._support import documents
from bayesdp.diagnostics import Diagnosis, Finding
from bayesdp.errors import ModelError
from bayesdp.models.diagnosis import NOTES, Verdict, worst

TEXTS = st.text(max_size=20)
LINES = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)
VERDICTS = st.sampled_from(["fine", "not tested", "doubtful", "violated"])
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
FINDINGS = st.builds(
    Finding, LINES, TEXTS, TEXTS, VERDICTS, TEXTS, TEXTS, st.dictionaries(TEXTS, NUMBERS, max_size=3), TEXTS
)
DIAGNOSES = st.builds(
    Diagnosis,
    TEXTS,
    st.lists(FINDINGS, max_size=4).map(tuple),
    st.integers(0, 10**15),
    TEXTS,
    st.lists(TEXTS, max_size=3).map(tuple),
    st.dates().map(str) | st.just(""),
    LINES,
    st.integers(0, 10**15),
)
ORDER = Finding("order", "Is one record enough?", "p = 0.7", Verdict.FINE, "It is.", "", {"p_value": 0.7})
GAPS = Finding("gaps", "Are records missing?", "", Verdict.VIOLATED, "Some are.", "Give gaps=True.")
DIAGNOSIS = Diagnosis(
    "records follow a chain", (ORDER, GAPS), 100, "100 records", ("Trust.",), "2026-11-16", "a.csv", 101
)


@given(DIAGNOSES)
def test_a_diagnosis_reads_back_as_it_was_written(diagnosis: Diagnosis) -> None:
    assert Diagnosis.from_dict(diagnosis.to_dict()) == diagnosis
    assert Diagnosis.from_dict(documents.parse(diagnosis.to_json())) == diagnosis
    assert hash(Diagnosis.from_dict(diagnosis.to_dict())) == hash(diagnosis)
    for finding in diagnosis.findings:
        assert Finding.from_dict(finding.to_dict()) == finding


@pytest.mark.parametrize("text", ["fine", "not tested", "doubtful", "violated"])
def test_a_verdict_compares_prints_and_stores_as_its_text(text: str) -> None:
    verdict = Verdict(text)
    assert verdict == text
    assert (str(verdict), f"{verdict}", repr(verdict)) == (text, text, repr(text))
    assert json.dumps([verdict]) == json.dumps([text])
    finding = Finding("order", "", "", text, "", "")  # type: ignore[arg-type]
    assert finding.verdict is verdict
    assert documents.canonical("it", {"verdict": verdict}) == documents.canonical("it", {"verdict": text})


@given(st.lists(VERDICTS, max_size=6))
def test_fine_is_only_what_was_tested_throughout(verdicts: list[Any]) -> None:
    verdict = worst(*verdicts)
    for alarming in ("violated", "doubtful", "not tested"):
        if alarming in verdicts:
            assert verdict == alarming
            return
    assert verdict == ("fine" if verdicts else "not tested")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extra": 1}, "a diagnosis has no 'extra'"),
        ({"records": 1.5}, "records of a diagnosis must be a whole number"),
        ({"rows": -1}, "rows of a diagnosis must be at least 0"),
        ({"rows": True}, "rows of a diagnosis must be a whole number"),
        ({"date": "16 November"}, "must be one such as 2026-11-16"),
        ({"date": 20261116}, "date of a diagnosis must be a text"),
        ({"table": ""}, "table of a diagnosis must be a non-empty text"),
        ({"table": "a\nb"}, "must not hold line breaks"),
        ({"basis": None}, "basis of a diagnosis must be a text"),
        ({"trusted": "all"}, "does not test"),
        ({"trusted": [1]}, "does not test must be a text"),
        ({"notes": [1]}, "notes of a diagnosis must be a text"),
        ({"findings": {}}, "findings of a diagnosis"),
        ({"findings": ["fine"]}, "a finding must be a JSON object"),
        ({"verdict": "good"}, "a verdict is one of"),
        ({"verdict": "fine"}, 'is "fine", but that of its findings is "violated"'),
    ],
)
def test_other_diagnoses_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Diagnosis.from_dict(DIAGNOSIS.to_dict() | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extra": 1}, "a finding has no 'extra'"),
        ({"name": ""}, "name of a finding must be a non-empty text"),
        ({"verdict": ["fine"]}, "a verdict is one of"),
        ({"figure": 7}, "figure of a finding must be a text"),
        ({"word": None}, "word of a finding must be a text"),
        ({"values": [1]}, "values of a finding must be numbers by name"),
        ({"values": {"x": float("nan")}}, "value 'x' of a finding must be a finite number"),
        ({"values": {"x": float("inf")}}, "value 'x' of a finding must be a finite number"),
        ({"values": {"x": True}}, "value 'x' of a finding must be a number"),
        ({"values": {"x": "1"}}, "value 'x' of a finding must be a number"),
    ],
)
def test_other_findings_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Finding.from_dict(ORDER.to_dict() | change)


@pytest.mark.parametrize("document", [None, 1, "fine", [], [("name", "order")]])
def test_what_is_no_object_is_refused(document: object) -> None:
    for kind in (Diagnosis, Finding):
        with pytest.raises(ModelError, match="must be a JSON object"):
            kind.from_dict(document)


def test_every_entry_is_needed() -> None:
    for whole, read in ((DIAGNOSIS.to_dict(), Diagnosis.from_dict), (ORDER.to_dict(), Finding.from_dict)):
        for key in set(whole) - {"kind", "schema", "word"}:
            with pytest.raises(ModelError, match=f'needs "{key}"'):
                read({name: value for name, value in whole.items() if name != key})


def test_the_brief_form_has_verdicts_and_no_figures() -> None:
    assert DIAGNOSIS.brief == {
        "verdict": "violated",
        "date": "2026-11-16",
        "table": "a.csv",
        "rows": 101,
        "findings": [{"name": "order", "verdict": "fine"}, {"name": "gaps", "verdict": "violated"}],
    }
    assert "0.7" not in json.dumps(DIAGNOSIS.brief)


def test_it_says_what_it_saw_and_what_it_takes_on_trust() -> None:
    head, *_, trust, notes = str(DIAGNOSIS).split("\n\n")
    assert "Looked at: a.csv, 2026-11-16: 100 records. Verdict: violated." in head
    assert trust == "Taken on trust: Trust."
    assert notes == " ".join(NOTES)
