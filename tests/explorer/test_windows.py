"""Questions by windows: what the page says of them, what it refuses, and their release."""

import datetime
import json
from dataclasses import replace
from pathlib import Path
from random import Random

import polars
import pytest

from bayesdp import Answers, Count, OddsChain
from bayesdp.advice.next_steps import NextSteps
from bayesdp.errors import InvalidInputError, QueryError
from bayesdp.explorer.choices import WINDOWS, Choices, Target
from bayesdp.explorer.code import release_command, release_script
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.meaning import meaning
from bayesdp.explorer.page_text import page_text
from bayesdp.explorer.priced_assumptions import check_complete, priced_assumptions_of
from bayesdp.explorer.question import question_of
from bayesdp.explorer.release import ReleaseOrder
from bayesdp.explorer.release_page import answers_picture
from bayesdp.ledger import Ledger
from bayesdp.models import ChainLayout
from bayesdp.session.statement import statement

CHOSEN = Choices(column="on", values="true", order_by="at", by="weekday")
BEGIN = datetime.datetime(2012, 10, 1)


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> ExploredFile:
    path = tmp_path_factory.mktemp("hours") / "hours.parquet"
    at = [BEGIN + datetime.timedelta(hours=number) for number in range(4 * 168)]
    table = {"at": at, "hour": [time.hour for time in at], "on": [number % 3 == 0 for number in range(4 * 168)]}
    polars.DataFrame(table).write_parquet(path)
    return ExploredFile.of(path)


def test_every_offered_window_is_a_question() -> None:
    model = OddsChain(9, column="on", states=(False, True))
    for by in WINDOWS:
        asked = question_of(replace(CHOSEN, by=by, since="2012-10-01", until="2012-10-08")).under(model)
        assert ",".join(asked.by_columns) == by
        assert (asked.since, asked.until) == ("2012-10-01", "2012-10-08")
    numbered = question_of(replace(CHOSEN, by="", since="5", until="7.5")).under(model)
    assert (numbered.since, numbered.until) == (5, 7.5)
    with pytest.raises(QueryError, match="no windows"):
        question_of(replace(CHOSEN, by="fortnight"))


def test_without_an_order_there_are_no_windows() -> None:
    free = replace(CHOSEN, order_by="", since="1")
    assert (free.windows, free.ends) == ([], ("", ""))


def test_the_cost_of_windows_is_said_in_words(explored: ExploredFile) -> None:
    said = " ".join(meaning(explored, replace(CHOSEN, since="2012-10-01", until="2012-10-08")))
    assert "one answer for each weekday" in said
    assert "cost as much as one" in said
    assert "from 2012-10-01 on and before 2012-10-08" in said
    assert "windows" not in " ".join(meaning(explored, replace(CHOSEN, by="")))


def test_periods_need_public_ends_and_clocks_are_no_columns(explored: ExploredFile) -> None:
    with pytest.raises(InvalidInputError, match="first day of all weeks"):
        check_complete(explored, replace(CHOSEN, by="week", since="2012-10-01"))
    with pytest.raises(InvalidInputError, match="has a column 'hour'"):
        check_complete(explored, replace(CHOSEN, by="hour"))
    check_complete(explored, replace(CHOSEN, by="week", since="2012-10-01", until="2012-10-15"))


def test_an_order_without_the_clock_is_refused_before_reading(tmp_path: Path) -> None:
    polars.DataFrame({"n": range(10), "on": [True, False] * 5}).write_csv(tmp_path / "n.csv")
    with pytest.raises(InvalidInputError, match="do not contain the hour"):
        priced_assumptions_of(
            ExploredFile.of(tmp_path / "n.csv"), Choices(column="on", values="true", order_by="n", by="hour")
        )


def test_other_windows_are_another_question(explored: ExploredFile) -> None:
    assert replace(CHOSEN, by="week").looked_at != CHOSEN.looked_at
    assert "look at the table" in page_text(explored, CHOSEN).problem


@pytest.fixture
def order(explored: ExploredFile, tmp_path: Path) -> ReleaseOrder:
    model = OddsChain(4, column="on", states=(False, True), layout=ChainLayout("at"))
    question, ledger = Count("on", equals=True, by="weekday"), str(tmp_path / "ledger.db")
    return ReleaseOrder(
        explored.path, model, question, Target(1.0, None, 0.05), "error", "hours", ledger, 1.0, "A. Holder"
    )


def test_all_windows_are_released_together_and_charged_once(order: ReleaseOrder) -> None:
    assert "Nothing was charged" in str(order.previewed())
    first, second = order.released(), order.released()
    assert isinstance(first, Answers)
    assert isinstance(second, Answers)
    assert first.values == second.values
    assert len(first) == 7
    assert first.epsilon == pytest.approx(1, rel=1e-3)
    assert all(answer.reused for answer in second)
    with Ledger(order.ledger, create=False) as ledger:
        assert len(ledger.entries("hours", "charge")) == 7


def test_the_papers_of_windows_hold_every_answer(order: ReleaseOrder) -> None:
    answers = order.released()
    assert isinstance(answers, Answers)
    filed = statement(answers).html()
    for day, answer in zip(range(1, 8), answers, strict=True):
        assert f"weekday {day}: {answer.published}, off by less than" in filed
    assert "7 answers, listed below" in filed
    assert answers.statement().startswith("# Statement")
    assert Answers.from_dict(json.loads(json.dumps(answers.to_dict()))) == answers
    steps = NextSteps(order.path, {"order_by": ["at"]}, 0.95)
    assert "session.release_by(question, " in release_script(order, steps)
    assert "--by-column weekday " in release_command(order, steps)
    assert "answers in their intervals" in str(answers_picture(answers))


def test_answers_by_two_clocks_are_a_grid(order: ReleaseOrder, tmp_path: Path) -> None:
    polars.read_parquet(order.path).drop("hour").write_parquet(tmp_path / "clock.parquet")
    both = Count("on", equals=True, by=["weekday", "hour"], by_cells={"hour": [7, 8]})
    answers = replace(order, path=str(tmp_path / "clock.parquet"), query=both).released()
    assert isinstance(answers, Answers)
    drawn = str(answers_picture(answers))
    assert "14 answers by weekday and hour" in drawn
    assert drawn.count("<rect") == 14


@pytest.fixture(scope="module")
def zoned(tmp_path_factory: pytest.TempPathFactory) -> ExploredFile:
    path = tmp_path_factory.mktemp("zones") / "zones.parquet"
    rows, draw = range(240), Random(1)
    at = [BEGIN + datetime.timedelta(hours=row) for row in rows]
    table = {"at": at, "zone": ["NS"[row % 2] for row in rows], "on": [draw.random() < 0.4 for _ in rows]}
    polars.DataFrame(table).write_parquet(path)
    return ExploredFile.of(path)


def test_a_public_column_divides_a_question() -> None:
    model = OddsChain(9, column="on", states=(False, True))
    alone = replace(CHOSEN, by="", public="zone", cells="N, S")
    assert question_of(alone).under(model) == Count("on", equals=True, by="zone", by_cells=["N", "S"])
    beside = question_of(replace(alone, by="hour")).under(model)
    assert beside == Count("on", equals=True, by=["hour", "zone"], by_cells={"zone": ["N", "S"]})
    without_order = replace(alone, order_by="", by="hour")
    assert without_order.windows == ["zone"]


def test_a_public_column_is_declared_and_needs_values(zoned: ExploredFile) -> None:
    chosen = replace(CHOSEN, by="hour", public="zone", cells="N,S")
    said = " ".join(meaning(zoned, chosen))
    assert "one answer for each hour of the day and each listed value of zone" in said
    assert "You declare that zone is public" in said
    check_complete(zoned, chosen)
    for wrong, message in (
        ({"cells": ""}, "list the values of 'zone'"),
        ({"cells": "N,,S"}, "list the values of 'zone'"),
        ({"public": "zoen"}, "has no column 'zoen'; it has"),
        ({"public": "on"}, "which the noise protects"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            check_complete(zoned, replace(chosen, **wrong))
    assert replace(chosen, cells="N").looked_at != chosen.looked_at


def test_the_release_declares_the_column_public(order: ReleaseOrder, zoned: ExploredFile) -> None:
    query = Count("on", equals=True, by="zone", by_cells=["N", "S"])
    by_zone = replace(order, path=zoned.path, query=query, public=("zone",))
    answers = by_zone.released()
    assert isinstance(answers, Answers)
    assert answers.parts == ("N", "S")
    steps = NextSteps(by_zone.path, {"order_by": ["at"]}, 0.95)
    assert "public=['zone']" in release_script(by_zone, steps)
    assert "--by-column zone --by-cells N,S" in release_command(by_zone, steps)
    assert release_command(by_zone, steps).strip().endswith("--public zone")
    assert "public" not in order.account
