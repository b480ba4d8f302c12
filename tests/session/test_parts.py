"""Parts of a table: one answer a part, charged to the parts it touches; a table leaks what its worst part does."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp import AnyOf, ArbitraryGroups, Count, GaussianGroups, Histogram, Independent, MarkovChain, Mean, Sum
from bayesdp.audit import oracle
from bayesdp.errors import BudgetError, InvalidInputError, QueryError, RecordsError, RefusedError
from bayesdp.ledger import Account, Ledger
from bayesdp.models import ChainLayout, GroupLayout, Model
from bayesdp.queries import Query
from bayesdp.rounding import float_above
from bayesdp.session.accounting import Accountant
from bayesdp.session.answers import Answers
from bayesdp.session.parts import Reading, everywhere, exposures, meet
from bayesdp.session.session import Session
from bayesdp.testing import transition_matrices
from bayesdp.theorems.leakage import Composition
from bayesdp.theorems.spend import Release, Spend

DISTRICTS = tuple("ABCDEFGHIJKL")
METERS = ChainLayout("hour", "meter", 1)
CHAIN = MarkovChain([[0.9, 0.1], [0.3, 0.7]], column="on", layout=METERS)
ON = Count("on", equals=1)
PUBLIC = ("district", "number", "flat")


def on_in(*cells: Any, by: str = "district", **asked: Any) -> Count:
    return Count("on", by=by, by_cells=cells, **{"equals": 1, **asked})


@pytest.fixture(scope="module")
def meters() -> polars.DataFrame:
    """Thirty-six meters of fifty hours, three in each of twelve districts."""
    draw = np.random.default_rng(3)  # any seed will do
    rows = [
        (meter, DISTRICTS[meter % 12], meter % 12 + 1, meter % 2 == 0, hour, int(draw.random() < 0.3), draw.random())
        for meter in range(36)
        for hour in range(50)
    ]
    names = ["meter", "district", "number", "flat", "hour", "on", "power"]
    return polars.DataFrame(rows, schema=names, orient="row")


@pytest.fixture
def session(meters: polars.DataFrame, tmp_path: Path) -> Iterator[Session]:
    place = tmp_path / "budget.db"
    with Session(meters, CHAIN, epsilon=2.0, ledger=place, dataset="meters", public=PUBLIC) as opened:
        yield opened


# --- the account ------------------------------------------------------------------------------------------------------


def converted(model: Model, spend: Spend) -> float:
    return Composition(model).proven(spend) if spend else 0.0


def most_of_any_part(model: Model, spent: Spend) -> float:
    """Return the account as it is defined: for every part, convert all releases that touch it; take the largest."""
    columns = sorted({query.by for query, _ in spent if query.by is not None})
    cells = [sorted({cell for query, _ in spent if query.by == column for cell in query.parts}) for column in columns]
    largest = 0.0
    for place in product(*cells):
        at = dict(zip(columns, place, strict=True))
        totals: dict[Query, Fraction] = {}
        for query, tau in spent:
            if query.by is None or at[query.by] in query.parts:
                totals[everywhere(query)] = totals.get(everywhere(query), Fraction(0)) + Fraction(tau)
        spend = tuple(Release(query, float_above(total)) for query, total in totals.items())
        largest = max(largest, converted(model, spend))
    return largest


FAMILIES = GaussianGroups(correlation=0.4, size=3, layout=GroupLayout("height", "family"))
HEIGHTS = (Sum("height", bounds=(0, 100)), Sum("height", bounds=(0, 50)), Count("height", equals=3))

places = st.one_of(
    st.none(),
    st.tuples(st.just("district"), st.sampled_from("ABC")),
    st.tuples(st.just("tariff"), st.sampled_from("xy")),
)


@given(
    releases=st.lists(
        st.tuples(st.integers(0, 2), places, st.floats(1e-4, 1.0)),
        min_size=1,
        max_size=7,
    )
)
@pytest.mark.parametrize(
    ("model", "queries"),
    [(CHAIN, (ON, Count("on", equals=0), Histogram("on", cells=[0, 1]))), (FAMILIES, HEIGHTS)],
)
def test_the_account_is_the_largest_of_any_part(
    model: Model, queries: Sequence[Query], releases: list[tuple[int, tuple[str, str] | None, float]]
) -> None:
    spent: dict[Query, Fraction] = {}
    for kind, place, tau in releases:
        query = queries[kind] if place is None else replace(queries[kind], by=place[0], by_cells=(place[1],))
        before = tuple(Release(each, float_above(total)) for each, total in spent.items())
        cost = Accountant(model).cost_of((query,), tau=tau, spent=before, budget=1e9)
        spent[query.ledger_key().query] = spent.get(query.ledger_key().query, Fraction(0)) + Fraction(tau)
        after = tuple(Release(each, float_above(total)) for each, total in spent.items())
        assert Accountant(model).leaked(after) == pytest.approx(most_of_any_part(model, after), rel=1e-12)
        ulp = 1 + 1e-15  # a bound that is searched for may fall by an ulp as τ rises by one
        assert Accountant(model).leaked(after) <= cost.total * ulp <= Accountant(model).leaked(after) * (1 + 1e-12)
        assert 0 <= cost.epsilon <= cost.total


def test_names_that_a_database_holds_for_one_are_one_part(tmp_path: Path) -> None:
    """A column may be compared without regard to case: 'North' and 'north' are then the same records."""
    connection = pytest.importorskip("duckdb").connect()
    connection.execute("CREATE TABLE homes (lit INTEGER, district VARCHAR COLLATE NOCASE)")
    connection.execute(
        "INSERT INTO homes SELECT i % 2, CASE WHEN i < 40 THEN 'north' ELSE 'south' END FROM range(80) r(i)"
    )
    homes = connection.table("homes")
    reported: dict[str, Any] = {"ledger": tmp_path / "budget.db", "dataset": "homes", "public": ["district"]}
    with Session(homes, Independent(), epsilon=3.0, **reported) as session:
        one, other = (
            session.release(Count("lit", equals=1, by="district", by_cells=[cell]), epsilon=1.0)
            for cell in ("north", "NORTH")
        )
        assert session.leaked == pytest.approx(one.tau + other.tau)
        together = session.release_by(Count("lit", equals=0, by="district", by_cells=["north", "North"]), epsilon=1.0)
        assert sum(answer.tau for answer in together) <= 1.0


def test_the_scope_of_the_worst_part_is_not_that_of_the_others(tmp_path: Path) -> None:
    """In B the noise was chosen for heights 10 apart; what it leaks about heights 100 apart is more than ε in all."""
    frame = polars.DataFrame({"height": [40.0, 50.0, 60.0] * 8, "family": [i // 3 for i in range(24)]})
    frame = frame.with_columns(
        region=polars.when(polars.col("family") < 4).then(polars.lit("A")).otherwise(polars.lit("B"))
    )
    wide, narrow = (Sum("height", bounds=bounds) for bounds in ((0, 100), (45, 55)))
    reported: dict[str, Any] = {"ledger": tmp_path / "budget.db", "dataset": "families", "public": ["region"]}
    with Session(frame, FAMILIES, epsilon=10.0, **reported) as session:
        (first,) = session.release_by(replace(wide, by="region", by_cells=["A"]), epsilon=3.0)
        (second,) = session.release_by(replace(narrow, by="region", by_cells=["B"]), epsilon=1.9)
    assert second.epsilon_total == first.epsilon_total
    far = replace(FAMILIES, distance=100.0)
    assert bdp.leakage(far, narrow, tau=second.tau).epsilon > second.epsilon_total
    assert second.scope.startswith(f"{first.scope}; of other parts of the table: target values at most 10 apart")


@given(
    asked=st.lists(st.tuples(places, st.floats(0.05, 2.0)), min_size=1, max_size=6),
    budget=st.floats(0.5, 4.0),
)
def test_no_sequence_of_releases_on_parts_passes_the_budget(
    asked: list[tuple[tuple[str, str] | None, float]], budget: float
) -> None:
    spent: Spend = ()
    for place, epsilon in asked:
        query = ON if place is None else on_in(place[1], by=place[0])
        with suppress(BudgetError):
            cost = Accountant(CHAIN).affordable((query,), epsilon=epsilon, spent=spent, budget=budget)
            assert cost.total <= budget
            assert cost.epsilon <= float_above(Fraction(epsilon))
            spent = (*spent, Release(query.ledger_key().query, cost.tau))
    assert most_of_any_part(CHAIN, spent) <= budget


def test_a_release_on_a_part_is_limited_by_that_part_only() -> None:
    spent = (
        Release(
            on_in("A").ledger_key().query, Accountant(CHAIN).affordable((ON,), epsilon=1.0, spent=(), budget=1.0).tau
        ),
    )
    other = Accountant(CHAIN).affordable((on_in("B"),), epsilon=1.0, spent=spent, budget=1.0)
    assert other.tau == pytest.approx(spent[0].tau, rel=1e-6)
    assert other.epsilon == pytest.approx(1.0, abs=1e-6)
    for touching in (on_in("A"), ON, on_in("A", "B"), on_in("x", by="tariff")):
        with pytest.raises(BudgetError):
            Accountant(CHAIN).affordable((touching,), epsilon=0.5, spent=spent, budget=1.0)


def test_a_lowered_budget_passed_by_one_part_stops_all_parts() -> None:
    spent, accountant = (Release(on_in("A").ledger_key().query, 1.0),), Accountant(CHAIN)
    half = accountant.leaked(spent) / 2
    with pytest.raises(BudgetError):
        accountant.affordable((on_in("B"),), epsilon=0.1, spent=spent, budget=half)
    with pytest.raises(BudgetError):
        accountant.cost_of((on_in("B"),), tau=0.01, spent=spent, budget=half)


def test_cells_of_one_column_meet_only_themselves() -> None:
    assert meet(Reading(on_in("A")), Reading(on_in("A", "B")))
    assert meet(Reading(on_in("A")), Reading(ON))
    assert meet(Reading(ON), Reading(on_in("A")))
    assert meet(Reading(on_in("A")), Reading(on_in("A", by="tariff")))
    assert not meet(Reading(on_in("A")), Reading(on_in("B")))
    assert meet(Reading(on_in(1)), Reading(on_in("1")))
    assert meet(Reading(on_in(True)), Reading(on_in(1.0)))


def test_a_thousand_parts_that_spent_the_same_are_one_conversion() -> None:
    spent = tuple(Release(on_in(number).ledger_key().query, 0.25) for number in range(1000))
    assert len(exposures(spent, (Reading(on_in(*range(1000)).ledger_key().query),))) == 1


# --- against every adversary ------------------------------------------------------------------------------------------


def on_part(kernel: Any, part: int, parts: int) -> Any:
    """Return the kernel of a mechanism that sees two records of one part, as one of all records of all parts."""
    table = np.asarray(kernel)
    shape = [1] * (2 * parts) + [table.shape[-1]]
    shape[2 * part], shape[2 * part + 1] = table.shape[0], table.shape[1]
    return np.broadcast_to(table.reshape(shape), (2,) * (2 * parts) + (table.shape[-1],))


@settings(deadline=None)
@given(
    matrix=transition_matrices(2),
    asked=st.lists(
        st.tuples(st.sampled_from([None, "A", "B"]), st.floats(0.05, 1.0), st.booleans()), min_size=1, max_size=3
    ),
)
def test_joint_leakage_of_chains_is_at_most_the_account(
    matrix: list[list[float]], asked: list[tuple[str | None, float, bool]]
) -> None:
    """Two chains of two records: every adversary, every output of all releases together, on parts and on all."""
    chain = MarkovChain(matrix, length=2, start="any", layout=ChainLayout("t", "meter"))
    one = oracle.chain_joint(chain, 2, [0.4, 0.6])
    joint = np.multiply.outer(one, one)
    spent: Spend = ()
    kernels = []
    for cell, epsilon, record_by_record in asked:
        query = Count(equals=1) if cell is None else Count(equals=1, by="district", by_cells=[cell])
        cost = Accountant(chain).affordable((query,), epsilon=epsilon, spent=spent, budget=100.0)
        spent = (*spent, Release(query.ledger_key().query, cost.tau))
        records = 4 if cell is None else 2
        kernel = (
            oracle.randomized_response(1 / (1 + np.exp(cost.tau)), records)
            if record_by_record and cell is not None
            else oracle.laplace_sum([0.0, 1.0], records, cost.tau)
        )
        kernels.append(kernel if cell is None else on_part(kernel, "AB".index(cell), 2))
        found = oracle.bdpl(joint, oracle.joint_release(*kernels))
        assert found.epsilon <= cost.total + 1e-9
        own = [place for place in range(2) if cell is None or place == "AB".index(cell)]
        if found.target // 2 in own:
            assert found.epsilon <= cost.before + cost.epsilon + 1e-9


def test_three_chains_together_leak_what_one_does() -> None:
    """Three chains of one or two records, each by randomized response: together they leak what one of them does."""
    chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]], length=2, layout=ChainLayout("t", "meter"))
    one, flips = oracle.chain_joint(chain, 2), oracle.randomized_response(1 / (1 + math.e), 2)
    alone = oracle.bdpl(one, flips).epsilon
    two = oracle.bdpl(
        np.multiply.outer(one, one), oracle.joint_release(on_part(flips, 0, 2), on_part(flips, 1, 2))
    ).epsilon
    third = np.multiply.outer(np.multiply.outer(one, one), np.array([0.3, 0.7]))
    shape = (*third.shape, 2)
    last = np.broadcast_to(np.asarray(oracle.randomized_response(1 / (1 + math.e), 1)).reshape(1, 1, 1, 1, 2, 2), shape)
    wide = [np.broadcast_to(on_part(flips, part, 2)[..., None, :], (*third.shape, 4)) for part in (0, 1)]
    three = oracle.bdpl(third, oracle.joint_release(*wide, last)).epsilon
    assert two == pytest.approx(alone, abs=1e-9)
    assert three == pytest.approx(alone, abs=1e-9)
    spent = tuple(Release(Count(equals=1, by="d", by_cells=[cell]).ledger_key().query, 1.0) for cell in "ABC")
    assert alone <= Accountant(chain).leaked(spent) + 1e-9
    assert Accountant(chain).leaked(spent) == Accountant(chain).leaked(spent[:1])


def test_parts_that_share_a_chain_leak_more_than_either() -> None:
    """Why a chain must not be cut: two records that are always equal, one in each part, leak the sum."""
    joint = np.array([[0.5, 0.0], [0.0, 0.5]])
    flips = np.asarray(oracle.randomized_response(1 / (1 + math.e), 1))
    both = [np.broadcast_to(flips.reshape(shape), (2, 2, 2)) for shape in ((2, 1, 2), (1, 2, 2))]
    assert oracle.bdpl(joint, oracle.joint_release(*both)).epsilon == pytest.approx(2.0)


# --- releases ---------------------------------------------------------------------------------------------------------


def test_twelve_districts_have_the_error_of_one(session: Session) -> None:
    answers = session.release_by(on_in(*DISTRICTS), epsilon=1.0)
    assert session.leaked <= 1.0
    one = Accountant(session.model).affordable((ON,), epsilon=1.0, spent=(), budget=1.0)
    twelve = Accountant(session.model).affordable((ON,) * 12, epsilon=1.0, spent=(), budget=1.0)
    assert {answer.tau for answer in answers} == {one.tau}
    assert one.tau == pytest.approx(12 * twelve.tau, rel=1e-5)
    assert [answer.query.by_cells for answer in answers] == [(cell,) for cell in DISTRICTS]
    assert len({answer.entry for answer in answers}) == 12
    assert answers["C"].records == 150
    assert answers.epsilon <= 1.0
    assert "independent of one another" in answers.guarantee
    assert "parts by district" in answers["C"].guarantee
    assert "This ε is for" not in answers["C"].guarantee
    assert "for district = 'C'" in str(answers["C"])
    assert Answers.from_dict(json.loads(answers.to_json())) == answers
    assert str(answers).count("\n") >= 14
    with pytest.raises(KeyError):
        answers["M"]


def test_the_noise_is_added_to_what_each_part_holds(meters: polars.DataFrame, tmp_path: Path) -> None:
    truth = dict(meters.group_by("district").agg(polars.col("on").sum()).rows())
    total = dict(meters.group_by("district").agg(polars.col("power").sum()).rows())
    model = Independent()
    with Session(
        meters, model, epsilon=500.0, ledger=tmp_path / "budget.db", dataset="meters", public=PUBLIC
    ) as opened:
        counts = opened.release_by(on_in(*DISTRICTS), epsilon=100.0)
        sums = opened.release_by(Sum("power", bounds=(0, 1), by="district", by_cells=DISTRICTS), epsilon=100.0)
        means = opened.release_by(Mean("power", bounds=(0, 1), by="number", by_cells=range(1, 13)), epsilon=100.0)
        shares = opened.release_by(bdp.Proportion("on", equals=1, by="flat", by_cells=["true", False]), epsilon=100.0)
        cells = opened.release_by(Histogram("on", cells=[0, 1], by="district", by_cells=["A", "B"]), epsilon=50.0)
    assert dict(counts.values) == truth
    for number, cell in enumerate(DISTRICTS, start=1):
        assert sums.values[cell] == pytest.approx(total[cell], abs=1.0)
        assert means[number].value == pytest.approx(total[cell] / 150, abs=0.01)
    assert shares.parts == (True, False)
    assert shares[1].records == 900
    assert cells["A"].value == (150 - truth["A"], truth["A"])


def test_a_part_is_asked_again_for_nothing_however_it_is_named(session: Session) -> None:
    answers = session.release_by(on_in(1, 2, 3, by="number"), epsilon=0.5)
    assert [answer.reused for answer in session.release_by(on_in(3, 2, 1, by="number"), epsilon=0.5)] == [True] * 3
    for spelled in (2, 2.0, "2"):
        again = session.release(on_in(spelled, by="number"), epsilon=0.5)
        assert again.reused
        assert again.value == answers[2].value
    before = session.leaked
    session.release(on_in("3", by="number", equals=0), epsilon=0.25)
    assert session.leaked > before
    session.release(on_in(1, by="number", equals=0), epsilon=0.25)
    assert session.leaked == pytest.approx(before + 0.25, abs=1e-6)


def test_a_release_on_all_touches_every_part(session: Session) -> None:
    session.release_by(on_in(*DISTRICTS), epsilon=0.5)
    everywhere = session.release(ON, epsilon=0.5)
    assert everywhere.epsilon_total == session.leaked == pytest.approx(1.0, abs=1e-6)
    one = session.release(on_in("A", equals=0), epsilon=0.5)
    assert one.epsilon == pytest.approx(0.5, abs=1e-6)
    assert one.epsilon_total == pytest.approx(1.5, abs=1e-6)
    other = session.release(on_in("B", equals=0), epsilon=0.25)
    assert other.epsilon == pytest.approx(0.25, abs=1e-6)
    assert other.epsilon_total == pytest.approx(1.5, abs=1e-6)
    with pytest.raises(BudgetError):
        session.release(Count("on", equals=0), epsilon=0.75)


def test_questions_about_one_part_share_their_epsilon(session: Session) -> None:
    answers = session.release_all([on_in("A", "B"), on_in("B", "C", equals=0)], epsilon=1.0)
    assert len(answers) == 4
    assert session.leaked == pytest.approx(1.0, abs=1e-6)
    alone = Accountant(session.model).affordable((ON,), epsilon=1.0, spent=(), budget=1.0)
    assert answers[0].tau == pytest.approx(alone.tau / 2, rel=1e-5)
    assert any("for 2 answers" in note for note in answers[0].notes)


def test_a_preview_by_parts_is_that_of_the_least_accurate(session: Session) -> None:
    shown = session.preview(on_in(*DISTRICTS), epsilon=1.0)
    assert shown.query == on_in(*DISTRICTS)
    assert shown.epsilon_total <= 1.0
    answers = session.release_by(on_in(*DISTRICTS), epsilon=1.0)
    assert shown.alpha == answers["A"].accuracy()
    assert session.preview(on_in(*DISTRICTS), epsilon=1.0).stored


def test_a_ledger_with_parts_verifies_and_is_shown(session: Session, tmp_path: Path) -> None:
    session.release_by(on_in("A", "B"), epsilon=0.5)
    session.release(ON, epsilon=0.5)
    with Ledger(tmp_path / "budget.db") as ledger:
        assert ledger.verify().ok
        totals = ledger.state("meters").totals
    assert [(total.query.get("by"), total.query.get("parts")) for total in totals] == [
        ("district", ["A"]),
        ("district", ["B"]),
        (None, None),
    ]
    assert len(session.history) == 3


def test_crashes_leave_the_charge_on_its_parts_only(
    session: Session, meters: polars.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(self: Account, *_: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Account, "answer", crash)
        with pytest.raises(KeyboardInterrupt):
            session.release_by(on_in("A", "B"), epsilon=2.0)
    assert session.leaked == pytest.approx(2.0, abs=1e-6)
    with pytest.raises(BudgetError):
        session.release(ON, epsilon=0.1)
    monkeypatch.setattr("bayesdp.session.retries.PATIENCE", 0.0)
    assert session.release(on_in("A"), epsilon=1.0).epsilon == pytest.approx(2.0, abs=1e-6)  # it was paid for
    with pytest.raises(BudgetError):
        session.release(on_in("A"), epsilon=2.1)
    assert session.release(on_in("C"), epsilon=2.0).epsilon_total <= 2.0
    with Ledger(tmp_path / "budget.db") as ledger:
        assert ledger.verify().ok


def test_threads_that_release_on_parts_stay_within_the_budget(meters: polars.DataFrame, tmp_path: Path) -> None:
    with Session(meters, CHAIN, epsilon=1.0, ledger=tmp_path / "budget.db", dataset="meters", public=PUBLIC) as opened:
        opened.open_account()

    def work(number: int) -> int:
        released = 0
        with Session(meters, CHAIN, ledger=tmp_path / "budget.db", dataset="meters") as mine:
            for turn in range(3):
                cells = ("A", "B") if (number + turn) % 2 else ("B", "C")
                with suppress(BudgetError):
                    mine.release_by(on_in(*cells, where=f"on < {number * 3 + turn}"), epsilon=0.3)
                    released += 1
        return released

    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(work, range(3))) >= 3
    with (
        Session(meters, CHAIN, ledger=tmp_path / "budget.db", dataset="meters") as after,
        Ledger(tmp_path / "budget.db") as ledger,
    ):
        assert 0.6 < after.leaked <= 1.0
        assert ledger.verify().ok


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (on_in("A", by="on"), "values that are protected"),
        (on_in(0.5, by="power"), "does not name as public"),
        (on_in("A", by="number"), "which 'A' is not"),
        (on_in(1, "1", by="number"), "asked twice"),
        (on_in("A", by="nowhere"), "nowhere"),
    ],
)
def test_columns_that_name_no_parts_are_refused(session: Session, query: Query, reason: str) -> None:
    with pytest.raises(bdp.errors.BayesDPError, match=reason):
        session.release_all([query], epsilon=0.5)
    assert session.leaked == 0.0


def test_missing_parts_are_refused_discreetly(session: Session, meters: polars.DataFrame) -> None:
    query = on_in("A", "M")
    with pytest.raises(RefusedError):
        session.release_all([query], epsilon=0.5)
    assert session.leaked == 0.0
    with pytest.raises(RecordsError, match="'M'"):
        bdp.check_table(meters, CHAIN, query)


def test_a_part_without_a_name_is_refused(meters: polars.DataFrame, tmp_path: Path) -> None:
    holes = meters.with_columns(district=polars.when(polars.col("meter") > 3).then("district"))
    for missing in ("error", "drop"):
        with (
            Session(
                holes, CHAIN, epsilon=2.0, ledger=tmp_path / missing, dataset="m", missing=missing, public=PUBLIC
            ) as opened,
            pytest.raises(RefusedError),
        ):
            opened.release(on_in("A"), epsilon=0.5)


@pytest.mark.parametrize(
    "model",
    [
        MarkovChain([[0.9, 0.1], [0.3, 0.7]], column="on", length=1800),
        MarkovChain([[0.9, 0.1], [0.3, 0.7]], column="on", layout=ChainLayout(["meter", "hour"])),
        ArbitraryGroups(50),
        AnyOf(CHAIN, ArbitraryGroups(50, column="on")),
        GaussianGroups(correlation=0.5, size=4),
    ],
)
def test_without_chains_told_apart_there_are_windows(model: Model) -> None:
    query = Sum("on", bounds=(0, 1), by="district", by_cells=["A"])
    assert bdp.leakage(model, query, tau=1.0).epsilon >= 1.0


def test_every_model_that_may_hold_must_have_the_parts(meters: polars.DataFrame, tmp_path: Path) -> None:
    streets = ArbitraryGroups(1000, group=["flat"], column="on")
    with Session(
        meters, AnyOf(CHAIN, streets), epsilon=2.0, ledger=tmp_path / "b", dataset="m", public=PUBLIC
    ) as opened:
        assert opened.release(on_in(True, by="flat"), epsilon=0.5).query.part_column == "flat"
        assert opened.release(on_in("A"), epsilon=0.5).query.part_column is None  # a window: streets have several


def test_questions_by_parts_that_make_no_sense() -> None:
    for wrong in ({"by": "district"}, {"by_cells": ["A"]}, {"by": "", "by_cells": ["A"]}, {"by": "d", "by_cells": []}):
        with pytest.raises(QueryError):
            Count("on", equals=1, **wrong)
    with pytest.raises(QueryError):
        Count("on", equals=1, by="d", by_cells=["A", "A"])


def test_release_and_release_by_say_which_of_them_is_meant(session: Session) -> None:
    with pytest.raises(InvalidInputError, match="release_by"):
        session.release(on_in("A", "B"), epsilon=0.5)
    with pytest.raises(InvalidInputError, match="parts or windows"):
        session.release_by(ON, epsilon=0.5)


def test_an_account_that_was_opened_without_parts_takes_them(meters: polars.DataFrame) -> None:
    with TemporaryDirectory() as folder:
        place = Path(folder) / "budget.db"
        with Session(meters, CHAIN, epsilon=2.0, ledger=place, dataset="m", public=PUBLIC) as opened:
            opened.release(ON, epsilon=0.5)
        with Session(meters, CHAIN, ledger=place, dataset="m") as opened:
            opened.release_by(on_in("A", "B"), epsilon=0.5)
            assert opened.leaked == pytest.approx(1.0, abs=1e-6)
