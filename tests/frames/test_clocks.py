"""Chains ordered by time: time of day, weekday and season, on the real Activity data and on made ones."""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesdp import MarkovChain
from bayesdp.diagnostics import Diagnosis
from bayesdp.experiments.data import load
from bayesdp.models.diagnosis import today

FILES = Path(__file__).parents[3] / "shared" / "data"
START = dt.datetime(2023, 1, 1)
NONE: Mapping[str, float] = {}
ACTIVITY: dict[str, Any] = {"state": "steps > 0", "order_by": ["date", "interval"], "missing": "drop"}


def verdicts(diagnosis: Diagnosis) -> dict[str, str]:
    return {finding.name: finding.verdict for finding in diagnosis.findings}


def readings(seed: int, hours: int, *, step: int = 1, effects: Mapping[str, float] = NONE) -> pl.DataFrame:
    """Return a chain of readings whose odds follow the clock: effects of hour, weekday and month."""
    rng = np.random.default_rng(seed)
    state, rows = 0, []
    for i in range(0, hours, step):
        moment = START + dt.timedelta(hours=i)
        rows.append((moment, state))
        odds = (-1.0, 0.5)[state]
        odds += effects.get("hour", 0.0) * (1 if 8 <= moment.hour < 20 else -1)
        odds += effects.get("weekday", 0.0) * (1 if moment.weekday() >= 5 else -1)
        odds += effects.get("month", 0.0) * (1 if 4 <= moment.month < 10 else -1)
        state = int(rng.random() < 1 / (1 + np.exp(-odds)))
    moments = pl.Series("moment", [row[0] for row in rows])
    return pl.DataFrame({"moment": moments, "s": [row[1] for row in rows]}).with_columns(
        day=pl.col("moment").dt.date(),
        midnight=pl.col("moment").dt.truncate("1d"),
        text=pl.col("moment").dt.strftime("%Y-%m-%d"),
        slot=pl.col("moment").dt.hour().cast(pl.Int64) * 100,
        minute=pl.col("moment").dt.hour().cast(pl.Int64) * 60,
        index=pl.int_range(pl.len()),
    )


def diagnosed(frame: pl.DataFrame, order_by: Any = "moment", *, as_text: bool = False) -> Diagnosis:
    return MarkovChain.fit(frame, state="s", order_by=order_by, order_by_text=as_text).diagnose(frame)


@pytest.mark.parametrize(("effect", "finding"), [("hour", "time of day"), ("weekday", "weekday"), ("month", "season")])
def test_what_follows_the_clock_is_a_violation(effect: str, finding: str) -> None:
    diagnosis = diagnosed(readings(1, 9000, effects={effect: 0.7}))
    others = {"time of day", "weekday", "season"} - {finding}
    assert verdicts(diagnosis)[finding] == "violated"
    assert {verdicts(diagnosis)[other] for other in others} == {"fine"}
    assert diagnosis.verdict == "violated"


@pytest.mark.slow
def test_what_does_not_is_fine() -> None:
    found = [verdicts(diagnosed(readings(seed, 9000))) for seed in range(2, 12)]
    for name in ("time of day", "weekday", "season"):
        assert [each[name] for each in found].count("fine") >= 9, name
        assert not any(each[name] in ("violated", "not tested") for each in found), name


def test_a_few_days_are_too_few_to_tell() -> None:
    diagnosis = diagnosed(readings(3, 24 * 20))
    assert (verdicts(diagnosis)["time of day"], verdicts(diagnosis)["weekday"]) == ("not tested", "not tested")
    assert "season" not in verdicts(diagnosis), "there is one month, so nothing to compare"
    assert diagnosis.verdict == "not tested"
    found = next(finding for finding in diagnosis.findings if finding.name == "time of day")
    assert "about 3,900 transitions are needed" in found.meaning


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("order_by", [["day", "slot"], ["midnight", "slot"], ["day", "minute"], ["text", "slot"]])
def test_a_later_order_column_is_a_clock(order_by: list[str], as_text: bool) -> None:
    frame = readings(4, 9000, effects={"hour": 0.7})
    direct, diagnosis = diagnosed(frame), diagnosed(frame, order_by, as_text=as_text)
    dateless = as_text and order_by[0] == "text"
    assert verdicts(diagnosis)["time of day"] == "violated"
    by_hour, by_slot = (
        next(each for each in found.findings if each.name == "time of day") for found in (direct, diagnosis)
    )
    assert by_slot.values["statistic"] == pytest.approx(by_hour.values["statistic"])
    assert ("weekday" in verdicts(diagnosis)) == (not dateless)
    reported = " ".join(diagnosis.trusted)
    assert ("weekday or season: the columns that order the records hold no dates" in reported) == dateless


def test_a_clock_of_many_values_is_cut_into_bands() -> None:
    frame = readings(5, 9000, effects={"hour": 0.7}).with_columns(fine=pl.col("minute") + pl.col("index") % 7)
    found = next(each for each in diagnosed(frame, ["day", "fine"]).findings if each.name == "time of day")
    assert found.verdict == "violated"
    assert "24 strata" in found.figure


@pytest.mark.parametrize("order_by", ["index", ["text", "index"]])
def test_without_a_clock_it_is_taken_on_trust(order_by: Any) -> None:
    diagnosis = diagnosed(readings(6, 9000, effects={"hour": 0.7}), order_by, as_text=True)
    assert not {"time of day", "weekday", "season"} & set(verdicts(diagnosis))
    assert "do not depend on the time of day, weekday or season: " in " ".join(diagnosis.trusted)


def test_days_have_no_time_of_day() -> None:
    diagnosis = diagnosed(readings(7, 24 * 3000, step=24), "day")
    assert "time of day" not in verdicts(diagnosis)
    assert {"weekday", "season"} <= set(verdicts(diagnosis))
    assert "time of day" not in " ".join(diagnosis.trusted)


def test_many_states_are_counted_clock_by_clock() -> None:
    frame = readings(8, 9000).with_columns(s=pl.col("s") + 2 * (pl.col("index") * 7919 % 6))
    diagnosis = diagnosed(frame)
    assert len(MarkovChain.fit(frame, state="s", order_by="moment").states) == 12
    assert {"time of day", "weekday", "season"} <= set(verdicts(diagnosis))


@pytest.mark.skipif(not FILES.is_dir(), reason=f"the original files are not in {FILES}")
def test_activity_is_no_chain_of_order_one_and_follows_the_clock() -> None:
    path = FILES / "activity.csv"
    chain = MarkovChain.fit(path, **ACTIVITY)
    diagnosis = chain.diagnose(path)
    assert verdicts(diagnosis) == {
        "dependence": "fine",
        "order": "violated",
        "same over time": "violated",
        "time of day": "violated",
        "weekday": "doubtful",
        "season": "violated",
        "enough data": "fine",
        "gaps": "fine",
        "length": "fine",
        "probabilities": "fine",
    }
    values = {finding.name: finding.values for finding in diagnosis.findings}
    assert values["order"]["statistic"] == pytest.approx(496.1, abs=0.05)
    assert values["order"]["least_bic_order"] == 2
    assert values["time of day"]["statistic"] == pytest.approx(1211.6, abs=0.05)
    assert values["gaps"]["missing_transitions"] == 5
    assert (diagnosis.table_name, diagnosis.rows, diagnosis.records) == ("activity.csv", 17_568, 15_264)
    assert diagnosis.date == today()
    assert str(path.parent) not in diagnosis.to_json()


def test_the_twin_of_activity_is_of_order_one() -> None:
    frame = load("activity").frame
    diagnosis = MarkovChain.fit(frame, **ACTIVITY).diagnose(frame)
    assert verdicts(diagnosis)["order"] == "fine"
    assert verdicts(diagnosis)["time of day"] in ("fine", "doubtful")
