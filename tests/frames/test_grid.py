"""Sums on a grid: how far a placed value is from the value, how far one record can move the sum, that it fits."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bayesdp import Mean, Sum, Variance
from bayesdp.errors import FrameError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.grid import Grid, grid_for
from bayesdp.queries import Clipped

NUMBERS = st.floats(-1e15, 1e15) | st.floats(-100, 100) | st.integers(-1000, 1000).map(float)
RECORDS = st.integers(1, 10**12) | st.integers(1, 50)
SLACK = Fraction(1, 2) + Fraction(1, 2**10)
"""Half a step, and what floats may be off by: docs/numerics.md."""


@st.composite
def bounds(draw: st.DrawFn) -> tuple[float, float]:
    """Draw bounds that are not so close together that floats cannot tell the steps between them apart."""
    low = draw(NUMBERS)
    width = draw(st.floats(1e-3, 1e16) | st.integers(1, 10**6).map(float))
    assume(low + width > low)
    assume(width > abs(low) * 2.0**-12)
    return low, low + width


def sum_of(ends: tuple[float, float], private: bool) -> Sum:
    return Sum("x", bounds=ends, where="x > 0" if private else None)


@given(bounds(), RECORDS, st.booleans(), st.lists(NUMBERS, min_size=1, max_size=20))
def test_values_are_placed_next_to_where_they_are(
    ends: tuple[float, float], records: int, private: bool, values: list[float]
) -> None:
    grid = grid_for(sum_of(ends, private), records, whole=False)
    low, high = ends
    for value in [*values, low, high, (low + high) / 2]:
        clipped = min(max(value, low), high)
        exact = (Fraction(clipped) - Fraction(grid.origin)) / Fraction(grid.step)
        # what is subtracted and divided in floats is off by a few units in the last place of the larger of both
        ulps = 4 * Fraction(math.ulp(max(abs(low), abs(high), high - low))) / Fraction(grid.step)
        assert abs(grid.place(value) - exact) <= SLACK + ulps
        assert grid.place(value) == grid.place(clipped)
    placed = [grid.place(value) for value in sorted(values)]
    assert placed == sorted(placed)


@given(bounds(), RECORDS, st.booleans(), NUMBERS)
def test_no_record_moves_a_sum_farther_than_the_span(
    ends: tuple[float, float], records: int, private: bool, value: float
) -> None:
    grid = grid_for(sum_of(ends, private), records, whole=False)
    low, high = grid.place(ends[0]), grid.place(ends[1])
    assert low <= grid.place(value) <= high
    if private:
        assert grid.origin == 0
        assert grid.span == max(abs(low), abs(high), high - low)
        assert abs(grid.place(value)) <= grid.span
    else:
        assert grid.origin == ends[0]
        assert (low, high) == (0, grid.span)
    assert records * grid.span < 2**62
    # no coarser than need be
    assert grid.span in (2**40, 2**40 + 1) or 2 * records * grid.span >= 2**60


@given(st.integers(-(2**53), 2**53), st.integers(1, 2**54), RECORDS, st.booleans(), st.integers(-(2**63), 2**64))
def test_whole_numbers_are_not_rounded(low: int, width: int, records: int, private: bool, value: int) -> None:
    high = low + width
    assume(high <= 2**53)
    grid = grid_for(sum_of((low, high), private), records, whole=True)
    if grid.whole:
        assert grid.step == 1
        assert grid.place(value) == min(max(value, low), high) - (0 if private else low)
        assert grid.span == (max(abs(low), abs(high), width) if private else width)
        assert records * grid.span < 2**62
    else:
        assert width * records >= 2**50 or max(abs(low), abs(high)) * records >= 2**50


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FINITE | NUMBERS, min_size=1, max_size=30), bounds(), st.booleans())
@example([0.1, 0.2, 0.3, -0.0, 5e-324], (-3.0, 4.0), False)
def test_the_engine_places_values_as_we_do(values: list[float], ends: tuple[float, float], private: bool) -> None:
    query = Sum("x", bounds=ends, where="x == x" if private else None)
    found = tally(pl.DataFrame({"x": values}), [query])[0]
    assert found.grid == grid_for(query, len(values), whole=False)
    assert found.counts == (sum(map(found.grid.place, values)),)
    exact = sum(Fraction(min(max(value, ends[0]), ends[1])) for value in values)
    slack = (
        4 * Fraction(math.ulp(max(abs(ends[0]), abs(ends[1]), ends[1] - ends[0]))) + Fraction(found.grid.step) / 2**10
    )
    error = abs(found.grid.total(found.counts[0], len(values)) - exact)
    assert error <= len(values) * (Fraction(found.grid.step) / 2 + slack)


INTEGERS = {
    pl.Int8: (-(2**7), 2**7 - 1),
    pl.Int16: (-(2**15), 2**15 - 1),
    pl.Int32: (-(2**31), 2**31 - 1),
    pl.Int64: (-(2**63), 2**63 - 1),
    pl.Int128: (-(2**127), 2**127 - 1),
    pl.UInt8: (0, 2**8 - 1),
    pl.UInt16: (0, 2**16 - 1),
    pl.UInt32: (0, 2**32 - 1),
    pl.UInt64: (0, 2**64 - 1),
}


@pytest.mark.parametrize("kind", INTEGERS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_whole_numbers_of_every_width(kind: Any, data: st.DataObject) -> None:
    least, largest = INTEGERS[kind]
    edges = st.sampled_from([least, largest, 0, largest // 2 + 1, min(largest, 2**63 - 1), min(largest, 2**53 + 1)])
    values = data.draw(st.lists(edges | st.integers(least, largest), min_size=1, max_size=20))
    low = data.draw(st.integers(-(2**40), 2**40) | st.integers(-300, 300))
    high = low + data.draw(st.integers(1, 2**41) | st.integers(1, 300))
    private = data.draw(st.booleans())
    found = tally(pl.DataFrame({"x": pl.Series(values, dtype=kind)}), [Sum("x", bounds=(low, high), where="x == x" if private else None)])  # fmt: skip  # noqa: E501
    clipped = [min(max(value, low), high) for value in values]
    assert found[0].counts == (sum(clipped) - (0 if private else low * len(values)),)
    assert found[0].grid is not None
    assert found[0].grid.total(found[0].counts[0], len(values)) == sum(clipped)


@given(
    st.integers(-1000, 1000), st.integers(1, 1000), st.sampled_from([0.5, 1.0, 2.0, 0.1, 1 / 3]), st.booleans(), NUMBERS
)
def test_a_step_of_ones_own(start: int, steps: int, step: float, private: bool, value: float) -> None:
    low = start * step
    high = low + steps * step
    assume((high - low) / step == steps)
    grid = grid_for(Sum("x", bounds=(low, high), step=step, where="x > 0" if private else None), 1000, whole=False)
    assert (grid.step, grid.origin) == (step, 0.0 if private else low)
    assert grid.place(high) - grid.place(low) == steps
    assert grid.span == (max(abs(start), abs(start + steps), steps) if private else steps)
    exact = (Fraction(min(max(value, low), high)) - Fraction(grid.origin)) / Fraction(step)
    assert abs(grid.place(value) - exact) <= SLACK


def test_the_grid_by_hand() -> None:
    grid = Grid(0.0, 100.0, 0.0, 0.5)
    assert [grid.place(value) for value in (-5, -0.0, 0.24, 0.25, 0.26, 70.3, 99.9, 1e300)] == [
        0,
        0,
        0,
        1,
        1,
        141,
        200,
        200,
    ]
    assert grid.span == 200
    assert grid.total(141, 1) == Fraction(141, 2)
    shifted = Grid(-10.0, 10.0, -10.0, 0.25)
    assert (shifted.place(-10), shifted.place(0), shifted.place(10), shifted.span) == (0, 40, 80, 80)
    assert shifted.total(40, 1) == 0
    for ends, span in (((40, 100), 100), ((-7, 3), 10), ((-9, -2), 9), ((0, 5), 5)):
        private = grid_for(Sum("x", bounds=ends, where="y > 0"), 10, whole=True)
        assert (private.origin, private.span) == (0, span)


@pytest.mark.parametrize("query", [Sum("x", bounds=(0, 1)), Mean("x", bounds=(0, 1), size=5)])
def test_finer_for_fewer_records(query: Any) -> None:
    steps = [grid_for(query, records, whole=False).step for records in (1, 1000, 2**21, 2**22, 2**23, 10**9, 2**60)]
    assert steps[:3] == [2.0**-40] * 3
    assert steps[3:] == [2.0**-39, 2.0**-38, 2.0**-32, 2.0**-1]


@pytest.mark.parametrize("ends", [(0.0, 5e-324), (-1.7e308, 1.7e308), (0.0, 1e-310)])
def test_bounds_that_floats_cannot_divide(ends: tuple[float, float]) -> None:
    for private in (False, True):
        with pytest.raises(FrameError, match="cannot be summed exactly"):
            tally(pl.DataFrame({"x": [0.5, 0.75]}), [sum_of(ends, private and ends[0] == 0)])


def test_more_records_than_fit() -> None:
    with pytest.raises(FrameError, match="cannot be summed exactly"):
        grid_for(Sum("x", bounds=(0, 1)), 2**62, whole=False)
    with pytest.raises(FrameError, match="cannot be summed exactly"):
        grid_for(Sum("x", bounds=(0, 1)), 2**70, whole=True)


@given(bounds(), st.integers(1, 10**13), st.booleans(), st.sampled_from([Sum, Mean, Variance]))
@example((0.0, 10.0), 5_000_000, False, Sum)
def test_the_grid_chosen_for_a_number_of_records_is_used(
    ends: tuple[float, float], records: int, whole: bool, kind: type[Clipped]
) -> None:
    """A session chooses the grid, and asks the table again with its step."""
    query = kind("x", bounds=ends)
    grid = grid_for(query, records, whole=whole)
    assert grid_for(replace(query, step=grid.step), records, whole=whole).span == grid.span
    assert records * query.moved(grid.span) < 2**62
