"""The step of the mixing bound: the least V with E_p[h] ≤ V·E_q[h] for every h > 0 with h(v) ≤ gain(v, v′)·h(v′).

That is a small linear program (a transport with gains). For up to seven states its dual is solved exactly, for many
programs at once, by listing the vertices that can be optimal; for more states it is relaxed. Both are proven in
docs/theory/markov-mixing.md. Shapes: `kernels` is (1 or τ, u, v, r), the law of the next record v given u under
boundary r, of one chain at every τ or of a chain at each; `gains` and the result are (τ, u, u′, r).
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LARGEST_EXACT", "close", "exact_step", "relaxed_step"]

LARGEST_EXACT = 7
_ALIKE = 5e-3
_BOUNDARIES_AT_ONCE = 2
_RATIOS_AT_ONCE = 1_000_000


def close(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gains after every detour that is cheaper: h(v) ≤ g(v, w)·h(w) ≤ g(v, w)·g(w, v′)·h(v′)."""
    closed = gains.copy()
    for middle in range(gains.shape[1]):
        np.minimum(closed, closed[:, :, middle, None, :] * closed[:, None, middle, :, :], out=closed)
    return closed


def exact_step(kernels: NDArray[np.float64], gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return max_h E_u[h]/E_u′[h] for every pair, by trying every h that can be optimal.

    Each h is the largest (or smallest) of up to three "stars" 1/g(a, ·) (or g(·, n)), scaled to agree where they meet.
    States that cannot occur must have gain 1 from them and infinite gain to them; all other gains must be finite.
    """
    closed = close(gains).transpose(0, 3, 1, 2)
    first, second = np.triu_indices(gains.shape[1], 1)
    best = np.ones(closed.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        rows = _candidates(1 / closed, largest=True)
        columns = _candidates(closed.swapaxes(2, 3), largest=False)
        trials = np.concatenate([rows, columns], axis=2)
        trials[~np.isfinite(trials)] = np.nan
        expected = kernels.transpose(0, 3, 1, 2) @ trials.swapaxes(2, 3)
        pieces = math.ceil(trials[..., 0].size * len(first) / _RATIOS_AT_ONCE)
        for part in np.array_split(expected, min(pieces, trials.shape[2]), axis=3):
            ratio = part[:, :, first] / part[:, :, second]
            best[..., first, second] = np.fmax(best[..., first, second], np.fmax.reduce(ratio, axis=3))
            best[..., second, first] = np.fmax(best[..., second, first], 1 / np.fmin.reduce(ratio, axis=3))
    return best.transpose(0, 2, 3, 1)


def _candidates(stars: NDArray[np.float64], largest: bool) -> NDArray[np.float64]:
    """Return combinations of up to three stars[a, ·] that meet at some other state, as (τ, r, candidate, v)."""
    size = stars.shape[2]
    combine = np.fmax if largest else np.fmin
    found = [stars]
    if size >= 4:
        first, second, meet = _pairs(size)
        found.append(
            combine(
                stars[:, :, first] / stars[:, :, first, meet, None],
                stars[:, :, second] / stars[:, :, second, meet, None],
            )
        )
    if size >= 6:
        centre, first, second, meet, other = _triples(size)
        middle = stars[:, :, centre]
        one = stars[:, :, first] * (stars[:, :, centre, meet] / stars[:, :, first, meet])[..., None]
        two = stars[:, :, second] * (stars[:, :, centre, other] / stars[:, :, second, other])[..., None]
        found.append(combine(combine(middle, one), two))
    return np.concatenate(found, axis=2)


@lru_cache(maxsize=8)
def _pairs(size: int) -> tuple[NDArray[np.int64], ...]:
    """Return all pairs of stars with a third state at which they meet."""
    chosen = [
        (first, second, meet)
        for first, second in itertools.combinations(range(size), 2)
        for meet in range(size)
        if meet not in (first, second)
    ]
    return tuple(np.array(column) for column in zip(*chosen, strict=True))


@lru_cache(maxsize=8)
def _triples(size: int) -> tuple[NDArray[np.int64], ...]:
    """Return all trees of three stars: a centre, two more, and the states at which it meets each of them."""
    chosen = [
        (centre, *others, meet, other)
        for centre in range(size)
        for others in itertools.combinations([state for state in range(size) if state != centre], 2)
        for meet, other in itertools.product(
            [state for state in range(size) if state not in (centre, *others)], repeat=2
        )
    ]
    return tuple(np.array(column) for column in zip(*chosen, strict=True))


def relaxed_step(
    kernels: NDArray[np.float64], gains: NDArray[np.float64], matrix: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return an upper bound for every pair, with all gains raised to the largest finite one of their boundary.

    `kernels` is (u, v, r) here, of one chain.

    Then h is that gain G on some set A of values and 1 elsewhere: V = max_A (1 + g·p(A))/(1 + g·q(A)), g = G − 1, and
    the best A holds the values with the largest p/q. That order is the same under every boundary, for p/q there is
    matrix[u, v]/matrix[u′, v] up to a factor: sort once, add up, and take the largest. Boundaries that hardly differ
    are bounded together.
    """
    finite = np.where(np.isfinite(gains), gains, 1.0)
    low, high = kernels.min(axis=2), kernels.max(axis=2)
    if np.all(high <= low * (1 + _ALIKE)):
        together = _raised(high, low, finite.max(axis=(1, 2, 3)) - 1)
        return np.broadcast_to(together[..., None], gains.shape).copy()
    found = np.ones_like(gains)
    first, second = np.triu_indices(len(matrix), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.nan_to_num(matrix[first] / matrix[second], nan=0.0), axis=1)
    for some in np.array_split(np.arange(gains.shape[3]), max(1, gains.shape[3] // _BOUNDARIES_AT_ONCE)):
        laws = np.moveaxis(kernels[:, :, some], 2, 0).reshape(len(some), -1)
        p = laws.take(first[:, None] * len(matrix) + order, axis=1)
        q = laws.take(second[:, None] * len(matrix) + order, axis=1)
        from_first = p.cumsum(axis=2), q.cumsum(axis=2)
        from_last = q[..., ::-1].cumsum(axis=2), p[..., ::-1].cumsum(axis=2)
        for index, raised in enumerate(finite[..., some].max(axis=(1, 2)) - 1):
            g = raised[:, None, None]
            for (above, below), one, other in ((from_first, first, second), (from_last, second, first)):
                found[index, one[:, None], other[:, None], some] = ((1 + g * above) / (1 + g * below)).max(axis=2).T
    return np.maximum(found, 1.0)


def _raised(p: NDArray[np.float64], q: NDArray[np.float64], excesses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return max_A (Σp + g·p(A))/(Σq + g·q(A)) for every pair of a row of p and a row of q, at each excess g."""
    found = np.ones((len(excesses), len(p), len(q)))
    for u, law in enumerate(p):
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(-np.nan_to_num(law / q, nan=0.0), axis=1)
        above = np.take_along_axis(np.broadcast_to(law, q.shape), order, axis=1).cumsum(axis=1)
        below = np.take_along_axis(q, order, axis=1).cumsum(axis=1)
        for index, g in enumerate(excesses):
            found[index, u] = ((above[:, -1:] + g * above) / (below[:, -1:] + g * below)).max(axis=1)
    return np.maximum(found, 1.0)
