"""The mixing bound for an adversary who knows no record: a weaker promise than this library's, for comparison only.

Pufferfish mechanisms protect against this adversary. `markov-mixing`, asked about him alone, is the same recursion with
one ending on each side, "nothing known": every step follows the chain itself. It is capped by conditioning on the
record at distance d, e^{(d−1)τ}·max_q P^d(u, q)/P^d(u′, q), so it is at most the exact Markov quilt's on every chain.
With many states the step is relaxed: that ending is read off the tables of `markov-mixing`, with the same cap.

No session offers it, it is no registered theorem, and nothing here is rounded outwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.calibration.search import searched
from bayesdp.errors import DoesNotApplyError
from bayesdp.models import MarkovChain
from bayesdp.theorems.markov.mixing import follow
from bayesdp.theorems.markov.transport import LARGEST_EXACT, exact_step
from peer_mechanisms.quilts import end_influences, exact_quilt_scales

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["uninformed_epsilons", "uninformed_scales"]

NAME = "uninformed-mixing"
_DEEPEST = 4096
_SETTLED = 1e-12
_SLACK, _SLACK_RELAXED = 1e-7, 5e-4
"""Of a bound: what is added to it when a side is followed no farther."""

_MULTIPLES = (1.0, 2.0, 4.0)
"""Of the τ that the exact quilt allows: where a search begins."""


def uninformed_scales(chain: MarkovChain, epsilons: Sequence[float]) -> list[float]:
    """Return the Laplace scale for a 1-Lipschitz query that leaks at most ε to an adversary who knows no record.

    Raises DoesNotApplyError where `uninformed_epsilons` does, or if ε is not reached.

    >>> uninformed_scales(MarkovChain([[0.5, 0.5], [0.5, 0.5]], length=100), [1.0])
    [1.0]
    """
    ascending = sorted(set(epsilons))
    starts = [times / scale for scale in exact_quilt_scales(chain, ascending) for times in _MULTIPLES]
    tolerance = _SLACK if len(chain.transition) <= LARGEST_EXACT else _SLACK_RELAXED
    taus = searched(lambda tried: uninformed_epsilons(chain, tried), ascending, starts, tolerance, at_once=True)
    tau_at = dict(zip(ascending, taus, strict=True))
    unreached = [epsilon for epsilon, tau in tau_at.items() if tau is None]
    if unreached:
        raise DoesNotApplyError(NAME, f"it does not reach ε = {unreached[0]:g}")
    return [1 / (tau_at[epsilon] or np.nan) for epsilon in epsilons]


def uninformed_epsilons(chain: MarkovChain, taus: Sequence[float]) -> list[float]:
    """Return a bound on what a τ-DP mechanism leaks to an adversary who knows no record, at each τ.

    Chains of every length up to the model's are covered. Needs a primitive chain in its stationary law.
    """
    if chain.memory > 1 or chain.start != "stationary" or not chain.is_primitive or chain.gaps:
        raise DoesNotApplyError(NAME, "it is about primitive chains in their stationary law, without gaps")
    grid = np.asarray(taus, dtype=np.float64)
    law, matrix, size = chain.stationary, chain.matrix, len(chain.matrix)
    if size == 1:
        return [float(tau) for tau in grid]
    if size > LARGEST_EXACT:
        both, caps = follow([chain], taus, 0.0), _caps(chain, grid)
        left, right = (
            np.minimum(np.concatenate([side.nothing, side.beyond[None]]), cap)
            for side, cap in zip((both.left, both.right), caps, strict=True)
        )
    else:
        left = _followed((law[:, None] * matrix).T / law[:, None], grid, chain.length)
        right = _followed(matrix, grid, chain.length)
    return [float(value) for value in grid + _worst_split(left, right, chain.length).max(axis=(1, 2))]


def _caps(chain: MarkovChain, taus: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return min_d [(d − 1)τ + max_q ln P^d(u, q)/P^d(u′, q)] before and after a target, as (τ, u, u′).

    It holds for a side of fewer than d records as well, by group privacy. An end that says less than τ is far enough.
    """
    size = len(chain.transition)
    return [
        np.array([(np.arange(len(side))[:, None] * tau + side).min(axis=0).reshape(size, size) for tau in taus])
        for side in end_influences(chain, float(taus.min()))
    ]


def _worst_split(left: NDArray[np.float64], right: NDArray[np.float64], length: int | None) -> NDArray[np.float64]:
    """Return the largest sum of both sides, over all targets of all chains up to a length, as (τ, u, u′)."""
    left, right = np.maximum.accumulate(left, axis=0), np.maximum.accumulate(right, axis=0)
    if length is None or length > len(left) + len(right) - 2:
        return np.asarray(left[-1] + right[-1])
    splits = ((before, min(length - 1 - before, len(right) - 1)) for before in range(min(length, len(left))))
    return np.asarray(np.max([left[before] + right[after] for before, after in splits], axis=0))


def _followed(matrix: NDArray[np.float64], taus: NDArray[np.float64], length: int | None) -> NDArray[np.float64]:
    """Return ln V with 0, 1, 2, … unknown records on a side, as (records, τ, u, u′).

    The last holds for any number of records, unless the side ends there: one more record does not raise it.
    """
    different = ~np.eye(len(matrix), dtype=bool)
    grown = np.exp(taus)[:, None, None]
    power = np.eye(len(matrix))
    cap = np.full((len(taus), *matrix.shape), np.inf)
    values = np.ones(cap.shape)
    levels = [np.zeros(cap.shape)]

    def next_values(before: NDArray[np.float64]) -> NDArray[np.float64]:
        solved = exact_step(matrix, np.where(different, grown * before, 1.0))
        return np.where(different, np.fmax(np.fmin(solved, cap), 1.0), 1.0)

    most = _DEEPEST if length is None else min(length - 1, _DEEPEST)
    for records in range(1, most + 1):
        power = power @ matrix
        with np.errstate(over="ignore"):
            cap = np.minimum(cap, np.exp((records - 1) * taus)[:, None, None] * _largest_ratios(power))
        previous, values = values, next_values(values)
        levels.append(np.log(values))
        if np.all(values <= previous * (1 + _SETTLED)):
            break
    if len(levels) != length:
        raised = np.minimum(levels[-1] * (1 + _SLACK) + _SLACK**2, np.log(cap))
        lasts = np.all(np.log(next_values(np.exp(raised))) <= raised, axis=(1, 2), keepdims=True)
        levels.append(np.where(lasts, raised, np.log(cap)))
    return np.array(levels)


def _largest_ratios(power: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return max_q P^d(u, q)/P^d(u′, q); infinite where u′ cannot lead to a q that u leads to."""
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = np.zeros(power.shape)
        for column in power.T:
            largest = np.fmax(largest, column[:, None] / column[None, :])
    return largest
