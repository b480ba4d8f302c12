"""Where values go on a grid: by the definition, in exact arithmetic."""

from fractions import Fraction
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.queries.clipped import Placement

STEPS = st.sampled_from([2.0**-20, 0.125, 0.5, 1.0, 4.0])
NUMBERS = st.integers(-(2**20), 2**20).map(lambda number: number / 2**10)


@given(NUMBERS, st.integers(1, 2**10), STEPS, st.lists(NUMBERS, min_size=1, max_size=6))
def test_values_go_to_the_nearest_point_of_the_grid(low: float, width: int, step: float, values: list[float]) -> None:
    grid = Placement(low, low + width * step, low, step)
    clipped = [min(max(value, grid.low), grid.high) for value in values]
    placed = [grid.place(value) for value in values]
    for value, place in zip(clipped, placed, strict=True):
        assert place == floor((Fraction(value) - Fraction(low)) / Fraction(step) + Fraction(1, 2))
    off = abs(grid.total(sum(placed), len(values)) - sum(map(Fraction, clipped)))
    assert off <= len(values) * Fraction(step) / 2


@given(NUMBERS, st.integers(1, 40), st.sampled_from(["low", "zero"]), st.lists(NUMBERS, min_size=2, max_size=2))
def test_no_record_moves_a_sum_farther_than_the_span(low: float, width: int, origin: str, values: list[float]) -> None:
    grid = Placement(low, low + width, low if origin == "low" else 0.0, 1.0)
    one, other = map(grid.place, values)
    assert abs(one - other) <= grid.span
    if origin == "zero":
        assert abs(one) <= grid.span, "a record may leave the sum"


@pytest.mark.parametrize(
    ("grid", "span"),
    [
        (Placement(10.0, 14.0, 10.0, 0.5), 8),
        (Placement(10.0, 14.0, 0.0, 0.5), 28),
        (Placement(-14.0, -10.0, 0.0, 0.5), 28),
        (Placement(-3.0, 4.0, 0.0, 1.0), 7),
    ],
)
def test_the_span_is_attained(grid: Placement, span: int) -> None:
    assert grid.span == span
    ends = [grid.place(grid.low), grid.place(grid.high)]
    leaving = ends if grid.origin == grid.low else [*ends, 0]
    assert max(leaving) - min(leaving) == span


def test_whole_numbers_are_not_rounded_however_large() -> None:
    grid = Placement(0, 2**60, 0, 1, whole=True)
    assert grid.place(2**60 - 1) == 2**60 - 1
    assert grid.place(2**61) == 2**60
    assert grid.place(-3) == 0
