"""The diagonal of the inverse of a banded matrix: never above the truth, and close to it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bayesdp.theorems.gaussian import band
from bayesdp.theorems.gaussian.band import inverse_diagonal


def exact(strengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the diagonal by a dense inverse."""
    size = strengths.shape[1]
    matrix = np.eye(size)
    for distance, row in enumerate(strengths, start=1):
        for record in range(size - distance):
            matrix[record, record + distance] = matrix[record + distance, record] = -row[record]
    return np.asarray(np.diag(np.linalg.inv(matrix)))


def in_stretches(strengths: NDArray[np.float64], inside: int, beside: int) -> NDArray[np.float64]:
    """Return the lower bounds, in stretches of so many records and so many more on either side."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(band, "_INSIDE", inside)
        patch.setattr(band, "_BESIDE", beside)
        return inverse_diagonal(strengths)


@st.composite
def strengths(draw: st.DrawFn, longest: int = 40) -> NDArray[np.float64]:
    """Draw the strengths of a band; rows sum to less than one, so that walks add up."""
    size, width = draw(st.integers(1, longest)), draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    drawn = random.uniform(0, 0.95 / (2 * width), (width, size)) * (random.random((width, size)) < 0.8)
    for distance in range(1, width + 1):
        drawn[distance - 1, max(0, size - distance) :] = 0.0
    return np.asarray(drawn)


@given(strengths())
def test_it_is_the_inverse_from_below(drawn: NDArray[np.float64]) -> None:
    found, expected = in_stretches(drawn, 50, 40), exact(drawn)
    assert found == pytest.approx(expected, rel=1e-11)
    assert (found <= expected * (1 + 1e-14)).all()


@given(strengths(longest=90))
def test_stretches_leave_walks_out_and_are_never_above(drawn: NDArray[np.float64]) -> None:
    """Many stretches of ten records with four beside: what leaves them is missing."""
    found, expected = in_stretches(drawn, 10, 4), exact(drawn)
    assert (found <= expected * (1 + 1e-14)).all()
    assert (found >= 1 - 1e-12).all()
    assert found == pytest.approx(expected, rel=0.3)


def test_nothing_beside_leaves_the_diagonal_of_ones() -> None:
    assert inverse_diagonal(np.zeros((2, 5))) == pytest.approx(np.ones(5), rel=1e-14)
