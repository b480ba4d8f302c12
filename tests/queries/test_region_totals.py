"""What the records of a table meet at most: against a plain loop over all records of random small tables."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.queries.region import Region
from bayesdp.queries.region_totals import Vector, cell_name, constraints, largest_totals, overlap

HOURS, DAYS = ("0", "1", "2"), ("mon", "tue")
TIMES = range(-1, 7)

ends = st.one_of(st.none(), st.integers(0, 6))
some = st.lists(st.sampled_from(HOURS), min_size=1, max_size=2, unique=True)
days = st.lists(st.sampled_from(DAYS), min_size=1, max_size=1)


@st.composite
def regions(draw: st.DrawFn) -> Region | None:
    since, until = draw(ends), draw(ends)
    if since is not None and until is not None and since >= until:
        since, until = until, since if since > until else None
    cells = {name: draw(values) for name, values in (("hour", some), ("weekday", days)) if draw(st.booleans())}
    ordered = since is not None or until is not None
    if not ordered and not cells:
        return None
    named = tuple((name, tuple(sorted(values))) for name, values in sorted(cells.items()))
    return Region("t" if ordered else None, since, until, named)


def largest_total(pieces: Iterable[tuple[Region | None, Fraction]]) -> Fraction:
    totals = largest_totals((constraints(region), (amount,)) for region, amount in pieces)
    return max((total for (total,) in totals), default=Fraction(0))


def reads(region: Region | None, record: tuple[int, str, str]) -> bool:
    """Tell whether a record is in a region."""
    if region is None:
        return True
    time, hour, day = record
    place = {"hour": hour, "weekday": day}
    within = all(place[name] in values for name, values in region.cells)
    since, until = region.since, region.until
    return within and (since is None or time >= since) and (until is None or time < until)  # type: ignore[operator]


@given(pieces=st.lists(st.tuples(regions(), st.fractions(0, 3)), max_size=7))
def test_no_record_meets_more_and_one_meets_as_much(pieces: list[tuple[Region | None, Fraction]]) -> None:
    table = product(TIMES, (*HOURS, "3"), (*DAYS, "wed"))
    most = max(sum((amount for region, amount in pieces if reads(region, record)), Fraction(0)) for record in table)
    assert largest_total(pieces) == most


@given(
    pieces=st.lists(st.tuples(regions(), st.tuples(st.fractions(0, 3), st.integers(0, 1).map(Fraction))), max_size=7)
)
def test_the_largest_totals_exceed_those_of_every_record(pieces: list[tuple[Region | None, Vector]]) -> None:
    met = {
        tuple(
            sum((amounts[kind] for region, amounts in pieces if reads(region, record)), Fraction(0)) for kind in (0, 1)
        )
        for record in product(TIMES, (*HOURS, "3"), (*DAYS, "wed"))
    }
    largest = largest_totals((constraints(region), amounts) for region, amounts in pieces)
    assert set(largest) <= met
    for one in met if pieces else ():
        assert any(one[0] <= other[0] and one[1] <= other[1] for other in largest)


def windowed(since: Any, until: Any) -> Region:
    return Region("t", since, until)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (windowed("2012-10-01", "2012-11-01"), windowed("2012-11-01", "2012-12-01"), False),
        (windowed("2012-10-01", "2012-11-02"), windowed("2012-11-01", "2012-12-01"), True),
        (windowed(None, 3), windowed(3.0, None), False),
        (windowed("2012-10-01 00:00:00", "2012-10-02 00:00:00"), windowed("2012-10-02", "2012-10-03"), True),
        (
            windowed("2012-10-01T00:00:00+02:00", "2012-10-02T00:00:00+02:00"),
            windowed("2012-10-02T00:00:00+01:00", None),
            True,
        ),
        (windowed("a", "b"), windowed("b", "c"), True),
        (windowed("1-9-2012", "2-9-2012"), windowed("2-9-2012", "3-9-2012"), True),
        (windowed(5, 3), windowed(6, 7), True),
        (windowed(3, 3), windowed(6, 7), True),
        (windowed(1, 2), Region("other", 3, 4), True),
        (Region(cells=(("c", ("North",)),)), Region(cells=(("c", ("north ",)),)), True),
        (Region(cells=(("c", ("North",)),)), Region(cells=(("c", ("South",)),)), False),
        (Region(cells=(("c", ("1",)),)), Region(cells=(("c", ("True",)),)), True),
        (Region(cells=(("c", ("1",)),)), Region(cells=(("d", ("2",)),)), True),
    ],
)
def test_what_cannot_be_shown_disjoint_overlaps(one: Region, other: Region, meet: bool) -> None:
    assert overlap(one, other) == overlap(other, one) == meet


def test_ten_thousand_windows_are_swept_at_once() -> None:
    pieces = [(Region("t", place, place + 2), Fraction(place % 7 + 1)) for place in range(10_000)]
    assert largest_total(pieces) == 13


def test_more_columns_than_are_used_still_bound_every_record() -> None:
    pieces = [
        (Region(cells=tuple(sorted((f"c{column}", (f"v{number}",)) for column in range(number % 3, 9)))), Fraction(1))
        for number in range(12)
    ]
    assert 1 <= largest_total(pieces) <= 12
    assert cell_name("00.50") == cell_name("0.5")
