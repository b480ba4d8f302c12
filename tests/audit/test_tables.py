"""Tables that are enumerated: what is one, and what would underflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayesdp.audit.any_mechanism import array, enumerable_tau, joint_table
from bayesdp.errors import InvalidInputError


def test_a_joint_law_of_any_number_of_records_is_taken_as_it_is() -> None:
    assert joint_table([1], 10).shape == (1,)
    assert joint_table(np.full((2, 3, 2), 1 / 12), 12).shape == (2, 3, 2)
    assert joint_table([[0.5, 0], [0, 0.5 + 1e-12]], 4).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([[0.5], [0.25, 0.25]], "rectangular"),
        ([["a", "b"]], "rectangular"),
        ([[0.5, 0.5, 0.0, 0.0, 0.0]], "not of 5"),
        ([], "not of 0"),
        (1.0, "not of 1"),
        ([[0.5, 0.4]], "sum to 1"),
        ([[1.5, -0.5]], "sum to 1"),
        ([[np.nan, 1.0]], "sum to 1"),
        ([[np.inf, 1.0]], "sum to 1"),
    ],
)
def test_what_is_no_law_or_too_large_is_refused(value: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        joint_table(value, 4)


def test_a_table_is_named_where_it_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="the transition matrix must be"):
        array("the transition matrix", [[1, 2], [3]])


def test_likelihoods_that_would_underflow_are_refused() -> None:
    assert enumerable_tau(100, 6) == 100.0
    assert np.exp(-100.0 * 6) > 0
    with pytest.raises(InvalidInputError, match="at most 600"):
        enumerable_tau(100.1, 6)
    with pytest.raises(InvalidInputError, match="tau"):
        enumerable_tau(0, 1)
