"""Streams of running totals: charged once, continued from the ledger, refused where periods have changed."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import polars
import pytest

from bayesdp import Count, Histogram, Mean, OddsChain, Proportion, Quantile, Query, Session, Sum
from bayesdp.errors import BudgetError, InvalidInputError, LedgerError, QueryError
from bayesdp.ledger import Account, Ledger
from bayesdp.models import ChainLayout
from bayesdp.session.overview import overview
from bayesdp.session.running_totals import RunningTotals

BEGIN = dt.datetime(2024, 1, 1)
CHAIN = OddsChain(9.0, column="on", layout=ChainLayout("time"))
ON = Count("on", equals=1)


def table(hours: int) -> polars.DataFrame:
    times = [BEGIN + dt.timedelta(hours=hour) for hour in range(hours)]
    return polars.DataFrame({"time": times, "on": [hour % 5 % 2 for hour in range(hours)]})


def opened(folder: Path, frame: Any, **account: Any) -> Session:
    settings: dict[str, Any] = {"dataset": "switch", "epsilon": 9.0, "growing": True, **account}
    return Session(frame, CHAIN, ledger=folder / "b.db", **settings)


def totals(folder: Path, hours: int, query: Query = ON, **asked: Any) -> Any:
    with opened(folder, table(hours)) as session:
        return session.running(query, **{"every": "day", "horizon": 30, "epsilon": 2.0, **asked})


def charges(folder: Path) -> int:
    with Ledger(folder / "b.db") as ledger:
        assert ledger.verify().ok
        return ledger.state("switch").charges


@pytest.mark.parametrize("horizon", [30, None])
def test_a_stream_is_charged_once_and_totals_stay(tmp_path: Path, horizon: int | None) -> None:
    first = totals(tmp_path, 24 * 4 + 1, horizon=horizon)
    assert tuple(first.values) == ("2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04")
    again = totals(tmp_path, 24 * 4 + 1, horizon=horizon)
    assert dict(again.values) == dict(first.values)
    later = totals(tmp_path, 24 * 11, horizon=horizon)
    assert len(later) == 10, "the last day has no record after it"
    assert dict(later.values).items() >= dict(first.values).items()
    assert later.epsilon_total == first.epsilon_total <= 2.0
    assert charges(tmp_path) == 1
    assert (first.posting.reused, later.posting.reused) == (False, True)


def test_totals_are_near_the_truth_and_their_error_is_stated(tmp_path: Path) -> None:
    released = totals(tmp_path, 24 * 30 + 1, epsilon=9.0)
    exact = table(24 * 30 + 1)["on"].cum_sum()
    deviations = [released["2024-01-30"].noise, released["2024-01-01"].noise]
    assert max(deviations) <= released.worst.deviation
    for number, answer in enumerate(released, start=1):
        assert abs(answer.value - exact[24 * number - 1]) < 20 * released.worst.deviation
        low, high = answer.interval(1 - 1e-10)
        assert low <= exact[24 * number - 1] <= high
    assert [error.periods for error in released.errors[:-1]] == [1, 7, 30]


def test_nothing_is_drawn_after_the_horizon(tmp_path: Path) -> None:
    assert len(totals(tmp_path, 24 * 9, horizon=5)) == 5


def test_no_period_is_complete_without_a_record_after_it(tmp_path: Path) -> None:
    early = totals(tmp_path, 24)
    assert len(early) == 0
    assert "a day is complete when the table has a record after it" in str(early)
    with pytest.raises(InvalidInputError, match="no day is complete"):
        _ = early.latest
    assert len(totals(tmp_path, 25)) == 1
    assert charges(tmp_path) == 1


def test_another_stream_is_charged_for_itself(tmp_path: Path) -> None:
    first = totals(tmp_path, 100)
    other = totals(tmp_path, 100, epsilon=1.0)
    assert other.epsilon_total == pytest.approx(first.epsilon_total + 1.0, rel=0.01)
    assert charges(tmp_path) == 2
    with opened(tmp_path, table(100)) as session, pytest.raises(BudgetError):
        session.running(ON, every="hour", horizon=50, epsilon=8.0)
    assert charges(tmp_path) == 2


def test_late_records_of_a_complete_period_are_refused(tmp_path: Path) -> None:
    totals(tmp_path, 100)
    late = polars.concat([table(120), table(1).with_columns(time=polars.lit(BEGIN + dt.timedelta(minutes=30)))])
    with pytest.raises(LedgerError, match=r"does not continue|a period that is complete stays as it is"):
        opened(tmp_path, late.sort("time")).running(ON, every="day", horizon=30, epsilon=2.0)
    assert charges(tmp_path) == 1


def test_a_crash_before_answers_are_stored_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Account, "store_windows", crash)
        with pytest.raises(KeyboardInterrupt):
            totals(tmp_path, 100)
    assert charges(tmp_path) == 1
    released = totals(tmp_path, 100)
    assert len(released) == 4
    assert charges(tmp_path) == 1


def test_two_sessions_give_the_same_totals(tmp_path: Path) -> None:
    with opened(tmp_path, table(100)) as one, opened(tmp_path, table(100)) as other:
        asked: dict[str, Any] = {"every": "day", "horizon": 30, "epsilon": 2.0}
        first, second = one.running(ON, **asked), other.running(ON, **asked)
    assert dict(first.values) == dict(second.values)
    assert charges(tmp_path) == 1


@pytest.mark.parametrize("query", [Sum("on", bounds=(0, 1)), Histogram("on", cells=[0, 1])])
def test_sums_and_histograms_run_too(tmp_path: Path, query: Query) -> None:
    first, later = totals(tmp_path, 100, query), totals(tmp_path, 200, query)
    assert dict(later.values).items() >= dict(first.values).items()
    assert charges(tmp_path) == 1


@pytest.mark.parametrize(
    ("query", "asked", "error", "said"),
    [
        (Mean("on", bounds=(0, 1)), {}, QueryError, "running sum"),
        (Proportion("on", equals=1), {}, QueryError, "running sum, or the running count"),
        (Quantile("on", at=0.5, candidates=[0, 1]), {}, QueryError, "running histogram"),
        (Count("on", equals=1, until="2024-02-01"), {}, QueryError, "no until"),
        (Count("on", equals=1, by="hour"), {}, QueryError, "a stream has one total"),
        (ON, {"every": "year"}, InvalidInputError, "every must be"),
        (ON, {"every": 7}, QueryError, "holds dates or times"),
        (ON, {"horizon": 0}, InvalidInputError, "horizon"),
        (ON, {"epsilon": None}, InvalidInputError, "what the stream may cost"),
        (Count("on", equals=1, since="2024-01-01 05:00:00"), {}, QueryError, "the beginning of a day"),
    ],
)
def test_what_has_no_totals_is_refused(
    tmp_path: Path, query: Query, asked: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        totals(tmp_path, 100, query, **asked)
    with Ledger(tmp_path / "b.db") as ledger:
        assert ledger.datasets() == ()


def test_a_preview_charges_nothing_and_says_the_error(tmp_path: Path) -> None:
    with opened(tmp_path, table(100)) as session:
        seen = session.preview_running(ON, every="day", horizon=30, epsilon=2.0)
        assert session.leaked == 0.0
        assert not seen.started
        released = session.running(ON, every="day", horizon=30, epsilon=2.0)
        assert isinstance(released, RunningTotals)
        assert seen.errors == released.errors
        assert session.preview_running(ON, every="day", horizon=30, epsilon=2.0).started


def test_windows_beside_a_stream_cost_what_they_add(tmp_path: Path) -> None:
    with opened(tmp_path, table(24 * 8 + 1)) as session:
        session.running(ON, every="day", horizon=30, epsilon=1.0)
        for day in range(8):
            since, until = ((BEGIN + dt.timedelta(end)).isoformat() for end in (day, day + 1))
            session.release(Count("on", equals=1, since=since, until=until), epsilon=1.0)
            assert session.leaked == pytest.approx(2.0, rel=1e-6)
    assert overview(tmp_path / "b.db", None).datasets[0]["releases_of_a_record"] == 2


def test_a_stream_with_a_delta_has_gaussian_noise(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"every": "day", "horizon": 30, "share": 0.1, "noise": "gaussian"}
    for hours in (100, 200):
        with opened(tmp_path, table(hours), delta=1e-6) as session:
            released = session.running(ON, **asked)
            assert released.latest.noise_kind == "gaussian"
            assert session.delta == 1e-6
    assert charges(tmp_path) == 1


@pytest.mark.parametrize(("hours", "query"), [(12, ON), (24 * 3 + 1, ON), (24 * 2 + 1, Histogram("on", cells=[0, 1]))])
def test_totals_read_their_own_json(tmp_path: Path, hours: int, query: Query) -> None:
    released = totals(tmp_path, hours, query)
    document = json.loads(released.to_json())
    read = RunningTotals.from_dict(document)
    assert (str(read), json.loads(read.to_json())) == (str(released), document)
    assert (read.promise, read.posting, read.values) == (released.promise, released.posting, released.values)
    assert [answer.interval(0.5) for answer in read] == [answer.interval(0.5) for answer in released]


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the JSON of two totals."""
    return dict(json.loads(totals(tmp_path_factory.mktemp("stream"), 49).to_json()))


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "answer"},
        {"schema": 2},
        {"query": {"query": "nothing"}},
        {"every": 0},
        {"horizon": -1},
        {"errors": []},
        {"errors": [{"periods": 1}]},
        {"totals": []},
        {"totals": [3]},
        {"latest": None},
    ],
)
def test_what_are_no_totals_is_refused(stream: dict[str, Any], changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        RunningTotals.from_dict({**stream, **changed})


def test_terms_without_totals_are_complete(tmp_path: Path) -> None:
    document = json.loads(totals(tmp_path, 12).to_json())
    for name in ("assumption", "timestamp"):
        terms = {entry: value for entry, value in document["terms"].items() if entry != name}
        with pytest.raises(InvalidInputError, match=f"the terms lack {name}"):
            RunningTotals.from_dict({**document, "terms": terms})
