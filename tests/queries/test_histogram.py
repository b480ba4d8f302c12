from bayesdp import Histogram


def test_a_histogram_has_sensitivity_two_or_one_for_one_cell() -> None:
    assert Histogram("s", cells=["a", "b"]).sensitivity == 2
    assert Histogram("s", cells=["a"]).sensitivity == 1
    assert Histogram("s", cells=["a", "b", "c"]).dimension == 3


def test_a_histogram_is_a_list_even_of_one_cell() -> None:
    query = Histogram("s", cells=["a"])
    assert query.assembled([-3], None, 10) == (-3,)
