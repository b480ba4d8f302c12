"""Samples and counts of a table: their types and their diagnoses."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bayesdp.diagnostics import ChainStatistics, GroupSample
from bayesdp.errors import InvalidInputError


@pytest.mark.parametrize(
    ("values", "message"),
    [([[1.0, 2.0]], "one column for each of 3 roles"), ([[1.0, np.inf, 2.0]], "finite"), ([1.0, 2.0, 3.0], "roles")],
)
def test_wrong_samples_are_refused(values: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        GroupSample(["a", "b", "c"], values, 1, False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": [[1, 2]]}, "counts must be a 2 × 2 array"),
        ({"counts": [[1, 2], [3, -1]]}, "counts must hold whole numbers"),
        ({"counts": [[1, 2], [3, 0.5]]}, "counts must hold whole numbers"),
        ({"halves": None}, "halves must be a 2 × 2 × 2 array"),
        ({"entities": [[1, 2], [3, 4]]}, "entities must be a E × 2 × 2 array"),
        ({"records": -1}, "records must be"),
        ({"states": [0, 0]}, "states must be distinct"),
    ],
)
def test_wrong_statistics_are_refused(change: dict[str, Any], message: str) -> None:
    pairs = [[1, 2], [3, 4]]
    given: dict[str, Any] = {"states": [0, 1], "counts": pairs, "triples": None, "halves": [pairs, pairs]}
    given |= {"entities": None, "entities_total": 1, "records": 11}
    with pytest.raises(InvalidInputError, match=message):
        ChainStatistics(**(given | change))


def test_statistics_are_integers_of_one_shape() -> None:
    pairs = [[1.0, 2.0], [3.0, 4.0]]
    found = ChainStatistics(("a", "b"), pairs, None, [pairs, pairs], None, 1, 11, clocks={"hour": [pairs] * 3})
    assert found.counts.dtype == found.clocks["hour"].dtype == np.int64
    assert found.clocks["hour"].shape == (3, 2, 2)
    with pytest.raises(InvalidInputError, match="hour must be a E × 2 × 2 array"):
        replace(found, clocks={"hour": pairs})
    with pytest.raises(InvalidInputError, match="longest"):
        replace(found, longest=-1)


def test_values_are_standardized_by_role_and_constants_are_zero() -> None:
    values = [[1e300, 0.1, 4.0], [3e300, 0.1, np.nan], [5e300, 0.1, 8.0]]
    found = GroupSample(["a", "b", "c"], values, 3, False)
    assert found.scale == 5e300
    assert found.centred[:, 0] == pytest.approx([-0.4, 0, 0.4])
    assert found.centred[:, 1].tolist() == [0, 0, 0]
    assert np.isnan(found.centred[1, 2])
    assert found.records == 8
    with pytest.raises(ValueError, match="read-only"):
        found.centred[0, 0] = 1.0


def test_a_sample_knows_at_least_its_own_largest_group() -> None:
    values = [[1.0, 2.0, np.nan], [1.0, np.nan, np.nan]]
    assert GroupSample(["a", "b", "c"], values, 2, True).largest == 2
    assert GroupSample(["a", "b", "c"], values, 2, True, largest=1).largest == 2
    assert GroupSample(["a", "b", "c"], values, 2, True, largest=9).largest == 9
    assert GroupSample(["a"], np.empty((0, 1)), 0, True).scale == 1.0


def test_positions_become_roles_if_half_of_the_groups_have_them() -> None:
    rows = np.array([[1.0, 2.0, 3.0, np.nan], [1.0, 2.0, np.nan, np.nan], [1.0, np.nan, 3.0, np.nan]])
    roles = ["a", "b", "c", "d"]
    found = GroupSample(roles, rows, 3, True, positions=rows).by_position(9)
    assert found is not None
    assert found.roles == ("position 1", "position 2", "position 3")
    assert not found.exchangeable
    few = GroupSample(roles, rows, 3, True, positions=rows).by_position(2)
    assert few is not None
    assert few.values.shape == (3, 2)
    assert GroupSample(roles, rows, 3, True).by_position(9) is None
    assert GroupSample(roles, rows, 3, False, positions=rows).by_position(9) is None
