"""The Laplace scale of markov-mixing on chains of many activities, beside the exact Markov quilt's."""

from __future__ import annotations

import time

from bayesdp import Count
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.theorems.markov.mixing import MarkovMixing
from peer_mechanisms.quilts import exact_quilt_scales
from shared.activities import activities
from shared.reporting import heading, report

EPSILONS = (0.2, 1.0, 5.0)


def main() -> None:
    print(heading())
    for states, seed in ((17, 0), (20, 1), (23, 2), (26, 1)):
        chain = activities(states, seed)
        for epsilon, scale in zip(EPSILONS, exact_quilt_scales(chain, EPSILONS), strict=True):
            begin = time.process_time()
            (tau,) = largest_taus(MarkovMixing(), chain, Count(equals=1), [epsilon])
            assert tau is not None
            seconds = time.process_time() - begin
            name = f"{states} activities (seed {seed}), ε = {epsilon:g}"
            beside = "the noise of MQMExact"
            report(f"{name}: Laplace scale", 1 / tau, "", baseline=scale, beside=beside, ratio_at_most=1)
            report(f"{name}: time", seconds)


if __name__ == "__main__":
    main()
