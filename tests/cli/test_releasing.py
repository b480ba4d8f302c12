"""`bayesdp release`, `bayesdp budget` and `bayesdp statement`."""

from __future__ import annotations

import json
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars
import pytest

from bayesdp.cli import releasing, run
from bayesdp.ledger import Charge, Ledger
from bayesdp.models import Model

MODEL = {"type": "markov", "states": [0, 1], "transition": [[0.9, 0.1], [0.4, 0.6]], "length": 500, "column": "s"}


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    polars.DataFrame({"s": [0, 0, 1, 0, 1] * 100}).write_csv("data.csv")
    Path("model.json").write_text(json.dumps(MODEL))
    return [
        "release",
        "data.csv",
        *("--model", "model.json", "--query", "count", "--column", "s", "--states", "1"),
        *("--ledger", "sqlite:///budget.db", "--dataset", "steps"),
    ]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert run(list(arguments)) == status
    shown = capsys.readouterr()
    return shown.out if status == 0 else shown.err


def released(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed(capsys, *arguments, "--json"))
    return found


def test_release_prints_the_contract(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    answer = released(capsys, *given, "--epsilon", "1", "--budget", "2")
    assert abs(answer["value"] - 200) < 60 * answer["scale"]
    assert answer["interval"][0] < answer["value"] < answer["interval"][1]
    assert answer["epsilon"] <= 1
    assert answer["epsilon_total"] + answer["epsilon_remaining"] == pytest.approx(2)
    assert {"tau", "theorem", "scope", "alpha", "beta"} <= set(answer)
    again = released(capsys, *given, "--epsilon", "1")
    assert again == {**answer, "reused": True}


def test_the_budget_error_is_exit_3_with_its_figures(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    released(capsys, *given, "--epsilon", "1.5", "--budget", "2")
    message = printed(capsys, *given, "--states", "0", "--epsilon", "1", status=3)
    assert "requested ε = 1, remaining 0.5, short by 0.5" in message
    assert message.count("\n") == 1


def test_a_dry_run_leaves_no_trace(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, *given, "--epsilon", "1", "--budget", "2", "--dry-run")
    assert "Nothing was charged" in text
    assert not Path("budget.db").exists()
    released(capsys, *given, "--epsilon", "1", "--budget", "2")
    before = Path("budget.db").read_bytes()
    foretold = released(capsys, *given, "--states", "0", "--epsilon", "0.5", "--dry-run")
    assert foretold["epsilon_remaining"] == pytest.approx(0.5)
    assert Path("budget.db").read_bytes() == before


def test_budget_commands(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    answer = released(capsys, *given, "--epsilon", "1", "--budget", "2")
    Path("answer.json").write_text(json.dumps(answer))
    ledger = ("--ledger", "sqlite:///budget.db")
    shown = json.loads(printed(capsys, "budget", "show", *ledger, "--json"))["datasets"][0]
    assert (shown["dataset"], shown["budget"], len(shown["releases"])) == ("steps", 2.0, 1)
    assert shown["epsilon_total"] == answer["epsilon_total"]
    assert "1 remaining" in printed(capsys, "budget", "show", *ledger, "--dataset", "steps")
    assert "1 answer checked" in printed(capsys, "budget", "verify", *ledger, "--answer", "answer.json")
    assert "is now 1.5" in printed(capsys, "budget", "lower", *ledger, "--dataset", "steps", "--to", "1.5")
    lowered = json.loads(printed(capsys, "budget", "lower", *ledger, "--dataset", "steps", "--to", "1.25", "--json"))
    assert (lowered["dataset"], lowered["budget"], lowered["charges"], lowered["entry"]) == ("steps", 1.25, 1, 5)
    assert "does not lower" in printed(
        capsys, "budget", "lower", *ledger, "--dataset", "steps", "--to", "1.8", status=2
    )
    assert "--reason" in printed(capsys, "budget", "raise", *ledger, "--dataset", "steps", "--to", "3", status=2)
    to_three = ("--dataset", "steps", "--to", "3", "--reason", "the board agreed", "--json")
    raised = json.loads(printed(capsys, "budget", "raise", *ledger, *to_three))
    assert raised["budget"] == 3
    exported = json.loads(printed(capsys, "budget", "export", *ledger))
    assert exported["head"] == raised["head"] != lowered["head"]
    assert json.loads(printed(capsys, "budget", "export", *ledger, "--json")) == exported
    assert [entry["kind"] for entry in exported["entries"]] == ["open", "charge", "answer", "lower", "lower", "raise"]
    assert "the board agreed" in json.dumps(exported)
    page = printed(capsys, "statement", "answer.json")
    assert answer["head"] in page
    assert json.loads(printed(capsys, "statement", "answer.json", "--json")) == {**answer, "statement": page[:-1]}
    with sqlite3.connect("budget.db") as database:
        database.execute("update bayesdp_entries set body = replace(body, '\"tau\"', '\"tua\"') where kind = 'charge'")
    database.close()
    assert "does not hold together" in printed(capsys, "budget", "verify", *ledger, status=2)


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
    given: list[str], name: str, value: object, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = released(capsys, *given, "--epsilon", "1", "--budget", "2")
    derived = ("alpha", "scale", "interval", "rounded", "warnings")
    edited = {key: entry for key, entry in {**answer, name: value}.items() if key not in derived}
    assert edited[name] != answer[name]
    Path("answer.json").write_text(json.dumps(edited))
    message = printed(capsys, "budget", "verify", "--ledger", "budget.db", "--answer", "answer.json", status=2)
    assert name in message or "entry" in message


def test_an_answer_given_again_can_state_only_what_the_ledger_said(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first = released(capsys, *given, "--epsilon", "0.5", "--budget", "2")
    released(capsys, *given, "--states", "0", "--epsilon", "0.5")
    again = released(capsys, *given, "--epsilon", "0.5", "--beta", "0.2")
    assert (again["reused"], again["value"]) == (True, first["value"])
    check = ("budget", "verify", "--ledger", "budget.db", "--answer", "answer.json")
    for answer in (first, again):
        Path("answer.json").write_text(json.dumps(answer))
        assert "1 answer checked" in printed(capsys, *check)
    for name, forged in (("epsilon_total", 0.7), ("epsilon_remaining", 1.9)):
        Path("answer.json").write_text(json.dumps({**again, name: forged}))
        assert f"its {name} differ" in printed(capsys, *check, status=2)
    Path("answer.json").write_text(json.dumps({**first, "epsilon_total": 1e-4}))
    assert "answer.json: epsilon_total cannot be below" in printed(capsys, "statement", "answer.json", status=2)


@pytest.mark.parametrize("body", ["{}", "[1]", "7"])
def test_a_damaged_ledger_is_said_to_be_damaged(
    given: list[str], body: str, capsys: pytest.CaptureFixture[str]
) -> None:
    released(capsys, *given, "--epsilon", "0.5", "--budget", "2")
    with sqlite3.connect("budget.db") as database:
        database.execute("update bayesdp_entries set body = ?", (body,))
    database.close()
    assert "damaged" in printed(capsys, "budget", "show", "--ledger", "budget.db", status=2)
    assert "damaged" in printed(capsys, *given, "--epsilon", "0.5", status=2)
    with sqlite3.connect("budget.db") as database:
        database.execute("update bayesdp_totals set query = ?", (body,))
    database.close()
    assert "damaged" in printed(capsys, *given, "--states", "0", "--epsilon", "0.5", status=2)


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found = json.loads(printed(capsys, "budget", "show", "--ledger", "budget.db", *arguments, "--json"))
    assert (found["kind"], found["schema"]) == ("budget-overview", 1)
    (account,) = found["datasets"]
    return dict(account)


def test_budget_show_says_what_was_answered_spent_and_changed(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first = released(capsys, *given, "--epsilon", "0.5", "--budget", "2")
    change = ("--ledger", "budget.db", "--dataset", "steps", "--to")
    printed(capsys, "budget", "lower", *change, "1.5")
    printed(capsys, "budget", "raise", *change, "1.75", "--reason", "the board agreed")
    account = shown(capsys)
    (release,) = account["releases"]
    assert (release["value"], release["answer"]) == (first["value"], str(first["value"]))
    assert release["epsilon"] == first["epsilon"] == pytest.approx(0.5)
    assert [(each["change"], each["budget"], each["reason"]) for each in account["changes"]] == [
        *(("open", 2.0, None), ("lower", 1.5, None), ("raise", 1.75, "the board agreed"))
    ]
    assert account["refusals"] == []
    text = printed(capsys, "budget", "show", "--ledger", "budget.db")
    assert "steps: ε = 0.5 of 1.75 leaked, 1.25 remaining; 1 release, no refusals\n" in text
    line = next(line for line in text.splitlines() if line.startswith("2 "))
    assert line.split()[3:6] == ["0.5", f"{first['tau']:.6g}", str(first["value"])]
    assert "lowered to 1.5, no reason given" in text
    assert "raised to 1.75, because: the board agreed" in text
    second = released(capsys, *given, "--query", "histogram", "--states", "0,1", "--epsilon", "0.5")
    text = printed(capsys, "budget", "show", "--ledger", "budget.db")
    assert "2 releases" in text
    assert "0: {}, 1: {}".format(*second["value"]) in text


def test_budget_show_prints_no_dust(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    released(capsys, *given, "--epsilon", "0.3", "--budget", "0.3000000000000001")
    account = shown(capsys)
    assert 0 < account["epsilon_remaining"] < 1e-11
    assert ", 0 remaining; 1 release" in printed(capsys, "budget", "show", "--ledger", "budget.db")


def test_budget_show_says_who_answers_for_what(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    count = {"query": "count", "column": "s", "equals": 1}
    details = {"epsilon": 0.25, "epsilon_total": 0.25, "theorem": "independent", "query": count}
    more = {"diagnosis": {"verdict": "violated", "p": 0.01}, "accepted": "a pilot study", "by": "Ada"}
    with Ledger("budget.db") as ledger:
        account = ledger.account("steps", model={"type": "independent"}, description={}, budget=1.0)
        charges = Charge("q", "count", count, 0.25, details | more), Charge("r", "count", count, 0.25, details)
        account.charge((), lambda state: charges)
    first, second = shown(capsys)["releases"]
    assert (first["diagnosis"], first["accepted"], first["by"]) == ("violated", "a pilot study", "Ada")
    assert (second["diagnosis"], second["accepted"], second["by"], second["value"]) == (None, None, None, None)
    text = printed(capsys, "budget", "show", "--ledger", "budget.db")
    assert "entry 2: diagnosis of the model: violated; accepted because: a pilot study; by: Ada\n" in text
    assert "entry 3:" not in text
    assert "none stored" in text


def test_budget_show_counts_refusals_also_without_an_account(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with Ledger("budget.db") as ledger:
        ledger.refused("steps", "the table is outside the model")
        ledger.refused("steps", "the question cannot be asked of this table")
    account = shown(capsys, "--dataset", " steps")
    assert (account["budget"], account["epsilon_total"], account["releases"]) == (None, 0, [])
    assert [each["reason"] for each in account["refusals"]] == [
        *("the table is outside the model", "the question cannot be asked of this table")
    ]
    text = printed(capsys, "budget", "show", "--ledger", "budget.db")
    moment = account["refusals"][1]["timestamp"][:19].replace("T", " ")
    assert text == (
        f"steps: no account; 2 refusals, the last on {moment}: the question cannot be asked of this table\n"
    )
    released(capsys, *given, "--epsilon", "0.5", "--budget", "2")
    assert "1 release, 2 refusals, the last on" in printed(capsys, "budget", "show", "--ledger", "budget.db")
    assert len(json.loads(printed(capsys, "budget", "export", "--ledger", "budget.db"))["entries"]) == 5
    assert "no data set 'no'" in printed(capsys, "budget", "show", "--ledger", "budget.db", "--dataset", "no", status=2)


def test_the_refusals_of_a_dry_run_are_kept_although_it_creates_no_ledger(given: list[str]) -> None:
    arguments = ("data.csv", Model.from_dict(MODEL), "budget.db", "steps", 2.0)
    with releasing.session(*arguments, dry_run=True):
        pass
    assert not Path("budget.db").exists()
    with releasing.session(*arguments, dry_run=True) as opened:
        opened._ledger.refused("steps", "the table is outside the model")
    with Ledger("budget.db", create=False) as ledger:
        (entry,) = ledger.entries()
        assert (entry.dataset, entry.kind) == ("steps", "refusal")
        assert ledger.verify().ok


OPEN = ("budget", "open", "data.csv", "--model", "model.json", "--dataset", "steps", "--budget", "2")


def test_an_account_is_opened_on_purpose(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    ledger = ("--ledger", "budget.db")
    assert printed(capsys, *OPEN, *ledger) == "steps has an account now, with a budget of 2 (entry 1).\n"
    assert shown(capsys)["changes"][0]["budget"] == 2.0
    assert released(capsys, *given, "--epsilon", "0.5")["epsilon_remaining"] == pytest.approx(1.5)
    assert "'steps' has an account already" in printed(capsys, *OPEN, *ledger, status=2)
    other = (*OPEN, *ledger, "--dataset", "other")
    assert "'other' looks like 'steps'" in printed(capsys, *other, status=2)
    opened = released(capsys, *other, "--separate-because", "of another year")
    assert (opened["dataset"], opened["budget"], opened["entry"]) == ("other", 2.0, 4)
    text = printed(capsys, "budget", "show", *ledger, "--dataset", "other")
    assert "opened with 2, apart from others because: of another year" in text
    for wrong in (("--budget", "0"), ("--budget", "much"), ("--dataset", "a\u200bb")):
        printed(capsys, *OPEN, *ledger, *wrong, status=2)


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_second_name_for_a_table_is_refused(
    given: list[str], more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    released(capsys, *given, "--epsilon", "0.5", "--budget", "2")
    before = Path("budget.db").read_bytes()
    message = printed(capsys, *given, "--epsilon", "2", "--budget", "2", "--dataset", "s2", *more, status=2)
    assert "'s2' looks like 'steps'" in message
    assert "--separate-because" in message
    assert Path("budget.db").read_bytes() == before


def test_names_are_one_however_they_are_typed(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    answer = released(capsys, *given, "--epsilon", "0.5", "--budget", "2", "--dataset", " cafe\u0301 ")
    assert answer["dataset"] == "caf\u00e9"
    again = released(capsys, *given, "--epsilon", "0.5", "--dataset", "caf\u00e9")
    assert again["reused"]
    for name in ("caf\u00e9", "cafe\u0301 "):
        assert shown(capsys, "--dataset", name)["dataset"] == "caf\u00e9"
        exported = json.loads(printed(capsys, "budget", "export", "--ledger", "budget.db", "--dataset", name))
        assert [entry["kind"] for entry in exported["entries"]] == ["open", "charge", "answer"]
        assert len(exported["datasets"]) == 1


def test_without_a_ledger_named_the_default_one_is_used(
    given: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    at = given.index("--ledger")
    plain = [*given[:at], *given[at + 2 :]]
    assert "there is no ledger at" in printed(capsys, "budget", "show", status=2)
    released(capsys, *plain, "--epsilon", "0.5", "--budget", "2")
    (tmp_path / "elsewhere").mkdir()
    Path("data.csv").rename("elsewhere/data.csv")
    Path("model.json").rename("elsewhere/model.json")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert released(capsys, *plain, "--epsilon", "0.5")["reused"], "one account in every folder"
    for command in (["show"], ["verify"], ["export"], ["lower", "--dataset", "steps", "--to", "1"]):
        printed(capsys, "budget", *command)
    raising = ("--dataset", "steps", "--to", "3", "--reason", "agreed")
    assert "is now 3" in printed(capsys, "budget", "raise", *raising)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["data.csv", "model.json"]
    assert "no data set 'steps'" in printed(
        capsys, *("budget", "show", "--dataset", "steps", "--ledger", str(_empty(tmp_path))), status=2
    )


def _empty(folder: Path) -> Path:
    Ledger(folder / "empty.db").close()
    return folder / "empty.db"


def test_a_release_from_a_ledger_edited_by_hand_is_refused(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    released(capsys, *given, "--epsilon", "1.5", "--budget", "2")
    with sqlite3.connect("budget.db") as database:
        database.execute("update bayesdp_accounts set budget = 20")
    database.close()
    before = Path("budget.db").read_bytes()
    message = printed(capsys, *given, "--states", "0", "--epsilon", "1.5", status=2)
    assert "damaged or was changed: the account of 'steps' is not what its entries add up to" in message
    assert Path("budget.db").read_bytes() == before


def test_export_of_one_data_set(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    released(capsys, *given, "--epsilon", "0.5", "--budget", "2")
    other = ("--dataset", "other", "--separate-because", "of another year")
    released(capsys, *given, "--epsilon", "0.5", "--budget", "2", *other)
    found = json.loads(printed(capsys, "budget", "export", "--ledger", "budget.db", "--dataset", "other"))
    assert {each["dataset"] for part in ("datasets", "entries") for each in found[part]} == {"other"}
    assert "no data set" in printed(capsys, "budget", "export", "--ledger", "budget.db", "--dataset", "no", status=2)


@pytest.mark.parametrize("ledger", [":memory:", "no/such/folder/b.db", "mysql://x/y"])
def test_a_dry_run_refuses_the_ledgers_that_a_release_refuses(
    given: list[str], ledger: str, capsys: pytest.CaptureFixture[str]
) -> None:
    printed(capsys, *given, "--epsilon", "1", "--budget", "2", "--ledger", ledger, "--dry-run", status=2)


def test_closed_output_is_no_crash(given: list[str]) -> None:
    command = f"{sys.executable} -m bayesdp {shlex.join(given)} --epsilon 1 --budget 2 >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_another_budget_is_pointed_out(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    released(capsys, *given, "--epsilon", "1", "--budget", "2")
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
def test_mistakes_charge_nothing(
    given: list[str], arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    message = printed(capsys, *given, *arguments, status=2)
    assert said in message
    assert message.count("\n") == 1
    if Path("budget.db").exists():
        assert '"charges": 0' in printed(capsys, "budget", "export", "--ledger", "budget.db") or (
            '"datasets": []' in printed(capsys, "budget", "export", "--ledger", "budget.db")
        )


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
def test_hostile_files_are_refused_and_cost_nothing(
    given: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_bytes(HOSTILE[name])
    given[1] = name
    message = printed(capsys, *given, "--epsilon", "1", "--budget", "2", status=2)
    assert message.startswith("bayesdp: ")
    assert message.count("\n") == 1
    assert not Path("budget.db").exists() or b'"charge"' not in Path("budget.db").read_bytes()


@pytest.mark.parametrize("path", ["../data.csv", "/etc/passwd", "data.csv\0", "", "~/x.csv", "*.csv[", "a" * 5000])
def test_path_tricks(given: list[str], path: str, capsys: pytest.CaptureFixture[str]) -> None:
    given[1] = path
    assert printed(capsys, *given, "--epsilon", "1", "--budget", "2", status=2).startswith("bayesdp: ")


def test_one_row_is_a_table(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("one.csv").write_text("s\n1\n")
    given[1] = "one.csv"
    assert released(capsys, *given, "--epsilon", "1", "--budget", "2")["records"] == 1


@pytest.mark.parametrize("ledger", ["data.csv", "sqlite:///data.csv", "model.json"])
def test_a_ledger_does_not_overwrite_data_or_model(
    given: list[str], ledger: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path("data.csv").read_bytes(), Path("model.json").read_bytes()
    message = printed(capsys, *given, "--epsilon", "1", "--budget", "2", "--ledger", ledger, status=2)
    assert "not a database" in message
    assert (Path("data.csv").read_bytes(), Path("model.json").read_bytes()) == before


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2Jb", "a\x9b2J", "a\u2028b", "a\u202eb", "tab\there", "\x7f"])
@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_name_that_steers_the_terminal_is_refused(
    given: list[str], name: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    message = printed(capsys, *given, "--dataset", name, "--epsilon", "1", "--budget", "2", *more, status=2)
    assert "must not hold line breaks or control characters" in message
    assert message[:-1].isprintable()
    if Path("budget.db").exists():
        assert json.loads(printed(capsys, "budget", "show", "--ledger", "budget.db", "--json"))["datasets"] == []


def test_what_an_older_ledger_or_an_edited_answer_holds_does_not_steer_the_terminal(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    answer = released(capsys, *given, "--epsilon", "1", "--budget", "2")
    Path("answer.json").write_text(json.dumps({**answer, "dataset": "a\x1b[2Jb"}))
    page = printed(capsys, "statement", "answer.json")
    assert "a\\u001b[2Jb" in page
    assert "\x1b" not in page
    Path("answer.json").write_text(json.dumps({**answer, "dataset": "a\x9bb"}))
    assert json.loads(printed(capsys, "statement", "answer.json", "--json"))["dataset"] == "a\x9bb"


def test_bounds_that_differ_look_different(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.json").write_text('{"type": "arbitrary", "size": 2}')
    asked = (*given[:4], "--query", "sum", "--column", "s", "--bounds", "1e16", "10000000000000002", *given[10:])
    text = printed(capsys, *asked, "--epsilon", "1", "--budget", "2", "--dry-run")
    assert "clipped to 1e+16–1.0000000000000002e+16" in text


CHAINS = {**MODEL, "length": None, "layout": {"order_by": ["hour"], "entity": ["meter"]}}
BY = ["--by-column", "district", "--by-cells"]


def test_a_release_by_parts(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(meter, "AB"[meter % 2], hour, hour % 3 == 0) for meter in range(10) for hour in range(50)]
    names = ["meter", "district", "hour", "s"]
    frame = polars.DataFrame(rows, schema=names, orient="row").with_columns(polars.col("s").cast(polars.Int64))
    frame.write_csv("data.csv")
    Path("model.json").write_text(json.dumps(CHAINS))
    preview = released(capsys, *given, *BY, "A,B", "--epsilon", "1", "--budget", "2", "--dry-run")
    assert preview["query"]["by_cells"] == ["A", "B"]
    answers = released(capsys, *given, *BY, "A,B", "--epsilon", "1", "--budget", "2")
    assert answers["kind"] == "answers"
    assert [answer["query"]["by_cells"] for answer in answers["answers"]] == [["A"], ["B"]]
    assert {answer["epsilon_total"] for answer in answers["answers"]} == {preview["epsilon_total"]}
    one = released(capsys, *given, *BY, "B", "--epsilon", "1")
    assert one == {**answers["answers"][1], "reused": True}
    assert "A record is in one part" in printed(capsys, *given, *BY, "A,B", "--epsilon", "1")
    Path("answers.json").write_text(json.dumps(answers))
    verified = printed(capsys, "budget", "verify", "--ledger", "sqlite:///budget.db", "--answer", "answers.json")
    assert "2 answers checked" in verified
    assert "checked" not in printed(capsys, "budget", "verify", "--ledger", "sqlite:///budget.db")
    assert "holds 2 answers" in printed(capsys, "statement", "answers.json", status=2)
    shown = printed(capsys, "budget", "show", "--ledger", "sqlite:///budget.db")
    assert "for district = 'B'" in shown
    assert "go together" in printed(capsys, *given, "--by-column", "district", "--epsilon", "1", status=2)
    assert "refused" in printed(capsys, *given, *BY, "A,C", "--epsilon", "0.5", status=2)


def test_a_release_on_growing_data(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.json").write_text(json.dumps(CHAINS))
    frame = polars.DataFrame({"meter": [1] * 60, "hour": range(60), "s": [0, 1, 0] * 20})
    for hours in (40, 60):
        frame.head(hours).write_csv("data.csv")
        answer = released(capsys, *given, "--epsilon", "0.5", "--budget", "2", "--growing")
        assert answer["records"] == hours
        assert not answer["reused"]
    frame.head(50).write_csv("data.csv")
    assert "does not continue" in printed(capsys, *given, "--epsilon", "0.5", "--growing", status=2)
    grown = ["budget", "open", "data.csv", "--model", "model.json", "--ledger", "sqlite:///other.db"]
    assert "has an account" in printed(capsys, *grown, "--dataset", "steps", "--budget", "2", "--growing")
