from typing import Any

import numpy as np
import pytest

from bayesdp.errors import InvalidInputError
from bayesdp.mechanisms.integers import LARGEST_VALUE, checked_dimension, checked_integers


def test_whole_numbers_within_the_limits_pass() -> None:
    values: list[Any] = [1, np.int64(-2), LARGEST_VALUE]
    assert checked_integers(values, 3) == [1, -2, LARGEST_VALUE]
    assert checked_dimension(2**31 - 1) == 2**31 - 1


@pytest.mark.parametrize("values", [[1, 2], [1.5], [True], [LARGEST_VALUE + 1], 7, ["secret"]])
def test_anything_else_is_refused_and_not_shown(values: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        checked_integers(values, 1)  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)


def test_too_many_numbers_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="at most 2\\^31 - 1"):
        checked_dimension(2**31)
