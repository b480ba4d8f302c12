"""Sessions: what is released, what is charged, and what is refused without a charge."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bayesdp as bdp
from bayesdp.audit import oracle
from bayesdp.errors import (
    BayesDPError,
    BudgetError,
    CalibrationError,
    ChangedError,
    FrameError,
    InvalidInputError,
    LedgerError,
    QueryError,
    RecordsError,
    RefusedError,
)
from bayesdp.frames.source import reading, scan
from bayesdp.ledger import Account, Ledger, State
from bayesdp.models import GroupLayout
from bayesdp.session.answer import Answer
from bayesdp.session.session import Session
from bayesdp.testing import transition_matrices

ACTIVE = bdp.Count("steps > 0", equals=True)


def test_a_count_is_released_charged_and_explained(session: Session) -> None:
    answer = session.release(ACTIVE, epsilon=0.5)
    assert isinstance(answer.value, int)
    assert abs(answer.value - 4250) < 60 * answer.scale
    assert answer.epsilon <= 0.5
    assert session.leaked == answer.epsilon_total <= 0.5
    assert session.remaining == pytest.approx(1.5)
    assert (answer.theorem, answer.records) == ("markov-mixing", 15264)
    assert "not the person" in answer.guarantee
    assert "15264" in answer.guarantee
    assert "missing is treated as public" in answer.guarantee
    assert "estimated from data" in answer.guarantee
    low, high = answer.interval(0.95)
    within, p = answer.value - low, math.exp(-answer.tau)  # type: ignore[operator]
    assert within == high - answer.value  # type: ignore[operator]
    assert 2 * p ** (within + 1) / (1 + p) <= 0.05 < 2 * p**within / (1 + p)  # the least that covers 95 % of the noise


def test_the_answer_reads_back_from_json(session: Session) -> None:
    answer = session.release(ACTIVE, epsilon=0.5)
    assert Answer.from_dict(json.loads(answer.to_json())) == answer
    assert session.history == (answer,)
    page = answer.statement()
    assert answer.head in page
    assert "What an attacker can learn at most" in page
    assert "<table" in answer._repr_html_()
    assert answer.__rich__().row_count > 5


@pytest.mark.parametrize(
    "change",
    [
        *({"tau": "x"}, {"tau": 0}, {"noise": -1}, {"value": None}, {"value": 1.5}, {"value": [1, 2]}, {"value": True}),
        *({"epsilon_total": [1]}, {"epsilon": -1.0}, {"notes": 5}, {"notes": [1]}, {"head": None}, {"records": 0}),
        *({"query": {"query": "poem"}}, {"schema": 2}),
    ],
)
def test_an_answer_edited_into_nonsense_is_refused(session: Session, change: dict[str, object]) -> None:
    document = json.loads(session.release(ACTIVE, epsilon=0.5).to_json())
    with pytest.raises(InvalidInputError):
        Answer.from_dict({**document, **change})


def test_asking_again_is_free_and_gives_the_same_answer(session: Session) -> None:
    first = session.release(ACTIVE, epsilon=0.5)
    assert session.release(ACTIVE, epsilon=0.5) == first
    assert session.release(ACTIVE, epsilon=0.2) == first
    assert session.release(bdp.Count(equals=True), epsilon=0.5) == first
    assert session.release(ACTIVE, alpha=1000) == first
    assert session.preview(ACTIVE, epsilon=0.4).stored
    better = session.release(ACTIVE, epsilon=1.0)
    assert better.tau > first.tau
    assert session.release(ACTIVE, epsilon=1.0) == better


def test_a_stored_answer_is_free_even_when_the_budget_is_gone(session: Session) -> None:
    first = session.release(ACTIVE, epsilon=1.5)
    session.release(bdp.Count("steps > 0", equals=False), epsilon=session.remaining)
    assert session.remaining == pytest.approx(0, abs=1e-6)
    assert session.release(ACTIVE, epsilon=1.5) == first


def test_a_release_beyond_the_budget_is_refused_with_figures(session: Session) -> None:
    session.release(ACTIVE, epsilon=1.5)
    before = session.leaked
    with pytest.raises(BudgetError, match=r"requested ε = 1, remaining 0\.5") as refusal:
        session.release(bdp.Count("steps > 0", equals=False), epsilon=1.0)
    assert refusal.value.difference == pytest.approx(0.5)
    assert session.leaked == before


def test_several_answers_in_one_charge(session: Session) -> None:
    queries = [ACTIVE, bdp.Histogram("steps > 0", cells=[False, True])]
    count, histogram = session.release_all(queries, epsilon=1.0)
    assert count.tau == histogram.tau
    assert isinstance(histogram.value, tuple)
    assert abs(sum(histogram.value) - 15264) < 200 * histogram.scale
    assert session.leaked <= 1.0
    assert "2 answers released together" in count.guarantee
    with pytest.raises(BudgetError):
        session.release_all([bdp.Count("steps > 0", equals=False), ACTIVE], epsilon=1.5)
    assert len(session.history) == 2


@settings(max_examples=settings().max_examples // 3)
@given(
    matrix=transition_matrices(2),
    asked=st.lists(st.tuples(st.sampled_from([0, 1]), st.floats(0.05, 1.5)), min_size=1, max_size=4),
)
@pytest.mark.slow
def test_the_oracles_joint_leakage_is_at_most_the_ledgers_figure(
    matrix: list[list[float]], asked: list[tuple[int, float]]
) -> None:
    """Any interleaving of releases: oracle ≤ ledger ≤ budget, with the τ's the ledger has charged."""
    model = bdp.MarkovChain(matrix, length=3, start="any", column="x")
    joint = oracle.chain_joint(model, 3, [0.4, 0.6])
    with TemporaryDirectory() as folder:
        table = polars.DataFrame({"x": [0, 1, 1]})
        with Session(table, model, epsilon=2.0, ledger=Path(folder) / "b.db", dataset="d") as session:
            for state, epsilon in asked:
                with suppress(BudgetError):
                    session.release(bdp.Count("x", equals=state), epsilon=epsilon)
                kernels = [
                    oracle.laplace_sum(
                        [float(answer.query.values == (0,)), float(answer.query.values == (1,))], 3, answer.tau
                    )
                    for answer in session.history
                    if isinstance(answer, Answer)
                ]
                if kernels:
                    found = oracle.bdpl(joint, oracle.joint_release(*kernels)).epsilon
                    assert found <= session.leaked + 1e-9
                assert session.leaked <= session.budget


def test_integers_on_the_grid_are_exact(tmp_path: Path) -> None:
    table = polars.DataFrame({"x": [1, 2, 3, 400], "g": ["a", "b", "a", "b"]})
    with Session(table, bdp.Independent(), epsilon=2000.0, ledger=tmp_path / "b.db", dataset="d") as session:
        answer = session.release(bdp.Sum("x", bounds=(0, 10)), epsilon=800.0)
        assert (answer.value, answer.rounding) == (16.0, 0.0)
        filtered = session.release(bdp.Sum("x", bounds=(0, 10), where="g == 'a'"), epsilon=800.0)
        assert filtered.value == 4.0
        assert filtered.records == 4


def test_a_private_filter_counts_a_leaving_record(tmp_path: Path) -> None:
    table = polars.DataFrame({"x": [50.0] * 20, "district": [3] * 20})
    reported: dict[str, Any] = {"ledger": tmp_path / "b.db", "dataset": "d", "public": ["district"]}
    with Session(table, bdp.Independent(), epsilon=10.0, **reported) as session:
        private = session.preview(bdp.Sum("x", bounds=(40, 60), where="x > 45"), epsilon=1.0)
        public = session.preview(bdp.Sum("x", bounds=(40, 60), where="district = 3", public_filter=True), epsilon=1.0)
    assert private.scale == pytest.approx(60, rel=1e-6)
    assert public.scale == pytest.approx(20, rel=1e-6)


def test_the_step_of_a_sum_of_a_csv_file_ignores_its_values(tmp_path: Path) -> None:
    """Whether all values are whole is private: a step of 1 would tell the neighbouring table with one 3.5 apart."""
    steps, slacks = set(), set()
    for name, values in {"whole": [3, 4, 5], "one": [3.5, 4, 5], "gap": [3, None, 5]}.items():
        path = tmp_path / f"{name}.csv"
        polars.DataFrame({"k": values}, strict=False).write_csv(path)
        with Session(
            path, bdp.Independent(), epsilon=9.0, ledger=tmp_path / f"{name}.db", dataset=name, missing="drop"
        ) as session:
            answer = session.release(bdp.Sum("k", bounds=(0, 8)), epsilon=1.0)
            unit = session.release(bdp.Sum("k", bounds=(0, 8), step=1), epsilon=1.0)
        assert isinstance(answer.query, bdp.Sum)
        steps.add((answer.query.step, answer.unit, unit.unit))
        slacks |= {(answer.rounding / answer.records, unit.rounding / unit.records)}
    assert len(steps) == len(slacks) == 1


def test_a_small_epsilon_gets_a_coarser_grid(tmp_path: Path) -> None:
    table = polars.DataFrame({"x": np.linspace(0, 1, 1000)})
    with Session(table, bdp.ArbitraryGroups(1000), epsilon=10.0, ledger=tmp_path / "b.db", dataset="d") as session:
        answer = session.release(bdp.Sum("x", bounds=(0, 1)), epsilon=1e-4)
        assert answer.tau == pytest.approx(1e-7)
        with pytest.raises((CalibrationError, InvalidInputError)):
            session.release(bdp.Sum("x", bounds=(0, 2)), epsilon=1e-15)
        assert len(session.history) == 1


def test_reopening_needs_the_same_model_and_data(
    activity: polars.DataFrame, chain: bdp.MarkovChain, tmp_path: Path
) -> None:
    ledger = tmp_path / "budget.db"
    with Session(activity, chain, epsilon=2.0, ledger=ledger, dataset="steps") as session:
        answer = session.release(ACTIVE, epsilon=1.0)
    with Session(activity, chain, ledger=ledger, dataset="steps") as again:
        assert again.budget == 2.0
        assert again.remaining == pytest.approx(1.0)
        assert again.release(ACTIVE, epsilon=1.0) == answer
    with pytest.warns(UserWarning, match="is 2, not 99"):
        again = Session(activity, chain, epsilon=99.0, ledger=ledger, dataset="steps")
    with again:
        assert again.budget == 2.0
    with pytest.raises(LedgerError, match="model"):
        Session(activity, bdp.ArbitraryGroups(20000), ledger=ledger, dataset="steps")
    with pytest.raises(BayesDPError):
        Session(activity.head(10000), chain, ledger=ledger, dataset="steps")
    with pytest.raises(LedgerError, match="looks like 'steps'"):
        Session(activity, chain, epsilon=2.0, ledger=ledger, dataset="another")
    with pytest.raises(BayesDPError, match="budget"):
        Session(activity, chain, ledger=ledger, dataset="another", separate_because="of another year")


def test_a_first_release_that_fails_does_not_open_the_data_set(tmp_path: Path) -> None:
    """A typing error must not tie the data set to a model and a budget for good."""
    table, ledger = polars.DataFrame({"x": [1, 2, 3]}), tmp_path / "b.db"
    with Session(table, bdp.ArbitraryGroups(3), epsilon=10.0, ledger=ledger, dataset="d") as wrong:
        assert wrong.budget == wrong.remaining == 10.0
        with pytest.raises(BayesDPError):
            wrong.release(bdp.Sum("heigth", bounds=(0, 10)), epsilon=0.5)
        with pytest.raises(BudgetError):
            wrong.release(bdp.Sum("x", bounds=(0, 10)), epsilon=11.0)
        with Session(table, bdp.Independent(), epsilon=1.0, ledger=ledger, dataset="d") as right:
            right.release(bdp.Sum("x", bounds=(0, 10)), epsilon=0.5)
            assert right.budget == 1.0
        for use in (lambda: wrong.remaining, lambda: wrong.release(bdp.Sum("x", bounds=(0, 10)), epsilon=0.5)):
            with pytest.raises(LedgerError, match="another model"):
                use()
    with Ledger(ledger) as opened:
        kinds = [entry.kind for entry in opened.entries() if entry.kind != "check"]
        assert kinds == ["open", "charge", "answer"]
        assert opened.verify().ok


@pytest.mark.parametrize(
    "query", [bdp.Count("x", equals=1), bdp.Sum("x", bounds=(0, 1)), bdp.Histogram("x", cells=[1, 2])]
)
def test_a_question_that_no_record_can_answer_costs_nothing(tmp_path: Path, query: bdp.Query) -> None:
    table = polars.DataFrame({"x": [None] * 3, "y": [1, 2, 3]}, schema={"x": polars.Float64, "y": polars.Int64})
    with Session(
        table, bdp.Independent(), epsilon=5.0, ledger=tmp_path / "b.db", dataset="d", missing="drop"
    ) as session:
        with pytest.raises(RefusedError):
            session.release(query, epsilon=1.0)
        assert session.leaked == 0


def test_a_longer_chain_than_the_model_allows_is_refused(activity: polars.DataFrame, tmp_path: Path) -> None:
    model = bdp.MarkovChain([[0.9, 0.1], [0.5, 0.5]], states=[False, True], length=100, state="steps > 0")
    with pytest.raises(RefusedError):
        Session(activity, model, epsilon=1.0, ledger=tmp_path / "b.db", dataset="d", missing="drop")
    with pytest.raises(RecordsError, match="chain of 15264 records"):
        bdp.check_table(activity, model, missing="drop")


@pytest.mark.parametrize(
    ("query", "given"),
    [
        (ACTIVE, {"epsilon": 0.0}),
        (ACTIVE, {"epsilon": -1.0}),
        (ACTIVE, {"epsilon": math.nan}),
        (ACTIVE, {"epsilon": math.inf}),
        (ACTIVE, {}),
        (ACTIVE, {"epsilon": 1.0, "alpha": 3.0}),
        (ACTIVE, {"alpha": 0.5}),
        (ACTIVE, {"alpha": 5.0, "beta": 0.0}),
        (ACTIVE, {"epsilon": 0.5, "beta": 5e-324}),
        (ACTIVE, {"alpha": 5.0, "beta": 5e-324}),
        (bdp.Count("interval", equals=5), {"epsilon": 0.5}),
        (bdp.Count("steps > 0", equals="yes"), {"epsilon": 0.5}),
        (bdp.Count("steps > 0", equals=True, where="nothing > 3"), {"epsilon": 0.5}),
        (bdp.Count("steps > 0", equals=True, where="drop table entries"), {"epsilon": 0.5}),
        (bdp.Sum("steps > 0", bounds=(0, 1)), {"epsilon": 0.5}),
        ("count", {"epsilon": 0.5}),
    ],
)
def test_bad_arguments_charge_nothing(session: Session, query: bdp.Query, given: dict[str, Any]) -> None:
    with pytest.raises(BayesDPError):
        session.release(query, **given)
    assert session.leaked == 0
    assert session.history == ()


def test_cells_that_are_one_value_are_refused(tmp_path: Path) -> None:
    """Two spellings of one moment would count a record in several cells: its sensitivity would not be 2."""
    table = polars.DataFrame({"t": ["2012-10-01"] * 5, "f": [float(2**53)] * 5}).with_columns(
        polars.col("t").str.to_datetime()
    )
    with Session(table, bdp.Independent(), epsilon=1.0, ledger=tmp_path / "b.db", dataset="d") as session:
        for query in (
            bdp.Histogram("t", cells=["2012-10-01", "20121001", "2013-01-01"]),
            bdp.Histogram("f", cells=[2**53, 2**53 + 1]),
        ):
            with pytest.raises(QueryError, match="are the same value"):
                session.release(query, epsilon=0.5)
        assert session.leaked == 0


def test_a_private_filter_on_another_column_is_refused(tmp_path: Path) -> None:
    table = polars.DataFrame({"x": [0, 1, 0, 1], "y": [1, 1, 0, 1]})
    chain = bdp.MarkovChain([[0.55, 0.45], [0.45, 0.55]], column="x", length=4)
    with Session(table, chain, epsilon=5.0, ledger=tmp_path / "b.db", dataset="d", public=["y"]) as session:
        with pytest.raises(QueryError, match="the filter uses 'y'"):
            session.release(bdp.Count("x", isin=[0, 1], where="y == 1"), epsilon=1.0)
        assert session.leaked == 0
        session.release(bdp.Count("x", isin=[0, 1], where="y == 1", public_filter=True), epsilon=1.0)


def test_rows_of_a_wide_table_are_not_counted_as_values(tmp_path: Path) -> None:
    path = tmp_path / "families.csv"
    polars.DataFrame({"father": [1.0] * 40, "son": [2.0] * 40}).write_csv(path)
    model = bdp.GaussianGroups(correlation=0.5, size=2, layout=GroupLayout(["father", "son"]))
    lazy = polars.scan_csv(path)  # whose file is not ours to watch
    with Session(lazy, model, epsilon=5.0, ledger=tmp_path / "b.db", dataset="d") as session:
        polars.DataFrame({"father": [1.0] * 50, "son": [2.0] * 50}).write_csv(path)
        with pytest.raises(FrameError, match="50 rows now, but had 40 when"):
            session.release(bdp.Sum(bounds=(0, 3)), epsilon=1.0)
        assert session.leaked == 0


def test_a_table_that_changes_under_the_session_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    polars.DataFrame({"x": [0, 1, 0]}).write_csv(path)
    chain = bdp.MarkovChain([[0.5, 0.5], [0.5, 0.5]], column="x", length=3)
    with Session(path, chain, epsilon=5.0, ledger=tmp_path / "b.db", dataset="d") as session:
        polars.DataFrame({"x": [0, 1] * 300}).write_csv(path)
        with pytest.raises(ChangedError, match="changed since it was opened"):
            session.release(bdp.Count("x", equals=1), epsilon=1.0)
        assert session.leaked == 0
    polars.DataFrame({"x": [0, 1, 0]}).write_csv(path)
    lazy = polars.scan_csv(path)  # whose file is not ours to watch
    with Session(lazy, chain, epsilon=5.0, ledger=tmp_path / "b.db", dataset="d") as session:
        polars.DataFrame({"x": [0, 1] * 300}).write_csv(path)
        with pytest.raises(FrameError, match="600 rows now"):
            session.release(bdp.Count("x", equals=1), epsilon=1.0)
        assert session.leaked == 0
    with pytest.raises(RefusedError):
        Session(polars.DataFrame({"x": [0, 7]}), chain, epsilon=1.0, ledger=tmp_path / "b.db", dataset="e")


def test_the_accuracy_of_a_mean_is_for_its_own_records(tmp_path: Path) -> None:
    table = polars.DataFrame({"x": [5.0] * 1000, "g": [i % 10 for i in range(1000)]})
    mean = bdp.Mean("x", bounds=(0, 10), where="g == 3", public_filter=True)
    reported: dict[str, Any] = {"ledger": tmp_path / "b.db", "dataset": "d", "public": ["g"]}
    with Session(table, bdp.Independent(), epsilon=99.0, **reported) as session:
        foretold = session.preview(mean, alpha=0.1)
        assert foretold.alpha is not None
        assert foretold.alpha <= 0.1
        assert session.release(mean, alpha=0.1).accuracy(0.05) <= 0.1


def test_bounds_beyond_exact_floats_are_rounded(tmp_path: Path) -> None:
    table = polars.DataFrame({"x": [1, 2**63 + 77, 5, 2**63 + 99]}, schema={"x": polars.UInt64})
    with Session(table, bdp.Independent(), epsilon=9.0, ledger=tmp_path / "b.db", dataset="d") as session:
        answer = session.release(bdp.Sum("x", bounds=(2.0**63, 2.0**63 + 4096), step=1), epsilon=1.0)
        assert answer.rounding > 0


def test_engine_errors_do_not_quote_records() -> None:
    table = scan(polars.DataFrame({"x": [1]}))
    with pytest.raises(FrameError) as refusal, reading(table):
        raise RuntimeError("conversion failed for 9223372036854775885")
    assert "9223372036854775885" not in str(refusal.value)
    assert "RuntimeError" in str(refusal.value)


def test_the_same_question_in_other_words_is_free(tmp_path: Path) -> None:
    table = polars.DataFrame({"b": [True, False] * 50, "g": [0, 1] * 50})
    with Session(table, bdp.Independent(), epsilon=9.0, ledger=tmp_path / "b.db", dataset="d") as session:
        first = session.release(bdp.Count("b", equals=True), epsilon=1.0)
        for value in (1, 1.0):
            assert session.release(bdp.Count("b", equals=value), epsilon=1.0) == first
        assert session.release(bdp.Count("b", isin=[1]), epsilon=1.0) == first
        filtered = session.release(bdp.Count("b", equals=True, where="g > 0"), epsilon=1.0)
        for where in ("g>0", " (g > 0 ) ", "`g` > 0", "0 < g", "g > 0.0"):
            assert session.release(bdp.Count("b", equals=True, where=where), epsilon=1.0) == filtered
        condition = session.release(bdp.Count("g > 0", equals=True), epsilon=1.0)
        assert session.release(bdp.Count("g>0", equals=True), epsilon=1.0) == condition
        total = session.release(bdp.Sum("g", bounds=(-0.0, 5)), epsilon=1.0)
        assert session.release(bdp.Sum("g", bounds=(0, 5.0)), epsilon=1.0) == total
        assert len(session.history) == 4


def test_an_answer_given_again_states_the_account_of_now(session: Session) -> None:
    first = session.release(ACTIVE, epsilon=0.5)
    assert not first.reused
    session.release(bdp.Count("steps > 0", equals=False), epsilon=1.0)
    again = session.release(ACTIVE, epsilon=0.5, beta=0.01)
    assert again.reused
    assert again.value == first.value
    assert again.epsilon_remaining == session.remaining == pytest.approx(0.5)
    assert again.epsilon_total == session.leaked
    assert "costs nothing again" in again.guarantee
    assert Answer.from_dict(again.to_dict()).reused
    assert again.differences(first) == ()
    now = {"epsilon_total", "epsilon_remaining", "beta", "reused", "consequences"}
    assert now <= set(first.differences(again)) <= now | {"worst_case"}


def test_a_stored_answer_names_the_proof_of_the_present_account(tmp_path: Path) -> None:
    """Any mechanism, every pair of values: that was proven of the count, but not of the count and the sum."""
    families = bdp.GaussianGroups(correlation=0.1, size=5, layout=GroupLayout("height", "family"))
    frame = polars.DataFrame({"height": [1, 2, 0, 1, 2] * 6, "family": [i // 5 for i in range(30)]})
    with bdp.Session(frame, families, dataset="d", epsilon=10.0, ledger=tmp_path / "budget.db") as session:
        first = session.release(bdp.Count("height", equals=1), epsilon=1.0)
        added = session.release(bdp.Sum("height", bounds=(0, 2)), epsilon=3.0)
        again = session.release(bdp.Count("height", equals=1), epsilon=1.0)
    assert (first.theorem, added.theorem) == ("general", "gaussian-tight")
    assert again == first
    assert again.epsilon_total == pytest.approx(added.epsilon_total)
    assert (again.theorem, again.proof, again.scope) == (added.theorem, added.proof, added.scope)
    assert set(first.notes) <= set(again.notes)


def test_the_accuracy_is_stated_for_the_beta_asked_for(session: Session) -> None:
    answer = session.release(ACTIVE, alpha=40, beta=0.01)
    assert answer.beta == 0.01
    document = answer.to_dict()
    assert document["alpha"] == answer.accuracy(0.01) <= 40
    assert document["interval"] == list(answer.interval(0.99))
    assert (document["beta"], document["interval_level"]) == (0.01, 0.99)
    assert "in 99 % of cases" in str(answer)
    assert "99 %" in answer.statement()


@pytest.mark.parametrize("name", ["alpha", "interval", "scale", "interval_level"])
def test_an_answer_whose_accuracy_was_edited_is_refused(session: Session, name: str) -> None:
    document = session.release(ACTIVE, epsilon=0.5).to_dict()
    edited = [0.0, 1.0] if name == "interval" else document[name] / 2
    with pytest.raises(InvalidInputError, match=name):
        Answer.from_dict({**document, name: edited})


def test_questions_asked_together_or_twice(session: Session) -> None:
    for queries in (None, 3, [], [ACTIVE, ACTIVE]):
        with pytest.raises(InvalidInputError):
            session.release_all(queries, epsilon=0.1)  # type: ignore[arg-type]
    together = session.release_all([ACTIVE, bdp.Count("steps > 0", equals=False)], epsilon=0.5)
    assert session.release(ACTIVE, epsilon=0.5).tau > together[0].tau


def test_a_failure_after_the_charge_leaves_it(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from bayesdp.mechanisms import DiscreteLaplaceMechanism

    def broken(self: DiscreteLaplaceMechanism, values: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(DiscreteLaplaceMechanism, "release", broken)
        with pytest.raises(KeyboardInterrupt):
            session.release(ACTIVE, epsilon=0.5)
    assert session.leaked == pytest.approx(0.5)
    assert session.history == ()


def test_the_same_question_at_the_same_moment_is_charged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayesdp.session.retries.PATIENCE", 60.0)  # however slow the machine is
    table = polars.DataFrame({"x": [0, 1] * 50})

    def ask(_: int) -> Answer:
        with Session(table, bdp.Independent(), epsilon=1.0, ledger=tmp_path / "b.db", dataset="d") as session:
            return session.release(bdp.Count("x", equals=1), epsilon=0.3)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(16)))
    assert len({answer.entry for answer in answers}) == 1
    with Ledger(tmp_path / "b.db") as ledger:
        assert ledger.state("d").charges == 1


def test_an_answer_stored_while_planning_has_its_own_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at the totals and the look at the answers another process may have released."""
    table, query = polars.DataFrame({"x": [0, 1] * 50}), bdp.Count("x", equals=1)
    with (
        Session(table, bdp.Independent(), epsilon=1.0, ledger=tmp_path / "b.db", dataset="d") as slow,
        Session(table, bdp.Independent(), epsilon=1.0, ledger=tmp_path / "b.db", dataset="d") as quick,
    ):
        real = Account.last_state
        raced: list[Answer] = []

        def last_state(account: Account, *questions: str) -> State | None:
            found = real(account, *questions)
            if account is slow._account and not raced:
                raced.append(quick.release(query, epsilon=0.3))
            return found

        monkeypatch.setattr(Account, "last_state", last_state)
        answer = slow.release(query, epsilon=0.3)
        assert answer == raced[0]
        assert answer.epsilon_total == answer.epsilon == pytest.approx(0.3)
        assert answer.epsilon_remaining == slow.remaining


def test_an_answer_lost_in_a_crash_is_not_waited_for_forever(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from bayesdp.mechanisms import DiscreteLaplaceMechanism

    monkeypatch.setattr("bayesdp.session.retries.PATIENCE", 0.2)
    with monkeypatch.context() as patched:
        patched.setattr(DiscreteLaplaceMechanism, "release", lambda self, values: None)
        with pytest.raises(TypeError):
            session.release(ACTIVE, epsilon=0.5)
    state = session._account.state()
    assert state.charges == 1
    answer = session.release(ACTIVE, epsilon=0.5)
    assert not answer.reused
    state = session._account.state(answer.query_fingerprint, "another")
    assert state.charges == 1
    assert state.unanswered(answer.query_fingerprint) is None
    assert state.unanswered("another") is None


def follows_its_law(errors: Sequence[int], scale: float) -> bool:
    """Whether errors are those of discrete Laplace noise: all but one in a billion of such samples are closer."""
    p = math.exp(-1 / scale)
    law = {k: (1 - p) / (1 + p) * p ** abs(k) for k in range(-3, 4)}
    found = Counter(error for error in errors if abs(error) <= 3)
    observed = [*(found[k] for k in law), len(errors) - found.total()]
    expected = [len(errors) * chance for chance in (*law.values(), 1 - sum(law.values()))]
    return bool(stats.chisquare(observed, expected).pvalue > 1e-9)


def test_the_released_noise_follows_its_law(tmp_path: Path) -> None:
    """Many cells of one histogram, each with noise of its own, against the exact discrete Laplace law."""
    draws = 3000  # enough to tell noise 1.5 times as wide apart, except once in a million million runs
    table, cells = polars.DataFrame({"x": [1, 0, 1]}), range(draws)
    with Session(table, bdp.Independent(), epsilon=5.0, ledger=tmp_path / "b.db", dataset="d") as session:
        answer = session.release(bdp.Histogram("x", cells=cells), epsilon=2.0)
    assert answer.scale == pytest.approx(1.0)
    truth = [1, 2, *[0] * (draws - 2)]
    errors = [int(noisy) - exact for noisy, exact in zip(cast("Any", answer.value), truth, strict=True)]
    assert follows_its_law(errors, answer.scale)
    assert not follows_its_law(errors, 1.5 * answer.scale)


@pytest.mark.slow
def test_the_noise_of_many_releases_follows_its_law(tmp_path: Path) -> None:
    """Many answers to one count, each asked in other words."""
    table = polars.DataFrame({"x": [1, 0, 1], "place": [1, 2, 3]})
    runs = 400
    queries = [bdp.Count("x", equals=1, where=f"place > -{i + 1}", public_filter=True) for i in range(runs)]
    reported: dict[str, Any] = {"ledger": tmp_path / "b.db", "dataset": "d", "public": ["place"]}
    with Session(table, bdp.Independent(), epsilon=500.0, **reported) as session:
        answers = session.release_all(queries, epsilon=float(runs))
    assert answers[0].scale == pytest.approx(1.0)
    assert follows_its_law([int(answer.value) - 2 for answer in answers], answers[0].scale)  # type: ignore[arg-type]


@pytest.mark.slow
def test_neighbouring_inputs_never_beat_epsilon(tmp_path: Path) -> None:
    """An attacker who sees the answer tells two values of one record apart no better than e^ε (Clopper–Pearson)."""
    chain = bdp.MarkovChain([[0.8, 0.2], [0.2, 0.8]], column="x", length=3)
    generator = np.random.default_rng(7)
    counts = {0: 0, 1: 0}
    runs = 400
    with Ledger(tmp_path / "b.db") as ledger:
        for first in (0, 1):
            for run in range(runs):
                states = [first]
                while len(states) < 3:
                    states.append(states[-1] if generator.random() < 0.8 else 1 - states[-1])
                table = polars.DataFrame({"x": states})
                name = f"{first}-{run}"
                with Session(
                    table, chain, epsilon=1.0, ledger=ledger, dataset=name, separate_because="a run"
                ) as session:
                    counts[first] += int(session.release(bdp.Count("x", equals=1), epsilon=1.0).value) >= 2  # type: ignore[arg-type]
    lowest = stats.binomtest(counts[1], runs).proportion_ci(1 - 1e-9, method="exact").low
    highest = stats.binomtest(counts[0], runs).proportion_ci(1 - 1e-9, method="exact").high
    assert lowest <= math.e * highest


def test_another_budget_than_that_of_the_account_is_named(tmp_path: Path) -> None:
    table, ledger = polars.DataFrame({"on": [0, 1] * 10}), tmp_path / "b.db"
    with bdp.Session(table, bdp.Independent(), epsilon=2.0, ledger=ledger, dataset="d") as session:
        session.release(bdp.Count("on", equals=1), epsilon=0.5)
    with pytest.warns(UserWarning, match="the budget of d is 2, not 5; bayesdp budget lower and raise change it"):
        opened = bdp.Session(table, bdp.Independent(), epsilon=5.0, ledger=ledger, dataset="d")
    with opened:
        assert opened.budget == 2
    bdp.Session(table, bdp.Independent(), ledger=ledger, dataset="d").close()
    bdp.Session(table, bdp.Independent(), epsilon=2.0, ledger=ledger, dataset="d").close()
