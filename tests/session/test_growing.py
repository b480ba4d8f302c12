"""Growing data: the account goes on when rows are added at the end, and every bound is that of any length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp import AnyOf, ArbitraryGroups, Count, GaussianGroups, Independent, MarkovChain, OddsChain
from bayesdp.audit import oracle
from bayesdp.errors import BudgetError, InvalidInputError, LedgerError, ModelError, NoTheoremAppliesError
from bayesdp.ledger import Ledger
from bayesdp.models import ChainLayout, Model
from bayesdp.session.accounting import Accountant
from bayesdp.session.session import Session
from bayesdp.testing import transition_matrices
from bayesdp.theorems.spend import Release

CHAIN = MarkovChain([[0.9, 0.1], [0.3, 0.7]], column="on", layout=ChainLayout("hour", "meter", 1), length=40)
ON = Count("on", equals=1)


def months(number: int) -> polars.DataFrame:
    """Return so many months of twenty hours of four meters; what is in a month does not change later."""
    draw = np.random.default_rng(5)  # any seed will do
    rows = [
        (meter, "AB"[meter % 2], hour // 20, hour, int(draw.random() < 0.3))
        for hour in range(20 * number)
        for meter in range(4)
    ]
    return polars.DataFrame(rows, schema=["meter", "district", "month", "hour", "on"], orient="row")


def opened(frame: polars.DataFrame, folder: Path, model: Model = CHAIN, **reported: Any) -> Session:
    reported = {"epsilon": 3.0, "growing": True, "public": ["month", "district"], **reported}
    return Session(frame, model, ledger=folder / "budget.db", dataset="meters", **reported)


def test_next_month_is_a_new_question_in_the_same_account(tmp_path: Path) -> None:
    with opened(months(1), tmp_path) as session:
        first = session.release(ON, epsilon=0.5)
        assert session.release(ON, epsilon=0.5) == first
    with opened(months(2), tmp_path) as session:
        second = session.release(ON, epsilon=0.5)
        assert not second.reused
        assert (first.records, second.records) == (80, 160)
        assert second.epsilon_total == pytest.approx(1.0, abs=1e-6)
        news = session.release(Count("on", equals=1, where="month == 1", public_filter=True), epsilon=0.5)
        assert news.epsilon_total == pytest.approx(1.5, abs=1e-6)
        assert session.release(ON, epsilon=0.5) == second
    assert "must not react to earlier answers" in first.guarantee
    assert "of any length" in first.guarantee
    assert "must not react to earlier answers" in second.statement()
    with opened(months(40), tmp_path) as session:  # longer than the model's 40 records of one chain
        session.release(ON, epsilon=1.0)
        with pytest.raises(BudgetError):
            session.release(Count("on", equals=0), epsilon=1.0)
    with Ledger(tmp_path / "budget.db") as ledger:
        assert ledger.verify().ok
        charge = ledger.entries("meters", "charge")[0].content()
        assert charge["details"]["table"] == {"records": 80, "order": "hour", "until": 19, "before": 76, "through": 80}
        assert "records" not in ledger.entries("meters", "open")[0].content()["description"]


def test_parts_of_growing_data(tmp_path: Path) -> None:
    question = Count("on", equals=1, by="district", by_cells=["A", "B"])
    for number in (1, 2):
        with opened(months(number), tmp_path) as session:
            session.release_by(question, epsilon=0.5)
            assert session.leaked == pytest.approx(0.5 * number, abs=1e-6)
    moved = months(3).with_columns(
        district=polars.when(polars.col("meter") == 0).then(polars.lit("B")).otherwise("district")
    )
    with pytest.raises(LedgerError, match="keep them in their part"):  # what was spent on A would be forgotten
        opened(moved, tmp_path)


@pytest.mark.parametrize(
    "frame",
    [
        months(1),
        months(2).filter(polars.col("hour") != 7),
        months(2).filter((polars.col("hour") != 7) | (polars.col("meter") != 2)),
        polars.concat([months(2), months(2).head(1).with_columns(hour=polars.lit(-1, polars.Int64))]),
        polars.concat([months(2).filter(polars.col("hour") != 39), months(3).filter(polars.col("hour") > 39)]),
    ],
)
def test_a_table_that_does_not_continue_what_it_was_is_refused(tmp_path: Path, frame: polars.DataFrame) -> None:
    with opened(months(2), tmp_path) as session:
        before = session.release(ON, epsilon=0.5).epsilon_total
    with pytest.raises(LedgerError, match="does not continue"):
        opened(frame, tmp_path)
    with opened(months(2), tmp_path) as session:
        assert session.leaked == before


def test_an_account_of_a_fixed_table_refuses_to_grow(tmp_path: Path) -> None:
    with opened(months(1), tmp_path, growing=False) as session:
        session.release(ON, epsilon=0.5)
    for frame, growing in ((months(2), False), (months(1), True), (months(2), True)):
        with pytest.raises(LedgerError, match="another"):
            opened(frame, tmp_path, growing=growing)
    with pytest.raises(LedgerError, match="looks like 'meters'"):
        Session(months(2), CHAIN, ledger=tmp_path / "budget.db", dataset="others", epsilon=1.0, growing=True)


def test_a_growing_account_is_opened_as_one_again(tmp_path: Path) -> None:
    with opened(months(1), tmp_path) as session:
        session.open_account()
    with pytest.raises(LedgerError, match="another"):
        opened(months(1), tmp_path, growing=False)
    with pytest.raises(LedgerError, match="looks like 'meters'"):
        Session(months(1), CHAIN, ledger=tmp_path / "budget.db", dataset="others", epsilon=1.0)


@pytest.mark.parametrize(
    "model",
    [
        MarkovChain([[0.9, 0.1], [0.3, 0.7]], column="on", length=80),
        bdp.Network(odds=1.5, degree=4),
        AnyOf(CHAIN, MarkovChain([[0.9, 0.1], [0.3, 0.7]], column="on")),
        GaussianGroups(precision={"records": 2, "entries": [[0, 0, 1.0], [1, 1, 1.0], [0, 1, 0.2]]}),
    ],
)
def test_models_that_say_nothing_about_later_rows_are_refused(tmp_path: Path, model: Model) -> None:
    with pytest.raises(ModelError, match="grow"):
        opened(months(1), tmp_path, model)
    assert not (tmp_path / "budget.db").exists()


@pytest.mark.parametrize("model", [Independent(), ArbitraryGroups(4, group=["hour"]), AnyOf(CHAIN, Independent())])
def test_groups_and_independent_records_may_grow(tmp_path: Path, model: Model) -> None:
    for number in (1, 2):
        with opened(months(number), tmp_path, model) as session:
            assert session.release(ON, epsilon=0.5).records == 80 * number
    with pytest.raises(LedgerError, match="fewer records"):
        opened(months(1), tmp_path, model)


def test_growing_is_yes_or_no(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="growing"):
        opened(months(1), tmp_path, growing="monthly")


@given(matrix=transition_matrices(2), tau=st.floats(0.05, 1.5), length=st.integers(1, 4))
def test_what_was_promised_at_any_length_holds_at_every_length(
    matrix: list[list[float]], tau: float, length: int
) -> None:
    """A release on the first record, then one on all of a longer chain: together below what any length promises."""
    layout = ChainLayout("t")
    chain = MarkovChain(matrix, length=length, start="any", layout=layout)
    try:
        promised = Accountant(chain.at_any_length()).leaked((Release(Count(equals=1), 2 * tau),))
    except NoTheoremAppliesError:  # it never forgets, and nothing is promised
        return
    assert Accountant(chain).leaked((Release(Count(equals=1), 2 * tau),)) <= promised * (1 + 1e-9)
    joint = oracle.chain_joint(chain, length, [0.4, 0.6])
    first = np.asarray(oracle.laplace_sum([0.0, 1.0], 1, tau))
    early = np.broadcast_to(first.reshape(2, *(1,) * (length - 1), -1), (2,) * length + first.shape[-1:])
    kernel = oracle.joint_release(early, oracle.laplace_sum([0.0, 1.0], length, tau))
    assert oracle.bdpl(joint, kernel).epsilon <= promised + 1e-9


def test_a_promise_at_the_length_of_now_would_be_broken() -> None:
    """Why the bound is taken at any length (THEORY: odds 9, τ = 1: 1.492 at two records, 2.798 at any)."""
    short = OddsChain(9, length=2, layout=ChainLayout("t"))
    spend = (Release(Count(equals=1), 1.0),)
    assert Accountant(short).leaked(spend) == pytest.approx(1.492308, abs=1e-6)
    assert Accountant(short.at_any_length()).leaked(spend) == pytest.approx(2.797620, abs=1e-6)
