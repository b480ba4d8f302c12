"""Questions about windows in sessions: every kind, empty windows, public filters, and what a year of them costs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars
import pytest

from bayesdp import (
    Answers,
    ArbitraryGroups,
    Count,
    Histogram,
    Independent,
    MarkovChain,
    Mean,
    OddsChain,
    Proportion,
    Quantile,
    Query,
    Session,
    Sum,
    Variance,
)
from bayesdp.errors import BudgetError, QueryError
from bayesdp.models import ChainLayout, Model
from bayesdp.queries import query_from_dict
from bayesdp.theorems.registry import theorem_named

BEGIN = dt.datetime(2024, 1, 1)
HOURS = 24 * 60
CHAIN = OddsChain(9.0, column="on", layout=ChainLayout("time"))
ON = Count("on", equals=1)


def table(hours: int = HOURS) -> polars.DataFrame:
    """Return a switch by the hour, with a public district and a public tariff, each now and then."""
    return polars.DataFrame(
        {
            "time": [BEGIN + dt.timedelta(hours=hour) for hour in range(hours)],
            "on": [hour % 5 % 2 for hour in range(hours)],
            "district": ["ABC"[hour // 7 % 3] for hour in range(hours)],
            "cheap": [hour % 24 < 6 for hour in range(hours)],
            "secret": [hour % 2 for hour in range(hours)],
        }
    )


def day(number: int) -> Any:
    return (BEGIN + dt.timedelta(number)).date()


def of_day(number: int, **asked: Any) -> Count:
    return Count("on", equals=1, since=day(number), until=day(number + 1), **asked)


def opened(path: Path, frame: Any = None, model: Model = CHAIN, **account: Any) -> Session:
    settings: dict[str, Any] = {"dataset": "switch", "epsilon": 9.0, "public": ["district", "cheap"]}
    return Session(table() if frame is None else frame, model, ledger=path / "b.db", **{**settings, **account})


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with opened(tmp_path) as it:
        yield it


VALUES = range(5)
QUERIES: list[Query] = [
    Count("on", equals=1),
    Sum("on", bounds=(0, 1)),
    Mean("on", bounds=(0, 1)),
    Proportion("on", equals=1),
    Histogram("on", cells=[0, 1]),
    Variance("on", bounds=(0, 1)),
    Quantile("on", at=0.5, candidates=[0, 1]),
]


@pytest.mark.parametrize("query", QUERIES, ids=[query.kind for query in QUERIES])
def test_an_empty_month_has_noise_or_no_record(session: Session, query: Query) -> None:
    asked = {**query.to_dict(), "by": "month", "since": "2024-01-01", "until": "2024-05-01"}
    answers = session.release_by(query_from_dict(asked), epsilon=1.0)
    assert session.leaked == answers.epsilon <= 1.0
    months = ("2024-01", "2024-02", "2024-03", "2024-04")
    if query.averaged or query.thresholds:
        assert (answers.parts, answers.empty) == (months[:2], (("2024-03",), ("2024-04",)))
        assert str(answers).count("no record") == 2
        return
    assert (answers.parts, answers.empty) == (months, ())
    assert [answer.records for answer in answers] == [744, 696, 0, 0]


def test_a_wrong_size_of_windows_is_said_and_charges_nothing(session: Session) -> None:
    with pytest.raises(QueryError, match=r"the mean is not over size = 1440; leave size= out"):
        session.release_by(Mean("on", bounds=(0, 1), size=1440, by="hour"), epsilon=1.0)
    assert session.leaked == 0


def test_the_warning_names_how_many_windows_noise_drowns(session: Session) -> None:
    months = Count("on", equals=1, by="month", since="2024-01-01", until="2024-05-01")
    answers = session.release_by(months, epsilon=1.0)
    assert answers.warnings == (
        "The noise is larger than any possible answer in 2 of 4 windows: these numbers are useless.",
    )
    assert answers.title.endswith("by month")


def test_a_value_that_is_not_listed_is_in_no_answer(session: Session, tmp_path: Path) -> None:
    asked = Count("on", equals=1, by=["district", "hour"], by_cells={"district": ["A", "Z"], "hour": [7, 8]})
    answers = session.release_by(asked, epsilon=1.0)
    assert answers.parts == (("A", 7), ("A", 8), ("Z", 7), ("Z", 8))
    assert answers["Z", 7].records == 0
    (tmp_path / "other").mkdir()
    without = table().with_columns(district=polars.col("district").replace("B", "C"))
    with opened(tmp_path / "other", without) as other:
        alike = other.release_by(asked, epsilon=1.0)
    named: list[tuple[Answers, set[str]]] = [(each, set(str(each).split())) for each in (answers, alike)]
    assert all(not {"B", "C", "'B'", "'C'"} & words for _, words in named)
    assert [answer.records for answer in answers] == [answer.records for answer in alike]


def test_the_title_of_answers_names_their_interval(session: Session) -> None:
    ends: dict[str, Any] = {"since": "2024-01-03", "until": "2024-01-10"}
    by_hour = session.release_by(Count("on", equals=1, by="hour", **ends), epsilon=0.5)
    assert by_hour.title.endswith("with on = 1 since 2024-01-03 00:00:00 until 2024-01-10 00:00:00, by hour")
    by_date = session.release_by(Count("on", equals=1, by="date", **ends), epsilon=0.5)
    assert by_date.title.endswith("with on = 1, by date")


def test_public_filters_are_windows(session: Session) -> None:
    def leaked_after(where: str, **asked: Any) -> float:
        session.release(Count("on", equals=1, where=where, public_filter=True, **asked), epsilon=0.5)
        return session.leaked

    first = leaked_after("district = 'A'")
    assert leaked_after("district == 'B' and cheap") == first
    assert leaked_after("district in ['C']", since="2024-01-03") == first
    assert leaked_after("district = 'C' or district = 'D'", until="2024-01-03") == first
    twice = leaked_after("cheap")
    assert twice > 1.9 * first
    thrice = leaked_after("not cheap")  # it names no value, so it may read every record
    assert thrice > 2.9 * first
    assert leaked_after("district != 'A'") > 3.9 * first


def test_windows_by_what_is_protected_are_refused(session: Session) -> None:
    for asked in (
        {"by": "on", "by_cells": [0, 1]},
        {"by": ["hour", "on"], "by_cells": {"on": [0, 1]}},
        {"by": "secret", "by_cells": [0, 1]},
        {"where": "on = 1", "public_filter": True},
        {"where": "secret = 1", "public_filter": True},
    ):
        with pytest.raises(QueryError):
            session.release_all([Count("on", equals=1, **asked)], epsilon=0.5)
    assert session.leaked == 0


def test_markov_count_refuses_windows_with_the_reason() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=20, column="on")
    theorem = theorem_named("markov-count")
    assert theorem.refusal(chain, (ON,)) is None
    for query in (Count("on", equals=1, by="hour"), of_day(0), Count("on", equals=1, by="d", by_cells=["A"])):
        assert "divides the records" in str(theorem.refusal(chain, (query,)))
    assert "several" in str(theorem.refusal(chain, (ON, ON)))


def test_a_table_by_weekday_and_hour_costs_one_answer(session: Session) -> None:
    hours = {"hour": [0, 7]}
    week = session.release_by(Count("on", equals=1, by=["weekday", "hour"], by_cells=hours), epsilon=0.5)
    assert len(week) == 14
    assert session.leaked == week.epsilon == week[1, 0].epsilon_total <= 0.5
    alone = session.release(ON, epsilon=0.5)
    assert alone.tau == pytest.approx(week[1, 0].tau, rel=0.1)
    assert session.leaked == pytest.approx(1.0)


def test_windows_are_for_units_of_several_records_and_gaps(tmp_path: Path) -> None:
    gappy = table().filter(polars.col("time").dt.hour() != 3)
    three = OddsChain(9.0, column="on", unit=3, layout=ChainLayout("time", step="1h"))
    with opened(tmp_path, gappy, three) as session:
        hours = session.release_by(Count("on", equals=1, by="hour"), epsilon=0.5)
        assert hours[3].records == 0
        assert session.leaked == hours.epsilon
        session.release(of_day(3), epsilon=0.5)
        last = session.leaked
        session.release(of_day(4), epsilon=0.5)
        assert session.leaked == last
        assert hours[0].protects == "any 3 consecutive records together (3 hours), not the person behind more"


def test_a_statement_says_by_which_columns_records_were_chosen(session: Session) -> None:
    answer = session.release(of_day(0, where="district = 'A'", public_filter=True), epsilon=0.5)
    (note,) = [note for note in answer.notes if "bayesdp proof windows" in note]
    assert "by district and time" in note
    assert note.partition("`")[0].strip() in answer.statement().replace("\n", " ")
    assert any("by district and time" in note for note in session.release(ON, epsilon=0.5).notes)


def test_answers_given_again_are_found_by_their_window(session: Session) -> None:
    days = session.release_by(Count("on", equals=1, by="date", since=day(0), until=day(3)), epsilon=0.5)
    again = session.release(of_day(1), epsilon=0.5)
    assert again.reused
    assert again.value == days["2024-01-02"].value
    assert session.leaked == days.epsilon


def test_what_a_window_has_left_can_be_released(session: Session) -> None:
    session.release(of_day(0), epsilon=9.0)
    with pytest.raises(BudgetError):
        session.release(ON, epsilon=0.1)
    assert session.release(of_day(1), epsilon=9.0).epsilon_total == session.leaked


def published(path: Path, days: range, at_once: int, noise: Any = None, **account: Any) -> list[float]:
    """Publish a count of every day once it is over, and return what was leaked after each day."""
    leaked = []
    for first in days[::at_once]:
        with opened(path, table(24 * (first + at_once)), growing=True, **account) as session:
            for number in range(first, first + at_once):
                session.release(of_day(number), epsilon=0.5, noise=noise)
                leaked.append(session.leaked)
    return leaked


PROMISES = {"pure": {}, "delta": {"delta": 1e-6}, "gaussian": {"delta": 1e-6, "noise": "gaussian"}}
every_promise = pytest.mark.parametrize("promise", PROMISES.values(), ids=PROMISES)


@every_promise
def test_a_table_published_daily_costs_its_first_day(tmp_path: Path, promise: dict[str, Any]) -> None:
    leaked = published(tmp_path, range(4), 2, **promise)
    assert len(set(leaked)) == 1
    assert leaked[0] == pytest.approx(0.5)
    with opened(tmp_path, table(24 * 4), growing=True) as session:
        session.release(ON, epsilon=0.5)
        assert session.leaked == pytest.approx(1.0, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("promise", [PROMISES["pure"], PROMISES["delta"]], ids=["pure", "delta"])
def test_a_year_of_daily_publications_costs_its_first_day(tmp_path: Path, promise: dict[str, Any]) -> None:
    leaked = published(tmp_path, range(365), 73, **promise)
    assert len(leaked) == 365
    assert leaked[0] == leaked[-1] == max(leaked) == pytest.approx(0.5)


def test_windows_cannot_be_published_before_their_days_are_over(tmp_path: Path) -> None:
    with opened(tmp_path, table(36), growing=True) as session:
        early = session.release(of_day(1), epsilon=0.5)
    with opened(tmp_path, table(48), growing=True) as session:
        late = session.release(of_day(1), epsilon=0.5)
        assert not late.reused
        assert session.leaked == pytest.approx(2 * early.epsilon)
        assert early.records < late.records
    with opened(tmp_path, table(50), growing=True) as session:
        assert session.release(of_day(1), epsilon=0.5).reused is False  # the day was not known to be over
        assert session.release(of_day(1), epsilon=0.5).reused
    with opened(tmp_path, table(60), growing=True) as session:
        assert session.release(of_day(1), epsilon=0.5).reused


@pytest.mark.parametrize("model", [Independent(order_by="at"), ArbitraryGroups(8, group="who", order_by="at")])
def test_models_without_chains_have_windows_of_their_order(tmp_path: Path, model: Model) -> None:
    at = [BEGIN + dt.timedelta(hours=7 * number) for number in range(240)]
    visits = polars.DataFrame({"at": at, "who": [number // 8 for number in range(240)], "ill": [True] * 240})
    ill = Count("ill", equals=True, by="weekday")
    with Session(visits, model, epsilon=1.0, ledger=tmp_path / "b.db", dataset="visits") as session:
        answers = session.release_by(ill, epsilon=1.0)
        assert len(answers) == 7
        assert session.leaked <= 1.0
        assert sum(answer.records for answer in answers) >= 240
    bare = replace(model, order_by=())  # type: ignore[call-arg]
    with (
        Session(visits, bare, epsilon=1.0, ledger=tmp_path / "c.db", dataset="visits") as session,
        pytest.raises(QueryError, match="order_by="),
    ):
        session.release_by(ill, epsilon=1.0)
