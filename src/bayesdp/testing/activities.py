"""Chains of many activities, and the exact Markov quilt: markov-mixing must need no more noise than it.

The chains are first-order estimates of a simulated semi-Markov process: what somebody at home does, every ten minutes.
The quilt (Song, Wang and Chaudhuri 2017, MQMExact) protects against an adversary who knows no record at all;
markov-mixing against every adversary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.models import MarkovChain

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["activities", "quilt_scales"]


def activities(states: int, seed: int, steps: int = 60_000) -> MarkovChain:
    """Return the chain estimated from a semi-Markov simulation: a long sleep, and activities of gamma durations."""
    generator = np.random.default_rng(seed)
    others = np.sort(generator.lognormal(np.log(3.0), 0.8, states - 1))[::-1]
    durations = np.maximum(np.concatenate([[46.0], others]), 1.0)
    following = generator.dirichlet(np.full(states, 0.5), states)
    np.fill_diagonal(following, 0.0)
    following /= following.sum(axis=1, keepdims=True)
    now, recorded, parts = 0, 0, []
    while recorded < steps:
        lasting = max(1, round(generator.gamma(2.0, durations[now] / 2.0)))
        parts.append(np.full(lasting, now))
        recorded += lasting
        now = int(generator.choice(states, p=following[now]))
    path = np.concatenate(parts)[:steps]
    counts = np.zeros((states, states))
    np.add.at(counts, (path[:-1], path[1:]), 1)
    seen = counts.sum(axis=1) > 0
    counts = counts[seen][:, seen]
    return MarkovChain(counts / counts.sum(axis=1, keepdims=True))


def quilt_scales(chain: MarkovChain, epsilons: Sequence[float], deepest: int = 1500) -> list[float]:
    """Return the Laplace scale of MQMExact for a count at each ε, in the middle of a long stationary chain.

    A quilt at distances a and b has influence max_{x, x′} [ln Pr(x₋ₐ = q | x)/Pr(x₋ₐ = q | x′) + the same for b], the
    worst q on each side, and a + b − 1 records inside: scale (a + b − 1)/(ε − influence).
    """
    matrix, law, power = chain.matrix, chain.stationary, np.eye(len(chain.matrix))
    before, after = [], []
    for _ in range(deepest):
        power = power @ matrix
        before.append(_influence(power / law))
        after.append(_influence(power.T))
        if max(before[-1].max(), after[-1].max()) < 1e-3 * min(epsilons):
            break
    left, right = np.array(before).reshape(len(before), -1), np.array(after).reshape(len(after), -1)
    inside = np.arange(1, len(right) + 1)
    scales = np.full(len(epsilons), np.inf)
    for a, influence in enumerate(left):
        total = (influence + right).max(axis=1)
        for index, epsilon in enumerate(epsilons):
            with np.errstate(divide="ignore"):
                scale = np.where(total < epsilon, (a + inside) / (epsilon - total), np.inf)
            scales[index] = min(scales[index], scale.min())
    return [float(scale) for scale in scales]


def _influence(likelihoods: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return max_q ln likelihood(q, x)/likelihood(q, x′) for each pair (x, x′); infinite with a zero below."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(likelihoods)
        return np.asarray(np.fmax.reduce(np.minimum(logs[:, :, None] - logs[:, None, :], 1e300), axis=0))
