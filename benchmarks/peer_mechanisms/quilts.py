"""The Markov quilt mechanism (Song, Wang and Chaudhuri, SIGMOD 2017), restated: MQMExact and MQMApprox on a chain.

A quilt consists of two records, a before the target and b after it, or one of them, or none. Its max-influence e on the
target is subtracted from ε, and group privacy covers the N records between its ends: the Laplace scale is N/(ε − e). A
target uses its best quilt, and the mechanism uses the worst target. The adversary knows no record.

For comparison only: no session offers it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.errors import DoesNotApplyError
from bayesdp.models import MarkovChain

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["approximate_quilt_scales", "eigengap", "end_influences", "exact_quilt_scales"]

_DEEPEST = 1 << 14
_NO_MATTER = 1e-6
"""As a share of ε: an end with less influence is not worth one more record."""

_ALIKE = 1e-12

Influences = Callable[[int], "NDArray[np.float64]"]
"""The influence of a quilt's end at the distances 1, 2, … on the target, as (distance, pair of values)."""


def exact_quilt_scales(chain: MarkovChain, epsilons: Sequence[float]) -> list[float]:
    """Return the Laplace scale of MQMExact for a 1-Lipschitz query at each ε.

    The influence is the exact one: max over x, x′ of max_q ln Pr(q | x)/Pr(q | x′) at one end, plus that at the other.
    Without a length, the target is in the middle of an endless chain. Needs a stationary start; DoesNotApplyError else.

    >>> exact_quilt_scales(MarkovChain([[0.5, 0.5], [0.5, 0.5]], length=100), [0.2, 1.0])
    [5.0, 1.0]
    """
    _refuse_unfit(chain, "mqm-exact")
    left, right = end_influences(chain, _NO_MATTER * min(epsilons))
    return [_scale(chain.length, epsilon, left, right) for epsilon in epsilons]


def end_influences(chain: MarkovChain, negligible: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return max_q ln Pr(q | x)/Pr(q | x′) of the records 1, 2, … before and after a target, as (distance, pair).

    As far as the chain reaches, or until they are all negligible.
    """
    law, matrix = chain.stationary, chain.matrix
    return _far_enough(chain, negligible, _following(matrix / law, matrix), _following(matrix.T, matrix.T))


def approximate_quilt_scales(chain: MarkovChain, epsilons: Sequence[float]) -> list[float]:
    """Return the Laplace scale of MQMApprox for a 1-Lipschitz query at each ε.

    The influence is bounded by how fast the chain mixes. With Δ_t = exp(−gt/2)/min π, g the eigengap, an end at
    distance t costs ln (1 + Δ_t)/(1 − Δ_t) after the target and twice that before it; nothing is known where Δ_t ≥ 1.
    Needs a primitive chain with a stationary start; DoesNotApplyError else.
    """
    _refuse_unfit(chain, "mqm-approx")
    if not chain.is_primitive:
        raise DoesNotApplyError("mqm-approx", "it needs an aperiodic chain, whose eigengap is positive")
    rate, least = eigengap(chain) / 2, float(chain.stationary.min())

    def after(depth: int) -> NDArray[np.float64]:
        share = np.exp(-rate * np.arange(1, depth + 1)) / least
        with np.errstate(divide="ignore"):
            known = np.log1p(np.minimum(share, 1.0)) - np.log1p(-np.minimum(share, 1.0))
        return np.asarray(known)[:, None]

    left, right = _far_enough(chain, _NO_MATTER * min(epsilons), lambda depth: 2 * after(depth), after)
    return [_scale(chain.length, epsilon, left, right) for epsilon in epsilons]


def eigengap(chain: MarkovChain) -> float:
    """Return the g of MQMApprox: 2(1 − |λ|) for a reversible P, 1 − |λ| of P·P* for others, λ the second eigenvalue.

    >>> round(eigengap(MarkovChain([[0.9, 0.1], [0.2, 0.8]])), 6)
    0.6
    """
    law, matrix = chain.stationary, chain.matrix
    back = (law[:, None] * matrix).T / law[:, None]
    reversible = np.allclose(back, matrix, rtol=0, atol=_ALIKE)
    values = np.sort(np.abs(np.linalg.eigvals(matrix if reversible else matrix @ back)))[::-1]
    gap = 1 - float(values[1]) if len(values) > 1 else 1.0
    return 2 * gap if reversible else gap


def _refuse_unfit(chain: MarkovChain, name: str) -> None:
    if chain.memory > 1:
        raise DoesNotApplyError(name, "it is about chains that remember one record")
    if chain.start != "stationary" or not chain.is_irreducible:
        raise DoesNotApplyError(name, "it is restated for chains in their stationary law")
    if chain.gaps:
        raise DoesNotApplyError(name, "it counts records, and an unknown number is missing")


def _following(likelihoods: NDArray[np.float64], step: NDArray[np.float64]) -> Influences:
    """Return the influence max_q ln ℓ(q, x)/ℓ(q, x′) for each pair; `step` leads one record farther."""
    by_depth: list[NDArray[np.float64]] = []
    columns = [likelihoods]

    def influences(depth: int) -> NDArray[np.float64]:
        while len(by_depth) < depth:
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(columns[0])
                largest = np.full((len(logs), len(logs)), -np.inf)
                for row in logs:
                    np.fmax(largest, row[:, None] - row[None, :], out=largest)
            by_depth.append(largest.ravel())
            columns[0] = step @ columns[0]
        return np.array(by_depth[:depth])

    return influences


def _far_enough(
    chain: MarkovChain, negligible: float, before: Influences, after: Influences
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    limit = _DEEPEST if chain.length is None else min(_DEEPEST, chain.length - 1)
    depth = min(16, limit)
    while depth < limit and max(before(depth)[-1].max(), after(depth)[-1].max()) > negligible:
        depth = min(2 * depth, limit)
    return before(depth), after(depth)


def _scale(length: int | None, epsilon: float, left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Return the scale of the worst target: the middle one, unless its best quilt has one end only.

    A quilt with two ends serves every other target as well: an end that lies outside the chain is dropped, which leaves
    fewer records inside and less influence. The quilt without ends is the worst there is.
    """
    if length is None:
        return _best(epsilon, left, right, None, None)[0]
    middle, ends = _best(epsilon, left, right, (length - 1) // 2, length - 1 - (length - 1) // 2)
    if ends != 1:
        return middle
    return max(_best(epsilon, left, right, place, length - 1 - place)[0] for place in range(length))


def _best(
    epsilon: float, left: NDArray[np.float64], right: NDArray[np.float64], before: int | None, after: int | None
) -> tuple[float, int]:
    """Return the smallest scale of a quilt for a target with so many records before and after it, and its ends.

    None for any number of records. No quilt that is larger than the best scale allows is looked at.
    """
    best, ends = (np.inf, 2) if before is None or after is None else ((before + 1 + after) / epsilon, 0)
    left, right = left[:before], right[:after]
    for balanced in range(min(len(left), len(right))):
        best, ends = min((best, ends), (_noise(2 * balanced + 1, epsilon, left[balanced] + right[balanced]), 2))
    for end, beyond in ((left, after), (right, before)):
        if beyond is not None:
            for distance, influence in enumerate(end, 1):
                best, ends = min((best, ends), (_noise(distance + beyond, epsilon, influence), 1))
    for a, influence in enumerate(left, 1):
        most = len(right) if best == np.inf else min(len(right), int(best * epsilon) - a + 1)
        if most < 1:
            break
        costs = np.maximum((influence + right[:most]).max(axis=1), 0.0)
        with np.errstate(divide="ignore"):
            scales = np.where(costs < epsilon, (a + np.arange(most)) / (epsilon - costs), np.inf)
        best, ends = min((best, ends), (float(scales.min()), 2))
    return float(best), ends


def _noise(records: int, epsilon: float, influence: float | NDArray[np.float64]) -> float:
    cost = float(np.max(influence))
    return records / (epsilon - cost) if cost < epsilon else np.inf
