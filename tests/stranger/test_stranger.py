"""A stranger adds a model and a theorem from outside; they appear wherever ours do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import polars
import pytest
from twins import Twins, TwinsTheorem  # type: ignore[import-not-found]

import bayesdp as bdp
from bayesdp.cli import run
from bayesdp.errors import RefusedError
from bayesdp.experiments import Experiment
from bayesdp.experiments import run as run_experiment
from bayesdp.plotting.charts import line
from bayesdp.plotting.palette import COLOURS, colour_of

COUNT = bdp.Count("ill", equals=True)
TABLE = polars.DataFrame({"ill": [True, True, False, False] * 25, "couple": [i // 2 for i in range(100)]})


@pytest.fixture(autouse=True)
def theorem() -> Iterator[None]:
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
