from fractions import Fraction

import pytest

from bayesdp.experiments.tables import agrees
from bayesdp.theorems.gaussian.paper import paper_factor
from bayesdp.theorems.gaussian.tight import tight_factor


@pytest.mark.parametrize("size", [2, 3, 6, 7, 24])
def test_where_the_gaussian_bound_wins_at_the_order_the_paper_names(size: int) -> None:
    wins = paper_factor(size, Fraction(1, size)) <= size
    assert wins == (size < 7)
    assert tight_factor(size, Fraction(1, size)) < size


def test_printed_numbers_are_rounded_or_cut_off() -> None:
    assert agrees("8.54", 8.542) == "match"
    assert agrees("731", 731) == "match"
    assert agrees("6.9", 6.965) == "match, cut off instead of rounded"
    assert agrees("4.7", 6.952) is None
