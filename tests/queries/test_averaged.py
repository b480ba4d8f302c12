"""Queries over a public number of records: means and proportions."""

from fractions import Fraction
from typing import Any

import pytest

from bayesdp import Mean, Proportion, Sum
from bayesdp.errors import QueryError, RecordsError
from bayesdp.queries.clipped import Placement


def test_a_mean_is_assembled_over_the_number_of_records() -> None:
    grid = Placement(1.0, 9.0, 1.0, 0.5)
    assert Sum("x", bounds=(1, 9)).assembled([7], grid, 4) == 4 + 3.5
    assert Mean("x", bounds=(1, 9)).assembled([7], grid, 4) == (4 + 3.5) / 4
    assert Mean("x", bounds=(1, 9)).worth(Fraction(1, 2), 4) == Fraction(1, 8)


def test_the_size_of_a_mean_comes_from_the_table_and_must_agree() -> None:
    assert Mean("x", bounds=(0, 1)).of_size(5) == Mean("x", bounds=(0, 1), size=5)
    assert Mean("x", bounds=(0, 1), size=5).identity() == Mean("x", bounds=(0, 1)).identity()
    assert Sum("x", bounds=(0, 1)).of_size(0) == Sum("x", bounds=(0, 1))
    with pytest.raises(RecordsError, match="the mean is undefined: there are no records"):
        Mean("x", bounds=(0, 1)).of_size(0)
    with pytest.raises(RecordsError, match="the mean is over 5 records, but size = 4 was given"):
        Mean("x", bounds=(0, 1), size=4).of_size(5)


def test_what_cannot_be_divided_is_refused() -> None:
    with pytest.raises(QueryError, match=r"a proportion needs values to count: .* for example Proportion"):
        Proportion("s")
    with pytest.raises(QueryError, match="a proportion needs a public number of records"):
        Proportion("s", equals=1, where="age > 20")


@pytest.mark.parametrize("size", [0, -3, 2.5, True])
def test_a_size_is_a_number_of_records(size: Any) -> None:
    for build in (lambda: Mean("x", bounds=(0, 1), size=size), lambda: Proportion("s", equals=1, size=size)):
        with pytest.raises(QueryError, match="size must be"):
            build()


def test_the_noise_of_one_record_is_rounded_up() -> None:
    for size in (3, 7, 10**9 + 7):
        query = Proportion("s", equals=1, size=size)
        assert Fraction(query.sensitivity) >= Fraction(1, size) > Fraction(query.sensitivity) * (1 - Fraction(1, 2**51))


def test_a_mean_is_a_sum_over_its_public_size() -> None:
    assert Mean("x", bounds=(0, 100), size=50).sensitivity == 2
    assert Mean("x", bounds=(0, 100), size=50).width == 100
    with pytest.raises(QueryError, match="size=n"):
        _ = Mean("x", bounds=(0, 100)).sensitivity


def test_a_mean_stays_in_bounds_and_a_filtered_sum_may_be_zero() -> None:
    assert Mean("x", bounds=(1, 9), where="t > 1", public_filter=True).possible(5) == (Fraction(1), Fraction(9))
    assert Sum("x", bounds=(1, 9), where="t > 1", public_filter=True).possible(5) == (Fraction(0), Fraction(45))
    assert Sum("x", bounds=(1, 9)).possible(5) == (Fraction(5), Fraction(45))
