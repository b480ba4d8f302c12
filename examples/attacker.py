"""An attacker's belief before and after a release, in two pictures: plain DP beside the calibrated noise.

Nothing is simulated: how likely each released count is, if the target was active and if it was not, is known exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
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

__all__ = [
    "Attack",
    "Bar",
    "attack",
    "attacker_chart",
    "bars",
    "bars_picture",
    "bars_svg",
    "belief_picture",
    "beliefs",
]

_HALF_HOUR = 6
"""The number of five-minute intervals on each side of the target that the attacker has not seen."""

_RELEASED = tuple(range(-6, 20))
"""Released counts, minus the active intervals that the attacker has seen."""

_SURE = 0.95
"""The belief from which on the attacker counts as sure."""


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


@dataclass(frozen=True)
class Attack:
    """What an attacker who starts at 50 : 50 comes to believe, over all answers.

    most:   his belief after the answer that reveals most.
    sure:   the probability of an answer that makes him at least 95 % sure.
    beyond: the probability of an answer that changes his odds by more than the promised factor.
    right:  how often his best guess is right.
    """

    most: float
    sure: float
    beyond: float
    right: float


def attack(tau: float, promised: float = 1.0, unseen: int = _HALF_HOUR) -> Attack:
    """Return what the attacker of `beliefs` learns from a count with discrete Laplace noise that makes it τ-DP.

    promised: the ε with which the change of his odds is compared.

    >>> learned = attack(1.0)
    >>> round(learned.most, 2), round(learned.sure, 2), round(learned.beyond, 2), round(learned.right, 2)
    (0.97, 0.02, 0.56, 0.75)
    """
    far = math.ceil(40 / tau)  # beyond that, all answers together are less probable than e^-40
    released = np.arange(-far, far + 2 * unseen + 2)
    laws = [_count_if(target, unseen) for target in (0, 1)]
    noise = np.tanh(tau / 2) * np.exp(-tau * np.abs(released[:, None] - np.arange(2 * unseen + 2)))
    idle, active = (noise @ law for law in laws)
    likely, surest = (idle + active) / 2, np.maximum(idle, active) / (idle + active)
    return Attack(
        most=float(surest.max()),
        sure=float(likely[surest >= _SURE].sum()),
        beyond=float(likely[np.abs(np.log(active / idle)) > promised * (1 + 1e-12)].sum()),
        right=float(np.maximum(idle, active).sum() / 2),
    )


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


@dataclass(frozen=True)
class Bar:
    """One bar: what it shows, how long it is (from 0 to 1), and its colour."""

    label: str
    share: float
    colour: str


def bars(epsilon: float = 1.0) -> tuple[Bar, ...]:
    """Return the attacker's largest belief: what ε promises, what plain DP allows, and what bayesdp allows.

    >>> [f"{bar.label}: {bar.share:.0%}" for bar in bars()][1]
    'Ordinary DP, ε = 1: 97%'
    """
    ours = calibrate(activity_chain(), ACTIVE, epsilon=epsilon).tau
    return (
        Bar(f"Promised by ε = {epsilon:g}", 1 / (1 + math.exp(-epsilon)), "#767676"),
        Bar(f"Ordinary DP, ε = {epsilon:g}", attack(epsilon).most, PALETTE[1]),
        Bar(f"bayesdp, ε = {epsilon:g}", attack(ours).most, colour_of("markov-mixing")),
    )


def bars_svg(epsilon: float = 1.0) -> str:
    """Return `bars` as SVG, legible at the width of a telephone; dashed lines mark the start and the promise."""
    drawn = bars(epsilon)
    left, full, top, apart = 12, 400, 84, 58
    bottom, promise = top + apart * len(drawn), drawn[0].share
    rows = [
        f'<text x="{left}" y="{top + apart * row}">{bar.label}</text>'
        f'<rect x="{left}" y="{top + 8 + apart * row}" width="{full * bar.share:.1f}" height="22" fill="{bar.colour}"/>'
        f'<text x="{left + 8 + full * max(bar.share, promise):.1f}" y="{top + 25 + apart * row}" font-weight="bold">'
        f"{100 * bar.share:.0f} %</text>"
        for row, bar in enumerate(drawn)
    ]
    marks = [
        f'<path d="M{left + full * share:.1f} {top + 4}V{bottom - 14}" stroke="#000000" stroke-dasharray="4 3"/>'
        f'<text x="{left + full * share:.1f}" y="{bottom + 2}" font-size="12" text-anchor="{anchor}">{words}</text>'
        for share, anchor, words in (
            (0.5, "end", "50 %: before"),
            (promise, "start", f"{100 * promise:.0f} %: promised"),
        )
    ]
    lines = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 {bottom + 14}" width="620" '
        'font-family="sans-serif" font-size="14">',
        f'<rect width="480" height="{bottom + 14}" fill="#ffffff"/>',
        f'<text x="{left}" y="26" font-size="17" font-weight="bold">How sure can an attacker become?</text>',
        f'<text x="{left}" y="48" font-size="12.5" fill="#555555">Was she active in one five-minute interval? '
        "Before the release: 50 %.</text>",
        *rows,
        *marks,
        "</svg>",
    )
    return "\n".join(lines) + "\n"


def bars_picture(path: str | Path) -> Path:
    """Write `bars_svg` into a file and return its path."""
    target = Path(path)
    target.write_text(bars_svg(), encoding="utf-8")
    return target
