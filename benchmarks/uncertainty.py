"""`calibrate(credibility=0.95)` on Activity, 200 models drawn, against calibrating each of them by itself.

python benchmarks/uncertainty.py
"""

from __future__ import annotations

import time

from bayesdp import Count, calibrate
from bayesdp.experiments.data import activity_chain
from bayesdp.uncertainty import DRAWS, posterior

SHARE = 20
"""Every so many of the models drawn is calibrated by itself; the time is scaled."""


def main() -> None:
    chain, query = activity_chain(), Count("steps > 0", equals=True)
    calibrate(chain, query, epsilon=1.0)
    begun = time.perf_counter()
    found = calibrate(chain, query, epsilon=1.0, credibility=0.95)
    ours = time.perf_counter() - begun
    drawn = posterior(chain, DRAWS)
    begun = time.perf_counter()
    for model in drawn[::SHARE]:
        calibrate(model, query, epsilon=1.0)
    plain = SHARE * (time.perf_counter() - begun)
    print(f"{DRAWS} draws on Activity: {ours:.2f} s, with the spread of ε; tau {found.tau:.6g}")
    measured = f"{plain:.2f} s (scaled from {DRAWS // SHARE})"
    print(f"the same {DRAWS} models one by one, every theorem, no spread: {measured}, {plain / ours:.1f}×")


if __name__ == "__main__":
    main()
