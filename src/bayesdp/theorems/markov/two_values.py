"""The two-value step: what one record with arbitrary evidence passes on. Proof: docs/theory/markov-memory.md.

Under arbitrary evidence the worst law of a record has two values. Every supremum is then that of a quotient of two
quadratics in λ ≥ 0, the weight of the second value relative to the first. `largest_quotient` bounds it from above: it
searches for the best λ, and then verifies that no λ exceeds the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesdp._support.arrays import Booleans, Floats

__all__ = ["Gains", "Step", "averaged", "largest_quotient", "steepest"]

_LARGEST_EXPONENT = 300.0
"""Half the logarithm of the largest weights, whose squares stay below the largest float; beyond, the plain bound is
used."""

_LARGEST_LAMBDA = 1e100
_SMALLEST_LAMBDA = 1e-30
_WIDENED = 2.0**-46
_MORE = 2.0**8
_ROUNDING = 2.0**-50
_GAIN_ROUNDING = 2.0**-48


def largest_quotient(
    constant: Floats, linear: Floats, square: Floats, middle: Floats, scale: Floats
) -> tuple[Floats, Floats]:
    """Return an upper bound on (constant + linear·λ + square·λ²) / (1 + middle·λ + λ²) over λ ≥ 0, and about where.

    middle: at least 2 and at most e^300.
    scale:  at least |constant|, |linear|/middle and |square|, the sizes of the terms they were added up from: rounding
            errors are shares of it.

    The bound G exceeds the best quotient found by a small share of the scale. It is then verified: a quadratic with
    q0, q2 ≥ 0 is not negative on λ ≥ 0 if q1 ≥ 0 or q1² ≤ 4·q0·q2, and G·(1 + middle·λ + λ²) minus the numerator must
    be such a quadratic, with a margin for the rounding of its coefficients. Where it is not, G is raised; the scale
    always suffices.
    """
    unit = np.where(scale > 0, scale, 1.0)
    e0, e1, e2 = constant / unit, linear / unit, square / unit
    a, b, c = e2 * middle - e1, e2 - e0, e1 - e0 * middle
    turned = -(b + np.copysign(np.sqrt(np.maximum(b * b - a * c, 0.0)), b))
    best, where = np.maximum(e0, e2), np.where(e0 >= e2, 0.0, _LARGEST_LAMBDA)
    with np.errstate(divide="ignore", invalid="ignore"):
        roots = (turned / a, c / turned)
    for root in roots:
        weight = np.where(root > 0, np.minimum(root, _LARGEST_LAMBDA), 0.0)
        value = (e0 + weight * (e1 + weight * e2)) / (1 + weight * (middle + weight))
        where = np.where(value > best, weight, where)
        best = np.maximum(best, value)
    widened = _WIDENED
    bound = best + widened
    while widened <= 1 and not (holds := _never_exceeded(bound, e0, e1, e2, middle)).all():
        widened *= _MORE
        bound = np.where(holds, bound, np.minimum(best + widened, 1 + _WIDENED))
    return np.where(scale > 0, bound * unit, 0.0), where


def _never_exceeded(bound: Floats, e0: Floats, e1: Floats, e2: Floats, middle: Floats) -> Booleans:
    """Return whether bound·(1 + middle·λ + λ²) ≥ e0 + e1·λ + e2·λ² for all λ ≥ 0, with a margin for rounding."""
    room = bound - 8 * _ROUNDING
    q0, q1, q2 = room - e0, room * middle - e1, room - e2
    return np.asarray((q0 >= 0) & (q2 >= 0) & ((q1 >= 0) | (q1 * q1 <= (1 - _ROUNDING) * 4 * q0 * q2)))


@dataclass(frozen=True)
class Gains:
    """Gains: ln of the largest ratio of a function at one of two values to another function at one of the two.

    first_second: the function at the first value against the other function at the second; and so on.
    """

    first_first: Floats
    first_second: Floats
    second_first: Floats
    second_second: Floats

    @property
    def all(self) -> tuple[Floats, ...]:
        """The four of them, in order."""
        return self.first_first, self.first_second, self.second_first, self.second_second

    @property
    def largest(self) -> Floats:
        """The plain bound: no average exceeds it."""
        return np.asarray(np.maximum.reduce(np.broadcast_arrays(*self.all)))


@dataclass(frozen=True)
class Step:
    """The most that an average over two values passes on, and its derivatives by the gains.

    value:   the largest ln E_p h/E_q h′, rounded up.
    slopes:  its derivatives by the four gains, in the order of `Gains.all`; they add up to one.
    """

    value: Floats
    slopes: tuple[Floats, ...]

    @classmethod
    def joined(cls, steps: Sequence[Step]) -> Step:
        """Join steps that were computed in parts of the second axis."""
        if len(steps) == 1:
            return steps[0]
        every = zip(*(step.slopes for step in steps), strict=True)
        return cls(
            np.concatenate([step.value for step in steps], axis=1), tuple(np.concatenate(e, axis=1) for e in every)
        )


def averaged(gains: Gains, low: Floats, high: Floats, *, slopes: bool = False) -> Step:
    """Return the largest ln E_p h/E_q h′ over laws p, q on two values and functions h, h′ within the gains, rounded up.

    low, high: the range of ln p(first)·q(second) / (p(second)·q(first)); may be infinite.
    slopes:    whether to compute derivatives for a search, too; they are not rounded in a direction.

    With κ for the odds ratio and h′ = (1, y) the quotient is (h1 + h2·λ)(1 + κλ) / ((1 + λ)(1 + κyλ)): monotone in κ,
    so only the ends of its range are tried, and in y between the two values at which h1 or h2 changes its form.
    """
    c00, c01, c10, c11 = gains.all
    y = np.stack([c00 - c01, c10 - c11])[:, None]
    odds = np.stack([low, high])[None]
    h1, h2 = np.minimum(c00, c01 + y), np.minimum(c10, c11 + y)
    r1, r2 = np.minimum(c00 - y, c01), np.minimum(c10 - y, c11)
    plain = gains.largest
    half = (odds + y) / 2
    sound = (np.abs(half) <= _LARGEST_EXPONENT) & (plain <= 2 * _LARGEST_EXPONENT)
    half = np.where(sound, half, 0.0)
    up, down = np.exp(half), np.exp(-half)
    constant, above, below, square = (
        np.expm1(np.minimum(exponent, 2 * _LARGEST_EXPONENT)) for exponent in (h1, r1, h2, r2)
    )
    first, second, middle = up * above, down * below, up + down
    sizes = np.maximum(np.abs(constant), np.abs(square)), (np.abs(first) + np.abs(second)) / middle
    quotient, where = largest_quotient(constant, first + second, square, middle, np.maximum(*sizes))
    passed = np.where(sound, np.log1p(np.maximum(quotient, 0.0)), plain)
    value = passed.max(axis=(0, 1)) * (1 + _ROUNDING) + _GAIN_ROUNDING * sum(np.abs(gain) for gain in gains.all)
    value = np.maximum(np.minimum(value, plain), 0.0)
    if not slopes:
        return Step(value, ())
    weight = np.maximum(where, _SMALLEST_LAMBDA)
    shares = 1 / (1 + np.exp(np.minimum(h1 - h2, _LARGEST_EXPONENT)) * (up / weight)), 1 / (1 + down / weight)
    own = np.stack([c10 <= c11 + y[0, 0], c00 <= c01 + y[1, 0]])[:, None]
    worst = passed.reshape(4, *passed.shape[2:]).argmax(axis=0)[None]
    every = (np.broadcast_to(slope, passed.shape).reshape(4, *passed.shape[2:]) for slope in _slopes(*shares, own))
    return Step(value, tuple(np.take_along_axis(slope, worst, axis=0)[0] for slope in every))


def _slopes(second: Floats, y: Floats, own: Booleans) -> tuple[Floats, ...]:
    """Return the derivatives of ln E_p h/E_q h′ by the four gains, y moving with them; y's choices are the first axis.

    second, y: the shares of h2·λ in the numerator and of κyλ in the denominator.
    own:       whether the function whose form does not change at y is bounded by the gain to the first value.
    """
    first = 1 - second
    by_first = (
        np.where(own, first - y, 1 - y)[0],
        np.where(own, y, y - second)[0],
        np.where(own, second, 0.0)[0],
        np.where(own, 0.0, second)[0],
    )
    by_second = (
        np.where(own, first, 0.0)[1],
        np.where(own, 0.0, first)[1],
        np.where(own, second - y, 1 - y)[1],
        np.where(own, y, y - first)[1],
    )
    return tuple(np.stack(both) for both in zip(by_first, by_second, strict=True))


def steepest(numerators: tuple[Floats, Floats], denominators: tuple[Floats, Floats], tilt: Floats) -> Floats:
    """Return the largest ln (m·A)(m′·B) / ((m·C)(m′·D)) over two values, rounded up, where m′ is m tilted.

    numerators:   ln A and ln B, the last axis the two values; denominators: ln C and ln D.
    tilt:         ln of how much larger m′ is than m at the second value, relative to the first.
    """
    (a, b), (c, d) = numerators, denominators
    ends = [a[..., at] + b[..., at] - c[..., at] - d[..., at] for at in (0, 1)]
    half = (c[..., 1] + d[..., 0] - c[..., 0] - d[..., 1] - tilt) / 2
    middle = np.logaddexp(half, -half)
    norm = (c[..., 0] + c[..., 1] + d[..., 0] + d[..., 1] + tilt) / 2
    crossed = np.logaddexp(a[..., 0] + b[..., 1] + tilt - norm, a[..., 1] + b[..., 0] - norm)
    top = np.maximum(np.maximum(ends[0], ends[1]), crossed - middle)
    sound = np.abs(half) <= _LARGEST_EXPONENT
    quotient, _ = largest_quotient(
        np.exp(ends[0] - top),
        np.exp(np.where(sound, crossed - top, 0.0)),
        np.exp(ends[1] - top),
        np.exp(np.where(sound, middle, 1.0)),
        np.ones_like(top),
    )
    sizes = sum(np.abs(logs).max(axis=-1) for logs in (a, b, c, d)) + np.abs(tilt) + 1
    return np.asarray(top + np.where(sound, np.log(quotient), 0.0) + _GAIN_ROUNDING * sizes)
