"""Chains of many activities: first-order estimates from a simulation of a person at home, every ten minutes."""

from __future__ import annotations

import numpy as np

from bayesdp.models import MarkovChain

__all__ = ["activities"]


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
