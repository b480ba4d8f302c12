"""The largest τ whose ε keeps a promise: a root search that returns only τ's whose ε was evaluated.

All targets are searched together: every evaluation helps to bracket all of them, and each round evaluates one τ for
each target in one batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

from bayesdp.rounding import down

__all__ = ["LARGEST_TAU", "SMALLEST_SHARE", "searched", "stepped_down"]

LARGEST_TAU = 1000.0
"""At this τ noise is a thousandth of the sensitivity; a search goes further only if ε is larger."""

_SHARES = (1.0, 2.0**-1, 2.0**-3, 2.0**-7, 2.0**-15, 2.0**-31, 2.0**-60, 2.0**-960)
SMALLEST_SHARE = _SHARES[-1]
"""A theorem that exceeds ε at this share of ε does not reach ε.

The share is this small because odds ratios go up to the largest float, and the τ may be as small as ε/√odds.
"""

_BELOW = 0.97
"""How far below a line through 0 the first τ is tried if every start leaks too much: ε is nearly proportional to τ."""

_BEYOND = 1.02
"""How far beyond such a line, raised to a power, the next τ is tried if every start leaks too little."""

_COARSE = 1e-3
"""From this tolerance on, evaluations are so slow that a search follows powers of τ, and ends near enough."""

_POWERS = (0.95, 0.8)
"""ε grows about like a power of τ between these; the first step up takes the one, the first step down the other."""

_LEAST_POWER, _LARGEST_POWER = 0.4, 1.1

_SHORT = 0.5
"""How far below the root a power of τ is followed, as a share of the tolerance, so that the promise is kept."""

_NEARBY = 2.0
"""The power of τ is taken from points whose ε is within this factor of the target."""

_STEPS = 4
"""How often a power of τ is followed before a bracket is narrowed."""

_WIDE = 2.0**32
"""If the ends of a bracket differ by a larger factor, it is halved at their geometric mean."""

_FORMULA_ERROR = 2.0**-40
"""The most, relatively, by which a formula in floating-point arithmetic may exceed its value."""


Evaluate = Callable[[Sequence[float]], list[float]]


def stepped_down(tau: float, epsilon: float, evaluate: Evaluate) -> float | None:
    """Return `tau`, or one hardly below it, whose evaluated ε is at most `epsilon`; None if there is none that near.

    τ falls by the share by which ε is exceeded, and by twice as much each time that is not enough.
    """
    lowered, share = tau, 0.0
    while lowered > 0 and share < _FORMULA_ERROR:
        (found,) = evaluate([lowered])
        if found <= epsilon:
            return lowered
        share = max(2 * share, found / epsilon - 1, math.ulp(1.0))
        lowered = min(tau * (1 - share), down(lowered))
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
    results = _approached(known, learn, targets if starts and tolerance >= _COARSE else (), tolerance)
    left = [target for target in targets if target not in results]
    for target in left:
        lowest = min(known, default=least)
        if starts and all(epsilon > target for epsilon in known.values()) and math.isfinite(known[lowest]):
            learn([max(_BELOW * lowest * target / known[lowest], least)])
    for share in _SHARES:
        low = [target for target in left if all(epsilon > target for epsilon in known.values())]
        learn([tau for target in low if (tau := max(share * target, least)) < min(known, default=math.inf)])
    narrowing: dict[float, _Narrowing] = {}
    for target in left:
        limit = max(target, LARGEST_TAU)
        step = _first_step(known, target) if starts else 2.0
        while max(known) < limit and all(epsilon <= target for epsilon in known.values()):
            learn([min(limit, step * max(known))])
            step = min(step * step, 2.0)  # a step of 1.02 or more, and each time squared
        above = min((tau for tau, epsilon in known.items() if epsilon > target), default=None)
        below = max((tau for tau in known if above is None or tau < above), default=None)
        if above is None or below is None:
            results[target] = below
        else:
            share = _power_share(below, known[below], above, known[above], target)
            narrowing[target] = _narrow(below, known[below] - target, above, known[above] - target, tolerance, share)
    excesses: dict[float, float | None] = dict.fromkeys(narrowing)
    while excesses:
        points = {}
        for target, excess in excesses.items():
            try:
                points[target] = narrowing[target].send(excess)
            except StopIteration as done:
                results[target] = done.value
        learn(points.values())
        coarse = tuple(points) if tolerance >= _COARSE else ()
        near = {target: root for target in coarse if (root := _near_enough(known, target, tolerance)) is not None}
        results |= near
        excesses = {target: known[tau] - target for target, tau in points.items() if target not in near}
    return [results[target] for target in targets]


def _first_step(known: Mapping[float, float], target: float) -> float:
    """Return the factor by which to raise the largest τ so that its ε probably exceeds the target, at most 4.

    ε often grows more slowly than τ, hence the power.
    """
    largest = max(known)
    missing = target / known[largest] if known[largest] > 0 else math.inf
    return min(_BEYOND * math.pow(missing, 1.5), 4.0)


def _power_share(below: float, epsilon_below: float, above: float, epsilon_above: float, target: float) -> float:
    """Return where between `above` (0) and `below` (1) a power of τ through both ends reaches the target."""
    if not 0 < epsilon_below < target < epsilon_above < math.inf:
        return (epsilon_above - target) / (epsilon_above - epsilon_below)
    power = math.log(target / epsilon_below) / math.log(epsilon_above / epsilon_below)
    root = math.exp(math.log(below) + power * (math.log(above) - math.log(below)))
    return (above - root) / (above - below)


def _approached(
    known: Mapping[float, float], learn: Callable[[Iterable[float]], None], targets: Sequence[float], tolerance: float
) -> dict[float, float | None]:
    """Return τ's that are near enough to the targets after a few steps along powers of τ; none where these miss."""
    for target in targets:
        for _ in range(_STEPS):
            if _near_enough(known, target, tolerance) is None:
                learn(_by_power(known, target, tolerance))
    near = {target: _near_enough(known, target, tolerance) for target in targets}
    return {target: tau for target, tau in near.items() if tau is not None}


def _near_enough(known: Mapping[float, float], target: float, tolerance: float) -> float | None:
    """Return the largest τ known to keep the target if a power of τ through the nearest points puts the root near."""
    below = max((tau for tau, epsilon in known.items() if epsilon <= target), default=None)
    if below is None or not known[below] > 0:
        return None
    missing = math.log(target / known[below])
    return below if missing <= tolerance * min(_power(known, target) or 0.0, 1.0) else None


def _power(known: Mapping[float, float], target: float) -> float | None:
    """Return the power of τ through the two points that are nearest to the target; None if they are far from it."""
    near = [tau for tau, epsilon in known.items() if target / _NEARBY <= epsilon <= target * _NEARBY]
    if len(near) < 2:
        return None
    first, second = sorted(near, key=lambda tau: abs(math.log(known[tau] / target)))[:2]
    return math.log(known[second] / known[first]) / math.log(second / first)


def _by_power(known: Mapping[float, float], target: float, tolerance: float) -> list[float]:
    """Return the τ just below which a power of τ reaches the target; none if it is not between the points known."""
    usable = [tau for tau, epsilon in known.items() if 0 < epsilon < math.inf]
    if not usable:
        return []
    nearest = min(usable, key=lambda tau: abs(math.log(known[tau] / target)))
    if nearest < _SHARES[5] * target < known[nearest] * _SHARES[5]:
        return []  # even next to nothing leaks more than the target
    power = _power(known, target) or _POWERS[known[nearest] > target]
    power = min(max(power, _LEAST_POWER), _LARGEST_POWER)
    reached = nearest * math.pow(target / known[nearest], 1 / power) * (1 - _SHORT * tolerance)
    below = max((tau for tau, epsilon in known.items() if epsilon <= target), default=0.0)
    above = min((tau for tau, epsilon in known.items() if epsilon > target), default=math.inf)
    return [reached] if below < reached < above else []


_Narrowing = Generator[float, float | None, float]


def _narrow(
    below: float, excess_below: float, above: float, excess_above: float, tolerance: float, share: float
) -> _Narrowing:
    """Narrow a bracket around the root of an excess ε(τ) − target by Chandrupatla's method; return its lower end.

    share: where to look first, from `above` (0) to `below` (1).

    Geometric means narrow a wide bracket first. The generator yields the τ to evaluate next and is sent its excess. The
    lower end was evaluated, and its excess is not positive.
    """
    newest, f_newest, other, f_other = above, excess_above, below, excess_below
    while True:
        low, high = min(newest, other), max(newest, other)
        least = tolerance * low / (high - low)
        if least >= 0.5 or math.nextafter(low, math.inf) >= high:
            return low
        if high > _WIDE * low:
            point = math.sqrt(low) * math.sqrt(high)
        else:
            point = newest + min(max(share, least), 1 - least) * (other - newest) - tolerance / 4 * low
        point = min(max(point, math.nextafter(low, math.inf)), math.nextafter(high, 0.0))
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
