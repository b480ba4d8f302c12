"""`bayesdp fit`, `bayesdp diagnose` and `bayesdp calibrate --credibility`, as users type them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import polars
import pytest

from bayesdp.cli import run
from bayesdp.experiments.data import load

ACTIVITY = ("--model", "markov", "--state", "steps > 0", "--order-by", "date,interval", "--missing", "drop")


@pytest.fixture(scope="module")
def activity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "activity.csv"
    load("activity").frame.write_csv(path, null_value="NA")
    return path


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "pairs.parquet"
    load("familyiq").frame.write_parquet(path)
    return path


def test_fit_writes_the_model_and_prints_it_with_its_diagnosis(
    activity: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "model.json"
    assert run(["fit", str(activity), *ACTIVITY, "--record", "5-minute interval", "-o", str(target)]) == 0
    printed = capsys.readouterr().out
    assert "9713 + 1295" in printed
    assert "✓ dependence: present. " in printed
    assert "✓ time of day: fine. " in printed
    assert str(target) in printed
    model = json.loads(target.read_text())
    assert model["counts"] == [[9713, 1295], [1295, 2955]]
    assert model["states"] == [False, True]
    assert (model["length"], model["gaps"], model["state"]) == (15264, True, "steps > 0")
    assert model["layout"] == {"order_by": ["date", "interval"], "step": "5m", "dropped": True}


def test_fit_json_is_the_model_alone(activity: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", str(activity), *ACTIVITY, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["type"] == "markov"


def test_the_fitted_model_goes_through_the_other_commands(
    activity: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(tmp_path / "model.json")
    assert run(["fit", str(activity), *ACTIVITY, "-o", target]) == 0
    capsys.readouterr()
    assert run(["diagnose", target, str(activity), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["records"] == 15264
    asked = ["calibrate", target, "--query", "count", "--states", "true", "--epsilon", "1"]
    assert run([*asked, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert "missing is treated as public" in " ".join(plain["notes"])
    assert run([*asked, "--credibility", "0.95", "--draws", "100", "--json"]) == 0
    credible = json.loads(capsys.readouterr().out)
    assert credible["tau"] < plain["tau"]
    assert credible["uncertainty"]["share"] >= 0.95
    assert credible["uncertainty"]["draws"] == 100


def test_odds_within_hours_by_their_options(activity: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "model.json")
    fit = ["fit", str(activity), "--model", "odds-chain", *ACTIVITY[2:]]
    assert run([*fit, "--within", "hour", "--credibility", "0.9", "--merge", "20", "-o", target]) == 0
    printed = capsys.readouterr().out
    assert "With a credibility of 90 %, the largest odds ratio of" in printed
    assert "There is no diagnosis for such a model. That does not mean that the model fits." in printed
    model = json.loads(Path(target).read_text())
    assert (model["within"], model["credibility"], model["memory"]) == (["hour"], 0.9, 1)
    assert sum(sum(map(sum, stratum["counts"])) for stratum in model["strata"]) == 15258
    assert run(["calibrate", target, "--query", "count", "--states", "true", "--epsilon", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["theorem"] == "odds-chain"
    assert run([*fit, "--memory", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memory"] == 2
    assert run(["fit", str(activity), *ACTIVITY, "--memory", "2"]) == 0
    assert "a memory of 2 records" in capsys.readouterr().out
    for wrong, said in (
        (["--memory", "two"], "--memory must be a whole number"),
        (["--memory", "0"], "memory must be at least 1"),
        (["--within", "season"], "hour, weekday or month"),
        (["--smoothing", "1"], "--smoothing does not go with --model odds-chain"),
    ):
        assert run([*fit, *wrong]) == 2
        assert said in capsys.readouterr().err


def test_a_series_by_its_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "readings.csv"
    values = [(7 * t % 11 + 7 * (t - 1) % 11) / 2 for t in range(300)]
    polars.DataFrame({"t": range(300), "load": values}).write_csv(table)
    fit = ["fit", str(table), "--model", "gaussian-series", "--value", "load", "--order-by", "t", "--step", "1"]
    assert run([*fit, "--order", "1", "--json"]) == 0
    model = json.loads(capsys.readouterr().out)
    assert (model["type"], model["length"], len(model["coefficients"])) == ("gaussian-series", 300, 1)
    assert model["moments"]["pairs"] == [300, 299]
    assert run([*fit, "--state", "load > 1"]) == 2
    assert "--state does not go with --model gaussian-series" in capsys.readouterr().err


@pytest.mark.parametrize("value", [["--value", "kid_score,mom_iq"], ["--value", "kid_score", "--value", "mom_iq"]])
def test_wide_groups_by_comma_or_by_repeating_the_option(
    pairs: Path, value: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fit", str(pairs), "--model", "gaussian", *value, "--json"]) == 0
    model = json.loads(capsys.readouterr().out)
    (kid, both), (_, mother) = model["covariance"]
    assert (round(kid**0.5, 2), round(mother**0.5, 2)) == (20.41, 15.0)
    assert round(both / (kid * mother) ** 0.5, 4) == 0.4483


def test_long_groups_with_and_without_roles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "long.csv"
    wide = load("familyiq").frame.with_row_index("pair")
    wide.unpivot(["kid_score", "mom_iq"], index="pair", variable_name="role", value_name="iq").write_csv(path)
    given = ["fit", str(path), "--model", "gaussian", "--value", "iq", "--group", "pair"]
    assert run([*given, "--role", "role", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["moments"]["roles"] == ["kid_score", "mom_iq"]
    assert run(given) == 0
    assert "intraclass correlation" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "markov"], "--state and --order-by"),
        (["--model", "gaussian"], "--value"),
        (
            ["--model", "poisson"],
            "must be arbitrary, gaussian, markov, odds-chain, odds-series or gaussian-series, not 'poisson'",
        ),
        ([*ACTIVITY, "--value", "steps"], "--value does not go with --model markov"),
        (["--model", "gaussian", "--value", "steps", "--step", "5"], "--step does not go with --model gaussian"),
        ([*ACTIVITY[:-2]], "2304 records have no 'steps > 0'"),
        ([*ACTIVITY[:5], "date", *ACTIVITY[6:]], "breaks the ties"),
        (["--model", "markov", "--state", "__import__('os')", "--order-by", "date"], "cannot read"),
        (["--model", "markov", "--state", "stepz > 0", "--order-by", "date"], "no column 'stepz'"),
        ([*ACTIVITY, "--smoothing", "much"], "--smoothing must be a number"),
        ([*ACTIVITY, "-o", "/nowhere/at/all.json"], "cannot write"),
        ([*ACTIVITY[:-1], "ignore"], '"error" or "drop"'),
    ],
)
def test_mistakes_get_one_line_and_exit_2(
    activity: Path, arguments: Sequence[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fit", str(activity), *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert printed.err.count("\n") == 1


def test_a_model_written_by_hand_is_diagnosed_in_its_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, chain, groups = tmp_path / "t.csv", tmp_path / "chain.json", tmp_path / "groups.json"
    values = [0, 1, 0, 0, 1, 1, 0, 1] * 10
    columns = {"t": range(80), "s": values, "v": [(7 * i) % 13 for i in range(80)], "g": [i // 2 for i in range(80)]}
    polars.DataFrame(columns).write_csv(table)
    chain.write_text('{"type": "markov", "transition": [[0.9, 0.1], [0.5, 0.5]]}')
    groups.write_text('{"type": "gaussian", "correlation": 0.2, "size": 2}')
    assert run(["diagnose", str(chain), str(table), "--state", "s", "--order-by", "t", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["records"] == 80
    assert run(["diagnose", str(groups), str(table), "--value", "v", "--group", "g", "--missing", "drop"]) == 0
    assert "80 records in 40 groups" in capsys.readouterr().out
    for path, options, said in (
        (chain, ["--value", "v"], "--value does not go with a markov model"),
        (groups, ["--order-by", "t"], "--order-by does not go with a gaussian model"),
        (chain, ["--state", "s"], "by --state and --order-by"),
        (groups, ["--value", "v"], "one value column needs --group,"),
        (groups, ["--value", "v", "--group", "g", "--missing", "maybe"], '"error" or "drop"'),
    ):
        assert run(["diagnose", str(path), str(table), *options]) == 2
        assert said in capsys.readouterr().err


def test_a_fitted_model_keeps_the_columns_that_are_not_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, model = str(tmp_path / "t.csv"), str(tmp_path / "m.json")
    records = [(who, t, int(t % (2 + who) == 0), 10 * who + t % 7) for who in range(3) for t in range(40)]
    frame = polars.DataFrame(records, schema=["who", "t", "s", "v"], orient="row")
    frame.write_csv(table)
    fit = ["fit", table, "--model", "markov", "--state", "s", "--order-by", "t", "--entity", "who"]
    assert run([*fit, "-o", model]) == 0
    for options, entities in (("--step 1", 3), ("--entity who", 3), ("--entity v --step 7", 21), ("--order-by t", 3)):
        capsys.readouterr()
        assert run(["diagnose", model, table, *options.split()]) == 0
        assert f"120 records of {entities} entities" in capsys.readouterr().out
    assert run(["diagnose", model, table, "--step", "2"]) == 2
    assert "by less than the step (2.0)" in capsys.readouterr().err


def test_diagnose_refuses_a_model_without_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, model = tmp_path / "t.csv", tmp_path / "m.json"
    polars.DataFrame({"s": [0, 1]}).write_csv(table)
    for text, said in (
        ('{"type": "arbitrary", "size": 3}', 'no diagnosis for a model of type "arbitrary"'),
        ('{"type": "independent"}', "fit a chain or groups"),
        ('{"type": "any-of", "models": [{"type": "independent"}]}', "one by one"),
        ('{"type": "markov", "transition": [[0.9, 0.1], [0.5, 0.5]]}', "by --state and --order-by"),
        ('{"type": "gaussian", "correlation": 0.2, "size": 3}', "by --value and --group"),
    ):
        model.write_text(text)
        assert run(["diagnose", str(model), str(table)]) == 2
        assert said in capsys.readouterr().err


MEMORY = (
    '{"type": "markov", "memory": 2, "column": "s", "transition": [[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]]'
)


@pytest.mark.parametrize(
    ("text", "within", "outside"),
    [
        ('{"type": "odds-chain", "odds": 3, "column": "s", "length": 2}', "fit a Markov chain", "a chain of 3 records"),
        (
            '{"type": "network", "edges": [[0, 1, 2]], "records": 2, "column": "s"}',
            "which records depend",
            "network of 3 records",
        ),
        (MEMORY + "}", "for a chain with a memory of 2 records", "1 record of"),
    ],
)
def test_without_diagnosis_a_refusal_still_has_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, within: str, outside: str
) -> None:
    table, model = tmp_path / "t.csv", tmp_path / "m.json"
    model.write_text(text)
    polars.DataFrame({"s": [0, 1]}).write_csv(table)
    assert run(["diagnose", str(model), str(table)]) == 2
    printed = capsys.readouterr().err
    assert "a session would open on this table, but there is no diagnosis" in printed
    assert within in printed
    polars.DataFrame({"s": [0, 1, 2]}).write_csv(table)
    assert run(["diagnose", str(model), str(table)]) == 2
    assert outside in capsys.readouterr().err


OLD_MODEL = '{"type": "independent"}'
CHAIN = ("--model", "markov", "--state", "s", "--order-by", "t")


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table in two files, with a symbolic and a hard link to the first."""
    monkeypatch.chdir(tmp_path)
    for part in (0, 1):
        frame = polars.DataFrame({"t": range(40 * part, 40 * part + 40), "s": [0, 0, 1, 0, 1] * 8})
        frame.write_csv(f"part{part}.csv")
    (tmp_path / "soft.json").symlink_to("part0.csv")
    (tmp_path / "hard.json").hardlink_to("part0.csv")
    return tmp_path


@pytest.mark.parametrize("data", ["part0.csv", "part?.csv", "{folder}/part*.csv"])
@pytest.mark.parametrize("output", ["part0.csv", "./part0.csv", "{folder}/part0.csv", "soft.json", "hard.json"])
def test_the_data_are_never_overwritten(
    parts: Path, data: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name: path.read_bytes() for path in parts.iterdir()}
    assert run(["fit", data.format(folder=parts), *CHAIN, "-o", output.format(folder=parts)]) == 2
    assert "is an input" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in parts.iterdir()} == before


def test_a_model_in_the_pattern_of_the_data_is_not_read_back(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", "*.csv", *CHAIN, "-o", "model.csv"]) == 0
    assert json.loads((parts / "model.csv").read_text())["length"] == 80
    assert "80 records" in capsys.readouterr().out


def test_a_model_file_is_readable_by_its_owner_only(parts: Path) -> None:
    old = os.umask(0)
    try:
        assert run(["fit", "part0.csv", *CHAIN, "-o", "model.json"]) == 0
        assert (parts / "model.json").stat().st_mode & 0o777 == 0o600
        (parts / "model.json").chmod(0o644)
        (parts / "link.json").symlink_to("model.json")
        assert run(["fit", "part0.csv", *CHAIN, "-o", "link.json"]) == 0
        assert (parts / "model.json").stat().st_mode & 0o777 == 0o600
        assert (parts / "link.json").is_symlink()
    finally:
        os.umask(old)


def test_a_model_that_cannot_be_written_leaves_the_old_one(
    parts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    (parts / "model.json").write_text(OLD_MODEL)
    before = sorted(path.name for path in parts.iterdir())
    monkeypatch.setattr(os, "fsync", full)
    assert run(["fit", "part0.csv", *CHAIN, "-o", "model.json"]) == 2
    assert "cannot write model.json: No space left" in capsys.readouterr().err
    assert (parts / "model.json").read_text() == OLD_MODEL
    assert sorted(path.name for path in parts.iterdir()) == before


@pytest.mark.parametrize("content", ["my notes", "", "{}", '{"type": "unheard of"}', '{"kind": "answer", "value": 1}'])
def test_a_file_that_is_no_model_is_replaced_only_by_force(
    parts: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (parts / "thesis.json").write_text(content)
    fit = ["fit", "part0.csv", *CHAIN, "-o", "thesis.json"]
    assert run(fit) == 2
    assert "thesis.json is there already and is not a model" in capsys.readouterr().err
    assert (parts / "thesis.json").read_text() == content
    assert run([*fit, "--force"]) == 0
    assert json.loads((parts / "thesis.json").read_text())["type"] == "markov"
    assert run(fit) == 0, "a model is replaced by a newer one"
    assert run([*fit[:-1], "part0.csv", "--force"]) == 2, "data are never replaced"


def test_a_device_is_written_to_and_stays_a_device(parts: Path) -> None:
    assert run(["fit", "part0.csv", *CHAIN, "-o", os.devnull]) == 0
    assert Path(os.devnull).is_char_device()


def test_text_dates_are_refused_or_sorted_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, model = str(tmp_path / "t.csv"), str(tmp_path / "m.json")
    days = [f"2012/{1 + i // 28}, day {1 + i % 28}" for i in range(80)]
    polars.DataFrame({"datum": days, "s": [i // 2 % 2 for i in range(80)]}).write_csv(table)
    fit = ["fit", table, "--model", "markov", "--state", "s", "--order-by", "datum", "-o", model]
    assert run(fit) == 2
    said = "'datum' is text; convert it to dates, or say --order-by-text to sort it as text"
    assert said in capsys.readouterr().err
    assert run([*fit, "--order-by-text"]) == 0
    assert json.loads(Path(model).read_text())["layout"] == {"order_by": ["datum"], "order_by_text": True}
    assert run(["diagnose", model, table]) == 0
    advise = ["advise", table, "--state", "s", "--order-by", "datum"]
    assert run(advise) == 2
    assert said in capsys.readouterr().err
    assert run([*advise, "--order-by-text"]) == 0
