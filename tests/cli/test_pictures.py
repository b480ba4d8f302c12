"""`--plot FILE`: a picture beside what is printed, refused in one line before anything is computed if it cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bayesdp as bdp
from bayesdp.cli import run

GROUPS = {"type": "gaussian", "correlation": 0.275, "size": 3}
SUM = "--query sum --bounds 0 100"
CHAIN = {"type": "markov", "states": [0, 1], "transition": [[0.9, 0.1], [0.2, 0.8]], "length": 400, "column": "on"}

HEADS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "groups.json").write_text(json.dumps(GROUPS))
    (tmp_path / "chain.json").write_text(json.dumps(CHAIN))
    rows = "\n".join(f"{hour},{int(hour % 7 < 3)}" for hour in range(200))
    (tmp_path / "steps.csv").write_text(f"hour,on\n{rows}\n")
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], folder: Path, command: str) -> str:
    status = run([part.replace("@", f"{folder}/") for part in command.split()])
    out = capsys.readouterr()
    assert (status, out.err) == (0, "")
    return out.out


def refused(capsys: pytest.CaptureFixture[str], folder: Path, command: str) -> str:
    status = run([part.replace("@", f"{folder}/") for part in command.split()])
    out = capsys.readouterr()
    assert (status, out.out) == (2, "")
    assert out.err.count("\n") == 1
    return out.err


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        (f"leakage @groups.json {SUM} --tau 1", ".png"),
        (f"calibrate @groups.json {SUM} --epsilon 1", ".svg"),
        (f"compare @groups.json {SUM} --epsilon 1,2", ".pdf"),
        (f"leakage @groups.json {SUM} --rho 0.01 --delta 1e-6", ".png"),
        (f"calibrate @groups.json {SUM} --epsilon 1 --delta 1e-6", ".svg"),
        (f"audit @groups.json {SUM} --rho 0.01 --delta 1e-6 --runs 500", ".pdf"),
        ("diagnose @chain.json @steps.csv --state on --order-by hour", ".png"),
    ],
)
def test_a_picture_is_written_beside_what_is_printed(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, ending: str
) -> None:
    alone = printed(capsys, folder, command)
    assert printed(capsys, folder, f"{command} --plot @picture{ending}") == alone
    assert (folder / f"picture{ending}").read_bytes().startswith(HEADS[ending])


def test_a_budget_is_drawn(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame, chain = folder / "steps.csv", bdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=400, column="on")
    with bdp.Session(frame, chain, dataset="steps", epsilon=2.0, ledger=folder / "budget.db") as session:
        session.release(bdp.Count("on", equals=1), epsilon=0.5)
    command = "budget show --ledger @budget.db"
    assert printed(capsys, folder, f"{command} --plot @picture.svg") == printed(capsys, folder, command)
    assert (folder / "picture.svg").read_bytes().startswith(b"<?xml")
    (shown,) = json.loads(printed(capsys, folder, f"{command} --json --plot @picture.pdf"))["datasets"]
    assert (shown["model"], shown["records"]) == ("markov", 200)
    (folder / "budget.db").rename(folder / "budget.svg")
    for ledger in ("@budget.svg", f"sqlite:///{folder}/budget.svg"):
        assert "is an input" in refused(capsys, folder, f"budget show --ledger {ledger} --plot @budget.svg")
    printed(capsys, folder, "budget verify --ledger @budget.svg")


ASKED = "@steps.csv --query count --states 1 --ledger @budget.db --dataset steps --budget 9 --epsilon 1"
TIMED = {"type": "odds-chain", "odds": 9.0, "column": "on", "layout": {"order_by": ["time"]}}


@pytest.fixture
def timed(folder: Path) -> Path:
    rows = "\n".join(f"2024-01-{1 + hour // 24:02}T{hour % 24:02}:00:00,{int(hour % 7 < 3)}" for hour in range(200))
    (folder / "steps.csv").write_text(f"time,on\n{rows}\n")
    (folder / "timed.json").write_text(json.dumps(TIMED))
    return folder


def test_a_release_by_windows_is_drawn(timed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for by, ending in (("hour", ".png"), ("weekday,hour", ".svg")):
        command = f"release {ASKED} --model @timed.json --by-column {by}"
        printed(capsys, timed, f"{command} --plot @picture{ending}")
        assert (timed / f"picture{ending}").read_bytes().startswith(HEADS[ending])
    printed(capsys, timed, f"running {ASKED} --model @timed.json --every day --plot @totals.png")
    assert (timed / "totals.png").read_bytes().startswith(HEADS[".png"])


def test_no_release_is_charged_for_an_impossible_picture(timed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = f"release {ASKED} --model @timed.json"
    assert "by windows, such as --by-column hour" in refused(capsys, timed, f"{command} --plot @a.png")
    hour = "--by-column hour"
    one = f"{hour} --by-cells 7"
    assert "single answer" in refused(capsys, timed, f"{command} {one} --plot @a.png")
    assert "--dry-run releases nothing" in refused(capsys, timed, f"{command} {hour} --plot @a.png --dry-run")
    histogram = command.replace("count --states 1", "histogram --states 0,1")
    assert "not the 2 of a histogram" in refused(capsys, timed, f"{histogram} {hour} --plot @a.png")
    (timed / "timed.json").rename(timed / "timed.svg")
    named = command.replace("timed.json", "timed.svg")
    assert "is an input" in refused(capsys, timed, f"{named} {hour} --plot @timed.svg")
    assert not (timed / "budget.db").exists()


@pytest.mark.parametrize(
    "command",
    [
        f"leakage @missing.json {SUM} --tau 1",
        f"calibrate @missing.json {SUM} --epsilon 1",
        f"compare @missing.json {SUM} --epsilon 1,2",
        "diagnose @missing.json @missing.csv",
        "advise @missing.csv --state on --order-by hour",
        "budget show --ledger @missing.db",
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert ".png, .svg or .pdf, not 'x.doc'" in refused(capsys, folder, f"{command} --plot @x.doc")
    assert "cannot write" in refused(capsys, folder, f"{command} --plot @nowhere/x.png")
    (folder / "folder.png").mkdir()
    assert "it is a folder" in refused(capsys, folder, f"{command} --plot @folder.png")


@pytest.mark.parametrize("command", ["leakage", "calibrate", "diagnose"])
def test_a_picture_never_replaces_an_input_file(folder: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    (folder / "groups.json").rename(folder / "groups.svg")
    asked = {
        "leakage": f"{SUM} --tau 1",
        "calibrate": f"{SUM} --epsilon 1",
        "diagnose": "@steps.csv --group hour --value on",
    }
    assert "is an input" in refused(capsys, folder, f"{command} @groups.svg {asked[command]} --plot @groups.svg")
    assert json.loads((folder / "groups.svg").read_text()) == GROUPS
