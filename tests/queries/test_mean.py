from fractions import Fraction

import pytest

from bayesdp import Mean, Sum
from bayesdp.errors import QueryError


def test_a_mean_is_a_sum_over_its_public_size() -> None:
    assert Mean("x", bounds=(0, 100), size=50).sensitivity == 2
    assert Mean("x", bounds=(0, 100), size=50).width == 100
    with pytest.raises(QueryError, match="size=n"):
        _ = Mean("x", bounds=(0, 100)).sensitivity


def test_a_mean_stays_in_bounds_and_a_filtered_sum_may_be_zero() -> None:
    assert Mean("x", bounds=(1, 9), where="t > 1", public_filter=True).possible(5) == (Fraction(1), Fraction(9))
    assert Sum("x", bounds=(1, 9), where="t > 1", public_filter=True).possible(5) == (Fraction(0), Fraction(45))
    assert Sum("x", bounds=(1, 9)).possible(5) == (Fraction(5), Fraction(45))
