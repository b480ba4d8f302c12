"""Normal groups with bounded correlations, tight: 1 + (m−1)ρ. Proof: docs/theory/gaussian-tight.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from bayesdp.models import GaussianGroups, Model
from bayesdp.queries import Query
from bayesdp.theorems.gaussian.metric import MetricTheorem, Normal, variance_kinds
from bayesdp.theorems.gaussian.paper import refuse_unlike

__all__ = ["GaussianTight", "refuse_all_jumps", "tight_factor"]


class GaussianTight(MetricTheorem):
    """A sharp bound under the paper's hypotheses: every record moves at most one clipping width.

    Releases on the same groups that are not ℓ1-private may accompany a clipped sum, at m·τ each.
    """

    name: ClassVar[str] = "gaussian-tight"
    proof: ClassVar[str] = "docs/theory/gaussian-tight.md"

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        return refuse_unlike(model) or refuse_all_jumps(queries)

    def factors(self, model: Normal, reaches: tuple[Fraction, ...]) -> Sequence[tuple[Fraction, ...]]:
        assert isinstance(model, GaussianGroups)
        return [
            tuple(_factor(size, correlation, spread, reach, known) for reach in reaches)
            for size, correlation, spread in variance_kinds(model)
            for known in _worst_numbers(size, correlation, reaches)
        ]


def tight_factor(size: int, correlation: Fraction, reach: Fraction = Fraction(1)) -> Fraction:
    """Return the factor for groups of `size`, |correlations| at most `correlation`, targets `reach` widths apart.

    It is exact, except that a root is rounded up where the adversary knows all records but one.

    >>> float(tight_factor(10, Fraction(1, 10))), float(tight_factor(10**9, Fraction(1, 10**10)))
    (1.9, 1.0999999999)
    """
    numbers = _worst_numbers(size, correlation, (reach,))
    return max(_factor(size, correlation, Fraction(0), reach, known) for known in numbers)


def _worst_numbers(size: int, correlation: Fraction, reaches: tuple[Fraction, ...]) -> list[int]:
    """Return candidates for the number of records that the worst adversary knows, whatever the τ's (see the proof).

    These are none, the last before and the first at which the cap of one width applies in one of the sums, and all
    but one or two.
    """
    if size == 1 or correlation == 0:
        return [0]
    caps = [math.ceil(1 / correlation - reach) for reach in reaches]
    turns = {0, size - 3, *(cap - 1 for cap in caps), *caps}
    return sorted({min(max(known, 0), max(size - 3, 0)) for known in turns} | {size - 2})


def _factor(size: int, correlation: Fraction, spread: Fraction, reach: Fraction, known: int) -> Fraction:
    """Return the factor for an adversary that knows `known` records of the group.

    The target moves by min(reach, 1) widths. Each of the m−1−k unknown records moves by reach·|β|, at most one width:
    |β| is at most ρ/(1−kρ), and at most the ratio of conditional standard deviations.
    """
    target = min(reach, Fraction(1))
    if size == 1 or correlation == 0:
        return target
    left = 1 - known * correlation
    slope = correlation / left
    if slope > 1:
        slope = min(slope, _root_above((1 + spread) * (left + correlation) / (left * (1 + correlation))))
    return target + (size - 1 - known) * min(reach * slope, Fraction(1))


def _root_above(value: Fraction) -> Fraction:
    """Return the square root, rounded up by at most 2⁻⁶⁴ of itself.

    >>> _root_above(Fraction(9, 4)), float(_root_above(Fraction(2)))
    (Fraction(3, 2), 1.4142135623730951)
    """
    shift = max(0, 130 - value.numerator.bit_length() + value.denominator.bit_length())
    scaled = -(-(value.numerator << 2 * shift) // value.denominator)
    root = math.isqrt(scaled)
    return Fraction(root + (root * root < scaled), 1 << shift)


def refuse_all_jumps(queries: tuple[Query, ...]) -> str | None:
    """Return why none of the queries is private in the ℓ1 metric, or None if one is."""
    if all(query.not_metric is not None for query in queries):
        return f"it needs a mechanism that is private in the ℓ1 metric, and {queries[0].not_metric}"
    return None
