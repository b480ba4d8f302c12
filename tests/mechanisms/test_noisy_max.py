"""Noisy max: its privacy, its error, and what it refuses."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bayesdp.errors import InvalidInputError
from bayesdp.mechanisms import NoisyMaxMechanism, require_private


def law(distances: list[int], scale: float) -> list[float]:
    """Return with which probability each place is selected: permute-and-flip, over all orders (McKenna, Sheldon)."""
    least, chances = min(distances), [0.0] * len(distances)
    orders = list(permutations(range(len(distances))))
    for order in orders:
        left = 1.0
        for place in order:
            heads = math.exp((least - distances[place]) / scale)
            chances[place] += left * heads / len(orders)
            left *= 1 - heads
    return chances


@given(st.lists(st.integers(0, 12), min_size=2, max_size=5), st.floats(0.05, 6.0), st.data())
def test_selections_are_private_when_every_distance_moves_by_one(
    distances: list[int], tau: float, data: st.DataObject
) -> None:
    moved = [max(0, distance + data.draw(st.integers(-1, 1))) for distance in distances]
    scale = NoisyMaxMechanism(tau, len(distances)).scale
    for before, after in zip(law(distances, scale), law(moved, scale), strict=True):
        assert before <= math.exp(tau) * after * (1 + 1e-9)


def test_opendp_selects_by_that_law() -> None:
    mechanism, distances, runs = NoisyMaxMechanism(tau=0.5, places=4), [5, 3, 0, 4], 2000
    drawn = Counter(mechanism.release([distances])[0] for _ in range(runs))
    for place, chance in enumerate(law(distances, mechanism.scale)):
        assert stats.binomtest(drawn[place], runs, chance).pvalue > 1e-9


@given(st.lists(st.integers(0, 30), min_size=2, max_size=5), st.floats(0.2, 5.0), st.floats(0.001, 0.5))
def test_the_slack_is_exceeded_no_more_often_than_it_says(distances: list[int], tau: float, beta: float) -> None:
    mechanism = NoisyMaxMechanism(tau, len(distances))
    allowed = min(distances) + mechanism.slack(beta)
    chances = law(distances, mechanism.scale)
    assert sum(chance for chance, far in zip(chances, distances, strict=True) if far > allowed) <= beta + 1e-12


def test_several_selections_share_the_privacy() -> None:
    one, six = NoisyMaxMechanism(1.0, 10), NoisyMaxMechanism(1.0, 10, 6)
    assert one.scale == 2.0
    assert six.scale == pytest.approx(12.0)
    assert six.slack(0.05) > one.slack(0.05)
    assert six.slack(0.05, among=4) <= six.slack(0.05)
    require_private(six)


def test_what_cannot_be_selected_is_refused() -> None:
    for wrong in ({"tau": 0.0, "places": 3}, {"tau": 1.0, "places": 1}, {"tau": 1e-13, "places": 3}):
        with pytest.raises(InvalidInputError):
            NoisyMaxMechanism(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="expected 1 lists of 3 distances each"):
        NoisyMaxMechanism(1.0, 3).release([[1, 2]])
