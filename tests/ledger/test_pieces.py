"""Totals about windows: what every record met, exactly, in as few regions as neighbours of equal total allow."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger.account_totals import AccountTotals
from bayesdp.ledger.amounts import Amounts
from bayesdp.ledger.pieces import Pieces, read, with_charge, written
from bayesdp.queries.region import Region

TIMES, HOURS = range(-1, 7), ("0", "1", "2", "3")


def cost(tau: float, since: Any = None, until: Any = None, hours: Any = (), rho: Any = None) -> Amounts:
    region = Region(
        "t" if (since, until) != (None, None) else None, since, until, (("hour", tuple(hours)),) * bool(hours)
    )
    loss: Any = {"tau": tau} if rho is None else {"loss": {"definition": "pure", "tau": tau, "rho": rho}}
    return Amounts.of({**loss, "region": region.to_dict()})


def total_at(pieces: Pieces, time: int, hour: str) -> Fraction:
    """Return the sum of what a record met."""
    met = Fraction(0)
    for piece in pieces:
        region = piece.region
        assert region is not None
        inside = all(hour in values for _, values in region.cells)
        since, until = region.since, region.until
        if inside and (since is None or since <= time) and (until is None or time < until):  # type: ignore[operator]
            met += dict(piece.exact)["tau"]
    return met


@st.composite
def costs(draw: st.DrawFn) -> Amounts:
    since, until = sorted(draw(st.lists(st.integers(0, 6), min_size=2, max_size=2, unique=True)))
    ends = draw(st.sampled_from([(since, until), (since, None), (None, until)]))
    hours = (
        draw(st.lists(st.sampled_from(HOURS[:3]), min_size=1, max_size=2, unique=True)) if draw(st.booleans()) else ()
    )
    return cost(draw(st.sampled_from([0.25, 0.5])), *ends, sorted(hours))


@given(charges=st.lists(costs(), min_size=1, max_size=9))
def test_every_record_met_the_sum_of_what_read_it(charges: list[Amounts]) -> None:
    pieces: Pieces = (charges[0],)
    for charge in charges[1:]:
        pieces = with_charge(pieces, charge)
        assert read(written(pieces)) == pieces
    for time, hour in product(TIMES, HOURS):
        assert total_at(pieces, time, hour) == sum(total_at((charge,), time, hour) for charge in charges)


def test_windows_one_after_the_other_are_kept_as_one() -> None:
    pieces: Pieces = (cost(0.5, 0, 1),)
    for day in range(1, 400):
        pieces = with_charge(pieces, cost(0.5, day, day + 1))
    assert pieces == (cost(0.5, 0, 400),)
    (first, last) = sorted(with_charge(pieces, cost(0.5, 399, 400)), key=lambda piece: piece.exact)
    assert (first.region, last.region) == (cost(0.5, 0, 399).region, cost(0.5, 399, 400).region)


def test_a_profile_that_is_published_every_day_is_kept_as_one() -> None:
    pieces: Pieces = (cost(0.5, 0, 1, "0"),)
    for day, hour in list(product(range(30), HOURS))[1:]:
        pieces = with_charge(pieces, cost(0.5, day, day + 1, hour))
        assert len(pieces) <= 3
    assert pieces == (cost(0.5, 0, 30, HOURS),)


def test_two_rays_are_not_taken_for_all_records() -> None:
    pieces = with_charge((cost(0.5, None, 3),), cost(0.5, 3, None))
    assert len(pieces) == 2
    assert total_at(pieces, 3, "0") == Fraction(1, 2)


def test_ends_that_cannot_be_compared_are_kept_apart() -> None:
    pieces = with_charge((cost(0.5, "a", "b"),), cost(0.25, "b", "c"))
    assert with_charge(pieces, cost(0.5, "a", "b")) == (cost(1.0, "a", "b"), cost(0.25, "b", "c"))
    assert len(with_charge((cost(0.5, "2012-10-01", "2012-10-02"),), cost(0.5, 3, 4))) == 2


def test_losses_with_several_amounts_are_joined_if_all_are_equal() -> None:
    first, second = (cost(0.5, day, day + 1, rho=0.125) for day in (0, 1))
    assert with_charge((first,), second) == (cost(0.5, 0, 2, rho=0.125),)
    with pytest.raises(LedgerError, match="do not add up"):
        with_charge((first,), cost(0.5, 1, 2))


@pytest.mark.parametrize("text", ["[]", '[{"loss":{"definition":"pure","tau":"1"}}]', "[1,2]", "[1,2", '["1/2","1/2"]'])
def test_what_is_no_list_of_pieces_is_refused(text: str) -> None:
    with pytest.raises((LedgerError, ValueError, InvalidInputError)):
        read(f'{{"pieces":{text}}}')


def test_an_account_says_what_each_region_met() -> None:
    account = AccountTotals.opened({"model": {}, "description": {}, "budget": 2.0})
    for number, day in enumerate((0, 1, 4, 4), start=2):
        account = account.charged(number, "week", {}, cost(0.5, day, day + 1))
    assert [(total.tau, total.region) for total in account.totals] == [
        (0.5, cost(0.5, 0, 2).region),
        (1.0, cost(0.5, 4, 5).region),
    ]
    assert len(account.subtotals) == 1
    assert len(json.loads(account.subtotals[0].tau)["pieces"]) == 2
    with pytest.raises(LedgerError, match="do not add up"):
        account.charged(6, "week", {}, 0.5)
