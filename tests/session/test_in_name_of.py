"""Releases in somebody's name: the same session, with limits of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars
import pytest

import bayesdp as bdp
from bayesdp.errors import AllowanceError, ChangedError, InvalidInputError, LedgerError
from bayesdp.ledger import Requester
from bayesdp.session.session import Session

ONE, ZERO = (bdp.Count("s", equals=value) for value in (1, 0))


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    polars.DataFrame({"s": [0, 1, 1] * 20, "d": ["n", "s"] * 30}).write_csv(tmp_path / "data.csv")
    with Session(
        tmp_path / "data.csv",
        bdp.Independent(column="s"),
        dataset="steps",
        epsilon=2.0,
        ledger=tmp_path / "budget.db",
        by="carla",
        public=["d"],
    ) as opened:
        yield opened


def test_each_release_has_its_name(session: Session) -> None:
    ada = session.in_name_of(Requester("ada"))
    assert [one.release(query, epsilon=0.1).by for one, query in ((session, ONE), (ada, ZERO))] == ["carla", "ada"]
    assert ada.release(ONE, epsilon=0.1).by == "ada", "an answer that is given again names who asks"
    assert (session.posted("ada"), session.posted("carla"), session.posted("bob")) == ((0.1, 0.1), (0.1, 0.1), (0, 0))
    assert session.remaining == ada.remaining == pytest.approx(1.8)


def test_a_release_beyond_the_allowance_is_refused(session: Session) -> None:
    ada = session.in_name_of(Requester("ada", day=0.5))
    ada.release(ONE, epsilon=0.25)
    with pytest.raises(AllowanceError) as refused:
        ada.release(ZERO, epsilon=0.5)
    assert refused.value.remaining == 0.25
    assert refused.value.__cause__ is None
    assert session.in_name_of(Requester("bob", day=0.5)).release(ZERO, epsilon=0.5).epsilon == 0.5


def test_answers_by_parts_post_what_one_costs(session: Session) -> None:
    ada = session.in_name_of(Requester("ada", total=0.5))
    answers = ada.release_by(bdp.Count("s", equals=1, by="d", by_cells={"d": ["n", "s"]}), epsilon=0.5)
    assert len(answers) == 2
    assert session.posted("ada") == (0.5, 0.5)


def test_a_release_made_elsewhere_keeps_to_the_allowance(session: Session) -> None:
    ada = session.in_name_of(Requester("ada", total=0.125))
    with pytest.raises(AllowanceError, match="the allowance of 'ada' in all"):
        ada.record(tau=0.5, what="a mean", neighbours="replace")
    assert session.remaining == 2.0
    assert ada.record(tau=0.125, what="a mean", neighbours="replace").epsilon == 0.125


def test_a_request_finds_its_answers_again(session: Session) -> None:
    asked = Requester("ada", request="r", body="b")
    answers = session.in_name_of(asked).release_all([ONE, ZERO], epsilon=0.5)
    again = session.in_name_of(asked).answered_before()
    assert tuple(again.values()) == tuple(answers)
    assert session.answered_before() == session.in_name_of(Requester("ada")).answered_before() == {}
    with pytest.raises(InvalidInputError, match="was used for another request"):
        session.in_name_of(Requester("ada", request="r", body="c")).answered_before()
    with pytest.raises(LedgerError, match="this request was charged before"):
        session.in_name_of(asked).release(ONE, epsilon=0.75)
    assert session.remaining == 1.5


def test_checks_may_be_limited_further(tmp_path: Path) -> None:
    frame = polars.DataFrame({"s": [0, 1, 1], "x": [1, 0, 0]})
    with Session(frame, bdp.Independent(), dataset="steps", epsilon=1, ledger=tmp_path / "b.db") as session:
        limited = session.in_name_of(Requester("ada"), checks=1)
        with pytest.raises(LedgerError, match="and 1 are allowed"):
            limited.release(bdp.Count("x", equals=1), epsilon=0.1)
        assert session.release(bdp.Count("x", equals=1), epsilon=0.1).value is not None
        assert limited.release(bdp.Count("x", equals=0), epsilon=0.1).value is not None, "the same check is known"


def test_columns_have_the_types_that_are_declared(session: Session, tmp_path: Path) -> None:
    assert session.columns == {"s": None, "d": None}  # a CSV file declares none
    frame = polars.DataFrame({"s": [0, 1], "t": ["a", "b"], "l": [[1], [2]], "f": [0.5, 1.0]})
    with Session(frame, bdp.Independent(column="s"), dataset="x", epsilon=1, ledger=tmp_path / "x.db") as other:
        assert other.columns == {"s": "whole", "t": "text", "l": None, "f": "number"}
        other.check_unchanged()


def test_a_changed_file_is_noticed_without_a_question(session: Session, tmp_path: Path) -> None:
    session.check_unchanged()
    with (tmp_path / "data.csv").open("a") as file:
        file.write("1,n\n")
    with pytest.raises(ChangedError):
        session.check_unchanged()
