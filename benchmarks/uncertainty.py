"""`calibrate(credibility=0.95)` with 200 drawn models, against calibrating each of them with every theorem.

Two chains: Activity (two states), and five states in small steps, about which markov-mixing proves most.
The baseline calibrates every so many of the models drawn by itself, in the same run; its time is scaled.

python benchmarks/uncertainty.py
"""

from __future__ import annotations

import time

import numpy as np

from bayesdp import Count, MarkovChain, Query, calibrate
from bayesdp.calibration.credibility import DRAWS, posterior
from bayesdp.experiments.data import activity_chain
from shared.reporting import heading, report

SHARE = 20
"""One in this many drawn models is calibrated separately; the time is scaled."""


def five_states() -> MarkovChain:
    """Return a chain of five states that stays or moves one state up or down, estimated from 5,000 transitions."""
    matrix = 0.6 * np.eye(5) + 0.2 * np.eye(5, k=1) + 0.2 * np.eye(5, k=-1)
    matrix[0, 0] = matrix[4, 4] = 0.8
    counts = [np.random.default_rng(0).multinomial(1000, row).tolist() for row in matrix]
    return MarkovChain.from_counts(counts, length=5000)


def row(name: str, chain: MarkovChain, query: Query, limit: float) -> None:
    calibrate(chain, query, epsilon=1.0)
    begun = time.perf_counter()
    calibrate(chain, query, epsilon=1.0, credibility=0.95)
    ours = time.perf_counter() - begun
    begun = time.perf_counter()
    for model in posterior(chain, DRAWS)[::SHARE]:
        calibrate(model, query, epsilon=1.0)
    plain = SHARE * (time.perf_counter() - begun)
    beside = f"{DRAWS} models one by one, every theorem, no spread (scaled)"
    report(name, ours, baseline=plain, beside=beside, at_most=limit)


def main() -> None:
    print(heading())
    row("Activity, 2 states", activity_chain(), Count("steps > 0", equals=True), 10)
    row("5 states in small steps", five_states(), Count(equals=0), 20)


if __name__ == "__main__":
    main()
