"""Simulated activities: a chain that can be released under, of a person who sleeps long."""

from __future__ import annotations

import numpy as np
import pytest

from shared.activities import activities


@pytest.mark.parametrize(("states", "steps"), [(3, 5000), (9, 20_000)])
def test_it_is_a_primitive_chain_that_is_the_same_every_time(states: int, steps: int) -> None:
    chain = activities(states, 3, steps)
    assert chain == activities(states, 3, steps)
    assert chain != activities(states, 4, steps)
    assert chain.is_primitive
    assert len(chain.states) == states
    assert chain.matrix.sum(axis=1) == pytest.approx(np.ones(states))


def test_sleep_lasts_longest() -> None:
    staying = np.diag(activities(9, 3).matrix)
    assert staying.argmax() == 0
    assert 1 / (1 - staying[0]) == pytest.approx(46, rel=0.2)


def test_an_activity_that_never_occurred_is_no_state() -> None:
    few = activities(30, 1, 300)
    assert 1 < len(few.states) < 30
    assert np.isfinite(few.matrix).all()
