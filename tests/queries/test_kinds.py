from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import Count, Histogram, Mean, Query, Sum
from bayesdp.errors import QueryError
from bayesdp.queries import query_from_dict


class _Anything:
    def __getitem__(self, value: Any) -> Any:
        return value


ANYTHING = _Anything()
"""Hides a value's type from the type checker, for calls that are wrong on purpose."""

NUMPY_THREE: Any = np.int64(3)


def test_counts_have_sensitivity_one() -> None:
    assert Count("s", equals=1).sensitivity == 1
    assert Count("s", isin=[1, 2]).sensitivity == 1
    assert Count("s", equals=False, where="t > 3").sensitivity == 1


def test_histograms_have_sensitivity_two_unless_they_have_one_cell() -> None:
    assert Histogram("s", cells=["a", "b"]).sensitivity == 2
    assert Histogram("s", cells=["a"]).sensitivity == 1
    assert Histogram("s", cells=["a", "b", "c"]).dimension == 3


def test_a_mean_is_a_sum_over_its_public_size() -> None:
    assert Mean("x", bounds=(0, 100), size=50).sensitivity == 2
    assert Mean("x", bounds=(0, 100), size=50).width == 100
    with pytest.raises(QueryError, match="size=n"):
        _ = Mean("x", bounds=(0, 100)).sensitivity


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


def test_sensitivity_is_rounded_up() -> None:
    query = Sum("x", bounds=(-0.1, 0.2))
    assert Fraction(query.sensitivity) >= Fraction(0.2) - Fraction(-0.1)
    assert query.width == Fraction(0.2) - Fraction(-0.1)


@pytest.mark.parametrize(
    ("query", "metric"),
    [
        (Sum("x", bounds=(0, 1)), True),
        (Mean("x", bounds=(0, 1)), True),
        (Sum("x", bounds=(0, 1), where="position < 10", public_filter=True), True),
        (Sum("x", bounds=(0, 1), where="x > 0.5"), False),
        (Count("x", equals=1), False),
        (Histogram("x", cells=[1, 2]), False),
    ],
)
def test_only_unfiltered_or_publicly_filtered_sums_are_metric(query: Query, metric: bool) -> None:
    assert (query.not_metric is None) == metric
    assert (query.width is not None) == metric


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Count("s"), "equals=value or isin="),
        (lambda: Count("s", equals=1, isin=[1]), "equals=value or isin="),
        (lambda: Count("s", isin=[]), "isin is empty"),
        (lambda: Count("s", isin="abc"), "isin must be a list"),
        (lambda: Count("s", isin=[1, 1]), r"isin\[1\] is 1, which stands there already"),
        (lambda: Count("s", equals=float("nan")), "equals must be a finite number"),
        (lambda: Count("", equals=1), "column must be a non-empty text"),
        (lambda: Count("s", equals=1, public_filter=True), "there is none"),
        (lambda: Count("s", equals=ANYTHING[np.array([1, 2])]), "equals must be a text, a number"),
        (lambda: Count("s", equals=ANYTHING[np.int64]), "equals must be a text, a number"),
        (lambda: Count("s", equals=10**5000), "more than 300 digits"),
        (lambda: Count("s", isin=b"ab"), "isin must be a list"),
        (lambda: Count("s", equals=ANYTHING[["x" * 10**6]]), r"…$"),
        (lambda: Sum("x"), "bounds="),
        (lambda: Sum("x", bounds=(1, 0)), "low < high"),
        (lambda: Sum("x", bounds=(1, 1)), "low < high"),
        (lambda: Sum("x", bounds=(0, float("inf"))), r"bounds\[1\] must be a finite number, not inf"),
        (lambda: Sum("x", bounds=ANYTHING[0, 1, 2]), "pair"),
        (lambda: Sum("x", bounds=ANYTHING["0", 1]), r"bounds\[0\] must be a number"),
        (lambda: Mean("x", bounds=(0, 1), size=0), "size must be at least 1"),
        (lambda: Mean("x", bounds=(0, 1), where="x > 0"), "Sum and a Count"),
        (lambda: Histogram("s"), "cells is empty"),
        (lambda: Histogram("s", cells=["a", "a"]), "distinct"),
    ],
)
def test_ill_formed_queries_are_refused_with_the_reason(build: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        build()


def test_queries_are_hashable_and_take_numpy_values() -> None:
    assert hash(Count("s", isin=np.array([1, 2]))) == hash(Count("s", isin=[1, 2]))
    assert Count("s", equals=NUMPY_THREE) == Count("s", equals=3)


def test_queries_describe_themselves() -> None:
    assert Count("active", equals=True).description == "the number of records with active = True"
    assert Count("steps > 0", equals=True).description == "the number of records with (steps > 0) = True"
    assert Count(isin=["a", "b"]).description == "the number of records in state 'a', 'b'"
    assert Sum("x", bounds=(0, 9), where="t > 1").description == "the sum of x, clipped to 0–9 where t > 1"
    assert Histogram("s", cells=[1, 2]).description == "the histogram of s over 2 cells"
    assert Count("s", equals=False).to_dict() == {"query": "count", "column": "s", "equals": False}
    assert Sum("x", bounds=(0, 9)).to_dict() == {"query": "sum", "column": "x", "bounds": [0.0, 9.0]}


@pytest.mark.parametrize("name", ["kind", "sensitivity", "width", "__class__"])
def test_a_query_has_no_entries_but_its_fields(name: str) -> None:
    with pytest.raises(QueryError, match=f'has no "{name}"; it knows column, equals, isin, public_filter, where$'):
        query_from_dict({"query": "count", "equals": 1, name: "x"})


def test_bounds_are_described_so_that_they_differ() -> None:
    assert Sum("x", bounds=(0, 0.1 + 0.2)).description == "the sum of x, clipped to 0–0.3"
    assert Sum("x", bounds=(1e16, 1e16 + 2)).description == "the sum of x, clipped to 1e+16–1.0000000000000002e+16"
    with pytest.raises(QueryError, match=r"not \(1\.0000000000000002e\+16, 1e\+16\)"):
        Sum("x", bounds=(1e16 + 2, 1e16))


def test_a_sum_that_records_may_leave_moves_by_what_its_grid_makes_of_a_value() -> None:
    """1.6 in steps of 1 is 2: noise for a move of 1.6 would not be enough."""
    assert Sum("x", bounds=(0, 1.6), step=1.0, where="x > 1").sensitivity == 2
    assert Sum("x", bounds=(0, 1.4), step=1.0, where="x > 1").sensitivity == 1.4
    assert Sum("x", bounds=(-2.5, 1), step=1.0, where="x > 1").sensitivity == 3.5
    assert Sum("x", bounds=(0, 1.5), step=0.5).sensitivity == 1.5


@pytest.mark.parametrize("step", [1e-300, 5.0])
def test_a_step_that_does_not_fit_is_refused_with_a_private_filter_too(step: float) -> None:
    with pytest.raises(QueryError, match="does not fit values between 0 and 3"):
        Sum("x", bounds=(0, 3), step=step, where="x > 1")
