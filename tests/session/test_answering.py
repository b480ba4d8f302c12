"""What answers that are released together say of one another."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

import bayesdp as bdp
from bayesdp import Count, Sum
from bayesdp.session.session import Session

FRAME = polars.DataFrame({"x": [0, 1] * 20, "part": ["a", "b"] * 20})


@pytest.fixture
def session(tmp_path: Path) -> Session:
    reported = tmp_path / "budget.db"
    return Session(FRAME, bdp.Independent(), dataset="d", epsilon=9.0, ledger=reported, public=["part"])


def test_answers_that_share_an_epsilon_say_so(session: Session) -> None:
    alone = session.release(Count("x", equals=1), epsilon=1.0)
    first, second = session.release_all([Count("x", equals=0), Sum("x", bounds=(0, 1))], epsilon=1.0)
    assert not any("together" in note for note in alone.notes)
    for answer in (first, second):
        assert "This ε is for 2 answers released together." in answer.notes
    assert first.epsilon_total == second.epsilon_total == pytest.approx(2.0)


def test_answers_about_parts_share_none(session: Session) -> None:
    answers = session.release_by(Count("x", equals=1, by="part", by_cells=["a", "b"]), epsilon=1.0)
    for answer in answers:
        assert any(note.startswith("The parts by part are made of whole chains") for note in answer.notes)
        assert not any("released together" in note for note in answer.notes)


def test_stored_and_fresh_answers_keep_the_order_of_questions(session: Session) -> None:
    stored = session.release(Count("x", equals=1), epsilon=1.0)
    fresh, again = session.release_all([Count("x", equals=0), Count("x", equals=1)], epsilon=1.0)
    assert (fresh.reused, again.reused) == (False, True)
    assert again.value == stored.value
    assert again.epsilon_total == fresh.epsilon_total
