"""Windows: a record pays only for the answers it is in, whatever the records have to do with one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import isclose
from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesdp import AnyOf, ArbitraryGroups, Count, GaussianGroups, Independent, MarkovChain, OddsChain, Session, Sum
from bayesdp.errors import BudgetError, CalibrationError, NoColumnError, QueryError
from bayesdp.losses import ConcentratedLoss, PureLoss
from bayesdp.models import ChainLayout, Model
from bayesdp.queries import AnyMechanism, Query
from bayesdp.queries.region import Region
from bayesdp.rounding import float_above
from bayesdp.session.accounting import Accountant, remaining
from bayesdp.session.approximate_accounting import ApproximateAccountant
from bayesdp.session.parts import Exposure, merged
from bayesdp.session.windows import conversions
from bayesdp.theorems.leakage import Composition
from bayesdp.theorems.spend import Release, Spend

CHAIN = MarkovChain([[0.88, 0.12], [0.3, 0.7]])
FAMILY = GaussianGroups(correlation=0.4, size=3, column="height")
ONES = Count(equals=1)
WIDE, NARROW = Sum("height", bounds=(0, 100)), Sum("height", bounds=(0, 50))
TIMES, HOURS = range(6), ("7", "8", "9")


def days(since: int, until: int, *hours: str) -> Region:
    return Region("day", since, until, (("hour", tuple(sorted(set(hours)))),) * bool(hours))


def reads(region: Region | None, day: int, hour: str) -> bool:
    if region is None:
        return True
    assert isinstance(region.since, int)
    assert isinstance(region.until, int)
    return region.since <= day < region.until and all(hour in cells for _, cells in region.cells)


@st.composite
def regions(draw: st.DrawFn) -> Region | None:
    if draw(st.integers(0, 4)) == 0:
        return None
    since, until = sorted(draw(st.lists(st.integers(0, 6), min_size=2, max_size=2, unique=True)))
    return days(since, until, *draw(st.lists(st.sampled_from(HOURS), max_size=2)))


asked = st.lists(st.tuples(regions(), st.floats(0.01, 1.0)), min_size=1, max_size=6)


def most_met(spent: Spend) -> Fraction:
    """Return the largest total over records, by a plain loop over all of them."""
    return max(
        sum((Fraction(each.tau) for each in spent if reads(each.region, day, hour)), Fraction(0))
        for day, hour in product(TIMES, (*HOURS, "10"))
    )


@settings(max_examples=25)
@given(asked=asked)
@pytest.mark.parametrize("model", [CHAIN, OddsChain(9.0), AnyOf(CHAIN, ArbitraryGroups(4)), Independent()])
def test_the_account_converts_the_largest_total_once(model: Model, asked: list[tuple[Region | None, float]]) -> None:
    spent = merged(Release(ONES.ledger_key().query, tau, region) for region, tau in asked)
    expected = Composition(model).proven((Release(AnyMechanism(), float_above(most_met(spent))),))
    assert Accountant(model).leaked(spent) == expected


@settings(max_examples=25)
@given(asked=asked, budget=st.floats(0.5, 4.0))
@pytest.mark.parametrize(
    ("model", "queries"),
    [(CHAIN, (ONES,)), (FAMILY, (WIDE, NARROW)), (FAMILY, (WIDE, Count("height", equals=1))), (FAMILY, (WIDE,))],
)
def test_a_release_costs_what_it_adds_for_the_records_it_reads(
    model: Model, queries: Sequence[Query], asked: list[tuple[Region | None, float]], budget: float
) -> None:
    account = Accountant(model)
    spent: Spend = ()
    for number, (region, epsilon) in enumerate(asked):
        query = queries[number % len(queries)]
        about = account.leaked_about((query,), spent, (region,))
        if epsilon > remaining(budget, about):
            with pytest.raises(BudgetError):
                account.affordable((query,), epsilon=epsilon, spent=spent, budget=budget, regions=(region,))
            continue
        try:
            cost = account.affordable((query,), epsilon=epsilon, spent=spent, budget=budget, regions=(region,))
        except CalibrationError:  # a wide sum after a narrow one: even with any noise, it covers values farther apart
            continue
        assert cost.before == about <= account.leaked(spent)
        assert cost.total == account.leaked(cost.spend) <= budget
        assert Fraction(cost.after) <= Fraction(cost.before) + Fraction(epsilon)
        spent = cost.spend


def test_another_month_costs_nothing_and_all_records_their_sum() -> None:
    account, months = Accountant(CHAIN), [days(30 * month, 30 * month + 30) for month in range(12)]
    spent: Spend = ()
    for month in months:
        cost = account.affordable((ONES,), epsilon=1.0, spent=spent, budget=1.0, regions=(month,))
        spent = cost.spend
        assert (cost.before, cost.epsilon) == (0.0, cost.total)
        assert 1.0 - 1e-9 <= cost.total <= 1.0
    with pytest.raises(BudgetError):
        account.affordable((ONES,), epsilon=0.5, spent=spent, budget=1.0, regions=(months[3],))
    whole = account.affordable((ONES,), epsilon=0.5, spent=spent, budget=2.0)
    once = account.affordable((ONES,), epsilon=0.5, spent=(Release(ONES.ledger_key().query, spent[0].tau),), budget=2.0)
    assert (whole.tau, whole.total) == (once.tau, once.total)


def test_a_profile_by_hour_costs_one_answer() -> None:
    hours = tuple(Region(cells=(("hour", (str(hour),)),)) for hour in range(24))
    one = Accountant(CHAIN).affordable((ONES,), epsilon=1.0, spent=(), budget=1.0)
    all_hours = Accountant(CHAIN).affordable((ONES,) * 24, epsilon=1.0, spent=(), budget=1.0, regions=hours)
    assert (all_hours.tau, all_hours.total) == (one.tau, one.total)


def test_sums_of_normal_records_keep_their_own_theorem() -> None:
    month = [Release(WIDE.ledger_key().query, 0.5, days(place, place + 1)) for place in range(3)]
    once = Composition(FAMILY).proven((Release(WIDE.ledger_key().query, 0.5),))
    assert Accountant(FAMILY).leaked(tuple(month)) == once < Composition(FAMILY).proven((Release(AnyMechanism(), 0.5),))
    narrow = Release(NARROW.ledger_key().query, 0.25, days(0, 1))
    by_key = Composition(FAMILY).proven((Release(WIDE.ledger_key().query, 0.5), Release(narrow.query, 0.25)))
    assert Accountant(FAMILY).leaked((*month, narrow)) == by_key


def test_another_month_fits_into_a_budget_that_is_used_up() -> None:
    account = Accountant(FAMILY)
    keys = ((WIDE, 0.5), (NARROW, 0.25))
    first = tuple(Release(query.ledger_key().query, tau, days(0, 1)) for query, tau in keys)
    budget = account.leaked(first)
    cost = account.affordable((WIDE,), epsilon=budget / 2, spent=first, budget=budget, regions=(days(1, 2),))
    assert (cost.before, cost.total) == (0.0, budget)
    assert cost.tau > 0.1


def test_parts_keep_their_stronger_rule_and_have_windows_inside() -> None:
    north, south = (Count("on", equals=1, by="district", by_cells=[cell]).ledger_key().query for cell in "NS")
    chain = replace(CHAIN, column="on", layout=ChainLayout("hour", "meter", 1))
    spent = (Release(north, 0.5, days(0, 1)), Release(north, 0.25, days(1, 2)), Release(south, 0.5, days(1, 2)))
    account = Accountant(chain)
    assert account.leaked(spent) == Composition(chain).proven((Release(AnyMechanism("on"), 0.5),))
    assert account.leaked((*spent, Release(south, 0.5))) == Composition(chain).proven(
        (Release(AnyMechanism("on"), 1.0),)
    )
    cost = account.affordable((north,), epsilon=0.5, spent=spent, budget=9.0, regions=(days(2, 3),))
    assert cost.before == 0.0


def test_an_account_with_a_delta_adds_up_by_record() -> None:
    account = ApproximateAccountant(OddsChain(17.12), 1e-6)
    months = [days(month, month + 1) for month in range(12)]
    spent: Spend = ()
    for month in months:
        (cost,) = account.offers(
            (ONES,), epsilon=None, share=0.5, noise="gaussian", spent=spent, budget=1.0, regions=(month,)
        )
        spent = cost.spend
    assert {each.loss for each in spent} == {spent[0].loss}
    assert account.leaked(spent, 1.0) == account.leaked(spent[:1], 1.0)
    assert cost.further == 1
    (whole,) = account.offers((ONES,), epsilon=None, share=0.5, noise="gaussian", spent=spent, budget=1.0)
    assert isinstance(whole.loss, ConcentratedLoss)
    with pytest.raises(BudgetError):
        account.cost_of_loss((ONES,), PureLoss(0.01), spent=whole.spend, budget=1.0, regions=(months[0],))
    some = account.cost_of_loss((ONES,), PureLoss(0.01), spent=spent, budget=1.0, regions=(days(12, 13),))
    assert some.before == 0.0
    assert isclose(account.leaked(some.spend, 1.0), account.leaked(spent, 1.0))


def test_a_release_made_elsewhere_may_read_a_window(tmp_path: Path) -> None:
    days = [day for day in range(40) for _ in "ab"]
    frame = polars.DataFrame({"day": days, "on": [0, 1] * 40, "room": ["a", "b"] * 40})
    frame = frame.with_columns(late=polars.col("day") % 4 == 3)
    chain = replace(CHAIN, column="on", layout=ChainLayout("day", "room"))
    stated: dict[str, Any] = {"tau": 0.1, "neighbours": "replace"}
    with Session(frame, chain, dataset="d", epsilon=9.0, ledger=tmp_path / "b.db", public=["late"]) as session:
        first = session.record(what="the first ten days", window={"since": 0, "until": 10}, **stated)
        rest = session.record(what="the rest", window={"since": 10}, **stated)
        assert first.epsilon == rest.epsilon == rest.epsilon_total
        assert first.window == {"order": {"column": "day", "since": 0, "until": 10}}
        assert "in day from 0 to before 10" in str(first)
        late = session.record(what="late", window={"by_cells": {"late": [True]}}, **stated)
        assert late.epsilon_total == session.leaked > rest.epsilon_total
        windows: tuple[Any, ...] = (
            {},
            {"rank": 3},
            {"by_cells": {"on": [1]}},
            {"by_cells": {"other": [1]}},
            {"by_cells": 3},
            [0, 10],
        )
        for window in windows:
            with pytest.raises((QueryError, NoColumnError)):
                session.record(what="elsewhere", window=window, **stated)
        assert session.leaked == late.epsilon_total


def test_what_is_not_pure_counts_as_read_by_all() -> None:
    spent = (Release(ONES, ConcentratedLoss(0.1), days(0, 1)), Release(ONES, 0.5, days(1, 2)))
    (way,) = conversions(Exposure(spent))
    assert {each.region for each in way.spent} == {None}
    assert len(way.spent) == 2
