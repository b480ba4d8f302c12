"""The largest τ whose ε keeps a promise: a root search that returns only τ's whose ε was evaluated.

All targets are searched together: every evaluation helps to bracket all of them, and each round evaluates one τ for
each target in one batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Sequence

from bayesdp.rounding import down

__all__ = ["LARGEST_TAU", "SMALLEST_SHARE", "searched", "stepped_down"]

LARGEST_TAU = 1000.0
"""At this τ noise is a thousandth of the sensitivity; a search goes further only if ε is larger."""

_SHARES = (1.0, 2.0**-1, 2.0**-3, 2.0**-7, 2.0**-15, 2.0**-31, 2.0**-60, 2.0**-960)
SMALLEST_SHARE = _SHARES[-1]
"""A theorem that exceeds ε at this share of ε does not reach ε.

The share is this small because odds ratios go up to the largest float, and the τ may be as small as ε/√odds.
"""

_WIDE = 2.0**32
"""If the ends of a bracket differ by a larger factor, it is halved at their geometric mean."""

_CLOSED_FORM_ULPS = 64
"""The most floats by which a formula in floating-point arithmetic may exceed its value; it is off by a few at most."""


Evaluate = Callable[[Sequence[float]], list[float]]


def stepped_down(tau: float, epsilon: float, evaluate: Evaluate) -> float | None:
    """Return `tau` or the first of a few floats below it whose evaluated ε is at most `epsilon`; None if none is."""
    for _ in range(_CLOSED_FORM_ULPS):
        if tau <= 0:
            return None
        if evaluate([tau])[0] <= epsilon:
            return tau
        tau = down(tau)
    return None


def searched(
    evaluate: Evaluate, targets: Sequence[float], starts: Sequence[float], tolerance: float, at_once: bool
) -> list[float | None]:
    """Return for each of the ascending targets the largest τ found with ε(τ) ≤ target, or None if none was found.

    evaluate:  returns ε at each of several τ's, in their order; the only requirement is that ε never falls as τ rises.
    starts:    τ's near which the answers may lie; without them, shares of the targets.
    tolerance: how far, relatively, an answer may lie below the largest possible τ.
    at_once:   whether evaluating several τ's takes hardly longer than one.

    Every τ returned was evaluated, and its ε is at most the target. SciPy's root finders return a point on either side
    of the root, which could break the promise.

    One batch of coarse points brackets every target; then all brackets are narrowed together, one batch in each round.
    """
    known: dict[float, float] = {}

    def learn(taus: Iterable[float]) -> None:
        fresh = sorted(set(taus) - set(known))
        if fresh:
            known.update(zip(fresh, evaluate(fresh), strict=True))

    least = math.ulp(0.0)
    learn(starts or [max(share * target, least) for share in _SHARES[:4] for target in targets if at_once])
    for share in _SHARES:
        low = [target for target in targets if all(epsilon > target for epsilon in known.values())]
        learn([tau for target in low if (tau := max(share * target, least)) < min(known, default=math.inf)])
    results: dict[float, float | None] = {}
    narrowing: dict[float, _Narrowing] = {}
    for target in targets:
        limit = max(target, LARGEST_TAU)
        while max(known) < limit and all(epsilon <= target for epsilon in known.values()):
            learn([min(limit, 2 * max(known))])
        above = min((tau for tau, epsilon in known.items() if epsilon > target), default=None)
        below = max((tau for tau in known if above is None or tau < above), default=None)
        if above is None or below is None:
            results[target] = below
        else:
            narrowing[target] = _narrow(below, known[below] - target, above, known[above] - target, tolerance)
    excesses: dict[float, float | None] = dict.fromkeys(narrowing)
    while excesses:
        asked = {}
        for target, excess in excesses.items():
            try:
                asked[target] = narrowing[target].send(excess)
            except StopIteration as done:
                results[target] = done.value
        learn(asked.values())
        excesses = {target: known[tau] - target for target, tau in asked.items()}
    return [results[target] for target in targets]


_Narrowing = Generator[float, float | None, float]


def _narrow(below: float, excess_below: float, above: float, excess_above: float, tolerance: float) -> _Narrowing:
    """Narrow a bracket around the root of an excess ε(τ) − target by Chandrupatla's method; return its lower end.

    Geometric means narrow a wide bracket first. The generator yields the τ to evaluate next and is sent its excess. The
    lower end was evaluated, and its excess is not positive.
    """
    newest, f_newest, other, f_other = above, excess_above, below, excess_below
    share = excess_above / (excess_above - excess_below)
    while True:
        low, high = min(newest, other), max(newest, other)
        least = tolerance * low / (high - low)
        if least >= 0.5 or math.nextafter(low, math.inf) >= high:
            return low
        if high > _WIDE * low:
            point = math.sqrt(low) * math.sqrt(high)
        else:
            point = newest + min(max(share, least), 1 - least) * (other - newest)
        if not low < point < high:
            point = math.nextafter(low, math.inf)
        excess = yield point
        assert excess is not None
        if (excess > 0) == (f_newest > 0):
            previous, f_previous = newest, f_newest
        else:
            previous, f_previous, other, f_other = other, f_other, newest, f_newest
        newest, f_newest = point, excess
        xi = (newest - other) / (previous - other)
        phi = (f_newest - f_other) / (f_previous - f_other)
        if phi * phi < xi and (1 - phi) ** 2 < 1 - xi:
            share = f_newest / (f_other - f_newest) * f_previous / (f_other - f_previous)
            reach = (previous - newest) / (other - newest)
            share += reach * f_newest / (f_previous - f_newest) * f_other / (f_previous - f_other)
        else:
            share = 0.5
