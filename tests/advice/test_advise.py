"""`advise`: the right rung on tables whose law is known, and what it says of the real one."""

from __future__ import annotations

import datetime
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import bayesdp as bdp
from bayesdp.advice.rung import Rung, climbed, priced, recommended
from bayesdp.advice.way_on import WayOn
from bayesdp.errors import FrameError, InvalidInputError, QueryError
from bayesdp.experiments.data import load
from bayesdp.models import Model
from bayesdp.plotting.ladder import advice_chart

RECORDS = 12_000
START = datetime.datetime(2024, 1, 1)
ON = bdp.Count("on", equals=1)


def simulated(kind: str, records: int = RECORDS, seed: int = 3) -> polars.DataFrame:
    """Return a series of two states, a record every ten minutes, of a law that is known."""
    generator = np.random.default_rng(seed)
    states = [0, 1, 0]
    for t in range(records - 3):
        hour = t // 6 % 24
        odds = {
            "independent": 0.3,
            "chain": 0.75 if states[-1] else 0.2,
            "two": 0.1 + 0.4 * states[-1] + 0.4 * states[-2],
            "clock": _shifted(0.75 if states[-1] else 0.2, 1.5 if 8 <= hour < 18 else -1.5),
        }[kind]
        states.append(int(generator.random() < odds))
    times = [START + datetime.timedelta(minutes=10 * t) for t in range(records)]
    return polars.DataFrame({"t": times, "on": states[:records]})


def _shifted(probability: float, by: float) -> float:
    """Return a probability whose log odds are shifted: the odds ratio of neighbours stays what it is."""
    return float(1 / (1 + (1 - probability) / probability * np.exp(-by)))


@lru_cache
def advised(kind: str) -> bdp.Advice:
    """Return the advice on a series, computed once."""
    return bdp.advise(simulated(kind), ON, order_by="t")


def rungs(advice: bdp.Advice) -> dict[str, Rung]:
    return {rung.name: rung for rung in advice.ladder}


@pytest.mark.parametrize(
    ("kind", "chosen"),
    [
        pytest.param("independent", {"independent"}, marks=pytest.mark.slow),
        pytest.param("chain", {"chain", "bounded odds"}, marks=pytest.mark.slow),
        ("clock", {"bounded odds within each hour"}),
        ("two", {"chain with a memory of two"}),
    ],
)
def test_the_cheapest_rung_that_holds_is_recommended(kind: str, chosen: set[str]) -> None:
    advice = advised(kind)
    assert advice.recommended is not None
    assert advice.recommended.name in chosen
    assert not advice.recommended.denied
    named = rungs(advice)
    assert named["independent"].denied == (kind != "independent")
    assert named["chain"].denied == (kind in ("two", "clock"))
    assert named["bounded odds"].denied == (kind == "two")
    assert ("memory of 2 records" in advice.shows) == (kind == "two")


def test_the_rungs_go_from_the_strongest_assumption_to_the_weakest_and_noise_leaks_more_under_weaker_ones() -> None:
    advice = advised("clock")
    names = list(rungs(advice))
    assert names[:4] == ["independent", "chain", "bounded odds", "bounded odds within each hour"]
    assert names[4] == "chain with a memory of two"
    assert names[-1] == "arbitrary groups"
    for rung in advice.ladder[:-1]:
        assert rung.calibration is not None
        assert rung.calibration.leakage.epsilon <= 1
        for line in rung.consequences:
            assert line.epsilon is None or line.epsilon >= 1
    (two,) = (
        line for line in rungs(advice)["chain"].consequences if line.condition == "what matters is the last two records"
    )
    memory, chain = rungs(advice)["chain with a memory of two"], rungs(advice)["chain"]
    assert isinstance(memory.model, Model)
    assert chain.calibration is not None
    assert two.epsilon == pytest.approx(bdp.leakage(memory.model, ON, tau=chain.calibration.tau).epsilon)


@pytest.mark.slow
def test_the_cost_of_a_rung_is_what_calibrate_says() -> None:
    frame = simulated("chain", 2000)
    advice = bdp.advise(frame, ON, order_by="t", epsilon=2.0, beta=0.1, credibility=0.9)
    odds = bdp.OddsChain.fit(frame, state="on", order_by="t", credibility=0.9)
    assert rungs(advice)["bounded odds"].model == odds
    assert rungs(advice)["bounded odds"].alpha == bdp.calibrate(odds, ON, epsilon=2.0, beta=0.1).accuracy(0.1)
    chain = bdp.MarkovChain.fit(frame, state="on", order_by="t")
    assert rungs(advice)["chain"].model == chain
    credible = bdp.calibrate(chain, ON, epsilon=2.0, beta=0.1, credibility=0.9, draws=90)
    assert rungs(advice)["chain"].alpha == credible.accuracy(0.1)


@pytest.mark.slow
def test_whole_entities_are_the_last_rung_if_they_are_named() -> None:
    frames = [
        simulated("chain", 320, seed).tail(300).with_columns(polars.lit(f"m{seed}").alias("meter"))
        for seed in range(1, 9)
    ]
    advice = bdp.advise(polars.concat(frames), ON, order_by="t", entity="meter")
    last = advice.ladder[-1]
    assert last.model == bdp.ArbitraryGroups(300, group="meter")
    assert last.verdict == "not denied"
    assert last.alpha == pytest.approx(300 * 2.9957, rel=1e-3)
    assert "anything may happen within one meter" in [line.condition for line in advice.ladder[0].consequences]
    alone = advised("two").ladder[-1]
    assert alone.verdict == "not possible"
    assert alone.model is None
    assert "Name entities" in alone.reason


def test_a_denial_that_changes_next_to_nothing_is_no_reason_to_pay_more() -> None:
    """Large tables deny every model. What counts is what is lost if the table is right."""

    def rung(name: str, odds: float, verdict: Any) -> Rung:
        return priced(
            Rung(name, f"{name} is true", "", verdict, "", bdp.OddsChain(odds)), bdp.Count(equals=1), 1, 0.05, 0.95
        )

    small = climbed([rung("a", 9.0, "violated"), rung("b", 10.0, "fine")])
    assert small[0].harm == pytest.approx(np.sqrt(10 / 9) - 1, abs=0.01)
    assert recommended(small) is small[0]
    large = climbed([rung("a", 9.0, "violated"), rung("b", 12.0, "fine")])
    assert recommended(large) is large[1]
    denied = climbed([rung("a", 9.0, "violated"), rung("b", 30.0, "violated")])
    assert recommended(denied) is denied[1]
    assert recommended([]) is None


def test_it_prints_and_is_json_and_a_picture(tmp_path: Path) -> None:
    advice = advised("two")
    text = str(advice)
    for rung in advice.ladder:
        assert rung.name.capitalize() in text
    assert "Recommended: " in text
    assert "without any noise" in text
    document = json.loads(advice.to_json())
    assert document["recommended"]["model"] == advice.recommended.model.identity  # type: ignore[union-attr]
    assert document["recommended"]["alpha"] == advice.recommended.alpha  # type: ignore[union-attr]
    for rung, entry in zip(advice.ladder, document["ladder"], strict=True):
        assert {"model", "verdict", "alpha", "assumes"} <= set(entry)
        if entry["model"] is not None:
            assert Model.from_dict(entry["model"]) == rung.model
    chart = advice_chart(advice)
    drawn = {line.name: line for line in chart.panels[0].lines if line.style == "-"}
    assert set(drawn) == {rung.name for rung in advice.ladder if rung.alpha is not None}
    styles = {line.name: line.style for line in chart.panels[0].lines if line.style in ("o", "ring")}
    assert all(styles[rung.name] == ("ring" if rung.denied else "o") for rung in advice.ladder if rung.name in styles)
    assert advice.plot(tmp_path / "ladder.svg").stat().st_size > 2000


@pytest.mark.slow
def test_the_code_to_go_on_with_runs_and_makes_the_model(tmp_path: Path) -> None:
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
    way = WayOn(None, {"state": "s > 0", "order_by": ["a", "b"], "missing": "drop"}, 0.9)
    assert python in way.python(model, ON, 1.0)
    assert shell in way.shell(model, bdp.Sum("x", bounds=(0, 10), where="a > 1", public_filter=True), 1.0)
    assert "--bounds 0 10" in way.shell(model, bdp.Sum("x", bounds=(0, 10)), 1.0)
    assert way.python(None, ON, 1.0) == way.shell(None, ON, 1.0) == ""


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"state": "on"}, InvalidInputError, "must have an order"),
        ({}, InvalidInputError, "say what to look at"),
        ({"state": "on", "order_by": "t", "group": "g"}, InvalidInputError, "are for a column of numbers"),
        ({"state": "nothing", "order_by": "t"}, FrameError, "nothing"),
        ({"state": "on", "order_by": "t", "within": "g"}, FrameError, "g"),
        ({"state": "on", "order_by": "t", "epsilon": 0}, InvalidInputError, "epsilon"),
        ({"state": "on", "order_by": "t", "credibility": 1}, InvalidInputError, "credibility"),
        ({"state": "on", "order_by": "t", "question": "count"}, InvalidInputError, "expected a question"),
        ({"state": "on", "order_by": "t", "question": bdp.Count("x", equals=1)}, QueryError, "'on'"),
        ({"state": "on", "order_by": "t", "question": bdp.Count("on", equals=7)}, QueryError, "7 is not a state"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        bdp.advise(simulated("chain", 300), **given)


@pytest.mark.slow
def test_few_records_are_told_from_no_violation() -> None:
    advice = bdp.advise(simulated("chain", 60), ON, order_by="t")
    assert rungs(advice)["chain"].verdict == "not tested"
    assert "too few records" in rungs(advice)["bounded odds"].shown


@pytest.mark.slow
def test_every_engine_gives_the_same_advice() -> None:
    frame = simulated("two", 2000).with_columns(polars.col("t").dt.epoch("s"))
    import duckdb

    relation = duckdb.sql("from frame")
    tables = {"polars": frame, "lazy": frame.lazy(), "pandas": frame.to_pandas(), "duckdb": relation}
    ladders = {
        name: [(rung.name, rung.verdict, rung.alpha) for rung in bdp.advise(table, ON, order_by="t").ladder]
        for name, table in tables.items()
    }
    assert all(ladder == ladders["polars"] for ladder in ladders.values())


@pytest.mark.slow
def test_many_states_have_no_rungs_of_memory() -> None:
    generator = np.random.default_rng(2)
    frame = polars.DataFrame({"t": range(5000), "room": generator.integers(0, 60, 5000)})
    advice = bdp.advise(frame, state="room", order_by="t")
    assert list(rungs(advice)) == ["independent", "chain", "bounded odds", "arbitrary groups"]
    assert "could not be counted" in advice.shows
    assert advice.query == bdp.Count("room", equals=59)


@pytest.mark.slow
def test_the_twin_of_the_step_counter_is_advised() -> None:
    advice = bdp.advise(load("activity").frame, state="steps > 0", order_by=["date", "interval"], missing="drop")
    assert advice.query == bdp.Count("steps > 0", equals=True)
    assert rungs(advice)["independent"].denied
    assert advice.recommended is not None


REAL = Path(__file__).parents[3] / "shared" / "data" / "activity.csv"


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the original file is not there")
def test_on_the_real_step_counter_no_chain_of_one_record_is_recommended() -> None:
    advice = bdp.advise(REAL, state="steps > 0", order_by=["date", "interval"], missing="drop")
    named = rungs(advice)
    assert advice.recommended is not None
    assert advice.recommended.model.memory > 1  # type: ignore[union-attr]
    assert not advice.recommended.denied
    assert named["chain"].denied
    assert named["bounded odds within each hour"].denied
    assert "a memory of 3 records" in advice.shows
    assert "24.1 (chain with a memory of two)" in advice.shows
    within = named["bounded odds within each hour"].model
    assert isinstance(within, bdp.OddsChain)
    assert within.odds == pytest.approx(32.9, abs=0.5)
    two = {line.condition: line.epsilon for line in named["chain"].consequences}
    assert two["what matters is the last two records"] == pytest.approx(1.71, abs=0.02)
