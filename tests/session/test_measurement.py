"""The noisy number: what is published of it, and how far off it is said to be."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from answers import answered  # type: ignore[import-not-found]
from hypothesis import given
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.errors import InvalidInputError
from bayesdp.session.measurement import checked_value, last_place, shortened_accuracy


def test_a_count_is_rounded_to_the_digits_that_the_noise_leaves() -> None:
    assert math.floor(math.log10(answered().reach())) == 2  # hundreds: tens are kept
    assert answered().rounded == 4250
    assert answered().value == 4248
    assert answered(noise=1000.0).rounded == 4200
    assert answered(noise=10.0).rounded == 4248
    assert answered(noise=0.01).rounded == 4248


@pytest.mark.parametrize(
    ("value", "query", "rounded"),
    [
        (-30, bdp.Count("s", equals=1), 0),
        (15300, bdp.Count("s", equals=1), 15264),
        (-30, bdp.Count("s", equals=1, where="s > 0"), 0),
        ((-50, 15999, 333), bdp.Histogram("s", cells=[1, 2, 3]), (0, 15264, 330)),
        (-2e6, bdp.Sum("x", bounds=(-10, 5)), -152640.0),
        (1e9, bdp.Sum("x", bounds=(-10, 5)), 76320.0),
        (10.0, bdp.Sum("x", bounds=(5, 10)), 76320.0),
        (10.0, bdp.Sum("x", bounds=(5, 10), where="x > 5"), 10.0),
        (-10.0, bdp.Sum("x", bounds=(5, 10), where="x > 5"), 0.0),
        (10.0, bdp.Sum("x", bounds=(5, 10), where="y > 5", public_filter=True), 10.0),
        (10.0, bdp.Sum("x", bounds=(-10, -5), where="x > 5"), 0.0),
        (123456.789, bdp.Sum("x", bounds=(0, 100)), 123460.0),
    ],
)
def test_the_rounded_answer_is_a_possible_one(value: Any, query: bdp.Query, rounded: Any) -> None:
    answer = answered(value, query)
    assert answer.rounded == rounded
    assert type(answer.rounded) is type(answer.value)
    assert answer.to_dict()["rounded"] == (list(rounded) if isinstance(rounded, tuple) else rounded)


def test_a_mean_lies_between_its_bounds() -> None:
    mean = bdp.Mean("x", bounds=(0, 1), size=15264)
    assert answered(0.503471, mean, unit=1e-5).rounded == 0.5035
    assert answered(-0.2, mean, unit=1e-5).rounded == 0.0
    assert answered(1.2, mean, unit=1e-5).rounded == 1.0


@given(st.integers(-20000, 40000), st.floats(0.05, 1e4))
def test_rounding_moves_a_possible_number_by_little(value: int, noise: float) -> None:
    answer = answered(value, noise=noise)
    assert isinstance(answer.rounded, int)
    assert 0 <= answer.rounded <= answer.records
    if 0 <= value <= answer.records:
        assert abs(answer.rounded - value) <= answer.reach() / 20


@given(st.integers(-20000, 40000), st.integers(0, 15264), st.floats(0.05, 1e4))
def test_the_accuracy_beside_the_rounded_number_holds_for_it(value: int, truth: int, noise: float) -> None:
    """Whenever the truth is less than α from the value, it is less than what is printed from the rounded value."""
    answer = answered(value, noise=noise)
    assert isinstance(answer.rounded, int)
    shown = float(answer.off_by.split()[0])
    if abs(value - truth) < answer.accuracy():
        assert abs(answer.rounded - truth) < shown


def test_values_have_one_digit_more_than_the_half_width() -> None:
    for half, place in [(9.99, 1), (10.0, 1), (99.0, 1), (100.0, 10), (12345.0, 1000), (0.0, 1)]:
        assert last_place(half, whole=True) == place
    assert last_place(0.37, whole=False) == Fraction(1, 100)
    assert shortened_accuracy(300.5, [4248], Fraction(10)) == 310.0
    assert shortened_accuracy(300.5, [4250], Fraction(10)) == 300.5


def test_a_sum_is_drowned_by_noise_wider_than_its_range() -> None:
    for bounds, drowned in (((0, 1), False), ((0, 0.01), True), ((1000, 1000.01), True)):
        assert bool(answered(0.0, bdp.Sum("x", bounds=bounds)).warnings) == drowned
    mean = bdp.Mean("x", bounds=(0, 1), size=15264)
    assert answered(0.5, mean, unit=0.01).warnings


def test_what_is_computed_once_is_what_is_computed_again() -> None:
    """An accuracy for the β of the request is remembered; asked for by that β, it is computed again."""
    for value, query in ((4248, None), ((5, 7, 9), bdp.Histogram("s", cells=[1, 2, 3]))):
        measured = answered(value, query, beta=0.1).measurement
        assert measured.accuracy() == measured.accuracy(0.1) < measured.accuracy(0.01)
        assert measured.reach() == measured.reach(0.1) < measured.reach(0.01)
        assert measured.interval() == measured.interval(measured.level)


def test_a_histogram_is_a_list_of_integers_even_of_one_cell() -> None:
    query = bdp.Histogram("s", cells=["a"])
    assert checked_value(query, [-3]) == (-3,)
    for wrong in ([1, 2], [1.5], 1, "a"):
        with pytest.raises(InvalidInputError, match="value must"):
            checked_value(query, wrong)
