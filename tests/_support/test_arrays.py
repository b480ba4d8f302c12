"""Arrays that cannot be written to."""

from __future__ import annotations

import numpy as np
import pytest

from bayesdp._support.arrays import readonly
from bayesdp.models import MarkovChain


def test_a_locked_array_refuses_to_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        readonly(np.zeros(2))[0] = 1.0


def test_what_is_derived_from_a_model_is_locked() -> None:
    with pytest.raises(ValueError, match="read-only"):
        MarkovChain([[0.9, 0.1], [0.4, 0.6]]).matrix[0, 0] = 1.0
