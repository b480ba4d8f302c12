"""The Laplace scale of markov-mixing on chains of many activities, beside that of the exact Markov quilt."""

from __future__ import annotations

import time

from bayesdp import Count
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.experiments.quilts import exact_quilt_scales
from bayesdp.testing.activities import activities
from bayesdp.theorems.markov.mixing import MarkovMixing

EPSILONS = (0.2, 1.0, 5.0)


def main() -> None:
    print(f"{'states':>6} {'seed':>4} {'ε':>4} {'MQMExact':>10} {'markov-mixing':>14} {'ratio':>6} {'time':>8}")
    for states, seed in ((17, 0), (20, 1), (23, 2), (26, 1)):
        chain = activities(states, seed)
        for epsilon, scale in zip(EPSILONS, exact_quilt_scales(chain, EPSILONS), strict=True):
            begin = time.process_time()
            (tau,) = largest_taus(MarkovMixing(), chain, Count(equals=1), [epsilon])
            assert tau is not None
            seconds = time.process_time() - begin
            print(
                f"{states:6} {seed:4} {epsilon:4g} {scale:10.2f} {1 / tau:14.2f} {tau * scale:5.2f}× {seconds:6.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
