"""What k counts of one record cost at a promise of (1, 1e-6) and odds 17.12: standard deviations, as ratios in one run.

Gaussian noise beside Laplace noise whose τ's add up, and beside Laplace noise by its ρ. The standard deviations are
those of the discrete noise that a release draws.

python benchmarks/approximate.py
"""

from __future__ import annotations

import math
import time
from typing import Any

from bayesdp import Count, OddsChain, calibrate
from bayesdp.losses import ConcentratedLoss, PureLoss
from bayesdp.mechanisms import DiscreteGaussianMechanism, DiscreteLaplaceMechanism, IntegerNoise
from shared.reporting import heading, report

EPSILON, DELTA, ODDS = 1.0, 1e-6, 17.12
COUNTS = (1, 10, 50, 100, 1000)
TARGETS = {100: 0.33, 1000: 0.105}
"""Gaussian noise must be at most this many times as wide as pure Laplace noise."""

ROUNDS = 2000

CHAIN, COUNT = OddsChain(ODDS), Count("active", equals=True)


def mechanism_of(loss: PureLoss | ConcentratedLoss) -> IntegerNoise:
    kind = DiscreteLaplaceMechanism if isinstance(loss, PureLoss) else DiscreteGaussianMechanism
    return kind.for_loss(loss, 1, 1)


def deviation(loss: PureLoss | ConcentratedLoss) -> float:
    """Return the standard deviation of the noise on one count."""
    scale = mechanism_of(loss).scale
    if isinstance(loss, PureLoss):
        p = math.exp(-1 / scale)
        return math.sqrt(2 * p) / (1 - p)
    weights = [math.exp(-((k / scale) ** 2) / 2) for k in range(1, math.ceil(40 * scale))]
    squares = math.fsum(k * k * weight for k, weight in enumerate(weights, start=1))
    return math.sqrt(2 * squares / (1 + 2 * math.fsum(weights)))


def seconds(mechanism: IntegerNoise) -> float:
    """Return the median time in which one number gets its noise."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        mechanism.release([0])
        times.append(time.perf_counter() - begin)
    return sorted(times)[ROUNDS // 2]


def main() -> None:
    print(heading())
    for count in COUNTS:
        promise: Any = {"epsilon": EPSILON, "delta": DELTA, "count": count}
        gaussian = calibrate(CHAIN, COUNT, **promise, noise="gaussian")
        by_rho = calibrate(CHAIN, COUNT, **promise, noise="laplace")
        pure = calibrate(CHAIN, COUNT, epsilon=EPSILON, count=count, noise="laplace")
        wide, other, plain = (deviation(one.loss) for one in (gaussian, by_rho, pure))
        name = f"{count:,} count{'s' * (count > 1)}"
        report(name, wide, "σ", baseline=plain, beside="Laplace, pure", ratio_at_most=TARGETS.get(count))
        report(f"{name}, again", wide, "σ", baseline=other, beside="Laplace, by τ or ρ")
        begin = time.perf_counter()
        chosen = calibrate(CHAIN, COUNT, **promise)
        report(f"{name}: choosing ({chosen.noise})", time.perf_counter() - begin)
    hundred = calibrate(CHAIN, COUNT, epsilon=EPSILON, delta=DELTA, count=100, noise="gaussian")
    laplace = calibrate(CHAIN, COUNT, epsilon=EPSILON, delta=DELTA, count=100, noise="laplace")
    first, second = (seconds(mechanism_of(one.loss)) for one in (hundred, laplace))
    report("drawing the noise of a count", first, baseline=second, beside="Laplace")


if __name__ == "__main__":
    main()
