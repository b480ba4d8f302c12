"""The sum of clipped values, its bounds and its grid."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import Sum
from bayesdp.errors import QueryError
from bayesdp.queries import query_from_dict

ends = st.integers(-50, 50)


@given(ends, ends, st.lists(ends, min_size=1, max_size=4), st.integers(0, 3), ends, st.booleans())
def test_no_replacement_moves_a_sum_farther_than_its_sensitivity(
    low: int, high: int, values: list[int], index: int, new: int, filtered: bool
) -> None:
    if low >= high:
        return
    query = Sum("x", bounds=(low, high), where="x > 0" if filtered else None)

    def answer(data: list[int]) -> int:
        return sum(min(max(x, low), high) for x in data if not filtered or x > 0)

    changed = values.copy()
    changed[index % len(values)] = new
    assert abs(answer(values) - answer(changed)) <= query.sensitivity


def test_the_sensitivity_of_a_privately_filtered_sum_is_attained() -> None:
    assert Sum("x", bounds=(40, 100), where="x > 70").sensitivity == 100
    assert Sum("x", bounds=(-30, 10), where="x > 70").sensitivity == 40
    assert Sum("x", bounds=(40, 100), where="sex == 'F'", public_filter=True).sensitivity == 60


def test_a_sum_needs_bounds_and_says_what_it_sums() -> None:
    with pytest.raises(QueryError, match=r"a sum needs bounds=.* move the answer without limit"):
        Sum("x")
    query = Sum("x", bounds=(0, 10), where="x > 1")
    assert query.description == "the sum of x, clipped to 0–10 where x > 1"
    assert query_from_dict(json.loads(query.to_json())) == query
    with pytest.raises(QueryError, match='a sum has no "size"'):
        query_from_dict({"query": "sum", "bounds": [0, 1], "size": 4})


def test_sensitivity_is_rounded_up() -> None:
    query = Sum("x", bounds=(-0.1, 0.2))
    assert Fraction(query.sensitivity) >= Fraction(0.2) - Fraction(-0.1)
    assert query.width == Fraction(0.2) - Fraction(-0.1)


def test_bounds_are_described_so_that_they_differ() -> None:
    assert Sum("x", bounds=(0, 0.1 + 0.2)).description == "the sum of x, clipped to 0–0.3"
    assert Sum("x", bounds=(1e16, 1e16 + 2)).description == "the sum of x, clipped to 1e+16–1.0000000000000002e+16"
    with pytest.raises(QueryError, match=r"not \(1\.0000000000000002e\+16, 1e\+16\)"):
        Sum("x", bounds=(1e16 + 2, 1e16))


def test_a_filtered_sum_moves_by_a_value_on_its_grid() -> None:
    """1.6 in steps of 1 is 2: noise for a move of 1.6 would not be enough."""
    assert Sum("x", bounds=(0, 1.6), step=1.0, where="x > 1").sensitivity == 2
    assert Sum("x", bounds=(0, 1.4), step=1.0, where="x > 1").sensitivity == 1.4
    assert Sum("x", bounds=(-2.5, 1), step=1.0, where="x > 1").sensitivity == 3.5
    assert Sum("x", bounds=(0, 1.5), step=0.5).sensitivity == 1.5


@pytest.mark.parametrize("step", [1e-300, 5.0])
def test_a_private_filter_refuses_a_step_that_does_not_fit(step: float) -> None:
    with pytest.raises(QueryError, match="does not fit values between 0 and 3"):
        Sum("x", bounds=(0, 3), step=step, where="x > 1")
