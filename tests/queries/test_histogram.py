import pytest

from bayesdp import Histogram
from bayesdp.errors import InvalidInputError


def test_histograms_have_sensitivity_two_unless_they_have_one_cell() -> None:
    assert Histogram("s", cells=["a", "b"]).sensitivity == 2
    assert Histogram("s", cells=["a"]).sensitivity == 1
    assert Histogram("s", cells=["a", "b", "c"]).dimension == 3


def test_a_histogram_is_a_list_even_of_one_cell() -> None:
    query = Histogram("s", cells=["a"])
    assert query.assembled([-3], None, 10) == query.checked_value([-3]) == (-3,)
    for wrong in ([1, 2], [1.5], 1, "a"):
        with pytest.raises(InvalidInputError, match="value must"):
            query.checked_value(wrong)
