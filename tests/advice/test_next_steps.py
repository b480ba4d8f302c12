"""The code to go on with: it runs, and names every option that was given."""

from __future__ import annotations

import ast
import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp.advice.next_steps import NextSteps
from bayesdp.models import Model

ON = bdp.Count("on", equals=1)


@pytest.mark.slow
def test_the_code_to_go_on_with_runs_and_makes_the_model(
    simulated: Callable[..., polars.DataFrame], tmp_path: Path
) -> None:
    path = tmp_path / "table.parquet"
    simulated("two", 6000).write_parquet(path)
    advice = bdp.advise(path, ON, order_by="t")
    before = Path.cwd()
    os.environ["BAYESDP_LEDGER"] = f"sqlite:///{tmp_path / 'b.db'}"
    try:
        os.chdir(tmp_path)
        names: dict[str, Any] = {}
        exec(compile(advice.python, "advice", "exec"), names)
    finally:
        os.chdir(before)
        del os.environ["BAYESDP_LEDGER"]
    assert advice.recommended is not None
    assert names["model"] == advice.recommended.model


@pytest.mark.parametrize(
    ("model", "python", "shell"),
    [
        (bdp.Independent(), "bdp.Independent()", "echo '{\"type\": \"independent\"}'"),
        (bdp.ArbitraryGroups(4, group="who"), 'ArbitraryGroups(size=4, group=["who"])', '"size": 4, "group": ["who"]'),
        (bdp.OddsChain(9, memory=2), 'memory=2, credibility=0.9', "--model odds-chain"),
        (bdp.MarkovChain.from_counts([[5, 0], [3, 4]], smoothing=0.5), "smoothing=0.5", "--smoothing 0.5"),
    ],
)  # fmt: skip
def test_the_way_on_names_every_option(model: Model, python: str, shell: str) -> None:
    way = NextSteps(None, {"state": "s > 0", "order_by": ["a", "b"], "missing": "drop"}, 0.9)
    assert python in way.python(model, ON, 1.0)
    assert shell in way.shell(model, bdp.Sum("x", bounds=(0, 10), where="a > 1", public_filter=True), 1.0)
    assert "--bounds 0 10" in way.shell(model, bdp.Sum("x", bounds=(0, 10)), 1.0)


def test_foreign_names_are_quoted_for_the_shell_and_for_python() -> None:
    evil = 'a\'; rm -rf "x" $(y)'
    way = NextSteps(f"{evil}.csv", {"state": evil, "order_by": ["t"]}, 0.9)
    shell = shlex.split(way.shell(bdp.OddsChain(9), bdp.Count(evil, equals=evil), 1.0).splitlines()[0])
    assert shell[2] == f"{evil}.csv"
    assert shell[shell.index("--state") + 1] == evil
    python = ast.parse(way.python(bdp.OddsChain(9), bdp.Count(evil, equals=evil), 1.0))
    literals = [node.value for node in ast.walk(python) if isinstance(node, ast.Constant)]
    assert literals.count(evil) == 3
    assert f"{evil}.csv" in literals


def test_a_series_names_its_order_and_only_what_its_fit_takes() -> None:
    way = NextSteps("load.csv", {"order_by": ["t"], "within": ["hour"], "state": "on", "record": "day"}, 0.9)
    options = way.options(bdp.GaussianSeries([0.3, 0.2], column="load"))
    assert options == {"value": "load", "order_by": ["t"], "within": ["hour"], "record": "day", "order": 2}
    assert way.options(bdp.Independent()) == {}


def test_next_steps_state_the_order_of_text_and_the_credibility() -> None:
    way = NextSteps("t.csv", {"state": "on", "order_by": ["t"], "order_by_text": True}, 0.9)
    python = way.python(bdp.MarkovChain.from_counts([[8, 2], [3, 1]]), ON, 1.0, credible=True)
    assert "order_by_text=True)" in python
    assert 'dataset="NAME", credibility=0.9) as session' in python
    fit, release = way.shell(bdp.MarkovChain.from_counts([[8, 2], [3, 1]]), ON, 1.0, credible=True).splitlines()
    assert "--order-by-text -o MODEL.json" in fit
    assert release.endswith("--budget 1 --credibility 0.9")


@pytest.mark.parametrize(
    ("question", "shell"),
    [
        (bdp.Count("on", equals=1, by="hour"), "--by-column hour --epsilon"),
        (bdp.Count("on", equals=1, by="week", since="2012-10-01"), "--by-column week --since 2012-10-01 --epsilon"),
        (bdp.Count("on", equals=1, by="zone", by_cells=["A", "B"]), "--by-column zone --by-cells A,B --epsilon"),
        (bdp.Count("on", equals=1, by="zone", by_cells=["A, B", "C"]), '--by-cells \'{"zone": ["A, B", "C"]}\''),
        (bdp.Count("on", equals=1, by=["zone", "hour"], by_cells={"zone": [1, 2]}), "--by-column zone,hour --by-cells"),
    ],
)
def test_questions_by_windows_and_parts_are_written_as_asked(question: bdp.Count, shell: str) -> None:
    way = NextSteps("t.csv", {"state": "on", "order_by": ["t"]}, 0.9)
    released = ast.parse(way.python(bdp.OddsChain(9), question, 1.0)).body[-1].body[0].value.args[0]  # type: ignore[attr-defined]
    assert released.func.attr == "release_by"
    assert eval(ast.unparse(released.args[0]), {"bdp": bdp}) == question
    assert shell in way.shell(bdp.OddsChain(9), question, 1.0)
    assert "--by " not in way.shell(bdp.OddsChain(9), question, 1.0)


@pytest.mark.parametrize(
    "model",
    [
        bdp.Independent(column="on", record="hour", order_by=["at"]),
        bdp.ArbitraryGroups(4, group="who", column="on", unit="group", order_by=["at"]),
        bdp.ArbitraryGroups(9, group="who", column="on", record="visit", keep=5, spaced=True),
    ],
)
def test_models_written_by_hand_are_those_of_the_account(model: Model) -> None:
    way = NextSteps("t.csv", {"order_by": ["at"]}, 0.9)
    written = way.model_in_python(model).splitlines()[1].removeprefix("model = ")
    assert eval(written, {"bdp": bdp}).identity == model.identity
    echo = shlex.split(way.model_in_shell(model))
    assert Model.from_dict(json.loads(echo[1])).identity == model.identity
