from fractions import Fraction

import pytest

from bayesdp import Sum
from bayesdp.errors import QueryError


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
