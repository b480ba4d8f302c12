"""`bayesdp release`, `bayesdp budget` and `bayesdp statement`."""

from __future__ import annotations

import json
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp.cli import run
from bayesdp.ledger import Ledger

Printed = Callable[..., str]
Released = Callable[..., dict[str, Any]]


def nothing_charged() -> bool:
    if not Path("budget.db").exists():
        return True
    with Ledger("budget.db", create=False) as ledger:
        return "charge" not in [entry.kind for entry in ledger.entries()]


def test_release_prints_the_contract(given: list[str], released: Released) -> None:
    answer = released(*given, "--epsilon", "1", "--budget", "2")
    assert not nothing_charged()
    assert abs(answer["value"] - 200) < 60 * answer["scale"]
    assert answer["interval"][0] < answer["value"] < answer["interval"][1]
    assert answer["epsilon"] <= 1
    assert answer["epsilon_total"] + answer["epsilon_remaining"] == pytest.approx(2)
    assert {"tau", "theorem", "scope", "alpha", "beta"} <= set(answer)
    again = released(*given, "--epsilon", "1")
    assert again == {**answer, "reused": True}


def test_the_budget_error_is_exit_3_with_its_figures(given: list[str], printed: Printed, released: Released) -> None:
    released(*given, "--epsilon", "1.5", "--budget", "2")
    message = printed(*given, "--states", "0", "--epsilon", "1", status=3)
    assert "requested ε = 1, remaining 0.5, short by 0.5" in message
    assert message.count("\n") == 1


def test_a_dry_run_charges_nothing_and_is_a_check(given: list[str], printed: Printed, released: Released) -> None:
    text = printed(*given, "--epsilon", "1", "--budget", "2", "--dry-run")
    assert "Nothing was charged" in text
    with Ledger("budget.db", create=False) as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["check"]
    released(*given, "--epsilon", "1", "--budget", "2")
    before = Path("budget.db").read_bytes()
    foretold = released(*given, "--states", "0", "--epsilon", "0.5", "--dry-run")
    assert foretold["epsilon_remaining"] == pytest.approx(0.5)
    assert Path("budget.db").read_bytes() == before


def test_budget_commands(given: list[str], printed: Printed, released: Released) -> None:
    answer = released(*given, "--epsilon", "1", "--budget", "2")
    Path("answer.json").write_text(json.dumps(answer))
    ledger = ("--ledger", "sqlite:///budget.db")
    shown = json.loads(printed("budget", "show", *ledger, "--json"))["datasets"][0]
    assert (shown["dataset"], shown["budget"], len(shown["releases"])) == ("steps", 2.0, 1)
    assert shown["epsilon_total"] == answer["epsilon_total"]
    assert "1 remaining" in printed("budget", "show", *ledger, "--dataset", "steps")
    assert "1 answer checked" in printed("budget", "verify", *ledger, "--answer", "answer.json")
    assert "is now 1.5" in printed("budget", "lower", *ledger, "--dataset", "steps", "--to", "1.5")
    lowered = json.loads(printed("budget", "lower", *ledger, "--dataset", "steps", "--to", "1.25", "--json"))
    assert (lowered["dataset"], lowered["budget"], lowered["charges"], lowered["entry"]) == ("steps", 1.25, 1, 6)
    assert "does not lower" in printed("budget", "lower", *ledger, "--dataset", "steps", "--to", "1.8", status=2)
    assert "--reason" in printed("budget", "raise", *ledger, "--dataset", "steps", "--to", "3", status=2)
    to_three = ("--dataset", "steps", "--to", "3", "--reason", "the board agreed", "--json")
    raised = json.loads(printed("budget", "raise", *ledger, *to_three))
    assert raised["budget"] == 3
    exported = json.loads(printed("budget", "export", *ledger))
    assert exported["head"] == raised["head"] != lowered["head"]
    assert json.loads(printed("budget", "export", *ledger, "--json")) == exported
    kinds = [entry["kind"] for entry in exported["entries"]]
    assert kinds == ["check", "open", "charge", "answer", "lower", "lower", "raise"]
    assert "the board agreed" in json.dumps(exported)
    page = printed("statement", "answer.json")
    assert answer["head"] in page
    assert json.loads(printed("statement", "answer.json", "--json")) == {**answer, "statement": page[:-1]}
    with sqlite3.connect("budget.db") as database:
        database.execute("update bayesdp_entries set body = replace(body, '\"tau\"', '\"tua\"') where kind = 'charge'")
    database.close()
    assert "does not hold together" in printed("budget", "verify", *ledger, status=2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("value", 7), ("epsilon", 0.1), ("epsilon_total", 0.1), ("tau", 0.01), ("theorem", "general")),
        *(("assumption", "nothing"), ("records", 7), ("scope", "all"), ("timestamp", "2020-01-01T00:00:00+00:00")),
        *(("query", {"query": "count", "column": "s", "equals": 0}), ("notes", ["none"]), ("dataset", "other")),
        *(("model_fingerprint", "0" * 64), ("entry", 1), ("head", "0" * 64)),
    ],
)
def test_verify_finds_an_altered_answer(
    given: list[str], name: str, value: object, printed: Printed, released: Released
) -> None:
    answer = released(*given, "--epsilon", "1", "--budget", "2")
    derived = ("alpha", "scale", "interval", "rounded", "warnings")
    edited = {key: entry for key, entry in {**answer, name: value}.items() if key not in derived}
    assert edited[name] != answer[name]
    Path("answer.json").write_text(json.dumps(edited))
    message = printed("budget", "verify", "--ledger", "budget.db", "--answer", "answer.json", status=2)
    assert ("entry" if name in ("entry", "head") else name) in message


def test_a_stored_answer_states_only_what_the_ledger_stores(
    given: list[str], printed: Printed, released: Released
) -> None:
    first = released(*given, "--epsilon", "0.5", "--budget", "2")
    released(*given, "--states", "0", "--epsilon", "0.5")
    again = released(*given, "--epsilon", "0.5", "--beta", "0.2")
    assert (again["reused"], again["value"]) == (True, first["value"])
    check = ("budget", "verify", "--ledger", "budget.db", "--answer", "answer.json")
    for answer in (first, again):
        Path("answer.json").write_text(json.dumps(answer))
        assert "1 answer checked" in printed(*check)
    for name, forged in (("epsilon_total", 0.7), ("epsilon_remaining", 1.9)):
        Path("answer.json").write_text(json.dumps({**again, name: forged}))
        assert f"its {name} differ" in printed(*check, status=2)
    Path("answer.json").write_text(json.dumps({**first, "epsilon_total": 1e-4}))
    assert "answer.json: epsilon_total cannot be below" in printed("statement", "answer.json", status=2)


@pytest.mark.parametrize("body", ["{}", "[1]", "7"])
def test_a_damaged_ledger_is_said_to_be_damaged(
    given: list[str], body: str, printed: Printed, released: Released
) -> None:
    released(*given, "--epsilon", "0.5", "--budget", "2")
    with sqlite3.connect("budget.db") as database:
        database.execute("update bayesdp_entries set body = ?", (body,))
    database.close()
    assert "damaged" in printed("budget", "show", "--ledger", "budget.db", status=2)
    assert "damaged" in printed(*given, "--epsilon", "0.5", status=2)
    with sqlite3.connect("budget.db") as database:
        database.execute("update bayesdp_totals set query = ?", (body,))
    database.close()
    assert "damaged" in printed(*given, "--states", "0", "--epsilon", "0.5", status=2)


OPEN = ("budget", "open", "data.csv", "--model", "model.json", "--dataset", "steps", "--budget", "2")


def test_an_account_is_opened_on_purpose(
    given: list[str], printed: Printed, released: Released, shown: Released
) -> None:
    ledger = ("--ledger", "budget.db")
    assert printed(*OPEN, *ledger) == "steps has an account now, with a budget of 2 (entry 2).\n"
    assert shown()["changes"][0]["budget"] == 2.0
    assert released(*given, "--epsilon", "0.5")["epsilon_remaining"] == pytest.approx(1.5)
    assert "'steps' has an account already" in printed(*OPEN, *ledger, status=2)
    other = (*OPEN, *ledger, "--dataset", "other")
    assert "'other' looks like 'steps'" in printed(*other, status=2)
    opened = released(*other, "--separate-because", "of another year")
    assert (opened["dataset"], opened["budget"], opened["entry"]) == ("other", 2.0, 5)
    text = printed("budget", "show", *ledger, "--dataset", "other")
    assert "opened with 2, apart from others because: of another year" in text
    for wrong in (("--budget", "0"), ("--budget", "much"), ("--dataset", "a\u200bb")):
        printed(*OPEN, *ledger, *wrong, status=2)


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_second_name_for_a_table_is_refused(
    given: list[str], more: list[str], printed: Printed, released: Released
) -> None:
    released(*given, "--epsilon", "0.5", "--budget", "2")
    before = Path("budget.db").read_bytes()
    message = printed(*given, "--epsilon", "2", "--budget", "2", "--dataset", "s2", *more, status=2)
    assert "'s2' looks like 'steps'" in message
    assert "--separate-because" in message
    assert Path("budget.db").read_bytes() == before


def test_names_are_one_however_they_are_typed(
    given: list[str], printed: Printed, released: Released, shown: Released
) -> None:
    answer = released(*given, "--epsilon", "0.5", "--budget", "2", "--dataset", " cafe\u0301 ")
    assert answer["dataset"] == "caf\u00e9"
    again = released(*given, "--epsilon", "0.5", "--dataset", "caf\u00e9")
    assert again["reused"]
    for name in ("caf\u00e9", "cafe\u0301 "):
        assert shown("--dataset", name)["dataset"] == "caf\u00e9"
        exported = json.loads(printed("budget", "export", "--ledger", "budget.db", "--dataset", name))
        assert [entry["kind"] for entry in exported["entries"]] == ["check", "open", "charge", "answer"]
        assert len(exported["datasets"]) == 1


def test_without_a_ledger_named_the_default_one_is_used(
    given: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, printed: Printed, released: Released
) -> None:
    at = given.index("--ledger")
    plain = [*given[:at], *given[at + 2 :]]
    assert "there is no ledger at" in printed("budget", "show", status=2)
    released(*plain, "--epsilon", "0.5", "--budget", "2")
    (tmp_path / "elsewhere").mkdir()
    Path("data.csv").rename("elsewhere/data.csv")
    Path("model.json").rename("elsewhere/model.json")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert released(*plain, "--epsilon", "0.5")["reused"], "one account in every folder"
    for command in (["show"], ["verify"], ["export"], ["lower", "--dataset", "steps", "--to", "1"]):
        printed("budget", *command)
    raising = ("--dataset", "steps", "--to", "3", "--reason", "agreed")
    assert "is now 3" in printed("budget", "raise", *raising)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["data.csv", "model.json"]
    assert "no data set 'steps'" in printed(
        *("budget", "show", "--dataset", "steps", "--ledger", str(_empty(tmp_path))), status=2
    )


def _empty(folder: Path) -> Path:
    Ledger(folder / "empty.db").close()
    return folder / "empty.db"


def test_a_release_from_a_ledger_edited_by_hand_is_refused(
    given: list[str], printed: Printed, released: Released
) -> None:
    released(*given, "--epsilon", "1.5", "--budget", "2")
    with sqlite3.connect("budget.db") as database:
        database.execute("update bayesdp_accounts set budget = 20")
    database.close()
    before = Path("budget.db").read_bytes()
    message = printed(*given, "--states", "0", "--epsilon", "1.5", status=2)
    assert "damaged or was changed: the account of 'steps' is not what its entries add up to" in message
    assert Path("budget.db").read_bytes() == before


def test_export_of_one_data_set(given: list[str], printed: Printed, released: Released) -> None:
    released(*given, "--epsilon", "0.5", "--budget", "2")
    other = ("--dataset", "other", "--separate-because", "of another year")
    released(*given, "--epsilon", "0.5", "--budget", "2", *other)
    found = json.loads(printed("budget", "export", "--ledger", "budget.db", "--dataset", "other"))
    assert {each["dataset"] for part in ("datasets", "entries") for each in found[part]} == {"other"}
    assert "no data set" in printed("budget", "export", "--ledger", "budget.db", "--dataset", "no", status=2)


@pytest.mark.parametrize("ledger", [":memory:", "no/such/folder/b.db", "mysql://x/y"])
def test_a_dry_run_refuses_the_ledgers_that_a_release_refuses(given: list[str], ledger: str, printed: Printed) -> None:
    printed(*given, "--epsilon", "1", "--budget", "2", "--ledger", ledger, "--dry-run", status=2)


def test_closed_output_is_no_crash(given: list[str]) -> None:
    command = f"{sys.executable} -m bayesdp {shlex.join(given)} --epsilon 1 --budget 2 >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_another_budget_is_pointed_out(
    given: list[str], released: Released, capsys: pytest.CaptureFixture[str]
) -> None:
    released(*given, "--epsilon", "1", "--budget", "2")
    assert run([*given, "--epsilon", "1", "--budget", "5"]) == 0
    assert "note: the budget of steps is 2, not 5" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--epsilon", "1"], "budget"),
        (["--epsilon", "0", "--budget", "2"], "greater than 0"),
        (["--epsilon", "nan", "--budget", "2"], "finite"),
        (["--budget", "2"], "--epsilon or --alpha"),
        (["--epsilon", "1", "--budget", "-2"], "--budget must be greater than 0"),
        (["--epsilon", "1", "--budget", "0"], "--budget must be greater than 0"),
        (["--epsilon", "1", "--budget", "nan"], "--budget must be a finite number"),
        (["--epsilon", "1", "--budget", "inf"], "--budget must be a finite number"),
        (["--epsilon", "1", "--budget", "much"], "--budget must be a number"),
        (["--epsilon", "1", "--budget", "2", "--bounds", "0", "--ledger", "x.db"], "--bounds needs two numbers"),
        (["--epsilon", "1", "--budget", "2", "--states", "7"], "not a state"),
        (["--epsilon", "1", "--budget", "2", "--column", "t"], "the model describes"),
        (["--epsilon", "1", "--budget", "2", "--where", "s >"], "cannot read"),
        (["--epsilon", "1", "--budget", "2", "--missing", "guess"], "error"),
        (["--epsilon", "1", "--budget", "2", "--ledger", "mysql://x/y"], "ledger"),
        (["--epsilon", "1", "--budget", "2", "--ledger", "sqlite:////no/such/folder/b.db"], "folder"),
    ],
)
def test_mistakes_charge_nothing(given: list[str], arguments: list[str], said: str, printed: Printed) -> None:
    message = printed(*given, *arguments, status=2)
    assert said in message
    assert message.count("\n") == 1
    assert nothing_charged()


HOSTILE = {
    "empty.csv": b"",
    "header.csv": b"s\n",
    "types.csv": b"s\nred\nblue\n",
    "binary.csv": bytes(range(256)) * 20,
    "latin.csv": "s\né\n".encode("latin-1"),
    "missing.csv": b"s\n0\nNA\n1\n",
    "wide.csv": ",".join(f"c{i}" for i in range(3000)).encode() + b"\n" + b",".join([b"1"] * 3000) + b"\n",
    "ragged.csv": b"s\n0\n1,2,3\n",
    "fake.parquet": b"PAR1 nothing PAR1",
    "sql'; drop table entries; --.csv": b"t\n1\n",
    "infinite.csv": b"s\n0.5\ninf\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_and_cost_nothing(given: list[str], name: str, printed: Printed) -> None:
    Path(name).write_bytes(HOSTILE[name])
    given[1] = name
    message = printed(*given, "--epsilon", "1", "--budget", "2", status=2)
    assert message.startswith("bayesdp: ")
    assert message.count("\n") == 1
    assert nothing_charged()


@pytest.mark.parametrize("path", ["../data.csv", "/etc/passwd", "data.csv\0", "", "~/x.csv", "*.csv[", "a" * 5000])
def test_path_tricks(given: list[str], path: str, printed: Printed) -> None:
    given[1] = path
    assert printed(*given, "--epsilon", "1", "--budget", "2", status=2).startswith("bayesdp: ")


def test_one_row_is_a_table(given: list[str], released: Released) -> None:
    Path("one.csv").write_text("s\n1\n")
    given[1] = "one.csv"
    assert released(*given, "--epsilon", "1", "--budget", "2")["records"] == 1


@pytest.mark.parametrize("ledger", ["data.csv", "sqlite:///data.csv", "model.json"])
def test_a_ledger_does_not_overwrite_data_or_model(given: list[str], ledger: str, printed: Printed) -> None:
    before = Path("data.csv").read_bytes(), Path("model.json").read_bytes()
    message = printed(*given, "--epsilon", "1", "--budget", "2", "--ledger", ledger, status=2)
    assert "not a database" in message
    assert (Path("data.csv").read_bytes(), Path("model.json").read_bytes()) == before


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2Jb", "a\x9b2J", "a\u2028b", "a\u202eb", "tab\there", "\x7f"])
@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_name_that_steers_the_terminal_is_refused(
    given: list[str], name: str, more: list[str], printed: Printed
) -> None:
    message = printed(*given, "--dataset", name, "--epsilon", "1", "--budget", "2", *more, status=2)
    assert "must not hold line breaks or control characters" in message
    assert message[:-1].isprintable()
    if Path("budget.db").exists():
        assert json.loads(printed("budget", "show", "--ledger", "budget.db", "--json"))["datasets"] == []


def test_stored_text_does_not_control_the_terminal(given: list[str], printed: Printed, released: Released) -> None:
    answer = released(*given, "--epsilon", "1", "--budget", "2")
    Path("answer.json").write_text(json.dumps({**answer, "dataset": "a\x1b[2Jb"}))
    page = printed("statement", "answer.json")
    assert r"a\\u001b\[2Jb" in page
    assert "\x1b" not in page
    Path("answer.json").write_text(json.dumps({**answer, "dataset": "a\x9bb"}))
    assert json.loads(printed("statement", "answer.json", "--json"))["dataset"] == "a\x9bb"


def test_bounds_that_differ_look_different(given: list[str], printed: Printed) -> None:
    Path("model.json").write_text('{"type": "arbitrary", "size": 2}')
    asked = (*given[:4], "--query", "sum", "--column", "s", "--bounds", "1e16", "10000000000000002", *given[10:])
    text = printed(*asked, "--epsilon", "1", "--budget", "2", "--dry-run")
    assert "clipped to 1e+16–1.0000000000000002e+16" in text


CHAINS = {
    "type": "markov",
    "states": [0, 1],
    "transition": [[0.9, 0.1], [0.4, 0.6]],
    "column": "s",
    "layout": {"order_by": ["hour"], "entity": ["meter"]},
}
BY = ["--by-column", "district", "--by-cells"]


def test_a_release_by_parts(given: list[str], printed: Printed, released: Released) -> None:
    rows = [(meter, "AB"[meter % 2], hour, hour % 3 == 0) for meter in range(10) for hour in range(50)]
    names = ["meter", "district", "hour", "s"]
    frame = polars.DataFrame(rows, schema=names, orient="row").with_columns(polars.col("s").cast(polars.Int64))
    frame.write_csv("data.csv")
    Path("model.json").write_text(json.dumps(CHAINS))
    given = [*given, "--public", "district"]
    preview = released(*given, *BY, "A,B", "--epsilon", "1", "--budget", "2", "--dry-run")
    assert preview["query"]["by_cells"] == ["A", "B"]
    answers = released(*given, *BY, "A,B", "--epsilon", "1", "--budget", "2")
    assert answers["kind"] == "answers"
    assert [answer["query"]["by_cells"] for answer in answers["answers"]] == [["A"], ["B"]]
    assert {answer["epsilon_total"] for answer in answers["answers"]} == {preview["epsilon_total"]}
    one = released(*given, *BY, "B", "--epsilon", "1")
    assert one == {**answers["answers"][1], "reused": True}
    assert "A record is in one part" in printed(*given, *BY, "A,B", "--epsilon", "1")
    Path("answers.json").write_text(json.dumps(answers))
    verified = printed("budget", "verify", "--ledger", "sqlite:///budget.db", "--answer", "answers.json")
    assert "2 answers checked" in verified
    assert "checked" not in printed("budget", "verify", "--ledger", "sqlite:///budget.db")
    assert "2 answers, listed below" in printed("statement", "answers.json")
    shown = printed("budget", "show", "--ledger", "sqlite:///budget.db")
    assert "for district = 'B'" in shown
    assert "--by-column 'district' needs --by-cells" in printed(
        *given, "--by-column", "district", "--epsilon", "1", status=2
    )
    assert "not valid JSON" in printed(*given, *BY, '{"district": ["A"', "--epsilon", "1", status=2)
    assert "refused" in printed(*given, *BY, "A,C", "--epsilon", "0.5", status=2)


def test_a_release_on_growing_data(given: list[str], printed: Printed, released: Released) -> None:
    Path("model.json").write_text(json.dumps(CHAINS))
    frame = polars.DataFrame({"meter": [1] * 60, "hour": range(60), "s": [0, 1, 0] * 20})
    for hours in (40, 60):
        frame.head(hours).write_csv("data.csv")
        answer = released(*given, "--epsilon", "0.5", "--budget", "2", "--growing")
        assert answer["records"] == hours
        assert not answer["reused"]
    frame.head(50).write_csv("data.csv")
    assert "does not continue" in printed(*given, "--epsilon", "0.5", "--growing", status=2)
    grown = ["budget", "open", "data.csv", "--model", "model.json", "--ledger", "sqlite:///other.db"]
    assert "has an account" in printed(*grown, "--dataset", "steps", "--budget", "2", "--growing")


def test_a_release_by_windows(given: list[str], printed: Printed, released: Released) -> None:
    days = polars.datetime_range(datetime(2012, 10, 1), datetime(2012, 10, 14, 23), "1h", eager=True)
    polars.DataFrame({"time": days, "s": [i % 3 % 2 for i in range(len(days))]}).write_csv("data.csv")
    Path("model.json").write_text(json.dumps({**CHAINS, "layout": {"order_by": ["time"]}}))
    hours = released(*given, "--by-column", "hour", "--epsilon", "4", "--budget", "9")
    assert (hours["by"], hours["cells"]) == ("hour", [[hour] for hour in range(24)])
    assert all(answer["records"] == 14 for answer in hours["answers"])
    week = ["--since", "2012-10-08", "--until", "2012-10-15"]
    grid = ["--by-column", "weekday,hour", "--by-cells", '{"hour": [7, 8]}']
    both = released(*given, *grid, *week, "--epsilon", "1", "--dry-run")
    assert both["query"]["by"] == ["weekday", "hour"]
    assert "weekday \\ hour" in printed(*given, *grid, *week, "--epsilon", "1")
    one = released(*given, "--since", "2012-10-08", "--until", "2012-10-09", "--epsilon", "1")
    assert one["query"]["since"] == "2012-10-08 00:00:00"
    days_of_week = released(*given, "--by-column", "date", *week, "--epsilon", "1")
    assert days_of_week["cells"][0] == ["2012-10-08"]
    assert "--since and --until" in printed(*given, "--by-column", "date", "--epsilon", "1", status=2)
    assert "--by-cells" in printed(*given, "--by-cells", "A", "--epsilon", "1", status=2)


def test_check_states_the_reason_for_every_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("ill,house,t\nyes,1,1\nno,1,2\nyes,1,3\n")
    models: dict[bdp.Model, str] = {
        bdp.Independent(): "",
        bdp.ArbitraryGroups(2, group="house"): "has a group of 3 records",
        bdp.OddsChain(4, states=("yes", "no"), column="ill", length=2): "has a chain of 3 records",
        bdp.OddsSeries([4], states=("yes", "maybe"), column="ill"): "no",
    }
    for model, reason in models.items():
        (tmp_path / "model.json").write_text(model.to_json())
        words = ["check", str(tmp_path / "t.csv"), "--model", str(tmp_path / "model.json")]
        assert run([*words, "--query", "count", "--column", "ill", "--states", "yes"]) == (2 if reason else 0)
        said = capsys.readouterr()
        assert reason in said.err if reason else said.out == "A session accepts this table.\n"
    assert run([*words[:2], "--model", words[3], "--json"]) == 2


def test_several_files_are_released_as_one_table(given: list[str], printed: Callable[..., str]) -> None:
    records = polars.read_csv("data.csv")
    records[:200].write_csv("first.csv")
    records[200:].write_csv("last.csv")
    asked = [*given[2:], "--epsilon", "0.5", "--budget", "1", "--dry-run"]
    alone, together = (printed("release", *data, *asked) for data in (["data.csv"], ["first.csv", "last.csv"]))
    assert together == alone
    said = printed("release", "first.csv", "first.csv", *asked, status=2)
    assert said == "bayesdp: first.csv is named twice, so its records would count twice; name it once\n"
