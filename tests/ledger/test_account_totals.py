"""How an account stands: exact sums, and a seal that changes with everything it stands for."""

from dataclasses import replace
from fractions import Fraction
from math import nextafter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger.account_totals import AccountTotals, Subtotal

NEW = AccountTotals.opened({"model": {"type": "independent"}, "description": {"records": 9}, "budget": 2.0})
COUNT = {"query": "count"}


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(5e-324, 1e300)), min_size=1, max_size=12))
def test_taus_are_added_exactly_by_key_and_rounded_up_once(charges: list[tuple[str, float]]) -> None:
    totals = NEW
    for number, (key, tau) in enumerate(charges, start=2):
        totals = totals.charged(number, key, COUNT, tau)
    exact = {key: sum(Fraction(tau) for other, tau in charges if other == key) for key, _ in charges}
    assert [total.key for total in totals.totals] == list(exact), "oldest first"
    for total in totals.totals:
        assert total.tau is not None
        assert Fraction(nextafter(total.tau, 0)) < exact[total.key] <= Fraction(total.tau)
    assert totals.charges == len(charges)
    assert [row.since for row in totals.subtotals] == [2 + [k for k, _ in charges].index(key) for key in exact]


def test_a_key_stands_for_one_query_however_it_is_written() -> None:
    spent = NEW.charged(2, "count", {"query": "count", "equals": 1}, 0.5)
    assert spent.charged(3, "count", {"equals": 1, "query": "count"}, 0.5).subtotals[0].tau == "1"
    with pytest.raises(LedgerError, match="the key 'count' stands for another query already"):
        spent.charged(3, "count", COUNT, 0.5)


SPENT = NEW.charged(2, "count", COUNT, 0.5)


@pytest.mark.parametrize(
    "other",
    [
        replace(SPENT, budget=3.0),
        replace(SPENT, charges=2),
        replace(SPENT, model="x"),
        replace(SPENT, description="x"),
        replace(SPENT, subtotals=()),
        replace(SPENT, promise='{"definition":"approximate","delta":1e-06}'),
        *(
            replace(SPENT, subtotals=(row,))
            for row in (
                Subtotal("sum", '{"query":"count"}', "1/2", 2),
                Subtotal("count", "{}", "1/2", 2),
                Subtotal("count", '{"query":"count"}', "3/4", 2),
                Subtotal("count", '{"query":"count"}', "1/2", 3),
            )
        ),
    ],
)
def test_the_seal_changes_with_everything(other: AccountTotals) -> None:
    assert SPENT.subtotals == (Subtotal("count", '{"query":"count"}', "1/2", 2),)
    assert SPENT.seal == replace(SPENT).seal
    assert other.seal != SPENT.seal


@pytest.mark.parametrize("tau", ["0", "-1/2", "1/0", "x", "", None])
def test_a_total_that_cannot_be_one_is_damage(tau: Any) -> None:
    damaged = replace(SPENT, subtotals=(Subtotal("count", "{}", tau, 2),))
    with pytest.raises(LedgerError, match="the ledger is damaged: a total cannot be read"):
        _ = damaged.totals


def test_what_no_account_can_be_is_refused() -> None:
    for budget in (0, -1.0, float("inf"), True):
        with pytest.raises(InvalidInputError, match="budget"):
            NEW.with_budget(budget)
    with pytest.raises(InvalidInputError, match="tau"):
        NEW.charged(2, "count", COUNT, 0.0)
    with pytest.raises(LedgerError, match="too large for a floating-point number; nothing was charged"):
        NEW.charged(2, "count", COUNT, 1.7e308).charged(3, "count", COUNT, 1.7e308)
    with pytest.raises(LedgerError, match="has a value beyond JSON"):
        _ = replace(NEW, budget=float("nan")).seal
