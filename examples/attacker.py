"""An attacker's belief before and after a release in one picture: plain DP beside the calibrated noise.

Nothing is simulated: how likely each released count is, if the target was active and if it was not, is known exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.calibration.calibrate import calibrate
from bayesdp.experiments.data import activity_chain
from bayesdp.plotting.charts import Chart, Line, Panel
from bayesdp.plotting.drawing import save
from bayesdp.plotting.palette import PALETTE, PLAIN, colour_of
from step_counter import ACTIVE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["attacker_chart", "belief_picture", "beliefs"]

_HALF_HOUR = 6
"""The number of five-minute intervals on each side of the target that the attacker has not seen."""

_RELEASED = tuple(range(-6, 20))
"""Released counts, minus the active intervals that the attacker has seen."""


def beliefs(
    tau: float, released: Sequence[int] = _RELEASED, unseen: int = _HALF_HOUR, before: float = 0.5
) -> list[float]:
    """Return an attacker's probability that the target was active, after each of these released counts.

    He knows the Activity chain and all records but the target and `unseen` ones on each side of it; the next one on
    either side was idle. The count has discrete Laplace noise that makes it τ-DP. before: what he believed before.

    >>> [round(100 * belief) for belief in beliefs(1.0, released=[-100, 100])]
    [8, 97]
    """
    idle, active = (_count_if(target, unseen) for target in (0, 1))
    counts = np.arange(len(idle))
    believed = []
    for value in released:
        noise = np.exp(-tau * (np.abs(value - counts) - np.abs(value - counts).min()))
        odds = before / (1 - before) * float(active @ noise) / float(idle @ noise)
        believed.append(odds / (1 + odds))
    return believed


def _count_if(target: int, unseen: int) -> NDArray[np.float64]:
    """Return the law of the number of active records among the target and the unseen ones, given the target.

    Given the target, its two sides are independent of one another; a chain of two states is the same in both
    directions of time, so they have the same law.
    """
    law = np.asarray(activity_chain().matrix)
    side = [np.array([law[state, 0]]) for state in (0, 1)]  # the record beyond is idle
    for _ in range(unseen):
        side = [np.append(law[now, 0] * side[0], 0) + np.append(0, law[now, 1] * side[1]) for now in (0, 1)]
    one = side[target] / side[target].sum()
    both = np.convolve(one, one)
    return np.append(0, both) if target else np.append(both, 0)


def attacker_chart(epsilon: float = 1.0) -> Chart:
    """Return the attacker's belief over the released count, for plain DP at ε and for noise that keeps a promise of ε.

    >>> [line.name for line in attacker_chart().panels[0].lines]
    ['before', 'promise', 'promise', 'plain-dp', 'bayesdp']
    """
    promised = 1 / (1 + math.exp(-epsilon))
    ours = calibrate(activity_chain(), ACTIVE, epsilon=epsilon).tau
    plain = beliefs(epsilon)
    lines = (
        _level("before", 0.5, "#767676", "before: 50 : 50"),
        _level("promise", promised, "#000000", f"the promise of ε = {epsilon:g}:\nat most {_odds(promised)}"),
        _level("promise", 1 - promised, "#000000", ""),
        _curve(PLAIN, plain, PALETTE[1], f"plain DP at ε = {epsilon:g}:\nup to {_odds(max(plain))}"),
        _curve("bayesdp", beliefs(ours), colour_of("markov-mixing"), f"bayesdp at ε = {epsilon:g}:\nkeeps it"),
    )
    return Chart(
        "attacker",
        f"Plain DP promises that odds of 50 : 50 become {_odds(promised)} at most. They become {_odds(max(plain))}: "
        "what the attacker has not seen is tied to the target, too.",
        "released count, less the active intervals that the attacker has seen",
        "his belief that she was active, in %",
        (Panel(lines),),
        source="a step counter's chain of five-minute intervals; the attacker has seen all but half an hour on each "
        "side of one interval; computed, no data",
        limits=(0, 100),
    )


def _level(name: str, share: float, colour: str, label: str) -> Line:
    return Line(name, tuple((float(x), 100 * share) for x in (_RELEASED[0], _RELEASED[-1])), colour, "--", label)


def _curve(name: str, shares: Sequence[float], colour: str, label: str) -> Line:
    points = tuple((float(x), 100 * share) for x, share in zip(_RELEASED, shares, strict=True))
    return Line(name, points, colour, "-", label)


def _odds(share: float) -> str:
    """Return a belief as odds.

    >>> _odds(0.731)
    '73 : 27'
    """
    return f"{100 * share:.0f} : {100 - round(100 * share)}"


def belief_picture(path: str | Path) -> Path:
    """Draw `attacker_chart` into a file and return its path; raises as `plotting.drawing.save` does."""
    return save(attacker_chart(), path)
