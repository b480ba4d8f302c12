"""An extension adds two models, a theorem and four queries; they appear wherever the built-in ones do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from inspect import Parameter, signature
from pathlib import Path

import polars
import pytest
from twins import Cents, Exchanged, Lingering, Share, Shares, Twins, TwinsTheorem  # type: ignore[import-not-found]

import bayesdp as bdp
from bayesdp.advice.next_steps import NextSteps
from bayesdp.advice.priced_assumption import PricedAssumption, with_price
from bayesdp.audit import attack
from bayesdp.cli import run
from bayesdp.errors import InvalidInputError, ModelError, QueryError, RecordsError, RefusedError
from bayesdp.experiments import Experiment
from bayesdp.experiments import run as run_experiment
from bayesdp.explorer.explored_file import discreet
from bayesdp.explorer.pictures import pictures
from bayesdp.frames.source import scan
from bayesdp.frames.view import View
from bayesdp.models import ChainLayout
from bayesdp.models.diagnosis import Verdict
from bayesdp.plotting.charts import line
from bayesdp.plotting.palette import COLOURS, colour_of
from bayesdp.queries import query_from_dict

COUNT = bdp.Count("ill", equals=True)
TABLE = polars.DataFrame(
    {"ill": [True, True, False, False] * 25, "couple": [i // 2 for i in range(100)], "owes": [1.5, 2.25, 0.0, 9.0] * 25}
)
SHARE, CENTS = Share("ill", equals=True), Cents("owes", bounds=(0, 5))
HUGE = 1e6
"""An ε at which there is hardly any noise."""

KINDS = {kind: bdp.Query._kinds.pop(kind) for kind in ("share", "shares", "cents", "exchanged")}
TYPES = {kind: bdp.Model._types.pop(kind) for kind in ("twins", "lingering")}
"""Tests of other files list the kinds there are: these are known here only."""


@pytest.fixture(autouse=True)
def extension(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for kind, query in KINDS.items():
        monkeypatch.setitem(bdp.Query._kinds, kind, query)
    for kind, model in TYPES.items():
        monkeypatch.setitem(bdp.Model._types, kind, model)
    bdp.register(TwinsTheorem())
    yield
    bdp.unregister("twins")


def test_the_theorem_is_asked_with_all_others() -> None:
    model = Twins(pair="couple")
    assert {"twins", "general"} <= {
        each.theorem for each in bdp.leakage(model, COUNT, tau=1.0).assessments if each.applies
    }
    assert bdp.calibrate(model, COUNT, epsilon=1.0).tau == 0.5
    assert bdp.leakage(bdp.AnyOf(model, bdp.ArbitraryGroups(3)), COUNT, tau=1.0).epsilon == 3.0


def test_the_comparison_and_figures_draw_it(tmp_path: Path) -> None:
    found = bdp.compare(Twins(pair="couple"), COUNT, epsilons=[1, 2])
    assert "twins" in str(found)
    assert found.plot(tmp_path / "twins.png").stat().st_size > 2000
    assert "twins" not in COLOURS
    assert line("twins", ((1.0, 2.0),)).colour == colour_of("twins")
    result = run_experiment(Experiment(name="twins", model=Twins(pair="couple"), query=COUNT, truth=50, runs=5))
    assert result.at("twins", 1)[0].factor == 2.0


def test_the_model_is_read_checked_and_released_under(tmp_path: Path) -> None:
    model = bdp.Model.from_json('{"type": "twins", "pair": "couple"}')
    assert model == Twins(pair="couple")
    with bdp.Session(TABLE, model, epsilon=1.0, dataset="couples") as session:
        assert session.release(COUNT, epsilon=0.5).epsilon == 0.5
    with pytest.raises(RefusedError):
        bdp.Session(TABLE.with_columns(couple=polars.lit(1)), model, epsilon=1.0, dataset="crowd")


def test_the_command_line_knows_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "twins.json"
    path.write_text(json.dumps({"type": "twins", "pair": "couple"}))
    assert run(["leakage", str(path), "--query", "count", "--states", "true", "--tau", "1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["epsilon"] == 2.0
    assert [each["epsilon"] for each in said["theorems"] if each["theorem"] == "twins"] == [2.0]


def test_the_command_line_fits_and_diagnoses_the_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, path = tmp_path / "table.parquet", tmp_path / "model.json"
    TABLE.with_row_index("t").write_parquet(data)
    assert run(["fit", "--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split()).replace("- ", "-")
    assert "--pair NAME The column that identifies a pair (twins)." in printed
    takers = "arbitrary, markov, odds-chain, odds-series, gaussian-series, lingering"
    assert f"--order-by A,B The columns that order the records ({takers})." in printed
    assert "--record NAME What a record is" in printed
    droppers = "gaussian, markov, odds-chain, odds-series, gaussian-series, lingering"
    assert f"error, or drop the records ({droppers})." in printed
    assert run(["fit", str(data), "--model", "twins", "--pair", "couple", "--record", "twin", "-o", str(path)]) == 0
    assert bdp.Model.load(path) == Twins(pair="couple", record="twin")
    capsys.readouterr()
    assert run(["diagnose", str(path), str(data), "--pair", "couple", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["basis"] == "pairs by couple"
    chain = ["fit", str(data), "--model", "lingering", "--state", "ill", "--order-by", "t", "--json"]
    assert run([*chain, "--step", "1", "--margin", "0.125"]) == 0
    fitted = bdp.Model.from_json(capsys.readouterr().out)
    assert fitted == Lingering.fit(TABLE.with_row_index("t"), state="ill", order_by=["t"], step="1", margin=0.125)
    assert isinstance(fitted, Lingering)
    assert (fitted.stay, fitted.length, fitted.gaps) == (0.375, 100, False)
    known = "--model must be arbitrary, gaussian, markov, odds-chain, odds-series, gaussian-series, twins or lingering"
    for arguments, message in (
        (["--model", "twins"], "a twins model needs --pair, such as --pair couple"),
        (["--model", "twins", "--pair", "couple", "--missing", "drop"], "--missing does not go with --model twins"),
        (["--model", "markov", "--pair", "couple"], "--pair does not go with --model markov"),
        (["--model", "quintuplets"], f"{known}, not 'quintuplets'"),
        (["--model", "independent"], f"{known}, not 'independent'"),
        (["--model", "arbitrary"], "an arbitrary model needs --group, such as --group user"),
    ):
        assert run(["fit", str(data), *arguments]) == 2
        assert message in capsys.readouterr().err


def test_a_chain_inherits_its_place_in_a_table() -> None:
    frame = TABLE.with_row_index("t").with_columns(who=polars.col("t") // 50)
    chain = Lingering.fit(frame, state="ill", order_by=["t"], entity=["who"], step="1")
    assert chain.assumption.endswith(
        "at most 50 records long, one chain for each who, and these chains are independent of one another"
    )
    assert bdp.Model.from_json(chain.to_json()) == chain
    with bdp.Session(frame, chain, epsilon=1.0, dataset="whole") as session:
        assert session.release(COUNT, epsilon=0.5).tau == pytest.approx(0.01)
        with pytest.raises(QueryError, match="'well' is not a state of the chain; its states are False, True"):
            session.release(bdp.Count(equals="well"), epsilon=0.1)
    for wrong, message in (
        (frame.with_columns(who=polars.lit(0)), "a chain of 100 records, but the model describes chains of at most 50"),
        (frame.with_columns(t=polars.col("t") // 2), "the same t"),
    ):
        with pytest.raises(RecordsError, match=message):
            bdp.check_table(wrong, chain)
    with pytest.raises(InvalidInputError, match="there is no record 50 in a chain of 50"):
        bdp.leakage(chain, COUNT, tau=1.0, target=50)


def test_a_chain_that_lists_no_states_takes_any_value() -> None:
    chain = Lingering(stay=0.5, length=100, column="owes", layout=ChainLayout("t", step=1))
    frame = TABLE.with_row_index("t")
    assert not chain.check_table(View(scan(frame), "error")).gaps
    holes = frame.with_columns(owes=polars.when(polars.col("t") == 7).then(float("nan")).otherwise("owes"))
    with pytest.raises(RecordsError, match="1 records have no 'owes'"):
        chain.check_table(View(scan(holes), "error"))
    assert chain.check_table(View(scan(holes), "drop")).gaps
    unplaced = Lingering(stay=0.5, length=99, column="owes")
    assert unplaced.check_table(View(scan(holes), "drop")).gaps
    with pytest.raises(RecordsError, match="a chain of 100 records"):
        unplaced.check_table(View(scan(frame), "error"))


def test_models_declare_what_their_fit_takes() -> None:
    for model in bdp.Model.types().values():
        if not model.fit_options:
            with pytest.raises(ModelError, match="cannot be fitted; it is written by hand"):
                model.fit(TABLE)
            continue
        keywords = signature(model.fit).parameters
        for option in model.fit_options:
            given = keywords[option.name].default
            assert option.required == (given is Parameter.empty)
            if option.default is not None:
                assert given == (float(option.default) if option.reads in ("number", "whole") else option.default)
            assert (given is False) == (option.reads == "flag")


def test_the_ways_on_lead_to_the_models() -> None:
    chain = Lingering(stay=0.5, length=100, states=(False, True), column="ill")
    way = NextSteps("t.csv", {"state": "ill", "order_by": ["t"], "role": "who"}, 0.9)
    assert way.model_in_shell(chain) == "bayesdp fit t.csv --model lingering --state ill --order-by t -o MODEL.json"
    fit = 'bdp.Model.types()[\'lingering\'].fit(table, state="ill", order_by=["t"])'
    assert way.model_in_python(chain).endswith(f"model = {fit}")
    twins = Twins(pair="couple")
    python = way.model_in_python(twins).splitlines()[1].removeprefix("model = ")
    assert eval(python, {"bdp": bdp}) == twins
    assert way.model_in_shell(twins) == """echo '{"type": "twins", "pair": "couple"}' > MODEL.json"""
    assert (
        with_price(PricedAssumption("twins", "", "", Verdict.FINE, "", twins), COUNT, 1.0, 0.05, 0.95).alpha is not None
    )


def test_the_explorer_and_the_audit_know_the_models(monkeypatch: pytest.MonkeyPatch) -> None:
    twins, chain = Twins(pair="couple"), Lingering(stay=0.5, length=9, states=("in", "out"), column="ill")
    for model in (twins, bdp.AnyOf(chain, bdp.ArbitraryGroups(2))):
        assert not pictures(model)
        assert discreet(model, ()) is model
    monkeypatch.setattr(Lingering, "estimated", True)
    assert discreet(chain, ("in",)).states == ("in", "value 2")
    monkeypatch.setattr(Twins, "estimated", True)
    monkeypatch.setattr(Twins, "states", ("in", "out"))
    with pytest.raises(ModelError, match='the states of a model of type "twins" cannot be renamed'):
        discreet(twins, ())
    assert attack(twins, COUNT, epsilon=1.0, runs=100).calibrated.moved[-1] <= 1


@pytest.mark.parametrize(
    "query", [SHARE, CENTS, Share("ill", isin=[True, False], size=9), Shares("s", cells=[1]), Cents("owes", (0, 1))]
)
def test_the_queries_are_read_back_from_json(query: bdp.Query) -> None:
    assert query_from_dict(json.loads(query.to_json())) == query
    assert query.to_dict()["query"] == query.kind


def test_the_queries_are_calibrated_in_their_own_units() -> None:
    model, sized = Twins(pair="couple"), Share("ill", equals=True, size=100)
    assert bdp.leakage(model, SHARE, tau=1.0).epsilon == bdp.leakage(model, CENTS, tau=1.0).epsilon == 2.0
    plain, share = (bdp.calibrate(model, query, epsilon=1.0) for query in (COUNT, sized))
    assert share.tau == plain.tau
    assert 100 * share.scale == pytest.approx(plain.scale)
    assert bdp.calibrate(model, CENTS, epsilon=1.0).scale == 1000.0
    rows = [{row.theorem: row.alpha or 0.0 for row in bdp.compare(model, q, epsilons=[1]).rows} for q in (COUNT, sized)]
    assert rows[0]["twins"] == pytest.approx(100 * rows[1]["twins"]) != 0
    with pytest.raises(QueryError, match="the noise on a share depends on the public number of records"):
        bdp.calibrate(model, SHARE, epsilon=1.0)


def test_theorems_see_what_a_foreign_query_adds_up() -> None:
    chain = bdp.MarkovChain([[0.9, 0.1], [0.4, 0.6]], length=50)
    share, count = (bdp.leakage(chain, q, tau=1.0) for q in (Share(equals=1, size=50), bdp.Count(equals=1)))
    assert share.assessments == count.assessments
    assert any(each.theorem == "markov-count" and each.applies for each in share.assessments)
    family = bdp.GaussianGroups(correlation=0.3, size=3)
    assert bdp.leakage(family, CENTS, tau=1.0).epsilon == bdp.leakage(family, bdp.Sum(bounds=(0, 5)), tau=1.0).epsilon


def test_the_queries_are_released_and_given_again(tmp_path: Path) -> None:
    model, ledger = Twins(pair="couple"), tmp_path / "budget.db"
    with bdp.Session(TABLE, model, epsilon=4 * HUGE, ledger=ledger, dataset="couples") as session:
        share, cents = session.release(SHARE, epsilon=HUGE), session.release(CENTS, epsilon=HUGE)
        assert (share.value, share.rounded, share.unit) == (0.5, 0.5, 0.01)
        assert cents.value == pytest.approx(100 * 25 * (1.5 + 2.25 + 5))
        assert cents.unit == 100 * cents.query.to_dict()["step"]
        assert session.release(Share("ill", isin=[1], size=100), epsilon=HUGE) == share
        assert bdp.Answer.from_dict(json.loads(share.to_json())) == share
        assert session.history == (share, cents)
        assert (session.preview(Share("couple", equals=1), alpha=0.05).alpha or 1.0) <= 0.05
        assert session.release(Share("ill", equals=False), alpha=0.2).accuracy() == pytest.approx(0.2, rel=0.1)
        with pytest.raises(QueryError, match="the share is over 100 records, not over size = 99"):
            session.release(Share("ill", equals=True, size=99), epsilon=1.0)


def test_a_list_of_shares_is_released() -> None:
    with bdp.Session(TABLE, Twins(pair="couple"), epsilon=4 * HUGE, dataset="couples") as session:
        answer = session.release(Shares("owes", cells=[9.0, 1.5, 7.0]), epsilon=HUGE)
        noisy = session.release(Shares("owes", cells=[9.0, 0.0]), alpha=0.1)
    assert answer.value == answer.rounded == (0.25, 0.25, 0.0)
    assert answer.shown() == "9.0: 0.25, 1.5: 0.25, 7.0: 0"
    for each in (answer, noisy):
        assert bdp.Answer.from_dict(json.loads(each.to_json())) == each
    assert noisy.accuracy() == pytest.approx(0.1)
    assert isinstance(noisy.rounded, tuple)
    assert all(0 <= cell <= 1 for cell in noisy.rounded)
    chain = bdp.MarkovChain([[0.9, 0.1], [0.4, 0.6]], length=50)
    reasons = {each.theorem: each.reason for each in bdp.leakage(chain, Shares(cells=[0, 1]), tau=1.0).assessments}
    assert reasons["markov-count"] == "it is about counts and sums, not a shares"


def test_the_experiments_know_the_queries() -> None:
    for query, answer in ((SHARE, 0.5), (CENTS, 21875.0)):
        spec = Experiment(name="q", model=Twins(pair="couple"), query=query, frame=TABLE, runs=5)
        assert run_experiment(spec).answers[0] == pytest.approx(answer)


def test_the_command_line_releases_the_queries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, data, ledger = tmp_path / "twins.json", tmp_path / "table.parquet", str(tmp_path / "budget.db")
    path.write_text(json.dumps({"type": "twins", "pair": "couple"}))
    TABLE.write_parquet(data)
    common = ["--model", str(path), "--ledger", ledger, "--dataset", "couples", "--epsilon", str(HUGE), "--json"]
    share = ["--query", "share", "--column", "ill", "--states", "true"]
    assert run(["release", str(data), *share, *common, "--budget", str(4 * HUGE)]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == 0.5
    assert run(["release", str(data), "--query", "cents", "--column", "owes", "--bounds", "0", "5", *common]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == pytest.approx(21875.0)
    assert run(["budget", "show", "--ledger", ledger, "--json"]) == 0
    (account,) = json.loads(capsys.readouterr().out)["datasets"]
    assert [each["description"] for each in account["releases"]] == [
        "the share of records with ill = True",
        "the cents of owes, clipped to 0–5",
    ]
    assert run(["budget", "verify", "--ledger", ledger]) == 0
    capsys.readouterr()
    assert run(["leakage", str(path), *share, "--bounds", "0", "1", "--tau", "1"]) == 2
    assert "--bounds goes with sum, mean, variance, cents and exchanged, not with share" in capsys.readouterr().err
    assert run(["leakage", str(path), "--query", "mode", "--tau", "1"]) == 2
    printed = capsys.readouterr().err
    assert "--query must be one of count, sum, " in printed
    assert "share, shares, cents, exchanged, not 'mode'" in printed


def test_the_command_line_offers_the_option_of_a_query(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "twins.json"
    path.write_text(json.dumps({"type": "twins", "pair": "couple"}))

    def scale(*question: str) -> float:
        assert (
            run(["calibrate", str(path), "--query", *question, "--bounds", "0", "5", "--epsilon", "1", "--json"]) == 0
        )
        return float(json.loads(capsys.readouterr().out)["scale"])

    assert scale("exchanged", "--rate", "2.5") == 2.5 * scale("exchanged") == 2.5 * scale("sum")
    for command in ("leakage", "calibrate", "compare", "release"):
        assert run([command, "--help"]) == 0
        help_page = " ".join(capsys.readouterr().out.split())
        assert "share, shares, cents or exchanged." in help_page
        assert "--rate VALUE The worth of one unit (exchanged)." in help_page
    wrong = ["leakage", str(path), "--query", "sum", "--bounds", "0", "5", "--tau", "1", "--rate", "2"]
    assert run(wrong) == 2
    assert "--rate goes with exchanged, not with sum" in capsys.readouterr().err
    wrong[3] = "exchanged"
    assert run([*wrong[:-1], "much"]) == 2
    assert "bayesdp: rate must be a number above 0, not 'much'" in capsys.readouterr().err


def test_an_option_of_a_query_does_not_replace_one_of_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "twins.json"
    path.write_text(json.dumps({"type": "twins", "pair": "couple"}))
    monkeypatch.setattr(Exchanged, "options", {"tau": "mine", "bounds": "mine", "json": "mine"})
    assert run(["leakage", str(path), "--query", "sum", "--bounds", "0", "5", "--tau", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == 2.0
