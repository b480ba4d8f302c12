"""What a table said about a model travels with it: into its file, its releases, the ledger and the statement."""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest

import bayesdp as bdp
from bayesdp.cli import run
from bayesdp.errors import ModelError
from bayesdp.ledger import Ledger, default_ledger
from bayesdp.models.diagnosis import Diagnosis, Finding, Verdict

TABLE = polars.DataFrame({"t": range(40), "x": [0, 0, 1, 1] * 10})
COUNT = bdp.Count("x", equals=1)


def diagnosis(verdict: str, rows: int = 40) -> Diagnosis:
    order = Finding("order", "Is one record enough?", "G² = 496", Verdict(verdict), "It is, or is not.", "")
    return Diagnosis("the records follow a chain", (order,), 40, "40 records", date="2026-11-16", rows=rows)


def chain(verdict: str | None, rows: int = 40) -> bdp.MarkovChain:
    plain = bdp.MarkovChain([[0.6, 0.4], [0.4, 0.6]], column="x", length=40)
    return plain if verdict is None else plain.with_diagnosis(diagnosis(verdict, rows))


def test_fit_stores_what_the_table_says() -> None:
    fitted = bdp.MarkovChain.fit(TABLE, state="x", order_by="t")
    assert fitted.diagnosis is not None
    assert fitted.diagnosis == fitted.diagnose(TABLE)
    read = bdp.Model.from_json(fitted.to_json())
    assert read == fitted
    assert read.diagnosis == fitted.diagnosis
    assert bdp.MarkovChain.fit(TABLE, state="x", order_by="t", diagnose=False).diagnosis is None
    pairs = polars.DataFrame({"a": [1.0, 2.0, 3.5, 2.5], "b": [2.0, 2.5, 3.0, 2.0]})
    assert bdp.GaussianGroups.fit(pairs, value=["a", "b"]).diagnosis is not None
    assert bdp.GaussianGroups.fit(pairs, value=["a", "b"], diagnose=False).diagnosis is None


def test_models_that_differ_in_their_diagnosis_are_one_model() -> None:
    assert chain("fine") == chain("violated") == chain(None)
    assert hash(chain("fine")) == hash(chain(None))
    assert chain("fine").identity == chain(None).to_dict()
    either = bdp.AnyOf(chain("violated"), bdp.Independent())
    assert either.identity == bdp.AnyOf(chain(None), bdp.Independent()).to_dict()
    assert bdp.Model.from_json(either.to_json()).models[0].diagnosis == diagnosis("violated")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "entry", ["fine", 3, {}, {"verdict": "fine"}, {**diagnosis("fine").to_dict(), "verdict": "violated"}]
)
def test_a_diagnosis_that_is_none_is_refused(entry: object) -> None:
    with pytest.raises(ModelError):
        bdp.Model.from_dict({**chain(None).to_dict(), "diagnosis": entry})


def test_a_release_under_a_violated_model_needs_a_reason() -> None:
    with bdp.Session(TABLE, chain("violated"), epsilon=2.0, dataset="d", by="Ada") as session:
        with pytest.raises(ModelError, match=r"violated: order.*accept"):
            session.release(COUNT, epsilon=0.5)
        with pytest.raises(ModelError, match="accept"):
            session.randomize(epsilon=0.5)
        assert session.leaked == 0
        assert session.preview(COUNT, epsilon=0.5).epsilon <= 0.5, "a preview releases nothing"
        answer = session.release(COUNT, epsilon=0.5, accept="agreed with the ethics board")
        for reason in ("", "  ", "two\nlines", "\u200b", "..."):
            with pytest.raises(ValueError, match="accept"):
                session.release(bdp.Count("x", equals=0), epsilon=0.5, accept=reason)
    assert answer.accepted == "agreed with the ethics board"
    assert answer.diagnosis == diagnosis("violated").brief
    for text in (str(answer), answer.guarantee, answer.statement()):
        assert "violated" in text
        assert "This is proven" not in text
    assert "agreed with the ethics board" in answer.statement()
    with Ledger(default_ledger()) as ledger:
        (charge,) = ledger.entries("d", "charge")
    details = charge.to_dict()["body"]["details"]
    assert details["accepted"] == "agreed with the ethics board"
    assert details["by"] == "Ada"
    assert details["diagnosis"]["verdict"] == "violated"


def test_the_session_may_be_told_the_reason_once() -> None:
    with bdp.Session(TABLE, chain("violated"), epsilon=2.0, dataset="d", accept="a drill") as session:
        assert session.release(COUNT, epsilon=0.5).accepted == "a drill"


@pytest.mark.parametrize("verdict", ["fine", "not tested", "doubtful"])
def test_no_reason_is_needed_or_kept_otherwise(verdict: str) -> None:
    with bdp.Session(TABLE, chain(verdict), epsilon=2.0, dataset="d", accept="needless") as session:
        answer = session.release(COUNT, epsilon=0.5)
    assert answer.accepted is None
    assert verdict in str(answer)
    assert verdict in answer.statement()


def test_a_model_that_was_never_diagnosed_says_so() -> None:
    with bdp.Session(TABLE, chain(None), epsilon=2.0, dataset="d") as session:
        answer = session.release(COUNT, epsilon=0.5)
    for text in (str(answer), answer.guarantee, answer.statement()):
        assert "never diagnosed" in text


def test_a_diagnosis_of_another_table_is_called_so() -> None:
    with bdp.Session(TABLE, chain("fine", rows=41), epsilon=2.0, dataset="d") as session:
        answer = session.release(COUNT, epsilon=0.5)
    for text in (str(answer), answer.guarantee, answer.statement()):
        assert "fine on another table (the table), not diagnosed on this one" in text


def test_an_answer_given_again_says_what_is_known_now() -> None:
    with bdp.Session(TABLE, chain(None), epsilon=2.0, dataset="d") as session:
        first = session.release(COUNT, epsilon=0.5)
    with bdp.Session(TABLE, chain("violated"), dataset="d", accept="a drill", by="Ada") as session:
        again = session.release(COUNT, epsilon=0.5)
    assert again == first
    assert (again.reused, again.accepted, again.by) == (True, "a drill", "Ada")
    assert "It would be proven" in str(again)


def test_a_diagnosis_without_a_date_does_not_cost_an_answer() -> None:
    undated = chain(None).with_diagnosis(Diagnosis("a chain", diagnosis("fine").findings, 40, "40 records", rows=40))
    with bdp.Session(TABLE, undated, epsilon=2.0, dataset="d") as session:
        assert session.release(COUNT, epsilon=0.5).diagnosis is not None


def test_a_preview_says_that_the_model_is_violated() -> None:
    with bdp.Session(TABLE, chain("violated"), epsilon=2.0, dataset="d") as session:
        assert "The data contradict the model" in str(session.preview(COUNT, epsilon=0.5))


def test_a_violated_model_is_not_made_fine_by_another_table() -> None:
    with pytest.raises(ModelError, match=r"is violated, and one on .* does not replace it"):
        chain("violated").with_diagnosis(diagnosis("fine", rows=41))
    again = chain("violated").with_diagnosis(diagnosis("fine"))
    assert again.diagnosis == diagnosis("fine"), "the same table may be diagnosed again"
    assert chain("fine").with_diagnosis(diagnosis("violated", rows=41)).diagnosis == diagnosis("violated", rows=41)


def test_any_of_is_denied_only_if_all_its_models_are() -> None:
    denied = bdp.AnyOf(chain("violated"), chain("violated"))
    with bdp.Session(TABLE, denied, epsilon=2.0, dataset="d") as session, pytest.raises(ModelError, match="violated"):
        session.release(COUNT, epsilon=0.5)
    for other, verdict in ((chain("doubtful"), "doubtful"), (bdp.Independent(), None)):
        either = bdp.AnyOf(chain("violated"), other)
        assert (None if either.diagnosis is None else either.diagnosis.verdict) == verdict


def test_a_copy_without_diagnosis_hides_no_violated_model() -> None:
    hidden = bdp.AnyOf(chain("violated"), chain(None))
    assert hidden.diagnosis is not None
    assert hidden.diagnosis.violated
    said = bdp.AnyOf(chain("violated"), bdp.Independent()).half_diagnosed
    assert said is not None
    assert "model 1: violated on the table; model 2: never diagnosed" in said
    assert bdp.AnyOf(chain("violated"), chain("fine")).half_diagnosed is None
    assert chain("violated").reversal().diagnosis == diagnosis("violated")


def test_leakage_and_calibration_name_a_denied_assumption() -> None:
    for said in (
        str(bdp.leakage(chain("violated"), COUNT, tau=1.0)),
        str(bdp.calibrate(chain("violated"), COUNT, epsilon=1.0)),
    ):
        assert "found it violated (order)" in said
        assert "This would be proven" in said


def test_a_new_diagnosis_does_not_close_the_account() -> None:
    with bdp.Session(TABLE, chain(None), epsilon=2.0, dataset="d") as session:
        first = session.release(COUNT, epsilon=0.5)
    with bdp.Session(TABLE, chain("fine"), dataset="d") as session:
        assert session.release(COUNT, epsilon=0.5) == first


def test_the_command_line_fits_diagnoses_and_accepts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, model = tmp_path / "t.csv", tmp_path / "chain.json"
    TABLE.write_csv(table)
    model.write_text(chain(None).to_json())
    assert run(["diagnose", str(model), str(table), "--order-by", "t"]) == 0
    stored = json.loads(model.read_text())["diagnosis"]
    assert (stored["verdict"], stored["table"], stored["rows"]) == ("violated", "t.csv", 40)
    capsys.readouterr()
    release = ["release", str(table), "--model", str(model), "--query", "count", "--states", "1", "--epsilon", "0.5"]
    release += ["--dataset", "d", "--budget", "2"]
    assert run(release) == 2
    assert "--accept-violated" in capsys.readouterr().err
    assert run([*release, "--accept-violated", "a drill", "--by", "Ada", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["accepted"], answer["by"], answer["diagnosis"]["verdict"]) == ("a drill", "Ada", "violated")
    assert run(["budget", "show"]) == 0
    shown = capsys.readouterr().out
    assert "violated" in shown
    assert "a drill" in shown
    assert "Ada" in shown
    fitted = tmp_path / "fitted.json"
    assert run(["fit", str(table), "--model", "markov", "--state", "x", "--order-by", "t", "-o", str(fitted)]) == 0
    assert json.loads(fitted.read_text())["diagnosis"]["verdict"] == "violated"
