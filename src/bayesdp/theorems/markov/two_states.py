"""Two states: the mixing bound's step in closed form, all levels at once. Proof: docs/theory/markov-mixing.md."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp._support.arrays import Floats
from bayesdp.theorems.markov.levels import Levels
from bayesdp.theorems.markov.sides import Side
from bayesdp.theorems.odds.sides import contracted, contracted_forever

__all__ = ["two_state_levels"]


def two_state_levels(side: Side, taus: Floats, depth: int) -> Levels:
    """Follow one side of a chain of two states by the closed form: h is 1 at one value and the gain at the other.

    Pair 0 is (0, 1) and pair 1 is (1, 0). With v the value that u makes likelier than u′ does (u itself if the
    determinant is positive, u′ if not): V = (K(u, o) + G·K(u, v))/(K(u′, o) + G·K(u′, v)), G = e^τ·V(v, o).
    """
    lazy, here, likelier, other = _kernels(side, depth)
    history = np.ones((depth + 1, len(taus), 2, here.shape[2]))
    grown = np.exp(taus)[:, None, None]
    gain, means = np.empty_like(history[0]), np.empty((2, *history[0].shape))
    above, below = means
    with np.errstate(all="ignore"):
        for previous, current, rising, resting in zip(history[:-1], history[1:], likelier, other, strict=True):
            np.multiply(grown, previous if lazy else previous[:, ::-1], out=gain)
            np.multiply(gain, rising, out=means)
            np.add(means, resting, out=means)
            np.divide(above, below, out=current)
    return _tallied(side, taus, here, history)


@lru_cache(maxsize=32)
def _kernels(side: Side, depth: int) -> tuple[bool, Floats, Floats, Floats]:
    """Return whether v is u, the boundaries, and for every level K(·, v) and K(·, o), first of u, then of u′."""
    here = np.array(side.boundaries(depth + 1)[: depth + 2])
    with np.errstate(all="ignore"):
        kernels = side.matrix[None, :, :, None] * here[1:-1, None, :, :]
        kernels /= kernels.sum(axis=2, keepdims=True)
    kernels = np.where((here[2:] > 0)[:, :, None, :], kernels, kernels[:, ::-1])
    lazy = bool(side.matrix[0, 0] * side.matrix[1, 1] >= side.matrix[0, 1] * side.matrix[1, 0])
    value = [0, 1] if lazy else [1, 0]
    likelier, other = (
        np.stack([kernels[:, [0, 1], chosen], kernels[:, [1, 0], chosen]], axis=1)[:, :, None]
        for chosen in (value, value[::-1])
    )
    return lazy, here, likelier, other


def _tallied(side: Side, taus: Floats, here: Floats, history: Floats) -> Levels:
    """Apply the caps to all levels at once and collect the endings."""
    depth = len(history) - 1
    odds = side.log_odds[:, 0, 1]
    with np.errstate(all="ignore"):
        own, other = here[:, [0, 1]], here[:, [1, 0]]
        through = (own / other)[1:-1, None, :, :2] * history[:-1, :, :, :2]
        through = np.where(np.isnan(through), np.inf, through)
        through = np.where(own[1:-1, None, :, :2] > 0, through, -np.inf).max(axis=3)
        cheapest = np.minimum.accumulate(through, axis=0)
        capped = np.fmin(history[1:], cheapest[..., None] * (other[2:] / own[2:])[:, None])
        values = np.maximum(np.concatenate([history[:1], capped]), 1.0)
        known = np.where((own[1:-1] > 0)[:, None] & (other[1:-1] > 0)[:, None], np.log(values[:-1]), -np.inf)[..., :2]
        if side.end is not None:
            nothing = np.log(values[1:, ..., 2])
        else:
            backs = side.log_ratios(1, depth)[:, [1, 0], [0, 1]]
            steps = np.arange(1, depth + 1)[:, None, None]
            nothing = np.fmin(steps * taus[None, :, None], np.log(cheapest) + backs[:, None])
            nothing = np.fmin(nothing, contracted(taus, odds, depth)[..., None])
        beyond = np.log(cheapest[-1]) + side.log_ratio(depth + 1)[[1, 0], [0, 1]]
        beyond = np.fmin(beyond, contracted_forever(taus, odds)[:, None])
    options = np.concatenate([known, nothing[..., None]], axis=3)
    options = np.where(np.isnan(options), np.inf, options)
    choice = options.argmax(axis=3)
    reached = np.concatenate([np.zeros((1, len(taus), 2)), options.max(axis=3)])
    best = np.maximum.accumulate(reached, axis=0)
    fresh = np.concatenate([np.full((1, len(taus), 2), 2), np.arange(1, depth + 1)[:, None, None] * 3 + choice])
    level = np.maximum.accumulate(np.where(reached >= best, np.arange(depth + 1)[:, None, None], 0), axis=0)
    ending = np.take_along_axis(fresh, level, axis=0)
    first = np.zeros((1, len(taus), 2))
    return Levels(
        _as_pairs(best),
        _as_pairs(ending),
        _as_pairs(np.concatenate([first, options[..., :2].max(axis=3)])),
        _as_pairs(np.concatenate([first, options[..., 2]])),
        _as_pairs(beyond),
    )


def _as_pairs(values: NDArray[Any]) -> NDArray[Any]:
    """Spread (…, pair) over a table (…, x, x′) whose diagonal is zero."""
    table = np.zeros((*values.shape[:-1], 2, 2), dtype=values.dtype)
    table[..., 0, 1], table[..., 1, 0] = values[..., 0], values[..., 1]
    return table
