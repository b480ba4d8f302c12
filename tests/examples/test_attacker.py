"""The attacker's belief: plain DP breaks its promise, the calibrated noise keeps it, and no theorem is exceeded."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from attacker import _count_if, attack, attacker_chart, bars, bars_picture, bars_svg, belief_picture, beliefs
from bayesdp import calibrate, leakage
from bayesdp.experiments.data import activity_chain
from step_counter import ACTIVE

FAR = [-1000, 1000]
PAGES = [Path(__file__).parents[2] / name for name in ("README.md", "docs/why.md")]


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


@pytest.mark.parametrize(("tau", "unseen"), [(1.0, 6), (0.25, 6), (2.0, 0), (0.7, 2)])
def test_shares_over_all_answers_are_sums(tau: float, unseen: int) -> None:
    idle, active = (_count_if(target, unseen) for target in (0, 1))
    sums = dict.fromkeys(("sure", "beyond", "right", "all"), 0.0)
    for answer in range(-300, 320):
        noise = [math.tanh(tau / 2) * math.exp(-tau * abs(answer - count)) for count in range(len(idle))]
        ways = [math.fsum(p * chance for p, chance in zip(law, noise, strict=True)) / 2 for law in (idle, active)]
        sums["all"] += sum(ways)
        sums["right"] += max(ways)
        sums["sure"] += sum(ways) if max(ways) >= 0.95 * sum(ways) else 0
        sums["beyond"] += sum(ways) if max(ways) > math.e * min(ways) else 0
    learned = attack(tau, unseen=unseen)
    assert sums["all"] == pytest.approx(1)
    assert (learned.sure, learned.beyond, learned.right) == pytest.approx(
        (sums["sure"], sums["beyond"], sums["right"]), abs=1e-9
    )
    assert learned.most == pytest.approx(max(max(belief, 1 - belief) for belief in beliefs(tau, FAR, unseen)))


def test_if_records_were_independent_the_promise_would_hold() -> None:
    learned = attack(1.0, unseen=0)
    assert learned.sure == learned.beyond == 0
    assert learned.right <= learned.most <= math.e / (1 + math.e) * (1 + 1e-12)


def test_pages_tell_the_attack_with_its_figures() -> None:
    plain, kept = attack(1.0), attack(calibrate(activity_chain(), ACTIVE, epsilon=1.0).tau)
    assert (kept.sure, kept.beyond) == (0, 0)
    assert plain.right > math.e / (1 + math.e) > kept.most
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for share in (plain.most, plain.sure, plain.beyond, plain.right, kept.right):
            assert f"{100 * share:.0f} %" in text, page.name
        for tau in (1.0, calibrate(activity_chain(), ACTIVE, epsilon=1.0).tau):
            assert f"{100 * attack(tau, unseen=100).right:.1f} %" in text, page.name


def test_the_bars_in_the_documentation_are_drawn_by_the_code(tmp_path: Path) -> None:
    promised, plain, kept = bars()
    assert plain.share > promised.share == math.e / (1 + math.e) > kept.share
    drawn = bars_picture(tmp_path / "bars.svg").read_text(encoding="utf-8")
    assert drawn == bars_svg()
    assert drawn == (PAGES[0].parent / "docs" / "pictures" / "bars.svg").read_text(encoding="utf-8")
    for bar in (promised, plain, kept):
        assert f">{100 * bar.share:.0f} %<" in drawn
