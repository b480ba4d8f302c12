import math

import numpy as np
import pytest

from bayesdp.audit.any_event import worst_event
from bayesdp.audit.side_information import knowing
from bayesdp.errors import InvalidInputError
from bayesdp.theorems.lift import lifted_delta

PAIR = np.array([[0.4, 0.1], [0.1, 0.4]])


def test_independent_records_leak_what_ordinary_privacy_allows() -> None:
    assert worst_event(np.full((2, 2), 0.25), 1.0, 0.01, 1.0, target=[0]) == pytest.approx(0.01, abs=1e-9)


def test_equal_records_leak_what_group_privacy_allows() -> None:
    """Three equal records: δ·(1 + e^τ + e^2τ), the group privacy lemma."""
    joint = np.zeros((2, 2, 2))
    joint[0, 0, 0] = joint[1, 1, 1] = 0.5
    reported = worst_event(joint, 0.5, 1e-3, 1.5, target=[0])
    assert reported == pytest.approx(1e-3 * (1 + math.exp(0.5) + math.e), abs=1e-9)
    assert reported == pytest.approx(lifted_delta(1e-3, 1.5, 0.5), abs=1e-9)


def test_known_and_hidden_records_count() -> None:
    knows = worst_event(PAIR, 1.0, 0.01, 1.0, target=[0], evidence=knowing((2, 2), {1: 0}))
    assert knows == pytest.approx(0.01, abs=1e-9)
    assert worst_event(PAIR, 1.0, 0.01, 1.0, target=[0], hidden=[1]) == pytest.approx(0.01, abs=1e-9)
    assert worst_event(PAIR, 1.0, 0.01, 1.0, target=[0]) > 0.02


def test_a_target_of_several_records_costs_each() -> None:
    reported = worst_event(np.full((2, 2), 0.25), 1.0, 0.01, 2.0, target=[0, 1])
    assert reported == pytest.approx(lifted_delta(0.01, 2.0, 1.0), abs=1e-9)


def test_programs_that_are_too_large_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="at most 243 data sets"):
        worst_event(np.full((2,) * 8, 2.0**-8), 1.0, 0.01, 1.0, target=[0])
