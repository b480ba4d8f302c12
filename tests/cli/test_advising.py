"""`bayesdp advise`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars
import pytest

from bayesdp.advice import priced_assumption
from bayesdp.cli import run
from bayesdp.models import Model


@pytest.fixture(autouse=True)
def estimates_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no models from the posterior, which takes most of the time: prices are tested with `advise` itself."""
    monkeypatch.setattr(priced_assumption, "_MOST_DRAWN", 0)


@pytest.fixture
def steps(tmp_path: Path) -> str:
    generator = np.random.default_rng(7)
    states = [0]
    for _ in range(1499):
        states.append(int(generator.random() < (0.7 if states[-1] else 0.25)))
    path = tmp_path / "steps.csv"
    polars.DataFrame({"t": range(1500), "steps": [8 * state for state in states]}).write_csv(path)
    return str(path)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    status = run(["advise", *arguments])
    out = capsys.readouterr()
    assert status == 0, out.err
    assert out.err == ""
    return out.out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    status = run(["advise", *arguments])
    out = capsys.readouterr()
    assert (status, out.out) == (2, "")
    assert out.err.count("\n") == 1
    return out.err


def test_the_json_is_that_of_the_contract(steps: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "advice.svg"
    text = printed(capsys, steps, "--state", "steps > 0", "--order-by", "t", "--json", "--plot", str(picture))
    document = json.loads(text)
    assert picture.stat().st_size > 2000
    assert {"model", "alpha"} <= set(document["recommended"])
    assert document["query"] == {"query": "count", "column": "steps > 0", "equals": True}
    for entry in document["ladder"]:
        assert {"model", "verdict", "alpha", "assumes"} <= set(entry)
    assert Model.from_dict(document["recommended"]["model"]).subject == "steps > 0"


def test_it_prints_the_assumptions_and_python_as_python(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--order-by", "t", "--query", "histogram", "--epsilon", "2")
    text = printed(capsys, steps, "--state", "steps > 0", *arguments)
    assert "at ε = 2, from steps.csv." in text
    assert 'state="steps > 0", order_by=["t"]' in text
    assert 'bdp.Histogram("steps > 0", cells=[False, True])' in text
    assert "--query histogram --column 'steps > 0' --states false,true" in text


def test_the_values_of_a_column_are_read_as_json(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, steps, "--state", "steps", "--order-by", "t", "--states", "8", "--json")
    assert json.loads(text)["query"]["equals"] == 8


def test_numbers_have_assumptions_of_their_own(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--query", "sum", "--column", "steps", "--bounds", "0", "10", "--order-by", "t", "--json")
    names = [entry["name"] for entry in json.loads(printed(capsys, steps, *arguments))["ladder"]]
    assert names[:2] == ["independent", "normal series of order 1"]


def test_what_is_wrong_is_one_line(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--order-by" in refused(capsys, steps, "--state", "steps > 0")
    assert "--state" in refused(capsys, steps)
    assert "--epsilon" in refused(capsys, steps, "--state", "steps > 0", "--order-by", "t", "--epsilon", "much")
    assert "is not a state" in refused(capsys, steps, "--state", "steps", "--order-by", "t", "--states", "3")
    assert "steps.csv" in refused(capsys, steps, "--state", "steps > 0", "--order-by", "t", "--plot", steps)


def test_a_delta_is_priced_and_passed_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ill.csv"
    path.write_text("ill,house\n" + "".join(f"{'yes' if i % 5 else 'no'},{i // 3}\n" for i in range(300)))
    told = json.loads(printed(capsys, str(path), "--state", "ill", "--group", "house", "--delta", "1e-6", "--json"))
    assert told["delta"] == 1e-6
    assert {entry["noise"] for entry in told["ladder"]} <= {"laplace", "gaussian"}
    assert told["shell"].endswith("--budget-delta 1e-06")
