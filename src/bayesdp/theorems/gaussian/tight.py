"""Normal groups with bounded correlations, tight: 1 + (m−1)ρ. Proof: docs/theory/gaussian-tight.md."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from bayesdp.models import GaussianGroups, Model
from bayesdp.queries import Query
from bayesdp.theorems.gaussian.metric import MetricTheorem, variance_kinds
from bayesdp.theorems.gaussian.paper import refuse_unlike

__all__ = ["GaussianTight", "refuse_all_jumps", "tight_factor"]


class GaussianTight(MetricTheorem):
    """The paper's hypotheses, without what its proof gives away; every record moves at most one clipping width.

    Releases on the same groups that are not ℓ1-private may accompany a clipped sum, at m·τ each.
    """

    name: ClassVar[str] = "gaussian-tight"
    proof: ClassVar[str] = "docs/theory/gaussian-tight.md"

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        return refuse_unlike(model) or refuse_all_jumps(queries)

    def factor(self, model: GaussianGroups, reach: Fraction | None) -> Fraction:
        if reach is None:
            return Fraction(model.group_size)
        return max(tight_factor(size, correlation, reach) for size, correlation, _ in variance_kinds(model))


def tight_factor(size: int, correlation: Fraction, reach: Fraction = Fraction(1)) -> Fraction:
    """Return the exact factor for groups of `size`, |correlations| at most `correlation`, targets `reach` widths apart.

    The largest over how many records k the adversary knows: the target moves by min(reach, 1) widths, and each of the
    m−1−k unknown ones by at most min(reach·ρ/(1−kρ), 1). Of these k four at most can be the worst (the proof has
    why): none known, the last before and the first at which the cap of 1 acts, and all but one.

    >>> float(tight_factor(10, Fraction(1, 10))), float(tight_factor(10**9, Fraction(1, 10**10)))
    (1.9, 1.0999999999)
    """
    target = min(reach, Fraction(1))
    if size == 1 or correlation == 0:
        return target
    capped = math.ceil(1 / correlation - reach)
    candidates = {min(max(known, 0), size - 2) for known in (0, capped - 1, capped, size - 2)}
    return target + max(
        (size - 1 - known) * min(reach * correlation / (1 - known * correlation), Fraction(1)) for known in candidates
    )


def refuse_all_jumps(queries: tuple[Query, ...]) -> str | None:
    """Return why none of the queries is private in the ℓ1 metric, or None if one is."""
    if all(query.not_metric is not None for query in queries):
        return f"it needs a mechanism that is private in the ℓ1 metric, and {queries[0].not_metric}"
    return None
