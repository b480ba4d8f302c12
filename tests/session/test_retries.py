from datetime import UTC, datetime, timedelta

import pytest

from bayesdp.errors import CalibrationError
from bayesdp.ledger import Pending, State
from bayesdp.losses import PureLoss
from bayesdp.queries import Count
from bayesdp.session import retries
from bayesdp.session.plan import Plan, TooFineError
from bayesdp.session.prepared_query import PreparedQuery
from bayesdp.session.retries import GRIDS, Attempt, InProgressError, with_retries


def planned(charged: timedelta | None) -> Plan:
    """Return a plan to charge for a question that was charged so long ago and has no answer."""
    now = datetime(2012, 10, 1, tzinfo=UTC)  # by the ledger's clock, which need not be ours
    pending = {} if charged is None else {"q": Pending(2, "ab12", (now - charged).isoformat(), 0.5, {})}
    state = State("steps", 2.0, (), 1, 2, "ab12", answered={"q": ()}, pending=pending, moment=now.isoformat())
    return Plan(state, PureLoss(0.5), (PreparedQuery(Count("s", equals=1), "q", None, 1, 9),), {}, None)


def test_the_finest_grid_whose_noise_fits_is_taken() -> None:
    tried: list[int] = []

    def attempt(attempt: Attempt) -> str:
        tried.append(attempt.bits)
        if attempt.bits > 24:
            raise TooFineError
        return "released"

    assert with_retries(attempt) == "released"
    assert tried == [bits for bits in GRIDS if bits >= 24] == sorted(tried, reverse=True)


def test_noise_that_fits_no_grid_is_refused() -> None:
    def attempt(attempt: Attempt) -> str:
        raise TooFineError

    with pytest.raises(CalibrationError, match="64 bits"):
        with_retries(attempt)


def test_another_process_is_waited_for_until_its_answer_is_there() -> None:
    turns: list[Attempt] = []

    def attempt(attempt: Attempt) -> int:
        turns.append(attempt)
        if len(turns) < 3:
            raise InProgressError
        return len(turns)

    assert with_retries(attempt) == 3
    assert all(turn.waiting for turn in turns)


def test_waiting_for_an_answer_that_does_not_come_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "PATIENCE", 0.05)

    def attempt(attempt: Attempt) -> bool:
        if attempt.waiting:
            raise InProgressError
        return attempt.waiting

    assert with_retries(attempt) is False


@pytest.mark.parametrize("charged", [timedelta(0), timedelta(hours=-1)])
def test_a_plan_waits_for_an_answer_being_computed(charged: timedelta) -> None:
    """Also if the clock of the other machine is ahead."""
    plan = planned(charged)
    with pytest.raises(InProgressError):
        Attempt(8, waiting=True).unless_in_progress(plan)
    assert Attempt(8, waiting=False).unless_in_progress(plan) is plan


@pytest.mark.parametrize("charged", [None, timedelta(hours=1)])
def test_a_plan_gives_way_to_nothing_else(charged: timedelta | None) -> None:
    plan = planned(charged)
    assert Attempt(8, waiting=True).unless_in_progress(plan) is plan
