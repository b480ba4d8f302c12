"""The rules of docs/theory/accounting.md: convert once, never beyond the budget, totals are enough."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import AnyOf, ArbitraryGroups, Count, GaussianGroups, Histogram, MarkovChain, Sum, calibrate
from bayesdp.audit import oracle
from bayesdp.errors import BudgetError, CalibrationError, NoTheoremAppliesError, QueryError
from bayesdp.models import Model
from bayesdp.queries import Query
from bayesdp.rounding import float_above
from bayesdp.session.accounting import Accountant, remaining
from bayesdp.testing import transition_matrices
from bayesdp.theorems.leakage import Composition
from bayesdp.theorems.spend import Release, Spend

CHAIN = MarkovChain([[0.88, 0.12], [0.3, 0.7]], length=15264)
FAMILY = GaussianGroups(covariance=[[6.0, 1.5, 1.0], [1.5, 5.0, 0.5], [1.0, 0.5, 4.0]], column="height")
ONES = Count(equals=1)

epsilons = st.floats(1e-3, 3.0)


def composed(model: Model, spend: Spend) -> float:
    """Return what theorems that cover any number of releases prove."""
    return Composition(model).proven(spend)


@given(asked=st.lists(epsilons, min_size=1, max_size=5), budget=st.floats(0.5, 8.0))
@pytest.mark.parametrize(
    ("model", "query"),
    [(CHAIN, ONES), (FAMILY, Sum("height", bounds=(0, 100), step=0.5)), (ArbitraryGroups(4), Histogram(cells=[1, 2]))],
)
def test_no_sequence_of_releases_passes_the_budget(
    model: Model, query: Query, asked: list[float], budget: float
) -> None:
    spent: Spend = ()
    refusal: BudgetError | None
    for epsilon in asked:
        before = Accountant(model).leaked(spent)
        try:
            cost = Accountant(model).affordable((query,), epsilon=epsilon, spent=spent, budget=budget)
        except BudgetError as error:
            refusal = error
        else:
            refusal = None
        if refusal is not None:
            assert epsilon > refusal.remaining == remaining(budget, before)
            assert refusal.difference == refusal.requested - refusal.remaining
            continue
        assert cost.before == before
        assert cost.total <= budget
        assert Fraction(cost.total) <= Fraction(before) + Fraction(epsilon)
        assert cost.epsilon <= float_above(Fraction(epsilon))
        spent = (*spent, Release(query, cost.tau))
    assert Accountant(model).leaked(spent) <= budget


@given(first=epsilons)
def test_the_last_release_takes_all_that_remains(first: float) -> None:
    cost = Accountant(CHAIN).affordable((ONES,), epsilon=first, spent=(), budget=4.0)
    spent = (Release(ONES, cost.tau),)
    last = Accountant(CHAIN).affordable((ONES,), epsilon=cost.left, spent=spent, budget=4.0)
    assert 4.0 - 1e-7 <= last.total <= 4.0


@given(
    matrix=transition_matrices(2),
    asked=st.lists(st.tuples(st.sampled_from([0, 1]), st.floats(0.05, 1.0)), min_size=1, max_size=3),
)
def test_joint_leakage_of_releases_is_at_most_the_account(
    matrix: list[list[float]], asked: list[tuple[int, float]]
) -> None:
    model = MarkovChain(matrix, length=3, start="any")
    joint = oracle.chain_joint(model, 3, [0.5, 0.5])
    spent: Spend = ()
    kernels = []
    for state, epsilon in asked:
        query = Count(equals=state)
        cost = Accountant(model).affordable((query,), epsilon=epsilon, spent=spent, budget=100.0)
        spent = (*spent, Release(query, cost.tau))
        values = [float(state == 0), float(state == 1)]
        kernels.append(oracle.laplace_sum(values, 3, cost.tau))
        assert oracle.bdpl(joint, oracle.joint_release(*kernels)).epsilon <= cost.total + 1e-9


@given(taus=st.lists(st.floats(1e-6, 2.0), min_size=1, max_size=6))
@pytest.mark.parametrize(
    ("model", "queries"),
    [
        (CHAIN, (Count(equals=1), Count(equals=0), Histogram(cells=[0, 1]))),
        (FAMILY, (Sum("height", bounds=(0, 100)), Sum("height", bounds=(0, 50)), Count("height", equals=3))),
    ],
)
def test_totals_by_account_equal_every_release_by_itself(
    model: Model, queries: tuple[Query, ...], taus: list[float]
) -> None:
    releases = tuple(Release(queries[i % len(queries)], tau) for i, tau in enumerate(taus))
    totals: dict[Query, Fraction] = defaultdict(Fraction)
    for query, tau in releases:
        totals[query.ledger_key().query] += Fraction(tau)
    added = tuple(Release(query, float_above(total)) for query, total in totals.items())
    every = composed(model, releases)
    assert composed(model, added) == pytest.approx(every, rel=1e-9)
    assert composed(model, added) >= every * (1 - 1e-12)


def test_several_questions_share_one_tau() -> None:
    pair = (Count(equals=0), Count(equals=1))
    together = Accountant(CHAIN).affordable(pair, epsilon=1.0, spent=(), budget=1.0)
    alone = Accountant(CHAIN).affordable(pair[:1], epsilon=1.0, spent=(), budget=1.0)
    assert 2 * together.tau == pytest.approx(alone.tau, rel=1e-6)
    assert together.total <= 1.0


def test_markov_count_keeps_out_of_the_account() -> None:
    cost = Accountant(CHAIN).affordable((ONES,), epsilon=1.0, spent=(), budget=1.0)
    assert "markov-count" not in {each.theorem for each in cost.leakage.assessments}


def test_the_smallest_tau_of_the_models_that_may_hold() -> None:
    either = AnyOf(CHAIN, ArbitraryGroups(1000))
    cost = Accountant(either).affordable((ONES,), epsilon=1.0, spent=(), budget=1.0)
    assert cost.tau == Accountant(ArbitraryGroups(1000)).affordable((ONES,), epsilon=1.0, spent=(), budget=1.0).tau


def test_a_given_tau_is_refused_beyond_the_budget() -> None:
    assert Accountant(CHAIN).cost_of((ONES,), tau=0.2, spent=(), budget=1.0).total < 1.0
    with pytest.raises(BudgetError, match="requested"):
        Accountant(CHAIN).cost_of((ONES,), tau=0.5, spent=(), budget=1.0)


@given(st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=6))
def test_the_figure_charged_is_not_below_the_new_totals(taus: list[float]) -> None:
    """The ledger adds τ's exactly and rounds once: whatever it rounds to, a budget that was kept stays kept."""
    model, count = ArbitraryGroups(3), Count(equals=1)
    exact = Fraction(0)
    spent: Spend = ()
    for tau in taus:
        cost = Accountant(model).cost_of((count,), tau=tau, spent=spent, budget=1e9)
        exact += Fraction(tau)
        spent = (Release(count.ledger_key().query, float_above(exact)),)
        assert Accountant(model).leaked(spent) <= cost.total


def test_refusals() -> None:
    paper_only = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(QueryError):
        Accountant(paper_only).affordable((Count(equals="no such state"),), epsilon=1.0, spent=(), budget=1.0)
    with pytest.raises((CalibrationError, NoTheoremAppliesError)):
        Accountant(MarkovChain([[0.0, 1.0], [1.0, 0.0]])).affordable((ONES,), epsilon=1e-300, spent=(), budget=1.0)


def test_what_can_be_calibrated_can_be_afforded() -> None:
    """One theorem's figures are too large here. Calibration passed it over; accounting fell over it."""
    flips = MarkovChain([[0, 1], [1, 0]], length=50)
    chosen = calibrate(flips, ONES, epsilon=1e307)
    cost = Accountant(flips).affordable((ONES,), epsilon=1e307, spent=(), budget=1.7e308)
    assert cost.tau == chosen.tau == 2e305
    assert cost.total <= 1e307
