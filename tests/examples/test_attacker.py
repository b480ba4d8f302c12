"""The attacker's belief: plain DP breaks its promise, the calibrated noise keeps it, and no theorem is exceeded."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from attacker import attacker_chart, belief_picture, beliefs
from bayesdp import leakage
from bayesdp.experiments.data import activity_chain
from step_counter import ACTIVE

FAR = [-1000, 1000]


def _odds(share: float) -> float:
    return abs(math.log(share / (1 - share)))


@pytest.mark.parametrize("tau", [0.1, 0.249, 1.0, 4.0])
@pytest.mark.parametrize("unseen", [0, 1, 3, 6, 12])
def test_no_attacker_learns_more_than_is_proven(tau: float, unseen: int) -> None:
    proven = leakage(activity_chain(), ACTIVE, tau=tau).epsilon
    assert max(map(_odds, beliefs(tau, FAR, unseen))) <= proven * (1 + 1e-12)


def test_this_attacker_learns_nearly_all_that_plain_dp_leaks() -> None:
    assert max(map(_odds, beliefs(1.0, FAR))) == pytest.approx(
        leakage(activity_chain(), ACTIVE, tau=1.0).epsilon, rel=2e-3
    )


def test_beliefs_are_those_of_enumeration() -> None:
    law, tau, value, unseen = np.asarray(activity_chain().matrix), 0.7, 2, 2
    weight = [0.0, 0.0]
    for records in itertools.product((0, 1), repeat=2 * unseen + 1):
        path = (0, *records, 0)
        likely = math.prod(law[now, later] for now, later in itertools.pairwise(path))
        weight[records[unseen]] += likely * math.exp(-tau * abs(value - sum(records)))
    chance = [0.0, 0.0]
    for records in itertools.product((0, 1), repeat=2 * unseen + 1):
        path = (0, *records, 0)
        chance[records[unseen]] += math.prod(law[now, later] for now, later in itertools.pairwise(path))
    odds = weight[1] / chance[1] / (weight[0] / chance[0])
    assert beliefs(tau, [value], unseen) == [pytest.approx(odds / (1 + odds))]
    assert beliefs(tau, [value], unseen, before=0.2) == [pytest.approx(odds * 0.25 / (1 + odds * 0.25))]


def test_the_picture_shows_a_broken_and_a_kept_promise(tmp_path: Path) -> None:
    lines = {line.name: [y for _, y in line.points] for line in attacker_chart().panels[0].lines if line.label}
    assert max(lines["plain-dp"]) > 97 > max(lines["promise"]) >= max(lines["bayesdp"])
    assert belief_picture(tmp_path / "attacker.svg").stat().st_size > 1000
