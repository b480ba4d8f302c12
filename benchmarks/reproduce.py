"""The complete reproduction of the paper, and the ratio of its parts to a straightforward implementation.

The straightforward way stacks one copy of the data for every run, clips and sums them all, and adds noise, anew for
every ε and mechanism; and adds up the binomial terms of randomized response in two Python loops. Each is measured on
the part of the work named in the last column and scaled to all of it.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bayesdp import MarkovChain
from bayesdp.accuracy import RandomizedResponse, laplace_scale
from bayesdp.calibration.prior_art import Chakrabarti2022, chakrabarti_flip
from bayesdp.experiments import Experiment, reproduce, run
from bayesdp.experiments.studies import study
from shared.reporting import heading, report

EPSILONS = tuple(map(float, range(1, 21)))
RUNS = 1000
PARTS = 3
SECONDS, MEGABYTES = 60, 1024
BETA = 0.05


def timed(function: Callable[[], object]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def best(function: Callable[[], object], times: int = 5) -> float:
    return min(timed(function) for _ in range(times))


def stacked(values: NDArray[np.float64], low: float, high: float, scale: float) -> tuple[float, float]:
    """One ε and one mechanism: a copy of the data for every run, clipped, summed and noised."""
    copies = np.tile(values, (RUNS, 1))
    sums = np.clip(copies, low, high).sum(axis=1)
    errors = np.abs(sums + np.random.default_rng(0).laplace(scale=scale, size=RUNS) - sums)
    return float(np.quantile(errors, 1 - BETA)), float(100 * (errors / np.abs(sums)).mean())


def utility(name: str, theorems: tuple[str, str]) -> tuple[float, float]:
    """Return our time and that of the straightforward implementation for 20 ε, 3 mechanisms and 1000 runs."""
    spec = study(name, runs=RUNS).experiment
    ours = Experiment(
        name=name,
        model=spec.model,
        query=spec.query,
        frame=spec.frame,
        theorems=theorems,
        epsilons=EPSILONS,
        runs=RUNS,
        missing=spec.missing,
    )
    frame = spec.frame
    if spec.query.clipped is not None:
        values, (low, high) = frame["value"].to_numpy(), spec.query.clipped.bounds or (0.0, 1.0)  # type: ignore[index]
    else:
        steps = frame["steps"].drop_nulls()  # type: ignore[index]
        values, low, high = (steps > 0).cast(float).to_numpy(), 0.0, 1.0
    scales = [laplace_scale(spec.query, epsilon) for epsilon in EPSILONS[:PARTS]]
    stacked(values, low, high, 1.0)
    plain = timed(lambda: [stacked(values, low, high, scale) for scale in scales])
    return best(lambda: run(ours)), plain * 3 * len(EPSILONS) / PARTS


def looped_beta(flip: float, records: int, ones: int, alpha: float) -> float:
    """Pr[|error| ≥ α] of the count from randomized response, term by term."""
    middle, reach = ones * (1 - flip) + (records - ones) * flip, alpha * (1 - 2 * flip)
    total = 0.0
    for k in range(records + 1):
        if abs(k - middle) < reach:
            continue
        for i in range(max(0, k - records + ones), min(k, ones) + 1):
            kept = math.comb(ones, i) * (1 - flip) ** i * flip ** (ones - i)
            total += kept * math.comb(records - ones, k - i) * flip ** (k - i) * (1 - flip) ** (records - ones - k + i)
    return total


def response() -> tuple[float, float]:
    """Return our time for α over ε = 1…10 at n = 700, and that of one double loop per ε, without the bisection."""
    chain = MarkovChain([[0.8, 0.2], [0.2, 0.8]], length=700)
    epsilons = EPSILONS[:10]
    ours = best(lambda: [Chakrabarti2022.noise(chain, epsilon).alpha(BETA) for epsilon in epsilons])
    flip, alpha = chakrabarti_flip(0.2, 3.0), 30.0
    exact = RandomizedResponse(flip, 700, 350).beta(alpha)
    if not math.isclose(looped_beta(flip, 700, 350, alpha), exact, rel_tol=1e-8):
        raise SystemExit("the loops and the library disagree")
    return ours, timed(lambda: looped_beta(flip, 700, 350, alpha)) * len(epsilons)


def complete() -> tuple[float, float, float]:
    """Return seconds, processor seconds and megabytes of a complete reproduction in its own process."""
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, __file__, "child"], check=True, capture_output=True, text=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = used.ru_utime + used.ru_stime
    return time.perf_counter() - begin, busy, float(json.loads(done.stdout)["megabytes"])


def child() -> None:
    with tempfile.TemporaryDirectory() as folder:
        reproduce(out=folder, runs=RUNS, progress=False)
    print(json.dumps({"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def main() -> None:
    print(heading())
    seconds, busy, megabytes = complete()
    report(f"complete reproduction, {RUNS} runs", seconds, at_most=SECONDS)
    report("complete reproduction: processor time", busy)
    report("complete reproduction: memory", megabytes, "MB", at_most=MEGABYTES)
    beside = f"copies of the data, {PARTS} of 60 ε and mechanisms (scaled)"
    for name, theorems in (
        ("activity", ("general", "markov-paper")),
        ("syntheticiq", ("general", "gaussian-paper")),
    ):
        ours, plain = utility(name, theorems)
        report(f"utility, {name}, 20 ε, 3 mechanisms", ours, baseline=plain, beside=beside, ratio_at_most=1 / 100)
    ours, plain = response()
    beside = "a double loop, 1 of 10 ε, without bisection (scaled)"
    report("randomized response, n = 700, 10 ε", ours, baseline=plain, beside=beside, ratio_at_most=1 / 500)


if __name__ == "__main__":
    child() if sys.argv[1:2] == ["child"] else main()
