"""A fixed account becomes one whose table grows: what is compared, converted, kept and refused."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import polars
import pytest

from bayesdp import Count, GaussianGroups, Independent, MarkovChain, Model, OddsChain, Session, Sum
from bayesdp.errors import BayesDPError, InvalidInputError, LedgerError, ModelError, RefusedError
from bayesdp.ledger import Ledger, State
from bayesdp.models import ChainLayout
from bayesdp.session.growing import let_grow
from bayesdp.session.overview import overview

BEGIN = dt.datetime(2024, 1, 1)
STEPS = [[0.9, 0.1], [0.2, 0.8]]
CHAIN = MarkovChain(STEPS, column="on", layout=ChainLayout("time", "meter"), length=480)
ON = Count("on", equals=1)
WHY = "rows come in every month"


def table(days: int, first: int = 0) -> polars.DataFrame:
    """Return the hours of four meters in two districts, as many days as asked for."""
    hours = range(24 * first, 24 * days)
    return polars.DataFrame(
        {
            "time": [BEGIN + dt.timedelta(hours=hour) for hour in hours for _ in range(4)],
            "meter": [meter for _ in hours for meter in range(4)],
            "district": ["AB"[meter % 2] for _ in hours for meter in range(4)],
            "on": [(hour + meter) % 5 % 2 for hour in hours for meter in range(4)],
        }
    )


def opened(folder: Path, frame: Any, *, growing: bool = False, model: Model = CHAIN, **account: Any) -> Session:
    settings: dict[str, Any] = {"dataset": "meters", "epsilon": 3.0, "public": ["district"], **account}
    return Session(frame, model, ledger=folder / "b.db", growing=growing, **settings)


def grow(folder: Path, frame: Any, model: Model = CHAIN, **changes: Any) -> State:
    with Ledger(folder / "b.db", create=False) as ledger:
        return let_grow(ledger, frame, model, "meters", **{"reason": WHY, **changes})


def day(number: int, **asked: Any) -> Count:
    since, until = ((BEGIN + dt.timedelta(end)).isoformat() for end in (number, number + 1))
    return Count("on", equals=1, since=since, until=until, **asked)


@pytest.fixture
def fixed(tmp_path: Path) -> Path:
    """An account of ten days, of which all, one day and one district were counted."""
    with opened(tmp_path, table(10)) as session:
        session.release(ON, epsilon=0.5)
        session.release(day(3), epsilon=0.25)
        session.release(Count("on", equals=1, by="district", by_cells=["A"]), epsilon=0.25)
    return tmp_path


@pytest.mark.parametrize("days", [10, 14])
def test_a_fixed_account_goes_on_with_the_longer_table(fixed: Path, days: int) -> None:
    with opened(fixed, table(10)) as session:
        before = session.leaked
    state = grow(fixed, table(days))
    assert (state.grown, state.charges) == (state.entries - 1, 3)  # the last one says who is in which part
    with opened(fixed, table(14), growing=True) as session:
        assert session.leaked >= before
        assert session.model.opened_as.identity == CHAIN.at_any_length().identity
        assert session.release(day(3), epsilon=0.25).reused, "a window that was complete then"
        total = session.leaked
        assert session.release(day(12), epsilon=0.25).epsilon_total == session.leaked
        assert session.leaked == pytest.approx(total, rel=0.01), "new rows"
        assert not session.release(ON, epsilon=0.5).reused, "a question about more rows"
    with opened(fixed, table(20), growing=True) as session:
        session.release(Count("on", equals=1, by="district", by_cells=["A"]), epsilon=0.1)
    with Ledger(fixed / "b.db") as ledger:
        assert ledger.verify().ok
        (growth,) = ledger.entries("meters", "grow")
        body = growth.content()
        assert body["reason"] == WHY
        known = {"records": 960, "order": "time", "until": "2024-01-10 23:00:00", "before": 956, "through": 960}
        assert body["extents"][0] == known
        assert body["extents"][1]["part"] == "A"
        assert body["description"]["growing"] is True
        assert "records" not in body["description"]
    shown = str(overview(fixed / "b.db", None))
    assert f"the table grows from 960 rows on, because: {WHY}" in shown


def test_earlier_charges_keep_counting_for_every_row(fixed: Path) -> None:
    with opened(fixed, table(10)) as session:
        alone = session.leaked
    grow(fixed, table(14))
    with opened(fixed, table(14), growing=True) as session, pytest.raises(BayesDPError):
        session.release(ON, epsilon=3.0 - alone + 0.01)


def test_a_longer_table_is_refused_by_its_size_not_by_its_records(fixed: Path) -> None:
    with pytest.raises(LedgerError, match=r"960 rows then, 2,400 now.*bayesdp budget grow"):
        opened(fixed, table(25))  # the model's chains have at most 480 records
    with Ledger(fixed / "b.db") as ledger:
        assert not ledger.entries("meters", "refusal")


def test_accounts_that_grow_are_opened_as_such(fixed: Path) -> None:
    grow(fixed, table(14))
    with pytest.raises(LedgerError, match="growing=True"):
        opened(fixed, table(10))
    with pytest.raises(InvalidInputError, match="grows already"):
        grow(fixed, table(14))
    with pytest.raises(LedgerError, match="looks like 'meters'"):
        Session(table(14), CHAIN, ledger=fixed / "b.db", dataset="other", epsilon=1.0)


def changed(frame: polars.DataFrame, hour: int, **moved: Any) -> polars.DataFrame:
    """Return a table in which the records of one hour are moved."""
    at = BEGIN + dt.timedelta(hours=hour)
    return frame.with_columns(
        time=polars.when(polars.col("time") == at).then(at + dt.timedelta(**moved)).otherwise("time")
    )


WRONG = {
    "fewer": (table(9), "had 960"),
    "late": (changed(table(14), 24 * 4, minutes=-1), "2024-01-05 .*had 96 "),
    "missing": (table(14).filter(polars.col("time") != BEGIN + dt.timedelta(days=3)), "had 96 "),
    "column": (table(14).with_columns(operator=polars.lit(1)), "new column 'operator'"),
    "district": (
        table(14).with_columns(
            district=polars.when(polars.col("meter") == 0).then(polars.lit("B")).otherwise("district")
        ),
        "who is in which part",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_table_that_contradicts_the_account_is_refused(fixed: Path, wrong: str) -> None:
    frame, said = WRONG[wrong]
    with pytest.raises(LedgerError, match=said):
        grow(fixed, frame)
    with opened(fixed, table(10)) as session:
        assert session.release(day(3), epsilon=0.25).reused, "nothing has changed"


def test_another_model_is_refused(fixed: Path) -> None:
    grow_of = MarkovChain([[0.8, 0.2], [0.2, 0.8]], column="on", layout=ChainLayout("time", "meter"))
    with pytest.raises(LedgerError, match='another "transition"'):
        grow(fixed, table(14), grow_of)
    with pytest.raises(ModelError, match="grow"):
        grow(fixed, table(14), MarkovChain(STEPS, column="on", length=480))
    outside = table(14).with_columns(on=polars.lit(7))
    with pytest.raises(RefusedError):
        grow(fixed, outside)
    longer = MarkovChain(STEPS, column="on", layout=ChainLayout("time", "meter"))
    grow(fixed, table(14), longer)


def test_a_reason_is_needed(fixed: Path) -> None:
    for reason in ("", "two\nlines"):
        with pytest.raises(InvalidInputError, match="reason"):
            grow(fixed, table(14), reason=reason)
    with pytest.raises(LedgerError, match="no data set"), Ledger(fixed / "b.db") as ledger:
        let_grow(ledger, table(14), CHAIN, "others", reason=WHY)


def test_what_would_exceed_the_budget_is_refused(tmp_path: Path) -> None:
    short = MarkovChain(STEPS, column="on", layout=ChainLayout("time", "meter"), length=3)
    frame = table(10).filter(polars.col("time") < BEGIN + dt.timedelta(hours=3))
    with opened(tmp_path, frame, model=short) as session:
        session.release(ON, epsilon=3.0)
    with pytest.raises(LedgerError, match=r"chains of any length.*budget raise"):
        grow(tmp_path, table(1), short)
    with Ledger(tmp_path / "b.db") as ledger:
        ledger.raise_budget("meters", 30.0, reason="it grows")
    grow(tmp_path, table(1), short)


def test_a_session_of_the_fixed_table_charges_nothing_more(fixed: Path) -> None:
    with opened(fixed, table(10)) as session:
        grow(fixed, table(14))
        with pytest.raises(LedgerError, match="grows since it was opened"):
            session.release(Count("on", equals=0), epsilon=0.5)
        with pytest.raises(LedgerError, match="grows since it was opened"):
            session.release(Count("on", equals=0, by="district", by_cells=["B"]), epsilon=0.5)
    with Ledger(fixed / "b.db") as ledger:
        assert ledger.state("meters").charges == 3


def test_a_charge_in_between_stops_the_change(fixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Ledger.grow

    def late(ledger: Ledger, before: State, **body: Any) -> State:
        with opened(fixed, table(10)) as session:
            session.release(Count("on", equals=0), epsilon=0.1)
        return real(ledger, before, **body)

    monkeypatch.setattr(Ledger, "grow", late)
    with pytest.raises(LedgerError, match="at the same time"):
        grow(fixed, table(14))
    with Ledger(fixed / "b.db") as ledger:
        assert ledger.state("meters").grown is None
        assert ledger.verify().ok


def test_a_window_that_was_cut_off_is_asked_anew(tmp_path: Path) -> None:
    half = table(10).filter(polars.col("time") < BEGIN + dt.timedelta(hours=228))
    with opened(tmp_path, half) as session:
        partial = session.release(day(9), epsilon=0.5)
    grow(tmp_path, table(14))
    with opened(tmp_path, table(14), growing=True) as session:
        whole = session.release(day(9), epsilon=0.5)
        assert (whole.reused, partial.records, whole.records) == (False, 48, 96)
        assert session.leaked == pytest.approx(1.0, rel=1e-6), "the old rows of that day are in both"
        assert session.release(day(9), epsilon=0.5).reused


def test_a_stream_goes_on(tmp_path: Path) -> None:
    with opened(tmp_path, table(10)) as session:
        first = session.running(ON, every="day", horizon=30, epsilon=0.5)
    grow(tmp_path, table(14))
    with opened(tmp_path, table(14), growing=True) as session:
        second = session.running(ON, every="day", horizon=30, epsilon=0.5)
        assert (len(first), len(second)) == (9, 13)
        assert dict(second.values).items() >= dict(first.values).items()
        assert session.leaked == pytest.approx(first.epsilon_total, rel=0.01)


def test_models_without_an_order_grow_too(tmp_path: Path) -> None:
    cases: list[tuple[Model, dict[str, Any]]] = [
        (Independent(), {}),
        (GaussianGroups(correlation=0.3, size=4, column="on"), {"delta": 1e-6}),
    ]
    for model, account in cases:
        (folder := tmp_path / model.kind).mkdir()
        with opened(folder, table(3), model=model, **account) as session:
            session.release(Sum("on", bounds=(0, 1)), epsilon=0.5)
        grow(folder, table(5), model)
        with opened(folder, table(5), growing=True, model=model) as session:
            assert session.release(Sum("on", bounds=(0, 1)), epsilon=0.5).records == 480
        with pytest.raises(LedgerError, match="fewer records"):
            opened(folder, table(2), growing=True, model=model)


def test_limits_of_a_delta_are_not_changed(tmp_path: Path) -> None:
    with opened(tmp_path, table(10), delta=1e-6) as session:
        session.release(ON, epsilon=0.5)
    with pytest.raises(LedgerError, match="limits that were fixed"):
        grow(tmp_path, table(14))


def test_a_fit_of_limited_length_does_not_grow(tmp_path: Path) -> None:
    model = OddsChain(20.0, column="on", states=[0, 1], layout=ChainLayout("time", "meter"), length=480)
    with opened(tmp_path, table(10), model=model) as session:
        session.fit(tau=0.5, anyway=True)
    with pytest.raises(ModelError, match="learnt"):
        grow(tmp_path, table(14), model)


def test_whoever_is_not_the_holder_cannot_let_it_grow(fixed: Path) -> None:
    from bayesdp.ledger.accounts import _APPEND, _MOVE
    from bayesdp.ledger.records import Entry

    with Ledger(fixed / "b.db") as ledger:
        with ledger._store(write=True) as store:
            written = Entry(store.entries + 1, "meters", "grow", None, None, "{}", "now", store.head).sealed()
            store._later(_APPEND, **vars(written))
            store._later(_MOVE, previous=store.head, number=written.number, hash=written.hash)
        with pytest.raises(LedgerError, match="not what was entered"):
            ledger.state("meters")
        assert not ledger.verify().ok
