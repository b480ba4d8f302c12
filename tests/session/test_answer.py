"""What an answer says: its cost, its warnings, its parts, its JSON, and what older ones lack."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, assert_type

import polars
import pytest
from answers import DIAGNOSIS, answered  # type: ignore[import-not-found]
from rich.console import Console

import bayesdp as bdp
from bayesdp.errors import BayesDPError, InvalidInputError, LedgerError
from bayesdp.queries import Query
from bayesdp.session.answer import Answer, Posting, Promise, _Entries
from bayesdp.session.answers import Answers
from bayesdp.session.measurement import Measurement
from bayesdp.session.overview import overview
from bayesdp.session.releases import Releases
from bayesdp.session.session import Session
from bayesdp.session.statement import statement


def test_it_prints_as_five_lines_the_rounded_number_first() -> None:
    lines = str(answered()).splitlines()
    assert lines == [
        "The number of records with s = 1: 4250 (unrounded 4248)",
        "Off by less than 310 (unrounded 301) in 95 % of cases.",
        "It cost ε = 0.5; steps has leaked ε = 1 in all; remaining: 1.",
        "It protects one record, not the person behind several: "
        "an attacker who starts at 50 : 50 ends at most at 73.2 : 26.8.",
        "Proven (general) if all records are independent of one another. Model: never diagnosed on a table. "
        "The statement has the details.",
    ]
    assert "repeating it costs nothing" in str(answered(reused=True)).splitlines()[2]
    assert answered()._repr_html_().index(">4250<") < answered()._repr_html_().index(">4248<")
    document = list(answered().to_dict())
    assert document.index("rounded") < document.index("value")


def test_a_public_filter_reads_unlike_a_private_one(tmp_path: Path) -> None:
    table = polars.DataFrame({"x": [0, 1] * 50, "day": [1, 2, 3, 4] * 25})
    reported: dict[str, Any] = {"ledger": tmp_path / "b.db", "dataset": "d", "public": ["day"]}
    with Session(table, bdp.Independent(), epsilon=3.0, **reported) as session:
        public = session.release(bdp.Count("x", equals=1, where="day < 3", public_filter=True), epsilon=1.0)
        private = session.release(bdp.Count("x", equals=1, where="day < 3"), epsilon=1.0)
    assert "with x = 1 where day < 3 (filter asserted public): " in str(public)
    assert "with x = 1 where day < 3: " in str(private)
    descriptions = [release["description"] for release in overview(tmp_path / "b.db", "d").datasets[0]["releases"]]
    assert [text.endswith("(filter asserted public)") for text in descriptions] == [True, False]
    assert str(overview(tmp_path / "b.db", "d")).count("(filter asserted public)") == 1


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
        ({"records": 309}, ["larger than any possible answer: this number is useless"]),
        ({"epsilon_total": 20.0}, []),
        ({"epsilon_total": 20.5}, ["ε = 20.5 is hardly a promise any more"]),
        ({"records": 300, "epsilon_total": 700.0}, ["is useless", "hardly a promise"]),
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
    said = {"consequences": ["If groups are half as large again, 2 instead of 1."], "unchecked": "No group was named."}
    answer = answered(by="Ada", reused=True, credibility=0.9, **said)
    parts = (answer.measurement, answer.promise, answer.posting)
    names = [item.name for part in parts for item in fields(part)]
    assert len(set(names)) == len(names), "an entry belongs to one part"
    others = {"ends", "ends_beta", "loss"}  # of quantiles: tests/queries; of releases that are not pure
    others |= {"delta", "rho", "epsilon_promised", "further_answers", "noise_kind"}  # of accounts with a delta
    others |= {"noises"}  # of running totals
    assert set(names) - others <= set(answer.to_dict())
    for part in parts:
        assert is_dataclass(part)
        for item in fields(part):
            assert getattr(answer, item.name) is getattr(part, item.name)
            with pytest.raises(FrozenInstanceError):
                setattr(part, item.name, None)
    with pytest.raises(FrozenInstanceError):
        answer.posting = answer.posting
    with pytest.raises(FrozenInstanceError):
        answer.epsilon = 0.0
    assert set(names) <= set(dir(answer))
    assert Answer(*parts) == answer == Answer.from_dict(answer.to_dict())


def test_forwarded_properties_keep_types_and_have_docstrings() -> None:
    answer: Answer = answered()
    assert_type(answer.epsilon, float)
    assert_type(answer.query, Query)
    assert_type(answer.by, str | None)
    said: dict[str, str] = {}
    for part in (Measurement, Promise, Posting):
        said |= {name: own.fget.__annotations__["return"] for name, own in vars(part).items() if type(own) is property}
        said |= part.__annotations__
    assert _Entries.__annotations__.items() <= said.items()
    assert Answer.left.__doc__ == Posting.left.__doc__
    assert Answer.epsilon.__doc__ == "The `epsilon` of `posting`."
    with pytest.raises(AttributeError, match="no attribute 'epsilno'"):
        _ = answer.epsilno  # type: ignore[attr-defined]


def test_json_of_the_previous_version_is_written_byte_for_byte() -> None:
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


SHUFFLED = polars.DataFrame({"t": [3, 0, 2, 1] * 10, "s": [1, 0, 1, 0] * 10, "x": [1.0, 2.0, 3.0, 4.0] * 10})

UNCHECKED = [
    (bdp.OddsChain(20, column="s"), bdp.Count("s", equals=1), "The model names no order, so the order of the records"),
    (bdp.ArbitraryGroups(1), bdp.Count("s", equals=1), "No group was named: which records belong together was not"),
    (
        bdp.GaussianGroups(correlation=0.5, size=2, column="x"),
        bdp.Sum("x", bounds=(0, 5)),
        "No group was named: which records belong together was not checked",
    ),
]


@pytest.mark.parametrize(("model", "query", "says"), UNCHECKED, ids=lambda given: getattr(given, "kind", ""))
def test_what_was_not_checked_is_said_first(model: bdp.Model, query: bdp.Query, says: str, tmp_path: Path) -> None:
    with bdp.Session(SHUFFLED, model, epsilon=9.0, dataset="panel", ledger=tmp_path / "ledger.db") as session:
        answer = session.release(query, epsilon=4.0)
        again = session.release(query, epsilon=4.0)
    for given in (answer, again):
        _, second, *rest = str(given).splitlines()
        assert second.startswith(says)
        assert any("Proven" in line and ", and if what was not checked is so." in line for line in rest)
        assert str(given).count(says) == 1
        assert given.unchecked == second == given.warnings[0] == model.unchecked
        assert given.to_dict()["unchecked"] == given.unchecked
        assert Answer.from_dict(json.loads(given.to_json())).unchecked == second
        assert given.statement().splitlines()[2] == f"**Warning: {second}**"
        page = statement(given).html()
        assert page.index(says) < page.index("<table>")
        assert says in given.guarantee


def test_what_was_checked_is_not_said_to_be_unchecked() -> None:
    answer = answered()
    assert answer.unchecked is None
    assert "unchecked" not in answer.to_dict()
    assert "checked" not in str(answer)


def test_parts_say_first_what_was_not_checked() -> None:
    query = bdp.Count("s", equals=1, by="district", by_cells=("north",))
    one = answered(query=query, unchecked="No order was named: not checked.")
    printed = str(Answers("district", (one,))).splitlines()
    assert printed[1] == "No order was named: not checked."
    assert "\n".join(printed).count("No order was named") == 1


@pytest.mark.parametrize("fitted", [True, False])
def test_an_answer_states_that_its_guarantee_excludes_the_fit(fitted: bool, tmp_path: Path) -> None:
    frame = polars.DataFrame({"t": range(60), "s": [i // 2 % 2 for i in range(60)]})
    model = bdp.OddsChain.fit(frame, state="s", order_by="t")
    model = model if fitted else replace(model, strata=None, credibility=None)
    with bdp.Session(frame, model, epsilon=9.0, dataset="steps", ledger=tmp_path / "ledger.db") as session:
        answer = session.release(bdp.Count("s", equals=1), epsilon=4.0)
    said = "if those are the private data, this guarantee does not cover that fit."
    assert (said in str(answer)) == fitted
    assert (answer.fitted is not None) == fitted


def test_an_answer_without_a_tau_has_a_loss() -> None:
    loss = {"definition": "concentrated", "rho": 0.125}
    document = {name: entry for name, entry in answered().to_dict().items() if name != "tau"} | {"loss": loss}
    answer = Answer.from_dict(document)
    assert (answer.posting.tau, answer.loss, answer.spent) == (None, loss, "concentrated, rho = 0.125")
    with pytest.raises(InvalidInputError, match=r"no tau, but a loss: concentrated, rho = 0\.125"):
        _ = answer.tau
    assert answer.differences(answer) == ()
    assert "loss" in answer.differences(answered())
    assert "concentrated" in str(Releases([answer]))
    assert answer.to_dict() == document
    assert "concentrated, rho = 0.125" in answer.statement()
    assert "loss" not in answered().to_dict()
    for wrong in (
        {**document, "tau": 0.5},
        {**document, "loss": {"definition": "renyi", "order": 2}},
        {**document, "loss": {"definition": "concentrated"}},
        {name: entry for name, entry in document.items() if name != "loss"},
    ):
        with pytest.raises(BayesDPError):
            Answer.from_dict(wrong)
        with pytest.raises(LedgerError):
            Answer.stored(wrong)


def test_the_former_name_of_the_sensitivity_works_with_a_warning() -> None:
    answer = answered(consequences=["If groups are half as large again, 2 instead of 1."])
    with pytest.warns(DeprecationWarning, match="sensitivity_to_assumption"):
        assert answer.what_if == answer.sensitivity_to_assumption
    assert answer.sensitivity_to_assumption.startswith("If the assumption is wrong, ε may be larger. If groups")
