"""Endings followed together: a bound that is read off is never below what was put in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.theorems.markov.gathering import Gathering


def test_what_falls_below_the_smallest_number_is_not_forgotten() -> None:
    """Columns so different that their quotient underflows: a table is infinite then, not 0 and not 1."""
    columns = np.array([[[1e-180, 1.0], [1.0, 1e-180]]])
    values = np.array([[np.full((2, 2), np.inf), np.ones((2, 2))]])
    with np.errstate(all="ignore"):
        gathering, together = Gathering.apart(2).joined(values, columns, 1, 0.0)
        read = gathering.read(np.ones((1, 1, 2, 2)), columns, slice(0, 2))
    assert gathering.leaders.tolist() == [1]
    for table in (together[0, 0], read[0, 0]):
        assert np.isinf(table[[0, 1], [1, 0]]).all()


@given(st.integers(2, 6), st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.0, 0.5, 100.0]))
def test_a_joined_bound_is_never_below_the_values_put_in(endings: int, seed: int, most: int, tolerance: float) -> None:
    generator = np.random.default_rng(seed)
    columns = np.exp(generator.normal(size=(1, endings, 3)))
    columns[:, generator.integers(endings), generator.integers(3)] = 0.0
    values = np.exp(np.abs(generator.normal(size=(2, endings, 3, 3))))
    with np.errstate(all="ignore"):
        gathering, together = Gathering.apart(endings).joined(values, columns, most, tolerance)
        read = gathering.read(together, columns, slice(0, endings))
    possible = (columns[0] > 0)[:, :, None] & (columns[0] > 0)[:, None, :]
    assert (read[:, possible] >= values[:, possible] * (1 - 1e-12)).all()
    assert together.shape[1] == len(gathering.leaders)
    assert gathering.table[gathering.leaders].tolist() == list(range(len(gathering.leaders)))


def test_endings_that_exclude_different_values_are_never_joined() -> None:
    columns = np.array([[[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 2.0]]])
    with np.errstate(all="ignore"):
        gathering, _ = Gathering.apart(3).joined(np.ones((1, 3, 3, 3)), columns, 1, 100.0)
    assert gathering.table[0] == gathering.table[2] != gathering.table[1]


def test_alone_every_ending_keeps_its_own_bound() -> None:
    columns = np.array([[[1.0, 0.25], [0.5, 1.0]]])
    values = np.arange(1.0, 9.0).reshape(1, 2, 2, 2)
    assert Gathering.apart(2).read(values, columns, slice(0, 2)) == pytest.approx(values)
