"""The step of the mixing bound: the least V with E_p[h] ≤ V·E_q[h] for every h > 0 with h(v) ≤ gain(v, v′)·h(v′).

That is a small linear program (a transport with gains). For up to seven states its dual is solved exactly, for many
programs at once, by listing the vertices that can be optimal. `boxes` has the relaxation for more states. Proofs are in
docs/theory/markov-mixing.md. Shapes: `laws` is (…, u, v), the law of the next record v given u, and `gains`
(…, v, v′); the result is (…, u, u′). Leading axes form a batch: one program for each τ, ending and chain.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from bayesdp._support.arrays import Floats, Integers

__all__ = ["LARGEST_EXACT", "close", "exact_step"]

LARGEST_EXACT = 7
_RATIOS_AT_ONCE = 1_000_000


def close(gains: Floats) -> Floats:
    """Return the gains, lowered by every cheaper detour: h(v) ≤ g(v, w)·h(w) ≤ g(v, w)·g(w, v′)·h(v′)."""
    closed = gains.copy()
    for middle in range(gains.shape[-1]):
        np.minimum(closed, closed[..., :, middle, None] * closed[..., None, middle, :], out=closed)
    return closed


def exact_step(laws: Floats, gains: Floats) -> Floats:
    """Return max_h E_u[h]/E_u′[h] for every pair of laws, by trying every h that can be optimal.

    Each h is the largest (or smallest) of up to three "stars" 1/g(a, ·) (or g(·, n)), scaled to agree where they meet.
    States that cannot occur must have gain 1 from them and infinite gain to them; all other gains must be finite.
    """
    closed = close(gains)
    number = laws.shape[-2]
    first, second = np.triu_indices(number, 1)
    best = np.ones((*closed.shape[:-2], number, number))
    with np.errstate(invalid="ignore", divide="ignore"):
        rows = _candidates(1 / closed, largest=True)
        columns = _candidates(closed.swapaxes(-1, -2), largest=False)
        trials = np.concatenate([rows, columns], axis=-2)
        trials[~np.isfinite(trials)] = np.nan
        expected = laws @ trials.swapaxes(-1, -2)
        pieces = math.ceil(trials[..., 0].size * len(first) / _RATIOS_AT_ONCE)
        for part in np.array_split(expected, min(pieces, trials.shape[-2]), axis=-1):
            ratio = part[..., first, :] / part[..., second, :]
            best[..., first, second] = np.fmax(best[..., first, second], np.fmax.reduce(ratio, axis=-1))
            best[..., second, first] = np.fmax(best[..., second, first], 1 / np.fmin.reduce(ratio, axis=-1))
    return best


def _candidates(stars: Floats, largest: bool) -> Floats:
    """Return combinations of up to three stars[a, ·] that meet at some other state, as (…, candidate, v)."""
    size = stars.shape[-1]
    combine = np.fmax if largest else np.fmin
    candidates = [stars]
    if size >= 4:
        first, second, meet = _pairs(size)
        candidates.append(
            combine(
                stars[..., first, :] / stars[..., first, meet, None],
                stars[..., second, :] / stars[..., second, meet, None],
            )
        )
    if size >= 6:
        centre, first, second, meet, other = _triples(size)
        middle = stars[..., centre, :]
        one = stars[..., first, :] * (stars[..., centre, meet] / stars[..., first, meet])[..., None]
        two = stars[..., second, :] * (stars[..., centre, other] / stars[..., second, other])[..., None]
        candidates.append(combine(combine(middle, one), two))
    return np.concatenate(candidates, axis=-2)


@lru_cache(maxsize=8)
def _pairs(size: int) -> tuple[Integers, ...]:
    """Return all pairs of stars with a third state at which they meet."""
    chosen = [
        (first, second, meet)
        for first, second in itertools.combinations(range(size), 2)
        for meet in range(size)
        if meet not in (first, second)
    ]
    return tuple(np.array(column) for column in zip(*chosen, strict=True))


@lru_cache(maxsize=8)
def _triples(size: int) -> tuple[Integers, ...]:
    """Return all trees of three stars: a centre, two others, and the states at which it meets each of them."""
    chosen = [
        (centre, *others, meet, other)
        for centre in range(size)
        for others in itertools.combinations([state for state in range(size) if state != centre], 2)
        for meet, other in itertools.product(
            [state for state in range(size) if state not in (centre, *others)], repeat=2
        )
    ]
    return tuple(np.array(column) for column in zip(*chosen, strict=True))
